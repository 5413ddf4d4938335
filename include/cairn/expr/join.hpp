// Tensors joined along an axis, and parts cut out of them.
#pragma once

#include "cairn/expr/view.hpp"

#include <numeric>

namespace cairn {

namespace detail {
/// The extent of an axis, where negative ones count from the last; 0 where there is none.
constexpr int extent_along(const shape& s, int axis) { return axis < s.rank && axis >= -s.rank ? s[axis] : 0; }
constexpr shape with_extent(shape s, int axis, int extent) {
  s.extent[axis < 0 ? s.rank + axis : axis] = extent;
  return s;
}
}  // namespace detail

/// The argument between zeros: it begins at Begin of an axis of Extent.
template <int Axis, int Begin, int Extent>
struct pad_op;

/// Elements [Begin, End) along an axis; negative bounds count from the end.
template <int Axis, int Begin, int End>
struct slice_op : op {
  static constexpr fixed_string name = "slice";
  using rule = rule::part_of_axis;
  using asked = fact::slice<Axis, Begin, End>;
  static constexpr int begin(const shape& x) { return Begin < 0 ? detail::extent_along(x, Axis) + Begin : Begin; }
  static constexpr int end(const shape& x) { return End < 0 ? detail::extent_along(x, Axis) + End : End; }
  static constexpr shape result(const shape& x) {
    const bool fits = begin(x) >= 0 && begin(x) < end(x) && end(x) <= detail::extent_along(x, Axis);
    return fits ? detail::with_extent(x, Axis, end(x) - begin(x)) : no_shape;
  }
  static constexpr std::int64_t flops(auto) { return 0; }
  static constexpr auto vjp(auto x, auto, auto g) {
    constexpr shape from = decltype(x)::shape;
    return gradients(make<pad_op<Axis, begin(from), from[Axis]>>(g));
  }
};

template <int Axis, int Begin, int Extent>
struct pad_op : op {
  static constexpr fixed_string name = "pad";
  static constexpr shape result(const shape& x) { return detail::with_extent(x, Axis, Extent); }
  static constexpr std::int64_t flops(auto) { return 0; }
  static constexpr auto vjp(auto x, auto, auto g) {
    return gradients(make<slice_op<Axis, Begin, Begin + decltype(x)::shape[Axis]>>(g));
  }
};

/// The arguments one after the other along an axis.
template <int Axis>
struct concatenate_op : op {
  static constexpr fixed_string name = "concatenate";
  using rule = rule::equal_but_along_axis;
  using asked = fact::axes<Axis>;
  static constexpr shape result(const shape& first, const auto&... more) {
    const int extent = (detail::extent_along(first, Axis) + ... + detail::extent_along(more, Axis));
    const auto in_whole = [=](const shape& x) {
      return detail::extent_along(x, Axis) > 0 ? detail::with_extent(x, Axis, extent) : no_shape;
    };
    const shape whole = in_whole(first);
    return ((in_whole(more) == whole) && ...) ? whole : no_shape;
  }
  static constexpr std::int64_t flops(auto...) { return 0; }
  static constexpr auto vjp(auto a, auto b, auto, auto g) { return pieces(g, a, b); }
  static constexpr auto vjp(auto a, auto b, auto c, auto, auto g) { return pieces(g, a, b, c); }
  static constexpr auto vjp(auto a, auto b, auto c, auto d, auto, auto g) { return pieces(g, a, b, c, d); }

 private:
  /// Where argument number I of X begins in the result.
  template <std::size_t I, class... X>
  static constexpr int begin = [] {
    const int extents[]{X::shape[Axis]...};
    return std::accumulate(extents, extents + I, 0);
  }();
  template <class... X>
  static constexpr auto pieces(auto g, X...) {
    return [=]<std::size_t... I>(std::index_sequence<I...>) {
      return gradients(make<slice_op<Axis, begin<I, X...>, begin<I + 1, X...>>>(g)...);
    }(std::index_sequence_for<X...>{});
  }
};

namespace detail {
/// At most four at once, for nodes of a graph have no more arguments. More are joined in four groups first, so that of
/// up to sixteen no number is copied more than twice. A message shows the first and the one that does not fit it.
template <int Axis, class First, class... More>
constexpr auto joined(First first, More... more) {
  constexpr std::size_t count = 1 + sizeof...(More);
  using whole = decltype(made_silently<concatenate_op<Axis>>(first, more...));
  if constexpr (count == 1) {
    return first;
  } else if constexpr (wrong<whole>) {
    return first_wrong(made_silently<concatenate_op<Axis>>(first, more)..., whole{});
  } else if constexpr (count <= 4) {
    return whole{};
  } else {
    constexpr auto group = []<std::size_t Begin, std::size_t... I>(std::index_sequence<Begin>,
                                                                   std::index_sequence<I...>) {
      return joined<Axis>(std::tuple_element_t<Begin + I, std::tuple<First, More...>>{}...);
    };
    return [=]<std::size_t... K>(std::index_sequence<K...>) {
      return made_silently<concatenate_op<Axis>>(group(
          std::index_sequence<count * K / 4>{}, std::make_index_sequence<count*(K + 1) / 4 - count * K / 4>{})...);
    }(std::make_index_sequence<4>{});
  }
}

template <int Axis, class... A>
struct joining {};
template <int Axis, an_expression... A>
struct joining<Axis, A...> {
  using type = surfaced<decltype(joined<Axis>(A{}...))>;
};
template <int Axis, an_operand... A>
  requires(a_layer<A> || ...)
struct joining<Axis, A...> {
  using type = made<concatenate_op<Axis>, A...>;
};

/// Why concatenate does not take these arguments with so many axes.
template <int Axes, class... A>
using why_not_joined =
    std::conditional_t<Axes != 1, axes_as_arguments,
                       std::conditional_t<(std::is_arithmetic_v<A> || ...), raw_number, two_or_more_arguments>>;
}  // namespace detail

/// Two or more expressions one after the other along an axis, as torch.cat: `concatenate<-1>(a, b, c)`. A negative axis
/// counts from the last; the other extents are equal.
template <int Axis, an_operand... A>
  requires(sizeof...(A) > 1)
constexpr typename detail::joining<Axis, A...>::type concatenate(A...) {
  return {};
}
template <int... Axes, class... A>
  requires((an_operand<A> || ...) && (sizeof...(Axes) != 1 || sizeof...(A) < 2 || !(an_operand<A> && ...)))
constexpr misused<detail::why_not_joined<sizeof...(Axes), A...>, "concatenate", A...> concatenate(A...) {
  return {};
}

/// Elements [Begin, End) along an axis, as x[:, Begin:End] in Python: `slice<1, 0, 4>(x)`. A negative axis counts from
/// the last, negative bounds from the end.
template <int Axis, int Begin, int End, an_operand X>
constexpr made<slice_op<Axis, Begin, End>, X> slice(X) {
  return {};
}
/// Elements from Begin on, as x[:, Begin:].
template <int Axis, int Begin, an_operand X>
constexpr made<slice_op<Axis, Begin, detail::extent_along(detail::shape_of<X>, Axis)>, X> slice(X) {
  return {};
}
template <int... Bounds, an_operand X, class... Surplus>
  requires(sizeof...(Bounds) < 2 || sizeof...(Bounds) > 3 || sizeof...(Surplus) > 0)
constexpr misused<axes_as_arguments, "slice", X, Surplus...> slice(X, Surplus...) {
  return {};
}

}  // namespace cairn
