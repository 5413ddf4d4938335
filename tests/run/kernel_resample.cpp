// Compares the kernel of resampling with plain loops over matrices of weights.
#include "cairn/kernel/resample.hpp"

#include <boost/test/unit_test.hpp>

#include "kernel_check.hpp"

using cairn::shape, cairn::lang::resampling, cairn::lang::resampling_law;
using namespace kernel_check;

namespace {

/// Returns the weight of element j in element i of the result. The definitions are those of PyTorch's documentation.
double weight(resampling r, std::int64_t i, std::int64_t j) {
  const auto from = static_cast<double>(r.from), to = static_cast<double>(r.to), at = static_cast<double>(i);
  if (r.law == resampling_law::window_mean) {
    const double begin = std::floor(at * from / to), end = std::ceil((at + 1) * from / to);
    return begin <= static_cast<double>(j) && static_cast<double>(j) < end ? 1 / (end - begin) : 0;
  }
  const double position = r.law == resampling_law::linear ? std::max(0.0, (at + 0.5) * from / to - 0.5)
                          : r.to == 1                     ? 0
                                                          : at * (from - 1) / (to - 1);
  const double within = std::min(position, from - 1);
  return std::max(0.0, 1 - std::abs(within - static_cast<double>(j)));
}

template <class Real, resampling R, int Axis, shape X, class In = Real>
void check(std::initializer_list<int> each = {1}) {
  using op = cairn::lang::resample_op<R, Axis>;
  using back = cairn::lang::resample_op<R, Axis, true>;
  constexpr shape to = op::result(X);
  constexpr cairn::element_type number{std::is_same_v<In, cairn::bf16> ? cairn::dtype::bf16 : cairn::dtype::real};
  std::vector<Real> image = numbers<Real>(X.count()), laid = numbers<Real>(to.count());
  if constexpr (std::is_same_v<In, cairn::bf16>) {
    for (Real& x : image) x = static_cast<Real>(cairn::bf16(x));
    for (Real& x : laid) x = static_cast<Real>(cairn::bf16(x));
  }
  const std::vector<In> image_read(image.begin(), image.end()), laid_read(laid.begin(), laid.end());
  std::vector<double> made(laid.size()), returned(image.size());
  std::int64_t inner = 1;
  for (int axis = Axis + 1; axis < X.rank; ++axis) inner *= X[axis];
  for (std::int64_t o = 0; o < X.count() / (R.from * inner); ++o)
    for (std::int64_t i = 0; i < R.to; ++i)
      for (std::int64_t j = 0; j < R.from; ++j)
        for (std::int64_t c = 0; c < inner; ++c) {
          const auto read = static_cast<std::size_t>((o * R.from + j) * inner + c);
          const auto at = static_cast<std::size_t>((o * R.to + i) * inner + c);
          made[at] += weight(R, i, j) * image[read];
          returned[read] += weight(R, i, j) * laid[at];
        }
  for (const int threads : each) {
    guarded<Real> out(to.count()), gradient(X.count());
    run_kernel<op, Real, array<X, number>>({out.data(), image_read.data()}, threads);
    run_kernel<back, Real, array<to, number>>({gradient.data(), laid_read.data()}, threads);
    double off = 0;
    for (std::size_t i = 0; i < made.size(); ++i) off = worse(off, std::abs(out.data()[i] - made[i]));
    for (std::size_t i = 0; i < returned.size(); ++i)
      off = worse(off, std::abs(gradient.data()[i] - returned[i]) / (1 + static_cast<double>(R.to) / R.from));
    BOOST_TEST((off < 8 * epsilon<Real> && out.intact() && gradient.intact()),
               "from " << R.from << " to " << R.to << ", law " << static_cast<int>(R.law) << ", inner " << inner
                       << ", threads " << threads << ": off by " << off);
  }
}

template <class Real, int From, int To>
void check_laws() {
  check<Real, resampling{resampling_law::window_mean, From, To}, 1, shape{2, From, 3}>();
  check<Real, resampling{resampling_law::linear, From, To}, 1, shape{2, From, 9}>();
  check<Real, resampling{resampling_law::linear_corners, From, To}, 2, shape{1, 2, From, 5}>();
}

/// Returns true if `sources` and `results` are two views of the same pairs, and if the weights of each sum add up to 1.
bool is_consistent(resampling r) {
  for (std::int64_t i = 0; i < r.to; ++i) {
    double sum = 0;
    for (std::int64_t j = 0; j < r.from; ++j) {
      const bool is_source = r.sources(i).begin <= j && j < r.sources(i).end;
      if (is_source != (r.results(j).begin <= i && i < r.results(j).end)) return false;
      if (is_source) sum += r.weight(i, j);
      if (std::abs((is_source ? r.weight(i, j) : 0) - weight(r, i, j)) > 1e-12) return false;
    }
    if (std::abs(sum - 1) > 1e-12) return false;
  }
  return true;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(kernel_resample)

BOOST_AUTO_TEST_CASE(pairs_and_weights) {
  for (const auto law : {resampling_law::window_mean, resampling_law::linear, resampling_law::linear_corners})
    for (std::int64_t from = 1; from < 30; ++from)
      for (std::int64_t to = 1; to < 30; ++to)
        BOOST_TEST(is_consistent({law, from, to}),
                   "from " << from << " to " << to << ", law " << static_cast<int>(law));
}
BOOST_AUTO_TEST_CASE(larger_and_smaller) {
  check_laws<float, 1, 7>();
  check_laws<float, 7, 1>();
  check_laws<float, 5, 10>();
  check_laws<double, 7, 3>();
  check_laws<double, 3, 100>();
  check_laws<float, 100, 2>();
}
BOOST_AUTO_TEST_CASE(from_bf16) {
  check<float, resampling{resampling_law::window_mean, 7, 3}, 1, shape{2, 7, 33}, cairn::bf16>();
  check<float, resampling{resampling_law::linear, 4, 8}, 2, shape{2, 3, 4, 3}, cairn::bf16>();
}
// There is enough work for three threads.
BOOST_AUTO_TEST_CASE(shared_by_threads) {
  check<float, resampling{resampling_law::linear, 64, 128}, 1, shape{2, 64, 999}>({1, 2, 3, 5});
  check<float, resampling{resampling_law::window_mean, 67, 7}, 2, shape{2, 40, 67, 65}>({1, 3});
}

BOOST_AUTO_TEST_SUITE_END()
