// Parameters that are stored only as bf16. The random numbers that round them depend on the seed, the parameter and the
// element. Small updates count on average, and a saved run continues with the same bits. tests/laws/mixed.cpp checks
// the laws.
#include <boost/test/unit_test.hpp>
#include <cairn/cairn.hpp>
#include <cairn/file/saving.hpp>
#include <cairn/train/loop.hpp>
#include <cmath>
#include <vector>

#include "folder.hpp"

using namespace cairn;

namespace {

using halved = mixed<bf16, stochastic_rounding>;
constexpr float ulp = 0x1p-7F;  // the rounding unit of bf16 for numbers from 1 to 2

constexpr auto feed_forward =
    nn::residual(nn::layer_norm<"norm"> | nn::linear<"up", 48> | nn::gelu | nn::linear<"down", 24>);
constexpr auto words = indices<"words", 11, 32>;
constexpr auto trunk = repeat<2, "block">([](auto) { return ckpt<"ff">(feed_forward); });
constexpr auto logits = words | nn::embedding<"wte", 24> | trunk | nn::linear<"head", 10>;
constexpr auto loss = cross_entropy(logits, labels<"classes", 10, 32>);

struct batch {
  std::vector<std::int32_t> words, classes;
  explicit batch(int number) {
    for (int i = 0; i < 32; ++i) {
      words.push_back((i * 5 + number) % 11);
      classes.push_back(words.back() * 3 % 10);
    }
  }
};
float trained(auto& step, int number) {
  const batch b(number);
  return step.train(bind<"words">(b.words), bind<"classes">(b.classes));
}
std::vector<float> parameters_of(auto& step) {
  std::vector<float> all;
  step.for_each_parameter([&](std::string_view, auto view) {
    for (const auto x : view) all.push_back(static_cast<float>(x));
  });
  return all;
}

std::vector<float> drawn(std::size_t count) {
  std::vector<float> x(count);
  random_sequence draw(seed{3}, 0);
  for (float& e : x) e = 2 * uniform(draw()) - 1;
  return x;
}

// Memory: a parameter takes two bytes, and a moment and a gradient take four. Each tensor begins at a multiple of 64
// bytes. There is no float copy of a weight.
constexpr auto wide = mean(square(input<"x", 8, 64> | nn::linear<"fc", 48>));
constexpr memory_plan inside = program<wide, halved, update<adamw_options{}>>::memory(),
                      beside = program<wide, halved>::memory(),
                      copied = program<wide, mixed<bf16>, update<adamw_options{}>>::memory();
static_assert(inside.parameter_bytes == 48 * 64 * 2 + 128 && copied.parameter_bytes == 48 * 64 * 4 + 192);
static_assert(inside.moment_bytes == 2 * (48 * 64 * 4 + 192) && inside.moment_bytes == copied.moment_bytes);
static_assert(inside.gradient_bytes == 0 && beside.gradient_bytes == 48 * 64 * 4 + 256);
static_assert(inside.peak_bytes <= copied.peak_bytes);
/// How many numbers of parameters a training step converts, in both directions.
template <class Plan>
constexpr std::int64_t converted = [] {
  constexpr const auto& d = Plan::gradient;
  std::int64_t n = 0;
  for (int v = 0; v < d.node_count; ++v) {
    if (d.op(v).converts && d.op(d.root(d.argument(v, 0))).what == graphs::role::parameter) n += d.result(v).count;
  }
  return n;
}();
static_assert(converted<detail::compiled_of<loss, true, halved>> == 2 * 24);  // the parameters of norms
static_assert(converted<detail::compiled_of<loss, true, mixed<bf16>>> >= 2 * 2 * 24 * 48);

}  // namespace

BOOST_AUTO_TEST_SUITE(stochastic)

// The words are the words of a random_stream, wherever a register begins.
BOOST_AUTO_TEST_CASE(words_of_elements_are_those_of_the_stream) {
  const random_stream stream{seed{0x0123456789abcdef}};
  for (const std::uint32_t first : {0U, 1U, 2U, 7U, 16U, 1029U, 0x7ffffff9U, 0xffffffc0U}) {
    const kernels::halves::words drawn = kernels::words_from(first, stream);
    for (std::uint32_t k = 0; k < kernels::halves::width; ++k)
      BOOST_TEST(drawn[k] == stream((first + k) / 4)[(first + k) % 4]);
  }
}

// A position has the 32 bits of a whole number. Elements beyond 2^31 have words of their own, in registers of any
// width.
BOOST_AUTO_TEST_CASE(positions_beyond_two_to_the_31) {
  const random_stream stream{seed{5}};
  for (const std::int64_t first : {(std::int64_t{1} << 31) - 2, std::int64_t{1} << 31, (std::int64_t{1} << 32) - 64}) {
    std::array<double, 4> at{};
    graphs::write_positions(at.data(), first, 4);
    for (std::size_t i = 0; i < at.size(); ++i) {
      const std::int64_t element = first + static_cast<std::int64_t>(i);
      const auto position = static_cast<std::uint32_t>(static_cast<std::int32_t>(at[i]));
      BOOST_TEST(position == element);
      BOOST_TEST(kernels::words_from(position, stream)[0] ==
                 stream(static_cast<std::uint32_t>(element / 4))[static_cast<std::size_t>(element % 4)]);
    }
  }
}

BOOST_AUTO_TEST_CASE(rounding_of_special_numbers) {
  using kernels::halves, kernels::lanes;
  const auto rounded = [](float x, std::uint32_t word) {
    const auto made = kernels::rounded_by(word - halves::words{}, lanes<float>::fill(x));
    return made.value[1];
  };
  constexpr std::uint32_t all = 0xffffffff, half = 0x80000000;
  BOOST_TEST(rounded(1 + ulp, all) == 1 + ulp);  // a number of bf16 stays
  BOOST_TEST(rounded(1 + ulp / 2, half - 1) == 1);
  BOOST_TEST(rounded(1 + ulp / 2, half) == 1 + ulp);
  BOOST_TEST(rounded(-1 - ulp / 2, half - 1) == -1);
  BOOST_TEST(rounded(-1 - ulp / 2, half) == -1 - ulp);
  BOOST_TEST(rounded(2 - ulp / 4, all) == 2);  // rounded up to the next power of two
  constexpr float largest = 0x1.fep127F;       // the largest number of bf16
  BOOST_TEST(rounded(std::numeric_limits<float>::max(), all) == largest);
  BOOST_TEST(rounded(-std::numeric_limits<float>::max(), all) == -largest);
  BOOST_TEST(rounded(largest, all) == largest);
  BOOST_TEST(std::isinf(rounded(std::numeric_limits<float>::infinity(), all)));
  BOOST_TEST(std::isnan(rounded(std::numeric_limits<float>::quiet_NaN(), all)));
  BOOST_TEST(std::isnan(rounded(std::bit_cast<float>(0x7f800001U), 0)));
}

// Each number becomes one of its two neighbours. A neighbour is chosen more often the nearer it is.
BOOST_AUTO_TEST_CASE(distribution_of_stochastic_rounding) {
  constexpr int count = 64 * 512;
  const auto check = [&]<double Start>(std::integral_constant<int, 0>, std::type_identity<lang::constant_leaf<Start>>) {
    constexpr auto w = param_from<"w", initial::constant(Start), 64, 512>;
    program<sum(w), halved, update<sgd_options{}>> step;
    for (const double fraction : {1.0 / 65536, 0.01, 0.25, 0.5, 0.8, 0.999}) {
      step.init(seed{5});
      step.train({.lr = fraction * double{ulp}});
      const auto before = static_cast<float>(Start), next = before - ulp;
      int moved = 0, others = 0;
      for (const bf16 x : step.template param<"w">()) {
        moved += static_cast<float>(x) == next;
        others += static_cast<float>(x) != next && static_cast<float>(x) != before;
      }
      BOOST_TEST(others == 0);
      const double deviation = std::sqrt(count * fraction * (1 - fraction));
      BOOST_TEST(std::abs(moved - count * fraction) < 4 * deviation, moved << " of " << count * fraction);
    }
  };
  check(std::integral_constant<int, 0>{}, std::type_identity<lang::constant_leaf<1.5>>{});
  check(std::integral_constant<int, 0>{}, std::type_identity<lang::constant_leaf<-1.5>>{});
}

// Rounding to the nearest number would lose these updates. With stochastic rounding, many small updates move the mean
// as far as they should.
BOOST_AUTO_TEST_CASE(small_updates_count_on_average) {
  constexpr int count = 4096, steps = 64;
  constexpr double rate = 0x1p-12, fraction = rate / double{ulp};
  BOOST_TEST(static_cast<float>(bf16(1.5F - static_cast<float>(rate))) == 1.5F);
  constexpr auto w = param_from<"w", initial::constant(1.5), count>;
  program<sum(w), halved, update<sgd_options{.lr = rate}>> step;
  step.init(seed{2});
  for (int i = 0; i < steps; ++i) step.train();
  double mean = 0;
  for (const bf16 x : step.param<"w">()) mean += static_cast<double>(x) / count;
  const double deviation = double{ulp} * std::sqrt(steps * fraction * (1 - fraction) / count);
  BOOST_TEST(std::abs(mean - (1.5 - steps * rate)) < 4 * deviation);
}

// The square of the first gradient overflows. Afterwards, parameters change as PyTorch's floats do after a gradient of
// 1e18.
BOOST_AUTO_TEST_CASE(huge_gradients_leave_parameters_finite) {
  constexpr auto w = param_from<"w", initial::constant(1), 64>;
  program<sum(w * input<"x", 64>), halved, update<adamw_options{.lr = 0.1, .weight_decay = 0}>> step;
  step.init(seed{1});
  double most = ulp / 2;  // the rounding error is less than a unit below 1
  for (const auto& [gradient, expected] : {std::pair{0x1p120F, 0.9}, {1.F, 0.832994223}, {1.F, 0.781198502}}) {
    step.train(bind<"x">(std::vector<float>(64, gradient)));
    for (const bf16 x : step.param<"w">()) BOOST_TEST(std::abs(static_cast<double>(x) - expected) < most);
    most += ulp / 2;
  }
}

// The random numbers depend on the seed, the training step, and the name.
BOOST_AUTO_TEST_CASE(rounding_depends_on_seed_step_and_name) {
  constexpr auto a = param_from<"a", initial::constant(1.5), 256>;
  constexpr auto b = param_from<"b", initial::constant(1.5), 256>;
  program<sum(a) + sum(b), halved, update<sgd_options{.lr = double{ulp} / 2}>> step;
  const auto after = [&](std::uint64_t s, std::uint32_t steps_before) {
    step.init(seed{s});
    step.random().step = steps_before;
    step.train();
    return parameters_of(step);
  };
  const auto first = after(1, 0);
  BOOST_TEST(after(1, 0) == first);
  BOOST_TEST(after(2, 0) != first);
  BOOST_TEST(after(1, 1) != first);
  BOOST_TEST(!std::equal(first.begin(), first.begin() + 256, first.begin() + 256));
}

// Compares with a program that has float parameters and bf16 copies. If the floats are exact in bf16, both programs
// compute the same bits.
template <auto Model, class... Bound>
void same_as_copied(const Bound&... in) {
  program<Model, halved> rounded;
  program<Model, mixed<bf16>> floats;
  rounded.init(seed{1});
  floats.init(seed{1});
  floats.for_each_parameter([](std::string_view, auto view) {
    for (float& x : view) x = static_cast<float>(bf16(x));
  });
  BOOST_TEST(parameters_of(rounded) == parameters_of(floats));
  BOOST_TEST(rounded.value_and_grad(in...) == floats.value_and_grad(in...));
  int gradients = 0;
  floats.for_each_gradient([&](std::string_view name, auto expected) {
    rounded.for_each_gradient([&](std::string_view same, auto seen) {
      static_assert(std::same_as<std::remove_cvref_t<decltype(*seen.data())>, float>);
      if (name != same) return;
      ++gradients;
      BOOST_TEST(std::equal(seen.begin(), seen.end(), expected.begin(), expected.end()), name);
    });
  });
  BOOST_TEST(gradients > 2);
}
BOOST_AUTO_TEST_CASE(gradients_equal_those_of_rounded_copies) {
  const batch b(0);
  same_as_copied<loss>(bind<"words">(b.words), bind<"classes">(b.classes));
  constexpr auto images = input<"x", 4, 8, 8, 3> | nn::conv2d<"conv", 8, 3> | nn::batch_norm<"norm"> | nn::relu |
                          nn::flatten | nn::linear<"head", 4>;
  constexpr auto recurrent = input<"x", 6, 32, 4> | nn::lstm<"rnn", 12>;
  same_as_copied<mean(square(images))>(bind<"x">(drawn(4 * 8 * 8 * 3)));
  same_as_copied<mean(square(recurrent))>(bind<"x">(drawn(6 * 32 * 4)));
}

// An update in the training step is the update in float, rounded to one of the two neighbours.
BOOST_AUTO_TEST_CASE(updates_are_rounded_to_a_neighbour) {
  program<loss, halved, update<adamw_options{}>> rounded;
  program<loss, mixed<bf16>, update<adamw_options{}>> floats;
  rounded.init(seed{1});
  floats.init(seed{1});
  floats.for_each_parameter([](std::string_view, auto view) {
    for (float& x : view) x = static_cast<float>(bf16(x));
  });
  trained(rounded, 0);
  trained(floats, 0);
  const auto seen = parameters_of(rounded), exact = parameters_of(floats);
  int above = 0, below = 0;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const auto bits = std::bit_cast<std::uint32_t>(exact[i]) & 0xffff0000U;
    const auto lower = std::bit_cast<float>(bits), upper = std::bit_cast<float>(bits + 0x10000);
    const bool neighbour = seen[i] == lower || (seen[i] == upper && exact[i] != lower);
    if (std::abs(exact[i]) >= 0x1p-126F) BOOST_TEST(neighbour, i);
    above += seen[i] == upper;
    below += seen[i] == lower;
  }
  BOOST_TEST(above > 500);
  BOOST_TEST(below > 500);
}

BOOST_AUTO_TEST_CASE(bf16_parameters_learn_like_floats) {
  const auto last = [&]<class... Options>(std::type_identity<std::tuple<Options...>>) {
    program<loss, update<adamw_options{.lr = 3e-3}>, Options...> step;
    step.init(seed{1});
    float made = 0;
    for (int i = 0; i < 100; ++i) made = trained(step, i);
    return made;
  };
  BOOST_TEST(last(std::type_identity<std::tuple<>>{}) < 0.1F);
  BOOST_TEST(last(std::type_identity<std::tuple<halved>>{}) < 0.1F);
}

// A saved run that is continued has the same bits as a run that was not saved. The file says that the parameters are
// bf16.
BOOST_AUTO_TEST_CASE(a_saved_run_continues_with_the_same_bits) {
  using run = program<loss, halved, update<adamw_options{}>>;
  const folder own;
  const std::string path = own.path / "run.safetensors";
  run whole, saved, loaded;
  whole.init(seed{4});
  saved.init(seed{4});
  for (int i = 0; i < 3; ++i) trained(whole, i), trained(saved, i);
  saved.save(path);
  loaded.load(path);
  for (int i = 3; i < 6; ++i) BOOST_TEST(trained(whole, i) == trained(loaded, i));
  BOOST_TEST(parameters_of(whole) == parameters_of(loaded));

  const file::reader read(path);
  BOOST_TEST((read.find("head.weight")->type == file::dtype::bf16));
  BOOST_TEST((read.find("optimizer.head.weight.exp_avg")->type == file::dtype::f32));
}

// Parameters from files of floats are rounded to the nearest number. Programs of floats and predictors read files of
// bf16.
BOOST_AUTO_TEST_CASE(files_of_floats_and_of_bf16) {
  const folder own;
  const std::string path = own.path / "floats.safetensors", other = own.path / "halves.safetensors";
  program<loss, update<adamw_options{}>> floats;
  floats.init(seed{1});
  trained(floats, 0);
  floats.save(path);
  program<loss, halved, update<adamw_options{}>> rounded;
  rounded.load(path);
  auto expected = parameters_of(floats);
  for (float& x : expected) x = static_cast<float>(bf16(x));
  BOOST_TEST(parameters_of(rounded) == expected);
  rounded.save(other);
  floats.load(other);
  BOOST_TEST(parameters_of(floats) == expected);

  const batch b(0);
  predictor<logits, halved> shared{rounded}, from_file{other};
  const auto one = shared(bind<"words">(b.words)), two = from_file(bind<"words">(b.words));
  BOOST_TEST(std::equal(one.begin(), one.end(), two.begin(), two.end()));
  static_assert(predictor<logits, halved>::memory().parameter_bytes <
                program<loss, halved>::memory().parameter_bytes + 1);
}

// set() takes floats, and views of parameters are bf16. States stay floats.
BOOST_AUTO_TEST_CASE(views_are_bf16_and_states_are_floats) {
  constexpr auto normed = sum(square(input<"x", 4, 8> | nn::linear<"fc", 4> | nn::batch_norm<"norm">));
  program<normed, halved, update<sgd_options{}>> step;
  step.init(seed{1});
  step.set(bind<"fc.bias">(std::array{1 + ulp / 4, 1.0F, 2.0F, -3.0F}));
  BOOST_TEST(static_cast<float>(step.param<"fc.bias">().data()[0]) == 1);
  BOOST_TEST(static_cast<float>(step.param<"fc.bias">().data()[3]) == -3);
  static_assert(std::same_as<decltype(step.param<"fc.bias">()), static_view<bf16, shape{4}>>);
  decltype(step) other;
  other.set(bind<"fc.bias">(step.param<"fc.bias">()));
  BOOST_TEST(static_cast<float>(other.param<"fc.bias">().data()[3]) == -3);
  static_assert(std::same_as<decltype(step.param<"norm.running_mean">()), static_view<float, shape{4}>>);
}
// Averages are floats, and do not fit into the memory of the parameters.
BOOST_AUTO_TEST_CASE(averages_cannot_be_exchanged) {
  program<wide, halved, update<averaged<adamw_options>{}>> step;
  const auto refused = [](const program_error& e) {
    return std::string_view(e.what()).find("moments are floats") != std::string_view::npos;
  };
  BOOST_CHECK_EXCEPTION(step.exchange("average"), program_error, refused);
  // The loop refuses this before the first epoch, and not after it.
  BOOST_CHECK_EXCEPTION(train::loop(step, {.average = "average"}), program_error, refused);
}

BOOST_AUTO_TEST_SUITE_END()
