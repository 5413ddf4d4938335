// rejects: cairn \[shape-mismatch\]: extents, from the last on, must be equal or 1
// rejects: fact::in<cairn::fixed_string<16>\{"encoder\.layer\.7"\}, cairn::fixed_string<22>\{"self_attention\.scores"\}>
// rejects: operation<cairn::fixed_string<23>\{"mul\(argument 0, scale\)"\}, float ?\[4\]\[8\], float ?\[4\]\[9\]>
#include "cairn/misuse/table.hpp"
#include "cairn/lang/checkpoint.hpp"
#include "cairn/op/reduce.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr int width = 9;
#else
constexpr int width = 8;
#endif

// Parts of a path that clang would cut are shown one by one.
constexpr auto scale = [](auto x) { return x * param<"scale", 4, width>; };
constexpr auto attention = ckpt<"self_attention.scores">(scale);
constexpr auto y = input<"x", 4, 8> | block<"encoder.layer.7">(attention);
constexpr auto loss = mean(y);
static_assert(an_expression<decltype(loss)>);
