// rejects: cairn \[wrong-arguments\]: this function goes along one axis; reshape several axes into one before
// rejects: operation<cairn::fixed_string<8>\{"softmax"\}, float ?\[4\]\[8\]>
#include "cairn/misuse/table.hpp"
#include "cairn/lang/leaf.hpp"
#include "cairn/op/softmax.hpp"
#include "cairn/lang/view.hpp"

using namespace cairn;

constexpr auto x = input<"x", 4, 8>;
#ifdef CAIRN_REJECT
constexpr auto p = softmax<0, 1>(x);
#else
constexpr auto p = reshape<4, 8>(softmax(reshape<32>(x)));
#endif
static_assert(an_expression<decltype(p)>);
