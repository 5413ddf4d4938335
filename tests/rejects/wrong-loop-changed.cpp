// rejects: cairn \[wrong-loop\]: what a loop carries has the same shape and type in all steps.*\(the first is number 0\)
// rejects: fact::in<cairn::fixed_string<5>\{"step"\}.*fact::argument<0>.*fact::got<float *\[4\]\[6\]>
#include "cairn/misuse/table.hpp"
#include "cairn/op/elementwise.hpp"
#include "cairn/op/matmul.hpp"
#include "cairn/lang/scan.hpp"

using namespace cairn;

constexpr auto h0 = input<"h0", 4, 5>;
#ifdef CAIRN_REJECT
constexpr auto body = [](auto h) { return tanh(matmul(h, param<"w", 5, 6>)); };
#else
constexpr auto body = [](auto h) { return tanh(matmul(h, param<"w", 5, 5>)); };
#endif
[[maybe_unused]] constexpr auto h = scan<10, "step">(body, carried(h0));
