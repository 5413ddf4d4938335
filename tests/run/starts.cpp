// How parameters start: the laws of `initial`, and the starts that layers are given.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cairn/cairn.hpp>
#include <cmath>
#include <string_view>
#include <vector>

namespace {

using namespace cairn;

/// Returns the mean of the nth powers of the numbers.
double moment(const auto& numbers, int n) {
  double sum = 0;
  for (const double x : numbers) sum += std::pow(x, n);
  return sum / static_cast<double>(numbers.size());
}
double largest(const auto& numbers) {
  double most = 0;
  for (const double x : numbers) most = std::max(most, std::abs(x));
  return most;
}

/// Returns by how much the rows of a matrix {rows, columns} fail to be orthogonal rows of length `gain`. If
/// `transposed`, the columns of a matrix {columns, rows} are looked at instead.
double orthogonality_error(const auto& numbers, std::size_t rows, std::size_t columns, double gain, bool transposed) {
  const auto at = [&](std::size_t i, std::size_t j) {
    return static_cast<double>(numbers.data()[transposed ? j * rows + i : i * columns + j]);
  };
  double worst = 0;
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t k = 0; k <= i; ++k) {
      double product = i == k ? -gain * gain : 0;
      for (std::size_t j = 0; j < columns; ++j) product += at(i, j) * at(k, j);
      worst = std::max(worst, std::abs(product));
    }
  }
  return worst;
}

BOOST_AUTO_TEST_CASE(numbers_have_the_moments_of_their_laws) {
  constexpr int many = 20000;
  program<mean(param_from<"truncated", initial::truncated_normal(0.5), many>) +
              mean(param_from<"kaiming", initial::kaiming(), many / 24, 4, 6>) +
              mean(param_from<"kaiming_normal", initial::kaiming_normal(), many / 8, 4, 2>) +
              mean(param_from<"xavier", initial::xavier(), 100, 200>) +
              mean(param_from<"xavier_normal", initial::xavier_normal(), 100, 50, 4>),
          real<double>>
      step;
  step.init(seed{3});
  // The bounds on moments are four deviations of the mean of 20000 numbers.
  const auto truncated = step.param<"truncated">();
  BOOST_TEST(largest(truncated) <= 1);
  BOOST_TEST(largest(truncated) > 0.98);
  BOOST_TEST(std::abs(moment(truncated, 1)) < 0.0125);
  // 0.7737 is the variance of a standard normal number between -2 and 2, and 1.4162 is the mean of its fourth power.
  BOOST_TEST(std::abs(moment(truncated, 2) - 0.25 * 0.7737) < 0.0065);
  BOOST_TEST(std::abs(moment(truncated, 4) - 0.0625 * 1.4162) < 0.0065);

  BOOST_TEST(largest(step.param<"kaiming">()) < 0.5);  // sqrt(6 / 24)
  BOOST_TEST(largest(step.param<"kaiming">()) > 0.499);
  const auto kaiming_normal = step.param<"kaiming_normal">();
  BOOST_TEST(std::abs(moment(kaiming_normal, 2) - 0.25) < 0.01);  // 2 / 8
  BOOST_TEST(std::abs(moment(kaiming_normal, 4) - 3 / 16.0) < 0.018);
  BOOST_TEST(largest(step.param<"xavier">()) < 0.141422);  // sqrt(6 / (200 + 100))
  BOOST_TEST(largest(step.param<"xavier">()) > 0.1413);
  const auto xavier_normal = step.param<"xavier_normal">();
  BOOST_TEST(std::abs(moment(xavier_normal, 2) * 300 - 1) < 0.04);  // 2 / (200 + 400)
  BOOST_TEST(std::abs(moment(xavier_normal, 4) * 90000 - 3) < 0.28);
}

BOOST_AUTO_TEST_CASE(orthogonal_matrices_are_orthogonal) {
  constexpr auto square = param_from<"square", initial::orthogonal(), 50, 50>;
  constexpr auto wide = param_from<"wide", initial::orthogonal(2), 17, 5, 4, 2>;
  constexpr auto tall = param_from<"tall", initial::orthogonal(0.5), 40, 33>;
  constexpr auto one = param_from<"one", initial::orthogonal(3), 1, 1>;
  constexpr auto loss = mean(square) + mean(wide) + mean(tall) + mean(one);
  program<loss, real<double>> step;
  for (const std::uint64_t n : {1U, 2U, 3U}) {
    step.init(seed{n});
    BOOST_TEST(orthogonality_error(step.param<"square">(), 50, 50, 1, false) < 3e-15);
    BOOST_TEST(orthogonality_error(step.param<"square">(), 50, 50, 1, true) < 3e-15);
    BOOST_TEST(orthogonality_error(step.param<"wide">(), 17, 40, 2, false) < 1e-14);
    BOOST_TEST(orthogonality_error(step.param<"tall">(), 33, 40, 0.5, true) < 3e-15);
    BOOST_TEST(std::abs(step.param<"one">()(0, 0)) == 3);
  }
  // All floats are the doubles, rounded.
  program<loss> floats;
  floats.init(seed{3});
  BOOST_TEST(std::ranges::equal(floats.param<"tall">(), step.param<"tall">(),
                                [](float a, double b) { return a == static_cast<float>(b); }));
}

// The first row of an orthogonal matrix, and therefore each row, points into each direction with equal probability.
BOOST_AUTO_TEST_CASE(orthogonal_matrices_have_no_preferred_direction) {
  program<mean(param_from<"w", initial::orthogonal(), 2, 2>), real<double>> step;
  double of_first = 0, of_last = 0, determinants = 0, products = 0;
  constexpr int draws = 1000;
  for (std::uint64_t n = 0; n < draws; ++n) {
    step.init(seed{n});
    const auto w = step.param<"w">();
    of_first += w(0, 0);
    of_last += w(1, 1);
    determinants += w(0, 0) * w(1, 1) - w(0, 1) * w(1, 0);
    products += w(0, 0) * w(0, 0);
  }
  BOOST_TEST(std::abs(of_first / draws) < 0.09);  // four deviations of the mean of 1000 cosines
  BOOST_TEST(std::abs(of_last / draws) < 0.09);
  BOOST_TEST(std::abs(determinants / draws) < 0.13);
  BOOST_TEST(std::abs(products / draws - 0.5) < 0.045);
}

BOOST_AUTO_TEST_CASE(a_start_depends_on_the_seed_and_the_name_alone) {
  constexpr auto w = param_from<"w", initial::orthogonal(), 20, 20>;
  constexpr auto t = param_from<"t", initial::truncated_normal(1), 20, 20>;
  program<mean(w) + mean(t)> both;
  program<mean(t) + mean(param<"first", 7>)> other;
  program<mean(w)> alone;
  both.init(seed{7});
  other.init(seed{7});
  alone.init(seed{7});
  BOOST_TEST(std::ranges::equal(both.param<"w">(), alone.param<"w">()));
  BOOST_TEST(std::ranges::equal(both.param<"t">(), other.param<"t">()));
  alone.init(seed{8});
  BOOST_TEST(!std::ranges::equal(both.param<"w">(), alone.param<"w">()));
}

// Each weight starts as constant(2), except for the weights after attention and at the end of a residual branch. Each
// bias starts as zeros.
BOOST_AUTO_TEST_CASE(layers_start_as_they_are_told) {
  constexpr initial two = initial::constant(2), three = initial::constant(3);
  constexpr auto photos = input<"photos", 2, 6, 6, 4>;
  constexpr auto rows = input<"rows", 2, 6, 4>;
  constexpr nn::attention_options heads{.start = two, .start_out = three};
  constexpr auto of_photos =
      mean(photos | nn::conv2d<"c1", 4, 3, nn::window{}, two> | nn::conv2d_without_bias<"c2", 4, 3, nn::window{}, two> |
           nn::conv_transpose2d<"c3", 4, 3, nn::window{}, two>) +
      mean(photos | nn::conv_transpose2d_without_bias<"c4", 4, 3, nn::window{}, two>);
  constexpr auto of_rows =
      mean(rows | nn::conv1d<"r1", 4, 3, nn::window{}, two> | nn::conv1d_without_bias<"r2", 4, 3, nn::window{}, two>) +
      mean(rows | nn::linear<"r3", 4, two> | nn::linear_without_bias<"r4", 4, two> | nn::swiglu<"r5", 5, two>) +
      mean(rows | nn::self_attention<"a1", 2, heads>) + mean(nn::cross_attention<"a2", 2, heads>(rows, rows)) +
      mean(nn::cross_attention<"a3", 2, heads>(rows, input<"memory", 2, 3, 5>)) +
      mean(rows | block<"a4">(nn::transformer_block<2, nn::transformer_options{.start = two, .start_out = three}>));
  constexpr nn::recurrent_options units{.num_layers = 2, .start = two};
  constexpr auto step_of = reshape<12, 4>(rows);
  constexpr auto of_steps =
      mean(rows | nn::rnn<"u1", 3, units> | nn::gru<"u2", 3, units> | nn::lstm<"u3", 3, units>) +
      mean(nn::rnn_cell<"u4", 3, two>(step_of)) + mean(nn::gru_cell<"u5", 3, two>(step_of)) +
      mean(std::get<0>(nn::lstm_cell<"u6", 3, two>(step_of, zeros<12, 3>, zeros<12, 3>))) +
      nn::linear_cross_entropy<"u7", 5, nn::linear_cross_entropy_options{}, two>(step_of, labels<"y", 5, 12>);
  const auto check = [](auto& step) {
    step.init(seed{3});
    step.for_each_parameter([](std::string_view name, auto view) {
      const bool is_out = name.ends_with("out_proj.weight") || name.ends_with("linear2.weight");
      const bool is_norm = name.find("norm") != name.npos;
      const bool is_weight = name.find("weight") != name.npos;
      const double expected = is_out ? 3 : is_norm && is_weight ? 1 : is_weight ? 2 : 0;
      BOOST_TEST(std::ranges::count(view, expected) == std::ssize(view), name << " starts as " << view.data()[0]);
    });
  };
  program<of_photos, real<double>> photo_step;
  program<of_rows, real<double>> row_step;
  program<of_steps, real<double>> unit_step;
  check(photo_step);
  check(row_step);
  check(unit_step);
}

// A language model with small weights predicts each token with nearly equal probability. With the weights of PyTorch's
// layers, its loss is far above that.
BOOST_AUTO_TEST_CASE(a_language_model_starts_at_the_loss_of_equal_probabilities) {
  constexpr int tokens = 97, batch = 2, length = 16, width = 32;
  constexpr auto loss =
      []<nn::transformer_options O, nn::embedding_options OfTokens, nn::embedding_options OfPositions> {
        const auto text = indices<"text", tokens, batch, length>;
        const auto x =
            (text | nn::embedding<"wte", width, OfTokens>)+(arange<length> | nn::embedding<"wpe", width, OfPositions>);
        const auto h = x | repeat<2, "h">([](auto) { return nn::transformer_block<4, O>; }) | nn::layer_norm<"ln_f">;
        return cross_entropy(h | nn::tied_linear<"/wte.weight", tokens>, labels<"next", tokens, batch, length>);
      };
  constexpr initial small = initial::normal(0.02), out = initial::normal(0.02 / 2);
  constexpr nn::transformer_options told{.causal = true, .start = small, .start_out = out};
  constexpr nn::embedding_options of_tokens{.start = small}, of_positions{.start = initial::normal(0.01)};
  program<loss.template operator()<told, of_tokens, of_positions>()> step;
  program<loss.template
          operator()<nn::transformer_options{.causal = true}, nn::embedding_options{}, nn::embedding_options{}>()>
      untold;
  std::vector<std::int32_t> text(batch * length), next(batch * length);
  for (std::size_t i = 0; i < text.size(); ++i) {
    text[i] = static_cast<std::int32_t>(i * 31 % tokens);
    next[i] = static_cast<std::int32_t>((i + 1) * 31 % tokens);
  }
  step.init(seed{3});
  untold.init(seed{3});
  BOOST_TEST(std::abs(step.value_and_grad(bind<"text">(text), bind<"next">(next)) - std::log(97)) < 0.3);
  BOOST_TEST(untold.value_and_grad(bind<"text">(text), bind<"next">(next)) > std::log(97) + 1);
}

// The weights of the states have a start of their own. It leaves the other parameters as they are.
BOOST_AUTO_TEST_CASE(weights_of_states_start_as_layers_are_told) {
  constexpr initial two = initial::constant(2), columns = initial::orthogonal();
  constexpr auto rows = input<"rows", 2, 6, 4>;
  constexpr nn::recurrent_options both{.bidirectional = true, .start_hh = columns};
  program<mean(rows | nn::gru<"a", 4, both> |
               nn::lstm<"b", 4, nn::recurrent_options{.start = two, .start_hh = columns}>),
          real<double>>
      step;
  step.init(seed{3});
  BOOST_TEST(orthogonality_error(step.param<"a.weight_hh_l0">(), 4, 12, 1, true) < 3e-15);
  BOOST_TEST(orthogonality_error(step.param<"a.weight_hh_l0_reverse">(), 4, 12, 1, true) < 3e-15);
  BOOST_TEST(orthogonality_error(step.param<"b.weight_hh_l0">(), 4, 16, 1, true) < 3e-15);
  BOOST_TEST(largest(step.param<"a.weight_ih_l0">()) <= 0.5);  // 1 / sqrt(4)
  BOOST_TEST(largest(step.param<"a.bias_hh_l0">()) > 0.25);
  BOOST_TEST(std::ranges::min(step.param<"b.weight_ih_l0">()) == 2);
  BOOST_TEST(largest(step.param<"b.bias_hh_l0">()) == 0);
}

// A bias starts as the layer is told, also if the layer is not told how its weight starts.
BOOST_AUTO_TEST_CASE(biases_start_as_layers_are_told) {
  constexpr initial in_torch = initial::unspecified(), five = initial::constant(5);
  constexpr auto rows = input<"rows", 2, 6, 4>;
  program<mean(rows | nn::linear<"a", 4, in_torch, five> | nn::conv1d<"b", 4, 3, nn::window{}, in_torch, five> |
               nn::gru<"c", 4, nn::recurrent_options{.start_bias = five}> |
               nn::self_attention<"d", 2, nn::attention_options{.start_bias = five}> |
               block<"e">(nn::transformer_block<2, nn::transformer_options{.start_bias = five}>))>
      step;
  step.init(seed{3});
  for (const std::string_view layer : {"a", "b", "c", "d", "e.l", "e.self_attn"}) {
    double least = 5;
    step.for_each_parameter([&](std::string_view name, auto view) {
      if (name.starts_with(layer) && name.find("bias") != name.npos)
        least = std::min<double>(least, std::ranges::min(view));
    });
    BOOST_TEST(least == 5, layer << " has a bias that starts as " << least);
  }
  BOOST_TEST(largest(step.param<"a.weight">()) <= 0.5);  // 1 / sqrt(4)
  BOOST_TEST(largest(step.param<"a.weight">()) > 0.25);
}

}  // namespace
