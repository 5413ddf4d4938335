// rejects: cairn \[same-layer-name\]: two layers have one name and would share this parameter.*shared\(layer\)
// rejects: fact::parameter<cairn::fixed_string<\d+>\{"state\.weight"\}>
#include "cairn/misuse/table.hpp"
#include "cairn/check/model.hpp"
#include "cairn/nn/activation.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;

// A recurrent cell, of which each step has the same weights.
constexpr auto cell = [](auto h, auto x) { return tanh(x + (h | nn::linear<"state", 12>)); };
constexpr auto x = input<"x", 8, 12>;
constexpr auto first = ckpt<"t1", allow_useless>(cell, x, x);
#ifdef CAIRN_REJECT
constexpr auto second = ckpt<"t2", allow_useless>(cell, first, x);
#else
constexpr auto second = ckpt<"t2", allow_useless>(shared(cell), first, x);
#endif
constexpr auto loss = sum(second);
static_assert(detail::checked<loss>());
