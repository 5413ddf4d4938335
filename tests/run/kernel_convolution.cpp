// Compares convolutions and their gradients with plain loops. The tests use awkward extents, edges, strides, dilations,
// groups and threads.
#include "cairn/kernel/convolution.hpp"

#include <boost/test/unit_test.hpp>

#include "../own.hpp"
#include "../reference.hpp"
#include "kernel_check.hpp"

using namespace cairn;
using namespace kernel_check;

namespace {

/// Sums of products with their error bounds. The error grows like a random walk of roundings.
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

/// The operands are the result, the first argument, the second argument, and the workspace.
struct one_kernel {
  kernel_pointer run;
  workspace working;
};
struct kernels_of_form {
  one_kernel forward, back, of_filter;
};

template <class In, class Real>
void check_of(const kernels_of_form& run, const costs::motion& moves, const shape& image, const shape& filter,
              const shape& result) {
  const auto x = operand<In, Real>(image), w = operand<In, Real>(filter), g = operand<In, Real>(result);
  sums<Real> y(result.count()), of_x(image.count()), of_w(filter.count());
  reference::for_each_tap(image, filter, result, moves.stride, moves.padding, moves.dilation, moves.groups,
                          [&](int pixel, int tap, int made) {
                            const auto at = [](const std::vector<In>& v, int i) {
                              return static_cast<double>(v[static_cast<std::size_t>(i)]);
                            };
                            y.add(made, at(x, pixel) * at(w, tap));
                            of_x.add(pixel, at(g, made) * at(w, tap));
                            of_w.add(tap, at(g, made) * at(x, pixel));
                          });
  BOOST_TEST_CONTEXT("image " << image[0] << ' ' << image[1] << ' ' << image[2] << ' ' << image[3] << ", filter "
                              << filter[0] << ' ' << filter[1] << ' ' << filter[2] << ' ' << filter[3] << ", stride "
                              << moves.stride[0] << ", padding " << moves.padding[0] << ", dilation "
                              << moves.dilation[0] << ", groups " << moves.groups) {
    for (const int threads : {1, 3}) {
      const auto try_one = [threads](const one_kernel& one, sums<Real>& wanted, const std::vector<In>& a,
                                     const std::vector<In>& b, const char* what) {
        guarded<Real> made(std::ssize(wanted.value));
        guarded<kernels::workspace_number<In, Real>> scratch(one.working.numbers(threads));
        one.run({made.data(), a.data(), b.data(), scratch.data()}, threads);
        wanted.check(made, what);
        BOOST_TEST(scratch.intact(), what);
      };
      try_one(run.forward, y, x, w, "forward");
      try_one(run.back, of_x, g, w, "back");
      try_one(run.of_filter, of_w, x, g, "of the filter");
    }
  }
}

/// Runs a kernel, also on operands of another type than the program's numbers.
template <class In, class Real, class Op, shape A, shape B>
void run_one(std::vector<const void*> operands, int threads) {
  if constexpr (std::is_same_v<In, Real>) {
    run_kernel<Op, Real, array<A>, array<B>>(operands, threads);
  } else if constexpr (std::is_same_v<In, bf16>) {
    run_kernel<Op, Real, array<A, {dtype::bf16}>, array<B, {dtype::bf16}>>(operands, threads);
  } else {
    void* const* const p = const_cast<void* const*>(operands.data());
    constexpr cairn::costs::correlation of = Op::of(A, B);
    if constexpr (std::string_view(Op::name) == "filter_gradient")
      kernels::correlate_filter<In, Real, of>(p, {.threads = threads});
    else kernels::correlate<In, Real, In, of>(p, {.threads = threads});
  }
}
template <class In, class Real, class Op, shape A, shape B>
constexpr one_kernel kernel_of{&run_one<In, Real, Op, A, B>,
                               Op::scratch(sizeof(kernels::workspace_number<In, Real>), A, B)};

template <class Real, costs::motion Moves, shape Image, shape Filter, class In = Real>
void check() {
  using forward = lang::convolution_op<Moves>;
  using back = lang::convolution_back_op<Moves, Image[1], Image[2]>;
  using of_filter = lang::filter_gradient_op<Moves, Filter[2], Filter[3]>;
  constexpr shape result = forward::result(Image, Filter);
  static_assert(result.valid() && back::result(result, Filter) == Image && of_filter::result(Image, result) == Filter);
  check_of<In, Real>({kernel_of<In, Real, forward, Image, Filter>, kernel_of<In, Real, back, result, Filter>,
                      kernel_of<In, Real, of_filter, Image, result>},
                     Moves, Image, Filter, result);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(kernel_convolution)

BOOST_AUTO_TEST_CASE(edges_of_images) {
  check<float, costs::motion{.padding = {1, 1}}, shape{2, 7, 9, 5}, shape{7, 5, 3, 3}>();
  check<double, costs::motion{}, shape{1, 4, 5, 1}, shape{17, 1, 3, 2}>();
  check<float, costs::motion{.padding = {2, 1}}, shape{3, 3, 2, 33}, shape{40, 33, 5, 3}>();
  check<double, costs::motion{.padding = {3, 0}}, shape{2, 1, 13, 3}, shape{9, 3, 7, 1}>();
  check<float, costs::motion{}, shape{2, 5, 30, 16}, shape{33, 16, 1, 1}>();
  // One input channel, and one output channel.
  check<float, costs::motion{.padding = {1, 1}}, shape{2, 5, 6, 1}, shape{1, 1, 3, 3}>();
  check<double, costs::motion{.stride = {1, 2}}, shape{1, 1, 8, 1}, shape{1, 1, 1, 3}>();
}
// In the gradient with respect to the image, some phases of the stride have no pixel of the image.
BOOST_AUTO_TEST_CASE(images_narrower_than_the_stride) {
  check<float, costs::motion{.stride = {3, 3}}, shape{2, 4, 2, 5}, shape{6, 5, 2, 2}>();
  check<double, costs::motion{.stride = {4, 4}}, shape{1, 7, 3, 2}, shape{3, 2, 4, 3}>();
  check<float, costs::motion{.stride = {3, 3}, .padding = {1, 1}}, shape{1, 6, 2, 1}, shape{1, 1, 3, 3}>();
  check<double, costs::motion{.stride = {2, 2}, .dilation = {2, 2}, .groups = 2}, shape{1, 5, 1, 2},
        shape{2, 1, 2, 1}>();
}
// More columns than are packed or summed at a time, for few pixels and for several bands of rows.
BOOST_AUTO_TEST_CASE(blocks_of_columns) {
  constexpr costs::motion around{.padding = {1, 1}};
  constexpr shape image{1, 2, 3, 130}, filter{650, 130, 3, 3};
  constexpr auto blocks = [](const cairn::costs::column_panels& p) { return (p.count() + p.block - 1) / p.block; };
  static_assert(blocks(cut_of(lang::convolution_op<around>::of(image, filter), 0, 4).panels) > 1);
  static_assert(
      blocks(cut_of_filter(lang::filter_gradient_op<around, 3, 3>::of(image, shape{1, 2, 3, 650}), 4).panels) > 2);
  check<float, around, image, filter>();
  constexpr costs::motion grouped{.stride = {2, 2}, .padding = {1, 1}, .groups = 3};
  constexpr shape wide{1, 5, 4, 390}, filters{651, 130, 3, 3};
  static_assert(blocks(cut_of(lang::convolution_op<grouped>::of(wide, filters), 0, 8).panels) > 1);
  check<double, grouped, wide, filters>();
  constexpr costs::motion beside{.padding = {0, 1}};
  constexpr shape tall{1, 60, 2, 2048}, few{48, 2048, 1, 3};
  constexpr cairn::costs::sweep_cut banded = cut_of(lang::convolution_op<beside>::of(tall, few), 0, 8);
  static_assert(banded.band_rows < 60 && blocks(banded.panels) > 1);
  check<double, beside, tall, few>();
}
BOOST_AUTO_TEST_CASE(strides_and_dilations) {
  check<float, costs::motion{.stride = {2, 2}, .padding = {1, 1}}, shape{2, 9, 8, 5}, shape{20, 5, 3, 3}>();
  check<double, costs::motion{.stride = {2, 2}}, shape{2, 8, 9, 4}, shape{5, 4, 1, 1}>();
  check<float, costs::motion{.stride = {3, 2}, .padding = {0, 3}, .dilation = {2, 1}}, shape{2, 11, 12, 3},
        shape{6, 3, 2, 7}>();
  check<double, costs::motion{.stride = {2, 3}, .padding = {2, 2}, .dilation = {3, 2}}, shape{1, 13, 14, 2},
        shape{9, 2, 3, 3}>();
  check<float, costs::motion{.stride = {4, 4}, .padding = {2, 2}}, shape{1, 15, 18, 3}, shape{18, 3, 7, 7}>();
}
// More or fewer pixels of padding at the end than at the beginning.
BOOST_AUTO_TEST_CASE(other_padding_at_the_end) {
  check<float, costs::motion{.padding = {0, 1}, .dilation = {3, 1}, .more = 1}, shape{2, 5, 6, 3}, shape{9, 3, 2, 4}>();
  check<double, costs::motion{.stride = {3, 1}, .padding = 1, .dilation = {1, 3}, .more = -2}, shape{2, 13, 7, 5},
        shape{4, 5, 3, 2}>();
  check<float, costs::motion{.stride = {2, 1}, .groups = 5, .more = {-1, 2}}, shape{2, 6, 5, 5}, shape{5, 1, 2, 3}>();
}
BOOST_AUTO_TEST_CASE(groups) {
  check<float, costs::motion{.padding = {1, 1}, .groups = 3}, shape{2, 5, 6, 12}, shape{15, 4, 3, 3}>();
  check<double, costs::motion{.stride = {2, 1}, .padding = {1, 1}, .groups = 6}, shape{2, 5, 6, 6},
        shape{12, 1, 3, 3}>();
}
BOOST_AUTO_TEST_CASE(depthwise) {
  check<float, costs::motion{.padding = {1, 1}, .groups = 37}, shape{2, 5, 19, 37}, shape{37, 1, 3, 3}>();
  check<double, costs::motion{.stride = {2, 2}, .padding = {2, 2}, .groups = 16}, shape{3, 9, 10, 16},
        shape{16, 1, 5, 5}>();
  check<float, costs::motion{.stride = {3, 1}, .dilation = {1, 2}, .groups = 5}, shape{21, 8, 6, 5},
        shape{5, 1, 2, 2}>();
}
// Operands may have fewer bits than the sums: floats for sums in double, halves for sums in float.
BOOST_AUTO_TEST_CASE(narrow_operands) {
  check<double, costs::motion{.padding = {1, 1}}, shape{2, 7, 9, 5}, shape{21, 5, 3, 3}, float>();
  check<float, costs::motion{.stride = {2, 1}, .groups = 2}, shape{2, 9, 8, 6}, shape{34, 3, 2, 3}, own::half>();
  check<float, costs::motion{.padding = {1, 1}, .groups = 19}, shape{2, 5, 6, 19}, shape{19, 1, 3, 3}, own::half>();
}
// The numbers are bf16. Kernels take pairs of channels and pairs of pixels. Their numbers are even in some cases and
// odd in others.
BOOST_AUTO_TEST_CASE(in_bf16) {
  check<float, costs::motion{.padding = {1, 1}}, shape{2, 7, 9, 5}, shape{7, 5, 3, 3}, bf16>();
  check<float, costs::motion{.padding = {1, 1}, .groups = 19}, shape{2, 5, 6, 19}, shape{19, 1, 3, 3}, bf16>();
  check<float, costs::motion{.stride = {2, 2}, .padding = {2, 2}, .groups = 32}, shape{3, 9, 9, 32}, shape{32, 1, 5, 5},
        bf16>();
}
// Several blocks of depth, bands that contain several images, and several bands in one image.
BOOST_AUTO_TEST_CASE(several_blocks_of_depth_and_bands) {
  check<float, costs::motion{.padding = {1, 1}}, shape{3, 4, 4, 201}, shape{9, 201, 3, 3}>();
  check<double, costs::motion{.padding = {1, 0}}, shape{2, 33, 62, 49}, shape{2, 49, 2, 1}>();
  check<float, costs::motion{.padding = {0, 1}}, shape{1, 2, 787, 6}, shape{5, 6, 1, 3}>();
  check<float, costs::motion{.padding = {1, 0}}, shape{1, 2000, 1, 3}, shape{5, 3, 3, 1}>();  // many short rows
}

BOOST_AUTO_TEST_SUITE_END()
