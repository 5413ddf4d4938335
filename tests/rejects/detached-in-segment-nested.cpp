// rejects: cairn \[detached-in-segment\]: this segment contains a detach.*detach outside and pass the result as an argument
// rejects: fact::in<cairn::fixed_string<6>\{"outer"\}>
#include "cairn/misuse/table.hpp"
#include "cairn/lang/checkpoint.hpp"
#include "cairn/op/loss.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;

// A block inside the segment detaches: the segment is named, for it is what has to change.
#ifdef CAIRN_REJECT
constexpr auto stop = [](auto x) { return tanh(detach(x)); };
#else
constexpr auto stop = [](auto x) { return tanh(x); };
#endif
constexpr auto segment = nn::linear<"a", 8> | block<"inner">(layer(stop) | nn::linear<"b", 8>);
constexpr auto loss = mean(input<"x", 4, 8> | ckpt<"outer">(segment));
static_assert(an_expression<decltype(loss)>);
