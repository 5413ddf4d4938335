#include "burgers.hpp"

using namespace cairn;

namespace {

using burgers::points, burgers::speed, burgers::steps;

constexpr auto step_of = [](auto u, auto nu) {
  const auto left = roll<0, 1>(u);
  const auto right = roll<0, -1>(u);
  return u - u * (right - left) * constant<speed> + (right + left - u * 2_c) * nu;
};
template <class Policy>
constexpr auto loss = sum(square(scan<steps, "step", Policy>(step_of, carried(param<"u0", points>), param<"nu">)));
template <class Policy>
using adjoint = program<loss<Policy>, real<double>>;

// The arena holds the snapshots and what the body needs: six states, and two numbers for nu, its gradient and the sum
// of the open section. The body needs the same with any number of snapshots.
template <int Snapshots>
constexpr auto body = adjoint<revolve<Snapshots>>::memory().peak_bytes - Snapshots * points * sizeof(double);
static_assert(body<30> == 6 * points * sizeof(double) + 2 * memory_alignment && body<10> == body<30>);

template <class Policy>
void run(const contestant::arguments& given) {
  const auto parameters = burgers::start(given);
  adjoint<Policy> step;
  step.init(seed{1});
  const auto u0 = step.template param<"u0">();
  std::ranges::copy(std::span(parameters).first(points), u0.begin());
  step.template param<"nu">()() = burgers::nu;
  contestant::serve<adjoint<Policy>>([&] {
    const double value = step.value_and_grad();
    return value + burgers::slope(step.template grad<"u0">().data(), {u0.begin(), u0.end()}) +
           step.template grad<"nu">()() * burgers::nu;
  });
}

}  // namespace

int main(int count, char** words) {
  const contestant::arguments given(count, words);
  if (given.form == "revolve") run<revolve<30>>(given);
  else if (given.form == "two_level") run<two_level<50, 50>>(given);
  else run<store_all>(given);
}
