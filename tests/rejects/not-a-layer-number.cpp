// rejects: cairn \[not-a-layer\]: this element of what a layer returns \(the first is number 0\) is no expression; write 3\.0_c
// rejects: fact::in<cairn::fixed_string<5>\{"step"\}>.*fact::element<2>.*fact::returned<double>
#include "cairn/misuse/table.hpp"
#include "cairn/op/elementwise.hpp"
#include "cairn/lang/generated.hpp"
#include "cairn/lang/scan.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr auto body = [](auto h, auto v) { return std::tuple{h + v, h, 3.0}; };
#else
constexpr auto body = [](auto h, auto v) { return std::tuple{h + v, h, 3.0_c}; };
#endif
[[maybe_unused]] constexpr auto h = scan<10, "step">(body, carried(zeros<5>), input<"x", 5>);
