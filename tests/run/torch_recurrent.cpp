// Recurrent layers and their cells compute the same values and gradients as PyTorch's, in double. Their parameters have
// the names of PyTorch's state dicts. tests/kept/torch_values.py defines PyTorch's models.
#include "torch_values.hpp"

namespace {

/// Joins all results into one row.
constexpr auto flat = [](auto... made) {
  const auto row = [](auto y) { return reshape<static_cast<int>(y.shape.count())>(y); };
  if constexpr (sizeof...(made) == 1) return (row(made), ...);
  else return concatenate<0>(row(made)...);
};
constexpr nn::recurrent_options two{.num_layers = 2}, both{.num_layers = 2, .bidirectional = true};
template <auto Layer, auto... Begin>
constexpr auto whole = [](auto x) {
  const auto made = Layer(x, Begin...);
  if constexpr (an_expression<std::remove_const_t<decltype(made)>>) return flat(made);
  else return std::apply(flat, made);
};

/// Saturated gates in float. In float, too, their values are 0 or 1, and the gradients agree.
template <auto Layer>
void saturated_in_float(const std::string& name) {
  program<whole<Layer>(1'000'000_c * param<"x", 2, 3, 3>), cotangent<"cotangent">> step;
  const auto fill = [](std::string_view leaf, auto view) {
    for (std::size_t i = 0; i < view.size(); ++i) view.data()[i] = static_cast<float>(filled(leaf, i));
  };
  step.for_each_parameter(fill);
  std::array<float, 30> cotangents;
  fill("cotangent", std::span(cotangents));
  compare(name, step.value_and_grad(bind<"cotangent">(cotangents)), 1e-6);
  step.for_each_gradient([&name](std::string_view leaf, auto view) { compare(name + '.' + std::string(leaf), view, 1e-6); });
}

/// One kind of unit in all forms: a layer, two layers with another policy, two bidirectional layers, a layer of three
/// units, a cell, and the states of all of them.
template <auto One, auto Two, auto Both, auto Small, auto Cell, fixed_string... State>
void all_of(const std::string& name) {
  agrees<whole<One, param<State, 1, 2, 5>...>(param<"x", 2, 4, 3>)>(name);
  agrees<whole<Two, param<State, 2, 2, 5>...>(param<"x", 2, 3, 3>)>(name + "_layers");
  agrees<whole<Both, param<State, 4, 2, 4>...>(param<"x", 2, 3, 3>)>(name + "_bidirectional");
  agrees<whole<Small>(param<"x", 1, 1, 2>)>(name + "_once");
  agrees<whole<One>(1'000'000_c * param<"x", 2, 3, 3>)>(name + "_saturated");
  agrees<whole<Cell, param<State, 2, 5>...>(param<"x", 2, 3>)>(name + "_cell");
}

}  // namespace

BOOST_AUTO_TEST_SUITE(torch_recurrent)

BOOST_AUTO_TEST_CASE(rnn) {
  all_of<nn::rnn<"n", 5>, nn::rnn<"n", 5, two, revolve<2>>, nn::rnn<"n", 4, both>, nn::rnn<"n", 3>, nn::rnn_cell<"n", 5>, "h">("rnn");
  saturated_in_float<nn::rnn<"n", 5>>("rnn_saturated");
}
BOOST_AUTO_TEST_CASE(gru) {
  all_of<nn::gru<"n", 5>, nn::gru<"n", 5, two, revolve<2>>, nn::gru<"n", 4, both>, nn::gru<"n", 3>, nn::gru_cell<"n", 5>, "h">("gru");
  saturated_in_float<nn::gru<"n", 5>>("gru_saturated");
}
BOOST_AUTO_TEST_CASE(lstm) {
  all_of<nn::lstm<"n", 5>, nn::lstm<"n", 5, two, revolve<2>>, nn::lstm<"n", 4, both>, nn::lstm<"n", 3>, nn::lstm_cell<"n", 5>, "h", "c">("lstm");
  saturated_in_float<nn::lstm<"n", 5>>("lstm_saturated");
}

BOOST_AUTO_TEST_SUITE_END()
