// `train` and the program report this mistake.
//
// A program changes its parameters only if `update<...>` gives it a rule. Give the program a rule, or call
// `value_and_grad` and an optimizer. The id reports three more mistakes:
//
// - A trained parameter has no rule, because every rule names its parameters and none names this one. Add a rule
//   without names, or `freeze` the parameter.
// - `clip<...>` or `clip_value<...>` stands without `update<...>`.
// - `step.moment<"fc1.weight", "momentum">()` asks for a moment that the rule does not keep. The moments of AdamW are
//   `exp_avg` and `exp_avg_sq`. The moment of SGD is `momentum_buffer`.

#include "cairn/check/model.hpp"
#include "cairn/train/rules.hpp"

#include <vector>

using namespace cairn;

// shared: a program without a rule
#include "cairn/cairn.hpp"

constexpr auto loss = mean(square(input<"x", 8, 4> | nn::linear<"fc", 2>));
const std::vector<float> x(8 * 4);

int main() {
  program<loss> step;
  step.init(seed{1});
  // here
  return value > 0 ? 0 : 1;
}

// case: no-update
// says: this program changes no parameters; give it a rule
// shows: fact::operation<cairn::fixed_string<6>\{"train"\}>
  const float value = step.train({.lr = 1e-3}, bind<"x">(x));  // wrong
  const float value = step.value_and_grad(bind<"x">(x));       // right

// case: no-update-without-rate
// says: this program changes no parameters; give it a rule
  const float value = step.train(bind<"x">(x));           // wrong
  const float value = step.value_and_grad(bind<"x">(x));  // right

// shared: nothing

// case: no-update-clip
// says: gradients are clipped where the step uses them: clip<\.\.\.> goes with update<\.\.\.>
// shows: fact::operation<cairn::fixed_string<5>\{"clip"\}>
constexpr auto loss = sum(square(input<"x", 4> * param<"w", 4> + param<"b", 4>));
static_assert(detail::checked<loss, clip<1.0>>());                       // wrong
static_assert(detail::checked<loss, clip<1>, update<sgd_options{}>>());  // right

// case: no-update-moment
// says: the rule by which this parameter is updated, if any, keeps no moment of this name
// shows: fact::parameter<cairn::fixed_string<2>\{"w"\}>
#include "cairn/cairn.hpp"
constexpr auto loss = mean(square(param<"w", 8>));

int main() {
  program<loss, update<adamw_options{}>> step;
  step.init(seed{1});
  const auto m = step.moment<"w", "momentum_buffer">();  // wrong
  const auto m = step.moment<"w", "exp_avg">();          // right
  return m(0) == 0 ? 0 : 1;
}

// case: no-update-parameter
// says: no update<\.\.\.> is for this parameter; add one without names, or freeze it
// shows: fact::parameter<cairn::fixed_string<2>\{"b"\}>
constexpr auto loss = sum(square(input<"x", 4> * param<"w", 4> + param<"b", 4>));
static_assert(detail::checked<loss, update<sgd_options{}, "w">>());               // wrong
static_assert(detail::checked<loss, update<sgd_options{}, "w">, freeze<"b">>());  // right
