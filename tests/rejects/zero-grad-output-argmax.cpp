// rejects: cairn \[zero-grad-output\]: no gradient of the loss reaches any parameter
// rejects: fact::operation<cairn::fixed_string<8>\{"one_hot"\}>
#include "cairn/misuse/table.hpp"
#include "cairn/check/model.hpp"
#include "cairn/op/extremum.hpp"
#include "cairn/op/gather.hpp"

using namespace cairn;

constexpr auto x = param<"x", 4, 6>;

#ifdef CAIRN_REJECT
constexpr auto loss = sum(one_hot(argmax<-1>(x)));
#else
constexpr auto loss = sum(one_hot(argmax<-1>(x)) * x);
#endif

static_assert(detail::checked<loss>());
