// rejects: cairn \[shape-mismatch\]: embedding takes indices with a bound, its rows; padding is one of these
// rejects: fact::in<cairn::fixed_string<9>\{"text.wte"\}>
// rejects: embedding.*int ?\[4\]\[9\]
// rejects: bound<256>.*padding<256>
#include "cairn/misuse/table.hpp"
#include "cairn/nn/embedding.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr int padding = 256;
#else
constexpr int padding = -1;
#endif

constexpr auto table = nn::embedding<"wte", 16, nn::embedding_options{.padding_idx = padding}>;
constexpr auto h = indices<"tokens", 256, 4, 9> | block<"text">(table);
static_assert(an_expression<decltype(h)>);
