// `value_and_grad` or the predictor reports this mistake.
//
// Two arrays are bound to one input, and cairn cannot know which array you mean. Remove one of them.

#include "cairn/op/loss.hpp"
#include "cairn/run/program.hpp"

using namespace cairn;

// case: duplicate-input
// says: this input is bound more than once
// shows: fact::input<cairn::fixed_string<2>\{"x"\}>
constexpr auto loss = sum(input<"x", 4> * param<"w", 4>);

int main() {
  program<loss> step;
  float x[4] = {1, 2, 3, 4};
  float value = step.value_and_grad(bind<"x">(x), bind<"x">(x));  // wrong
  float value = step.value_and_grad(bind<"x">(x));                // right
  return value > 0;
}
