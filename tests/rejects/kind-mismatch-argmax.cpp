// rejects: cairn \[kind-mismatch\]: arguments are real numbers \(float\) or indices \(int\)
// rejects: operation<cairn::fixed_string<7>\{"argmax"\}, int ?\[4\]>
// rejects: takes<float>
#include "cairn/misuse/table.hpp"
#include "cairn/op/extremum.hpp"
#include "cairn/op/gather.hpp"
#include "cairn/op/loss.hpp"

using namespace cairn;

constexpr auto at = indices<"at", 8, 4>;

#ifdef CAIRN_REJECT
constexpr auto most = argmax<0>(at);
#else
constexpr auto most = argmax<0>(one_hot(at));
#endif

constexpr auto loss = sum(one_hot(most));
static_assert(an_expression<decltype(loss)>);
