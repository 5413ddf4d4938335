// Makes views with a constant shape, and hands views to other libraries.
#pragma once

#include "cairn/base/tensor_view.hpp"
#include "cairn/run/bind.hpp"

namespace cairn {

/// Returns a view of shape `S` of the numbers in a contiguous range: `static_view_of<shape(8, 28, 28)>(x)`. The view
/// does not own the numbers. Throws extent_error if the range has another number of elements.
template <shape S, std::ranges::contiguous_range Range>
  requires std::ranges::borrowed_range<Range> && std::ranges::sized_range<Range>
auto static_view_of(Range&& numbers) {
  const detail::array_extents given{1, {static_cast<std::int64_t>(std::ranges::size(numbers))}};
  detail::check_extents({"argument of"}, "static_view_of", S, given, true);
  return static_view<std::remove_reference_t<std::ranges::range_reference_t<Range>>, S>(std::ranges::data(numbers));
}

namespace detail {
/// The shape of a view if it is a constant, otherwise no_shape.
template <class View>
inline constexpr shape static_shape = no_shape;
template <class View>
  requires std::same_as<decltype(View::extents), const shape>
inline constexpr shape static_shape<View> = View::extents;

/// Returns what `make.operator()<extents...>(address)` returns, which is a view of another library. Reports a view
/// without a constant shape, and a view of more than `MostAxes` axes.
template <int MostAxes = max_rank, class View, class Make>
constexpr auto adapted(const View& view, Make make) {
  constexpr shape s = static_shape<View>;
  constexpr bool silent = s == unknown_shape, fits = s.valid() && s.rank <= MostAxes;
  using problem = lang::mistake<misuse::no_static_view, lang::top_scope, fact::given<View>>;
  static_assert(lang::report_of<std::conditional_t<fits || silent, lang::sound, problem>>{}.shown);
  if constexpr (fits && !silent) {
    return [&]<std::size_t... Axis>(std::index_sequence<Axis...>) {
      return make.template operator()<s.extent[Axis]...>(view.data());
    }(std::make_index_sequence<static_cast<std::size_t>(s.rank)>{});
  } else {
    // After a mistake. A matrix of one number accepts most uses, so that no second error follows.
    return make.template operator()<1, 1>(std::ranges::data(view));
  }
}
}  // namespace detail

}  // namespace cairn
