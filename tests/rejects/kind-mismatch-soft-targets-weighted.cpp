// rejects: cairn \[kind-mismatch\]: cross_entropy takes class indices alone
// rejects: fact::in<cairn::fixed_string<5>\{"head"\}>
#include "cairn/misuse/table.hpp"
#include "cairn/lang/block.hpp"
#include "cairn/op/loss.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;

constexpr auto weights = frozen<"weights", 10>;
#ifdef CAIRN_REJECT
constexpr auto y = input<"y", 4, 10>;
#else
constexpr auto y = labels<"y", 10, 4>;
#endif
constexpr auto head = layer([](auto h) { return cross_entropy(h | nn::linear<"fc", 10>, y, weights); });
constexpr auto loss = input<"x", 4, 8> | block<"head">(head);
static_assert(an_expression<decltype(loss)>);
