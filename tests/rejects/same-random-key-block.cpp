// rejects: cairn \[same-random-key\]: two random operations have one name.*put them into different blocks
// rejects: fact::key<cairn::fixed_string<11>\{"block\.0\.d1"\}>
// rejects: given<float ?\[8\]\[3\]>
#include "cairn/misuse/table.hpp"
#include "cairn/check/model.hpp"
#include "cairn/nn/activation.hpp"
#include "cairn/nn/dropout.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;

constexpr auto hidden = nn::linear<"fc1", 12> | nn::gelu | nn::linear<"fc2", 3>;

// Once a block each, and the block repeated: its number is part of the name.
#ifdef CAIRN_REJECT
constexpr auto body = nn::dropout<"d1", 0.1> | hidden | nn::dropout<"d1", 0.1>;
#else
constexpr auto body = nn::dropout<"d1", 0.1> | hidden | block<"out">(nn::dropout<"d1", 0.1>);
#endif

constexpr auto loss = sum(input<"x", 8, 3> | repeat<4, "block">([](auto) { return ckpt<"s">(body); }));
static_assert(detail::checked<loss>());
