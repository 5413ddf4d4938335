// What the gradient tests of whole models share.
#pragma once

#include <vector>

#include "gradients.hpp"

template <auto Model, class... Options>
void check_model() {
  std::vector<double> x(8 * 12);
  std::vector<std::int32_t> y(8);
  random_sequence draw(seed{7}, 0);
  for (double& value : x) value = 4 * static_cast<double>(uniform(draw())) - 2;
  for (std::int32_t& label : y) label = static_cast<std::int32_t>(draw.below(5));
  check<Model, Options...>(bind<"x">(x), bind<"y">(y));
}
