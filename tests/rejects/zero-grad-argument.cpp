// The program reports this mistake.
//
// The gradient `grad(y, x)` would be zero, because `y` does not depend on `x`, or depends on `x` only through `detach`
// or indices. PyTorch asks for `allow_unused` in this case. Take the value out of `grad`. The note shows a parameter by
// its name. The name of a parameter in a block includes its path, as in `param<"/block.0.fc.weight", 4, 3>`.

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
