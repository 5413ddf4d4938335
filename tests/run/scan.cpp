// Scans have the same bits as their iterations written one after another, under every policy. They evaluate as many
// iterations as their constants say.
#include <boost/test/unit_test.hpp>
#include <cairn/cairn.hpp>
#include <cairn/gradcheck.hpp>
#include <cstring>
#include <vector>

using namespace cairn;

namespace {

template <class View>
std::vector<double> numbers(View view) {
  return {view.data(), view.data() + view.size()};
}
template <class Program>
auto gradients_of(Program& step) {
  std::vector<std::vector<double>> all;
  step.for_each_gradient([&](std::string_view, auto view) { all.push_back(numbers(view)); });
  return all;
}
std::vector<double> some(std::size_t count, std::uint64_t number) {
  std::vector<double> out(count);
  random_sequence draw(seed{3}, number);
  for (double& x : out) x = static_cast<double>(uniform(draw())) - 0.5;
  return out;
}

// Two values are carried, one value is read by each iteration, one value is the same in all iterations, and one value
// is collected.
constexpr int T = 9, rows = 4, width = 3;
constexpr auto h0 = input<"h0", rows, width>;
constexpr auto c0 = input<"c0", rows, width>;
constexpr auto xs = input<"xs", T, rows, width>;
constexpr auto a = tanh(param<"a", width>);
constexpr auto cell = [](auto h, auto c, auto x, auto a) {
  const auto z = matmul(h, param<"/w", width, width>) + x * param<"/v", width> + a;
  const auto next = sigmoid(z) * c + tanh(z);
  return std::tuple{tanh(next) * sigmoid(z), next, square(next)};
};
template <class Policy>
constexpr auto looped = [] {
  const auto [h, c, ys] = scan<T, "step", Policy>(cell, carried(h0, c0), each(xs), a);
  return mean(h * h) + mean(c) + mean(ys * ys);
}();
template <int N, class H, class C, class... Y>
constexpr auto unrolled(H h, C c, Y... y) {
  if constexpr (N == T) {
    return mean(h * h) + mean(c) + mean(square(stack<0>(y...)));
  } else {
    const auto [next_h, next_c, more] = block<"step">(cell, h, c, reshape<rows, width>(slice<0, N, N + 1>(xs)), a);
    return unrolled<N + 1>(next_h, next_c, y..., more);
  }
}
constexpr auto written_out = unrolled<0>(h0, c0);

template <class Real, auto Loss, class... Options>
auto one_step() {
  program<Loss, real<Real>, wrt<"xs", "h0", "c0">, Options...> step;
  step.init(seed{1});
  const auto h = some(rows * width, 1), c = some(rows * width, 2), x = some(T * rows * width, 3);
  const std::vector<Real> hr(h.begin(), h.end()), cr(c.begin(), c.end()), xr(x.begin(), x.end());
  const double value = step.value_and_grad(bind<"h0">(hr), bind<"c0">(cr), bind<"xs">(xr));
  return std::pair{value, gradients_of(step)};
}

// An operation that only counts evaluations.
struct counted_op : op {
  static constexpr fixed_string name = "counted";
  using rule = misuse::equal_shapes;
  static constexpr shape result(const shape& x) { return x; }
  static constexpr auto vjp(auto g, auto, auto) { return gradients(g); }
};
int evaluations = 0;
std::vector<double> read_so_far;  // one number of the state that each evaluation reads, which identifies the iteration
template <class Real, class X>
void compute(counted_op, signature<Real, X>, void* const* operands) {
  ++evaluations;
  read_so_far.push_back(static_cast<double>(*static_cast<const Real*>(operands[1])));
  std::memcpy(operands[0], operands[1], sizeof(Real) * static_cast<std::size_t>(X::shape.count()));
}
constexpr auto counted_cell = [](auto h) { return tanh(make<counted_op>(h)) * param<"/w", 3>; };
template <int Steps, class Policy>
constexpr auto counted_loss = sum(scan<Steps, "step", Policy>(counted_cell, carried(param<"h", 3>)));
/// Returns the evaluations of a training step. They must equal the constant, and F(Steps + 1, S) - 1.
template <int Steps, class Policy>
std::int64_t counted() {
  program<counted_loss<Steps, Policy>> step;
  step.init(seed{1});
  evaluations = 0;
  step.value_and_grad();
  BOOST_TEST(evaluations == step.loops().evaluations);
  return evaluations;
}

/// A policy that counts which actions a training step carries out: actions that save, and actions that load.
int saves = 0, loads = 0;
template <class Policy>
struct watched : Policy {
  template <int Steps>
  struct schedule : Policy::template schedule<Steps> {
    constexpr cairn::detail::reversal::action next() {
      const cairn::detail::reversal::action made = Policy::template schedule<Steps>::next();
      if (!std::is_constant_evaluated()) {
        saves += made.what == cairn::detail::reversal::action::advance && made.slot != cairn::detail::reversal::none;
        loads += made.what == cairn::detail::reversal::action::restore;
      }
      return made;
    }
  };
};
/// The counts must equal the constants. The backward pass goes through the actions of the forward pass once more,
/// without carrying them out. An iteration that is evaluated after a load is never a later iteration than the last. The
/// number of loads is therefore the number of times that iterations do not follow one another.
template <int Steps, class Policy>
void saves_and_loads_are_counted() {
  program<counted_loss<Steps, watched<Policy>>> step;
  step.init(seed{1});
  saves = loads = 0;
  read_so_far.clear();
  step.value_and_grad();
  BOOST_TEST(saves - Policy::template slots<Steps> == step.loops().saves);
  BOOST_TEST(loads == step.loops().loads);
  const std::vector<double> states(read_so_far.begin(), read_so_far.begin() + Steps);
  int back = 0;
  for (std::size_t i = Steps; i < read_so_far.size(); ++i) {
    const auto at = [&](std::size_t k) { return std::ranges::find(states, read_so_far[k]) - states.begin(); };
    BOOST_TEST_REQUIRE(at(i) < Steps);
    back += at(i) != at(i - 1) + 1;
  }
  BOOST_TEST(back == step.loops().loads);
}

// Unusual cases. A value is only passed on, and another value is dropped. Results are unused, and one value is returned
// twice. An index is carried. A body has no parameters. A parameter is also read before and after the scan.
constexpr auto odd = [](auto h, auto before, auto first, auto at, auto x, auto scale) {
  const auto next = tanh(h * param<"/v", width> + before) + gather<0>(param<"/table", 3, width>, at) * x;
  return std::tuple{next, h, first, argmax<-1>(next), next, x, first * scale, square(next)};
};
constexpr auto odd_start = h0 * param<"/v", width>;
template <class Policy>
constexpr auto odd_loop = [] {
  const auto [h, before, first, at, again, seen, scaled, unread] =
      scan<T, "step", Policy>(odd, carried(odd_start, c0, h0, argmax<-1>(c0)), each(xs), 0.5_c);
  return mean(h * before) + mean(first) + mean(again * seen) + mean(scaled) + mean(as_real(at)) +
         mean(param<"/v", width>);
}();
template <int N, class H, class B, class I>
constexpr auto odd_steps(H h, B before, I at, auto... y) {
  if constexpr (N == T) {
    return mean(h * before) + mean(h0) + mean(stack<0>(y...) * xs) + mean(stack<0>(((void)y, h0 * 0.5_c)...)) +
           mean(as_real(at)) + mean(param<"/v", width>);
  } else {
    const auto [next, next_before, first, next_at, again, seen, scaled, unread] =
        block<"step">(odd, h, before, h0, at, reshape<rows, width>(slice<0, N, N + 1>(xs)), 0.5_c);
    return odd_steps<N + 1>(next, next_before, next_at, y..., again);
  }
}

// Scans in scans, in segments and in placed segments. The evaluations of all bodies are counted.
template <class Policy>
constexpr auto counted_loop = [](auto h) { return scan<5, "inner", Policy>(counted_cell, carried(h)) + h; };
template <class Outer, class Inner>
constexpr auto counted_in_loop = sum(
    scan<4, "outer", Outer>([](auto h) { return counted_loop<Inner>(make<counted_op>(h)); }, carried(param<"h", 3>)));
template <class Policy>
constexpr auto counted_in_segment = sum(tanh(ckpt<"all">(counted_loop<Policy>, param<"h", 3>)));
template <class Policy>
constexpr auto counted_layers =
    sum(square(param<"h", 3> | repeat<3, "layer">([](auto) { return layer(counted_loop<Policy>); }) | nn::tanh));
template <auto Loss, class... Options>
void all_evaluations_are_counted() {
  program<Loss, Options...> step;
  step.init(seed{1});
  evaluations = 0;
  step.value_and_grad();
  BOOST_TEST(evaluations == step.loops().evaluations);
}

// The rows that the iterations read are computed before the scan. The backward pass reads them after it has computed
// their gradient, or does not read them.
template <class Policy, bool Read>
constexpr auto reading = [] {
  const auto body = [](auto h, auto x) {
    if constexpr (Read) return tanh(matmul(h, x));
    else return tanh(h + mean<0>(x));
  };
  const auto computed = param<"xs", T, width, width> | nn::linear<"in", width>;
  return mean(square(scan<T, "step", Policy>(body, carried(param<"h0", rows, width>), each(computed))));
}();
template <class Policy>
void room_is_made_where_nothing_is_read() {
  BOOST_TEST((gradcheck<reading<Policy, false>>(seed{1}).relative < 1e-6));
  BOOST_TEST((gradcheck<reading<Policy, true>>(seed{1}).relative < 1e-6));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(scan_)

BOOST_AUTO_TEST_CASE(gradients_in_the_place_of_their_values) {
  room_is_made_where_nothing_is_read<store_all>();
  room_is_made_where_nothing_is_read<revolve<2>>();
  room_is_made_where_nothing_is_read<segment_every<4>>();
}

BOOST_AUTO_TEST_CASE(a_scan_has_the_bits_of_its_iterations_written_out) {
  const auto expected = one_step<double, written_out>();
  BOOST_TEST((one_step<double, looped<store_all>>() == expected));
  BOOST_TEST((one_step<double, looped<revolve<1>>>() == expected));
  BOOST_TEST((one_step<double, looped<revolve<2>>>() == expected));
  BOOST_TEST((one_step<double, looped<revolve<T>>>() == expected));
  BOOST_TEST((one_step<double, looped<two_level<4, 2>>>() == expected));
  BOOST_TEST((one_step<double, looped<segment_every<4>>>() == expected));
}

BOOST_AUTO_TEST_CASE(unusual_bodies) {
  const auto expected = one_step<double, odd_steps<0>(odd_start, c0, argmax<-1>(c0))>();
  const auto close = [&](const auto& seen) {
    BOOST_TEST(std::abs(seen.first - expected.first) < 1e-14);
    for (std::size_t i = 0; i < expected.second.size(); ++i) {
      for (std::size_t k = 0; k < expected.second[i].size(); ++k)
        BOOST_TEST(std::abs(seen.second.at(i).at(k) - expected.second[i][k]) < 1e-14);
    }
  };
  close(one_step<double, odd_loop<store_all>>());
  close(one_step<double, odd_loop<revolve<3>>>());
  const auto stored = one_step<float, odd_loop<store_all>>();
  BOOST_TEST((one_step<float, odd_loop<revolve<1>>>() == stored));
  BOOST_TEST((one_step<float, odd_loop<two_level<5, 3>>>() == stored));
  BOOST_TEST((one_step<float, odd_loop<segment_every<3>>>() == stored));
}

BOOST_AUTO_TEST_CASE(saves_and_loads_equal_the_constants) {
  saves_and_loads_are_counted<9, revolve<1>>();
  saves_and_loads_are_counted<31, revolve<3>>();
  saves_and_loads_are_counted<40, revolve<10>>();
  saves_and_loads_are_counted<20, two_level<5, 2>>();
  saves_and_loads_are_counted<20, segment_every<6>>();
}
BOOST_AUTO_TEST_CASE(evaluations_are_the_fewest) {
  // F(T + 1, S) - 1 of Griewank and Walther (2000), because the turn is not an iteration
  BOOST_TEST((counted<9, revolve<1>>() == 55 - 1));
  BOOST_TEST((counted<9, revolve<2>>() == 30 - 1));
  BOOST_TEST((counted<9, revolve<3>>() == 25 - 1));
  BOOST_TEST((counted<9, revolve<4>>() == 24 - 1));
  BOOST_TEST((counted<9, revolve<5>>() == 23 - 1));
  BOOST_TEST((counted<9, revolve<9>>() == 19 - 1));
  BOOST_TEST((counted<9, store_all>() == 9));
  BOOST_TEST((counted<9, two_level<3, 1>>() == 9 + 3 * 6));
  BOOST_TEST((counted<9, segment_every<4>>() == 9 + 9));
  BOOST_TEST((counted<15, revolve<2>>() == 61 - 1));
  BOOST_TEST((counted<15, revolve<3>>() == 49 - 1));
  BOOST_TEST((counted<15, revolve<4>>() == 43 - 1));
  BOOST_TEST((counted<31, revolve<3>>() == 125 - 1));
  BOOST_TEST((counted<99, revolve<5>>() == 416 - 1));
  BOOST_TEST((counted<99, revolve<10>>() == 322 - 1));
  BOOST_TEST((counted<99'999, revolve<10>>() == 932'040 - 1));
}
BOOST_AUTO_TEST_CASE(evaluations_of_scans_in_other_scans) {
  all_evaluations_are_counted<counted_in_loop<revolve<1>, revolve<2>>>();
  all_evaluations_are_counted<counted_in_loop<store_all, revolve<2>>>();
  all_evaluations_are_counted<counted_in_loop<two_level<2, 1>, store_all>>();
  all_evaluations_are_counted<counted_in_segment<revolve<2>>>();
  all_evaluations_are_counted<counted_in_segment<store_all>>();
  all_evaluations_are_counted<counted_layers<revolve<1>>>();
}

BOOST_AUTO_TEST_SUITE_END()
