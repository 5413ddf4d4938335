// rejects: cairn \[zero-grad-output\]: no parameter of the loss is trained: it has none, or all are frozen
#include "cairn/misuse/table.hpp"
#include "cairn/check/model.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;

constexpr auto loss = mean(input<"x", 4, 8> | nn::linear<"fc", 2>);

#ifdef CAIRN_REJECT
static_assert(detail::checked<loss, freeze<"fc">>());
#else
static_assert(detail::checked<loss, freeze<"fc.bias">>());
#endif
