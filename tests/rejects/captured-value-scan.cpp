// rejects: cairn \[captured-value\]: a body uses another's value, or one of inputs not given to it
// rejects: fact::in<cairn::fixed_string<5>\{"step"\}
#include "cairn/core/misuse.hpp"
#include "cairn/expr/elementwise.hpp"
#include "cairn/expr/generated.hpp"
#include "cairn/expr/scan.hpp"

using namespace cairn;

constexpr auto scaled = exp(input<"x", 5>);
#ifdef CAIRN_REJECT
[[maybe_unused]] constexpr auto h = scan<10, "step">([](auto h) { return tanh(h * scaled); }, carried(zeros<5>));
#else
[[maybe_unused]] constexpr auto h = scan<10, "step">([](auto h, auto a) { return tanh(h * a); }, carried(zeros<5>), scaled);
#endif
