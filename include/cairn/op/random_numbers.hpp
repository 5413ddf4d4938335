// Arrays of random numbers. Each array draws its numbers from a key of its own, as dropout does.
#pragma once

#include "cairn/lang/leaf.hpp"

namespace cairn::lang {

// The laws of random numbers. Messages show the name of a law. By the law, the kernel makes a number of each random
// word.
struct normal_law {
  static constexpr fixed_string name = "random_normal";
};
struct uniform_law {
  static constexpr fixed_string name = "random_uniform";
};
template <double P>
struct bernoulli_law {
  static constexpr fixed_string name = "random_bernoulli";
  static constexpr double probability = P;
};

/// An array of random numbers, which are drawn from the key. The key is the only argument. The numbers are constants,
/// so no gradient goes through them.
template <class Law, int... Extents>
struct random_numbers_op : op {
  static constexpr fixed_string name = Law::name;
  static constexpr bool piecewise_constant = true;
  static constexpr kind argument_kind(int) { return kind::key; }
  static constexpr making makes(int, int, const shape&) { return {.rounds = true}; }
  static constexpr tensor_type result(const shape&) { return {tensor<element_type{}, Extents...>::shape, {}}; }
  static constexpr std::int64_t flops(const shape&) { return tensor<element_type{}, Extents...>::shape.count(); }
  static constexpr auto vjp(auto, auto, auto) { return gradients(no_gradient{}); }
};

/// Returns the mistake in the probability or in the extents of an array of random numbers, or `sound`.
template <fixed_string Name, class Law, std::int64_t... Extents>
constexpr auto problem_of_random_numbers() {
  if constexpr (requires { requires !(Law::probability >= 0 && Law::probability < 1); })
    return mistake<misuse::probability_below_one, top_scope, about<fact::in, Name>,
                   fact::probability<Law::probability>>{};
  else return problem_of_extents<Name, Extents...>();
}
/// An array of random numbers, or the report of the mistake in it. The array exists only if there is no mistake.
template <class Problem, fixed_string Name, class Law, std::int64_t... Extents>
struct checked_random_numbers : made_if_sound<Problem, void> {};
template <fixed_string Name, class Law, std::int64_t... Extents>
struct checked_random_numbers<sound, Name, Law, Extents...> {
  using type = made<random_numbers_op<Law, static_cast<int>(Extents)...>, random_key_leaf<Name>>;
};
template <fixed_string Name, class Law, std::int64_t... Extents>
using random_numbers = typename checked_random_numbers<decltype(problem_of_random_numbers<Name, Law, Extents...>()),
                                                       Name, Law, Extents...>::type;

/// Random numbers with mean 0 and standard deviation 1, as torch.randn: `random_normal<"eps", 64, 16>`. Each number is
/// made of 32 random bits, so its size is at most 6.34. In doubles the number has all digits of a double, but the same
/// 32 random bits as in floats.
///
/// All arrays of random numbers have the following properties:
/// - The numbers depend only on the seed given to init, on the number of the training step and on the full name, as
///   those of `dropout` do. The backward pass and recomputation therefore draw the same numbers again.
/// - The numbers are constants and have no gradient.
/// - Two mentions with equal name, law and extents are one array.
/// - A predictor draws nothing. It rejects the array, unless the array stands in the first argument of `in_training`.
///
/// Rejects: extents below 1; in a program, one full name for two different random operations.
template <fixed_string Name, std::int64_t... Extents>
inline constexpr random_numbers<Name, normal_law, Extents...> random_normal{};

/// Random numbers that are uniform in [0, 1), as torch.rand: `random_uniform<"u", 64, 16>`. The numbers are multiples
/// of 2^-24, also in doubles. In bf16 they are rounded toward zero, so that they stay below 1.
/// Rejects what random_normal rejects.
template <fixed_string Name, std::int64_t... Extents>
inline constexpr random_numbers<Name, uniform_law, Extents...> random_uniform{};

/// Random numbers that are 1 with probability P and 0 otherwise, as torch.bernoulli of a constant P:
/// `random_bernoulli<"m", 0.1, 64, 16>`.
/// Rejects: a probability outside of [0, 1); what random_normal rejects.
template <fixed_string Name, auto P, std::int64_t... Extents>
inline constexpr random_numbers<Name, bernoulli_law<static_cast<double>(P)>, Extents...> random_bernoulli{};

}  // namespace cairn::lang

namespace cairn {
using lang::random_bernoulli, lang::random_normal, lang::random_uniform;
}  // namespace cairn
