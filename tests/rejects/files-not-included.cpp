// rejects: cairn \[files-not-included\]: programs are saved and loaded by a header that cairn.hpp leaves out
// rejects: fact::operation<cairn::fixed_string<11>\{"save, load"\}>
#include "cairn/cairn.hpp"
#ifndef CAIRN_REJECT
#include "cairn/file/saving.hpp"
#endif

using namespace cairn;

constexpr auto loss = mean(square(param<"w", 8>));

int main() {
  program<loss> step;
  step.init(seed{1});
  step.save("run.safetensors");
  return step.value_and_grad() > 0 ? 0 : 1;
}
