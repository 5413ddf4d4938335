// rejects: cairn \[zero-grad-argument\]: a gradient is asked by a value of this shape on which the scalar does not depend
// rejects: fact::given<float ?\[8\]\[3\]>
#include "cairn/misuse/table.hpp"
#include "cairn/check/model.hpp"
#include "cairn/lang/gradient.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;

constexpr auto x = input<"x", 8, 3>;
#ifdef CAIRN_REJECT
constexpr auto y = mean(detach(x) | nn::linear<"fc", 4>);
#else
constexpr auto y = mean(x | nn::linear<"fc", 4>);
#endif
static_assert(detail::checked<y + sum(square(grad(y, x)))>());
