// Views that give the same elements another shape, or no gradient. They cost nothing.
#pragma once

#include "cairn/lang/apply.hpp"

namespace cairn::lang {

template <shape To>
struct reshape_op : op {
  static constexpr fixed_string name = "reshape";
  using rule = misuse::same_number_of_elements;
  struct wanted {
    static constexpr cairn::shape shape = To;
    static constexpr element_type element{};
  };
  using asked = fact::result<tensor_fact<wanted>>;
  static constexpr bool view = true;
  static constexpr kind argument_kind(int) { return kind::any; }
  static constexpr tensor_type result(const tensor_type& x) {
    for (int axis = 0; axis < To.rank; ++axis) {
      if (To.extent[axis] < 1) return no_shape;
    }
    return {x.count() == To.count() ? To : no_shape, x.element};
  }
  static constexpr std::int64_t flops(auto) { return 0; }
  static constexpr auto vjp(auto g, auto, auto x) { return gradients(make<reshape_op<decltype(x)::shape>>(g)); }
};
/// Returns x in the shape To. Returns x itself if it has this shape.
template <shape To, class X>
constexpr auto reshaped(X x) {
  if constexpr (X::shape == To) return x;
  else return make<reshape_op<To>>(x);
}

/// Returns the given extents as a shape. An extent of -1 is replaced by the number of elements divided by the product
/// of the other extents, or by 0 if the quotient is no valid extent.
template <shape From, std::int64_t... Extents>
constexpr shape inferred() {
  shape to;
  std::int64_t known = 1;
  ((to.extent[to.rank++] = static_cast<int>(Extents), known *= Extents == -1 ? 1 : Extents), ...);
  for (int axis = 0; axis < to.rank; ++axis) {
    if (to.extent[axis] == -1 && known > 0)
      to.extent[axis] = detail::is_extent(From.count() / known) ? static_cast<int>(From.count() / known) : 0;
  }
  return to;
}
template <std::int64_t... Extents>
struct reshape_form : form_of_one<"reshape"> {
  template <an_expression X>
  static constexpr auto body(X x) {
    using owner = owner_of<X>;
    if constexpr (wrong<X>) return pass_on<owner>(x);
    else if constexpr (!detail::can_be_shape<(Extents < 1 ? 1 : Extents)...>)
      return mistake<misuse::positive_extents, owner, fact::operation<"reshape", tensor_fact<X>>,
                     fact::extents<Extents...>>{};
    else return make<reshape_op<inferred<X::shape, Extents...>()>>(x);
  }
};

/// Returns the same elements in another shape, without moving data. One extent may be -1 and is then deduced. Rejects
/// shapes with another number of elements.
template <std::int64_t... Extents, an_operand X, class... Surplus>
constexpr applied<reshape_form<Extents...>, X, Surplus...> reshape(X, Surplus...) {
  return {};
}

struct detach_op : op {
  static constexpr fixed_string name = "detach";
  using rule = misuse::equal_shapes;
  static constexpr bool view = true, detaches = true;
  static constexpr shape result(const shape& x) { return x; }
  static constexpr std::int64_t flops(auto) { return 0; }
  static constexpr auto vjp(auto, auto, auto) { return gradients(no_gradient{}); }
};

/// Returns the same value, through which no gradient flows. Segments reject detach.
template <an_operand X>
constexpr made<detach_op, X> detach(X) {
  return {};
}

}  // namespace cairn::lang

namespace cairn {
using lang::detach, lang::reshape;
}  // namespace cairn
