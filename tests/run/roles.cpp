// One value in several roles: as several arguments of a loop or an operation. Its gradient is the sum over all roles.
#include "gradients.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <vector>

BOOST_AUTO_TEST_SUITE(roles)

constexpr auto x = param<"x", 3>;
constexpr auto rows = param<"rows", 3, 3>;

namespace loops {
constexpr auto scaled = [](auto h, auto s) { return tanh(h) * s + sin(s); };
constexpr auto exchanged = [](auto h, auto c) { return std::tuple{tanh(h) * c, sin(c) + h * 0.5_c}; };
constexpr auto reads_x = [](auto h, auto s) { return tanh(h) * param<"/x", 3> + s; };
/// A loop whose two arguments are one value, as a layer.
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
/// A part of the value, next to the value itself.
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

BOOST_AUTO_TEST_CASE(of_a_loop) {
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
BOOST_AUTO_TEST_CASE(of_loops_in_other_scopes) {
  check<loops::nested<revolve<2>>>();
  check<loops::nested<store_all>>();
  check<loops::in_segment<two_level<2, 1>>>();
  check<loops::in_repeat<revolve<1>>>();
  check<loops::in_shared_layer<segment_every<2>>>();
  check<loops::slope_in_body<store_all>>();
  check<loops::with_state<revolve<2>>>();
}
BOOST_AUTO_TEST_CASE(of_a_bound_input) {
  constexpr auto in = input<"in", 3>;
  const std::array<double, 3> numbers{0.3, -0.7, 1.1};
  check<weighted(scan<3, "l", revolve<2>>(loops::scaled, carried(in * x), in)), wrt<"in">>(bind<"in">(numbers));
  check<weighted(scan<3, "l">(loops::scaled, carried(in), in)), wrt<"in">>(bind<"in">(numbers));
}

// The body reads parameters that are stored as bf16, and an argument is one of them in floats.
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
  const auto fill = [](auto numbers) {  // with numbers that bf16 has
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
BOOST_AUTO_TEST_CASE(of_a_parameter_stored_as_bf16) {
  const auto stored = gradients_of_halves<mixed<bf16, stochastic_rounding>>(), floats = gradients_of_halves<>();
  for (std::size_t i = 0; i < floats.size(); ++i)
    BOOST_TEST(stored[i] == floats[i], boost::test_tools::tolerance(0.01F));
}

BOOST_AUTO_TEST_SUITE_END()
