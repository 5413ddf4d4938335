// rejects: cairn \[unknown-name\]: the model has nothing of this name
// rejects: fact::parameter<cairn::fixed_string<4>\{"enc"\}>
// rejects: fact::nearest<cairn::fixed_string<17>\{"encoder\.fc1\.bias"\}>
#include "cairn/misuse/table.hpp"
#include "cairn/check/model.hpp"

using namespace cairn;

constexpr auto encoded = input<"x", 4> | block<"encoder">([](auto x) { return x + param<"fc1.bias", 4>; });
constexpr auto loss = sum(encoded * param<"head", 4>);

#ifdef CAIRN_REJECT
static_assert(detail::checked<loss, freeze<"enc">>());
#else
static_assert(detail::checked<loss, freeze<"encoder.fc1">>());
#endif
