// rejects: cairn \[shape-mismatch\]: the argument has no such axes
// rejects: operation<cairn::fixed_string<10>\{"argmax\(x\)"\}, float ?\[4\]\[6\]>
// rejects: axes<-3>
#include "cairn/misuse/table.hpp"
#include "cairn/op/extremum.hpp"
#include "cairn/op/gather.hpp"
#include "cairn/op/loss.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr int axis = -3;
#else
constexpr int axis = -2;
#endif

constexpr auto loss = sum(one_hot(argmax<axis>(param<"x", 4, 6>)));
static_assert(an_expression<decltype(loss)>);
