// rejects: cairn \[detached-in-segment\]: this segment contains a detach.*detach outside and pass the result as an argument
// rejects: fact::in<cairn::fixed_string<4>\{"enc"\}>
#include "cairn/misuse/table.hpp"
#include "cairn/lang/checkpoint.hpp"
#include "cairn/op/loss.hpp"

using namespace cairn;

constexpr auto x = param<"x", 4>;

#ifdef CAIRN_REJECT
constexpr auto y = ckpt<"enc">([](auto x) { return x * detach(x); }, x);
#else
constexpr auto y = ckpt<"enc">([](auto x, auto detached) { return x * detached; }, x, detach(x));
#endif

constexpr auto loss = mean(y);
static_assert(an_expression<decltype(loss)>);
