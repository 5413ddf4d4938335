// rejects: cairn \[wrong-arguments\]: generated<2, 3>\(f\) takes a function that captures nothing, of an int for each axis
// rejects: fact::extents<8, 8>
#include "cairn/misuse/table.hpp"
#include "cairn/op/elementwise.hpp"
#include "cairn/lang/generated.hpp"

using namespace cairn;

constexpr auto x = input<"x", 8, 8>;
#ifdef CAIRN_REJECT
constexpr auto y = x + generated<8, 8>([](int i) { return i; });
#else
constexpr auto y = x + generated<8, 8>([](int i, int j) { return i + j; });
#endif
static_assert(an_expression<decltype(y)>);
