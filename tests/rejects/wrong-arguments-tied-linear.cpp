// rejects: cairn \[wrong-arguments\]: tied_linear takes the weight of another layer by its full name, which starts with /
// rejects: fact::in<cairn::fixed_string<2>\{"d"\}>, cairn::fact::parameter<cairn::fixed_string<11>\{"wte.weight"\}>
#include "cairn/misuse/table.hpp"
#include "cairn/lang/block.hpp"
#include "cairn/lang/generated.hpp"
#include "cairn/nn/embedding.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;

constexpr auto h = arange<8> | nn::embedding<"wte", 4>;
#ifdef CAIRN_REJECT
constexpr auto decoded = h | block<"d">(nn::tied_linear<"wte.weight", 8>);
#else
constexpr auto decoded = h | block<"d">(nn::tied_linear<"/wte.weight", 8>);
#endif
static_assert(an_expression<decltype(decoded)>);
