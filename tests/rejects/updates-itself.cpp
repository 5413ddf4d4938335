// `value_and_grad`, `grad`, `gradients`, `gradcheck` and an optimizer report this mistake.
//
// A program with `update<...>` uses up each gradient as soon as the gradient is complete. No gradient is left to show,
// and nothing is left for an optimizer to do. Call `train`, or leave `update<...>` or the optimizer out. With
// `clip<...>` the program keeps its gradients, and `grad` and `gradients()` show them as they were before clipping. The
// gradients of inputs in `wrt<...>` are always available.
//
// With `sharded_moments`, each of several processes has the sums of a part of the gradients, and keeps the moments of a
// part of the parameters. Gradients and moments are therefore hidden even if there is a single process. Files have all
// moments.

#include "cairn/cairn.hpp"

#include <vector>

using namespace cairn;

// shared: a program with a rule, which lacks its steps
constexpr auto loss = mean(square(input<"x", 8, 4> | nn::linear<"fc", 2>));
const std::vector<float> x(8 * 4);

int main() {
  // here
  return value > 0 ? 0 : 1;
}

// case: updates-itself
// says: a program with update<\.\.\.> changes its parameters itself, by train
// shows: fact::operation<cairn::fixed_string<15>\{"value_and_grad"\}>
  program<loss, update<adamw_options{}>> step;
  step.init(seed{1});
  const float value = step.value_and_grad(bind<"x">(x));       // wrong
  const float value = step.train({.lr = 1e-3}, bind<"x">(x));  // right

// case: updates-itself-grad
// says: a program with update<\.\.\.> changes its parameters itself, by train
// shows: fact::parameter<cairn::fixed_string<8>\{"fc.bias"\}>
  program<loss, update<adamw_options{}>> step;
  step.init(seed{1});
  step.train({.lr = 1e-3}, bind<"x">(x));          // wrong
  const float value = step.grad<"fc.bias">()(0);   // wrong
  step.train({.lr = 1e-3}, bind<"x">(x));          // right
  const float value = step.param<"fc.bias">()(0);  // right

// case: updates-itself-gradients
// says: a program with update<\.\.\.> changes its parameters itself, by train
// shows: fact::operation<cairn::fixed_string<10>\{"gradients"\}, float>
  program<loss, update<adamw_options{}>> step;
  step.init(seed{1});
  step.train(bind<"x">(x));                  // wrong
  const float value = step.gradients()[0];   // wrong
  step.train(bind<"x">(x));                  // right
  const float value = step.parameters()[0];  // right

// case: updates-itself-optimizer
// says: a program with update<\.\.\.> changes its parameters itself, by train
// shows: fact::operation<cairn::fixed_string<10>\{"optimizer"\}, float>
  program<loss, update<sgd_options{}>> step;
  step.init(seed{1});
  sgd optimizer{step, {.lr = 1e-3}};                           // wrong
  const float value = step.train(bind<"x">(x));                // wrong
  optimizer.update();                                          // wrong
  const float value = step.train({.lr = 1e-3}, bind<"x">(x));  // right

// case: updates-itself-gradcheck
// says: a program with update<\.\.\.> changes its parameters itself, by train
// shows: fact::operation<cairn::fixed_string<10>\{"gradcheck"\}>
#include "cairn/gradcheck.hpp"
  const std::vector<double> in(8 * 4);
  const double value = gradcheck<loss, update<adamw_options{}>>(seed{1}, bind<"x">(in)).relative;  // wrong
  const double value = gradcheck<loss>(seed{1}, bind<"x">(in)).relative;                           // right

// case: updates-itself-in-parts
// says: with sharded_moments a process has a part of the moments and gradients, and shows neither
// shows: fact::operation<cairn::fixed_string<10>\{"gradients"\}, float>
  program<loss, shards<2>, update<adamw_options{}>, sharded_moments> step;  // wrong
  program<loss, shards<2>, update<adamw_options{}>> step;                   // right
  const float value = step.gradients()[0];

// case: updates-itself-in-parts-grad
// says: with sharded_moments a process has a part of the moments and gradients, and shows neither
// shows: fact::parameter<cairn::fixed_string<8>\{"fc.bias"\}>
  program<loss, shards<2>, update<adamw_options{}>, sharded_moments> step;  // wrong
  program<loss, shards<2>, update<adamw_options{}>> step;                   // right
  const float value = step.grad<"fc.bias">()(0);

// case: updates-itself-in-parts-moment
// says: with sharded_moments a process has a part of the moments and gradients, and shows neither
// shows: fact::operation<cairn::fixed_string<16>\{"momentum_buffer"\}>
  constexpr sgd_options rule{.lr = 0, .momentum = 0.5, .nesterov = true};
  program<loss, shards<2>, update<rule>, sharded_moments> step;  // wrong
  program<loss, shards<2>, update<rule>> step;                   // right
  const float value = step.moment<"fc.bias", "momentum_buffer">()(0);
