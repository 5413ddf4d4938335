// rejects: cairn \[repeated-option\]: a program has one such option
// rejects: given<cairn::real<float> ?>
#include "cairn/misuse/table.hpp"
#include "cairn/check/model.hpp"
#include "cairn/op/reduce.hpp"

using namespace cairn;

constexpr auto y = sum(param<"p", 3> * param<"q", 3> + param<"r", 3>);
#ifdef CAIRN_REJECT
constexpr bool good = detail::checked<y, real<double>, real<float>>();
#else
constexpr bool good = detail::checked<y, real<double>, freeze<"p">, freeze<"q">>();
#endif
static_assert(good);
