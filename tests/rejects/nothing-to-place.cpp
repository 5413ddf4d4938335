// rejects: cairn \[nothing-to-place\]: fit<\.\.\.> makes segments of layers
#include "cairn/misuse/table.hpp"
#include "cairn/check/model.hpp"
#include "cairn/nn/activation.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;

constexpr auto x = input<"x", 8, 4>;
#ifdef CAIRN_REJECT
constexpr auto h = tanh(matmul(x, param<"w", 4, 40>));
#else
constexpr auto h = x | nn::linear<"fc", 40> | nn::tanh;
#endif
static_assert(detail::checked<sum(square(h)), fit<64_KiB>>());
