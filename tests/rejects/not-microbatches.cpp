// The program reports this mistake.
//
// `microbatch<N>` runs the model N times in a training step, so that N is at least 2. A batch of one part needs no
// option. `microbatch<up_to<N>>` takes from 1 to N parts in each step. `microbatch<N, of<whole>>` compares the program
// with one of the whole batch. The inputs of `whole` have the rows of all parts: N times the first extent of the
// part's inputs. With `shards<L>`, they have N L times as many.

#include "cairn/check/model.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;

// shared: a model of any number of rows
template <int Rows>
constexpr auto loss = mean(square(input<"x", Rows, 4> | nn::linear<"fc", 2>));

// case: not-microbatches
// says: microbatch<N> divides a batch into N parts, at least 2
// shows: microbatch<1
static_assert(detail::checked<loss<8>, microbatch<1>>());  // wrong
static_assert(detail::checked<loss<8>, microbatch<2>>());  // right

// case: not-microbatches-up-to
// says: microbatch<N> divides a batch into N parts, at least 2
static_assert(detail::checked<loss<8>, microbatch<up_to<0>>>());  // wrong
static_assert(detail::checked<loss<8>, microbatch<up_to<4>>>());  // right

// case: not-microbatches-fraction
// says: microbatch<N> divides a batch into N parts, at least 2
static_assert(detail::checked<loss<8>, microbatch<2.5>>());  // wrong
static_assert(detail::checked<loss<8>, microbatch<2>>());    // right

// case: not-microbatches-whole
// says: of<whole> names the model of the whole batch
// shows: fact::input<cairn::fixed_string<2>\{"x"\}>
static_assert(detail::checked<loss<64>, microbatch<4, of<loss<64>>>>());   // wrong
static_assert(detail::checked<loss<64>, microbatch<4, of<loss<256>>>>());  // right

// case: not-microbatches-whole-of-shards
// says: of<whole> names the model of the whole batch
// shows: fact::input<cairn::fixed_string<2>\{"x"\}>
static_assert(detail::checked<loss<64>, shards<2>, microbatch<4, of<loss<256>>>>());  // wrong
static_assert(detail::checked<loss<64>, shards<2>, microbatch<2, of<loss<256>>>>());  // right
