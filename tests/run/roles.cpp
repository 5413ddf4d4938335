// One value in several roles: as several arguments of a scan or of an operation. Its gradient is the sum over all
// roles.
#include <algorithm>
#include <array>
#include <iterator>
#include <vector>

#include "gradients.hpp"

BOOST_AUTO_TEST_SUITE(roles)

constexpr auto x = param<"x", 3>;
constexpr auto rows = param<"rows", 3, 3>;

namespace loops {
constexpr auto scaled = [](auto h, auto s) { return tanh(h) * s + sin(s); };
constexpr auto exchanged = [](auto h, auto c) { return std::tuple{tanh(h) * c, sin(c) + h * 0.5_c}; };
constexpr auto reads_x = [](auto h, auto s) { return tanh(h) * param<"/x", 3> + s; };
/// A layer that is a scan. Both arguments of the scan are the same value.
template <class P>
constexpr auto on_itself = layer([](auto v) { return scan<3, "on itself", P>(scaled, carried(v), v); });

template <class P>
constexpr auto carried_and_same = weighted(scan<3, "l", P>(scaled, carried(x), x));
template <class P>
constexpr auto carried_same_and_read = weighted(scan<3, "l", P>(reads_x, carried(x), x) + x);
template <class P>
constexpr auto carried_twice = [] {
  const auto [h, c] = scan<3, "l", P>(exchanged, carried(x, x));
  return weighted(h * c);
}();
template <class P>
constexpr auto each_twice_and_same = [] {
  const auto body = [](auto h, auto r, auto q, auto all) { return tanh(h) * r + q * mean(all); };
  return weighted(scan<3, "l", P>(body, carried(x), each(rows, rows), rows));
}();
template <class P>
constexpr auto carried_and_each = [] {
  const auto body = [](auto h, auto r) { return tanh(matmul(h, h)) * r; };
  return weighted(scan<3, "l", P>(body, carried(rows), each(rows)));
}();
template <class P>
constexpr auto computed_in_three_roles = [] {
  const auto body = [](auto h, auto r, auto all) { return tanh(matmul(h, all)) * r; };
  const auto y = sin(rows);
  return weighted(scan<3, "l", P>(body, carried(y), each(y), y) * y);
}();
/// A part of the value, together with the whole value.
template <class P>
constexpr auto part_and_whole = [] {
  const auto body = [](auto h, auto r, auto a, auto b) { return tanh(h) * r + mean<0>(a * sin(b)); };
  return weighted(scan<3, "l", P>(body, carried(reshape<3>(slice<0, 1, 2>(rows))), each(rows), rows, rows));
}();
template <class P>
constexpr auto same_twice = [] {
  const auto body = [](auto h, auto a, auto b) { return tanh(h * a) * b; };
  return weighted(scan<3, "l", P>(body, carried(x), x, x));
}();
template <class P>
constexpr auto nested = [] {
  const auto body = [](auto h, auto s) {
    return scan<2, "i", P>(scaled, carried(h * s), s) + scan<2, "j", P>(scaled, carried(h), h) +
           scan<2, "k", P>(reads_x, carried(s), s) * param<"/x", 3>;
  };
  return weighted(scan<3, "l", P>(body, carried(x), x));
}();
template <class P>
constexpr auto in_segment = weighted(x | ckpt<"s">(nn::residual(on_itself<P>) | nn::tanh));
template <class P>
constexpr auto in_repeat =
    weighted(x | repeat<2, "r">([](auto) { return layer([](auto v) { return (v | on_itself<P>)+param<"/x", 3>; }); }));
template <class P>
constexpr auto in_shared_layer = [] {
  constexpr auto twice = layer([](auto v) { return scan<2, "l", P>(scaled, carried(v * param<"q", 3>), v); });
  return weighted(x | twice | shared(twice));
}();
template <class P>
constexpr auto slope_in_body = [] {
  const auto body = [](auto h, auto s) { return tanh(h) * s + grad(sum(square(h) * s * s), s); };
  return weighted(scan<3, "l", P>(body, carried(x), x));
}();
template <class P>
constexpr auto with_state = [] {
  const auto body = [](auto h, auto s, auto t) {
    constexpr auto past = state<"/past", initial::constant(0.5), 3>;
    return updated(tanh(h) * s + past * t, past, 0.9_c * past + 0.1_c);
  };
  return weighted(scan<3, "l", P>(body, carried(x), x, state<"past", initial::constant(0.5), 3>));
}();
}  // namespace loops

BOOST_AUTO_TEST_CASE(roles_in_a_scan) {
  check<loops::carried_and_same<store_all>>();
  check<loops::carried_and_same<revolve<2>>>();
  check<loops::carried_and_same<two_level<2, 1>>>();
  check<loops::carried_and_same<segment_every<2>>>();
  check<loops::carried_and_same<fit<1>>>();
  check<loops::carried_same_and_read<revolve<1>>>();
  check<loops::carried_twice<segment_every<2>>>();
  check<loops::each_twice_and_same<store_all>>();
  check<loops::each_twice_and_same<revolve<2>>>();
  check<loops::carried_and_each<two_level<2, 1>>>();
  check<loops::computed_in_three_roles<store_all>>();
  check<loops::computed_in_three_roles<segment_every<2>>>();
  check<loops::part_and_whole<fit<1>>>();
  check<loops::same_twice<revolve<2>>>();
}
BOOST_AUTO_TEST_CASE(roles_in_scans_in_other_scopes) {
  check<loops::nested<revolve<2>>>();
  check<loops::nested<store_all>>();
  check<loops::in_segment<two_level<2, 1>>>();
  check<loops::in_repeat<revolve<1>>>();
  check<loops::in_shared_layer<segment_every<2>>>();
  check<loops::slope_in_body<store_all>>();
  check<loops::with_state<revolve<2>>>();
}
BOOST_AUTO_TEST_CASE(roles_of_a_bound_input) {
  constexpr auto in = input<"in", 3>;
  const std::array<double, 3> numbers{0.3, -0.7, 1.1};
  check<weighted(scan<3, "l", revolve<2>>(loops::scaled, carried(in * x), in)), wrt<"in">>(bind<"in">(numbers));
  check<weighted(scan<3, "l">(loops::scaled, carried(in), in)), wrt<"in">>(bind<"in">(numbers));
}

// ---- Operations, and gradients of their gradients. All arguments that may be equal are one value.

/// Returns a sum over a tensor. Each number has a weight of its own.
template <class X>
constexpr auto graded(X x) {
  return []<int... Axis>(X y, std::integer_sequence<int, Axis...>) {
    return sum(y * generated<X::shape.extent[Axis]...>([](auto... i) {
                 double weight = 0.5;
                 ((weight = 0.7 * weight + 0.3 * i), ...);
                 return weight;
               }));
  }(x, std::make_integer_sequence<int, X::shape.rank>{});
}
/// Returns a loss plus the squared norm of its gradient. The loss depends on one parameter.
template <auto Loss, auto Leaf>
constexpr auto with_slope = Loss + sum(square(grad(Loss, Leaf)));
constexpr auto square_matrix = param<"m", 3, 3>;
constexpr auto batch_of_rows = param<"t", 2, 3, 4>;

BOOST_AUTO_TEST_CASE(roles_in_elementwise_operations) {
  constexpr auto y = graded(x + x) + graded(x * x) + graded(x - sin(x) * x) + graded(x / (x * x + 1_c)) +
                     graded(maximum(x, x)) + graded(minimum(x, x) * x) + graded(where(x < x, x, x) * x) +
                     graded(clamp(x, x, x) * x) + graded(x * reshape<1>(slice<0, 1, 2>(x)));
  check<with_slope<y, x>>();
}
BOOST_AUTO_TEST_CASE(roles_in_products_and_concatenations) {
  constexpr auto m = square_matrix;
  constexpr auto y = graded(matmul(m, m)) + graded(matmul(transpose(m), m)) + graded(matmul(m, transpose(m))) +
                     graded(matmul(transpose(m), transpose(m))) + graded(square(concatenate<0>(m, m, m))) +
                     graded(square(stack<1>(m, m))) + graded(placed<0>(m, arange<1>, m));
  check<with_slope<y, square_matrix>>();
}
BOOST_AUTO_TEST_CASE(roles_in_losses) {
  constexpr auto m = square_matrix;
  constexpr auto y = mse(m, m) + mse(m, m * m) + nn::l1(m, m) + huber(m, m * m) +
                     binary_cross_entropy_with_logits(m, m) +
                     cross_entropy(m, arange<3>, reshape<3>(slice<0, 1, 2>(m)), reshape<3>(slice<0, 1, 2>(m)));
  check<with_slope<y, square_matrix>>();
}
BOOST_AUTO_TEST_CASE(roles_in_attention_and_convolution) {
  constexpr auto q = reshape<2, 3, 2, 2>(batch_of_rows);
  // {N, H, W, C}, which are {O, C, rows, columns} as filters
  constexpr auto image = reshape<2, 2, 3, 2>(batch_of_rows);
  constexpr auto y = graded(nn::attention(q, q, q)) + graded(nn::attention(q, q, q, nn::causal)) +
                     graded(conv2d<nn::window{.padding = 1}>(image, image)) + graded(conv_transpose2d(image, image));
  check<y>();
  check<graded(nn::cross_attention<"at", 2>(batch_of_rows, batch_of_rows))>();
}
BOOST_AUTO_TEST_CASE(roles_in_layers) {
  constexpr auto m = square_matrix;
  constexpr auto lstm = [](auto v) {
    const auto [h, c] = nn::lstm_cell<"lstm", 3>(v, v, v);
    return h * c;
  };
  constexpr auto y = graded(lstm(m)) + graded(nn::gru_cell<"gru", 3>(m, m)) + graded(nn::rnn_cell<"rnn", 3>(m, m)) +
                     graded(m | nn::residual(nn::linear<"f", 3>, nn::linear<"/f", 3>));
  check<y>();
  constexpr auto both = [](auto a, auto b, auto c) { return tanh(a * b) + sin(c) * a; };
  constexpr auto calls = graded(ckpt<"s", allow_useless>(both, m, m, m)) + graded(block<"b">(both, m, m, m));
  check<with_slope<calls, square_matrix>>();
}

// The body reads parameters that are stored as bf16. An argument of the scan is one of these parameters in float.
constexpr auto halves_loss = [] {
  const auto body = [](auto h, auto s, auto m) {
    return tanh(matmul(h, param<"/m", 3, 3>)) * s * param<"/x", 3> + matmul(h, m) * 0.5_c;
  };
  constexpr auto m = param<"m", 3, 3>;
  return mean(square(scan<3, "l", revolve<2>>(body, carried(frozen<"start", 4, 3> * x), x, m) + x)) + mean(square(m));
}();
template <class... Options>
std::vector<float> gradients_of_halves() {
  program<halves_loss, update<sgd_options{}>, clip<1e9>, Options...> step;
  step.init(seed{1});
  const auto fill = [](auto numbers) {  // fill with numbers that bf16 holds exactly
    float next = 1.375F;
    for (auto& number : numbers) number = static_cast<std::remove_reference_t<decltype(number)>>(next -= 0.125F);
  };
  fill(step.template param<"x">());
  fill(step.template param<"m">());
  step.train({.lr = 0.0});
  std::vector<float> all;
  std::ranges::copy(step.template grad<"x">(), std::back_inserter(all));
  std::ranges::copy(step.template grad<"m">(), std::back_inserter(all));
  return all;
}
BOOST_AUTO_TEST_CASE(roles_of_a_parameter_stored_as_bf16) {
  const auto stored = gradients_of_halves<mixed<bf16, stochastic_rounding>>(), floats = gradients_of_halves<>();
  for (std::size_t i = 0; i < floats.size(); ++i)
    BOOST_TEST(stored[i] == floats[i], boost::test_tools::tolerance(0.01F));
}

BOOST_AUTO_TEST_SUITE_END()
