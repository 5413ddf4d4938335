// rejects: cairn \[not-a-layer\]: repeat takes a function of the index
// rejects: fact::in<cairn::fixed_string<6>\{"block"\}>
#include "cairn/misuse/table.hpp"
#include "cairn/lang/repeat.hpp"
#include "cairn/op/reduce.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr auto deep = repeat<3, "block">(nn::linear<"fc", 4>);
#else
constexpr auto deep = repeat<3, "block">([](auto) { return nn::linear<"fc", 4>; });
#endif

constexpr auto loss = mean(input<"x", 2, 4> | deep);
static_assert(an_expression<decltype(loss)>);
