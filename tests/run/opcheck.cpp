// The checks of operations tell correct operations from wrong ones. The added operations of tests/own.hpp pass all
// checks. Each operation below breaks one law.
#include <boost/test/unit_test.hpp>
#include <cairn/boost_test.hpp>
#include <cairn/cairn.hpp>
#include <string>

#include "../own.hpp"

namespace broken {

using namespace cairn;

/// Twice its argument. The operations that are derived from it make one mistake each.
struct doubled_op : op {
  static constexpr fixed_string name = "doubled";
  using rule = misuse::axes_exist;
  static constexpr shape result(const shape& x) { return x; }
  static constexpr auto vjp(auto g, auto, auto) { return gradients(g + g); }
};
template <class Real, class X>
Real* doubled(signature<Real, X>, void* const* operands) {
  const Real* x = static_cast<const Real*>(operands[1]);
  Real* y = static_cast<Real*>(operands[0]);
  for (std::int64_t i = 0; i < X::shape.count(); ++i) y[i] = 2 * x[i];
  return y;
}

struct adds_to_result_op : doubled_op {};
template <class Real, class X>
void compute(adds_to_result_op, signature<Real, X>, void* const* operands) {
  for (std::int64_t i = 0; i < X::shape.count(); ++i)
    static_cast<Real*>(operands[0])[i] += 2 * static_cast<const Real*>(operands[1])[i];
}
struct reads_scratch_op : doubled_op {
  static constexpr workspace scratch(int, const shape&) { return {.each = 1}; }
};
template <class Real, class X>
void compute(reads_scratch_op, signature<Real, X> of, void* const* operands) {
  doubled(of, operands)[1] += *static_cast<const Real*>(operands[2]);
}
struct leaves_one_op : doubled_op {};
template <class Real, class X>
void compute(leaves_one_op, signature<Real, X>, void* const* operands) {
  for (std::int64_t i = 0; i + 1 < X::shape.count(); ++i)
    static_cast<Real*>(operands[0])[i] = 2 * static_cast<const Real*>(operands[1])[i];
}
struct writes_past_end_op : doubled_op {};
template <class Real, class X>
void compute(writes_past_end_op, signature<Real, X> of, void* const* operands) {
  doubled(of, operands)[X::shape.count() + 2] = 1;
}
struct writes_past_halves_op : doubled_op {
  static constexpr reading reads(int, const auto&...) { return {.numbers = reading::as_stored}; }
};
template <class Real, class X>
void compute(writes_past_halves_op, signature<Real, X>, void* const* operands) {
  const auto* x = static_cast<const kernels::taken_of<Real, X>*>(operands[1]);
  using made = kernels::sum_of<Real>;
  made* const y = static_cast<made*>(operands[0]);
  for (std::int64_t i = 0; i < X::shape.count(); ++i) y[i] = 2 * static_cast<made>(x[i]);
  if constexpr (std::is_same_v<Real, bf16>) y[X::shape.count() + 2] = 1;
}
struct writes_before_scratch_op : reads_scratch_op {};
template <class Real, class X>
void compute(writes_before_scratch_op, signature<Real, X> of, void* const* operands) {
  doubled(of, operands);
  static_cast<Real*>(operands[2])[-1] = 1;
}
struct reads_past_end_op : doubled_op {};
template <class Real, class X>
void compute(reads_past_end_op, signature<Real, X> of, void* const* operands) {
  doubled(of, operands)[0] += static_cast<const Real*>(operands[1])[X::shape.count()];
}
struct writes_argument_op : doubled_op {};
template <class Real, class X>
void compute(writes_argument_op, signature<Real, X> of, void* const* operands) {
  doubled(of, operands);
  static_cast<Real*>(operands[1])[3] = 0;
}
struct remembers_op : doubled_op {};
template <class Real, class X>
void compute(remembers_op, signature<Real, X> of, void* const* operands) {
  static int calls = 0;
  doubled(of, operands)[2] += static_cast<Real>(calls++);
}
struct counts_threads_op : doubled_op {};
template <class Real, class X>
void compute(counts_threads_op, signature<Real, X> of, void* const* operands, int threads) {
  doubled(of, operands)[0] /= static_cast<Real>(threads);
}
/// Reverses rows, which it cannot do in the memory of its argument.
struct overwrites_op : doubled_op {
  static constexpr making makes(int, int, const shape&) { return {.overwrites = 0}; }
};
template <class Real, class X>
void compute(overwrites_op, signature<Real, X>, void* const* operands) {
  constexpr std::int64_t count = X::shape.count();
  for (std::int64_t i = 0; i < count; ++i)
    static_cast<Real*>(operands[0])[i] = 2 * static_cast<const Real*>(operands[1])[count - 1 - i];
}
/// The second result is wrong if the first result is unused.
struct depends_on_reader_op : doubled_op {
  static constexpr std::array<shape, 2> result(const shape& x) { return {x, x}; }
  static constexpr auto vjp(auto g, auto h, auto, auto, auto) { return gradients(g + g + h); }
};
template <class Real, class X>
void compute(depends_on_reader_op, signature<Real, X>, void* const* operands) {
  for (std::int64_t i = 0; i < X::shape.count(); ++i) {
    const Real x = static_cast<const Real*>(operands[2])[i];
    if (operands[0] != nullptr) static_cast<Real*>(operands[0])[i] = 2 * x;
    if (operands[1] != nullptr) static_cast<Real*>(operands[1])[i] = operands[0] != nullptr ? x : -x;
  }
}
/// Ignores the function that computes the rows of a fused loop.
struct ignores_rows_op : doubled_op {
  static constexpr reading reads(int, const shape&) { return {.rows_from_loop = true}; }
};
template <class Real, class X>
void compute(ignores_rows_op, signature<Real, X> of, void* const* operands, const kernels::launch&) {
  doubled(of, operands);
}
/// Does not call the fused loop that follows.
struct ignores_followers_op : doubled_op {
  static constexpr making makes(int, int, const shape&) { return {.one_for_each_row = true}; }
  static constexpr shape result(const shape& x) { return own::rows_of(x, true); }
  static constexpr auto vjp(auto g, auto, auto x) { return gradients(g * 2_c + x * 0_c); }
};
template <class Real, class X>
void compute(ignores_followers_op, signature<Real, X>, void* const* operands, const kernels::launch&) {
  std::fill_n(static_cast<Real*>(operands[0]), X::shape.count() / X::shape[-1], Real{0});
  for (std::int64_t i = 0; i < X::shape.count(); ++i)
    static_cast<Real*>(operands[0])[i / X::shape[-1]] += 2 * static_cast<const Real*>(operands[1])[i];
}
struct mixes_rows_op : doubled_op {
  static constexpr bool keeps_rows(int, const shape&) { return true; }
};
template <class Real, class X>
void compute(mixes_rows_op, signature<Real, X> of, void* const* operands) {
  *doubled(of, operands) += static_cast<const Real*>(operands[1])[X::shape.count() - 1];
}
struct numbers_rows_op : mixes_rows_op {};
template <class Real, class X>
void compute(numbers_rows_op, signature<Real, X> of, void* const* operands) {
  doubled(of, operands)[X::shape.count() - 1] += 1;
}
struct wrong_gradient_op : doubled_op {
  static constexpr auto vjp(auto g, auto, auto) { return gradients(g * 3_c); }
};
template <class Real, class X>
void compute(wrong_gradient_op, signature<Real, X> of, void* const* operands) {
  doubled(of, operands);
}
/// The gradient rule for the case that only the first result is used is wrong.
struct wrong_first_gradient_op : doubled_op {
  static constexpr std::array<shape, 2> result(const shape& x) { return {x, x}; }
  static constexpr auto vjp(auto g, auto, auto, auto) { return gradients(g * 3_c); }
  static constexpr auto vjp(auto g, auto h, auto, auto, auto) { return gradients(g * 2_c + h); }
};
template <class Real, class X>
void compute(wrong_first_gradient_op, signature<Real, X>, void* const* operands) {
  for (std::int64_t i = 0; i < X::shape.count(); ++i) {
    const Real x = static_cast<const Real*>(operands[2])[i];
    if (operands[0] != nullptr) static_cast<Real*>(operands[0])[i] = 2 * x;
    if (operands[1] != nullptr) static_cast<Real*>(operands[1])[i] = x;
  }
}
struct crooked_op : elementwise_op {
  static constexpr fixed_string name = "crooked";
  static constexpr auto vjp(auto g, auto, auto x) { return gradients(g * x); }
};
template <class V>
V lanewise(crooked_op, V x) {
  return x * x;
}

/// A product. It returns twice the argument if both arguments have the same address.
struct depends_on_addresses_op : op {
  static constexpr fixed_string name = "depends_on_addresses";
  using rule = misuse::axes_exist;
  static constexpr shape result(const shape& x, const shape& y) { return x == y ? x : no_shape; }
  static constexpr auto vjp(auto g, auto, auto x, auto y) { return gradients(g * y, g * x); }
};
template <class Real, class X, class Y>
void compute(depends_on_addresses_op, signature<Real, X, Y>, void* const* operands) {
  const Real *x = static_cast<const Real*>(operands[1]), *y = static_cast<const Real*>(operands[2]);
  for (std::int64_t i = 0; i < X::shape.count(); ++i)
    static_cast<Real*>(operands[0])[i] = x == y ? 2 * x[i] : x[i] * y[i];
}

/// Has no kernel of its own, and counts how often a fused loop runs it.
struct counts_calls_op : elementwise_op {
  static constexpr fixed_string name = "counts_calls";
  static constexpr auto vjp(auto g, auto, auto) { return gradients(g); }
};
template <class V>
V lanewise(counts_calls_op, V x) {
  static int calls = 0;
  V y = x;
  for (int before = calls++; before > 0; --before) y = y + x;
  return y;
}
struct counts_detached_op : counts_calls_op {
  static constexpr bool detaches = true;
  static constexpr auto vjp(auto, auto, auto) { return gradients(no_gradient{}); }
};

}  // namespace broken

using namespace cairn;

namespace {

constexpr auto x = param<"x", 4, 6>;
constexpr auto apart = param_from<"apart", initial::uniform(3), 4, 6>;

/// Returns true if the message of opcheck starts with `begin` and contains `more`.
bool tells(const std::string& said, std::string_view begin, std::string_view more = {}) {
  const bool right = said.starts_with(begin) && said.find(more) != std::string::npos;
  if (!right) BOOST_TEST_MESSAGE(said);
  return right;
}
template <class Op>
std::string of_x() {
  return opcheck<Op, x>();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(operation_checks)

BOOST_AUTO_TEST_CASE(correct_operations_pass) {
  BOOST_TEST((check_operation<own::log1pexp_op, x>()));
  BOOST_TEST((check_operation<own::sine_cosine_op, x>()));
  BOOST_TEST((check_operation<own::running_sum_op<false>, x>()));
  BOOST_TEST((check_operation<own::largest_op, apart>(seed{2})));
  BOOST_TEST((check_operation<own::picked_op, x, indices<"at", 6, 4>>()));
  BOOST_TEST((check_operation<own::normalized_op, x>()));
  BOOST_TEST(
      (check_operation<cairn::lang::placed_op<0>, param<"table", 8, 5>, indices<"at", 6, 1>, param<"rows", 3, 5>>()));
  BOOST_TEST(
      (check_operation<cairn::lang::placed_op<0>, indices<"i", 9, 8>, indices<"at", 6, 1>, indices<"j", 4, 3>>()));
  BOOST_TEST((check_operation<own::flipped_op<1>, x>()));
  BOOST_TEST((check_operation<own::centered_op, x, state<"mean", initial::uniform(1), 6>>()));
}
BOOST_AUTO_TEST_CASE(arguments_of_other_types) {
  constexpr auto known = as<std::uint8_t>(indices<"known", 2, 5>);
  BOOST_TEST((check_operation<own::scored_op, param<"a", 3, 4>, param<"b", 3, 4>, input<"c", 3, 4>, indices<"i", 3, 5>,
                              indices<"j", 3, 5>, indices<"k", 3, 5>, known>()));
  BOOST_TEST((check_operation<lang::as_indices_op<6>, param_from<"at", initial::constant(5), 3, 7>>()));
  BOOST_TEST((check_operation<lang::dropout_op<0.5, true>, x, random_key<"mask">>()));
  BOOST_TEST((check_operation<lang::random_numbers_op<lang::normal_law, 3, 5>, random_key<"noise">>()));
}
BOOST_AUTO_TEST_CASE(norms_rotary_embeddings_and_scatter_adds_pass) {
  constexpr auto g = param<"g", 4, 6>;
  constexpr auto mean = param<"mean", 4, 1>;
  constexpr auto scale = param<"scale", 4, 1>;
  constexpr auto weight = param<"weight", 6>;
  BOOST_TEST((check_operation<lang::row_moments_op<1e-5>, x>()));
  BOOST_TEST((check_operation<lang::row_scale_op<1e-5>, x>()));
  BOOST_TEST((check_operation<lang::normalized_sums_op, g, x, mean, scale, weight>()));
  BOOST_TEST((check_operation<lang::scaled_sums_op, g, x, scale, weight>()));
  BOOST_TEST((check_operation<lang::normalized_slope_op, g, x, mean, scale, weight, param<"level", 4, 1>,
                              param<"tilt", 4, 1>>()));
  BOOST_TEST((check_operation<lang::times_normalized_op, g, x, mean, scale>()));
  BOOST_TEST((check_operation<lang::rotated_op<false>, param<"turned", 2, 3, 2, 4>, param<"waves", 3, 4>>()));
  BOOST_TEST((check_operation<lang::rotated_op<true>, param<"turned", 2, 3, 2, 4>, param<"waves", 2, 3, 4>>()));
  BOOST_TEST((check_operation<lang::waves_op<6, 500.0, true>, indices<"at", 100, 2, 3>>()));
  BOOST_TEST((check_operation<lang::scatter_add_op<0, 4, 3>, x, indices<"at", 4, 4>>()));
  BOOST_TEST((check_operation<lang::scatter_add_onto_op<0, 9, 3>, param<"table", 9, 6>, x, indices<"at", 9, 4>>()));
}
/// The largest score counts as a constant. This is correct if the largest score is used only together with the log of
/// the total. Therefore the gradient of their sum is checked.
BOOST_AUTO_TEST_CASE(attention_with_all_options_passes) {
  using attended = lang::attention_op<cairn::costs::attending{true, costs::masking::real, 0.3}>;
  constexpr auto q = param<"q", 1, 7, 4, 4>;
  constexpr auto k = param<"k", 1, 5, 2, 4>;
  constexpr auto v = param<"v", 1, 5, 2, 3>;
  constexpr auto added = param<"added", 7, 1>;
  constexpr auto key = random_key<"weights">;
  const auto fault_of = []<class Real, class... A>(Real, A...) {
    return cairn::detail::kernel_fault<attended, Real, A...>({1});
  };
  BOOST_TEST(fault_of(1.0F, q, k, v, added, key) == "");
  BOOST_TEST(fault_of(1.0, q, k, v, added, key) == "");
  constexpr auto loss = [=] {
    const auto [y, largest, log_total] = make<attended>(q, k, v, added, key);
    return sum(y * frozen<"of y", 1, 7, 4, 3>) + sum((largest + log_total) * frozen<"of rows", 1, 7, 4>);
  }();
  BOOST_TEST(gradcheck<loss>(seed{1}).relative < gradient_tolerance);
  BOOST_TEST((check_operation<lang::attention_gradients_op<cairn::costs::attending{true}>, param<"g", 1, 7, 4, 3>, q, k,
                              v, param<"largest", 1, 7, 4>, param<"log total", 1, 7, 4>, param<"delta", 1, 7, 4>>()));
}

BOOST_AUTO_TEST_CASE(memory_that_is_read_before_it_is_written) {
  BOOST_TEST(
      tells(of_x<broken::adds_to_result_op>(), "doubled: result 0, number 0, is ", "in the memory of its results"));
  BOOST_TEST(tells(of_x<broken::reads_scratch_op>(), "doubled: result 0, number 1, is ", "its scratch before"));
  BOOST_TEST(
      tells(of_x<broken::leaves_one_op>(), "doubled: result 0, number 23, is 0, but nan", "write all of a result"));
  BOOST_TEST(
      tells(of_x<broken::reads_past_end_op>(), "doubled: result 0, number 0, is ", "it reads past an end of one"));
}
BOOST_AUTO_TEST_CASE(writes_outside_of_results_and_scratch) {
  BOOST_TEST(of_x<broken::writes_past_end_op>() == "doubled: it writes 10 bytes past its end, of result 0");
  BOOST_TEST(of_x<broken::writes_before_scratch_op>() ==
             "doubled: it writes 1 bytes before its beginning, of its scratch");
  BOOST_TEST(of_x<broken::writes_argument_op>() == "doubled: it writes over argument 0");
}
BOOST_AUTO_TEST_CASE(kernels_that_read_or_write_bf16) {
  BOOST_TEST(tells(of_x<broken::writes_past_halves_op>(), "doubled: it writes 10 bytes past", ", in mixed<bf16>"));
  BOOST_TEST((check_operation<lang::matmul_op<false, true>, param<"a", 5, 7>, param<"b", 9, 7>>()));
  BOOST_TEST((check_operation<lang::softmax_op<-1>, param<"a", 5, 7>>()));
  constexpr auto small = param_from<"y", initial::constant(-2), 5, 7>;  // the shares exp(y) are not near 1
  BOOST_TEST((check_operation<lang::softmax_slope_op<-1, false>, param<"g", 5, 7>, small>()));
  BOOST_TEST((check_operation<lang::softmax_slope_op<0, true>, param<"g", 5, 7>, small>()));
}
BOOST_AUTO_TEST_CASE(results_that_depend_on_calls_threads_or_neighbours) {
  BOOST_TEST(tells(of_x<broken::remembers_op>(), "doubled: result 0, number 2, is ", "a second time"));
  BOOST_TEST(tells(of_x<broken::counts_threads_op>(), "doubled: result 0, number 0, is ", "on 2 threads"));
  BOOST_TEST(tells(of_x<broken::overwrites_op>(), "doubled: result 0, number 12, is ", "over the argument"));
  BOOST_TEST(tells(of_x<broken::depends_on_reader_op>(), "doubled: result 1, number 0, is ", "nobody reads result 0"));
  BOOST_TEST(tells(of_x<broken::mixes_rows_op>(), "doubled: result 0 has a row that depends on another row"));
  BOOST_TEST(tells(of_x<broken::numbers_rows_op>(), "doubled: result 0 has a row that depends on another row"));
  BOOST_TEST(tells(of_x<broken::ignores_rows_op>(), "doubled: it computes other numbers where a loop makes the rows"));
  BOOST_TEST(tells(of_x<broken::ignores_followers_op>(), "doubled: it computes other numbers where a loop follows"));
}
BOOST_AUTO_TEST_CASE(operations_without_a_kernel_or_a_gradient) {
  constexpr std::string_view twice = "it has other bits the second time";
  BOOST_TEST(tells(opcheck<broken::counts_calls_op, input<"in", 8>>(), "counts_calls: ", twice));
  BOOST_TEST(tells(opcheck<broken::counts_calls_op, frozen<"in", 8>>(), "counts_calls: ", twice));
  BOOST_TEST(tells(of_x<broken::counts_detached_op>(), "counts_calls: ", twice));
  BOOST_TEST((check_operation<own::log1pexp_op, input<"in", 8>>()));
  BOOST_TEST((check_operation<own::flipped_op<1>, input<"in", 4, 6>>()));
  BOOST_TEST((check_operation<lang::detach_op, x>()));
  BOOST_TEST((check_operation<lang::as_op<dtype::i32>, x>()));
}
BOOST_AUTO_TEST_CASE(a_wrong_gradient) {
  BOOST_TEST(tells(of_x<broken::wrong_gradient_op>(), "doubled: the gradient of x, number ", "by differences"));
  BOOST_TEST(tells(of_x<broken::wrong_first_gradient_op>(), "doubled: the gradient of x, number ",
                   "where only the first result is used"));
  BOOST_TEST(tells(of_x<broken::crooked_op>(), "crooked: the gradient of x, number ", "a deviation of 0.5"));
}

// One parameter stands for all parameters that differ only in their names.
BOOST_AUTO_TEST_CASE(one_parameter_as_several_arguments) {
  using product = broken::depends_on_addresses_op;
  BOOST_TEST(tells(opcheck<product, x, param<"y", 4, 6>>(), "depends_on_addresses: the gradient of x, number ",
                   ", where one parameter is several arguments"));
  BOOST_TEST((check_operation<product, x, apart>()));
  BOOST_TEST((check_operation<lang::mul_op, x, param<"y", 4, 6>>()));
  BOOST_TEST((check_operation<lang::where_op, indices<"at", 2, 6>, x, param<"y", 4, 6>>()));
  BOOST_TEST((check_operation<lang::matmul_op<true, false>, param<"a", 3, 3>, param<"b", 3, 3>>()));
}

BOOST_AUTO_TEST_CASE(a_failed_check_of_a_gradient_names_the_place_and_both_numbers) {
  constexpr auto loss = sum(square(x)) + sum(make<broken::crooked_op>(param_from<"w", initial::constant(3), 2>));
  const auto result = check_gradient<loss>(seed{1});
  BOOST_TEST(!result);
  const auto text = result.message();
  BOOST_TEST(tells(std::string(text.begin(), text.end()),
                   "the gradient of w, number 0: 3, but 6 by differences, a deviation of 0.5"));
  constexpr auto right = sum(square(input<"in", 3>) * param<"w", 3>);
  const std::vector<double> in{1, 2, 3};
  BOOST_TEST(check_gradient<right>(seed{1}, bind<"in">(in)));
  BOOST_TEST((check_gradient<right, wrt<"in">>(seed{1}, bind<"in">(in))));
}

BOOST_AUTO_TEST_SUITE_END()
