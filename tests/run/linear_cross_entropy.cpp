// Compares linear_cross_entropy with the cross entropy of a linear layer, and its gradients with difference quotients.
#include <cairn/boost_test.hpp>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "../worse.hpp"
#include "gradients.hpp"

namespace {

using options = nn::linear_cross_entropy_options;
constexpr options in_forward{.workspace = 1}, in_backward{.weight_gradient_in = nn::pass::backward, .workspace = 1};

template <int Rows>
std::vector<std::int32_t> labels_below(int classes) {
  std::vector<std::int32_t> y(Rows);
  for (int i = 0; i < Rows; ++i) y[static_cast<std::size_t>(i)] = (i * i + 3 * i + 2) % classes;
  return y;
}

/// Returns how far two programs over Real with the parameters h and head.weight differ: the largest difference of a
/// loss or of a number of a gradient, relative to the largest number of the same array. NaN equals NaN here.
template <class Real, auto Blocked, auto Dense, class... Bound>
double difference(Real scale, const Bound&... inputs) {
  program<Blocked, real<Real>> blocked;
  program<Dense, real<Real>> dense;
  blocked.init(seed{1});
  dense.init(seed{1});
  for (Real& x : blocked.template param<"h">()) x *= scale;
  for (Real& x : dense.template param<"h">()) x *= scale;
  double worst = 0;
  const auto compare = [&worst](const Real* x, const Real* y, std::size_t n) {
    double largest = std::numeric_limits<double>::min();
    for (std::size_t i = 0; i < n; ++i)
      if (std::isfinite(y[i])) largest = std::max(largest, std::abs(double{y[i]}));
    for (std::size_t i = 0; i < n; ++i) {
      if (std::isnan(x[i]) && std::isnan(y[i])) continue;
      if (x[i] == y[i]) continue;
      worst = worse(worst, std::abs(double{x[i]} - double{y[i]}) / largest);
    }
  };
  const Real a = blocked.value_and_grad(inputs...), b = dense.value_and_grad(inputs...);
  compare(&a, &b, 1);
  compare(blocked.template grad<"h">().data(), dense.template grad<"h">().data(), dense.template grad<"h">().size());
  compare(blocked.template grad<"head.weight">().data(), dense.template grad<"head.weight">().data(),
          dense.template grad<"head.weight">().size());
  return worst;
}

/// The bound is for sums of up to Rows, Classes and Features terms.
template <class Real, int Rows, int Classes, int Features, std::int64_t Workspace = 1>
void compare_with_dense() {
  constexpr options in_forward{.workspace = Workspace},
      in_backward{.weight_gradient_in = nn::pass::backward, .workspace = Workspace};
  constexpr auto h = param<"h", Rows, Features>;
  constexpr auto y = labels<"y", Classes, Rows>;
  constexpr auto dense = cross_entropy(h | nn::linear_without_bias<"head", Classes>, y);
  const auto classes = labels_below<Rows>(Classes);
  const double bound = (Rows + Classes + Features + 20) * double{std::numeric_limits<Real>::epsilon()};
  for (const Real scale : {Real{1}, Real{30}}) {
    BOOST_TEST_CONTEXT(Rows << " rows, " << Classes << " classes, " << Features << " features, scale " << scale) {
      const auto forward = difference<Real, nn::linear_cross_entropy<"head", Classes, in_forward>(h, y), dense>(
          scale, bind<"y">(classes));
      const auto backward = difference<Real, nn::linear_cross_entropy<"head", Classes, in_backward>(h, y), dense>(
          scale, bind<"y">(classes));
      BOOST_TEST(forward < scale * bound);
      BOOST_TEST(backward < scale * bound);
    }
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(linear_cross_entropies)

BOOST_AUTO_TEST_CASE(blocks_compute_what_stored_logits_compute) {
  compare_with_dense<double, 1, 1, 1>();
  compare_with_dense<double, 1, 5, 3>();
  compare_with_dense<double, 9, 1, 4>();
  compare_with_dense<double, 50, 401, 7>();
  compare_with_dense<float, 33, 2, 5>();
  compare_with_dense<float, 67, 1009, 31>();
  compare_with_dense<float, 16, 48, 1>();
}
// Where the logits of a block are between the sweeps depends on the workspace and on the width of registers. So several
// workspaces are tested: each kind of block occurs as the only kind, and next to blocks of another kind.
BOOST_AUTO_TEST_CASE(all_kinds_of_blocks) {
  compare_with_dense<float, 150, 61, 5>();    // all blocks are in the workspace
  compare_with_dense<float, 75, 401, 100>();  // the first block is in the gradient, others are computed twice
  compare_with_dense<float, 200, 401, 100,
                     103 * 1024>();                      // the first block is in the gradient, others in the workspace
  compare_with_dense<float, 40, 700, 64, 100 * 1024>();  // all rows are in the gradient
  compare_with_dense<float, 31, 401, 64>();              // all rows are in the gradient, with the least workspace
  compare_with_dense<float, 7, 400, 8>();                // the same for narrow registers
  compare_with_dense<double, 60, 401, 1>();              // all blocks are computed twice
  compare_with_dense<float, 400, 401, 260, 300 * 1024>();  // the distance between logits is larger than a block
  compare_with_dense<float, 70, 6000, 24, 512 * 1024>();   // long chunks
}

// Logits are infinite, not numbers, very large or very small. The results are the same as with stored logits, where
// numbers that are not finite included.
BOOST_AUTO_TEST_CASE(extreme_logits) {
  constexpr auto h = param<"h", 19, 3>;
  constexpr auto y = labels<"y", 101, 19>;
  constexpr auto dense = cross_entropy(h | nn::linear_without_bias<"head", 101>, y);
  constexpr auto blocked = nn::linear_cross_entropy<"head", 101, in_forward>(h, y);
  const auto classes = labels_below<19>(101);
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (const float scale : {1e-30F, 1e30F, infinity, std::numeric_limits<float>::quiet_NaN()})
    BOOST_TEST((difference<float, blocked, dense>(scale, bind<"y">(classes))) < 1e-4, "scale " << scale);
  // The logits of some classes are minus infinity, among them no label's class.
  program<blocked> some;
  program<dense> all;
  some.init(seed{1});
  all.init(seed{1});
  for (const auto& weight : {some.param<"head.weight">(), all.param<"head.weight">()})
    for (int c = 0; c < 101; ++c)
      if (std::find(classes.begin(), classes.end(), c) == classes.end())
        for (int k = 0; k < 3; ++k) weight.data()[c * 3 + k] = k == 0 ? -infinity : 0;
  for (const auto& rows : {some.param<"h">(), all.param<"h">()})
    for (int i = 0; i < 19; ++i) rows.data()[i * 3] = 1;
  BOOST_TEST(some.value_and_grad(bind<"y">(classes)) == all.value_and_grad(bind<"y">(classes)),
             boost::test_tools::tolerance(1e-6F));
}

constexpr auto t = param<"t", 2, 9, 4>;

BOOST_AUTO_TEST_CASE(gradients_with_all_options) {
  const auto classes = labels_below<18>(13);
  check<nn::linear_cross_entropy<"head", 13, in_forward>(t, labels<"y", 13, 2, 9>)>(bind<"y">(classes));
  check<nn::linear_cross_entropy<"head", 13, in_backward>(t, labels<"y", 13, 2, 9>)>(bind<"y">(classes));
  constexpr auto all_options = []<nn::pass Pass>() {
    constexpr options all{.ignore_index = 13, .label_smoothing = 0.2, .weight_gradient_in = Pass, .workspace = 1};
    return nn::linear_cross_entropy<"head", 13, all>(t, labels<"y", 14, 2, 9>, square(param<"by class", 13>),
                                                     square(param<"by row", 2, 9>));
  };
  auto some = classes;
  some[0] = some[7] = 13;
  check<all_options.operator()<nn::pass::forward>()>(bind<"y">(some));
  check<all_options.operator()<nn::pass::backward>()>(bind<"y">(some));
}
BOOST_AUTO_TEST_CASE(gradients_of_gradients) {
  const auto classes = labels_below<18>(5);
  constexpr auto of = []<nn::pass Pass>() {
    constexpr options some{.label_smoothing = 0.1, .weight_gradient_in = Pass, .workspace = 1};
    constexpr auto loss =
        nn::linear_cross_entropy<"head", 5, some>(t * 3_c, labels<"y", 5, 2, 9>, 2_c, square(param<"by row", 2, 9>));
    return loss + sum(square(grad(loss, t))) + sum(square(grad(loss, param<"head.weight", 5, 4>)));
  };
  check<of.operator()<nn::pass::forward>()>(bind<"y">(classes));
  check<of.operator()<nn::pass::backward>()>(bind<"y">(classes));
}
// The weight of an embedding is the weight of the head.
BOOST_AUTO_TEST_CASE(a_tied_head) {
  constexpr auto words = indices<"words", 7, 12>;
  const auto classes = labels_below<12>(7);
  constexpr auto h = gelu(words | nn::embedding<"wte", 5>);
  constexpr auto tied = nn::tied_linear_cross_entropy<"/wte.weight", 7>(h, words);
  check<tied>(bind<"words">(classes));
  program<tied> blocked;
  program<cross_entropy(h | nn::tied_linear<"/wte.weight", 7>, words)> dense;
  blocked.init(seed{3});
  dense.init(seed{3});
  BOOST_TEST(blocked.value_and_grad(bind<"words">(classes)) == dense.value_and_grad(bind<"words">(classes)),
             boost::test_tools::tolerance(1e-6F));
}

template <options O, nn::cross_entropy_options Of>
void compare_options() {
  constexpr auto h = param<"h", 18, 4>;
  constexpr auto y = labels<"y", 21, 18>;
  constexpr auto logits = h | nn::linear_without_bias<"head", 20>;
  constexpr auto by_class = generated<20>([](int i) { return 1.0 / (1 + i); });
  constexpr auto by_row = generated<18>([](int i) { return i % 3 * 0.5; });
  auto classes = labels_below<18>(20);
  classes[2] = classes[11] = 20;
  const auto compare = [&]<auto Blocked, auto Dense> {
    BOOST_TEST((difference<double, Blocked, Dense>(1, bind<"y">(classes))) < 1e-13);
  };
  compare.template operator()<nn::linear_cross_entropy<"head", 20, O>(h, y), cross_entropy<Of>(logits, y)>();
  compare.template
  operator()<nn::linear_cross_entropy<"head", 20, O>(h, y, by_class), cross_entropy<Of>(logits, y, by_class)>();
  compare.template
  operator()<nn::linear_cross_entropy<"head", 20, O>(h, y, 1_c, by_row), cross_entropy<Of>(logits, y, 1_c, by_row)>();
  compare.template operator()<nn::linear_cross_entropy<"head", 20, O>(h, y, by_class, by_row),
                              cross_entropy<Of>(logits, y, by_class, by_row)>();
  std::fill(classes.begin(), classes.end(), 20);  // no row counts
  compare.template operator()<nn::linear_cross_entropy<"head", 20, O>(h, y), cross_entropy<Of>(logits, y)>();
}
BOOST_AUTO_TEST_CASE(options_and_weights) {
  compare_options<options{.ignore_index = 20, .workspace = 1}, nn::cross_entropy_options{.ignore_index = 20}>();
  compare_options<options{.ignore_index = 20, .label_smoothing = 0.3, .workspace = 1},
                  nn::cross_entropy_options{.ignore_index = 20, .label_smoothing = 0.3}>();
}
// A label that is neither a class nor ignored makes the loss NaN.
BOOST_AUTO_TEST_CASE(labels_that_are_no_classes) {
  constexpr options padded{.ignore_index = 5};
  program<nn::linear_cross_entropy<"head", 4, padded>(param<"h", 3, 2>, labels<"y", 6, 3>)> step;
  step.init(seed{1});
  BOOST_TEST(std::isnan(step.value_and_grad(bind<"y">(std::array{0, 5, 4}))));
  BOOST_TEST(std::isnan(step.value_and_grad(bind<"y">(std::array{5, 5, 5}))));
  BOOST_TEST(std::isfinite(step.value_and_grad(bind<"y">(std::array{0, 5, 3}))));
}

// A row that does not count is not read.
BOOST_AUTO_TEST_CASE(ignored_rows_that_are_not_finite) {
  constexpr options smoothed{.ignore_index = 5, .label_smoothing = 0.1};
  constexpr auto loss = nn::linear_cross_entropy<"head", 4, smoothed>(input<"h", 3, 2>, labels<"y", 6, 3>);
  program<loss> step;
  step.init(seed{1});
  std::array<float, 6> h{1, 2, std::numeric_limits<float>::infinity(), 3, -1, 1};
  const float ignoring = step.value_and_grad(bind<"h">(h), bind<"y">(std::array{0, 5, 3}));
  h[2] = 0;
  BOOST_TEST(ignoring == step.value_and_grad(bind<"h">(h), bind<"y">(std::array{0, 5, 3})));
}

// A segment recomputes the operation for its gradients. Its forward pass computes the loss alone.
BOOST_AUTO_TEST_CASE(segments_and_predictors_compute_the_same_bits) {
  constexpr auto y = labels<"y", 401, 75>;
  constexpr auto h = param<"h", 75, 40>;
  constexpr auto head = [](auto h, auto classes) {
    return nn::linear_cross_entropy<"head", 401, in_forward>(tanh(h), classes);
  };
  constexpr auto loss = ckpt<"head">(head, h, y);
  program<loss> ckpted;
  program<loss, plain> kept;
  ckpted.init(seed{1});
  kept.init(seed{1});
  const auto classes = labels_below<75>(401);
  const float value = kept.value_and_grad(bind<"y">(classes));
  BOOST_TEST(ckpted.value_and_grad(bind<"y">(classes)) == value);
  const auto same = [](const auto& a, const auto& b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); };
  BOOST_TEST(same(ckpted.grad<"head.weight">(), kept.grad<"head.weight">()));
  BOOST_TEST(same(ckpted.grad<"h">(), kept.grad<"h">()));
  predictor<loss> predict{kept};
  BOOST_TEST(predict(bind<"y">(classes)) == value);
  // Without the gradient of the weight, the logits are at other places.
  predictor<grad(loss, h)> without_weight{kept};
  BOOST_TEST(same(without_weight(bind<"y">(classes)), kept.grad<"h">()));
}

// Numbers are read as floats where others are stored as bf16.
BOOST_AUTO_TEST_CASE(mixed_precision) {
  constexpr auto y = labels<"y", 101, 40>;
  constexpr auto h = input<"x", 40, 8> | nn::linear<"in", 6> | nn::tanh;
  program<nn::linear_cross_entropy<"head", 101>(h, y), mixed<bf16>> rounded;
  program<nn::linear_cross_entropy<"head", 101>(h, y)> exact;
  rounded.init(seed{1});
  exact.init(seed{1});
  const std::vector<float> x(40 * 8, 0.7F);
  const auto classes = labels_below<40>(101);
  BOOST_TEST(rounded.value_and_grad(bind<"x">(x), bind<"y">(classes)) ==
                 exact.value_and_grad(bind<"x">(x), bind<"y">(classes)),
             boost::test_tools::tolerance(0.01F));
}

// The whole contract of kernels: null operands, guarded memory, threads, other bytes in the workspace.
BOOST_AUTO_TEST_CASE(kernels_keep_their_contract) {
  constexpr auto h = param<"h", 17, 2>;
  constexpr auto weight = param<"weight", 61, 2>;
  constexpr auto y = indices<"y", 61, 17>;
  BOOST_TEST((check_operation<lang::linear_cross_entropy_op<1>, h, weight, y, param<"w", 17>, param<"v", 17>>()));
  BOOST_TEST((check_operation<lang::linear_cross_entropy_loss_op<1>, h, weight, y, param<"w">, param<"v", 17>>()));
}

BOOST_AUTO_TEST_SUITE_END()
