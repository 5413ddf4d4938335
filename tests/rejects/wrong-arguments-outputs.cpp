// rejects: cairn \[wrong-arguments\]: a layer stands where an expression is needed; apply it: x \| layer, or layer\(x\)
// rejects: operation<cairn::fixed_string<8>\{"outputs"\}, float, cairn::fact::layer
#include "cairn/cairn.hpp"

#include <vector>

using namespace cairn;

constexpr auto x = input<"x", 8, 16>;
constexpr auto y = labels<"y", 4, 8>;
constexpr auto model = nn::linear<"in", 16> | nn::relu | nn::linear<"head", 4>;
constexpr auto loss = cross_entropy(x | model, y);
#ifdef CAIRN_REJECT
constexpr auto results = outputs(loss, model);
#else
constexpr auto results = outputs(loss, model(x));
#endif

int main() {
  program<results> step;
  step.init(seed{1});
  const std::vector<float> xs(8 * 16);
  const std::vector<int> ys(8);
  auto [l, logits] = step.value_and_grad(bind<"x">(xs), bind<"y">(ys));
  static_cast<void>(logits);
  return l > 0 ? 0 : 1;
}
