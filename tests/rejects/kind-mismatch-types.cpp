// rejects: cairn \[kind-mismatch\]: real numbers of different types meet in this operation, and as<float>\(x\) is another than the program's
// rejects: operation<cairn::fixed_string<8>\{"minimum"\}, float ?\[8\]\[4\], double ?\[4\]>
#include "cairn/misuse/table.hpp"
#include "cairn/lang/convert.hpp"
#include "cairn/op/elementwise.hpp"

using namespace cairn;

constexpr auto x = input<"x", 8, 4>;
constexpr auto precise = as<double>(input<"p", 4>);

#ifdef CAIRN_REJECT
constexpr auto y = minimum(x, precise);
#else
constexpr auto y = minimum(as<double>(x), precise);
#endif
static_assert(an_expression<decltype(y)>);
