// Burgers' equation on a circle, with 200 steps, and the gradient of a loss at the end with respect to the beginning.
// There are three versions: with roll, with operations of which a roll can be composed, and by hand. The versions take
// turns. The program prints the least time of each, and its ratio to the version by hand.
#include <cairn/cairn.hpp>
#include <chrono>
#include <cmath>
#include <cstdio>

using namespace cairn;

namespace {

constexpr int steps = 200;
constexpr double speed = 0.005, spread = 0.005;

template <int By>
constexpr auto rolled = [](auto u) { return roll<0, By>(u); };
template <int By>
constexpr auto joined = [](auto u) { return concatenate<0>(slice<0, -By>(u), slice<0, 0, -By>(u)); };

template <auto Right, auto Left>
constexpr auto step_of = layer([](auto u) {
  const auto right = Right(u);
  const auto left = Left(u);
  return u - u * (right - left) * constant<speed> + (right + left - u * 2_c) * constant<spread>;
});
template <int Points, auto Right, auto Left>
using stepper = program<sum(square(input<"u", Points> | repeat<steps, "t">([](auto) { return step_of<Right, Left>; }))),
                        real<double>, wrt<"u">>;

/// The version by hand, which compilers can vectorize. It stores all states.
template <int Points>
struct adjoint {
  double u[steps + 1][Points], g[2][Points];

  static double step(double here, double right, double left) {
    return here - here * (right - left) * speed + (right + left - 2 * here) * spread;
  }
  static double back(const double* u, const double* g, int i, int right, int left) {
    return g[i] * (1 - (u[right] - u[left]) * speed - 2 * spread) + g[left] * (spread - u[left] * speed) +
           g[right] * (spread + u[right] * speed);
  }
  const double* gradient() {
    constexpr int last = Points - 1;
    for (int t = 0; t < steps; ++t) {
      const double* __restrict from = u[t];
      double* __restrict to = u[t + 1];
      to[0] = step(from[0], from[1], from[last]);
      for (int i = 1; i < last; ++i) to[i] = step(from[i], from[i + 1], from[i - 1]);
      to[last] = step(from[last], from[0], from[last - 1]);
    }
    for (int i = 0; i < Points; ++i) g[0][i] = 2 * u[steps][i];
    for (int t = steps; t-- > 0;) {
      const double* __restrict from = g[(steps - 1 - t) % 2];
      double* __restrict to = g[(steps - t) % 2];
      to[0] = back(u[t], from, 0, 1, last);
      for (int i = 1; i < last; ++i) to[i] = back(u[t], from, i, i + 1, i - 1);
      to[last] = back(u[t], from, last, 0, last - 1);
    }
    return g[steps % 2];
  }
};

double microseconds(auto run) {
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 10; ++i) run();
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count() / 10;
}

template <int Points>
void compare() {
  using with_roll = stepper<Points, rolled<-1>, rolled<1>>;
  using with_parts = stepper<Points, joined<-1>, joined<1>>;
  static adjoint<Points> by_hand;
  static double start[Points];
  for (int i = 0; i < Points; ++i) start[i] = by_hand.u[0][i] = std::sin(i * 6.283185307179586 / Points) + 0.3;
  with_roll one;
  with_parts other;
  double least[3]{1e9, 1e9, 1e9};
  for (int round = 0; round < 100; ++round) {
    least[0] = std::min(least[0], microseconds([&] { by_hand.gradient(); }));
    least[1] = std::min(least[1], microseconds([&] { one.value_and_grad(bind<"u">(start)); }));
    least[2] = std::min(least[2], microseconds([&] { other.value_and_grad(bind<"u">(start)); }));
  }
  double off = 0;
  for (int i = 0; i < Points; ++i) off = std::max(off, std::abs(one.template grad<"u">()(i) - by_hand.gradient()[i]));
  const auto vectors = [](std::int64_t bytes) { return static_cast<double>(bytes) / (8.0 * Points * steps); };
  std::printf(
      "%4d points   by hand %6.1f us   roll %6.1f us, %.2f, %.2f vectors a step   slices joined %6.1f us, %.2f, "
      "%.2f vectors a step   off by %.0e\n",
      Points, least[0], least[1], least[1] / least[0], vectors(with_roll::memory().stored_bytes), least[2],
      least[2] / least[0], vectors(with_parts::memory().stored_bytes), off);
}

}  // namespace

int main() {
  compare<64>();
  compare<512>();
  compare<4096>();
}
