// PROSE

#include "cairn/check/model.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;

// case: zero-grad-argument
// says: a gradient is asked by a value of this shape on which the scalar does not depend
// shows: fact::given<float ?\[8\]\[3\]>
constexpr auto x = input<"x", 8, 3>;
constexpr auto y = mean(detach(x) | nn::linear<"fc", 4>);  // wrong
constexpr auto y = mean(x | nn::linear<"fc", 4>);          // right
static_assert(detail::checked<y + sum(square(grad(y, x)))>());
