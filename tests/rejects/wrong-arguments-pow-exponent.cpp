// rejects: cairn \[wrong-arguments\]: the exponent of pow is a constant, 0\.5 or whole and not 0: .*exp\(p \* log\(x\)\)
#include "cairn/core/misuse.hpp"
#include "cairn/expr/elementwise.hpp"

using namespace cairn;

constexpr auto x = input<"x", 8, 16>;
#ifdef CAIRN_REJECT
constexpr auto y = pow(x, 1.7_c);
#else
constexpr auto y = pow(x, 0.5_c) + exp(1.7_c * log(x)) + pow(x, -3_c);
#endif
static_assert(an_expression<decltype(y)>);
