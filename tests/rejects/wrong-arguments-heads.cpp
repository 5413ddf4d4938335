// rejects: cairn \[wrong-arguments\]: attention takes q, k and v, then at most one mask and one causal
// rejects: fact::in<cairn::fixed_string<2>\{"a"\}>
// rejects: operation<cairn::fixed_string<10>\{"attention"\}, float ?\[2\]\[7\]\[3\]\[4\], float ?\[2\]\[7\]\[3\]\[4\]>
#include "cairn/misuse/table.hpp"
#include "cairn/nn/attention.hpp"

using namespace cairn;

constexpr auto scaled = [](auto q, auto k, [[maybe_unused]] auto v) {
#ifdef CAIRN_REJECT
  return std::tuple{q * 2_c, k};
#else
  return std::tuple{q * 2_c, k, v};
#endif
};
constexpr auto y = input<"x", 2, 7, 12> | nn::self_attention<"a", 3, nn::attention_options{}, scaled>;
static_assert(an_expression<decltype(y)>);
