// rejects: cairn \[contradicting-options\]: fit<\.\.\.> is a limit of the arena itself
#include "cairn/misuse/table.hpp"
#include "cairn/check/model.hpp"
#include "cairn/nn/activation.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;

constexpr auto loss = sum(input<"x", 8, 4> | nn::linear<"fc", 40> | nn::tanh | nn::linear<"fc2", 40> | nn::tanh);

#ifdef CAIRN_REJECT
static_assert(detail::checked<loss, fit<8_KiB>, budget<8_KiB>>());
#else
static_assert(detail::checked<loss, fit<8_KiB>>());
#endif
