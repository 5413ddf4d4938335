// Compares a tiled layer with the same layer without groups.
#pragma once

#include <boost/test/unit_test.hpp>
#include <cairn/cairn.hpp>
#include <cmath>
#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace test {

using namespace cairn;

inline std::vector<float> some(std::size_t count, std::uint64_t number) {
  std::vector<float> out(count);
  random_sequence draw(seed{3}, number);
  for (float& x : out) x = 2 * uniform(draw()) - 1;
  return out;
}
using arrays = std::map<std::string, std::vector<float>>;

/// Returns the result of a layer, and all gradients, in the third training step. Each element of the result has a
/// cotangent of its own.
template <auto Y, class... Options>
arrays third_step() {
  static constexpr shape made = decltype(Y)::shape;
  constexpr auto w = []<std::size_t... Axis>(std::index_sequence<Axis...>) {
    return input<"w", made.extent[Axis]...>;
  }(std::make_index_sequence<static_cast<std::size_t>(made.rank)>{});
  program<outputs(sum(Y * w), Y), Options...> step;
  step.init(seed{1});
  const auto cotangent = some(static_cast<std::size_t>(made.count()), 1);
  arrays all;
  for (int i = 0; i < 3; ++i) {
    const auto [loss, y] = step.value_and_grad(bind<"w">(cotangent));
    all["result"].assign(y.data(), y.data() + y.size());
  }
  step.for_each_gradient(
      [&](std::string_view name, auto view) { all[std::string(name)].assign(view.data(), view.data() + view.size()); });
  return all;
}
inline bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}
/// Returns the largest distance of two arrays, relative to the largest number.
inline double distance(const std::vector<float>& a, const std::vector<float>& b) {
  double most = 0, largest = 1e-30;
  if (a.size() != b.size()) return 1;
  for (std::size_t i = 0; i < a.size(); ++i) {
    most = std::max(most, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
    largest = std::max(largest, std::abs(static_cast<double>(b[i])));
  }
  return most / largest;
}
/// Checks a tiled layer next to the layer without groups. `X` is an expression of the parameter "x".
template <auto X, auto Tiled, auto Whole, class... Options>
void is_like_whole() {
  const arrays tiled = third_step<X | Tiled, Options...>(), whole = third_step<X | Whole, Options...>();
  BOOST_TEST_REQUIRE(tiled.size() == whole.size());
  for (const auto& [name, numbers] : whole) {
    BOOST_TEST_CONTEXT(name) {
      if (name == "result" || name == "x") BOOST_TEST(same_bits(tiled.at(name), numbers));
      else BOOST_TEST(distance(tiled.at(name), numbers) < 1e-5);
    }
  }
}
template <auto X, auto Layer, int... Groups>
void has_groups() {
  (is_like_whole<X, nn::tiled<Groups>(Layer), Layer>(), ...);
}

template <std::int64_t... Extents>
constexpr auto x = param<"x", Extents...>;

}  // namespace test
