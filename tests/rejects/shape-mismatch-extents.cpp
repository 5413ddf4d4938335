// rejects: cairn \[shape-mismatch\]: a tensor has at most 6 extents, each a positive constant below 2\^31, that of the batch too
// rejects: fact::in<cairn::fixed_string<2>\{"x"\}>
// rejects: fact::extents<-1, 16>
#include "cairn/misuse/table.hpp"
#include "cairn/lang/checkpoint.hpp"
#include "cairn/op/loss.hpp"
#include "cairn/nn/activation.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr auto x = input<"x", -1, 16>;
#else
constexpr auto x = input<"x", 8, 16>;
#endif
constexpr auto model = nn::linear<"in", 16> | nn::relu | nn::linear<"head", 4>;
constexpr auto loss = cross_entropy(x | model, labels<"y", 4, 8>);
static_assert(an_expression<decltype(loss)>);
