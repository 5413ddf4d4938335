// The heat equation on a torus, u_t = nu (u_xx + u_yy). The program recovers the initial state u and the diffusivity
// nu. It observes u with noise at half time and at the end. 800 steps of Euler's method are differentiated with 20
// snapshots.
#include "recovery.hpp"

using namespace cairn;

namespace {

constexpr int side = 64, steps = 800;
constexpr double dx = 1.0 / side, dt = 1.0 / steps;

constexpr auto laplacian = [](auto u) {
  return (roll<0, 1>(u) + roll<0, -1>(u) + roll<1, 1>(u) + roll<1, -1>(u) - u * 4_c) * constant<1 / (dx * dx)>;
};
constexpr auto euler = [](auto u, auto nu) { return u + nu * laplacian(u) * constant<dt>; };

// The outer scan collects u at each observation.
template <class Policy>
constexpr auto until_seen = [](auto u, auto nu) {
  const auto next = scan<steps / 2, "step", Policy>(euler, carried(u), nu);
  return std::tuple{next, next};
};

constexpr auto u0 = param<"u0", side, side>;
constexpr auto nu = exp(param<"log_nu">);  // positive for every value of the parameter
template <class Policy, class Outer>
constexpr auto seen = std::get<1>(scan<2, "seen", Outer>(until_seen<Policy>, carried(u0), nu));

constexpr auto roughness = mean(square(laplacian(u0)));
template <class Policy, class Outer>
constexpr auto misfit = mse(seen<Policy, Outer>, input<"observed", 2, side, side>);
template <class Policy, class Outer = Policy>
using program_of = program<outputs(misfit<Policy, Outer> + 3e-10_c * roughness, misfit<Policy, Outer>), real<double>>;

using adjoint = program_of<revolve<20>, revolve<2>>;
static_assert(10 * adjoint::memory().peak_bytes < program_of<store_all>::memory().peak_bytes);

/// Returns a field with a ring and a bump inside.
std::vector<double> ring() {
  std::vector<double> out;
  for (int i = 0; i < side; ++i) {
    for (int k = 0; k < side; ++k) {
      const double r = std::hypot(i * dx - 0.45, k * dx - 0.5), s = std::hypot(i * dx - 0.55, k * dx - 0.55);
      out.push_back(std::exp(-std::pow((r - 0.3) / 0.06, 2)) + 0.8 * std::exp(-std::pow(s / 0.08, 2)));
    }
  }
  return out;
}

/// Draws a field. It is dark where the field is at most 0, and light where the field is at least 1.
void draw(std::ostream& out, int left, const char* name, std::span<const double> field) {
  out << "<text x='" << left << "' y='26'>" << name << "</text>\n<g transform='translate(" << left
      << " 40) scale(4)' shape-rendering='crispEdges'>\n";
  for (int i = 0; i < side; ++i) {
    for (int k = 0; k < side; ++k) {
      const double u = std::clamp(field[static_cast<std::size_t>(i * side + k)], 0.0, 1.0);
      out << "<rect x='" << k << "' y='" << i << "' width='1' height='1' fill='rgb(" << std::lround(20 + 235 * u) << ','
          << std::lround(30 + 190 * u) << ',' << std::lround(70 + 60 * u) << ")'/>\n";
    }
  }
  out << "</g>\n";
}

}  // namespace

int main(int argc, char** argv) try {
  const auto given = recovery::read(
      argc, argv,
      {.name = "heat", .about = "Recovers where the heat equation began, and its diffusivity.", .iterations = 150});
  const std::vector<double> truth = ring();
  const auto [observed, found, good] =
      recovery::recover<adjoint, program_of<store_all>, seen<revolve<20>, revolve<2>>>(given, truth, 0.002);
  if (!given.picture.empty()) {
    recovery::write_picture(given.picture, 1128, 312, [&](std::ostream& out) {
      draw(out, 16, "u at the start", truth);
      draw(out, 296, "half way, seen", std::span(observed).first(truth.size()));
      draw(out, 576, "in the end, seen", std::span(observed).last(truth.size()));
      draw(out, 856, "at the start, as recovered", found);
    });
  }
  return good ? 0 : 1;
} catch (const std::exception& e) {
  std::fprintf(stderr, "heat: %s\n", e.what());
  return 1;
}
