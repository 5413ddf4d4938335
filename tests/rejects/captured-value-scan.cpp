// rejects: cairn \[captured-value\]: a body uses another's value, or one of inputs not given to it
// rejects: fact::in<cairn::fixed_string<5>\{"step"\}
#include "cairn/misuse/table.hpp"
#include "cairn/op/elementwise.hpp"
#include "cairn/lang/generated.hpp"
#include "cairn/lang/scan.hpp"

using namespace cairn;

constexpr auto scaled = exp(input<"x", 5>);
#ifdef CAIRN_REJECT
[[maybe_unused]] constexpr auto h = scan<10, "step">([](auto h) { return tanh(h * scaled); }, carried(zeros<5>));
#else
[[maybe_unused]] constexpr auto h = scan<10, "step">([](auto h, auto a) { return tanh(h * a); }, carried(zeros<5>), scaled);
#endif
