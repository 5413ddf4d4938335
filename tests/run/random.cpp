// Random operations in programs: the numbers that they draw, and what these numbers depend on.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "gradients.hpp"

namespace {

constexpr int count = 10000;
constexpr auto ones = param_from<"w", initial{.fill = 1}, count>;

/// A program with two results. The second result is 1 / (1 - P) for elements that are kept, and 0 for elements that are
/// dropped.
template <fixed_string Name, double P, class Real = float>
using dropping = program<outputs(sum(dropout<Name, P>(ones)), dropout<Name, P>(ones)), real<Real>>;

/// Returns which elements the next training step keeps.
template <class Step>
std::vector<bool> kept(Step& step) {
  const auto [loss, y] = step.value_and_grad();
  std::vector<bool> out;
  for (const auto v : y) out.push_back(v != 0);
  return out;
}
std::vector<bool> kept(auto&& step, seed s) {
  step.init(s);
  return kept(step);
}

/// Returns true if `successes` among `count` trials with probability p is not rare. Neither tail of the binomial
/// distribution, summed term by term, may be below one in ten thousand.
bool is_likely(int successes, double p) {
  const double n = count, k = successes, odds = p / (1 - p);
  const double here = std::exp(std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1) + k * std::log(p) +
                               (n - k) * std::log1p(-p));
  double below = 0, above = 0, term = here;
  for (int i = successes; i >= 0; --i) {
    below += term;
    term *= i / (n - i + 1) / odds;
  }
  term = here;
  for (int i = successes; i <= count; ++i) {
    above += term;
    term *= (n - i) / (i + 1) * odds;
  }
  BOOST_TEST(std::abs(below + above - here - 1) < 1e-9);
  return below > 1e-4 && above > 1e-4;
}
/// Returns true if two masks are independent. Each keeps an element with probability 1 - p.
bool are_independent(const std::vector<bool>& a, const std::vector<bool>& b, double p) {
  int alike = 0;
  for (std::size_t i = 0; i < count; ++i) alike += a[i] == b[i] ? 1 : 0;
  return is_likely(alike, p * p + (1 - p) * (1 - p));
}

template <double P, class Real>
void check_mask() {
  dropping<"d", P, Real> step;
  step.init(seed{42});
  for (std::uint32_t number = 0; number < 3; ++number) {
    const auto [loss, y] = step.value_and_grad();
    // As documented, the numbers are the words of the key's stream, in order.
    const random_stream stream{seed{42}, cairn::detail::hash64_of("d"), number};
    std::vector<Real> expected(count);
    for (std::size_t i = 0; i < count; ++i) {
      const bool keep = stream(static_cast<std::uint32_t>(i / 4))[i % 4] >= static_cast<std::uint32_t>(P * 0x1p32);
      expected[i] = keep ? static_cast<Real>(1 / (1 - P)) : 0;
    }
    BOOST_TEST(std::ranges::equal(y, expected));
    BOOST_TEST(is_likely(static_cast<int>(std::ranges::count(y, Real{0})), P));
    // Neighbouring elements, and elements that are one counter or one register apart, are independent.
    for (const std::size_t distance : {1U, 4U, 8U, 16U, 32U, 64U}) {
      std::vector<bool> one(count), other(count);
      for (std::size_t i = 0; i < count; ++i) {
        one[i] = y(i) != 0;
        other[i] = y((i + distance) % count) != 0;
      }
      BOOST_TEST(are_independent(one, other, P));
    }
  }
}

constexpr auto x = input<"x", 7, 5>;
constexpr auto dense = nn::linear<"fc1", 6> | nn::tanh | nn::dropout<"d1", 0.25>;
constexpr auto blocks = repeat<2, "block">([](auto) { return ckpt<"ff">(dense | nn::linear<"fc2", 5>); });
constexpr auto loss = mean(square(x | blocks | nn::dropout<"out">));
constexpr auto undropped = mean(square(
    x | repeat<2, "block">([](auto) { return ckpt<"ff">(nn::linear<"fc1", 6> | nn::tanh | nn::linear<"fc2", 5>); })));
const std::vector<float> numbers(35, 0.75F);

}  // namespace

BOOST_AUTO_TEST_SUITE(random_operations)

BOOST_AUTO_TEST_CASE(dropped_elements_have_the_given_frequency_and_kept_ones_are_scaled) {
  check_mask<0.5, float>();
  check_mask<0.1, float>();
  check_mask<0.9, float>();
  check_mask<0.25, double>();
}

BOOST_AUTO_TEST_CASE(unlikely_frequencies_are_detected) {
  BOOST_TEST(is_likely(count / 2, 0.5));
  BOOST_TEST(is_likely(count / 2 - 180, 0.5));  // the standard deviation is 50
  BOOST_TEST(!is_likely(count / 2 + 190, 0.5));
  BOOST_TEST(!is_likely(count / 2 - 190, 0.5));
}

BOOST_AUTO_TEST_CASE(equal_seeds_give_equal_runs) {
  dropping<"d", 0.5> step, again;
  std::vector<bool> first[3];
  step.init(seed{42});
  for (auto& mask : first) mask = kept(step);
  again.init(seed{42});
  for (const auto& mask : first) BOOST_TEST((kept(again) == mask));
  step.init(seed{42});
  for (const auto& mask : first) BOOST_TEST((kept(step) == mask));
}

BOOST_AUTO_TEST_CASE(seeds_steps_and_operations_draw_independently) {
  dropping<"d", 0.5> step;
  std::vector<std::vector<bool>> masks;
  for (int i = 0; i < 4; ++i) masks.push_back(i == 0 ? kept(step, seed{1}) : kept(step));
  masks.push_back(kept(step, seed{2}));
  masks.push_back(kept(step, seed{1ULL << 32}));
  masks.push_back(kept(dropping<"e", 0.5>{}, seed{1}));
  masks.push_back(kept(
      program<outputs(sum(block<"b.0">(nn::dropout<"d">)(ones)), block<"b.0">(nn::dropout<"d">)(ones))>{}, seed{1}));
  masks.push_back(kept(
      program<outputs(sum(block<"b.1">(nn::dropout<"d">)(ones)), block<"b.1">(nn::dropout<"d">)(ones))>{}, seed{1}));
  for (std::size_t i = 0; i < masks.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) BOOST_TEST(are_independent(masks[i], masks[j], 0.5), i << " and " << j);
  }
}

BOOST_AUTO_TEST_CASE(the_key_of_a_dropout_is_its_full_name) {
  constexpr auto inside =
      ones | repeat<2, "block">([](auto) { return ckpt<"s", allow_useless>(nn::dropout<"d1", 0.5>); });
  program<outputs(sum(inside), inside)> step;
  auto both = kept(step, seed{5});
  const auto one = kept(dropping<"block.0.d1", 0.5>{}, seed{5}), other = kept(dropping<"block.1.d1", 0.5>{}, seed{5});
  for (std::size_t i = 0; i < count; ++i) BOOST_TEST(both[i] == (one[i] && other[i]));
}

BOOST_AUTO_TEST_CASE(float_and_double_draw_the_same) {
  dropping<"d", 0.1> single;
  dropping<"d", 0.1, double> twice;
  single.init(seed{3});
  twice.init(seed{3});
  for (int i = 0; i < 3; ++i) BOOST_TEST((kept(single) == kept(twice)));
}

BOOST_AUTO_TEST_CASE(the_gradient_is_dropped_like_the_value) {
  constexpr auto g = frozen<"g", count>;
  constexpr auto y = dropout<"d", 0.1>(ones);
  program<outputs(sum(y * g), y)> step;
  step.init(seed{9});
  for (int i = 0; i < 2; ++i) {
    const auto [value, mask] = step.value_and_grad();
    const auto of_result = step.param<"g">(), gradient = step.grad<"w">();
    for (std::size_t k = 0; k < count; ++k) {
      if (gradient(k) != mask(k) * of_result(k)) BOOST_ERROR("element " << k);
    }
  }
}

BOOST_AUTO_TEST_CASE(gradients_follow_differences_within_one_step) {
  const std::vector<double> doubles(numbers.begin(), numbers.end());
  check<loss>(bind<"x">(doubles));
  check<loss, plain>(bind<"x">(doubles));
  check<weighted(dropout<"d", 0.4>(square(param<"p", 3, 5>)))>();
  check<weighted(dropout<"d">(param<"p">))>();
}

// Dropout has no other effect on attention. A predictor computes the same bits as attention without dropout.
BOOST_AUTO_TEST_CASE(dropout_of_attention_weights) {
  constexpr auto q = param<"q", 2, 9, 4, 8>;
  constexpr auto k = param<"k", 2, 21, 2, 8>;
  constexpr auto y = nn::attention<"d", 0.5>(q, k, k, nn::causal);
  program<outputs(mean(y), y)> step;
  step.init(seed{3});
  predictor<y> predict{step};
  predictor<nn::attention(q, k, k, nn::causal)> without{step};
  const auto kept = predict(), all = without();
  BOOST_TEST(std::equal(kept.begin(), kept.end(), all.begin(), all.end()));
  const auto drawn = [&step] {
    const auto values = std::get<1>(step.value_and_grad());
    return std::vector<float>(values.begin(), values.end());
  };
  const auto first = drawn(), second = drawn();
  BOOST_TEST((first != second && !std::equal(kept.begin(), kept.end(), first.begin())));
}

BOOST_AUTO_TEST_CASE(a_predictor_drops_nothing) {
  program<loss> step;
  step.init(seed{1});
  predictor<loss> whole{step};
  predictor<undropped> without{step};
  const float expected = without(bind<"x">(numbers));
  for (int i = 0; i < 2; ++i) {
    BOOST_TEST(whole(bind<"x">(numbers)) == expected);
    BOOST_TEST(step.value_and_grad(bind<"x">(numbers)) != expected);
  }
  static_assert(whole.memory().peak_bytes == without.memory().peak_bytes);
  static_assert(whole.flops().total() == without.flops().total());
}

BOOST_AUTO_TEST_CASE(random_state_can_be_read_and_set) {
  program<loss> step;
  BOOST_TEST(program<loss>::is_random());
  BOOST_TEST(!program<undropped>::is_random());
  step.init(seed{42});
  BOOST_TEST(step.random().from.value == 42U);
  const float first = step.value_and_grad(bind<"x">(numbers));
  const random_state after_one = step.random();
  BOOST_TEST(after_one.step == 1U);
  const float second = step.value_and_grad(bind<"x">(numbers));
  BOOST_TEST(first != second);
  step.random() = after_one;
  BOOST_TEST(step.value_and_grad(bind<"x">(numbers)) == second);
  step.random().step = 0;
  BOOST_TEST(step.value_and_grad(bind<"x">(numbers)) == first);
}

BOOST_AUTO_TEST_CASE(a_refused_step_draws_nothing) {
  program<loss> step, other;
  step.init(seed{1});
  other.init(seed{1});
  BOOST_CHECK_THROW(static_cast<void>(step.value_and_grad(bind<"x">(std::vector<float>(3)))), extent_error);
  BOOST_TEST(step.value_and_grad(bind<"x">(numbers)) == other.value_and_grad(bind<"x">(numbers)));
}

BOOST_AUTO_TEST_CASE(a_moved_program_continues_its_random_numbers) {
  program<loss> step, other;
  step.init(seed{1});
  other.init(seed{1});
  BOOST_TEST(step.value_and_grad(bind<"x">(numbers)) == other.value_and_grad(bind<"x">(numbers)));
  program<loss> moved = std::move(step);
  BOOST_TEST(moved.value_and_grad(bind<"x">(numbers)) == other.value_and_grad(bind<"x">(numbers)));
}

BOOST_AUTO_TEST_SUITE_END()

namespace own {

/// x plus noise that is uniform in [-0.5, 0.5). This is a random operation that a user adds.
struct noise_op : op {
  static constexpr fixed_string name = "noise";
  using rule = misuse::equal_shapes;
  static constexpr making makes(int, int, const auto&...) { return {.overwrites = 0}; }
  static constexpr int stands_for(bool training) { return training ? -1 : 0; }
  static constexpr kind argument_kind(int i) { return i == 1 ? kind::key : kind::real; }
  static constexpr shape result(const shape& x, const shape&) { return x; }
  static constexpr std::int64_t flops(const shape& x, const shape&) { return x.count(); }
  static constexpr auto vjp(auto g, auto, auto, auto) { return gradients(g, no_gradient{}); }
};
template <fixed_string Name, an_expression X>
constexpr made<noise_op, X, lang::random_key_leaf<Name>> noise(X) {
  return {};
}
template <class Real, class X, class Key>
void compute(noise_op, signature<Real, X, Key>, void* const* operands) {
  const random_stream& words = *static_cast<const random_stream*>(operands[2]);
  const Real* in = static_cast<const Real*>(operands[1]);
  Real* out = static_cast<Real*>(operands[0]);
  for (std::size_t i = 0; i < X::shape.count(); ++i) {
    out[i] = in[i] + static_cast<Real>(uniform(words(static_cast<std::uint32_t>(i / 4))[i % 4])) - Real(0.5);
  }
}

}  // namespace own

BOOST_AUTO_TEST_SUITE(own_random_operations)

constexpr auto noisy = layer([](auto v) { return tanh(own::noise<"n">(v)) | nn::linear<"fc", 5>; });
constexpr auto model =
    mean(square(param<"p", 3, 5> | repeat<2, "b">([](auto) { return ckpt<"s", allow_useless>(noisy); })));

BOOST_AUTO_TEST_CASE(added_random_operations_are_recomputed_with_equal_numbers) {
  check<model>();
  program<model> checkpointed;
  program<model, plain> stored;
  checkpointed.init(seed{1});
  stored.init(seed{1});
  for (int i = 0; i < 3; ++i) {
    BOOST_TEST(checkpointed.value_and_grad() == stored.value_and_grad());
    BOOST_TEST(std::ranges::equal(checkpointed.gradients(), stored.gradients()));
  }
  BOOST_TEST(checkpointed.memory().stored_bytes < stored.memory().stored_bytes);
}
// One layer is applied three times. Its dropout draws other numbers each time. In a segment, it draws the same numbers
// twice.
BOOST_AUTO_TEST_CASE(a_shared_layer_draws_numbers_of_its_own) {
  static constexpr auto drop = nn::dropout<"d", 0.5>;
  constexpr auto segment = ckpt<"s", allow_useless>(shared(drop | nn::tanh));
  constexpr auto first = ones | drop;
  constexpr auto second = ones | shared(drop);
  constexpr auto third = ones | segment;
  program<outputs(sum(first + second + third), first, second, third)> step;
  step.init(seed{1});
  const auto [loss, a, b, c] = step.value_and_grad();
  const auto mask = [](const auto& numbers) {
    std::vector<bool> out;
    for (const auto v : numbers) out.push_back(v != 0);
    return out;
  };
  BOOST_TEST(are_independent(mask(a), mask(b), 0.5));
  BOOST_TEST(are_independent(mask(a), mask(c), 0.5));
  BOOST_TEST(are_independent(mask(b), mask(c), 0.5));
  BOOST_TEST((mask(a) == kept(dropping<"d", 0.5>(), seed{1})));

  static constexpr auto both = layer([](auto v) { return v + (v | drop) * (v | shared(drop)); });
  program<sum((ones | both) * (ones * 2_c | shared(both)))> nested;  // four keys
  static_assert(nested.is_random());
}

BOOST_AUTO_TEST_CASE(a_predictor_leaves_added_random_operations_out) {
  program<sum(own::noise<"n">(param<"p", 9>))> step;
  step.init(seed{1});
  predictor<own::noise<"n">(param<"p", 9>)> value{step};
  BOOST_TEST(std::ranges::equal(value(), step.param<"p">()));
}

BOOST_AUTO_TEST_SUITE_END()
