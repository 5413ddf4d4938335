// `value_and_grad` or the predictor reports this mistake.
//
// The model reads an input that no `bind<...>` gives. Bind every input and all labels that the model reads, in each
// step.

#include "cairn/op/loss.hpp"
#include "cairn/run/program.hpp"

using namespace cairn;

// case: missing-input
// says: the model reads this input, but no bind<\.\.\.> gives it
// shows: fact::input<cairn::fixed_string<2>\{"x"\}>
constexpr auto loss = sum(input<"x", 4> * param<"w", 4>);

int main() {
  program<loss> step;
  float value = step.value_and_grad();                                   // wrong
  float value = step.value_and_grad(bind<"x">(std::array<float, 4>{}));  // right
  return value > 0;
}
