// Batch normalization.
#pragma once

#include "cairn/expr/reduce.hpp"
#include "cairn/expr/shared.hpp"
#include "cairn/expr/state.hpp"
#include "cairn/nn/features.hpp"

namespace cairn::nn {

template <fixed_string Name>
struct batch_norm_layer : layer_base {
  static constexpr fixed_string name = Name;
  template <an_expression X>
  constexpr auto operator()(X x) const {
    using problem = decltype(detail::problem_of_features<"batch_norm", Name>(x));
    if constexpr (!std::same_as<problem, sound>) {
      return surfaced<problem>{};
    } else {
      return over_rows(x, std::make_integer_sequence<int, X::shape.rank - 1>{});
    }
  }

 private:
  template <int... Axis>
  static constexpr auto over_rows(auto x, std::integer_sequence<int, Axis...>) {
    constexpr shape of_x = decltype(x)::shape;
    constexpr int features = of_x[-1];
    constexpr std::int64_t rows = of_x.count() / features;
    constexpr double unbiased = static_cast<double>(rows) / static_cast<double>(rows > 1 ? rows - 1 : 1);
    const auto weight = param_from<Name + fixed_string{".weight"}, initial{.fill = 1}, features>;
    const auto bias = param_from<Name + fixed_string{".bias"}, initial{}, features>;
    const auto running_mean = state<Name + fixed_string{".running_mean"}, initial{}, features>;
    const auto running_var = state<Name + fixed_string{".running_var"}, initial{.fill = 1}, features>;

    const auto m = mean<Axis...>(x);
    const auto next_mean = running_mean * 0.9_c + m * 0.1_c;
    const auto centered = x - in_training(updated(m, running_mean, next_mean), running_mean);
    const auto var = mean<Axis...>(square(centered));
    const auto next_var = running_var * 0.9_c + var * constant<0.1 * unbiased>;
    const auto scale = weight / sqrt(in_training(updated(var, running_var, next_var), running_var) + 1e-5_c);
    return cairn::detail::result_of_layer<Name>(weight, centered * scale + bias);
  }
};

/// Each feature of x {..., features} less its mean over the rows and divided by its deviation, times `Name.weight`,
/// plus `Name.bias` (Ioffe and Szegedy, 2015). As in PyTorch: eps 1e-5; a step takes mean and variance of its batch,
/// and moves `Name.running_mean` and `Name.running_var` by a tenth towards these, which a predictor takes.
/// Rejects: fewer than two axes; in a program, one full name for two of them.
template <fixed_string Name>
inline constexpr batch_norm_layer<Name> batch_norm{};

}  // namespace cairn::nn
