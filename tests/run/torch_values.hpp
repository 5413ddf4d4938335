// Compares values and gradients with PyTorch's, which tests/kept/torch_values.py or tests/tools/differential.py wrote.
#pragma once

#include <boost/test/unit_test.hpp>
#include <cairn/cairn.hpp>
#include <cmath>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "worse.hpp"

using namespace cairn;

/// The file of the numbers that PyTorch computed.
inline std::string file_of_values =
    std::string(__FILE__).substr(0, std::string(__FILE__).rfind("run/")) + "kept/torch_values.txt";

/// Returns the numbers that PyTorch computed, by name.
inline const std::vector<double>& kept(const std::string& name) {
  static const auto all = [] {
    std::map<std::string, std::vector<double>> lines;
    std::ifstream file(file_of_values);
    for (std::string line, first; std::getline(file, line);) {
      std::istringstream numbers(line);
      numbers >> first;
      for (double x; numbers >> x;) lines[first].push_back(x);
    }
    return lines;
  }();
  BOOST_REQUIRE_MESSAGE(all.contains(name), "nothing is kept of " << name);
  return all.at(name);
}

/// Returns number i of the tensor `name`. PyTorch's script uses the same formula.
inline double filled(std::string_view name, std::size_t i) {
  int start = 0;
  for (const char c : name) start += c;
  return std::sin(static_cast<double>(i) * 0.37 + start % 31);
}

/// Compares up to an error of `within` of the largest number.
inline void compare(const std::string& name, const auto& range, double within = 1e-9) {
  const std::vector<double>& wanted = kept(name);
  BOOST_REQUIRE(wanted.size() == range.size());
  double most = 0, off = 0;
  std::size_t i = 0;
  for (const double x : range) {
    most = worse(most, std::abs(wanted[i]));
    off = worse(off, std::abs(x - wanted[i++]));
  }
  BOOST_TEST(off <= within * most, name << " differs by " << off << " of " << most);
}

/// Compares an expression of parameters and bound inputs with the case of this name. After `Steps` training steps,
/// compares its states and its predictions, too.
template <auto Y, int Steps = 0, class... Bound>
void agrees(const std::string& name, const Bound&... inputs) {
  program<Y, cotangent<"cotangent">, real<double>> step;
  step.for_each_parameter([](std::string_view leaf, auto view) {
    for (std::size_t i = 0; i < view.size(); ++i)
      view.data()[i] = leaf.ends_with("running_var") ? std::abs(filled(leaf, i)) : filled(leaf, i);
  });
  std::vector<double> cotangents(static_cast<std::size_t>(decltype(Y)::shape.count()));
  for (std::size_t i = 0; i < cotangents.size(); ++i) cotangents[i] = filled("cotangent", i);
  const auto run = [&] {
    return step.value_and_grad(bind<"cotangent">(std::span<const double>(cotangents)), inputs...);
  };
  if constexpr (decltype(Y)::shape.rank == 0) compare(name, std::array{run()});
  else compare(name, run());
  step.for_each_gradient([&name](std::string_view leaf, auto view) { compare(name + '.' + std::string(leaf), view); });
  if constexpr (Steps > 0) {
    sgd descent{step, {.lr = 0.01, .momentum = 0.9}};
    for (int i = 0; i < Steps; ++i) {
      descent.update();
      static_cast<void>(run());
    }
    step.for_each_parameter([&name](std::string_view leaf, auto view) {
      if (leaf.find("running") != leaf.npos || leaf.find("._") != leaf.npos) compare(name + ".trained." + std::string(leaf), view);
    });
    predictor<Y, real<double>> predict{step};
    compare(name + ".predicted", predict());
  }
}
