// rejects: cairn \[kind-mismatch\]: arguments are real numbers \(float\) or indices \(int\)
// rejects: fact::in<cairn::fixed_string<4>\{"wte"\}>
// rejects: embedding.*float ?\[4\]\[9\]
// rejects: takes<int>
#include "cairn/misuse/table.hpp"
#include "cairn/nn/embedding.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr auto tokens = input<"tokens", 4, 9>;
#else
constexpr auto tokens = indices<"tokens", 256, 4, 9>;
#endif

constexpr auto h = tokens | nn::embedding<"wte", 16>;
static_assert(an_expression<decltype(h)>);
