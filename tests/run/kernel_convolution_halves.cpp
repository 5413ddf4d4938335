// Compares convolutions of bf16 with their definition, bit for bit, on any processor. The instruction multiplies pairs
// of channels and adds the second channel of a pair first. If a group has an odd number of channels, the last channel
// is paired with a zero. The gradient of filters is computed pixel by pixel.
#include "cairn/kernel/convolution.hpp"

#include <bit>
#include <boost/test/unit_test.hpp>
#include <cstring>

#include "kernel_check.hpp"

using namespace cairn;
using namespace kernel_check;

namespace {

using halves = std::vector<bf16>;

/// Returns a number of an image or of a filter. It is zero outside of the image.
bf16 at(const halves& x, const shape& extents, int a, int b, int c, int d) {
  if (b < 0 || b >= extents[1] || c < 0 || c >= extents[2] || d >= extents[3]) return {};
  return x[static_cast<std::size_t>(((a * extents[1] + b) * extents[2] + c) * extents[3] + d)];
}

/// Computes one pixel of a sweep by definition, for one channel of a group.
float defined(const cairn::costs::correlation& of, const cairn::costs::sweep_cut& cut, const halves& read,
              const halves& filter, int image, int row, int column, int group, int result) {
  const auto product = [&](int number, float sum) {
    const int tap = number / cut.inputs, input = number % cut.inputs;
    const int down = tap / cut.horizontal.taps, along = tap % cut.horizontal.taps;
    if (input >= of.inputs()) return add_product(bf16{}, bf16{}, sum);
    const bf16 x =
        at(read, of.input, image, cut.vertical.step * row + place_of_tap(of, 0, cut.vertical, down),
           cut.horizontal.step * column + place_of_tap(of, 1, cut.horizontal, along), group * of.inputs() + input);
    const int of_read = of.back ? group * of.inputs() + input : input,
              of_made = of.back ? result : group * of.results() + result;
    const bf16 w = at(filter, of.filter, of.back ? of_read : of_made, of.back ? of_made : of_read,
                      tap_of(of, cut.vertical, down), tap_of(of, cut.horizontal, along));
    return add_product(x, w, sum);
  };
  float all = 0;
  for (int p = 0; p < cut.length; p += cut.block_length) {
    for (int run = 0; run < cut.runs; run += cut.block_runs) {
      float sum = 0;
      for (int in = run; in < std::min(run + cut.block_runs, cut.runs); ++in)
        for (int k = p; k < std::min(p + cut.block_length, cut.length); k += 2)
          for (const int one : {k + 1, k}) sum = product(in * cut.length + one, sum);
      all = p == 0 && run == 0 ? sum : all + sum;
    }
  }
  return all;
}
std::vector<float> defined(const cairn::costs::correlation& of, const halves& read, const halves& filter) {
  std::vector<float> made(static_cast<std::size_t>(of.output.count()));
  for (int sweep = 0; sweep < of.sweeps(); ++sweep) {
    const cairn::costs::sweep_cut cut = cut_of(of, sweep, 2);
    for (int image = 0; image < of.output[0]; ++image)
      for (int row = 0; row < cut.vertical.count; ++row)
        for (int column = 0; column < cut.horizontal.count; ++column)
          for (int channel = 0; channel < of.output[3]; ++channel) {
            const int y = cut.vertical.first + row * cut.vertical.apart,
                      x = cut.horizontal.first + column * cut.horizontal.apart;
            made[static_cast<std::size_t>(((image * of.output[1] + y) * of.output[2] + x) * of.output[3] + channel)] =
                defined(of, cut, read, filter, image, row, column, channel / of.results(), channel % of.results());
          }
  }
  return made;
}
/// Computes the gradient of a filter by definition. Sums over blocks of pixels in a few rows are added up.
std::vector<float> defined_filter(const cairn::costs::correlation& of, const halves& images, const halves& gradient) {
  const cairn::costs::filter_cut cut = cut_of_filter(of, 2);
  const costs::motion& moves = of.moves;
  const int rows = of.output[0] * of.output[1], all = of.taps();
  std::vector<float> made(static_cast<std::size_t>(of.filter.count()));
  for (int i = 0; i < std::ssize(made); ++i) {
    const int o = i / (all * of.filter[1]), channel = i / all % of.filter[1] + o / of.results() * of.filter[1];
    const int down = i % all / of.filter[3] * moves.dilation[0] - moves.padding[0],
              along = i % of.filter[3] * moves.dilation[1] - moves.padding[1];
    float& to = made[static_cast<std::size_t>(i)];
    for (int band = 0; band < rows; band += cut.pixels.band_rows) {
      const int end = std::min(band + cut.pixels.band_rows, rows);
      for (int first = band; first < end; first += cut.block_rows) {
        for (int pixel = 0; pixel < of.output[2]; pixel += cut.block_pixels) {
          float sum = 0;
          for (int row = first; row < std::min(first + cut.block_rows, end); ++row)
            for (int k = pixel; k < std::min(pixel + cut.block_pixels, of.output[2]); ++k) {
              const int image = row / of.output[1], y = row % of.output[1];
              const bf16 x =
                  at(images, of.input, image, y * moves.stride[0] + down, k * moves.stride[1] + along, channel);
              sum = add_product(x, at(gradient, of.output, image, y, k, o), sum);
            }
          to = first == 0 && pixel == 0 ? sum : to + sum;
        }
      }
    }
  }
  return made;
}

/// Returns floats that are rounded to these numbers.
std::vector<float> unrounded(const halves& x) {
  std::vector<float> out;
  for (const bf16 e : x)
    out.push_back(std::bit_cast<float>(std::bit_cast<std::uint32_t>(static_cast<float>(e)) + 0x7fffU));
  return out;
}
template <class Op, shape A, shape B, class Second>
void check_one(const std::vector<float>& expected, const halves& a, const std::vector<Second>& b) {
  constexpr dtype type = std::is_same_v<Second, bf16> ? dtype::bf16 : dtype::real;
  for (const int threads : {1, 3}) {
    guarded<float> made(std::ssize(expected));
    const std::int64_t lent = Op::scratch(2, A, B).numbers(threads);
    guarded<bf16> scratch(lent);
    std::fill_n(scratch.data(), lent, bf16(no_number<float>));
    run_kernel<Op, float, array<A, {dtype::bf16}>, array<B, {type}>>({made.data(), a.data(), b.data(), scratch.data()},
                                                                     threads);
    BOOST_TEST(std::memcmp(expected.data(), made.data(), expected.size() * sizeof(float)) == 0,
               std::string_view(Op::name));
    BOOST_TEST((made.intact() && scratch.intact()), std::string_view(Op::name));
  }
}
/// Checks a convolution and its gradients. One of the numbers is replaced by `other` if `other` is not 0.
template <costs::motion Moves, shape Image, shape Filter>
void check(float scale = 1, float other = 0) {
  using forward = lang::convolution_op<Moves>;
  using back = lang::convolution_back_op<Moves, Image[1], Image[2]>;
  using of_filter = lang::filter_gradient_op<Moves, Filter[2], Filter[3]>;
  constexpr shape result = forward::result(Image, Filter);
  halves x = drawn_halves(Image.count(), scale), w = drawn_halves(Filter.count(), scale),
         g = drawn_halves(result.count(), scale);
  const halves all = g;
  if (other != 0) x[x.size() / 2] = g[g.size() / 2] = bf16(other);
  BOOST_TEST_CONTEXT("image " << Image[1] << ' ' << Image[2] << ' ' << Image[3] << ", filter " << Filter[0] << ' '
                              << Filter[2] << ' ' << Filter[3] << ", stride " << Moves.stride[1]) {
    const std::vector<float> made = defined(forward::of(Image, Filter), x, w),
                             made_back = defined(back::of(result, Filter), g, w), floats = unrounded(w);
    check_one<forward, Image, Filter>(made, x, w);
    check_one<forward, Image, Filter>(made, x, floats);
    check_one<back, result, Filter>(made_back, g, w);
    check_one<back, result, Filter>(made_back, g, floats);
    check_one<of_filter, Image, result>(defined_filter(of_filter::of(Image, result), x, all), x, all);
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(kernel_convolution_halves)

BOOST_AUTO_TEST_CASE(even_and_odd_channels) {
  check<costs::motion{.padding = {1, 1}}, shape{2, 7, 9, 5}, shape{7, 5, 3, 3}>();
  check<costs::motion{.padding = {1, 1}}, shape{3, 5, 8, 1}, shape{33, 1, 3, 3}>();
  check<costs::motion{.padding = {2, 1}}, shape{3, 3, 2, 34}, shape{40, 34, 5, 3}>();
  check<costs::motion{}, shape{2, 6, 31, 16},
        shape{65, 16, 2, 2}>();  // read in place by processors that multiply pairs
  check<costs::motion{.padding = {1, 1}}, shape{2, 5, 6, 1}, shape{2, 1, 2, 2}>();
}
BOOST_AUTO_TEST_CASE(strides_dilations_and_groups) {
  check<costs::motion{.stride = {2, 2}, .padding = {1, 1}}, shape{2, 9, 8, 6}, shape{20, 6, 3, 3}>();
  check<costs::motion{.stride = {2, 2}}, shape{2, 8, 8, 4}, shape{6, 4, 1, 1}>();
  check<costs::motion{.stride = {3, 2}, .padding = {0, 3}, .dilation = {2, 1}}, shape{2, 11, 12, 3},
        shape{6, 3, 2, 7}>();
  check<costs::motion{.stride = {2, 1}, .padding = {1, 1}, .groups = 3}, shape{2, 5, 6, 9}, shape{15, 3, 3, 3}>();
  check<costs::motion{.padding = {1, 0}, .dilation = {1, 3}, .groups = 2}, shape{2, 5, 11, 8}, shape{6, 4, 3, 2}>();
  check<costs::motion{.stride = {4, 4}}, shape{1, 7, 3, 2}, shape{3, 2, 4, 3}>();
}
// Several blocks of depth and of pixels, and bands of several rows.
BOOST_AUTO_TEST_CASE(several_blocks_of_depth_and_bands) {
  constexpr costs::motion around{.padding = {1, 1}};
  constexpr shape deep{1, 2, 4, 521}, filter{3, 521, 3, 3};
  static_assert(cut_of(lang::convolution_op<around>::of(deep, filter), 0, 2).block_runs < 3);
  check<around, deep, filter>();
  constexpr costs::motion beside{.padding = {0, 1}};
  constexpr shape long_runs{1, 1, 4, 1538}, taps{2, 1538, 1, 3};
  static_assert(cut_of(lang::convolution_op<beside>::of(long_runs, taps), 0, 2).block_length == 2308);
  check<beside, long_runs, taps>();
  constexpr shape wide{1, 2, 786, 2}, result = lang::convolution_op<around>::result(wide, shape{2, 2, 3, 3});
  static_assert(cut_of_filter(lang::filter_gradient_op<around, 3, 3>::of(wide, result), 2).block_pixels < 786);
  check<around, wide, shape{2, 2, 3, 3}>();
  constexpr shape tall{2, 40, 256, 31};
  static_assert(cut_of(lang::convolution_op<costs::motion{}>::of(tall, shape{2, 31, 1, 2}), 0, 2).band_rows < 80);
  check<costs::motion{}, tall, shape{2, 31, 1, 2}>();
}
// More columns than are packed or summed at a time.
BOOST_AUTO_TEST_CASE(blocks_of_columns) {
  constexpr costs::motion around{.padding = {1, 1}};
  constexpr shape image{1, 2, 2, 258}, filter{520, 258, 3, 3};
  constexpr cairn::costs::column_panels panels = cut_of(lang::convolution_op<around>::of(image, filter), 0, 2).panels;
  static_assert(panels.block < panels.count());
  check<around, image, filter>();
  // These columns lie on two bands of rows.
  constexpr costs::motion beside{.padding = {0, 1}};
  constexpr shape tall{1, 20, 1, 8192}, few{80, 8192, 1, 3}, result = lang::convolution_op<beside>::result(tall, few);
  constexpr cairn::costs::sweep_cut banded = cut_of(lang::convolution_op<beside>::of(tall, few), 0, 2);
  constexpr cairn::costs::filter_cut of_filter =
      cut_of_filter(lang::filter_gradient_op<beside, 1, 3>::of(tall, result), 2);
  static_assert(banded.band_rows < 20 && banded.panels.block < banded.panels.count());
  static_assert(of_filter.pixels.band_rows < 20 && of_filter.panels.block < of_filter.panels.count());
  check<beside, tall, few>();
}
// Filters with one channel in each group are multiplied as floats, after they were rounded to bf16.
BOOST_AUTO_TEST_CASE(depthwise_filters_are_rounded_to_bf16) {
  constexpr shape image{2, 5, 6, 19}, filter{19, 1, 3, 3};
  using op = lang::convolution_op<costs::motion{.padding = {1, 1}, .groups = 19}>;
  const halves x = drawn_halves(image.count(), 1), w = drawn_halves(filter.count(), 1);
  const std::vector<float> floats = unrounded(w);
  std::vector<float> of_halves(static_cast<std::size_t>(image.count())), of_floats = of_halves;
  std::vector<bf16> scratch(static_cast<std::size_t>(op::scratch(2, image, filter).numbers(1)));
  const auto run = [&]<class Second>(std::vector<float>& to, const std::vector<Second>& by) {
    constexpr dtype type = std::is_same_v<Second, bf16> ? dtype::bf16 : dtype::real;
    run_kernel<op, float, array<image, {dtype::bf16}>, array<filter, {type}>>(
        {to.data(), x.data(), by.data(), scratch.data()}, 1);
  };
  run(of_halves, w);
  run(of_floats, floats);
  BOOST_TEST(of_halves == of_floats);
}
// Numbers that are multiplied only with padding must not become NaN.
BOOST_AUTO_TEST_CASE(infinite_numbers) {
  check<costs::motion{.padding = {1, 1}}, shape{1, 5, 6, 5}, shape{7, 5, 3, 3}>(1, infinity<float>);
  check<costs::motion{.stride = {1, 2}, .groups = 2}, shape{1, 5, 8, 6}, shape{6, 3, 1, 2}>(1, infinity<float>);
  check<costs::motion{}, shape{1, 4, 8, 3}, shape{5, 3, 2, 2}>(1, infinity<float>);
}
// Numbers below the least normal number count as zero in every step.
BOOST_AUTO_TEST_CASE(denormal_numbers) {
  for (const float scale : {0x1p-62F, 0x1p-64F}) {
    check<costs::motion{.padding = {1, 1}}, shape{2, 7, 8, 6}, shape{18, 6, 3, 3}>(scale);
    check<costs::motion{.stride = {2, 2}}, shape{2, 7, 9, 3}, shape{4, 3, 2, 2}>(scale);
  }
}

BOOST_AUTO_TEST_SUITE_END()
