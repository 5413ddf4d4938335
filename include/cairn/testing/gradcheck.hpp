// Checks a model's gradients against finite differences, in double.
#pragma once

#include "cairn/base/macros_aside.hpp"

// cairn.hpp explains why these warnings are off.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wsign-conversion"  // extents are ints, sizes of std are not
#include "cairn/run/program.hpp"
#pragma GCC diagnostic pop

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace cairn {

/// The largest relative deviation of a correct gradient, in double precision.
inline constexpr double gradient_tolerance = 1e-6;

/// The deviation of a gradient from a difference quotient, at the number with the largest deviation.
struct gradient_deviation {
  /// |gradient - quotient| / max(|gradient|, |quotient|, 1e-3). It is infinity if the loss or the gradient is infinite
  /// or NaN.
  double relative = 0;
  std::string_view name;  ///< name of the parameter or the input
  std::size_t at = 0;     ///< index of the number, in row-major order
  double gradient = 0, quotient = 0;
};

namespace detail {
template <class Compiled>
gradient_deviation worst_deviation(auto step, seed s, const auto&... inputs) {
  using machine = detail::machine<Compiled>;
  const memory_block snapshots(machine::elsewhere_bytes);
  step.keep_snapshots_in({snapshots.data(), machine::elsewhere_bytes});
  step.init(s);
  static_cast<void>(step.value_and_grad(inputs...));  // throws if arrays do not fit
  const double* const gradients = step.gradients().data();
  const std::vector<double> gradient(gradients, gradients + Compiled::addresses.gradient_bytes / sizeof(double));
  std::vector<double> copies[machine::leaf_count + 1];  // copies of inputs in wrt<...>, by leaf
  // The result does not own its numbers, even if the binding does: a copy of such a binding would lead to its own copy.
  [[maybe_unused]] const auto copied = [&]<fixed_string Name, class Array>(bound<Name, Array> array) {
    constexpr int leaf = bound_leaf<Compiled, decltype(array)>;
    if constexpr (Compiled::model::chosen.wanted[leaf]) {
      copies[leaf].assign(array.data, array.data + machine::leaf(leaf).count);
      array.data = copies[leaf].data();
    }
    return array;
  };
  const std::tuple moved{copied(inputs)...};
  const auto loss_of = [&](const auto&... arrays) {
    const auto result = step.value_and_grad(arrays...);
    if constexpr (requires { std::get<0>(result); }) return std::get<0>(result);
    else return result;
  };
  gradient_deviation worst;
  for (int leaf = 0; leaf < machine::leaf_count; ++leaf) {
    if (!Compiled::model::chosen.wanted[leaf]) continue;
    const std::size_t begin = static_cast<std::size_t>(machine::leaf(leaf).gradient_offset) / sizeof(double);
    const auto count = static_cast<std::size_t>(machine::leaf(leaf).count);
    double* const numbers = machine::leaf(leaf).trained ? &step.parameters()[begin] : copies[leaf].data();
    for (std::size_t i = 0; i < count; ++i) {
      const auto loss = [&](double offset) {
        step.init(s);
        const double before = std::exchange(numbers[i], numbers[i] + offset);
        const double value = std::apply(loss_of, moved);
        numbers[i] = before;
        return value;
      };
      constexpr double h = 1e-3;
      const double quotient = (8 * (loss(h) - loss(-h)) - (loss(2 * h) - loss(-2 * h))) / (12 * h);
      const double scale = std::max({std::abs(gradient[begin + i]), std::abs(quotient), 1e-3});
      double relative = std::abs(gradient[begin + i] - quotient) / scale;
      if (std::isnan(relative)) relative = std::numeric_limits<double>::infinity();  // greater than any tolerance
      if (relative <= worst.relative) continue;
      worst = {relative, Compiled::graph.name(Compiled::graph.leaves[leaf]), i, gradient[begin + i], quotient};
    }
  }
  return worst;
}
}  // namespace detail

/// Returns the largest deviation over all trained parameters of the loss and over the inputs in wrt<...>. Parameters
/// are drawn from `s`. The quotient is the five-point central difference. Its error is of fourth order in the
/// difference of the arguments. Every loss is the loss of the first training step from `s`, with the same random
/// numbers and states. Example: `gradcheck<loss>(seed{1}, bind<"x">(x)).relative < 1e-6`. Takes the options of
/// program, without real, mixed, cotangent and update. Rejects and throws everything that program rejects and throws.
template <auto Loss, class... Options, class... Bound>
[[nodiscard]] gradient_deviation gradcheck(seed s, const Bound&... inputs) {
  using step = program<Loss, real<double>, Options...>;
  static_assert(lang::report_of<decltype(detail::problem_of_program<Loss, true, real<double>, Options...>())>{}.shown);
  if constexpr (detail::runs<Loss, true, real<double>, Options...>) {
    using compiled = detail::compiled_of<Loss, true, real<double>, Options...>;
    using purpose = typename compiled::model::purpose;
    using problem =
        std::conditional_t<purpose::updates_parameters,
                           lang::mistake<misuse::updates_itself, lang::top_scope, fact::operation<"gradcheck">>,
                           decltype(detail::problem_of_inputs<compiled, purpose::division, Bound...>())>;
    static_assert(lang::report_of<problem>{}.shown);
    if constexpr (std::same_as<problem, lang::sound>) return detail::worst_deviation<compiled>(step(), s, inputs...);
  }
  return {};
}

}  // namespace cairn

#include "cairn/base/macros_back.hpp"
