// rejects: cairn \[shape-mismatch\]: matrices must be
// rejects: fact::in<cairn::fixed_string<12>\{"cell\.0\.step"\}>
// rejects: operation<cairn::fixed_string<22>\{"matmul\(argument 0, w\)"\}, float ?\[4\]\[8\], float ?\[7\]\[8\]>
#include "cairn/misuse/table.hpp"
#include "cairn/lang/checkpoint.hpp"
#include "cairn/op/matmul.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr int width = 7;
#else
constexpr int width = 8;
#endif

constexpr auto step = [](auto x) { return tanh(matmul(x, param<"w", width, 8>)); };
constexpr auto y = input<"x", 4, 8> | repeat<3, "cell">([](auto) { return ckpt<"step">(step); });
constexpr auto loss = mean(y * y);
static_assert(an_expression<decltype(loss)>);
