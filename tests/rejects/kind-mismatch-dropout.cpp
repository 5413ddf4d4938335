// rejects: cairn \[kind-mismatch\]: arguments are real numbers
// rejects: operation<cairn::fixed_string<8>\{"dropout"\}, int ?\[8\], cairn::random_stream>
// rejects: takes<float, cairn::random_stream>
#include "cairn/misuse/table.hpp"
#include "cairn/op/dropout.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr auto x = labels<"x", 10, 8>;
#else
constexpr auto x = input<"x", 8>;
#endif

constexpr auto y = dropout<"d">(x);
static_assert(an_expression<decltype(y)>);
