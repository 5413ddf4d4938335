// Programs in mixed precision, which store computed values as bf16. The tests show which values are bf16, how near the
// results come to results in floats, and which values stay floats. tests/laws/mixed.cpp checks the laws.
#include <boost/test/unit_test.hpp>
#include <cairn/cairn.hpp>
#include <cmath>
#include <vector>

using namespace cairn;

namespace {

constexpr auto images = input<"images", 48, 8, 8, 3>;
constexpr auto classes = labels<"classes", 10, 48>;
constexpr auto features = images | nn::conv2d_without_bias<"conv", 16, 3, nn::window{.padding = 1}> |
                          nn::batch_norm<"norm"> | nn::gelu | nn::avg_pool2d<2> | nn::flatten;
constexpr auto feed_forward =
    nn::residual(nn::layer_norm<"norm"> | nn::linear<"up", 128> | nn::gelu | nn::linear<"down", 64>);
constexpr auto logits = features | nn::linear<"in", 64> |
                        repeat<3, "block">([](auto) { return ckpt<"ff">(feed_forward); }) | nn::linear<"head", 10>;
constexpr auto loss = cross_entropy(logits, classes);

std::vector<float> drawn() {
  std::vector<float> x(48 * 8 * 8 * 3);
  random_sequence draw(seed{3}, 0);
  for (float& e : x) e = 2 * uniform(draw()) - 1;
  return x;
}
std::vector<std::int32_t> given_classes() {
  std::vector<std::int32_t> y(48);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = static_cast<std::int32_t>(i * 7 % 10);
  return y;
}

template <auto Model, class... Options>
inline constexpr const auto& graph_of = detail::compiled_of<Model, true, mixed<bf16>, Options...>::graph;
template <auto Model, class... Options>
inline constexpr const auto& gradient_of = detail::compiled_of<Model, true, mixed<bf16>, Options...>::gradient;

/// How many values of an operation are bf16, and how many are not. The values are the results of the operations with
/// this name, or their arguments number `Argument` if it is not -1.
struct types {
  int rounded = 0, others = 0;
  bool operator==(const types&) const = default;
};
template <int Argument = -1>
constexpr types types_of(const auto& values, std::string_view name) {
  types found;
  for (int v = 0; v < values.node_count; ++v) {
    if (values.op(v).name != name || values.nodes[v].result_index > 0) continue;
    const int of = Argument < 0 ? v : values.argument(v, Argument);
    (values.result(of).element.type == dtype::bf16 ? found.rounded : found.others) += 1;
  }
  return found;
}

constexpr const auto& g = graph_of<loss>;
constexpr const auto& d = gradient_of<loss>;
// Products take bf16 and compute floats. The floats are rounded unless they are gradients of parameters.
static_assert(types_of<0>(d, "matmul") == types{24, 0} && types_of<1>(d, "matmul") == types{24, 0});
static_assert(types_of(d, "matmul") == types{0, 24});
// A convolution rounds the floats of a filter while it packs the filter.
static_assert(types_of<0>(d, "convolution") == types{1, 0} && types_of<1>(d, "convolution") == types{0, 1});
static_assert(types_of<0>(d, "filter_gradient") == types{1, 0} && types_of<1>(d, "filter_gradient") == types{1, 0});
static_assert(types_of(d, "filter_gradient") == types{0, 1});
// Results of elementwise operations are bf16. Statistics and losses are floats.
static_assert(types_of(g, "gelu") == types{4, 0} && types_of(g, "normalized") == types{4, 0});
static_assert(types_of(g, "row_moments") == types{0, 3} && types_of(g, "moments") == types{0, 1});
static_assert(types_of(g, "cross_entropy") == types{0, 1});

// Logits, the values that are computed from logits, and the gradient of logits exist only as bf16. Rows of a table of
// floats are bf16 as well, and the gradient of the table is a sum in float. Batched products compute bf16, unless the
// result is the gradient of a parameter.
constexpr auto words = labels<"words", 300, 24>;
constexpr auto looked_up = words | nn::embedding<"wte", 16>;
constexpr auto heads = matmul(reshape<2, 12, 16>(looked_up), param<"each", 2, 16, 16>);
constexpr auto weights = softmax(matmul(heads, transpose(reshape<2, 12, 16>(looked_up))));
constexpr auto of_heads = reshape<24, 16>(matmul(weights, heads)) | nn::tied_linear<"/wte.weight", 300>;
constexpr auto of_words = cross_entropy(of_heads, words);
constexpr const auto& words_d = gradient_of<of_words>;
static_assert(types_of(words_d, "gather") == types{1, 0} && types_of<0>(words_d, "gather") == types{0, 1});
static_assert(types_of(words_d, "softmax") == types{1, 0} && types_of<0>(words_d, "softmax") == types{1, 0});
static_assert(types_of(words_d, "softmax_error") == types{1, 0} &&
              types_of<0>(words_d, "softmax_error") == types{1, 0});
static_assert(types_of<0>(words_d, "cross_entropy") == types{1, 0} &&
              types_of(words_d, "cross_entropy") == types{0, 1});
static_assert(types_of(words_d, "scatter_add_onto") == types{0, 1} &&
              types_of<0>(words_d, "scatter_add_onto") == types{0, 1} &&
              types_of<1>(words_d, "scatter_add_onto") == types{1, 0});

// An extremum is one of the numbers of its argument, so it is stored in the type of the argument. A network of maxima
// stores half the bytes.
constexpr auto halves_and_floats = sum(max<-1>(reshape<24, 8, 2>(matmul(input<"x", 24, 16>, param<"w", 16, 16>)))) +
                                   sum(square(min<0>(input<"z", 24, 16> + param<"b", 16>)));
static_assert(types_of<0>(graph_of<halves_and_floats>, "max") == types{1, 0});
static_assert(types_of<0>(graph_of<halves_and_floats>, "min") == types{0, 1});
constexpr auto maxout = layer([](auto x) { return max<-1>(reshape<64, 32, 2>(x | nn::linear<"fc", 64>)); });
constexpr auto of_maxima =
    mean(square(input<"x", 64, 32> | block<"a">(maxout) | block<"b">(maxout) | block<"c">(maxout)));
static_assert(2 * program<of_maxima, mixed<bf16>>::memory().stored_bytes <= program<of_maxima>::memory().stored_bytes);

// If a result is computed a second time in float, it draws the same random numbers again. It is one value, however
// often it is moved.
constexpr auto dropped = input<"x", 8, 12> | nn::linear<"l", 12> | nn::dropout<"drop", 0.2>;
static_assert(detail::runs<outputs(mean(square(dropped)), dropped), true, mixed<bf16>>);
constexpr auto drops = [](auto v) { return v | nn::linear<"fc", 12> | nn::dropout<"drop", 0.2>; };
static_assert(detail::runs<sum(scan<3, "t">(drops, carried(input<"x", 8, 12>))), true, mixed<bf16>>);
constexpr auto moved = reshape<64>(relu(matmul(input<"x", 8, 8>, param<"w", 8, 8>)));
constexpr auto fills = [](auto h, auto n) { return updated(tanh(h), state<"/last", initial{}, 64>, n); };
static_assert(detail::runs<mean(block<"b">(fills, block<"a">(fills, moved, moved), moved)), true, mixed<bf16>>);

// One kernel computes the gradients of three parameters, in float.
constexpr auto attended = nn::attention(param<"q", 1, 24, 2, 8>, param<"k", 1, 24, 2, 8>, param<"v", 1, 24, 2, 8>);
constexpr const auto& attending = detail::compiled_of<mean(attended), true, mixed<bf16>>::schedule;
static_assert(types_of(attending, "attention_gradients") == types{0, 1});

constexpr bool all_floats(const auto& values, const int* of, int count) {
  for (int i = 0; i < count; ++i) {
    if (of[i] != graphs::none && values.result(of[i]).element.type == dtype::bf16) return false;
  }
  return true;
}
// A concatenation of bf16 is bf16, and a convolution reads it from its pieces.
constexpr auto small = images | nn::conv2d<"a", 4, 1>;
constexpr auto other = images | nn::conv2d<"b", 4, 3, nn::window{.padding = 1}>;
constexpr auto joined = sum(concatenate<-1>(small, other) | nn::conv2d<"c", 4, 3, nn::window{.padding = 1}>);
static_assert(types_of<0>(graph_of<joined>, "concatenate") == types{1, 0});
static_assert(types_of(graph_of<joined>, "concatenate") == types{1, 0});
// Leaves, results, states and gradients are floats.
static_assert(all_floats(g, g.outputs, g.output_count) && all_floats(d, d.gradient, g.leaf_count));
static_assert([] {
  for (int i = 0; i < g.leaf_count; ++i) {
    if (g.result(g.leaves[i].node).element.type == dtype::bf16) return false;
  }
  return true;
}());

// A state takes one value, wherever the model updates the state.
constexpr auto filled = relu(matmul(input<"x", 8, 8>, param<"w", 8, 8>));
constexpr auto filling = [](auto h, auto next) { return updated(tanh(h), state<"/last", initial{}, 8, 8>, next); };
static_assert(
    program<mean(block<"b">(filling, block<"a">(filling, filled, filled), filled)), mixed<bf16>>::flops().forward > 0);

// Values that are computed only from parameters are computed once, however many bodies read them. If several operations
// read the bf16 copy of a weight, the copy is not stored from the forward pass to the backward pass.
constexpr auto scaled_by = layer([](auto h) { return h * softmax(param<"/scale", 24, 16>) | nn::linear<"fc", 16>; });
constexpr auto scaled = mean(input<"h", 24, 16> | repeat<3, "block">([](auto) { return ckpt<"s">(scaled_by); }));
static_assert(types_of(graph_of<scaled>, "softmax") == types{1, 0});
constexpr auto sharing = mean(
    input<"h", 24, 64> | repeat<3, "block">([](auto) { return ckpt<"s">(shared(nn::linear<"/fc", 64>) | nn::gelu); }));
static_assert(program<sharing, mixed<bf16>>::memory().stored_bytes == program<sharing>::memory().stored_bytes / 2);
static_assert(program<sharing, mixed<bf16>>::segments()[1].boundary_bytes ==
              program<sharing>::segments()[1].boundary_bytes / 2);

// The backward pass uses the rounded values. The float versions of results, which the user reads, do not make a segment
// store more.
constexpr auto dense = layer([](auto h) { return gelu(matmul(h, param<"w", 64, 64>) + param<"b", 64>); });
constexpr auto rows_of = input<"h", 128, 64> | repeat<3, "block">([](auto) { return ckpt<"s">(dense); });
static_assert(program<rows_of, cotangent<"v">, mixed<bf16>>::memory().stored_bytes == 2 * 128 * 64 * 2);
constexpr auto cell = [](auto h, auto x) {
  const auto next = tanh(gelu(matmul(h, param<"u", 64, 256>)) | nn::linear<"down", 64>) + x;
  return std::tuple{next, next};
};
constexpr auto steps =
    mean(square(std::get<1>(scan<4, "t">(ckpt<"c">(cell), carried(zeros<32, 64>), each(input<"xs", 4, 32, 64>)))));
static_assert(program<steps, mixed<bf16>>::memory().stored_bytes <= program<steps>::memory().stored_bytes);

// A user may ask for floats, or may round values that are computed from parameters.
constexpr auto precise = tanh(as<float>(images | nn::flatten | nn::linear<"in", 64>) * 2_c);
constexpr auto coarse = as_real(tanh(as<bf16>(param<"w", 64>)));
constexpr auto both = sum(as_real(precise) * coarse);
static_assert(types_of(graph_of<both>, "tanh") == types{1, 1});
constexpr auto precise_rows =
    as_real(softmax(matmul(as<float>(images | nn::flatten), as<float>(param<"exact", 192, 16>)) * constant<0.125>));
static_assert(types_of<0>(graph_of<sum(precise_rows)>, "matmul") == types{0, 1});
static_assert(types_of(graph_of<sum(precise_rows)>, "softmax") == types{0, 1});

constexpr double length(auto view) {
  double sum = 0;
  for (const float x : view) sum += double{x} * double{x};
  return std::sqrt(sum);
}

// A value that the user has rounded is taken as it is, also by kernels that otherwise take floats. `Typed` must compute
// the same numbers as `Again`, in which the argument is rounded once more.
constexpr auto own = param<"own", 1>;
template <auto Typed, auto Again, class... Options>
void takes_typed(const auto&... in) {
  program<sum(own)> step;
  predictor<Typed, Options...> typed{step};
  predictor<Again, Options...> again{step};
  const auto x = typed(in...), y = again(in...);
  BOOST_TEST(std::vector<float>(x.begin(), x.end()) == std::vector<float>(y.begin(), y.end()),
             boost::test_tools::per_element());
}
constexpr auto once_more = [](auto x) { return as<bf16>(as_real(x)); };

/// An operation with a moving average that becomes the new value of a state. The new value of the state stays a float.
struct moving_average_op : elementwise_op {
  static constexpr fixed_string name = "moving_average";
  static constexpr next_state becomes(int argument) { return {.result = argument == 1 ? 1 : -1}; }
  static constexpr std::array<shape, 2> result(const shape& x, const shape& m) { return {x == m ? x : no_shape, m}; }
  static constexpr auto vjp(auto g, auto of_next, auto, auto, auto, auto) {
    return gradients(g + of_next * 0.5_c, of_next * 0.5_c);
  }
};
template <class V>
inline auto lanewise(moving_average_op, V x, V m) {
  return std::array<V, 2>{x, m + (x - m) * kernels::all<V>(0.5)};
}
constexpr auto averaging =
    make<moving_average_op>(matmul(input<"x", 4, 8>, param<"w", 8, 8>), state<"mean", initial{}, 4, 8>);
constexpr auto of_average = mean(square(std::get<0>(averaging)));
/// The type of a result of the first operation with this name.
template <auto Model>
constexpr dtype type_of_result(std::string_view name, int result) {
  constexpr const auto& g = graph_of<Model>;
  int v = 0;
  while (g.op(v).name != name) ++v;
  return g.result(v + result).element.type;
}
static_assert(type_of_result<of_average>("moving_average", 0) == dtype::bf16);
static_assert(type_of_result<of_average>("moving_average", 1) == dtype::real);

}  // namespace

BOOST_AUTO_TEST_SUITE(mixed_programs)

// A rounding error is at most 2^-9, and there are about twenty roundings in sequence.
BOOST_AUTO_TEST_CASE(mixed_precision_is_near_floats) {
  program<loss, mixed<bf16>> rounded;
  program<loss> exact;
  rounded.init(seed{1});
  exact.init(seed{1});
  const auto x = drawn();
  const auto y = given_classes();
  const float one = rounded.value_and_grad(bind<"images">(x), bind<"classes">(y));
  const float two = exact.value_and_grad(bind<"images">(x), bind<"classes">(y));
  BOOST_TEST(one != two);
  BOOST_TEST(std::abs(one - two) < 0.005F * two);
  exact.for_each_gradient([&](std::string_view name, auto of_exact) {
    std::vector<float> off(of_exact.begin(), of_exact.end());
    rounded.for_each_gradient([&](std::string_view same, auto of_rounded) {
      for (std::size_t i = 0; same == name && i < off.size(); ++i) off[i] -= of_rounded.data()[i];
    });
    const double relative = length(off) / length(of_exact);
    BOOST_TEST(relative > 1e-5, name);
    BOOST_TEST(relative < 0.04, name << " is off by " << relative);
  });
}

// Results that the user reads are floats that were not rounded, although other operations read the same values as bf16.
int rounded_in(auto view) {
  int count = 0;
  for (const float x : view) count += x == static_cast<float>(bf16(x));
  return count;
}
BOOST_AUTO_TEST_CASE(results_are_floats) {
  constexpr auto product = matmul(input<"x", 64, 32>, param<"w", 32, 32>);
  constexpr auto by_element = mean(square(product * param<"s", 64, 32>));
  constexpr auto average = state<"average", initial{}, 64, 32>;
  constexpr auto averaged = updated(by_element, average, 0.7_c * average + 0.3_c * product);
  program<outputs(averaged, tanh(product), reshape<2048>(product)), mixed<bf16>> step;
  step.init(seed{1});
  auto x = drawn();
  x.resize(64 * 32);
  // After the first training step, the average is one bf16 number added to zero. Therefore there are two steps.
  step.value_and_grad(bind<"x">(x));
  const auto [loss, activations, moved] = step.value_and_grad(bind<"x">(x));
  BOOST_TEST(rounded_in(moved) < 32);
  BOOST_TEST(rounded_in(activations) < 32);
  BOOST_TEST(rounded_in(step.grad<"s">()) < 128);  // a product of two bf16 numbers
  BOOST_TEST(rounded_in(step.grad<"w">()) < 32);
  BOOST_TEST(rounded_in(step.param<"average">()) < 512);  // sums of two bf16 numbers
}
// A type that the user asks for holds for single numbers, too.
BOOST_AUTO_TEST_CASE(types_of_single_numbers) {
  constexpr auto dot = matmul(as<bf16>(input<"x", 1, 8>), as<bf16>(input<"y", 8, 1>));
  program<sum(param<"w", 1>)> step;
  std::vector<float> x = drawn();
  x.resize(8);
  predictor<dot> of_typed{step};
  const bf16 typed = of_typed(bind<"x">(x), bind<"y">(x))(0, 0);
  predictor<as_real(dot), mixed<bf16>> of_real{step};
  BOOST_TEST(of_real(bind<"x">(x), bind<"y">(x))(0, 0) == static_cast<float>(typed));
}

BOOST_AUTO_TEST_CASE(mixed_precision_stores_half_the_bytes) {
  constexpr auto wide = repeat<6, "block">([](auto) { return ckpt<"ff">(feed_forward); });
  constexpr auto of_rows = mean(square(input<"x", 512, 64> | wide));
  constexpr memory_plan rounded = program<of_rows, mixed<bf16>>::memory(), exact = program<of_rows>::memory();
  static_assert(rounded.stored_bytes * 100 <= exact.stored_bytes * 52);
  constexpr int most = multiplies_bf16 ? 55 : 62;  // other processors pack the operands of products as floats
  static_assert(rounded.peak_bytes * 100 <= exact.peak_bytes * most);
  static_assert(rounded.parameter_bytes == exact.parameter_bytes && rounded.gradient_bytes == exact.gradient_bytes);
  BOOST_TEST(rounded.stored_bytes > 0);
}

// The logits of a large vocabulary exist once, in half the bytes. Their gradient exists once, too.
BOOST_AUTO_TEST_CASE(logits_exist_once) {
  constexpr auto tokens = indices<"tokens", 50000, 512>;
  constexpr auto of_hidden = cross_entropy(param<"h", 512, 64> | nn::linear<"head", 50000>, tokens);
  constexpr auto smoothed = cross_entropy<nn::cross_entropy_options{.label_smoothing = 0.1}>(
      param<"h", 512, 64> | nn::linear<"head", 50000>, tokens);
  constexpr auto tied =
      cross_entropy(tokens | nn::embedding<"wte", 64> | nn::tied_linear<"/wte.weight", 50000>, tokens);
  constexpr std::int64_t logits = 512 * 50000 * 2, table = 50000 * 64 * 2;  // the table has a copy in bf16
  // Three hundredths are room for packed operands, which are floats on processors that do not multiply bf16.
  constexpr double most = 1.03 * static_cast<double>(logits) + table;
  static_assert(program<of_hidden, mixed<bf16>>::memory().peak_bytes < most);
  static_assert(program<smoothed, mixed<bf16>>::memory().peak_bytes < most);
  static_assert(program<tied, mixed<bf16>>::memory().peak_bytes < most);
  BOOST_TEST(most > 0);
}

// A predictor computes in float or in mixed precision, whatever the program does that it shares parameters with.
BOOST_AUTO_TEST_CASE(predictors_may_round_or_not) {
  program<loss, mixed<bf16>> rounded;
  program<loss> exact;
  rounded.init(seed{1});
  exact.init(seed{1});
  const auto x = drawn();
  const auto predicted = [&]<class... Options>(auto& step, std::type_identity<std::tuple<Options...>>) {
    predictor<logits, Options...> value{step};
    const auto y = value(bind<"images">(x));
    return std::vector<float>(y.begin(), y.end());
  };
  using round = std::type_identity<std::tuple<mixed<bf16>>>;
  using as_they_are = std::type_identity<std::tuple<>>;
  BOOST_TEST(predicted(rounded, round{}) == predicted(exact, round{}), boost::test_tools::per_element());
  BOOST_TEST(predicted(rounded, as_they_are{}) == predicted(exact, as_they_are{}), boost::test_tools::per_element());
  BOOST_TEST(predicted(rounded, round{}) != predicted(rounded, as_they_are{}));
}

// Parameters, moments and updates are floats. Updates that are a tenth of a rounding unit of bf16 add up.
BOOST_AUTO_TEST_CASE(small_updates_add_up) {
  constexpr auto w = param_from<"w", initial::constant(1), 64>;
  program<sum(w), mixed<bf16>, update<sgd_options{.lr = 0x1p-12}>> step;
  step.init(seed{1});
  for (int i = 0; i < 16; ++i) step.train();
  BOOST_TEST(step.param<"w">().data()[5] == 1 - 0x1p-8);
}

BOOST_AUTO_TEST_CASE(mixed_precision_learns_like_floats) {
  const auto x = drawn();
  const auto y = given_classes();
  const auto trained = [&]<class... Options>(std::type_identity<std::tuple<Options...>>) {
    program<loss, update<adamw_options{.lr = 3e-3}>, Options...> step;
    step.init(seed{1});
    float last = 0;
    for (int i = 0; i < 40; ++i) last = step.train(bind<"images">(x), bind<"classes">(y));
    return last;
  };
  const float rounded = trained(std::type_identity<std::tuple<mixed<bf16>>>{}),
              exact = trained(std::type_identity<std::tuple<>>{});
  BOOST_TEST(exact < 0.1F);
  BOOST_TEST(rounded < 0.1F);
}

BOOST_AUTO_TEST_CASE(values_that_the_user_rounds) {
  std::vector<float> x = drawn(), w(x.begin(), x.begin() + 108), table(x.begin(), x.begin() + 80);
  x.resize(2 * 6 * 6 * 4);
  constexpr auto image = as<bf16>(input<"x", 2, 6, 6, 4>);
  constexpr auto filter = softmax(as<bf16>(input<"w", 3, 4, 3, 3>));
  constexpr auto convolved = as_real(conv2d(image, filter));
  constexpr auto as_floats = as_real(conv2d(image, once_more(filter)));
  takes_typed<convolved, as_floats>(bind<"x">(x), bind<"w">(w));
  takes_typed<convolved, as_floats, mixed<bf16>>(bind<"x">(x), bind<"w">(w));
  constexpr auto rows = softmax(as<bf16>(input<"table", 5, 16>));
  constexpr auto at = indices<"at", 5, 7>;
  const std::vector<std::int32_t> places{4, 0, 3, 1, 1, 2, 0};
  takes_typed<as_real(gather<0>(rows, at)), as_real(gather<0>(once_more(rows), at)), mixed<bf16>>(bind<"table">(table),
                                                                                                  bind<"at">(places));
  constexpr auto doubled = [](auto h) { return h * 2_c; };
  takes_typed<as_real(scan<3, "s">(doubled, carried(rows))), as_real(scan<3, "s">(doubled, carried(once_more(rows)))),
              mixed<bf16>>(bind<"table">(table));
}

// In floats, the results have the same bits as in a program of floats.
BOOST_AUTO_TEST_CASE(floats_that_the_user_asks_for) {
  program<sum(precise_rows)> step;
  step.init(seed{1});
  predictor<precise_rows> exact{step};
  predictor<precise_rows, mixed<bf16>> mixed_with{step};
  const auto x = drawn();
  const auto y = exact(bind<"images">(x)), z = mixed_with(bind<"images">(x));
  BOOST_TEST(std::vector<float>(y.begin(), y.end()) == std::vector<float>(z.begin(), z.end()),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(new_values_of_states_are_floats) {
  std::vector<float> x = drawn();
  x.resize(32);
  const auto after = [&]<class... Options>(std::type_identity<std::tuple<Options...>>) {
    program<of_average, Options...> step;
    step.init(seed{1});
    step.value_and_grad(bind<"x">(x));
    const auto mean = step.template param<"mean">();
    return std::vector<float>(mean.begin(), mean.end());
  };
  const auto exact = after(std::type_identity<std::tuple<>>{}),
             rounded = after(std::type_identity<std::tuple<mixed<bf16>>>{});
  for (std::size_t i = 0; i < exact.size(); ++i) BOOST_TEST(std::abs(rounded[i] - exact[i]) < 0.03);
}

BOOST_AUTO_TEST_SUITE_END()
