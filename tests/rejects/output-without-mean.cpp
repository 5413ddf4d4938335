// The program reports this mistake.
//
// A program with `microbatch<...>` or `shards<...>` returns the mean of each output over the parts of the batch. An
// array or an index has no such mean. Reduce the array to a number, or compute it with a predictor.

#include "cairn/check/model.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;

// shared: a model with logits
constexpr auto logits = input<"x", 8, 4> | nn::linear<"fc", 2>;
constexpr auto loss = mean(square(logits));

// case: output-without-mean
// says: outputs of a program with microbatch<\.\.\.> or shards<\.\.\.> are means over the parts of the batch
// shows: float ?\[8\]\[2\]
static_assert(detail::checked<outputs(loss, logits), microbatch<4>>());        // wrong
static_assert(detail::checked<outputs(loss, mean(logits)), microbatch<4>>());  // right

// case: output-without-mean-index
// says: outputs of a program with microbatch<\.\.\.> or shards<\.\.\.> are means over the parts of the batch
constexpr auto most = argmax<0>(reshape<16>(logits));
static_assert(detail::checked<outputs(loss, most), shards<2>>());           // wrong
static_assert(detail::checked<outputs(loss, as_real(most)), shards<2>>());  // right
