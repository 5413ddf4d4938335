// rejects: cairn \[shape-mismatch\]: extents must be equal but along the joined axis, which all must have
// rejects: fact::in<cairn::fixed_string<5>\{"many"\}>
// rejects: operation<cairn::fixed_string<30>\{"concatenate\(argument 0, more\)"\}, float ?\[4\], float ?\[4\]\[1\]>
// rejects: axes<0>
#include "cairn/misuse/table.hpp"
#include "cairn/lang/repeat.hpp"
#include "cairn/op/concatenate.hpp"
#include "cairn/op/loss.hpp"

using namespace cairn;

// The first argument and the one that does not fit it.
#ifdef CAIRN_REJECT
constexpr auto more = param<"more", 4, 1>;
#else
constexpr auto more = param<"more", 4>;
#endif

constexpr auto many = [](auto x) { return concatenate<0>(x, exp(x), tanh(x), square(x), more, -x); };
constexpr auto loss = sum(input<"x", 4> | block<"many">(many));
static_assert(an_expression<decltype(loss)>);
