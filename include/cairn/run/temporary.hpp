// Rejects views of the memory of a temporary program or predictor. This memory would be freed before the views are
// read.
#pragma once

#include "cairn/base/tensor_view.hpp"
#include "cairn/lang/mistake.hpp"

#include <ranges>
#include <tuple>

namespace cairn::detail {

/// True if a result is a view of memory, or a tuple with one in it.
template <class Result>
inline constexpr bool has_view = std::ranges::view<Result>;
template <class... Results>
inline constexpr bool has_view<std::tuple<Results...>> = (has_view<Results> || ...);

/// Returns the result of a call of a temporary program or predictor. Rejects: a result with a view in it.
template <class Result>
auto reject_views(Result result) {
  using problem = mistake<misuse::view_of_temporary, top_scope, fact::given<Result>>;
  static_assert(report_of<std::conditional_t<has_view<Result>, problem, sound>>{}.shown);
  return result;
}

}  // namespace cairn::detail
