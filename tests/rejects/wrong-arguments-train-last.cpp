// rejects: cairn \[wrong-arguments\]: train takes the learning rate first, in braces
// rejects: fact::given<cairn::train_options>
#include "cairn/cairn.hpp"

#include <vector>

using namespace cairn;

constexpr auto loss = mean(square(input<"x", 8, 4> | nn::linear<"fc", 2>));
const std::vector<float> x(8 * 4);

int main() {
  program<loss, update<sgd_options{}>> step;
  step.init(seed{1});
#ifdef CAIRN_REJECT
  const float value = step.train(bind<"x">(x), train_options{.lr = 1e-3});
#else
  const float value = step.train(train_options{.lr = 1e-3}, bind<"x">(x));
#endif
  return value > 0 ? 0 : 1;
}
