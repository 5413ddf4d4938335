// The program reports this mistake.
//
// `fit<...>` makes segments of bodies. A model that is written as one expression has no bodies. Leave the option out,
// or write the model as layers.

#include "cairn/check/model.hpp"
#include "cairn/nn/activation.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;

// case: nothing-to-place
// says: fit<\.\.\.> makes segments of layers
constexpr auto x = input<"x", 8, 4>;
constexpr auto h = tanh(matmul(x, param<"w", 4, 40>));   // wrong
constexpr auto h = x | nn::linear<"fc", 40> | nn::tanh;  // right
static_assert(detail::checked<sum(square(h)), fit<64_KiB>>());
