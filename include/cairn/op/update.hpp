// Updates: how a step changes parameters by their gradients. A rule says it in the language, of one number each; so one
// statement serves the step of a program and an optimizer beside it, and both have the same bits.
#pragma once

#include "cairn/op/elementwise.hpp"
#include "cairn/lang/options.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <tuple>

namespace cairn {

// What a rule is. An object of options, which may be a template argument, with
//   lr                   the learning rate where none is given
//   moments              names of the numbers that it keeps of each parameter from step to step; they begin at zero
//   settings()           optional: a std::array<setting, N> that says which values the options may have
//   moment_count()       optional: how many of these it keeps, where that depends on the options
//   numbers(lr, step)    a std::array<double, N> of what is the same for all parameters in a step, counted from 1
//   next(p, g, numbers..., moments...)  static: expressions, in a std::tuple, of what the parameter becomes and then
//                        each moment; of elementwise operations
//
//   struct lion {
//     double lr = 1e-4, beta1 = 0.9, beta2 = 0.99;
//     static constexpr std::array<std::string_view, 1> moments{"exp_avg"};
//     constexpr std::array<double, 3> numbers(double rate, std::int64_t) const { return {rate, 1 - beta1, 1 - beta2}; }
//     static constexpr auto next(auto p, auto g, auto rate, auto new1, auto new2, auto m) {
//       return std::tuple{p - rate * sign(m + new1 * (g - m)), m + new2 * (g - m)};
//     }
//   };

struct saturated_op : elementwise_op {
  static constexpr fixed_string name = "saturated";
  static constexpr auto vjp(auto g, auto, auto, auto) { return gradients(g, no_gradient{}); }
};
struct squarable_op : elementwise_op {
  static constexpr fixed_string name = "squarable";
  static constexpr auto vjp(auto g, auto, auto) { return gradients(g); }
};
/// For rules: x, or where x overflowed although `from` is finite, the largest number of its sign.
template <an_operand X, an_operand From>
constexpr made<saturated_op, X, From> saturated(X, From) {
  return {};
}
/// For rules: x, or where the square of x would overflow, the largest number of its sign whose square does not. Of an
/// infinite x it is NaN.
template <an_operand X>
constexpr made<squarable_op, X> squarable(X) {
  return {};
}

/// What a training step is told: the learning rate, that of its rules where it is not said.
struct train_options {
  std::optional<double> lr = {};
};

namespace detail {
struct rules {};
}  // namespace detail
/// Number I of those that a rule computes with. Rules are bodies: mistakes in them are reported where they are used.
template <int I>
struct rule_number : tensor<element_type{}>, expression {
  using owner = scope<0, detail::rules>;
  static constexpr expression_traits traits{};
};

namespace detail {

template <class Rule>
constexpr int moments_of(const Rule& rule) {
  if constexpr (requires { rule.moment_count(); }) return rule.moment_count();
  else return static_cast<int>(Rule::moments.size());
}
template <class Rule>
inline constexpr int numbers_of =
    static_cast<int>(std::tuple_size_v<decltype(std::declval<const Rule&>().numbers(0.0, std::int64_t{1}))>);

template <clipping Clip>
constexpr auto clipped(auto gradient, [[maybe_unused]] auto limit) {
  if constexpr (Clip == clipping::norm) return gradient * limit;
  else if constexpr (Clip == clipping::value) return minimum(maximum(gradient, -limit), limit);
  else return gradient;
}

/// What a rule makes of numbers in this order: the parameter, its gradient, the rule's numbers of the step, the
/// moments, and where gradients are clipped the limit.
template <class Rule, int Moments, clipping Clip>
constexpr auto next_values() {
  return []<int... I>(std::integer_sequence<int, I...>) {
    constexpr int limit = 2 + static_cast<int>(sizeof...(I));
    if constexpr (requires { Rule::next(rule_number<0>{}, rule_number<1>{}, rule_number<2 + I>{}...); })
      return Rule::next(rule_number<0>{}, clipped<Clip>(rule_number<1>{}, rule_number<limit>{}),
                        rule_number<2 + I>{}...);
  }(std::make_integer_sequence<int, numbers_of<Rule> + Moments>{});
}

template <class E>
inline constexpr bool in_lanes = false;
template <int I>
inline constexpr bool in_lanes<rule_number<I>> = true;
template <double Value>
inline constexpr bool in_lanes<constant_leaf<Value>> = true;
template <class Op, class... A>
inline constexpr bool in_lanes<expr<Op, A...>> = Op::elementwise && (in_lanes<A> && ...);
template <class Opaque>
inline constexpr bool in_lanes<renamed<Opaque>> = in_lanes<revealed<Opaque>>;
template <int Moments, class T>
inline constexpr bool all_in_lanes = false;
template <int Moments, class... E>
inline constexpr bool all_in_lanes<Moments, std::tuple<E...>> =
    sizeof...(E) == static_cast<std::size_t>(Moments) + 1 && (in_lanes<E> && ...);

/// Whether a rule says what becomes of a parameter of which it keeps so many moments.
template <class Rule, int Moments>
concept rule_with = Moments >= 0 && all_in_lanes<Moments, decltype(next_values<Rule, Moments, clipping::none>())>;
}  // namespace detail

/// What update<...> and optimizers take, but for its `next`.
template <class Rule>
concept an_update_rule = requires(const Rule& rule) {
  { rule.lr } -> std::convertible_to<double>;
  std::string_view(Rule::moments[0]);
  rule.numbers(0.0, std::int64_t{1})[0];
};

namespace detail {
/// The first mistake among what a rule makes of numbers, or sound.
template <class... E>
constexpr auto mistake_among(std::tuple<E...>*) {
  if constexpr ((wrong<E> || ...)) return pass_on<top_scope>(E{}...);
  else return sound{};
}
constexpr sound mistake_among(const void*) { return {}; }
template <class Rule, int Moments>
constexpr auto mistake_in_next() {
  using values = decltype(next_values<Rule, Moments, clipping::none>());
  return mistake_among(static_cast<std::add_pointer_t<values>>(nullptr));
}
/// Whether files can tell so many moments of a rule apart.
template <class Rule, int Moments>
constexpr bool names_differ() {
  for (std::size_t i = 0; i < static_cast<std::size_t>(Moments); ++i) {
    const std::string_view name = Rule::moments[i];
    if (name.empty()) return false;
    for (std::size_t before = 0; before < i; ++before) {
      if (Rule::moments[before] == name) return false;
    }
  }
  return true;
}
/// The mistake of taking what is no update rule for one, or that in what it says of so many moments; or sound.
template <class Rule, int Moments>
constexpr auto problem_of_rule() {
  using not_one = mistake<not_an_update_rule, top_scope, fact::given<Rule>>;
  if constexpr (!an_update_rule<Rule>) return not_one{};
  else if constexpr (rule_with<Rule, Moments> && names_differ<Rule, Moments>()) return sound{};
  else if constexpr (rule_with<Rule, Moments>) return mistake<moments_alike, top_scope, fact::given<Rule>>{};
  else return first_problem(mistake_in_next<Rule, Moments>(), not_one{});
}
/// The settings of a rule, its rate among them.
template <class Rule>
constexpr auto settings_of(const Rule& rule) {
  constexpr auto rate = [](double lr) { return setting::not_negative("lr", lr); };
  if constexpr (requires { rule.settings(); }) {
    return [&]<std::size_t... I>(const auto& all, std::index_sequence<I...>) {
      return std::array{rate(rule.lr), all[I]...};
    }(rule.settings(), std::make_index_sequence<std::tuple_size_v<decltype(rule.settings())>>{});
  } else {
    return std::array{rate(rule.lr)};
  }
}
template <auto Rule>
struct rule_settings {
  static constexpr auto all = settings_of(Rule);
};
/// How many moments a rule keeps at most, where it is one.
template <class Rule>
constexpr int most_moments() {
  if constexpr (an_update_rule<Rule>) return static_cast<int>(Rule::moments.size());
  else return 0;
}
template <auto Rule>
constexpr int moments_if_rule() {
  if constexpr (an_update_rule<std::remove_const_t<decltype(Rule)>>) return moments_of(Rule);
  else return 0;
}
/// How many arguments of an update say what is drawn.
inline constexpr int drawn_from = 3;
}  // namespace detail

/// A rule as an operation: results are the parameter's and the moments' next numbers. A parameter of bf16 is rounded by
/// chance: then the last arguments are where each number stands, and the two words of a key.
template <class Rule, int Moments, detail::clipping Clip, bool Stochastic = false>
struct update_op : elementwise_op {
  static constexpr fixed_string name = "update";
  using values = decltype(detail::next_values<Rule, Moments, Clip>());
};

}  // namespace cairn
