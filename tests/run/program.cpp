// Programs and predictors, as users use them.
#include <algorithm>
#include <array>
#include <atomic>
#include <boost/hana/contains.hpp>
#include <boost/hana/for_each.hpp>
#include <boost/hana/fuse.hpp>
#include <boost/hana/length.hpp>
#include <boost/test/unit_test.hpp>
#include <cairn/cairn.hpp>
#include <cairn/named.hpp>
#include <cmath>
#include <memory>
#include <numeric>
#include <optional>
#include <ranges>
#include <span>
#include <sys/mman.h>
#include <thread>
#include <vector>
#include <xtensor/xadapt.hpp>
#include <xtensor/xtensor.hpp>
#include <xtensor/xview.hpp>

using namespace cairn;

namespace own {
/// a b + k c d, where k is an index.
struct counted_op : elementwise_op {
  static constexpr fixed_string name = "counted";
  static constexpr kind argument_kind(int i) { return i == 4 ? kind::whole : kind::real; }
  static constexpr auto vjp(auto g, auto, auto a, auto b, auto c, auto d, auto k) {
    return gradients(g * b, g * a, g * as_real(k) * d, g * as_real(k) * c, no_gradient{});
  }
};
template <class V, class Index>
V lanewise(counted_op, V a, V b, V c, V d, Index k) {
  return a * b + kernels::converted<V>(k) * c * d;
}
}  // namespace own

namespace {

template <int B>
constexpr auto x = input<"x", B, 3>;
template <int B>
constexpr auto y = labels<"y", 2, B>;
constexpr auto model =
    nn::linear<"fc1", 5> | ckpt<"s", allow_useless>(nn::tanh | nn::linear<"fc2", 4> | nn::gelu) | nn::linear<"head", 2>;
template <int B>
constexpr auto logits = x<B> | model;
template <int B>
constexpr auto loss = cross_entropy(logits<B>, y<B>);
constexpr auto first_bias = param<"fc1.bias", 5>;

using train_step = program<loss<4>>;

constexpr std::array<float, 12> numbers{1, -2, 3, 0.5, 0.25, -1, 2, 2, -3, 0, 1, 0};
constexpr std::array<std::int32_t, 4> classes{0, 1, 1, 0};

}  // namespace

BOOST_AUTO_TEST_SUITE(programs)

BOOST_AUTO_TEST_CASE(parameters_are_views_with_pytorch_names_and_layouts) {
  train_step step;
  step.init(seed{3});
  const auto w = step.param<"fc1.weight">();
  BOOST_TEST((w.shape() == std::array<std::size_t, 2>{5, 3}));
  const auto b = step.param<"head.bias">();
  BOOST_TEST((b.shape() == std::array<std::size_t, 1>{2}));
  step.param<"head.bias">()(1) = 7;
  BOOST_TEST(b(1) == 7);
}

BOOST_AUTO_TEST_CASE(a_view_is_a_range_a_span_and_an_array_of_xtensor) {
  train_step step;
  const auto w = step.param<"fc1.weight">();
  std::iota(w.begin(), w.end(), 0.0F);
  BOOST_TEST(w.size() == 15U);
  BOOST_TEST(w(0, 0) == 0);
  BOOST_TEST(w(1, 0) == 3);
  BOOST_TEST(w(4, 2) == 14);
  BOOST_TEST((std::ranges::find(step.param<"fc1.weight">(), 4.0F) == &w(1, 1)));
  BOOST_TEST(std::span(w).size() == 15U);
  const auto of_xtensor = xt::adapt(w.data(), w.shape());
  BOOST_TEST(of_xtensor(3, 1) == w(3, 1));
  BOOST_TEST((xt::view(of_xtensor, 2, xt::all()) == xt::xtensor<float, 1>{6, 7, 8}));
  const tensor_view<const float, 2> seen = w;
  BOOST_TEST(&seen(4, 2) == &w(4, 2));
  BOOST_TEST(std::ranges::equal(w | std::views::drop(12), std::array{12.0F, 13.0F, 14.0F}));
  w.fill(2);
  BOOST_TEST(std::ranges::count(w, 2.0F) == 15);
}

BOOST_AUTO_TEST_CASE(initialization_is_pytorchs_and_depends_on_the_seed) {
  program<sum(x<4> | nn::linear<"big", 4000>)> step;
  step.init(seed{3});
  const auto w = step.param<"big.weight">();
  const float bound = 1 / std::sqrt(3.0F);
  const auto [low, high] = std::ranges::minmax(w);
  BOOST_TEST(low >= -bound);
  BOOST_TEST(high <= bound);
  BOOST_TEST(low < -0.99F * bound);
  BOOST_TEST(high > 0.99F * bound);
  BOOST_TEST(std::abs(std::accumulate(w.begin(), w.end(), 0.0F) / 12000) < 0.02F);

  program<sum(x<4> | nn::linear<"big", 4000>)> again;
  again.init(seed{3});
  BOOST_TEST(std::ranges::equal(step.parameters(), again.parameters()));
  again.init(seed{4});
  BOOST_TEST(!std::ranges::equal(step.parameters(), again.parameters()));
}

// These two names have the same 32-bit hash. The parameters are drawn from two different sequences, in any order of the
// model. Parameters without such a collision are drawn as always.
BOOST_AUTO_TEST_CASE(parameters_with_equal_hashes_start_differently) {
  static_assert(cairn::detail::hash_of("costarring.weight") == cairn::detail::hash_of("liquid.weight"));
  constexpr auto big = x<4> | nn::linear<"big", 4>;
  constexpr auto first = nn::linear<"costarring", 4>;
  constexpr auto second = nn::linear<"liquid", 4>;
  program<sum(big | first | second)> step;
  program<sum(big | second | first)> turned;
  program<sum(big | first)> alone;
  program<sum(big | second)> other_alone;
  for (const std::uint64_t from : {1U, 2U}) {
    const auto start = [from](auto&... all) { (all.init(seed{from}), ...); };
    start(step, turned, alone, other_alone);
    BOOST_TEST(!std::ranges::equal(step.param<"costarring.bias">(), step.param<"liquid.bias">()));
    BOOST_TEST(std::ranges::equal(step.param<"costarring.bias">(), turned.param<"costarring.bias">()));
    BOOST_TEST(std::ranges::equal(step.param<"liquid.bias">(), turned.param<"liquid.bias">()));
    BOOST_TEST(std::ranges::equal(step.param<"big.bias">(), alone.param<"big.bias">()));
    // One of the two parameters has the same numbers as in a program without a collision.
    BOOST_TEST((std::ranges::equal(step.param<"costarring.bias">(), alone.param<"costarring.bias">()) !=
                std::ranges::equal(step.param<"liquid.bias">(), other_alone.param<"liquid.bias">())));
  }
}

// Weights and biases start by the number of inputs of one output. For transposed filters, PyTorch counts the outputs of
// one input, in each group.
BOOST_AUTO_TEST_CASE(filters_start_as_in_pytorch) {
  constexpr auto photos = input<"photos", 1, 3, 3, 24>;
  constexpr nn::window four{.groups = 4};
  program<sum(photos | nn::conv2d<"all", 400, 3>) + sum(photos | nn::conv2d<"groups", 400, 3, four>) +
          sum(photos | nn::conv_transpose2d<"up", 400, 2, four>) +
          sum(input<"rows", 1, 3, 24> | nn::conv1d<"row", 400, 3>)>
      step;
  step.init(seed{3});
  step.for_each_parameter([](std::string_view name, auto view) {
    const int fan_in = name.starts_with("all")      ? 24 * 9
                       : name.starts_with("groups") ? 6 * 9
                       : name.starts_with("up")     ? 100 * 4
                                                    : 24 * 3;
    const auto count = static_cast<double>(view.size());
    double squares = 0, most = 0;
    for (const double x : view) {
      squares += x * x * fan_in / count;
      most = std::max(most, std::abs(x) * std::sqrt(fan_in));
    }
    BOOST_TEST((most > 0.98 && most < 1 + 1e-6), name << " goes to " << most);
    const double four_deviations = 3.6 / std::sqrt(count);
    BOOST_TEST(std::abs(3 * squares - 1) < four_deviations, name << " has squares of " << squares);
  });
}

BOOST_AUTO_TEST_CASE(parameters_start_as_declared) {
  constexpr auto all = outputs(mean(param_from<"constant", initial::constant(3), 4>) +
                               mean(param_from<"normal", initial::normal(0.5), 20000>) +
                               mean(param_from<"kaiming", initial::kaiming(24), 20000>) +
                               mean(param_from<"xavier", initial::xavier(2, 4), 2, 4>));
  program<all, real<double>> step;
  step.init(seed{3});
  BOOST_TEST(std::ranges::count(step.param<"constant">(), 3.0) == 4);
  const auto normal = step.param<"normal">(), kaiming = step.param<"kaiming">();
  const auto moment = [](const auto& numbers, int n) {
    double sum = 0;
    for (const double x : numbers) sum += std::pow(x, n);
    return sum / 20000;
  };
  // Each bound is four deviations of the mean of 20000 numbers.
  BOOST_TEST(std::abs(moment(normal, 1)) < 0.015);
  BOOST_TEST(std::abs(moment(normal, 2) - 0.25) < 0.01);
  BOOST_TEST(std::abs(moment(normal, 3)) < 0.014);
  BOOST_TEST(std::abs(moment(normal, 4) - 3 / 16.0) < 0.018);
  BOOST_TEST(std::ranges::max(kaiming) < 0.5);  // sqrt(6 / 24)
  BOOST_TEST(std::ranges::max(kaiming) > 0.499);
  BOOST_TEST(std::abs(moment(kaiming, 2) - 0.25 / 3) < 0.003);
  BOOST_TEST(std::ranges::max(step.param<"xavier">()) < 1);  // sqrt(6 / 6)
  program<mean(param<"alone", 20000 / 4, 4>), real<double>> unsaid;
  unsaid.init(seed{3});
  const auto alone = unsaid.param<"alone">();
  BOOST_TEST(std::ranges::max(alone) < 0.5);  // 1 / sqrt(4)
  BOOST_TEST(std::abs(moment(alone, 2) - 0.25 / 3) < 0.003);
}

// The row for padding is zero, which is the last row here. All other rows are drawn as without padding.
BOOST_AUTO_TEST_CASE(rows_of_embeddings_start_as_declared) {
  constexpr nn::embedding_options plainly{.start = initial::normal(0.02)};
  constexpr nn::embedding_options padded{.padding_idx = -1, .start = plainly.start};
  program<mean(arange<3> | nn::embedding<"e", 9, plainly>)> step;
  program<mean(arange<3> | nn::embedding<"e", 9, padded>)> with_padding;
  program<mean(param_from<"e.weight", initial{.fill = 2, .zero_row = 0}, 3, 9>)> constant;
  step.init(seed{3});
  with_padding.init(seed{3});
  constant.init(seed{3});
  const auto rows = step.param<"e.weight">(), but_last = with_padding.param<"e.weight">();
  BOOST_TEST(std::ranges::max(rows) < 0.1);
  BOOST_TEST(std::ranges::max(rows) > 0.02);
  for (std::size_t i = 0; i < 27; ++i) {
    BOOST_TEST(but_last.data()[i] == (i < 18 ? rows.data()[i] : 0));
    BOOST_TEST(constant.param<"e.weight">().data()[i] == (i < 9 ? 0 : 2));
  }
}

// An embedding and a head share one matrix. The head does not say how the matrix starts. The order of the two does not
// matter.
BOOST_AUTO_TEST_CASE(a_parameter_read_by_its_path_starts_as_in_its_layer) {
  constexpr auto embedding = param_from<"wte.weight", initial::normal(0.02), 6, 3>;
  constexpr auto tied = matmul(x<4>, transpose(param<"/wte.weight", 6, 3>));
  program<outputs(mean(tied) + mean(embedding))> head_first;
  program<outputs(mean(embedding) + mean(tied) + mean(x<4> | nn::linear<"head", 5>) + mean(param<"head.bias", 5>))>
      last;
  program<mean(embedding)> alone;
  head_first.init(seed{3});
  last.init(seed{3});
  alone.init(seed{3});
  BOOST_TEST(std::ranges::equal(head_first.param<"wte.weight">(), alone.param<"wte.weight">()));
  BOOST_TEST(std::ranges::equal(last.param<"wte.weight">(), alone.param<"wte.weight">()));
  BOOST_TEST(std::ranges::max(last.param<"head.bias">()) > 1 / std::sqrt(5.0F));  // as in the layer with 3 inputs
}

BOOST_AUTO_TEST_CASE(blocks_start_at_64_bytes_and_padding_is_zero) {
  train_step step;
  step.init(seed{3});
  static_cast<void>(step.value_and_grad(bind<"x">(numbers), bind<"y">(classes)));
  BOOST_TEST(reinterpret_cast<std::uintptr_t>(step.parameters().data()) % 64 == 0U);
  BOOST_TEST(reinterpret_cast<std::uintptr_t>(step.gradients().data()) % 64 == 0U);
  BOOST_TEST(reinterpret_cast<std::uintptr_t>(step.param<"head.bias">().data()) % 64 == 0U);
  std::vector<bool> trained(step.parameters().size());
  step.for_each_trained([&](std::size_t i) { trained[i] = true; });
  BOOST_TEST(std::ranges::count(trained, true) == 5 * 3 + 5 + 4 * 5 + 4 + 2 * 4 + 2);
  for (std::size_t i = 0; i < trained.size(); ++i) {
    if (trained[i]) continue;
    BOOST_TEST(step.parameters()[i] == 0);
    BOOST_TEST(step.gradients()[i] == 0);
  }
}

BOOST_AUTO_TEST_CASE(all_kinds_of_arrays_can_be_bound) {
  train_step step;
  step.init(seed{3});
  const float expected = step.value_and_grad(bind<"x">(numbers), bind<"y">(classes));
  BOOST_TEST(std::isfinite(expected));

  float plain_array[4][3];
  std::ranges::copy(numbers, &plain_array[0][0]);
  const std::vector<float> vector(numbers.begin(), numbers.end());
  const std::vector<std::int32_t> class_vector(classes.begin(), classes.end());
  xt::xtensor<float, 2> tensor = xt::zeros<float>({4, 3});
  std::ranges::copy(numbers, tensor.begin());
  xt::xtensor<float, 2> larger = xt::zeros<float>({6, 3});
  std::ranges::copy(numbers, larger.begin() + 3);

  BOOST_TEST(step.value_and_grad(bind<"x">(plain_array), bind<"y">(classes)) == expected);
  BOOST_TEST(step.value_and_grad(bind<"y">(class_vector), bind<"x">(vector)) == expected);
  BOOST_TEST(step.value_and_grad(bind<"x">(std::span(vector)), bind<"y">(std::span<const std::int32_t, 4>(classes))) ==
             expected);
  BOOST_TEST(step.value_and_grad(bind<"x">(tensor), bind<"y">(classes)) == expected);
  const tensor_view view(numbers.data(), std::array<std::size_t, 2>{4, 3});
  BOOST_TEST(step.value_and_grad(bind<"x">(view), bind<"y">(classes)) == expected);
  const auto rows = xt::view(larger, xt::range(1, 5), xt::all());
  BOOST_TEST(step.value_and_grad(bind<"x">(rows), bind<"y">(classes)) == expected);
}

// The bound array is stored in a variable, copied and moved before other numbers overwrite the memory of the temporary.
BOOST_AUTO_TEST_CASE(bind_keeps_temporary_containers_but_not_arrays_of_others) {
  train_step step;
  step.init(seed{3});
  const float expected = step.value_and_grad(bind<"x">(numbers), bind<"y">(classes));
  const auto passes = [&](auto bound) {
    const auto copied = bound;
    const auto moved = std::move(bound);
    const std::vector<float> noise(12, 100), more(12, -100);
    return step.value_and_grad(copied, bind<"y">(classes)) == expected &&
           step.value_and_grad(moved, bind<"y">(classes)) == expected;
  };
  std::vector<float> vector(numbers.begin(), numbers.end());
  const auto fresh = [&] { return vector; };
  const auto unchangeable = [&]() -> const std::vector<float> { return vector; };
  const auto of_xtensor = [&] {
    xt::xtensor<float, 2> tensor = xt::zeros<float>({4, 3});
    std::ranges::copy(numbers, tensor.begin());
    return tensor;
  };
  const auto array = [] { return numbers; };
  const auto from_vector = bind<"x">(fresh());
  const auto from_constant = bind<"x">(unchangeable());
  const auto from_tensor = bind<"x">(of_xtensor());
  const auto from_array = bind<"x">(array());
  BOOST_TEST(passes(from_vector));
  BOOST_TEST(passes(from_constant));
  BOOST_TEST(passes(from_tensor));
  BOOST_TEST(passes(from_array));
  const auto of_vector = bind<"x">(vector);
  const auto of_span = bind<"x">(std::span<const float>(vector));
  const auto of_view = bind<"x">(tensor_view(vector.data(), std::array<std::size_t, 2>{4, 3}));
  BOOST_TEST(passes(of_vector));
  vector[0] += 1;
  BOOST_TEST(!passes(of_vector));
  BOOST_TEST(!passes(of_span));
  BOOST_TEST(!passes(of_view));
}

BOOST_AUTO_TEST_CASE(wrong_input_throws_and_changes_nothing) {
  train_step step;
  step.init(seed{3});
  const float expected = step.value_and_grad(bind<"x">(numbers), bind<"y">(classes));
  const std::vector<float> parameters(step.parameters().begin(), step.parameters().end());
  const std::vector<float> gradients(step.gradients().begin(), step.gradients().end());

  const std::vector<float> short_array(11);
  BOOST_CHECK_EXCEPTION(
      static_cast<void>(step.value_and_grad(bind<"x">(short_array), bind<"y">(classes))), extent_error,
      [](const extent_error& e) { return e.input == "x" && e.expected == "{4, 3}" && e.actual == "{11}"; });
  const std::span<const float> of_too_many(short_array.data(), (std::size_t{1} << 32) + 12);
  BOOST_CHECK_THROW(static_cast<void>(step.value_and_grad(bind<"x">(of_too_many), bind<"y">(classes))), extent_error);
  const xt::xtensor<float, 2> turned = xt::zeros<float>({3, 4});
  BOOST_CHECK_THROW(static_cast<void>(step.value_and_grad(bind<"x">(turned), bind<"y">(classes))), extent_error);
  const tensor_view turned_view(numbers.data(), std::array<std::size_t, 2>{3, 4});
  BOOST_CHECK_THROW(static_cast<void>(step.value_and_grad(bind<"x">(turned_view), bind<"y">(classes))), extent_error);
  const xt::xtensor<float, 2> wide = xt::zeros<float>({4, 6});
  const auto columns = xt::view(wide, xt::all(), xt::range(0, 3));
  BOOST_CHECK_THROW(static_cast<void>(step.value_and_grad(bind<"x">(columns), bind<"y">(classes))), extent_error);

  for (const std::int32_t bad : {-1, 2}) {
    const std::array<std::int32_t, 4> wrong{0, 1, bad, 0};
    BOOST_CHECK_EXCEPTION(
        static_cast<void>(step.value_and_grad(bind<"x">(numbers), bind<"y">(wrong))), label_error,
        [&](const label_error& e) { return e.input == "y" && e.index == 2 && e.expected == 2 && e.actual == bad; });
  }
  const float* const nowhere = nullptr;
  const auto refused = [](const extent_error& e) {
    return e.what() == std::string("cairn: input 'x': expected an address, got null");
  };
  BOOST_CHECK_EXCEPTION(static_cast<void>(step.value_and_grad(bind<"x">(std::span(nowhere, 12)), bind<"y">(classes))),
                        extent_error, refused);
  BOOST_CHECK_EXCEPTION(
      static_cast<void>(step.value_and_grad(bind<"x">(std::span<const float, 12>(nowhere, 12)), bind<"y">(classes))),
      extent_error, refused);
  BOOST_CHECK_THROW(step.set(bind<"head.bias">(std::span(nowhere, 2))), extent_error);
  BOOST_TEST(std::ranges::equal(step.parameters(), parameters));
  BOOST_TEST(std::ranges::equal(step.gradients(), gradients));
  BOOST_TEST(step.value_and_grad(bind<"x">(numbers), bind<"y">(classes)) == expected);
}

// Memory that a training step writes cannot be its input. This is the memory of results, gradients and states, and of
// parameters if the training step updates them.
BOOST_AUTO_TEST_CASE(an_input_that_the_step_writes_is_refused) {
  constexpr auto in = input<"in", 4, 3>;
  constexpr auto w = param<"w", 4, 3>;
  constexpr auto past = state<"past", initial{}, 4, 3>;
  constexpr auto y = nn::tanh(in * w);
  constexpr auto trained = outputs(mean(square(updated(y, past, y))), y);
  program<trained> step, twin;
  step.init(seed{3});
  twin.init(seed{3});
  predictor<y> predict{step};
  const auto is_refused = [](const extent_error& e) {
    return e.what() == std::string(
                           "cairn: input 'in': expected an array that the step does not write, got a result of "
                           "an earlier step or other memory of this program or predictor; copy it first");
  };
  const auto refuses = [&](auto& of, const auto& array) {
    BOOST_CHECK_EXCEPTION(static_cast<void>(of(bind<"in">(array))), extent_error, is_refused);
  };
  auto steps = [&](const auto& bound) { return step.value_and_grad(bound); };
  const auto predicted = predict(bind<"in">(numbers));
  refuses(predict, predicted);
  refuses(predict, std::span(predicted.data() - 1, 12));
  const auto [loss, result] = steps(bind<"in">(numbers));
  refuses(steps, result);
  refuses(steps, step.grad<"w">());
  refuses(steps, step.param<"past">());
  BOOST_TEST(step.random().step == 1U);
  // Results of other programs, copies, and parameters that do not change may be inputs.
  const std::vector<float> copy(predicted.begin(), predicted.end());
  static_cast<void>(twin.value_and_grad(bind<"in">(numbers)));
  BOOST_TEST(std::get<0>(steps(bind<"in">(predicted))) == std::get<0>(twin.value_and_grad(bind<"in">(copy))));
  const std::vector<float> weights(step.param<"w">().begin(), step.param<"w">().end());
  const auto expected = twin.value_and_grad(bind<"in">(weights));
  BOOST_TEST(std::get<0>(steps(bind<"in">(step.param<"w">()))) == std::get<0>(expected));
  BOOST_TEST(std::ranges::equal(step.gradients(), twin.gradients()));
  program<trained, update<sgd_options{}>> updating;
  updating.init(seed{3});
  auto trains = [&](const auto& bound) { return updating.train({.lr = 0.1}, bound); };
  refuses(trains, updating.param<"w">());
}
BOOST_AUTO_TEST_CASE(a_result_lies_in_memory_of_the_program) {
  constexpr auto in = input<"in", 4, 3>;
  constexpr auto at = indices<"at", 9, 2>;
  constexpr auto w = param<"w", 3>;
  program<outputs(sum(in * w), in, reshape<6, 2>(in), at, w)> step;
  step.init(seed{3});
  const auto [l, same, shaped, places, weights] =
      step.value_and_grad(bind<"in">(std::vector<float>(numbers.begin(), numbers.end())), bind<"at">(std::array{3, 8}));
  BOOST_TEST(std::ranges::equal(same, numbers));
  BOOST_TEST(std::ranges::equal(shaped, numbers));
  BOOST_TEST(std::ranges::equal(places, std::array{3, 8}));
  const auto in_arena = [&](const void* p) { return p >= step.arena().data() && p < &step.arena().back(); };
  BOOST_TEST((in_arena(same.data()) && in_arena(shaped.data()) && in_arena(places.data())));
  BOOST_TEST(weights.data() == step.param<"w">().data());
  static_assert(std::is_same_v<decltype(weights.data()), const float*>);
  static_assert(std::is_same_v<decltype(same.data()), float*>);
}

// 2^31 numbers take no memory if nothing is written. All numbers are zero except the last, which is in the only row
// that is read.
BOOST_AUTO_TEST_CASE(arrays_may_have_more_elements_than_an_int_can_count) {
  constexpr auto last_row = sum(slice<0, 65535, 65536>(input<"x", 65536, 32768>)) * param<"w">;
  constexpr std::size_t count = std::size_t{1} << 31, bytes = (count + 8) * sizeof(float);
  void* const memory =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  BOOST_REQUIRE(memory != MAP_FAILED);
  float* const numbers = static_cast<float*>(memory);
  numbers[count - 1] = 3;
  program<last_row> step;
  step.init(seed{1});
  step.param<"w">()() = 2;
  BOOST_TEST(step.value_and_grad(bind<"x">(std::span(numbers, count))) == 6);
  BOOST_TEST(step.value_and_grad(bind<"x">(std::span<const float, count>(numbers, count))) == 6);
  BOOST_CHECK_EXCEPTION(step.value_and_grad(bind<"x">(std::span(numbers, count + 8))), extent_error,
                        [](const auto& e) { return e.expected == "{65536, 32768}" && e.actual == "{2147483656}"; });
  // 2^32 more elements, which a count of 32 bits would not notice.
  BOOST_CHECK_THROW(step.value_and_grad(bind<"x">(std::span(numbers, 3 * count))), extent_error);
  ::munmap(memory, bytes);
}

BOOST_AUTO_TEST_CASE(outputs_come_as_a_tuple) {
  constexpr auto out = outputs(loss<4>, accuracy(logits<4>, y<4>), logits<4>);
  program<out> step;
  train_step single;
  step.init(seed{3});
  single.init(seed{3});
  auto [l, a, z] = step.value_and_grad(bind<"x">(numbers), bind<"y">(classes));
  BOOST_TEST(l == single.value_and_grad(bind<"x">(numbers), bind<"y">(classes)));
  BOOST_TEST(z.shape()[0] == 4U);
  BOOST_TEST(z.shape()[1] == 2U);
  float right = 0;
  for (std::size_t i = 0; i < 4; ++i) right += (z(i, 1) > z(i, 0)) == (classes[i] == 1) ? 0.25F : 0;
  BOOST_TEST(a == right);
  BOOST_TEST(std::ranges::equal(step.gradients(), single.gradients()));
}

BOOST_AUTO_TEST_CASE(a_predictor_shares_parameters_in_any_batch_size) {
  train_step step;
  step.init(seed{3});
  predictor<logits<4>> of_four{step};
  predictor<logits<1>> of_one{step};
  predictor<loss<4>> validation{step};
  const float trained = step.value_and_grad(bind<"x">(numbers), bind<"y">(classes));
  BOOST_TEST(validation(bind<"x">(numbers), bind<"y">(classes)) == trained);
  const auto all = of_four(bind<"x">(numbers));
  for (std::size_t i = 0; i < 4; ++i) {
    const auto row = of_one(bind<"x">(std::span<const float, 3>(&numbers[3 * i], 3)));
    BOOST_TEST(std::abs(row(0, 0) - all(i, 0)) < 1e-6F);
  }
  step.param<"head.bias">()(0) += 1;
  const float before = all(2, 0);
  BOOST_TEST(std::abs(of_four(bind<"x">(numbers))(2, 0) - before - 1) < 1e-5F);
}

BOOST_AUTO_TEST_CASE(frozen_parameters_have_no_gradient_and_are_not_updated) {
  program<loss<4>, freeze<"fc1">> step;
  train_step free;
  step.init(seed{3});
  free.init(seed{3});
  static_cast<void>(step.value_and_grad(bind<"x">(numbers), bind<"y">(classes)));
  static_cast<void>(free.value_and_grad(bind<"x">(numbers), bind<"y">(classes)));
  BOOST_TEST(std::ranges::equal(step.grad<"head.weight">(), free.grad<"head.weight">()));
  BOOST_TEST(std::ranges::equal(step.grad<"fc2.weight">(), free.grad<"fc2.weight">()));
  BOOST_TEST(step.parameters().size() + 64 / 4 * (1 + 1) <= free.parameters().size());
  const std::vector<float> before(step.param<"fc1.weight">().begin(), step.param<"fc1.weight">().end());
  adamw optimizer{step, {.lr = 0.1, .weight_decay = 0.5}};
  optimizer.update();
  BOOST_TEST(std::ranges::equal(step.param<"fc1.weight">(), before));
  static_assert(program<loss<4>, freeze<"fc1">>::flops().backward < train_step::flops().backward);
}

BOOST_AUTO_TEST_CASE(double_and_float_agree) {
  program<loss<4>, real<double>> precise;
  train_step step;
  precise.init(seed{3});
  step.init(seed{3});
  const std::vector<double> doubles(numbers.begin(), numbers.end());
  const double expected = precise.value_and_grad(bind<"x">(doubles), bind<"y">(classes));
  BOOST_TEST(std::abs(expected - static_cast<double>(step.value_and_grad(bind<"x">(numbers), bind<"y">(classes)))) <
             1e-6);
}

BOOST_AUTO_TEST_CASE(two_parameters_with_the_same_gradient) {
  // Both gradients are the same node. One is computed in place, and the other is copied.
  program<sum(param<"a", 5> + param<"b", 5>)> step;
  step.init(seed{1});
  static_cast<void>(step.value_and_grad());
  for (float g : step.grad<"a">()) BOOST_TEST(g == 1);
  for (float g : step.grad<"b">()) BOOST_TEST(g == 1);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(memory_of_the_caller)

constexpr std::size_t needed = static_cast<std::size_t>(train_step::memory().total_bytes());

BOOST_AUTO_TEST_CASE(a_program_stays_within_the_memory_of_the_caller) {
  constexpr std::size_t guard = 256;
  alignas(64) static std::byte memory[guard + needed + guard];
  std::ranges::fill(memory, std::byte{0xee});
  train_step own;
  train_step step{std::span(memory).subspan(guard, needed)};
  step.init(seed{3});
  own.init(seed{3});
  for (int i = 0; i < 2; ++i) {
    BOOST_TEST(step.value_and_grad(bind<"x">(numbers), bind<"y">(classes)) ==
               own.value_and_grad(bind<"x">(numbers), bind<"y">(classes)));
  }
  BOOST_TEST(std::ranges::equal(step.gradients(), own.gradients()));
  BOOST_TEST(reinterpret_cast<std::byte*>(step.parameters().data()) == memory + guard);
  for (std::size_t i = 0; i < guard; ++i) {
    BOOST_TEST((memory[i] == std::byte{0xee} && memory[guard + needed + i] == std::byte{0xee}));
  }
}

BOOST_AUTO_TEST_CASE(too_little_or_misaligned_memory_is_left_alone) {
  alignas(64) static std::byte memory[needed + 64];
  std::ranges::fill(memory, std::byte{0xee});
  BOOST_CHECK_EXCEPTION(train_step{std::span(memory).first(needed - 1)}, memory_error,
                        [](const memory_error& e) { return e.expected == needed && e.actual == needed - 1; });
  BOOST_CHECK_EXCEPTION(train_step{std::span(memory).subspan(4)}, memory_error,
                        [](const memory_error& e) { return e.expected == 0 && e.actual == 4; });
  BOOST_TEST(std::ranges::count(memory, std::byte{0xee}) == std::ssize(memory));
  std::byte* const nowhere = nullptr;
  BOOST_CHECK_EXCEPTION((train_step{std::span(nowhere, needed)}), memory_error,
                        [](const memory_error& e) { return e.expected == needed && e.actual == 0; });
  BOOST_CHECK_EXCEPTION(train_step{std::span<std::byte>{}}, memory_error,
                        [](const memory_error& e) { return e.expected == needed && e.actual == 0; });
  train_step step;
  BOOST_CHECK_THROW((predictor<logits<4>>{step, std::span(memory).subspan(1)}), memory_error);
  step.init(seed{3});
  predictor<first_bias> of_none{step, std::span<std::byte>{}};  // the result is a parameter
  BOOST_TEST(of_none()(4) == step.param<"fc1.bias">()(4));
}

BOOST_AUTO_TEST_CASE(a_predictor_uses_memory_of_the_caller) {
  alignas(64) static std::byte memory[predictor<logits<4>>::memory().peak_bytes];
  train_step step;
  step.init(seed{3});
  predictor<logits<4>> own{step}, given{step, memory};
  BOOST_TEST(std::ranges::equal(own(bind<"x">(numbers)), given(bind<"x">(numbers))));
}

BOOST_AUTO_TEST_CASE(a_predictor_refuses_memory_in_which_its_program_stores_numbers) {
  alignas(64) static std::byte memory[needed];
  train_step step{memory};
  step.init(seed{3});
  constexpr std::size_t wanted = predictor<logits<4>>::memory().peak_bytes;
  const std::vector<float> before(step.parameters().begin(), step.parameters().end());
  BOOST_CHECK_EXCEPTION((predictor<logits<4>>{step, memory}), memory_error, [](const memory_error& e) {
    return std::string_view(e.what()).starts_with("cairn: bytes of memory that the program or predictor already uses");
  });
  BOOST_CHECK_THROW((predictor<logits<4>>{step, std::as_writable_bytes(step.gradients())}), memory_error);
  BOOST_TEST(std::ranges::equal(step.parameters(), before));
  // The arena is free between training steps.
  static_assert(train_step::memory().peak_bytes >= wanted);
  predictor<logits<4>> own{step}, given{step, step.arena()};
  BOOST_TEST(std::ranges::equal(own(bind<"x">(numbers)), given(bind<"x">(numbers))));
}

// Two programs use the same memory in sequence. A predictor of the first program is not a predictor of the second.
BOOST_AUTO_TEST_CASE(the_end_of_a_program_in_memory_of_the_caller_is_noticed) {
  alignas(64) static std::byte memory[needed], of_predictor[predictor<logits<4>>::memory().peak_bytes];
  std::optional<train_step> step(std::in_place, memory);
  step->init(seed{3});
  predictor<logits<4>> first{*step}, second{*step};
  sgd plainly{*step, {.lr = 1}};
  adamw optimizer{*step};
  predictor<logits<4>> third{*step, of_predictor};
  for (auto* each : {&first, &second, &third}) static_cast<void>((*each)(bind<"x">(numbers)));
  optimizer.update();
  step.emplace(memory);
  step->init(seed{4});
  for (auto* each : {&first, &second, &third})
    BOOST_CHECK_THROW(static_cast<void>((*each)(bind<"x">(numbers))), program_error);
  BOOST_CHECK_THROW(optimizer.update(), program_error);
  predictor<logits<4>> fourth{*step};
  static_cast<void>(fourth(bind<"x">(numbers)));
}

BOOST_AUTO_TEST_CASE(parameters_are_set_completely_or_not_at_all) {
  train_step step;
  step.init(seed{3});
  const std::vector<float> before(step.parameters().begin(), step.parameters().end());
  const std::array<float, 5> bias{1, 2, 3, 4, 5};
  const std::vector<float> wrong(8);
  BOOST_CHECK_EXCEPTION(step.set(bind<"fc1.bias">(bias), bind<"head.weight">(xt::xtensor<float, 2>({4, 2}))),
                        extent_error, [](const extent_error& e) {
                          return e.what() == std::string("cairn: parameter 'head.weight': expected {2, 4}, got {4, 2}");
                        });
  BOOST_TEST(std::ranges::equal(step.parameters(), before));
  step.set(bind<"fc1.bias">(bias), bind<"head.weight">(wrong));
  BOOST_TEST(std::ranges::equal(step.param<"fc1.bias">(), bias));
  BOOST_TEST(std::ranges::count(step.param<"head.weight">(), 0.0F) == 8);
}
BOOST_AUTO_TEST_CASE(set_refuses_to_exchange_parameters_through_views) {
  program<sum(param<"a", 3> * param<"b", 3>)> step;
  step.init(seed{3});
  const std::vector<float> a(step.param<"a">().begin(), step.param<"a">().end());
  BOOST_CHECK_EXCEPTION(step.set(bind<"a">(step.param<"b">()), bind<"b">(step.param<"a">())), extent_error,
                        [](const extent_error& e) { return e.input == "a"; });
  BOOST_TEST(std::ranges::equal(step.param<"a">(), a));
  step.set(bind<"a">(step.param<"a">()), bind<"b">(std::array<float, 3>{}));
  step.set(bind<"b">(step.param<"a">()));
  BOOST_TEST(std::ranges::equal(step.param<"b">(), a));
}

BOOST_AUTO_TEST_CASE(parameters_and_gradients_can_be_visited_by_name) {
  constexpr auto h = nn::batch_norm<"bn">(x<4> | nn::linear<"fc", 5>) * frozen<"scale", 5>;
  program<cross_entropy(h | nn::linear<"head", 2>, y<4>), freeze<"fc">, wrt<"x">> step;
  step.init(seed{3});
  static_cast<void>(step.value_and_grad(bind<"x">(numbers), bind<"y">(classes)));
  std::vector<std::string> names;
  std::size_t count = 0;
  step.for_each_parameter([&](std::string_view name, auto view) {
    names.emplace_back(name);
    count += view.size();
    view.fill(static_cast<float>(names.size()));
  });
  BOOST_TEST(names == (std::vector<std::string>{"fc.weight", "fc.bias", "bn.running_mean", "bn.running_var",
                                                "bn.weight", "bn.bias", "scale", "head.weight", "head.bias"}),
             boost::test_tools::per_element());
  BOOST_TEST(count == 5 * 3 + 6 * 5 + 5 * 2 + 2U);
  BOOST_TEST(step.param<"scale">()(2) == 7);
  names.clear();
  step.for_each_gradient([&](std::string_view name, auto view) {
    names.emplace_back(name);
    if (name == "head.weight") BOOST_TEST(view.data() == step.grad<"head.weight">().data());
  });
  BOOST_TEST(names == (std::vector<std::string>{"x", "bn.weight", "bn.bias", "head.weight", "head.bias"}),
             boost::test_tools::per_element());
}

// Parameters and gradients are also maps. Their names and shapes are constants.
BOOST_AUTO_TEST_CASE(parameters_and_gradients_are_maps_from_names) {
  namespace hana = boost::hana;
  constexpr auto h = nn::batch_norm<"bn">(x<4> | nn::linear<"fc", 5>);
  program<cross_entropy(h | nn::linear<"head", 2>, y<4>), freeze<"fc">, wrt<"x">> step;
  step.init(seed{3});
  static_cast<void>(step.value_and_grad(bind<"x">(numbers), bind<"y">(classes)));
  const auto parameters = named_parameters(step);
  const auto gradients = named_gradients(step);
  static_assert(hana::length(parameters) == hana::size_c<8> && hana::length(gradients) == hana::size_c<5>);
  const auto weight = parameters[BOOST_HANA_STRING("head.weight")];
  static_assert(decltype(weight)::extents == shape{2, 5});
  BOOST_TEST(weight.data() == step.param<"head.weight">().data());
  BOOST_TEST(gradients[BOOST_HANA_STRING("x")].data() == step.grad<"x">().data());
  constexpr auto frozen_weight = BOOST_HANA_STRING("fc.weight");
  static_assert(!decltype(hana::contains(gradients, frozen_weight))::value);
  std::vector<std::string> matrices;
  hana::for_each(parameters, hana::fuse([&](auto name, auto view) {
                   if constexpr (decltype(view)::extents.rank == 2) matrices.emplace_back(name.c_str());
                 }));
  BOOST_TEST(matrices == (std::vector<std::string>{"fc.weight", "head.weight"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_step_without_initialized_parameters_is_refused) {
  train_step step;
  adamw optimizer{step};  // to know the parameters does not count as writing them
  const auto run = [](auto& of) { static_cast<void>(of.value_and_grad(bind<"x">(numbers), bind<"y">(classes))); };
  const auto is_unwritten = [](const program_error& e) {
    return e.what() ==
           std::string("cairn: some or all parameters were neither initialized nor written; call init(seed{1})");
  };
  const auto fill = [](auto& of) {
    of.for_each_parameter([](std::string_view, auto view) { std::ranges::fill(view, 0); });
  };
  BOOST_CHECK_EXCEPTION(run(step), program_error, is_unwritten);
  step.parameters()[3] = 1;
  BOOST_CHECK_EXCEPTION(run(step), program_error, is_unwritten);
  train_step by_view, by_set, by_init;
  fill(by_view);
  run(by_view);
  by_set.set(bind<"head.bias">(std::array<float, 2>{}));
  BOOST_CHECK_EXCEPTION(run(by_set), program_error, is_unwritten);
  const auto set_like = [&]<fixed_string... Name>() { by_set.set(bind<Name>(by_view.param<Name>())...); };
  set_like.operator()<"fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias", "head.weight">();
  run(by_set);
  by_init.init(seed{1});
  run(by_init);
  // Reading the parameters does not count as writing them either.
  train_step read;
  BOOST_TEST(read.param<"head.bias">()(1) == 0);
  read.for_each_parameter(
      [](std::string_view, auto view) { BOOST_TEST(std::ranges::count(view, 0) == std::ssize(view)); });
  const train_step& seen = read;
  static_assert(std::same_as<decltype(seen.param<"head.bias">()), static_view<const float, shape{2}>>);
  static_assert(std::same_as<decltype(seen.grad<"head.bias">()), static_view<const float, shape{2}>>);
  BOOST_TEST(seen.param<"head.bias">().data() == read.param<"head.bias">().data());
  BOOST_TEST(seen.parameters().data() == read.parameters().data());
  BOOST_TEST(seen.gradients().data() == read.gradients().data());
  BOOST_CHECK_THROW(run(read), program_error);
  predictor<logits<4>> predict{read};
  for (int i = 0; i < 2; ++i) {
    BOOST_CHECK_EXCEPTION(static_cast<void>(predict(bind<"x">(numbers))), program_error, is_unwritten);
    read.param<"head.bias">().fill(0);
  }
  fill(read);
  static_cast<void>(predict(bind<"x">(numbers)));
  run(read);
  // Numbers that were never written are -0. A user may write -0 by set or init, but -0 that is written only through
  // views is not recognized.
  program<mean(param<"zero", 3>)> set_to_zeros;
  predictor<mean(param<"zero", 3>)> of_set{set_to_zeros};
  set_to_zeros.param<"zero">().fill(-0.0F);
  BOOST_CHECK_THROW(static_cast<void>(of_set()), program_error);
  set_to_zeros.set(bind<"zero">(std::array{-0.0F, -0.0F, -0.0F}));
  BOOST_TEST(of_set() == 0);
  BOOST_TEST((predictor<mean(param<"zero", 3>)>(set_to_zeros)()) == 0);
  BOOST_TEST(set_to_zeros.value_and_grad() == 0);
  program<mean(param_from<"zero", initial::constant(-0.0), 3>)> of_zeros;
  of_zeros.init(seed{1});
  BOOST_TEST(predictor<mean(param<"zero", 3>)>(of_zeros)() == 0);
  program<mean(param<"w", 3>), mixed<bf16>, update<sgd_options{}>> rounded;
  BOOST_CHECK_THROW(static_cast<void>(rounded.train()), program_error);
  rounded.param<"w">().fill(static_cast<decltype(rounded)::parameter_type>(0.0F));
  static_cast<void>(rounded.train());
  program<sum(x<4>), wrt<"x">> without_any;
  static_cast<void>(without_any.value_and_grad(bind<"x">(numbers)));
}

// The memory moves to the new program, and predictors and optimizers stay valid. The old program refuses every call.
BOOST_AUTO_TEST_CASE(a_moved_from_program_refuses_calls) {
  train_step first, twin;
  first.init(seed{3});
  twin.init(seed{3});
  adamw optimizer{first}, twins{twin};
  predictor<logits<4>> predict{first}, of_twin{twin};
  const auto run = [](auto& of) { return of.value_and_grad(bind<"x">(numbers), bind<"y">(classes)); };
  train_step second = std::move(first);
  for (int i = 0; i < 2; ++i) {
    BOOST_TEST(run(second) == run(twin));
    optimizer.update();
    twins.update();
  }
  BOOST_TEST(std::ranges::equal(predict(bind<"x">(numbers)), of_twin(bind<"x">(numbers))));

  const auto refused = [](const program_error& e) {
    return e.what() == std::string("cairn: this program or predictor was moved from, and has no memory");
  };
  BOOST_CHECK_EXCEPTION(static_cast<void>(run(first)), program_error, refused);
  BOOST_CHECK_EXCEPTION(first.init(seed{1}), program_error, refused);
  BOOST_CHECK_EXCEPTION(first.set(bind<"head.bias">(std::array<float, 2>{})), program_error, refused);
  BOOST_CHECK_EXCEPTION(static_cast<void>(first.param<"head.bias">()), program_error, refused);
  BOOST_CHECK_EXCEPTION(static_cast<void>(first.grad<"head.bias">()), program_error, refused);
  BOOST_CHECK_EXCEPTION(static_cast<void>(first.parameters()), program_error, refused);
  BOOST_CHECK_EXCEPTION(static_cast<void>(first.gradients()), program_error, refused);
  BOOST_CHECK_EXCEPTION(static_cast<void>(first.arena()), program_error, refused);
  BOOST_CHECK_EXCEPTION(static_cast<void>(first.random()), program_error, refused);
  BOOST_CHECK_EXCEPTION(static_cast<void>(first.steps()), program_error, refused);
  BOOST_CHECK_EXCEPTION(first.steps(1), program_error, refused);
  BOOST_CHECK_EXCEPTION(first.for_each_trained([](std::size_t) {}), program_error, refused);
  BOOST_CHECK_EXCEPTION(first.for_each_parameter([](std::string_view, auto) {}), program_error, refused);
  BOOST_CHECK_EXCEPTION(first.for_each_gradient([](std::string_view, auto) {}), program_error, refused);
  BOOST_CHECK_EXCEPTION(static_cast<void>(std::as_const(first).param<"head.bias">()), program_error, refused);
  BOOST_CHECK_EXCEPTION((predictor<logits<4>>(first)), program_error, refused);
  BOOST_CHECK_EXCEPTION((sgd{first, {.lr = 1}}), program_error, refused);
  auto predicts = std::move(predict);
  BOOST_CHECK_EXCEPTION(static_cast<void>(predict(bind<"x">(numbers))), program_error, refused);
  BOOST_TEST(std::ranges::equal(predicts(bind<"x">(numbers)), of_twin(bind<"x">(numbers))));
  adamw next = std::move(optimizer);
  optimizer.update();
  BOOST_TEST(std::ranges::equal(second.parameters(), twin.parameters()));
  next.update();
  twins.update();
  BOOST_TEST(std::ranges::equal(second.parameters(), twin.parameters()));
  first = std::move(second);
  BOOST_TEST(run(first) == run(twin));
  BOOST_CHECK_EXCEPTION(static_cast<void>(run(second)), program_error, refused);

  using updating = program<loss<4>, update<adamw_options{}>, clip<1.0>>;
  updating clipped;
  const updating next_clipped = std::move(clipped);
  BOOST_TEST(next_clipped.gradient_norm() == 0);
  BOOST_CHECK_EXCEPTION(static_cast<void>(clipped.gradient_norm()), program_error, refused);
  BOOST_CHECK_EXCEPTION((clipped.moment<"head.bias", "exp_avg">()), program_error, refused);
  BOOST_CHECK_EXCEPTION(clipped.exchange("exp_avg"), program_error, refused);
}

BOOST_AUTO_TEST_CASE(a_move_to_itself_changes_nothing) {
  train_step step, twin;
  step.init(seed{3});
  twin.init(seed{3});
  predictor<logits<4>> predict{step}, of_twin{twin};
  adamw optimizer{step}, twins{twin};
  const auto run = [](auto& of) { return of.value_and_grad(bind<"x">(numbers), bind<"y">(classes)); };
  const auto to_itself = [](auto& any, auto& same) { any = std::move(same); };
  for (int i = 0; i < 3; ++i) {
    BOOST_TEST(run(step) == run(twin));
    optimizer.update();
    twins.update();
    to_itself(step, step);
    to_itself(predict, predict);
    to_itself(optimizer, optimizer);
    optimizer = std::as_const(optimizer);
  }
  BOOST_TEST(std::ranges::equal(step.parameters(), twin.parameters()));
  BOOST_TEST(predict(bind<"x">(numbers))(0, 0) == of_twin(bind<"x">(numbers))(0, 0));
}

// Checks predictors and optimizers of each kind, and copies of optimizers.
BOOST_AUTO_TEST_CASE(predictors_and_optimizers_that_outlive_their_program_throw) {
  const auto refused = [](const program_error& e) {
    return e.what() == std::string(
                           "cairn: the program of this predictor or optimizer, or the program whose memory it shares, "
                           "was destroyed or assigned over; make another one of a program that lives");
  };
  const auto ends = [&](auto end) {
    auto step = std::make_unique<train_step>();
    step->init(seed{3});
    alignas(64) static std::byte memory[predictor<logits<4>>::memory().peak_bytes];
    predictor<logits<4>> predict{*step}, there{*step, memory};
    adamw optimizer{*step};
    sgd plainly{*step, {.lr = 1}};
    predictor<logits<4>> moved = std::move(predict);
    adamw copied = optimizer;
    end(step);
    BOOST_CHECK_EXCEPTION(static_cast<void>(moved(bind<"x">(numbers))), program_error, refused);
    BOOST_CHECK_EXCEPTION(static_cast<void>(there(bind<"x">(numbers))), program_error, refused);
    BOOST_CHECK_EXCEPTION(optimizer.update(), program_error, refused);
    BOOST_CHECK_EXCEPTION(plainly.update(), program_error, refused);
    BOOST_CHECK_EXCEPTION(copied.update(), program_error, refused);
    BOOST_TEST(optimizer.steps() == 0);
    train_step another;
    another.init(seed{3});
    moved = predictor<logits<4>>(another);
    optimizer = adamw{another};
    static_cast<void>(moved(bind<"x">(numbers)));
    optimizer.update();
  };
  ends([](auto& step) { step.reset(); });
  ends([](auto& step) { *step = train_step(); });
  ends([](auto& step) { const train_step moved = std::move(*step); });
}

// The program is destroyed while its predictors run in other threads. They must not read freed memory.
BOOST_AUTO_TEST_CASE(a_program_may_end_while_predictors_run) {
  std::atomic<int> begun = 0, threw = 0, wrong = 0;
  auto step = std::make_unique<train_step>();
  step->init(seed{3});
  predictor<logits<4>> before{*step};
  const float expected = before(bind<"x">(numbers))(3, 1);
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([&] {
        predictor<logits<4>> predict{*step};
        const float read = std::as_const(*step).param<"head.bias">()(0) + step->param<"head.bias">()(1);
        begun += std::isfinite(read);
        try {
          for (;;) wrong += predict(bind<"x">(numbers))(3, 1) != expected;
        } catch (const program_error&) {
          ++threw;
        }
      });
    }
    while (begun < 3) std::this_thread::yield();
    step.reset();
  }
  BOOST_TEST(threw == 3);
  BOOST_TEST(wrong == 0);
}

BOOST_AUTO_TEST_CASE(an_array_off_by_a_byte_is_refused) {
  train_step step;
  step.init(seed{3});
  std::array<std::byte, 4 * 13> memory{};
  const auto* const off =
      reinterpret_cast<const float*>(memory.data() + 1 + (-reinterpret_cast<std::uintptr_t>(memory.data()) & 3));
  BOOST_CHECK_EXCEPTION(
      static_cast<void>(step.value_and_grad(bind<"x">(std::span(off, 12)), bind<"y">(classes))), extent_error,
      [](const extent_error& e) {
        return e.what() == std::string("cairn: input 'x': expected an address that is a multiple of 4, got 1 more");
      });
}

BOOST_AUTO_TEST_CASE(a_gradient_that_is_not_finite_is_refused_on_request) {
  constexpr auto s = state<"s", initial{}>;
  constexpr auto root = sum(sqrt(param<"w", 4>) * input<"x", 4>);
  constexpr auto counted = updated(root, s, s + 1_c);
  program<counted, check_finite, wrt<"x">> step;
  const std::array<float, 4> ones{1, 1, 1, 1};
  step.set(bind<"w">(std::array<float, 4>{1, 4, 0, 9}));
  BOOST_CHECK_EXCEPTION(
      static_cast<void>(step.value_and_grad(bind<"x">(ones))), gradient_error, [](const gradient_error& e) {
        return e.what() == std::string("cairn: gradient of 'w': number 2 is inf, expected finite numbers") &&
               e.leaf == "w" && e.index == 2 && e.actual > 0;
      });
  BOOST_TEST(step.param<"s">()() == 0);
  step.set(bind<"w">(ones));
  BOOST_TEST(step.value_and_grad(bind<"x">(ones)) == 4);
  BOOST_TEST(step.param<"s">()() == 1);
}

BOOST_AUTO_TEST_CASE(a_loss_that_is_not_finite_is_refused_on_request) {
  constexpr auto doubling = sum(exp(input<"x", 4>) * param<"w", 4>);
  program<doubling, check_finite> step;
  step.init(seed{3});
  step.param<"w">().fill(1);
  const std::vector<float> before(step.parameters().begin(), step.parameters().end());
  const std::array<float, 4> fine{1, 2, 3, 4};
  std::array<float, 4> wild = fine;
  const float expected = step.value_and_grad(bind<"x">(fine));
  const auto refused_as = [&](const char* message, float number) {
    wild[2] = number;
    BOOST_CHECK_EXCEPTION(step.value_and_grad(bind<"x">(wild)), loss_error, [&](const loss_error& e) {
      return e.what() == std::string(message) && !std::isfinite(e.actual);
    });
  };
  refused_as("cairn: the loss is inf, expected a finite number", 1000);
  refused_as("cairn: the loss is nan, expected a finite number", std::nanf(""));
  BOOST_TEST(std::ranges::equal(before, step.parameters()));
  BOOST_TEST(step.value_and_grad(bind<"x">(fine)) == expected);

  program<doubling> unchecked;
  unchecked.init(seed{3});
  BOOST_TEST(!std::isfinite(unchecked.value_and_grad(bind<"x">(wild))));
}

BOOST_AUTO_TEST_CASE(fused_loops_run_operations_of_many_arguments_and_indices) {
  constexpr int n = 37;
  constexpr auto index = indices<"k", 9, n>;
  constexpr auto y = make<own::counted_op>(param<"a", n>, input<"b", n>, param<"c", n>, input<"d", n>, index);
  program<sum(square(y)), real<double>> step;
  step.init(seed{1});
  std::vector<double> b(n), d(n);
  std::vector<std::int32_t> k(n);
  random_sequence draw(seed{2}, 0);
  for (std::size_t i = 0; i < n; ++i) {
    b[i] = uniform(draw());
    d[i] = uniform(draw());
    k[i] = static_cast<std::int32_t>(draw.below(9));
  }
  const double sum = step.value_and_grad(bind<"b">(b), bind<"d">(d), bind<"k">(k));
  double expected = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double value = step.param<"a">()(i) * b[i] + k[i] * step.param<"c">()(i) * d[i];
    expected += value * value;
    BOOST_TEST(step.grad<"a">()(i) == 2 * value * b[i], boost::test_tools::tolerance(1e-12));
    BOOST_TEST(step.grad<"c">()(i) == 2 * value * k[i] * d[i], boost::test_tools::tolerance(1e-12));
  }
  BOOST_TEST(sum == expected, boost::test_tools::tolerance(1e-12));
}

// If a logit is large and correct, its loss is exp(-|logit|), for both labels.
BOOST_AUTO_TEST_CASE(confident_logits_keep_their_digits) {
  constexpr auto x = param<"x">;
  program<binary_cross_entropy_with_logits(x, input<"target">)> step;
  for (const float size : {10.0F, 20.0F, 40.0F}) {
    const float expected = std::log1p(std::exp(-size));
    step.param<"x">()() = size;
    BOOST_TEST(step.value_and_grad(bind<"target">(std::array{1.0F})) == expected, boost::test_tools::tolerance(1e-5F));
    BOOST_TEST(step.grad<"x">()() == -expected, boost::test_tools::tolerance(1e-4F));
    step.param<"x">()() = -size;
    BOOST_TEST(step.value_and_grad(bind<"target">(std::array{0.0F})) == expected, boost::test_tools::tolerance(1e-5F));
    BOOST_TEST(step.grad<"x">()() == expected, boost::test_tools::tolerance(1e-4F));
  }
}

BOOST_AUTO_TEST_SUITE_END()
