// Burgers' equation on a circle, u_t + u u_x = nu u_xx. The program recovers the initial state u and the diffusivity
// nu. It observes u with noise at half time and at the end. The end alone would not suffice, because a rougher initial
// state with more diffusivity leads to the same end. 10,000 steps of Euler's method are differentiated in two halves,
// with 30 snapshots each.
#include "recovery.hpp"

using namespace cairn;

namespace {

constexpr int points = 128, steps = 10'000;
constexpr double pi = 3.141592653589793, dx = 2 * pi / points, dt = 1.0 / steps;

constexpr auto euler = [](auto u, auto nu) {
  const auto left = roll<0, 1>(u);
  const auto right = roll<0, -1>(u);
  const auto slope = (right - left) * constant<1 / (2 * dx)>;
  const auto curvature = (right - u * 2_c + left) * constant<1 / (dx * dx)>;
  return u + (nu * curvature - u * slope) * constant<dt>;
};

// The outer scan collects u at each observation.
template <class Policy>
constexpr auto until_seen = [](auto u, auto nu) {
  const auto next = scan<steps / 2, "step", Policy>(euler, carried(u), nu);
  return std::tuple{next, next};
};

constexpr auto u0 = param<"u0", points>;
constexpr auto nu = exp(param<"log_nu">);  // positive for every value of the parameter
template <class Policy, class Outer>
constexpr auto seen = std::get<1>(scan<2, "seen", Outer>(until_seen<Policy>, carried(u0), nu));

constexpr auto roughness = mean(square((roll<0, -1>(u0) - u0 * 2_c + roll<0, 1>(u0)) * constant<1 / (dx * dx)>));
template <class Policy, class Outer>
constexpr auto misfit = mse(seen<Policy, Outer>, input<"observed", 2, points>);
template <class Policy, class Outer = Policy>
using program_of = program<outputs(misfit<Policy, Outer> + 1e-5_c * roughness, misfit<Policy, Outer>), real<double>>;

using adjoint = program_of<revolve<30>, revolve<2>>;
static_assert(50 * adjoint::memory().peak_bytes < program_of<store_all>::memory().peak_bytes);

struct curve {
  const char *name, *style;
  std::span<const double> values;
};

void draw(std::ostream& out, const std::vector<curve>& curves) {
  const auto x = [](std::size_t i) { return 40 + 700.0 * static_cast<double>(i) / points; };
  const auto y = [](double u) { return 190 - 80 * u; };
  for (int u = -2; u <= 2; ++u) {
    out << "<path d='M40 " << y(u) << "h700' stroke='#e2e5e9'/><text x='32' y='" << y(u) + 4 << "' text-anchor='end'>"
        << u << "</text>\n";
  }
  double at = 30;
  for (const auto& [name, style, values] : curves) {
    out << "<g fill='none' stroke-width='2' " << style << "><path d='M760 " << at << "h30'/><path d='";
    for (std::size_t i = 0; i < values.size(); ++i) out << (i == 0 ? 'M' : 'L') << x(i) << ' ' << y(values[i]);
    out << "'/></g><text x='798' y='" << at + 4 << "'>" << name << "</text>\n";
    at += 24;
  }
}

}  // namespace

int main(int argc, char** argv) try {
  const auto given = recovery::read(
      argc, argv,
      {.name = "burgers", .about = "Recovers where Burgers' equation began, and its diffusivity.", .iterations = 300});
  std::vector<double> truth(points);
  for (std::size_t i = 0; i < truth.size(); ++i) {
    const double x = dx * static_cast<double>(i);
    truth[i] = std::sin(x) + 0.5 * std::cos(2 * x + 1) + 0.3;
  }
  const auto [observed, found, good] =
      recovery::recover<adjoint, program_of<store_all>, seen<revolve<30>, revolve<2>>>(given, truth, 0.05);
  if (!given.picture.empty()) {
    recovery::write_picture(given.picture, 960, 380, [&](std::ostream& out) {
      draw(out, {{"u in the end, seen", "stroke='#aecdee'", std::span(observed).last(points)},
                 {"u half way, seen", "stroke='#b8bec6'", std::span(observed).first(points)},
                 {"u at the start", "stroke='#24292f'", truth},
                 {"as recovered", "stroke='#d9730d' stroke-dasharray='6 4'", found}});
    });
  }
  return good ? 0 : 1;
} catch (const std::exception& e) {
  std::fprintf(stderr, "burgers: %s\n", e.what());
  return 1;
}
