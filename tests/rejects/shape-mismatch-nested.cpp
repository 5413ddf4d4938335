// rejects: cairn \[shape-mismatch\]: extents, from the last on, must be equal or 1
// rejects: fact::in<cairn::fixed_string<15>\{"block\.0\.mlp\.ff"\}>
// rejects: operation<cairn::fixed_string<21>\{"add\(argument 0, fc2\)"\}, float ?\[4\]\[8\], float ?\[4\]\[6\]>
#include "cairn/misuse/table.hpp"
#include "cairn/lang/checkpoint.hpp"
#include "cairn/op/loss.hpp"
#include "cairn/nn/activation.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr int width = 6;
#else
constexpr int width = 8;
#endif

constexpr auto feed_forward = nn::linear<"fc1", 16> | nn::gelu | nn::linear<"fc2", width>;

constexpr auto model =
    nn::linear<"embed", 8> |
    repeat<12, "block">([](auto) { return block<"mlp">(ckpt<"ff">(nn::residual(feed_forward))); }) |
    nn::linear<"head", 10>;

constexpr auto loss = cross_entropy(input<"x", 4, 5> | model, labels<"classes", 10, 4>);
constexpr auto penalized = loss + 0.1_c * mean(square(loss));
static_assert(an_expression<decltype(penalized)>);
