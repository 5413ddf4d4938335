// rejects: cairn \[shape-mismatch\]: split<axis, n>\(x\) takes n equal parts of an axis that exists
// rejects: fact::in<cairn::fixed_string<10>\{"attention"\}>
// rejects: operation<cairn::fixed_string<6>\{"split"\}, float ?\[4\]\[8\]>, .*axes<-1>, .*parts<3>
#include "cairn/misuse/table.hpp"
#include "cairn/lang/checkpoint.hpp"
#include "cairn/op/slice.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr int width = 8;
#else
constexpr int width = 9;
#endif

constexpr auto parts = layer([](auto x) {
  const auto [q, k, v] = split<-1, 3>(x | nn::linear<"qkv", width>);
  return q * k + v;
});
constexpr auto loss = sum(input<"x", 4, 6> | block<"attention">(parts));
static_assert(an_expression<decltype(loss)>);
