// Views of tensors that a program owns, which cairn hands to its users.
#pragma once

#include "cairn/base/shape.hpp"

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <ranges>
#include <type_traits>
#include <utility>

namespace cairn {

/// A row-major tensor in memory that the view does not own. The view is also a contiguous range of the tensor's numbers
/// in order. A copy of a view refers to the same memory.
template <class Number, std::size_t Rank>
class tensor_view {
 public:
  constexpr tensor_view(Number* data, const std::array<std::size_t, Rank>& shape) : data_(data), shape_(shape) {}

  /// Makes a view of constant numbers from a view of numbers that can be changed.
  template <class Other>
    requires(!std::same_as<Other, Number> && std::same_as<const Other, Number>)
  constexpr tensor_view(const tensor_view<Other, Rank>& other) : tensor_view(other.data(), other.shape()) {}

  constexpr Number* data() const { return data_; }
  constexpr const std::array<std::size_t, Rank>& shape() const { return shape_; }
  constexpr std::size_t size() const {
    std::size_t n = 1;
    for (const std::size_t extent : shape_) n *= extent;
    return n;
  }
  constexpr Number* begin() const { return data_; }
  constexpr Number* end() const { return data_ + size(); }

  /// Returns the number at these indices, one for each axis. Each index must be less than the extent of its axis; no
  /// index is checked.
  template <std::convertible_to<std::size_t>... Index>
    requires(sizeof...(Index) == Rank)
  constexpr Number& operator()(Index... index) const {
    std::size_t at = 0, axis = 0;
    ((at = at * shape_[axis++] + static_cast<std::size_t>(index)), ...);
    return data_[at];
  }
  constexpr void fill(const Number& x) const
    requires(!std::is_const_v<Number>)
  {
    std::fill(begin(), end(), x);
  }

 private:
  Number* data_;
  std::array<std::size_t, Rank> shape_;
};

/// A view with a constant shape. `as_xtensor`, `as_mdspan` and `as_eigen` make views of other libraries from it,
/// each in a header of that library's name.
template <class Number, shape S>
class static_view : public tensor_view<Number, static_cast<std::size_t>(S.rank)> {
  using view = tensor_view<Number, static_cast<std::size_t>(S.rank)>;

 public:
  static constexpr cairn::shape extents = S;

  explicit constexpr static_view(Number* data)
      : view(data, []<std::size_t... Axis>(std::index_sequence<Axis...>) {
          return std::array<std::size_t, sizeof...(Axis)>{static_cast<std::size_t>(S.extent[Axis])...};
        }(std::make_index_sequence<static_cast<std::size_t>(S.rank)>{})) {}

  /// Makes a view of constant numbers from a view of numbers that can be changed.
  template <class Other>
    requires(!std::same_as<Other, Number> && std::same_as<const Other, Number>)
  constexpr static_view(const static_view<Other, S>& other) : static_view(other.data()) {}
};

namespace detail {
/// The shape of a view that takes the place of a mistake. No tensor of a user needs this shape, because a tensor of one
/// number can have fewer axes.
inline constexpr shape unknown_shape{1, 1, 1, 1, 1, 1};
}  // namespace detail

}  // namespace cairn

template <class Number, std::size_t Rank>
inline constexpr bool std::ranges::enable_borrowed_range<cairn::tensor_view<Number, Rank>> = true;
template <class Number, std::size_t Rank>
inline constexpr bool std::ranges::enable_view<cairn::tensor_view<Number, Rank>> = true;
template <class Number, cairn::shape S>
inline constexpr bool std::ranges::enable_borrowed_range<cairn::static_view<Number, S>> = true;
template <class Number, cairn::shape S>
inline constexpr bool std::ranges::enable_view<cairn::static_view<Number, S>> = true;
