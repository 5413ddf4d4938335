// rejects: cairn \[shape-mismatch\]: indices may lie outside of what they index
// rejects: fact::in<cairn::fixed_string<15>\{"block\.0\.lookup"\}>
// rejects: operation<cairn::fixed_string<7>\{"gather"\}, float ?\[255\]\[8\], int ?\[4\]\[3\]>
// rejects: bound<256>
#include "cairn/misuse/table.hpp"
#include "cairn/lang/checkpoint.hpp"
#include "cairn/op/gather.hpp"
#include "cairn/op/loss.hpp"
#include "cairn/lang/repeat.hpp"
#include "cairn/op/transpose.hpp"
#include "cairn/nn/activation.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr int rows = 255;
#else
constexpr int rows = 256;
#endif

// The bound is known in a body, too.
constexpr auto looked_up = [](auto at) { return tanh(gather<0>(param<"table", rows, 8>, transpose(at))); };
constexpr auto embed = block<"block.0">(ckpt<"lookup", allow_useless>(layer(looked_up)));
constexpr auto loss = sum(indices<"tokens", 256, 3, 4> | embed);
static_assert(an_expression<decltype(loss)>);
