// rejects: cairn \[wrong-arguments\]: an array enters under the name of an input
// rejects: fact::given<std::vector<float
#include "cairn/cairn.hpp"

#include <vector>

using namespace cairn;

constexpr auto loss = mean(square(input<"x", 8, 4> | nn::linear<"fc", 2>));
const std::vector<float> x(8 * 4);

int main() {
  program<loss, update<adamw_options{}>> step;
  step.init(seed{1});
#ifdef CAIRN_REJECT
  const float value = step.train(x);
#else
  const float value = step.train(bind<"x">(x));
#endif
  return value > 0 ? 0 : 1;
}
