// rejects: cairn \[files-not-included\]: programs are saved and loaded by a header that cairn.hpp leaves out
#include "cairn/cairn.hpp"
#ifndef CAIRN_REJECT
#include "cairn/file/saving.hpp"
#endif

using namespace cairn;

constexpr auto result = square(param<"w", 8>);

int main() {
  predictor<result> predict{"run.safetensors"};
  return predict()(0) > 0 ? 0 : 1;
}
