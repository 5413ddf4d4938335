// rejects: cairn \[shape-mismatch\]: a tensor has at most 6 extents, each a positive constant below 2\^31
// rejects: fact::in<cairn::fixed_string<2>\{"x"\}>
// rejects: fact::extents<3000000000>
#include "cairn/op/loss.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr auto x = input<"x", 3'000'000'000>;
#else
constexpr auto x = input<"x", 2'147'483'647>;
#endif
static_assert(an_expression<decltype(mean(x))>);
