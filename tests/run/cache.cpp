// Caches of predictors: their values from call to call. A model that continues from its caches computes what the model
// computes from all positions at once.
#include <array>
#include <boost/test/unit_test.hpp>
#include <cairn/cairn.hpp>
#include <cairn/data/draw.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "worse.hpp"

using namespace cairn;

namespace {

constexpr int length = 12, width = 16, heads = 2, letters = 13;
constexpr auto text = indices<"text", letters, length>;
constexpr auto letter = indices<"letter", letters, 1>;
constexpr auto at = indices<"at", length, 1>;

// A transformer of two blocks, which reads all letters or only the next letter.
constexpr auto by_heads = [](auto x) { return reshape<1, x.shape[0], heads, width / heads>(x); };
constexpr auto of_all = [](auto q, auto k, auto v) {
  return reshape<length, width>(nn::attention(by_heads(q), by_heads(k), by_heads(v), nn::causal));
};
constexpr auto of_next = [](auto q, auto k, auto v) {
  constexpr auto keys = cache<"keys", 1, length, heads, width / heads>;
  constexpr auto values = cache<"values", 1, length, heads, width / heads>;
  const auto all_k = placed<1>(keys, at, by_heads(k));
  const auto all_v = placed<1>(values, at, by_heads(v));
  const auto found = reshape<1, width>(nn::attention(by_heads(q), all_k, all_v, arange<length> <= at));
  return updated(updated(found, keys, all_k), values, all_v);
};
template <auto Attend>
constexpr auto transformer = [](auto x) {
  auto [q, k, v] = split<-1, 3>(x | nn::layer_norm<"ln1"> | nn::linear<"qkv", 3 * width>);
  const auto y = x + (Attend(q, k, v) | nn::linear<"proj", width>);
  return y + (y | nn::layer_norm<"ln2"> | nn::linear<"fc1", 32> | nn::gelu | nn::linear<"fc2", width>);
};
template <auto Attend>
constexpr auto logits = [](auto tokens, auto positions) {
  const auto x = gather<0>(param<"wte", letters, width>, tokens) + gather<0>(param<"wpe", length, width>, positions);
  return x | repeat<2, "block">([](auto) { return transformer<Attend>; }) | nn::linear<"head", letters>;
};
constexpr auto all_logits = logits<of_all>(text, arange<length>);
constexpr auto next_logits = logits<of_next>(letter, at);

// A transformer that is made of the library's blocks. Positions are added to the embeddings, and queries and keys are
// rotated.
constexpr auto turned = [](auto q, auto k, auto v) { return std::tuple{nn::rotary(q), nn::rotary(k), v}; };
constexpr auto kept = [](auto q, auto k, auto v) {
  constexpr auto keys = cache<"keys", 1, length, 1, width / heads>;
  constexpr auto values = cache<"values", 1, length, 1, width / heads>;
  const auto all_k = placed<1>(keys, at, nn::rotary(k, at));
  const auto all_v = placed<1>(values, at, v);
  return std::tuple{nn::rotary(q, at), updated(all_k, keys, all_k), updated(all_v, values, all_v),
                    arange<length> <= at};
};
template <nn::transformer_options O, auto OnHeads>
constexpr auto blocks = repeat<2, "layers">([](auto) { return nn::transformer_block<heads, O, nn::gelu, OnHeads>; });
constexpr nn::transformer_options shared_keys{.key_heads = 1}, shared_keys_of_all{.causal = true, .key_heads = 1};
constexpr auto letters_of_all = reshape<1, length, width>(text | nn::embedding<"wte", width>);
constexpr auto all_rows = letters_of_all | nn::sinusoidal_positions | blocks<shared_keys_of_all, turned>;
constexpr auto next_row = nn::sinusoidal_positions(reshape<1, 1, width>(letter | nn::embedding<"wte", width>), at) |
                          blocks<shared_keys, kept>;

// A cell of an LSTM. The states h and c are carried by a scan or kept in caches.
constexpr auto cell = [](auto h, auto c, auto x) {
  auto [i, f, g, o] = split<-1, 4>(concatenate<-1>(x, h) | nn::linear<"gates", 4 * width>);
  const auto next = sigmoid(f) * c + sigmoid(i) * tanh(g);
  return std::tuple{sigmoid(o) * tanh(next), next};
};
constexpr auto inputs = input<"xs", length, 1, width>;
constexpr auto unrolled = [] {
  const auto body = [](auto h, auto c, auto x) {
    const auto [hidden, carried_on] = cell(h, c, x);
    return std::tuple{hidden, carried_on, hidden};
  };
  constexpr auto nothing = zeros<1, width>;
  return std::get<2>(scan<length, "step">(body, carried(nothing, nothing), each(inputs)));
}();
constexpr auto stepped = block<"step">(
    [](auto x) {
      constexpr auto h = cache<"h", 1, width>;
      constexpr auto c = cache<"c", 1, width>;
      const auto [hidden, carried_on] = cell(h, c, x);
      return updated(updated(hidden, h, hidden), c, carried_on);
    },
    input<"x", 1, width>);

// Layers of an LSTM, which read all letters or only the next letter.
constexpr nn::recurrent_options two{.num_layers = 2};
constexpr auto embedded = [](auto tokens) {
  return reshape<1, tokens.shape[0], 8>(tokens | nn::embedding<"embed", 8>);
};
constexpr auto all_of_layers = embedded(text) | nn::lstm<"lstm", 8, two> | nn::linear<"out", letters>;
constexpr auto next_of_layers = [] {
  constexpr auto h = cache<"h", 2, 1, 8>;
  constexpr auto c = cache<"c", 2, 1, 8>;
  const auto [ys, last_h, last_c] = nn::lstm<"lstm", 8, two>(embedded(letter), h, c);
  return updated(updated(ys, h, last_h), c, last_c) | nn::linear<"out", letters>;
}();

double worst_difference(const auto& row, const auto& other) {
  double worst = 0;
  for (std::size_t j = 0; j < row.size(); ++j) worst = worse(worst, std::abs(row[j] - other[j]));
  return worst;
}
std::span<const double> row_of(const auto& view, std::size_t row, std::size_t columns) {
  return std::span<const double>(view.data() + row * columns, columns);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(caches)

// About twenty operations run in sequence. They are sums of at most 48 products of numbers below 10. 1e-12 is a
// thousand times epsilon times the square root of twenty.
BOOST_AUTO_TEST_CASE(a_transformer_continues_from_cached_keys_and_values) {
  program<mean(square(all_logits)), real<double>> step;
  step.init(seed{3});
  predictor<all_logits, real<double>> of_whole{step};
  predictor<next_logits, real<double>> next{step};
  std::array<std::int32_t, length> written{};
  for (const bool again : {false, true}) {
    random_sequence random(seed{1}, 0), same(seed{1}, 0);
    if (again) next.reset();
    for (std::size_t i = 0; i < length; ++i) {
      const auto whole = of_whole(bind<"text">(written));
      const std::array<std::int32_t, 1> last{written[i]}, here{static_cast<std::int32_t>(i)};
      const auto one = next(bind<"letter">(last), bind<"at">(here));
      const auto row = row_of(whole, i, letters), own = row_of(one, 0, letters);
      BOOST_TEST(worst_difference(row, own) < 1e-12);
      const std::int32_t drawn = data::draw(own, {.temperature = 0.8, .top_k = 10}, random);
      BOOST_TEST(drawn == data::draw(row, {.temperature = 0.8, .top_k = 10}, same));
      if (i + 1 < length) written[i + 1] = drawn;
    }
  }
  // The caches hold what was computed. After a reset, the letter is computed as if it were the first, and the result
  // differs.
  BOOST_TEST(next.cache<"block.1.keys">()(0, length - 1, 0, 0) != 0);
  next.reset<"block.1">();
  BOOST_TEST(next.cache<"block.1.keys">()(0, 0, 0, 0) == 0);
  BOOST_TEST(next.cache<"block.0.keys">()(0, 0, 0, 0) != 0);
  next.reset<"block.0.keys", "block.0.values">();
  BOOST_TEST(next.cache<"block.0.values">()(0, 0, 0, 0) == 0);
}

BOOST_AUTO_TEST_CASE(transformer_blocks_continue_from_cached_keys_and_values) {
  program<mean(square(all_rows)), real<double>> step;
  step.init(seed{3});
  predictor<all_rows, real<double>> of_whole{step};
  predictor<next_row, real<double>> next{step};
  static_assert(next.memory().cache_bytes == 4 * length * (width / heads) * 8);
  const std::array<std::int32_t, length> written{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8};
  const auto whole = of_whole(bind<"text">(written));
  for (std::size_t i = 0; i < length; ++i) {
    const std::array<std::int32_t, 1> last{written[i]}, here{static_cast<std::int32_t>(i)};
    const auto one = next(bind<"letter">(last), bind<"at">(here));
    BOOST_TEST(worst_difference(row_of(whole, i, width), row_of(one, 0, width)) < 1e-12);
  }
}

BOOST_AUTO_TEST_CASE(an_lstm_cell_continues_from_its_cached_state) {
  program<mean(square(unrolled)), real<double>> step;
  step.init(seed{3});
  std::vector<double> xs(length * width);
  random_sequence draw(seed{5}, 0);
  for (double& x : xs) x = 4 * static_cast<double>(uniform(draw())) - 2;
  predictor<unrolled, real<double>> of_whole{step};
  predictor<stepped, real<double>> next{step};
  const auto whole = of_whole(bind<"xs">(xs));
  for (std::size_t i = 0; i < length; ++i) {
    const auto one = next(bind<"x">(std::span(xs).subspan(i * width, width)));
    BOOST_TEST(worst_difference(row_of(whole, i, width), row_of(one, 0, width)) < 1e-13);
    BOOST_TEST(next.cache<"step.h">()(0, 3) == one(0, 3));
  }
}

BOOST_AUTO_TEST_CASE(lstm_layers_continue_from_their_cached_states) {
  program<mean(square(all_of_layers)), real<double>> step;
  step.init(seed{3});
  predictor<all_of_layers, real<double>> of_whole{step};
  predictor<next_of_layers, real<double>> next{step};
  const std::array<std::int32_t, length> written{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8};
  const auto whole = of_whole(bind<"text">(written));
  for (std::size_t i = 0; i < length; ++i) {
    const std::array<std::int32_t, 1> last{written[i]};
    const auto one = next(bind<"letter">(last));
    BOOST_TEST(worst_difference(row_of(whole, i, letters), row_of(one, 0, letters)) < 1e-13);
  }
}

// Caches are floats in a predictor that rounds, too. The values in them were rounded before. A sum in another order may
// be rounded to the other neighbour. The difference is 2^-8 of the value, which is about 1, and later operations carry
// it on.
template <auto All, auto Next>
void rounded_goes_on(auto at) {
  program<mean(square(All)), mixed<bf16>> step;
  step.init(seed{3});
  predictor<All> exact{step};
  predictor<All, mixed<bf16>> of_whole{step};
  predictor<Next, mixed<bf16>> next{step};
  const std::array<std::int32_t, length> written{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8};
  const auto whole = of_whole(bind<"text">(written)), unrounded = exact(bind<"text">(written));
  double worst = 0, worst_of_rounding = 0;
  auto there = whole.begin();
  for (std::size_t i = 0; i < length; ++i) {
    const std::array<std::int32_t, 1> last{written[i]};
    for (const float x : at(next, bind<"letter">(last), static_cast<std::int32_t>(i)))
      worst = worse(worst, std::abs(x - *there++));
  }
  for (std::size_t i = 0; i < whole.size(); ++i)
    worst_of_rounding = worse(worst_of_rounding, std::abs(whole.data()[i] - unrounded.data()[i]));
  BOOST_TEST(worst < 0.02);
  BOOST_TEST(worst_of_rounding > 1e-3);
}
BOOST_AUTO_TEST_CASE(predictors_in_mixed_precision_continue_from_caches) {
  const auto at_place = [](auto& next, const auto& letter, std::int32_t i) {
    const std::array<std::int32_t, 1> here{i};
    return next(letter, bind<"at">(here));
  };
  rounded_goes_on<all_logits, next_logits>(at_place);
  rounded_goes_on<all_rows, next_row>(at_place);
  rounded_goes_on<all_of_layers, next_of_layers>([](auto& next, const auto& letter, auto) { return next(letter); });
}

BOOST_AUTO_TEST_CASE(all_caches_change_together_at_the_end_of_a_call) {
  constexpr auto a = cache<"a", 2>;
  constexpr auto b = cache<"b", 2>;
  constexpr auto count = cache<"count">;
  constexpr auto counted = updated(a - b + count, count, count + 1_c);
  program<sum(param<"w", 2>)> step;
  step.init(seed{1});
  predictor<outputs(updated(updated(counted, a, b), b, a), a, count + sum(a))> predict{step};
  static_assert(predict.memory().cache_bytes == 3 * 64);
  for (const bool again : {false, true}) {
    if (again) predict.reset();
    for (int number = 0; number < 3; ++number) {
      predict.cache<"a">().fill(number % 2 == 0 ? 1.0F : 2.0F);
      if (number == 0) predict.cache<"b">().fill(2);
      const float sign = number % 2 == 0 ? -1.0F : 1.0F;
      BOOST_TEST(predict.cache<"count">()() == static_cast<float>(number));
      const auto [value, seen, added] = predict();
      BOOST_TEST(value(1) == static_cast<float>(number) + sign);
      BOOST_TEST(seen(0) == 1.5F + sign / 2);
      BOOST_TEST(added == static_cast<float>(number) + 3 + sign);
      BOOST_TEST(predict.cache<"a">()(1) == 1.5F - sign / 2);
      BOOST_TEST(predict.cache<"b">()(1) == 1.5F + sign / 2);
    }
  }
}

// The old value of the cache is read after the new value has been computed. Therefore the new value cannot be computed
// in the place of the old value.
BOOST_AUTO_TEST_CASE(the_old_value_is_read_until_the_end_of_a_call) {
  constexpr auto table = cache<"table", 4, 3>;
  constexpr auto row = indices<"row", 4, 1>;
  constexpr auto next = placed<0>(table, row, input<"x", 1, 3>);
  constexpr auto both = matmul(next, transpose(table));  // reads both values
  program<sum(param<"w", 2>)> step;
  step.init(seed{1});
  predictor<updated(both, table, next)> predict{step};
  const std::array<float, 3> x{1, 2, 3};
  for (const std::int32_t i : {2, 0}) {
    const std::array<std::int32_t, 1> here{i};
    const auto seen = predict(bind<"x">(x), bind<"row">(here));
    const float old = i == 2 ? 0.0F : 14.0F;
    BOOST_TEST(seen(2, 2) == old);
    BOOST_TEST(seen(0, 0) == 0);
    BOOST_TEST(seen(0, 2) == (i == 0 ? 14.0F : 0.0F));
  }
  BOOST_TEST(predict.cache<"table">()(0, 1) == 2);
  BOOST_TEST(predict.cache<"table">()(1, 1) == 0);
  BOOST_TEST(predict.cache<"table">()(2, 2) == 3);
}

BOOST_AUTO_TEST_CASE(a_scan_updates_a_cache_in_each_iteration) {
  constexpr auto xs = input<"xs", 4, 2>;
  constexpr auto body = [](auto h, auto x) {
    constexpr auto sum_so_far = cache<"sum", 2>;
    return updated(h + sum_so_far, sum_so_far, sum_so_far + x);
  };
  constexpr auto made = scan<4, "step">(body, carried(zeros<2>), each(xs));
  program<sum(param<"w", 2>)> step;
  step.init(seed{1});
  predictor<made> predict{step};
  const std::array<float, 8> x{1, 0, 1, 0, 1, 0, 1, 0};
  BOOST_TEST(predict(bind<"xs">(x))(0) == 0 + 1 + 2 + 3);
  BOOST_TEST(predict(bind<"xs">(x))(0) == 4 + 5 + 6 + 7);
  BOOST_TEST(predict.cache<"step.sum">()(0) == 8);
}

// A program computes the first argument of in_training, and has no cache.
BOOST_AUTO_TEST_CASE(a_program_trains_without_the_caches_of_its_predictor) {
  constexpr auto x = param<"x", 2> * 2_c;
  constexpr auto seen = cache<"seen", 2>;
  constexpr auto y = in_training(x, updated(x + seen, seen, x + seen));
  program<sum(y)> step;
  step.init(seed{1});
  step.param<"x">().fill(1);
  BOOST_TEST(step.value_and_grad() == 4);
  predictor<y> predict{step};
  BOOST_TEST(predict()(0) == 2);
  BOOST_TEST(predict()(0) == 4);
  predictor<y> another{step};
  BOOST_TEST(another()(0) == 2);
}

BOOST_AUTO_TEST_CASE(caches_lie_behind_the_arena) {
  constexpr auto seen = cache<"seen", 5>;
  constexpr auto y = updated(seen + 1_c, seen, seen + 1_c);
  program<sum(param<"w", 2>)> step;
  step.init(seed{1});
  using counter = predictor<y>;
  static_assert(counter::memory().cache_bytes == 64 && counter::memory().peak_bytes == 0);
  alignas(memory_alignment) std::byte memory[64];
  BOOST_CHECK_THROW((counter{step, std::span(memory).first(63)}), memory_error);
  BOOST_CHECK_THROW((counter{step, step.arena()}), memory_error);  // where a training step would write over it
  counter predict{step, memory};
  static_cast<void>(predict());
  BOOST_TEST(static_cast<void*>(predict.cache<"seen">().data()) == static_cast<void*>(memory));
  counter moved{std::move(predict)};
  BOOST_TEST(moved()(4) == 2);
  BOOST_CHECK_THROW(predict.reset(), program_error);
  BOOST_CHECK_THROW(predict.cache<"seen">(), program_error);
}

BOOST_AUTO_TEST_SUITE_END()
