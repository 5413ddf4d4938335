// Computes elements of generated arrays for the fused loops that read them.
#pragma once

#include "cairn/graph/graph.hpp"
#include "cairn/kernel/registers.hpp"

namespace cairn::kernels {

/// Returns n elements from a position on, and zeros in the other lanes.
template <class Held, const graphs::generator* Array>
[[gnu::always_inline]] inline typename Held::type load_generated(std::int64_t position, int n) {
  constexpr auto generate = Array->run;
  constexpr int width = Held::type::width;
  double elements[width] = {};
  typename Held::number numbers[width];
  generate(elements, position, n);
  for (int k = 0; k < width; ++k) numbers[k] = Held::nearest(elements[k]);
  return Held::load(numbers);
}
/// Returns the element at a position in all lanes.
template <class Held, const graphs::generator* Array>
[[gnu::always_inline]] inline typename Held::type repeat_generated(std::int64_t position) {
  constexpr auto generate = Array->run;
  double element;
  generate(&element, position, 1);
  return Held::fill(element);
}
}  // namespace cairn::kernels
