// Compares pools, and the kernels for their gradients, with plain loops.
#include "cairn/kernel/pool.hpp"

#include <boost/test/unit_test.hpp>

#include "../reference.hpp"
#include "kernel_check.hpp"

using cairn::lang::pooling, cairn::shape;
using namespace kernel_check;

namespace {

/// Few different numbers, so that some are equal. Some are NaN, and some are minus infinity.
template <class Real>
std::vector<Real> with_ties(std::int64_t n) {
  auto values = numbers<Real>(n, 3);
  for (Real& x : values) x = std::round(x) - 10;
  for (std::size_t i = 5; i < values.size(); i += 1 + values.size() / 20) values[i] = no_number<Real>;
  for (std::size_t i = 0; i < values.size(); i += 3) values[i] = -infinity<Real>;
  return values;
}
template <class Number>
bool same(const Number* a, const std::vector<Number>& b) {
  return std::equal(b.begin(), b.end(), a, [](Number x, Number y) { return x == y || (x != x && y != y); });
}

/// Returns the numbers in the type that the kernels read. The numbers here are exact in bf16.
template <class In, class Real>
std::vector<In> read_as(const std::vector<Real>& values) {
  std::vector<In> out;
  for (const Real x : values) out.emplace_back(x);
  return out;
}

struct kernels {
  kernel_pointer max, at, unpool, sum, spread;
};

/// Whole numbers are summed without rounding.
template <class In, class Real, class At>
void check(const kernels& run, const reference::windows& each, std::int64_t windows, int threads) {
  const auto in = with_ties<Real>(each.x.count());
  auto image = numbers<Real>(each.x.count(), 50), laid = numbers<Real>(windows, 50);
  for (Real& x : image) x = std::round(x);
  for (Real& x : laid) x = std::round(x);
  const std::size_t n = laid.size();
  std::vector<Real> most(n), picked(n), sums(n), unpooled(in.size()), spread(in.size());
  std::vector<At> at(n);
  reference::max_pool(each, in.data(), most, at);
  each([&](std::size_t window, std::size_t place, int position) {
    sums[window] += image[place];
    spread[place] += laid[window];
    if (position != at[window]) return;
    picked[window] = image[place];
    unpooled[place] += laid[window];
  });

  const auto in_read = read_as<In>(in), image_read = read_as<In>(image), laid_read = read_as<In>(laid);
  guarded<Real> out(windows), alone(windows), read(windows), added(windows);
  guarded<Real> given_back(each.x.count()), given_to_all(each.x.count());
  guarded<At> found(windows), found_alone(windows);
  run.max({out.data(), found.data(), in_read.data()}, threads);
  run.max({alone.data(), nullptr, in_read.data()}, threads);
  run.max({nullptr, found_alone.data(), in_read.data()}, threads);
  run.at({read.data(), image_read.data(), at.data()}, threads);
  run.sum({added.data(), image_read.data()}, threads);
  run.unpool({given_back.data(), laid_read.data(), at.data()}, threads);
  run.spread({given_to_all.data(), laid_read.data()}, threads);
  BOOST_TEST_CONTEXT("images " << each.x[1] << " " << each.x[2] << ", channels " << each.x[3] << ", windows "
                               << each.extent[0] << " " << each.extent[1] << ", threads " << threads) {
    BOOST_TEST((same(out.data(), most) && out.intact()));
    BOOST_TEST((same(alone.data(), most) && alone.intact()));
    BOOST_TEST((same(found.data(), at) && found.intact()));
    BOOST_TEST((same(found_alone.data(), at) && found_alone.intact()));
    BOOST_TEST((same(read.data(), picked) && read.intact()));
    BOOST_TEST((same(added.data(), sums) && added.intact()));
    BOOST_TEST((same(given_back.data(), unpooled) && given_back.intact()));
    BOOST_TEST((same(given_to_all.data(), spread) && given_to_all.intact()));
  }
}

template <class Real, pooling P, shape X, class In = Real>
void check_pool(std::initializer_list<int> each = {1}) {
  constexpr shape to = P.result(X);
  constexpr cairn::element_type number{std::is_same_v<In, cairn::bf16> ? cairn::dtype::bf16 : cairn::dtype::real};
  using x = array<X, number>;
  using made = array<to, number>;
  using at = array<to, P.position_type()>;
  constexpr kernels run{&run_kernel<cairn::lang::max_pool_op<P>, Real, x>,
                        &run_kernel<cairn::lang::window_gather_op<P>, Real, x, at>,
                        &run_kernel<cairn::lang::window_scatter_op<P, X[1], X[2]>, Real, made, at>,
                        &run_kernel<cairn::lang::sum_pool_op<P, false>, Real, x>,
                        &run_kernel<cairn::lang::window_spread_op<P, false, X[1], X[2]>, Real, made>};
  const reference::windows windows{X, to, P.extent, P.stride, P.padding, P.dilation};
  for (const int threads : each)
    check<In, Real, cairn::stored_as<P.position_type().type, Real>>(run, windows, to.count(), threads);
}

template <class Real, pooling P, int... Channels>
void check_channels(sizes<Channels...> all) {
  for_each(all, []<int C>() { check_pool<Real, P, shape{2, 7, 6, C}>(); });
}
template <class Real, class Channels>
void check_all() {
  check_channels<Real, pooling{2}>(Channels{});
  check_channels<Real, pooling{3, 2, 1}>(sizes<1, 9>{});
  check_channels<Real, pooling{3, 1, 1}>(sizes<3, 17>{});
  check_channels<Real, pooling{2, 3, 1}>(sizes<5>{});  // with gaps between the windows
  check_channels<Real, pooling{1, 2}>(sizes<8>{});
  check_channels<Real, pooling{{3, 1}, {2, 1}, {1, 0}}>(sizes<3>{});
  check_channels<Real, pooling{{2, 3}, {2, 1}, {0, 1}}>(sizes<9>{});  // windows meet along the width alone
  check_channels<Real, pooling{{3, 2}, {3, 2}}>(sizes<5>{});          // no windows meet
  check_channels<Real, pooling{.extent = {2, 3}, .stride = 1, .padding = 1, .dilation = {3, 2}}>(sizes<3>{});
  check_channels<Real, pooling{.extent = 2, .stride = {3, 4}, .dilation = 2}>(sizes<9>{});
  check_channels<Real, pooling{.extent = 3, .stride = 2, .padding = 1, .more = {0, 1}}>(sizes<5>{});
  check_channels<Real, pooling{.extent = {1, 3}, .stride = {2, 3}, .dilation = {1, 2}, .more = {0, 2}}>(sizes<1>{});
  check_pool<Real, pooling{3, 5, 0, 1, 2}, shape{2, 6, 6, 3}>();  // as many positions as pixels, and gaps
  check_pool<Real, pooling{6}, shape{1, 6, 6, 5}>();
  check_pool<Real, pooling{4, 1, 2}, shape{2, 1, 2, 3}>();     // windows larger than the image
  check_pool<Real, pooling{17, 5, 8}, shape{1, 19, 11, 2}>();  // more positions than a byte can hold
}

}  // namespace

BOOST_AUTO_TEST_SUITE(kernel_pool)

BOOST_AUTO_TEST_CASE(in_float) { check_all<float, awkward>(); }
BOOST_AUTO_TEST_CASE(in_double) { check_all<double, few>(); }

BOOST_AUTO_TEST_CASE(in_bf16) {
  check_pool<float, pooling{2}, shape{2, 7, 6, 33}, cairn::bf16>();
  check_pool<float, pooling{3, 2, 1}, shape{2, 7, 6, 9}, cairn::bf16>();
}

// All pixels of a dilated window may lie outside of the image. The result is minus infinity, as in PyTorch.
BOOST_AUTO_TEST_CASE(windows_without_pixels) {
  constexpr pooling apart{.extent = 2, .stride = 1, .padding = 1, .dilation = 5};
  constexpr shape x{1, 4, 4, 1}, to = apart.result(x);
  static_assert(to == shape{1, 1, 1, 1});
  const std::vector<float> in(16, 1);
  guarded<float> out(1), given_back(16);
  guarded<std::uint8_t> at(1);
  run_kernel<cairn::lang::max_pool_op<apart>, float, array<x>>({out.data(), at.data(), in.data()});
  BOOST_TEST((out.data()[0] == -infinity<float> && out.intact() && at.data()[0] < 4 && at.intact()));
  run_kernel<cairn::lang::window_scatter_op<apart, 4, 4>, float, array<to>, array<to, apart.position_type()>>(
      {given_back.data(), in.data(), at.data()});
  BOOST_TEST((same(given_back.data(), std::vector<float>(16)) && given_back.intact()));
}

// There is enough work for three threads.
BOOST_AUTO_TEST_CASE(shared_by_threads) {
  check_pool<float, pooling{2}, shape{3, 67, 65, 33}>({1, 2, 3, 5});
  check_pool<float, pooling{3, 2, 1}, shape{1, 121, 98, 33}>({1, 2, 3, 5});
}

BOOST_AUTO_TEST_SUITE_END()
