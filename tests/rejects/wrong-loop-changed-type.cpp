// rejects: cairn \[wrong-loop\]: what a loop carries has the same shape and type in all steps.*\(the first is number 0\)
// rejects: fact::in<cairn::fixed_string<5>\{"step"\}.*fact::argument<0>.*fact::got<double *\[4\]\[5\]>
#include "cairn/misuse/table.hpp"
#include "cairn/lang/convert.hpp"
#include "cairn/op/elementwise.hpp"
#include "cairn/lang/scan.hpp"

using namespace cairn;

constexpr auto h0 = input<"h0", 4, 5>;
#ifdef CAIRN_REJECT
constexpr auto body = [](auto h) { return as<double>(tanh(h)); };
#else
constexpr auto body = [](auto h) { return as_real(as<double>(tanh(h))); };
#endif
[[maybe_unused]] constexpr auto h = scan<10, "step">(body, carried(h0));
