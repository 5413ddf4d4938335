// rejects: cairn \[shape-mismatch\]: rotary turns pairs of features: it takes \{..., T, H, D\}, D even
// rejects: fact::in<cairn::fixed_string<5>\{"attn"\}>
// rejects: operation<cairn::fixed_string<26>\{"rotary\(argument 0, waves\)"\}, float ?\[2\]\[7\]\[4\]\[3\], float ?\[7\]\[3\]>
#include "cairn/misuse/table.hpp"
#include "cairn/op/rotary.hpp"
#include "cairn/nn/attention.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr int heads = 4;
#else
constexpr int heads = 6;
#endif

constexpr auto turned = [](auto q, auto k, auto v) { return std::tuple{nn::rotary(q), nn::rotary(k), v}; };
constexpr auto y = nn::self_attention<"attn", heads, nn::causal, turned>(input<"x", 2, 7, 12>);
static_assert(an_expression<decltype(y)>);
