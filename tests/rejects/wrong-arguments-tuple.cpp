// rejects: cairn \[wrong-arguments\]: \| applies a layer to one value; call it with several: layer\(a, b\)
// rejects: operation<cairn::fixed_string<2>\{"\|"\}, float ?\[4\]\[8\], float ?\[4\]\[8\]>
#include "cairn/misuse/table.hpp"
#include "cairn/lang/checkpoint.hpp"
#include "cairn/op/elementwise.hpp"

using namespace cairn;

constexpr auto cell = ckpt<"cell">(layer([](auto h, auto c) { return tanh(h) * exp(c); }));
constexpr auto state = std::tuple{input<"h", 4, 8>, input<"c", 4, 8>};
#ifdef CAIRN_REJECT
constexpr auto y = state | cell;
#else
constexpr auto y = cell(std::get<0>(state), std::get<1>(state));
#endif
static_assert(an_expression<decltype(y)>);
