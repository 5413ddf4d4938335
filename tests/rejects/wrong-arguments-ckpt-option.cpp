// rejects: cairn \[wrong-arguments\]: this is an option of a program, as in program<loss, plain>; a part that is no segment is a block
// rejects: given<cairn::plain>
#include "cairn/misuse/table.hpp"
#include "cairn/lang/checkpoint.hpp"
#include "cairn/nn/activation.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;

constexpr auto x = input<"x", 8, 16>;
#ifdef CAIRN_REJECT
constexpr auto y = x | ckpt<"a", plain>(nn::linear<"fc", 4> | nn::relu);
#else
constexpr auto y = x | block<"a">(nn::linear<"fc", 4> | nn::relu);
#endif
static_assert(an_expression<decltype(y)>);
