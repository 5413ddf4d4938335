// rejects: cairn \[parameter-conflict\]: one name stands for two different leaves
// rejects: fact::input<cairn::fixed_string<\d+>\{"y"\}>.*fact::bound<10>.*fact::bound<9>
#include "cairn/misuse/table.hpp"
#include "cairn/check/model.hpp"
#include "cairn/op/loss.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr auto again = labels<"y", 9, 8>;
#else
constexpr auto again = labels<"y", 10, 8>;
#endif

constexpr auto logits = input<"x", 8, 4> | nn::linear<"fc", 10>;
constexpr auto loss = cross_entropy(logits, labels<"y", 10, 8>) + cross_entropy(tanh(logits), again);
static_assert(detail::checked<loss>());
