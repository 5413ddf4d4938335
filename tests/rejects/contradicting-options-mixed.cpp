// rejects: cairn \[contradicting-options\]: mixed<bf16> rounds what is computed in floats
// rejects: double
#include "cairn/misuse/table.hpp"
#include "cairn/check/model.hpp"
#include "cairn/op/reduce.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;

constexpr auto loss = sum(input<"x", 8, 4> | nn::linear<"fc", 40>);

#ifdef CAIRN_REJECT
static_assert(detail::checked<loss, real<double>, mixed<bf16>>());
#else
static_assert(detail::checked<loss, real<float>, mixed<bf16>>());
#endif
