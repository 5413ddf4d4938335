// The numbers that update rules read in a training step.
#pragma once

#include "cairn/base/hash.hpp"
#include "cairn/base/philox.hpp"
#include "cairn/run/kept_tensor.hpp"
#include "cairn/run/machine.hpp"

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace cairn::detail {

/// The numbers that are the same for all parameters in a training step: the numbers of each update rule, followed by
/// one number for clipping. With clip_value<...> it is the limit of each number of a gradient. With clip<...> it is the
/// common factor of all gradients, which is 1 until their norm is known. If parameters are stored as bf16, keys for
/// stochastic rounding are drawn, too.
template <class Compiled>
class rule_numbers {
  using machine = detail::machine<Compiled>;
  using real = typename Compiled::real;
  static constexpr auto clip = Compiled::model::purpose::clip;
  static constexpr bool has_keys = rounds_parameters<typename Compiled::model::numbers>;
  static constexpr auto count = static_cast<std::size_t>(graphs::rules_of<typename Compiled::model>.numbers);

 public:
  /// Writes the numbers of the next training step. If there is no learning rate, each rule uses its own. The random
  /// number of this training step is already counted in `position`, but its update is not.
  void set(machine& of, std::optional<double> lr, const training_position& position) {
    std::size_t at = 0;
    for_each_rule([&](const auto& rule) {
      for (const double number : rule.numbers(lr.value_or(rule.lr), position.steps + 1))
        numbers_[at++] = static_cast<real>(number);
    });
    numbers_[at] = static_cast<real>(clip.how == lang::clipping::norm ? 1 : clip.at);
    of.base(plans::number_base) = reinterpret_cast<std::byte*>(numbers_.data());
    if constexpr (has_keys) draw_keys(of, position.random);
  }
  /// Sets the factor by which updates multiply gradients of this norm, as PyTorch's clip_grad_norm_ does.
  void set_clip_factor(double norm) {
    // If the norm is NaN, the comparison is false, so the factor is NaN, too, as in PyTorch. With the
    // comparison length > clip.at, NaN would count as a small norm.
    const double length = norm + 1e-6;
    numbers_[count - 1] = static_cast<real>(length <= clip.at ? 1 : clip.at / length);
  }
  /// Returns a hash of the numbers, by which processes find out whether they have the same update rules.
  std::uint64_t hash() const { return hash64_of({reinterpret_cast<const char*>(numbers_.data()), sizeof numbers_}); }

 private:
  static void for_each_rule(auto visit) {
    []<class... Names, auto... Rule>(lang::rule_list<lang::named_rule<Names, Rule>...>, auto& each) {
      (each(Rule), ...);
    }(typename Compiled::model::purpose::updates{}, visit);
  }
  /// Draws the keys for stochastic rounding, one for each parameter. A key depends on the parameter's name.
  void draw_keys(machine& of, const random_state& random) {
    for (int i = 0; i < machine::leaf_count; ++i) {
      // The number of this training step is the next one - 1.
      const random_stream stream{random.from, hash64_of(".rounding", machine::leaf(i).long_hash), random.step - 1};
      const auto words = stream(0);
      std::copy_n(words.begin(), 2, keys_.begin() + 2 * i);
    }
    of.base(plans::key_base) = reinterpret_cast<std::byte*>(keys_.data());
  }

  std::array<real, count + 1> numbers_{};
  std::array<std::uint32_t, has_keys ? 2 * machine::leaf_count : 0> keys_;
};

}  // namespace cairn::detail
