// Computes comparisons and choices on registers.
#pragma once

#include "cairn/kernel/elementwise.hpp"
#include "cairn/op/comparison.hpp"

#include <cstring>

namespace cairn::lang {

template <comparison Which, class V>
[[gnu::always_inline]] inline auto lanewise(compare_op<Which>, V a, V b) {
  using kernels::equal, kernels::greater;
  using truth = kernels::packed<std::uint8_t, V::width>;
  const auto holds = Which == comparison::less         ? greater(b, a)
                     : Which == comparison::less_equal ? greater(b, a) | equal(a, b)
                     : Which == comparison::equal      ? equal(a, b)
                                                       : ~equal(a, b);
  return truth{__builtin_convertvector(-holds, typename truth::vector)};  // a lane in which it holds is -1
}

template <class C, class V>
[[gnu::always_inline]] inline V lanewise(where_op, C condition, V a, V b) {
  using kernels::select;
  // The condition goes through memory, because g++ converts vectors of bytes lane by lane.
  if constexpr (requires { V::load_whole(&condition.value[0], V::width); }) {
    std::remove_cvref_t<decltype(condition.value[0])> truth[V::width];
    std::memcpy(truth, &condition.value, sizeof truth);
    return select(V::load_whole(truth, V::width) != 0, a, b);
  } else {
    return select(__builtin_convertvector(condition.value, typename V::mask) != 0, a, b);
  }
}

}  // namespace cairn::lang
