// Batch normalization.
#pragma once

#include "cairn/lang/state.hpp"
#include "cairn/nn/norm.hpp"

namespace cairn::nn {

/// The rows over which a batch norm takes its statistics, in a program with shards<L>.
/// - `local`: the rows of a shard. The running statistics become the mean of those of the shards.
/// - `synchronized`: the rows of all shards, which exchange their statistics in each training step. A program then
///   trains in L processes, one for each shard. It rejects microbatch<N>.
/// - `unsaid`: the program does not compile.
enum class batch_statistics : std::uint8_t { unsaid, local, synchronized };

/// Options of a batch norm.
struct batch_norm_options {
  /// The share of the difference by which a training step moves the running statistics towards those of its batch.
  double momentum = 0.1;
  double eps = 1e-5;  ///< is added to the variance
  batch_statistics statistics = batch_statistics::unsaid;
  bool affine = true;  ///< false: the norm has no weight and no bias, only running statistics
  friend constexpr bool operator==(const batch_norm_options&, const batch_norm_options&) = default;
};

namespace detail {
template <batch_norm_options O>
struct batch_norm_settings {
  static constexpr std::array all{setting::at_most_one("momentum", O.momentum), setting::not_negative("eps", O.eps)};
};

template <fixed_string Name, batch_norm_options O>
struct batch_norm_layer : checked_layer<batch_norm_layer<Name, O>> {
  static constexpr fixed_string name = Name;
  static constexpr auto problem(auto x) { return problem_of_features<"batch_norm", Name, batch_norm_settings<O>>(x); }
  static constexpr auto apply(auto x) {
    constexpr int features = decltype(x)::shape[-1];
    const auto running_mean = state<Name + fixed_string{".running_mean"}, initial{}, features>;
    const auto running_var = state<Name + fixed_string{".running_var"}, initial{.fill = 1}, features>;

    const auto [m, s, v] = statistics(x);
    constexpr auto stays = constant<1 - O.momentum>;
    const auto mean = in_training(updated<join>(m, running_mean, running_mean * stays + m * constant<2 * O.momentum>),
                                  running_mean * 0.5_c);
    const auto scale = in_training(updated<join>(s, running_var, running_var * stays + v * share_of_variance(x)),
                                   2_c / sqrt(running_var + constant<O.eps>));
    return result_of_norm<Name, O.affine, features>([=](auto weight, auto bias) {
      return make<lang::normalized_op<features, is_synchronized>>(x, mean, scale, weight, bias);
    });
  }

 private:
  static constexpr bool is_synchronized = O.statistics == batch_statistics::synchronized;
  // After a synchronized batch norm, all shards have the same running statistics.
  static constexpr shard_join join = is_synchronized                           ? shard_join::last
                                     : O.statistics == batch_statistics::local ? shard_join::mean
                                                                               : shard_join::unsaid;
  /// Returns half the mean of each feature, `2 / sqrt(variance + eps)`, and the variance.
  static constexpr auto statistics(auto x) {
    const auto own = make<lang::moments_op<O.eps>>(x);
    if constexpr (!is_synchronized) {
      return own;
    } else {
      const auto [m, s, v] = own;
      const auto mean = make<lang::mean_over_shards_op>(m);
      const auto variance = make<lang::mean_over_shards_op>(v + square(2_c * (m - mean)));
      return std::tuple(mean, 2_c / sqrt(variance + constant<O.eps>), variance);
    }
  }
  /// Returns the momentum, multiplied by what makes the variance of the batch unbiased.
  static constexpr auto share_of_variance(auto x) {
    constexpr std::int64_t rows = decltype(x)::shape.count() / decltype(x)::shape[-1];
    constexpr double unbiased = static_cast<double>(rows) / static_cast<double>(rows > 1 ? rows - 1 : 1);
    if constexpr (is_synchronized) return lang::unbiased_leaf<O.momentum, rows>{};
    else return constant<O.momentum * unbiased>;
  }
};
}  // namespace detail

/// Normalizes each feature of x {..., features} over all rows (Ioffe and Szegedy, 2015). It subtracts the mean, divides
/// by the standard deviation, multiplies by `Name.weight` and adds `Name.bias`.
///
/// As in PyTorch, a training step uses the mean and the variance of its batch. It also moves `Name.running_mean`
/// towards this mean, and `Name.running_var` towards the unbiased variance, by a tenth of the difference. Options
/// change this, and what is added to the variance: `nn::batch_norm_options{.momentum = 0.01, .eps = 1e-3}`. With
/// `.affine = false` there is neither a weight nor a bias. A predictor uses `Name.running_mean` and `Name.running_var`.
/// The state `num_batches_tracked` of PyTorch does not exist here, because PyTorch reads it only if momentum is None.
///
/// In a program with microbatch<N>, the batch is a microbatch, and the running statistics move N times in a training
/// step, as in PyTorch. A program with shards<L> needs `nn::batch_norm_options{.statistics =
/// nn::batch_statistics::local}`, or `synchronized`. If a synchronized variance is too large for its type, the
/// normalized numbers are 0.
///
/// Rejects: fewer than two axes; a momentum outside of 0 to 1; a negative eps; in a program, one full name for two
/// batch norms.
template <fixed_string Name, batch_norm_options O = batch_norm_options{}>
inline constexpr detail::batch_norm_layer<Name, O> batch_norm{};

}  // namespace cairn::nn
