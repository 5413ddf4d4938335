// rejects: cairn \[wrong-arguments\]: grad takes expressions, not their names: grad\(loss, x\)
#include "cairn/misuse/table.hpp"
#include "cairn/lang/gradient.hpp"
#include "cairn/op/reduce.hpp"

using namespace cairn;

constexpr auto x = input<"x", 8, 16>;
constexpr auto loss = mean(tanh(x));
#ifdef CAIRN_REJECT
constexpr auto y = grad(loss, "x");
#else
constexpr auto y = grad(loss, x);
#endif
static_assert(an_expression<decltype(y)>);
