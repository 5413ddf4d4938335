// rejects: cairn \[wrong-arguments\]: axes and extents are template arguments
// rejects: operation<cairn::fixed_string<7>\{"argmax"\}, float ?\[8\]\[2\]>
#include "cairn/misuse/table.hpp"
#include "cairn/op/extremum.hpp"
#include "cairn/op/gather.hpp"
#include "cairn/op/loss.hpp"

using namespace cairn;

constexpr auto x = param<"x", 8, 2>;

#ifdef CAIRN_REJECT
constexpr auto y = argmax(x);
#else
constexpr auto y = argmax<-1>(x);
#endif

constexpr auto loss = sum(one_hot(y) * x);
static_assert(an_expression<decltype(loss)>);
