// rejects: cairn \[same-layer-name\]: two layers have one name
// rejects: fact::parameter<cairn::fixed_string<15>\{"step.fc.weight"\}
#include "cairn/misuse/table.hpp"
#include "cairn/check/scan.hpp"
#include "cairn/run/scan.hpp"
#include "cairn/op/reduce.hpp"
#include "cairn/lang/scan.hpp"
#include "cairn/nn/activation.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr auto body = nn::linear<"fc", 5> | nn::tanh | nn::linear<"fc", 5>;
#else
constexpr auto body = nn::linear<"fc", 5> | nn::tanh | nn::linear<"fc2", 5>;
#endif
constexpr auto loss = mean(square(scan<10, "step">(body, carried(input<"x", 4, 5>))));

static_assert(detail::checked<loss>());
