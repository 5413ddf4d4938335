// rejects: cairn \[same-random-key\]: two random operations have one name.*rename one
// rejects: fact::key<cairn::fixed_string<3>\{"d1"\}>
// rejects: given<float ?\[8\]\[16\]>
// rejects: given<float ?\[8\]\[4\]>
#include "cairn/misuse/table.hpp"
#include "cairn/check/model.hpp"
#include "cairn/nn/dropout.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr fixed_string second = "d1";
#else
constexpr fixed_string second = "d2";
#endif

constexpr auto hidden = input<"x", 8, 3> | nn::linear<"fc1", 16> | nn::dropout<"d1">;
constexpr auto loss = sum(hidden | nn::linear<"fc2", 4> | nn::dropout<second>);
static_assert(detail::checked<loss>());
