// rejects: cairn \[repeated-option\]: a program has one such option
// rejects: given<cairn::fit<16384L?>
#include "cairn/misuse/table.hpp"
#include "cairn/check/model.hpp"
#include "cairn/nn/activation.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;

constexpr auto loss = sum(input<"x", 8, 4> | nn::linear<"fc", 40> | nn::tanh | nn::linear<"fc2", 40> | nn::tanh);

#ifdef CAIRN_REJECT
constexpr bool good = detail::checked<loss, fit<8_KiB>, fit<16_KiB>>();
#else
constexpr bool good = detail::checked<loss, fit<8_KiB>>();
#endif
static_assert(good);
