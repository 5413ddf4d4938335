// rejects: cairn \[same-layer-name\]: two layers have one name and would share this parameter
// rejects: fact::parameter<cairn::fixed_string<\d+>\{"embed\.weight"\}>
// rejects: given<float ?\[8\]\[12\]>, cairn::fact::given<float ?\[12\]\[12\]>
#include "cairn/misuse/table.hpp"
#include "cairn/check/model.hpp"
#include "cairn/op/matmul.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;

// What a layer has may be read by hand, but not by a second layer.
constexpr auto h = input<"x", 8, 12> | nn::linear<"embed", 12>;
#ifdef CAIRN_REJECT
constexpr auto w = param<"q", 12, 12> | nn::linear<"embed", 12>;
#else
constexpr auto w = param<"q", 12, 12> * param<"/embed.weight", 12, 12> + param<"/embed.bias", 12>;
#endif
constexpr auto loss = sum(tanh(matmul(h, w)));
static_assert(detail::checked<loss>());
