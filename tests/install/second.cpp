#include "model.hpp"

// first.cpp has another model with these names.
constexpr auto bend = cairn::layer([](auto x) { return x + x; });
constexpr auto bent = mean(cairn::param_from<"w", cairn::initial{.fill = 3}, 6> | bend);

losses trained_there() {
  train_step step;
  return trained(step);
}

losses trained_there(train_step& step) { return trained(step); }

float bent_there() {
  cairn::program<bent> own;
  own.init(cairn::seed{1});
  return own.value_and_grad();
}
