// Hands parameters, gradients, results and arrays to code that takes std::mdspan.
#pragma once

#include "cairn/base/macros_aside.hpp"

// cairn.hpp explains why these warnings are off.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wsign-conversion"  // extents are ints, sizes of std are not
#include "cairn/run/static_view.hpp"
#pragma GCC diagnostic pop

#include <version>
#ifndef __cpp_lib_mdspan  // The sentence stands where an #include names its file, as in base/compiler.hpp.
#include <cairn needs std::mdspan here, which this standard library lacks: clang has it with -std=c++23 -stdlib=libc++>
#endif
#include <mdspan>

namespace cairn {

/// Returns a std::mdspan of the same memory, with extents of type std::extents<std::size_t, ...>. It does not own the
/// numbers. Example: `as_mdspan(step.param<"fc1.weight">())[0, 0] = 1`
template <std::ranges::contiguous_range View>
constexpr auto as_mdspan(const View& view) {
  return detail::adapted(view, []<int... Extent>(auto* numbers) {
    return std::mdspan(numbers, std::extents<std::size_t, std::size_t{Extent}...>{});
  });
}

}  // namespace cairn

#include "cairn/base/macros_back.hpp"
