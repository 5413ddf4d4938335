// rejects: cairn \[kind-mismatch\]: a plain number cannot enter an expression; .*for one of run time input<"scale">, which bind<"scale"> gives
// rejects: operation<cairn::fixed_string<4>\{"mul"\}, float ?\[4\]\[8\], float>
#include "cairn/misuse/table.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;

constexpr auto logits = input<"x", 4, 6> | nn::linear<"fc", 8>;
inline auto scaled([[maybe_unused]] float s) {
#ifdef CAIRN_REJECT
  return mean(logits * s);
#else
  return mean(logits * input<"scale">);
#endif
}
