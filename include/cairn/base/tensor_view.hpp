// How arrays leave: numbers that somebody else owns, in rows.
#pragma once

#include "cairn/base/compiler.hpp"

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <ranges>
#include <type_traits>

namespace cairn {

/// A tensor in foreign memory, row-major, and a contiguous range of its numbers in order. Copies are of the same
/// memory. Of xtensor: `xt::adapt(view.data(), view.shape())`.
template <class Number, std::size_t Rank>
class tensor_view {
 public:
  constexpr tensor_view(Number* data, const std::array<std::size_t, Rank>& shape) : data_(data), shape_(shape) {}

  /// Of numbers that may be changed, as of numbers that may not.
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

  /// The number at an index for each axis, each less than its extent.
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

}  // namespace cairn

template <class Number, std::size_t Rank>
inline constexpr bool std::ranges::enable_borrowed_range<cairn::tensor_view<Number, Rank>> = true;
template <class Number, std::size_t Rank>
inline constexpr bool std::ranges::enable_view<cairn::tensor_view<Number, Rank>> = true;
