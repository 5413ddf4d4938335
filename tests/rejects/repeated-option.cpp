// rejects: cairn \[repeated-option\]: a program has one such option
// rejects: given<cairn::cotangent<cairn::fixed_string<2>\{"w"\}>
#include "cairn/misuse/table.hpp"
#include "cairn/check/model.hpp"
#include "cairn/op/elementwise.hpp"

using namespace cairn;

constexpr auto y = tanh(param<"p", 3>);
#ifdef CAIRN_REJECT
constexpr bool good = detail::checked<y, cotangent<"v">, cotangent<"w">>();
#else
constexpr bool good = detail::checked<y, cotangent<"v">>();
#endif
static_assert(good);
