// rejects: cairn \[same-layer-name\]: .* rename one, put it into a block, or write shared\(layer\)
// rejects: fact::parameter<cairn::fixed_string<\d+>\{"norm1\.weight"\}>
#include "cairn/misuse/table.hpp"
#include "cairn/check/model.hpp"
#include "cairn/nn/transformer.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr auto second = nn::transformer_block<2>;
#else
constexpr auto second = block<"second">(nn::transformer_block<2>);
#endif

constexpr auto loss = sum(input<"x", 2, 3, 4> | nn::transformer_block<2> | second);
static_assert(detail::checked<loss>());
