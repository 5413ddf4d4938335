// rejects: cairn \[wrong-arguments\]: the exponent of pow is a constant, from -64 to 64 and not 0: .*exp\(p \* log\(x\)\)
#include "cairn/misuse/table.hpp"
#include "cairn/op/elementwise.hpp"

using namespace cairn;

constexpr auto x = input<"x", 8, 16>;
constexpr auto a = param<"a">;
#ifdef CAIRN_REJECT
constexpr auto y = pow(x, a);
#else
constexpr auto y = pow(x, 0.5_c) + exp(a * log(x)) + pow(x, -1.7_c);
#endif
static_assert(an_expression<decltype(y)>);
