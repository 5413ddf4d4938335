// rejects: cairn \[shape-mismatch\]: extents, from the last on, must be equal or 1
// rejects: fact::in<cairn::fixed_string<6>\{"net\.1"\}>
// rejects: operation<cairn::fixed_string<28>\{"add\(argument 0, argument 1\)"\}, float ?\[4\]\[8\], float ?\[4\]\[2\]>
#include "cairn/misuse/table.hpp"
#include "cairn/lang/repeat.hpp"
#include "cairn/op/reduce.hpp"
#include "cairn/op/slice.hpp"

using namespace cairn;

// The second step cannot read what the first returns.
constexpr auto step = [](auto a, auto b) {
#ifdef CAIRN_REJECT
  return std::tuple{a + b, slice<1, 0, 2>(b)};
#else
  return std::tuple{a + b, slice<1, 0, 8>(b)};
#endif
};
constexpr auto both = repeat<4, "net">([](auto) { return step; }, input<"a", 4, 8>, input<"b", 4, 8>);
constexpr auto loss = mean(std::get<0>(both)) + mean(std::get<1>(both));
static_assert(an_expression<decltype(loss)>);
