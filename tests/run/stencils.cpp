// Tensors that are moved along an axis, and time steppers that are made of them. They are compared with plain loops,
// with finite differences, and with an adjoint written by hand.
#include <cairn/boost_test.hpp>
#include <numeric>

#include "gradients.hpp"
#include "worse.hpp"

namespace {

/// Returns the index of the argument's element that becomes element i, or -1 for zero.
int source_of(int i, int by, int extent, nn::edge outside) {
  int from = i - by;
  if (outside == nn::edge::nearest) return from < 0 ? 0 : from >= extent ? extent - 1 : from;
  while (outside == nn::edge::wrap && from < 0) from += extent;
  while (outside == nn::edge::wrap && from >= extent) from -= extent;
  return from < extent ? from : -1;
}

double filled(std::size_t i) { return std::sin(static_cast<double>(i) * 0.7 + 1) + 2; }

/// Moves a parameter along an axis, and computes its gradient from a given cotangent.
template <auto Y, int Axis, class Real>
void moves(int by, nn::edge outside) {
  constexpr shape extents = decltype(Y)::shape;
  program<Y, cotangent<"of y">, real<Real>> step;
  std::vector<Real> x(static_cast<std::size_t>(extents.count())), given(x), expected(x), gradient(x);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<Real>(filled(i));
    given[i] = static_cast<Real>(filled(i + 1000));
  }
  std::copy(x.begin(), x.end(), step.template param<"x">().data());
  std::size_t stride = 1;
  for (int axis = Axis + 1; axis < extents.rank; ++axis) stride *= static_cast<std::size_t>(extents[axis]);
  for (std::size_t o = 0; o < x.size(); ++o) {
    const int i = static_cast<int>(o / stride) % extents[Axis], from = source_of(i, by, extents[Axis], outside);
    if (from < 0) continue;
    const std::size_t at = o + static_cast<std::size_t>(from) * stride - static_cast<std::size_t>(i) * stride;
    expected[o] = x[at];
    gradient[at] += given[o];
  }
  const auto y = step.value_and_grad(bind<"of y">(std::span<const Real>(given)));
  BOOST_TEST(std::equal(expected.begin(), expected.end(), y.begin()), extents.count() << " by " << by);
  const auto found = step.template grad<"x">();
  double off = 0;
  for (std::size_t i = 0; i < x.size(); ++i) off = worse(off, std::abs(double{found.data()[i]} - double{gradient[i]}));
  BOOST_TEST(off <= 100 * static_cast<double>(std::numeric_limits<Real>::epsilon()), "off by " << off);
}

template <int Axis, int By, class Real = double>
void moves_by(auto x) {
  moves<roll<Axis, By>(decltype(x){}), Axis, Real>(By, nn::edge::wrap);
  moves<nn::shift<Axis, By>(decltype(x){}), Axis, Real>(By, nn::edge::zero);
  moves<nn::shift<Axis, By, nn::edge::nearest>(decltype(x){}), Axis, Real>(By, nn::edge::nearest);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(stencils)

BOOST_AUTO_TEST_CASE(moves_along_awkward_extents) {
  const auto by_some = []<int... N>(std::integer_sequence<int, N...>) {
    (moves_by<0, 1>(param<"x", N>), ...);
    (moves_by<0, -2 * N - 3>(param<"x", N>), ...);
    (moves_by<0, N / 2, float>(param<"x", N>), ...);
  };
  by_some(std::integer_sequence<int, 1, 2, 3, 7, 8, 9, 15, 16, 17, 33>{});
}
BOOST_AUTO_TEST_CASE(moves_along_all_axes) {
  constexpr auto x = param<"x", 3, 4, 17>;
  moves_by<0, -1>(x);
  moves_by<1, 2, float>(x);
  moves_by<2, 9>(x);
  moves_by<2, -17, float>(x);
}
BOOST_AUTO_TEST_CASE(moves_pass_the_check_of_operations) {
  constexpr auto x = param<"x", 3, 11>;
  BOOST_TEST((check_operation<lang::roll_op<1, 4>, x>()));
  BOOST_TEST((check_operation<lang::roll_op<0, 0>, x>()));
  BOOST_TEST((check_operation<lang::shift_op<1, 3, nn::edge::zero>, x>()));
  BOOST_TEST((check_operation<lang::shift_op<1, -3, nn::edge::nearest>, x>()));
  BOOST_TEST((check_operation<lang::shift_op<0, 3, nn::edge::nearest>, x>()));
  BOOST_TEST((check_operation<lang::roll_op<0, 1>, indices<"in", 5, 3, 4>>()));
}
BOOST_AUTO_TEST_CASE(moves_of_moves) {  // a map of a map reads a copy
  constexpr auto x = param<"x", 5, 9>;
  constexpr auto y = tanh(roll<0, 2>(roll<1, -1>(square(x)))) * nn::shift<1, 1, nn::edge::nearest>(nn::shift<0, -1>(x));
  check<weighted(y)>();
  check<weighted(grad(sum(square(roll<1, 3>(x) * x * nn::shift<0, 2, nn::edge::nearest>(x))), x))>();
  check<weighted(matmul(roll<1, 1>(x), transpose(nn::shift<0, 1>(x))))>();
  check<weighted(roll<0, 1>(concatenate<1>(x, flip<1>(x))) * constant<3>)>();
  check<sum(x * nn::shift<0, 1>(param<"one", 1, 9>) + x * nn::shift<0, -1, nn::edge::nearest>(param<"two", 1, 9>))>();
  check<sum(roll<0, 1>(x) * generated<5, 9>([](int i, int j) { return i - j; }))>();
  check<sum(x * roll<1, -4>(generated<5, 9>([](int i, int j) { return i - j; })))>();
}

// Burgers' equation on a circle: u' = u - dt u (right - left) / 2 dx + nu dt (right + left - 2 u) / dx^2.
namespace {

constexpr int points = 64, steps = 40;
constexpr double speed = 0.02, spread = 0.05;
constexpr auto burgers = layer([](auto u) {
  const auto right = roll<0, -1>(u);
  const auto left = roll<0, 1>(u);
  return u - u * (right - left) * constant<speed> + (right + left - u * 2_c) * constant<spread>;
});
constexpr auto last = input<"u", points> | repeat<steps, "t">([](auto) { return burgers; });
using stepper = program<sum(square(last)), real<double>, wrt<"u">>;

// One vector is stored for each time step, whatever else reads it. A time step is one fused loop, in the forward pass
// and in the backward pass.
constexpr std::int64_t kept = stepper::memory().stored_bytes / (points * std::int64_t{sizeof(double)});
static_assert(kept >= steps - 2 && kept <= steps + 1);
static_assert(detail::compiled_of<sum(square(last)), true, real<double>, wrt<"u">>::steps.step_count == 2 * steps + 3);

std::vector<double> gradient_by_hand(const std::vector<double>& start) {
  std::vector<std::vector<double>> all{start};
  const auto around = [](int i) { return static_cast<std::size_t>((i + points) % points); };
  for (int t = 0; t < steps; ++t) {
    const std::vector<double> u = all.back();
    std::vector<double> next(u.size());
    for (int i = 0; i < points; ++i) {
      const double here = u[around(i)], right = u[around(i + 1)], left = u[around(i - 1)];
      next[around(i)] = here - here * (right - left) * speed + (right + left - 2 * here) * spread;
    }
    all.push_back(next);
  }
  std::vector<double> g(start.size());
  for (std::size_t i = 0; i < g.size(); ++i) g[i] = 2 * all.back()[i];
  for (int t = steps; t-- > 0;) {
    const std::vector<double>& u = all[static_cast<std::size_t>(t)];
    std::vector<double> before(g.size());
    for (int i = 0; i < points; ++i) {
      const double here = u[around(i)], right = u[around(i + 1)], left = u[around(i - 1)];
      before[around(i)] += g[around(i)] * (1 - (right - left) * speed - 2 * spread);
      before[around(i + 1)] += g[around(i)] * (spread - here * speed);
      before[around(i - 1)] += g[around(i)] * (spread + here * speed);
    }
    g = before;
  }
  return g;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_time_stepper_and_its_adjoint) {
  std::vector<double> start(points);
  for (std::size_t i = 0; i < start.size(); ++i)
    start[i] = std::sin(static_cast<double>(i) * 6.283185307179586 / points) + 0.3;
  stepper step;
  const double loss = step.value_and_grad(bind<"u">(start));
  // Nothing is stored here, but a time step is not written over the values that it reads.
  predictor<last, real<double>> ahead{step};
  const auto end = ahead(bind<"u">(start));
  const double squares = std::inner_product(end.begin(), end.end(), end.begin(), 0.0);
  BOOST_TEST(std::abs(squares - loss) < 1e-12 * loss);
  const auto wanted = gradient_by_hand(start);
  const auto found = step.grad<"u">();
  double off = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) off = worse(off, std::abs(found.data()[i] - wanted[i]));
  BOOST_TEST(off < 1e-13);
}

BOOST_AUTO_TEST_SUITE_END()
