// rejects: cairn \[wrong-arguments\]: a rule is an object with lr, moments, numbers\(lr, step\), and a static next\(p, g, numbers\.\.\.
// rejects: fact::given<descent>
#include "cairn/cairn.hpp"

using namespace cairn;

constexpr auto loss = mean(square(param<"w", 8, 4>));
struct descent {
  double lr = 1e-3;
  static constexpr std::array<std::string_view, 0> moments{};
  constexpr std::array<double, 1> numbers(double rate, std::int64_t) const { return {rate}; }
#ifdef CAIRN_REJECT
  static constexpr auto next(auto p, auto g) { return std::tuple{p - 0.1_c * g}; }
#else
  static constexpr auto next(auto p, auto g, auto rate) { return std::tuple{p - rate * g}; }
#endif
};

int main() {
  program<loss> step;
  step.init(seed{1});
  rule_optimizer rule{step, descent{}};
  const float value = step.value_and_grad();
  rule.lr(0.1);
  rule.update();
  return value > 0 ? 0 : 1;
}
