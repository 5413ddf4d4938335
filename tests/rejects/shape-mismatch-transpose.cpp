// rejects: cairn \[shape-mismatch\]: transpose<...> names every axis once
// rejects: operation<cairn::fixed_string<13>\{"transpose\(x\)"\}, float ?\[4\]\[6\]>
// rejects: axes<0, 0>
#include "cairn/misuse/table.hpp"
#include "cairn/op/loss.hpp"
#include "cairn/op/transpose.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr int width = 0;
#else
constexpr int width = 1;
#endif

constexpr auto loss = mean(transpose<0, width>(input<"x", 4, 6>));
static_assert(an_expression<decltype(loss)>);
