// rejects: cairn \[over-budget\]: fit<\.\.\.> found no segments
// rejects: budget_bytes<1024L?>.*least_bytes<\d+L?>
#include "cairn/misuse/table.hpp"
#include "cairn/check/model.hpp"
#include "cairn/nn/activation.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;

constexpr auto loss = sum(input<"x", 8, 4> | nn::linear<"fc", 40> | nn::tanh | nn::linear<"fc2", 40> | nn::tanh);

#ifdef CAIRN_REJECT
using allowed = fit<1_KiB>;
#else
using allowed = fit<3840>;
#endif
static_assert(detail::checked<loss, allowed>());
