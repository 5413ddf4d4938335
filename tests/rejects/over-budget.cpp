// rejects: cairn \[over-budget\]: the arena of this program is larger than its budget
// rejects: budget_bytes<1024L?>.*peak_bytes<\d+L?>
#include "cairn/misuse/table.hpp"
#include "cairn/check/model.hpp"
#include "cairn/nn/activation.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;

constexpr auto loss = sum(input<"x", 8, 4> | nn::linear<"fc", 40> | nn::tanh | nn::linear<"fc2", 40> | nn::tanh);

#ifdef CAIRN_REJECT
using allowed = budget<1_KiB>;
#else
using allowed = budget<8_KiB>;
#endif
static_assert(detail::checked<loss, budget<1_MiB>, allowed>());
