// rejects: cairn \[captured-value\]: a body uses another's value, or one of inputs not given to it
// rejects: fact::operation<cairn::fixed_string<7>\{"gather"\}, float ?\[4\]\[3\], int ?\[8\]>, cairn::fact::input<cairn::fixed_string<2>\{"y"\}>
#include "cairn/misuse/table.hpp"
#include "cairn/lang/checkpoint.hpp"
#include "cairn/op/gather.hpp"
#include "cairn/op/reduce.hpp"
#include "cairn/nn/activation.hpp"

using namespace cairn;

// Computed from labels; and the segment is a repeat.
constexpr auto embedded = gather<0>(param<"w", 4, 3>, labels<"y", 4, 8>);
constexpr auto with_embedded = layer([](auto a, auto b) { return a * b; });
#ifdef CAIRN_REJECT
constexpr auto stage = layer([](auto a) { return tanh(a) * embedded; });
constexpr auto z = ckpt<"enc">(nn::tanh | repeat<2, "r">([](auto) { return stage; }), tanh(embedded));
#else
constexpr auto z = ckpt<"enc">(with_embedded, tanh(embedded), embedded);
#endif

constexpr auto loss = mean(z);
static_assert(an_expression<decltype(loss)>);
