// Convolutions and their gradients against plain loops: awkward extents, edges, strides, dilations, groups, threads.
#include "cairn/kernel/convolution.hpp"
#include "cairn/kernel/reference.hpp"

#include <boost/test/unit_test.hpp>

#include "../own.hpp"
#include "kernel_check.hpp"

using namespace cairn;
using namespace kernel_check;

namespace {

/// What a sum of products may err: like a random walk of its roundings.
template <class Real>
struct sums {
  std::vector<double> value, size;
  std::vector<int> count;
  explicit sums(std::int64_t n) : value(static_cast<std::size_t>(n)), size(value.size()), count(value.size()) {}
  void add(int at, double product) {
    const auto i = static_cast<std::size_t>(at);
    value[i] += product;
    size[i] += std::abs(product);
    ++count[i];
  }
  void check(guarded<Real>& got, const char* what) {
    std::vector<Real> wanted(value.begin(), value.end());
    const double most = worst(got.data(), wanted.data(), std::ssize(value), [this](std::int64_t at) {
      const auto i = static_cast<std::size_t>(at);
      return (std::sqrt(count[i]) + 1) * epsilon<Real> * size[i] + 1e-300;
    });
    BOOST_TEST(most <= 1, what << ' ' << most);
    BOOST_TEST(got.intact(), what);
  }
};

template <class In, class Real>
std::vector<In> operand(const shape& extents) {
  const std::vector<Real> x = numbers<Real>(extents.count());
  std::vector<In> made;
  for (const Real e : x) made.push_back(In(e));
  return made;
}

template <class Real, motion Moves, shape Image, shape Filter, class In = Real>
void check() {
  using forward = convolution_op<Moves>;
  using back = convolution_back_op<Moves, Image[1], Image[2]>;
  using of_filter = filter_gradient_op<Moves, Filter[2], Filter[3]>;
  constexpr shape result = forward::result(Image, Filter);
  static_assert(result.valid() && back::result(result, Filter) == Image && of_filter::result(Image, result) == Filter);
  const auto x = operand<In, Real>(Image), w = operand<In, Real>(Filter), g = operand<In, Real>(result);
  sums<Real> y(result.count()), of_x(Image.count()), of_w(Filter.count());
  reference::for_each_tap(Image, Filter, result, Moves.stride, Moves.padding, Moves.dilation, Moves.groups,
                          [&](int image, int filter, int made) {
                            const auto at = [](const std::vector<In>& v, int i) {
                              return static_cast<double>(v[static_cast<std::size_t>(i)]);
                            };
                            y.add(made, at(x, image) * at(w, filter));
                            of_x.add(image, at(g, made) * at(w, filter));
                            of_w.add(filter, at(g, made) * at(x, image));
                          });
  BOOST_TEST_CONTEXT("image " << Image[0] << ' ' << Image[1] << ' ' << Image[2] << ' ' << Image[3] << ", filter "
                              << Filter[0] << ' ' << Filter[1] << ' ' << Filter[2] << ' ' << Filter[3] << ", stride "
                              << Moves.stride[0] << ", padding " << Moves.padding[0] << ", dilation "
                              << Moves.dilation[0] << ", groups " << Moves.groups) {
    for (const int threads : {1, 3}) {
      const auto run = [threads]<class Op, class A, class B>(Op, A, B, sums<Real>& wanted, const auto& a, const auto& b,
                                                             const char* what) {
        guarded<Real> made(std::ssize(wanted.value)),
            scratch(Op::scratch(sizeof(Real), A::shape, B::shape).numbers(threads));
        const std::vector<const void*> operands{made.data(), a.data(), b.data(), scratch.data()};
        if constexpr (std::is_same_v<In, Real>) {
          run_kernel<Op, Real, A, B>(operands, threads);
        } else {
          void* const* const p = const_cast<void* const*>(operands.data());
          constexpr correlation of = Op::of(A::shape, B::shape);
          if constexpr (std::is_same_v<Op, of_filter>) kernel::correlate_filter<In, Real, of>(p, {.threads = threads});
          else kernel::correlate<In, Real, of>(p, {.threads = threads});
        }
        wanted.check(made, what);
        BOOST_TEST(scratch.intact(), what);
      };
      run(forward{}, array<Image>{}, array<Filter>{}, y, x, w, "forward");
      run(back{}, array<result>{}, array<Filter>{}, of_x, g, w, "back");
      run(of_filter{}, array<Image>{}, array<result>{}, of_w, x, g, "of the filter");
    }
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(kernel_convolution)

BOOST_AUTO_TEST_CASE(edges) {
  check<float, motion{.padding = {1, 1}}, shape{2, 7, 9, 5}, shape{7, 5, 3, 3}>();
  check<double, motion{}, shape{1, 4, 5, 1}, shape{17, 1, 3, 2}>();
  check<float, motion{.padding = {2, 1}}, shape{3, 3, 2, 33}, shape{40, 33, 5, 3}>();
  check<double, motion{.padding = {3, 0}}, shape{2, 1, 13, 3}, shape{9, 3, 7, 1}>();
  check<float, motion{}, shape{2, 5, 30, 16}, shape{33, 16, 1, 1}>();
  check<float, motion{.padding = {1, 1}}, shape{2, 5, 6, 1}, shape{1, 1, 3, 3}>();  // one channel to one
  check<double, motion{.stride = {1, 2}}, shape{1, 1, 8, 1}, shape{1, 1, 1, 3}>();
}
// Back, some phases of the stride have no pixel of the image.
BOOST_AUTO_TEST_CASE(images_narrower_than_the_stride) {
  check<float, motion{.stride = {3, 3}}, shape{2, 4, 2, 5}, shape{6, 5, 2, 2}>();
  check<double, motion{.stride = {4, 4}}, shape{1, 7, 3, 2}, shape{3, 2, 4, 3}>();
  check<float, motion{.stride = {3, 3}, .padding = {1, 1}}, shape{1, 6, 2, 1}, shape{1, 1, 3, 3}>();
  check<double, motion{.stride = {2, 2}, .dilation = {2, 2}, .groups = 2}, shape{1, 5, 1, 2}, shape{2, 1, 2, 1}>();
}
BOOST_AUTO_TEST_CASE(strides_and_dilations) {
  check<float, motion{.stride = {2, 2}, .padding = {1, 1}}, shape{2, 9, 8, 5}, shape{20, 5, 3, 3}>();
  check<double, motion{.stride = {2, 2}}, shape{2, 8, 9, 4}, shape{5, 4, 1, 1}>();
  check<float, motion{.stride = {3, 2}, .padding = {0, 3}, .dilation = {2, 1}}, shape{2, 11, 12, 3},
        shape{6, 3, 2, 7}>();
  check<double, motion{.stride = {2, 3}, .padding = {2, 2}, .dilation = {3, 2}}, shape{1, 13, 14, 2},
        shape{9, 2, 3, 3}>();
  check<float, motion{.stride = {4, 4}, .padding = {2, 2}}, shape{1, 15, 18, 3}, shape{18, 3, 7, 7}>();
}
BOOST_AUTO_TEST_CASE(groups) {
  check<float, motion{.padding = {1, 1}, .groups = 3}, shape{2, 5, 6, 12}, shape{15, 4, 3, 3}>();
  check<double, motion{.stride = {2, 1}, .padding = {1, 1}, .groups = 6}, shape{2, 5, 6, 6}, shape{12, 1, 3, 3}>();
}
BOOST_AUTO_TEST_CASE(depthwise) {
  check<float, motion{.padding = {1, 1}, .groups = 37}, shape{2, 5, 19, 37}, shape{37, 1, 3, 3}>();
  check<double, motion{.stride = {2, 2}, .padding = {2, 2}, .groups = 16}, shape{3, 9, 10, 16}, shape{16, 1, 5, 5}>();
  check<float, motion{.stride = {3, 1}, .dilation = {1, 2}, .groups = 5}, shape{21, 8, 6, 5}, shape{5, 1, 2, 2}>();
}
// Numbers that are read may have fewer bits than sums: a float as a double, half a float as a float.
BOOST_AUTO_TEST_CASE(narrow_operands) {
  check<double, motion{.padding = {1, 1}}, shape{2, 7, 9, 5}, shape{21, 5, 3, 3}, float>();
  check<float, motion{.stride = {2, 1}, .groups = 2}, shape{2, 9, 8, 6}, shape{34, 3, 2, 3}, own::bfloat16>();
  check<float, motion{.padding = {1, 1}, .groups = 19}, shape{2, 5, 6, 19}, shape{19, 1, 3, 3}, own::bfloat16>();
}
// Several blocks of depth, bands of several images and several of one.
BOOST_AUTO_TEST_CASE(blocks) {
  check<float, motion{.padding = {1, 1}}, shape{3, 4, 4, 201}, shape{9, 201, 3, 3}>();
  check<double, motion{.padding = {1, 0}}, shape{2, 33, 62, 49}, shape{2, 49, 2, 1}>();
  check<float, motion{.padding = {0, 1}}, shape{1, 2, 787, 6}, shape{5, 6, 1, 3}>();
  check<float, motion{.padding = {1, 0}}, shape{1, 2000, 1, 3}, shape{5, 3, 3, 1}>();  // many short rows
}

BOOST_AUTO_TEST_SUITE_END()
