// Concatenation and stacking: tensors are joined along an axis.
#pragma once

#include "cairn/lang/view.hpp"
#include "cairn/op/slice.hpp"

namespace cairn::lang {

/// Joins the arguments one after the other along an axis.
template <int Axis>
struct concatenate_op : op {
  static constexpr fixed_string name = "concatenate";
  using rule = misuse::equal_but_along_axis;
  using asked = fact::axes<Axis>;
  static constexpr kind argument_kind(int) { return kind::any; }
  static constexpr tensor_type result(const tensor_type& first, const auto&... more) {
    std::int64_t extent = extent_along(first, Axis);
    ((extent += extent_along(more, Axis)), ...);
    if (!detail::is_extent(extent)) return no_shape;
    const auto in_whole = [=](const tensor_type& x) -> shape {
      return extent_along(x, Axis) > 0 ? with_extent(x, Axis, static_cast<int>(extent)) : no_shape;
    };
    const tensor_type whole{in_whole(first), detail::joined_elements(first.element, more.element...)};
    const bool alike = ((in_whole(more) == whole && more.element.type == first.element.type) && ...);
    return alike ? whole : no_shape;
  }
  static constexpr bool keeps_rows(int, const shape& first, const auto&...) { return Axis != 0 && Axis != -first.rank; }
  static constexpr std::int64_t flops(const auto&...) { return 0; }
  static constexpr bool is_along_rows(const shape& first) { return Axis == -1 || Axis == first.rank - 1; }
  static constexpr reading reads(int, const shape& first, const auto&...) {
    return {.numbers = reading::as_stored, .in_pieces = is_along_rows(first)};
  }
  static constexpr making makes(int, int, const shape& first, const auto&...) {
    return {.joins = is_along_rows(first)};
  }
  template <class G, class Y, class... X>
  static constexpr auto vjp(G g, Y, X...) {
    return [=]<std::size_t... I>(std::index_sequence<I...>) {
      return gradients(make<slice_op<Axis, begin<I, X...>, begin<I + 1, X...>>>(g)...);
    }(std::index_sequence_for<X...>{});
  }

 private:
  /// Index along the axis at which argument number I of X begins in the result.
  template <std::size_t I, class... X>
  static constexpr int begin = [] {
    const int extents[]{X::shape[Axis]...};
    int sum = 0;
    for (std::size_t i = 0; i < I; ++i) sum += extents[i];
    return sum;
  }();
};

template <int... Axes>
struct concatenate_form : unfit_form<"concatenate"> {};
template <int Axis>
struct concatenate_form<Axis> {
  static constexpr fixed_string name = "concatenate";
  using reported = misuse::two_or_more_arguments;
  template <class... A>
  static constexpr bool fits = sizeof...(A) > 1;
  /// A message shows only the first argument and the first argument that does not fit it, however many there are.
  template <an_expression First, an_expression... More>
  static constexpr auto body(First first, More... more) {
    const auto whole = make<concatenate_op<Axis>>(first, more...);
    if constexpr (!wrong<decltype(whole)>) return whole;
    else return first_wrong(make<concatenate_op<Axis>>(first, more)..., whole);
  }
};

/// Returns the shape `s` with an additional axis of extent 1 at index `axis`. A negative index counts from the last
/// axis of the result. Returns no_shape if the result cannot have that axis.
constexpr shape with_axis(shape s, int axis) {
  const int at = axis < 0 ? s.rank + 1 + axis : axis;
  if (at < 0 || at > s.rank || s.rank == max_rank) return no_shape;
  for (int k = s.rank++; k > at; --k) s.extent[k] = s.extent[k - 1];
  s.extent[at] = 1;
  return s;
}
template <int... Axes>
struct stack_form : unfit_form<"stack"> {};
template <int Axis>
struct stack_form<Axis> : concatenate_form<Axis> {
  static constexpr fixed_string name = "stack";
  template <an_expression First, an_expression... More>
  static constexpr auto body(First first, More... more) {
    using owner = owner_of<First, More...>;
    constexpr shape apart = with_axis(First::shape, Axis);
    if constexpr (wrong<First> || (wrong<More> || ...)) {
      return pass_on<owner>(first, more...);
    } else if constexpr (!apart.valid()) {
      return mistake<misuse::new_axis, owner, fact::operation<"stack", tensor_fact<First>>, fact::axes<Axis>>{};
    } else if constexpr (!((More::shape == First::shape) && ...)) {
      return first_problem(stacked_beside<First>(more)...);
    } else {
      return concatenate_form<Axis>::body(make<reshape_op<apart>>(first), make<reshape_op<apart>>(more)...);
    }
  }

 private:
  /// A message shows only the first argument and the first argument that does not fit it, however many there are.
  template <class First, class X>
  static constexpr auto stacked_beside(X) {
    using what = fact::operation<"stack", tensor_fact<First>, tensor_fact<X>>;
    if constexpr (X::shape == First::shape) return sound{};
    else return mistake<misuse::equal_shapes, owner_of<First, X>, what>{};
  }
};

/// Joins two or more expressions one after the other along an axis, as torch.cat does: `concatenate<-1>(a, b, c)`. A
/// negative axis counts from the last axis. All other extents must be equal.
template <int... Axes, class... A>
  requires some_operands<A...>
constexpr applied<concatenate_form<Axes...>, A...> concatenate(A...) {
  return {};
}

/// Joins two or more expressions of one shape along a new axis, as torch.stack does: `stack<0>(a, b, c)`. A negative
/// axis counts from the last axis of the result.
/// Rejects: different shapes; an axis that the result cannot have.
template <int... Axes, class... A>
  requires some_operands<A...>
constexpr applied<stack_form<Axes...>, A...> stack(A...) {
  return {};
}

}  // namespace cairn::lang

namespace cairn {
using lang::concatenate, lang::stack;
}  // namespace cairn
