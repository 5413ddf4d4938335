// Pools: a register of channels at a time. One thread makes each number, in an order that does not depend on it: a
// gradient takes from all windows over a place, row by row.
#pragma once

#include "cairn/kernel/softmax.hpp"
#include "cairn/op/pool.hpp"

namespace cairn::kernels {

/// Images {count, height, width, channels} and how many windows are over each axis.
struct pooled_images {
  std::int64_t count, height, width, channels, rows, columns;

  constexpr pooled_images(const shape& x, const shape& windows)
      : count(x[0]), height(x[1]), width(x[2]), channels(x[3]), rows(windows[1]), columns(windows[2]) {}
  /// A number moved counts as forty.
  std::int64_t work() const { return 40 * count * channels * (height * width + rows * columns); }
};

/// Returns the distance from the first position of a window to the position in row i and column j.
template <lang::pooling P>
constexpr std::int64_t distance_in_window(const pooled_images& x, std::int64_t i, std::int64_t j) {
  return (i * P.dilation.height * x.width + j * P.dilation.width) * x.channels;
}

/// Calls visit(to, corner, tall, wide) for each window: where its result begins, where its first position lies, and
/// which rows and columns of it are within the image.
template <lang::pooling P, class Visit>
void over_windows(const pooled_images& x, int threads, Visit visit) {
  shares{x.work(), x.count * x.rows}(threads, [=, &x](costs::range own) {
    for (auto row = own.begin; row < own.end; ++row) {
      const std::int64_t image = row / x.rows * x.height;
      constexpr costs::window_axis down = P.along(0), along = P.along(1);
      const std::int64_t top = down.first_pixel(row % x.rows);
      const costs::range tall = down.within(row % x.rows, x.height);
      for (std::int64_t column = 0; column < x.columns; ++column) {
        const costs::range wide = along.within(column, x.width);
        const std::int64_t corner = ((image + top) * x.width + along.first_pixel(column)) * x.channels;
        const std::int64_t to = (row * x.columns + column) * x.channels;
        // A window that lies wholly within the image has extents that the compiler knows.
        if (tall.end - tall.begin + wide.end - wide.begin == down.extent + along.extent)
          visit(to, corner, costs::range{0, down.extent}, costs::range{0, along.extent});
        else visit(to, corner, tall, wide);
      }
    }
  });
}

/// out = the largest of each window, at = its position; either may be null.
template <lang::pooling P, class In, class Made, class At>
[[gnu::noinline]] void max_pool(const pooled_images& x, const In* in, Made* out, At* at, int threads = 1) {
  using real = sum_of<In>;
  using vec = lanes<real>;
  over_windows<P>(x, threads, [=, &x](std::int64_t to, std::int64_t corner, costs::range tall, costs::range wide) {
    for (std::int64_t c = 0; c < x.channels; c += vec::width) {
      vec most = vec::fill(minus_infinity<real>);
      auto found = vec::fill_whole(static_cast<int>(tall.begin * P.extent.width + wide.begin));
      for (auto i = tall.begin; i < tall.end; ++i) {
        for (auto j = wide.begin; j < wide.end; ++j) {
          const vec next = load_row_as<real>(in + corner + distance_in_window<P>(x, i, j), c, x.channels);
          const auto taken = greater(next, most) | ~equal(next, next);
          most = select(taken, next, most);
          found = vec::select_whole(taken, vec::fill_whole(static_cast<int>(i * P.extent.width + j)), found);
        }
      }
      if (out != nullptr) store_row(most, out + to, c, x.channels);
      if (at != nullptr)
        vec::store_whole(found, at + to + c, static_cast<int>(std::min<std::int64_t>(x.channels - c, vec::width)));
    }
  });
}

/// out = what stands at a position of each window.
template <lang::pooling P, class In, class Made, class At>
[[gnu::noinline]] void pool_at(const pooled_images& x, const In* in, const At* at, Made* out, int threads = 1) {
  using real = sum_of<In>;
  using vec = lanes<real>;
  over_windows<P>(x, threads, [=, &x](std::int64_t to, std::int64_t corner, costs::range tall, costs::range wide) {
    for (std::int64_t c = 0; c < x.channels; c += vec::width) {
      const auto wanted =
          vec::load_whole(at + to + c, static_cast<int>(std::min<std::int64_t>(x.channels - c, vec::width)));
      vec found = vec::fill(0);
      for (auto i = tall.begin; i < tall.end; ++i) {
        for (auto j = wide.begin; j < wide.end; ++j) {
          const auto here = wanted == vec::fill_whole(static_cast<int>(i * P.extent.width + j));
          found = select(here, load_row_as<real>(in + corner + distance_in_window<P>(x, i, j), c, x.channels), found);
        }
      }
      store_row(found, out + to, c, x.channels);
    }
  });
}

/// The sum of at(i, j) for i < rows and j < columns, of which there are at most Most; of many in sections.
template <class V, int Most>
[[gnu::always_inline]] inline V sum_of_window(std::int64_t rows, std::int64_t columns, auto at) {
  V total{}, row{};
  for (std::int64_t i = 0; i < rows; ++i) {
    if constexpr (Most <= costs::section_terms) {
      for (std::int64_t j = 0; j < columns; ++j) total = total + at(i, j);
    } else {
      row = row + sum_in_sections<V>(columns, [&](std::int64_t j) { return at(i, j); });
      join(total, row);
    }
  }
  return total;
}

/// out = the sum of each window times `share`.
template <lang::pooling P, class In, class Made>
[[gnu::noinline]] void sum_pool(const pooled_images& x, const In* in, sum_of<In> share, Made* out, int threads = 1) {
  using vec = lanes<sum_of<In>>;
  over_windows<P>(x, threads, [=, &x](std::int64_t to, std::int64_t corner, costs::range tall, costs::range wide) {
    for (std::int64_t c = 0; c < x.channels; c += vec::width) {
      const vec sum =
          sum_of_window<vec, P.position_count()>(tall.end - tall.begin, wide.end - wide.begin, [&](auto i, auto j) {
            return load_row_as<sum_of<In>>(in + corner + distance_in_window<P>(x, tall.begin + i, wide.begin + j), c,
                                           x.channels);
          });
      store_row(sum * vec::fill(share), out + to, c, x.channels);
    }
  });
}

/// out, an image, = the sums of what windows lay at their places: of(from, c) is told where the numbers of a window
/// begin, and gives what makes the register of its position.
template <lang::pooling P, class Made, class Of>
void add_windows(const pooled_images& x, Made* out, int threads, Of of) {
  using vec = lanes<sum_of<Made>>;
  constexpr costs::window_axis down = P.along(0), along = P.along(1);
  if constexpr (down.stride >= down.span() && along.stride >= along.span()) {  // no two windows meet
    if (x.rows * down.extent != x.height || x.columns * along.extent != x.width || P.padding != nn::extents{0} ||
        P.more != nn::extents{0})
      std::fill_n(out, x.count * x.height * x.width * x.channels, Made{});
    over_windows<P>(x, threads, [=, &x](std::int64_t from, std::int64_t corner, costs::range tall, costs::range wide) {
      for (std::int64_t c = 0; c < x.channels; c += vec::width) {
        const auto at = of(from, c);
        for (auto i = tall.begin; i < tall.end; ++i)
          for (auto j = wide.begin; j < wide.end; ++j)
            store_row(at(static_cast<int>(i * P.extent.width + j)), out + corner + distance_in_window<P>(x, i, j), c,
                      x.channels);
      }
    });
  } else {
    shares{x.work(), x.count * x.height}(threads, [=, &x](costs::range own) {
      for (auto row = own.begin; row < own.end; ++row) {
        const std::int64_t y = row % x.height, image = row / x.height * x.rows;
        const costs::range tall = down.windows_over(y, x.rows);
        for (std::int64_t pixel = 0; pixel < x.width; ++pixel) {
          const costs::range wide = along.windows_over(pixel, x.columns);
          for (std::int64_t c = 0; c < x.channels; c += vec::width) {
            const auto at = [&](auto k, auto l) -> vec {
              const auto i = tall.begin + k, j = wide.begin + l;
              const auto below = y - down.first_pixel(i), right = pixel - along.first_pixel(j);
              if (below % down.dilation != 0 || right % along.dilation != 0) return vec::fill(0);  // not in the window
              const auto position = below / down.dilation * along.extent + right / along.dilation;
              return of(((image + i) * x.columns + j) * x.channels, c)(static_cast<int>(position));
            };
            constexpr std::int64_t most = down.most_over_pixel() * along.most_over_pixel();
            const vec sum = sum_of_window<vec, most>(tall.end - tall.begin, wide.end - wide.begin, at);
            store_row(sum, out + (row * x.width + pixel) * x.channels, c, x.channels);
          }
        }
      }
    });
  }
}

/// out = sums of what is laid at the positions of windows.
template <lang::pooling P, class In, class Made, class At>
[[gnu::noinline]] void unpool(const pooled_images& x, const In* in, const At* at, Made* out, int threads = 1) {
  using real = sum_of<In>;
  using vec = lanes<real>;
  add_windows<P>(x, out, threads, [=, &x](std::int64_t from, std::int64_t c) {
    const auto laid =
        vec::load_whole(at + from + c, static_cast<int>(std::min<std::int64_t>(x.channels - c, vec::width)));
    return [laid, number = load_row_as<real>(in + from, c, x.channels)](int position) {
      return select(laid == vec::fill_whole(position), number, vec::fill(0));
    };
  });
}

/// out = sums of what is laid at all positions of windows, times `share`.
template <lang::pooling P, class In, class Made>
[[gnu::noinline]] void spread_pool(const pooled_images& x, const In* in, sum_of<In> share, Made* out, int threads = 1) {
  using real = sum_of<In>;
  add_windows<P>(x, out, threads, [=, &x](std::int64_t from, std::int64_t c) {
    return [number = load_row_as<real>(in + from, c, x.channels) * lanes<real>::fill(share)](int) { return number; };
  });
}

/// The factor by which the sum of a window is multiplied.
template <lang::pooling P, bool Mean, class Real>
inline constexpr Real share_of = Real{1} / (Mean ? P.position_count() : 1);

}  // namespace cairn::kernels

namespace cairn::lang {

template <pooling P, class Real, class X>
void compute(max_pool_op<P>, signature<Real, X>, void* const* p, const kernels::launch& how) {
  using position = stored_as<P.position_type().type, kernels::sum_of<Real>>;
  kernels::max_pool<P>({X::shape, P.result(X::shape)}, static_cast<const kernels::taken_of<Real, X>*>(p[2]),
                       static_cast<kernels::made_of<Real>*>(p[0]), static_cast<position*>(p[1]), how.threads);
}
template <pooling P, class Real, class X, class At>
void compute(window_gather_op<P>, signature<Real, X, At>, void* const* p, const kernels::launch& how) {
  kernels::pool_at<P>({X::shape, At::shape}, static_cast<const kernels::taken_of<Real, X>*>(p[1]),
                      static_cast<const kernels::taken_of<Real, At>*>(p[2]), static_cast<kernels::made_of<Real>*>(p[0]),
                      how.threads);
}
template <pooling P, int Height, int Width, class Real, class G, class At>
void compute(window_scatter_op<P, Height, Width>, signature<Real, G, At>, void* const* p, const kernels::launch& how) {
  kernels::unpool<P>(
      {lang::unpooled(G::shape, Height, Width), G::shape}, static_cast<const kernels::taken_of<Real, G>*>(p[1]),
      static_cast<const kernels::taken_of<Real, At>*>(p[2]), static_cast<kernels::made_of<Real>*>(p[0]), how.threads);
}
template <pooling P, bool Mean, class Real, class X>
void compute(sum_pool_op<P, Mean>, signature<Real, X>, void* const* p, const kernels::launch& how) {
  kernels::sum_pool<P>({X::shape, P.result(X::shape)}, static_cast<const kernels::taken_of<Real, X>*>(p[1]),
                       kernels::share_of<P, Mean, kernels::sum_of<Real>>, static_cast<kernels::made_of<Real>*>(p[0]),
                       how.threads);
}
template <pooling P, bool Mean, int Height, int Width, class Real, class G>
void compute(window_spread_op<P, Mean, Height, Width>, signature<Real, G>, void* const* p, const kernels::launch& how) {
  kernels::spread_pool<P>(
      {lang::unpooled(G::shape, Height, Width), G::shape}, static_cast<const kernels::taken_of<Real, G>*>(p[1]),
      kernels::share_of<P, Mean, kernels::sum_of<Real>>, static_cast<kernels::made_of<Real>*>(p[0]), how.threads);
}

}  // namespace cairn::lang
