// rejects: cairn \[shape-mismatch\]: .* bound
// rejects: fact::bound<3>
#include "cairn/misuse/table.hpp"
#include "cairn/op/attention.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr int values = 3;
#else
constexpr int values = 2;
#endif

constexpr auto k = input<"k", 2, 9, 4, 8>;
constexpr auto y = nn::attention(input<"q", 2, 7, 4, 8>, k, k, indices<"mask", values, 7, 9>);
static_assert(an_expression<decltype(y)>);
