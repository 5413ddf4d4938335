// rejects: cairn \[wrong-arguments\]: std::get takes values apart
// rejects: fact::in<cairn::fixed_string<6>\{"first"\}>.*fact::operation<cairn::fixed_string<4>\{"get"\}, float ?\[4\]\[8\]>
#include "cairn/misuse/table.hpp"
#include "cairn/lang/block.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr auto first = layer([](auto x) { return std::get<1>(x | nn::linear<"fc", 8>); });
#else
constexpr auto first = layer([](auto x) { return x | nn::linear<"fc", 8>; });
#endif
constexpr auto out = input<"x", 4, 6> | block<"first">(first);
static_assert(an_expression<decltype(out)>);
