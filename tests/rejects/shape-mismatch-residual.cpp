// rejects: cairn \[shape-mismatch\]: extents, from the last on, must be equal or 1; change one
// rejects: fact::in<cairn::fixed_string<5>\{"down"\}>
// rejects: operation<.*"add\(s, f\)"\}, float ?\[2\]\[3\]\[3\]\[8\], float ?\[2\]\[3\]\[3\]\[6\]>
#include "cairn/misuse/table.hpp"
#include "cairn/lang/checkpoint.hpp"
#include "cairn/nn/activation.hpp"
#include "cairn/nn/convolution.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr int channels = 8;
#else
constexpr int channels = 6;
#endif

constexpr auto f = nn::conv2d<"f", 6, 3, nn::window{.stride = 2, .padding = 1}>;
constexpr auto shortcut = nn::conv2d_without_bias<"s", channels, 1, nn::window{.stride = 2}>;
constexpr auto y = input<"x", 2, 5, 6, 3> | ckpt<"down">(nn::residual(f, shortcut) | nn::relu);
static_assert(an_expression<decltype(y)>);
