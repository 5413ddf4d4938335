// rejects: cairn \[shape-mismatch\]: a tensor has at most 6 extents, each a positive constant below 2\^31, that of the batch too
// rejects: fact::in<cairn::fixed_string<2>\{"w"\}>
// rejects: fact::extents<0>
#include "cairn/misuse/table.hpp"
#include "cairn/lang/checkpoint.hpp"
#include "cairn/op/loss.hpp"
#include "cairn/nn/activation.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr auto w = param<"w", 0>;
#else
constexpr auto w = param<"w", 16>;
#endif
constexpr auto loss = mean(input<"x", 8, 16> * w);
static_assert(an_expression<decltype(loss)>);
