// An operation whose slope is read off its result. Plans of such operations are tested; none is ever run.
#pragma once

#include "cairn/nn/activation.hpp"

namespace cairn::test {

struct curved_op : elementwise_op {
  static constexpr fixed_string name = "curved";
  static constexpr auto vjp(auto g, auto y, auto) { return gradients(g * (constant<1> - make<square_op>(y))); }
};
template <an_expression X>
constexpr made<curved_op, X> curved(X) {
  return {};
}
template <class V>
constexpr V lanewise(curved_op, V x) {
  return x - x * x * x;
}
/// The operation as a layer.
inline constexpr nn::detail::operation_layer<curved_op> curving{};

}  // namespace cairn::test
