// How arrays enter a program: named, checked, never copied.
#pragma once

#include "cairn/expr/mistake.hpp"

#include <array>
#include <cstddef>
#include <ranges>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

namespace cairn {

/// An array whose extents are not the input's.
struct extent_error : std::invalid_argument {
  extent_error(std::string_view name, std::string wanted, std::string given)
      : std::invalid_argument("cairn: input '" + std::string(name) + "': expected " + wanted + ", got " + given),
        input(name),
        expected(std::move(wanted)),
        actual(std::move(given)) {}
  std::string input, expected, actual;
};

/// An index or label outside [0, bound).
struct label_error : std::out_of_range {
  label_error(std::string_view name, std::size_t at, int bound, int label)
      : std::out_of_range("cairn: labels '" + std::string(name) + "': label number " + std::to_string(at) + " is " +
                          std::to_string(label) + ", expected 0 to " + std::to_string(bound - 1)),
        input(name),
        index(at),
        expected(bound),
        actual(label) {}
  std::string input;
  std::size_t index;
  int expected, actual;
};

namespace detail {
inline std::string to_string(const shape& s) {
  std::string text = "{";
  for (int axis = 0; axis < s.rank; ++axis) text += (axis > 0 ? ", " : "") + std::to_string(s.extent[axis]);
  return text + "}";
}

/// A container of static extents as a C array of its elements; of anything else, its type.
template <class A>
struct as_c_array {
  using type = A;
};
template <class T, std::size_t N>
struct as_c_array<T[N]> {
  using type = typename as_c_array<std::remove_cv_t<T>>::type[N];
};
template <class T, std::size_t N>
struct as_c_array<std::array<T, N>> : as_c_array<T[N]> {};
template <class T, std::size_t N>
  requires(N != std::dynamic_extent)
struct as_c_array<std::span<T, N>> : as_c_array<T[N]> {};

template <class Array, std::size_t... Axis>
constexpr shape extents_of(std::index_sequence<Axis...>) {
  return shape{std::extent_v<Array, Axis>...};
}

template <class A>
concept shaped_array = requires(const A& a) {
  a.shape();
  a.strides();
  a.data();
};
}  // namespace detail

/// An array under an input's name: a C array type where the extents are static, `T[]` where they are dynamic.
template <fixed_string Name, class Array>
struct bound {
  static constexpr auto name = Name;
  using array = Array;
  using element = std::remove_all_extents_t<Array>;
  static constexpr bool dynamic = std::is_unbounded_array_v<Array>;
  static constexpr shape known = detail::extents_of<Array>(std::make_index_sequence<std::rank_v<Array>>{});

  const element* data;
  shape extents = known;
  bool row_major = true;

  static constexpr bool fits(const shape& given, const shape& wanted) {
    return given == wanted || (given.rank <= 1 && given.count() == wanted.count());
  }

  /// Checks extents and indices against an input; a flat array stands for any shape of as many elements.
  template <shape Wanted, int Bound>
  void check() const {
    if constexpr (dynamic) {
      if (!fits(extents, Wanted)) throw extent_error(Name, detail::to_string(Wanted), detail::to_string(extents));
      if (!row_major) throw extent_error(Name, "a contiguous row-major array", "other strides");
    }
    if constexpr (Bound > 0) {
      for (std::int64_t i = 0; i < Wanted.count(); ++i) {
        if (data[i] < 0 || data[i] >= Bound) throw label_error(Name, static_cast<std::size_t>(i), Bound, data[i]);
      }
    }
  }
};

namespace detail {
template <class A>
concept an_array = shaped_array<A> || std::is_array_v<typename as_c_array<A>::type> || std::ranges::contiguous_range<A>;
}  // namespace detail

/// Binds an array to the input `Name` for one step: a span, C array, std::array, contiguous range, or an xtensor
/// container or view. Static extents are checked by the compiler, dynamic ones when the step begins.
template <fixed_string Name, class A>
auto bind(const A& array) {
  if constexpr (!detail::an_array<A>) {
    return surfaced<
        mistake<no_array, top_scope, about<fact::input, Name>, fact::given<typename detail::showing<A>::type>>>{};
  } else if constexpr (detail::shaped_array<A>) {
    using element = std::remove_cvref_t<decltype(*array.data())>;
    shape extents;
    for (auto n : array.shape()) {
      if (extents.rank == max_rank) throw extent_error(Name, "at most 6 axes", "more");
      extents.extent[extents.rank++] = static_cast<int>(n);
    }
    bool row_major = true;
    std::int64_t stride = 1;
    for (int axis = extents.rank; axis-- > 0; stride *= extents.extent[axis]) {
      const auto own = static_cast<std::int64_t>(array.strides()[static_cast<std::size_t>(axis)]);
      row_major &= own == stride || extents.extent[axis] == 1;
    }
    return bound<Name, element[]>{array.data() + array.data_offset(), extents, row_major};
  } else if constexpr (std::is_array_v<typename detail::as_c_array<A>::type>) {
    using given = bound<Name, typename detail::as_c_array<A>::type>;
    return given{reinterpret_cast<const typename given::element*>(std::ranges::data(array))};
  } else {
    using element = std::remove_cvref_t<std::ranges::range_value_t<A>>;
    return bound<Name, element[]>{std::ranges::data(array), shape(static_cast<int>(std::ranges::size(array)))};
  }
}

namespace detail {
/// One report for all arrays of a step.
template <class...>
struct binding_without_name {
  using type = surfaced<mistake<array_without_name, top_scope, fact::operation<"bind">>>;
};
}  // namespace detail

/// The name as an argument. Without this, the call would find std::bind.
template <std::size_t N, class... A>
constexpr typename detail::binding_without_name<A...>::type bind(const char (&)[N], A&&...) {
  return {};
}
/// The input in place of its name.
template <auto Leaf, class A>
  requires an_expression<std::remove_const_t<decltype(Leaf)>>
constexpr typename detail::binding_without_name<A>::type bind(const A&) {
  return {};
}

}  // namespace cairn
