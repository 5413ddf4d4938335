// rejects: cairn \[wrong-arguments\]: a program is saved to and loaded from the path of a file
// rejects: fact::given<int>
#include "cairn/cairn.hpp"
#include "cairn/file/saving.hpp"

using namespace cairn;

constexpr auto loss = mean(square(param<"w", 8>));

int main() {
  program<loss> step;
  step.init(seed{1});
#ifdef CAIRN_REJECT
  step.save(3);
#else
  step.save("run.safetensors");
#endif
  return step.value_and_grad() > 0 ? 0 : 1;
}
