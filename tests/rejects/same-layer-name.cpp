// rejects: cairn \[same-layer-name\]: two layers have one name and would share this parameter.*shared\(layer\)
// rejects: fact::parameter<cairn::fixed_string<\d+>\{"block\.0\.bn1\.weight"\}>
// rejects: given<float ?\[8\]\[16\]>, cairn::fact::given<float ?\[8\]\[16\]>
#include "cairn/misuse/table.hpp"
#include "cairn/check/model.hpp"
#include "cairn/nn/activation.hpp"
#include "cairn/nn/batch_norm.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;

// A copied line, of which nobody changed the name.
#ifdef CAIRN_REJECT
constexpr fixed_string second = "bn1";
#else
constexpr fixed_string second = "bn2";
#endif

constexpr auto body = nn::batch_norm<"bn1"> | nn::linear<"fc1", 16> | nn::batch_norm<second> | nn::linear<"fc2", 16>;
constexpr auto loss = sum(input<"x", 8, 16> | repeat<4, "block">([](auto) { return nn::residual(body); }));
static_assert(detail::checked<loss>());
