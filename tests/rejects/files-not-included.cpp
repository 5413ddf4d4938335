// `save`, `load` and a predictor of a file report this mistake.
//
// Reading and writing [files](running.md#files) needs a JSON parser. `cairn.hpp` leaves it out, because a program that
// only trains and predicts need not compile it. Include `cairn/file/saving.hpp`.

#include "cairn/cairn.hpp"

using namespace cairn;

// case: files-not-included
// says: programs are saved and loaded by a header that cairn.hpp leaves out
// shows: fact::operation<cairn::fixed_string<11>\{"save, load"\}>
#include "cairn/file/saving.hpp"  // right
constexpr auto loss = mean(square(param<"w", 8>));

int main() {
  program<loss> step;
  step.init(seed{1});
  step.save("run.safetensors");
  return step.value_and_grad() > 0 ? 0 : 1;
}

// case: files-not-included-load
// says: programs are saved and loaded by a header that cairn.hpp leaves out
#include "cairn/file/saving.hpp"  // right
constexpr auto result = square(param<"w", 8>);

int main() {
  predictor<result> predict{"run.safetensors"};
  return predict()(0) > 0 ? 0 : 1;
}
