// rejects: cairn \[not-a-layer\]: a layer captures nothing and has no members; .* scan takes them last, behind each\(\.\.\.\)
// rejects: fact::in<cairn::fixed_string<5>\{"step"\}>
#include "cairn/misuse/table.hpp"
#include "cairn/op/elementwise.hpp"
#include "cairn/lang/generated.hpp"
#include "cairn/lang/scan.hpp"

using namespace cairn;

constexpr auto looped(auto rate) {
#ifdef CAIRN_REJECT
  return scan<10, "step">([rate](auto h) { return tanh(h * rate); }, carried(zeros<5>));
#else
  return scan<10, "step">([](auto h, auto by) { return tanh(h * by); }, carried(zeros<5>), rate);
#endif
}
[[maybe_unused]] constexpr auto h = looped(input<"rate">);
