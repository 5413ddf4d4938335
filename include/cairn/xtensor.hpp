// Hands parameters, gradients, results and arrays to xtensor.
#pragma once

#include "cairn/base/macros_aside.hpp"

// cairn.hpp explains why these warnings are off.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wsign-conversion"  // extents are ints, sizes of std are not
#include "cairn/run/static_view.hpp"
#pragma GCC diagnostic pop

#if __has_include(<xtensor/containers/xadapt.hpp>)
#include <xtensor/containers/xadapt.hpp>  // xtensor 0.26 and newer
#else
#include <xtensor/xadapt.hpp>
#endif

namespace cairn {

/// Returns an xtensor expression of the same memory, with a shape of type xt::xshape<...>. It can be read and assigned,
/// and does not own the numbers. Example: `as_xtensor(step.param<"fc1.weight">()) *= 0.5F`
template <std::ranges::contiguous_range View>
auto as_xtensor(const View& view) {
  return detail::adapted(view, []<int... Extent>(auto* numbers) {
    // The type that xt::adapt returns for a variable has a reference to a pointer in it.
    return xt::adapt(std::move(numbers), xt::xshape<std::size_t{Extent}...>{});
  });
}

}  // namespace cairn

#include "cairn/base/macros_back.hpp"
