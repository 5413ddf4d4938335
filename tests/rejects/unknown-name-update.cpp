// rejects: cairn \[unknown-name\]: the model has nothing of this name
// rejects: fact::parameter<cairn::fixed_string<7>\{"\*\.bais"\}>
// rejects: fact::nearest<cairn::fixed_string<8>\{"fc\.bias"\}>
#include "cairn/misuse/table.hpp"
#include "cairn/check/model.hpp"
#include "cairn/nn/linear.hpp"
#include "cairn/train/rules.hpp"

using namespace cairn;

constexpr auto loss = sum(input<"x", 8, 4> | nn::linear<"fc", 4>);

#ifdef CAIRN_REJECT
static_assert(detail::checked<loss, update<sgd_options{}, "fc.weight", "*.bais">>());
#else
static_assert(detail::checked<loss, update<sgd_options{}, "fc.weight", "*.bias">>());
#endif
