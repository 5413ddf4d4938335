// Compares the imported model with numbers that PyTorch computed.
#include "check.hpp"
#include "model.hpp"

#include <cairn/file/saving.hpp>

using namespace cairn;

int main() {
  const auto text = data::read_safetensors<std::int32_t>("numbers.safetensors", "inputs/text").values;
  predictor<small_gpt::output> predict_output{"weights.safetensors"};
  report("output", {compared("outputs", "output", predict_output(bind<"text">(text)), 1e-5)});
  check_training();

  if (far_arrays == 0) std::puts("The model agrees with PyTorch's numbers.");
  else std::printf("%d of %d arrays are not close to PyTorch's.\n", far_arrays, arrays);
  return far_arrays == 0 ? 0 : 1;
}
