// rejects: cairn \[not-a-layer\]: this cannot be called with these arguments: a layer takes expressions by value, as many as it is given
// rejects: fact::in<cairn::fixed_string<4>\{"enc"\}>
// rejects: arguments<float ?\[4\], float ?\[4\]>
#include "cairn/misuse/table.hpp"
#include "cairn/lang/checkpoint.hpp"
#include "cairn/op/reduce.hpp"

using namespace cairn;

constexpr auto x = input<"x", 4>;

#ifdef CAIRN_REJECT
constexpr auto y = ckpt<"enc">([](auto a) { return exp(a); }, x, x);
#else
constexpr auto y = ckpt<"enc">([](auto a) { return exp(a); }, x);
#endif

constexpr auto loss = mean(y);
static_assert(an_expression<decltype(loss)>);
