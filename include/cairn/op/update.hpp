// Update rules: how a training step changes a parameter by its gradient. An update rule is written in the language, for
// one number of the parameter at a time. A program that trains in its own step and an optimizer that runs after the
// step both use the same `next`, so both compute the same bits.
#pragma once

#include "cairn/lang/options.hpp"
#include "cairn/op/elementwise.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <tuple>

namespace cairn::lang {

// An update rule is an object of options, which may be a template argument. It has these members:
//
//   lr                   the learning rate that is used if the training step is given none
//   moments              names of the moments: the numbers that the rule stores for each parameter from one training
//                        step to the next; moments begin at zero
//   settings()           optional: a std::array<setting, N> that says which values the options may have
//   moment_count()       optional: how many of the moments the rule stores, if this depends on the options
//   numbers(lr, step)    a std::array<double, N> of numbers that are the same for all parameters in a training step;
//                        the first training step is number 1
//   next(p, g, numbers..., moments...)  static: the next value of the parameter and then the next value of each moment,
//                        in a std::tuple of expressions, which consist of elementwise operations
//
// A rule of whole tensors also has the member `static constexpr bool whole_tensor = true`. Its p, g and moments have
// the shape of the parameter, so `next` may use sums, products of matrices and all other operations. Each of the
// expressions that it returns ends in an elementwise operation. Such a rule may have these members, too:
//
//   takes(shape)         static: returns true if the rule can update a parameter of this shape
//   moment_shape(k, shape)  static: the shape of moment number k of a parameter of this shape, if it is another shape.
//                        Returns no_shape if such a parameter has only the moments before number k
//
// Example:
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
/// For update rules. Returns x, except where x overflowed although `from` is finite: there it returns the largest
/// number with the sign of x. If `from` is not finite, the result is NaN.
template <an_operand X, an_operand From>
constexpr made<saturated_op, X, From> saturated(X, From) {
  return {};
}
/// For update rules. Returns x, except where the square of x would overflow: there it returns a number with the sign of
/// x that is just small enough to be squared. If x is infinite, the result is NaN.
template <an_operand X>
constexpr made<squarable_op, X> squarable(X) {
  return {};
}

}  // namespace cairn::lang

namespace cairn {
/// Options of one training step.
struct train_options {
  std::optional<double> lr = {};  ///< learning rate; without a value, each update rule uses its own `lr`
};
}  // namespace cairn

namespace cairn::lang {

struct rules {};
/// Placeholder for number I among the arguments of an update rule. Update rules are bodies: a mistake in an update rule
/// is reported where the rule is used.
template <int I>
struct rule_number : tensor<element_type{}>, expression {
  using owner = scope<0, rules>;
  static constexpr expression_traits traits{};
};

template <class Rule>
constexpr int moments_of(const Rule& rule) {
  if constexpr (requires { rule.moment_count(); }) return rule.moment_count();
  else return static_cast<int>(Rule::moments.size());
}
template <class Rule>
inline constexpr int numbers_of =
    static_cast<int>(std::tuple_size_v<decltype(std::declval<const Rule&>().numbers(0.0, std::int64_t{1}))>);

/// Placeholder for argument number I of a rule of whole tensors, if the argument has the shape of the parameter.
template <int I, class Tensor>
struct rule_tensor : Tensor, expression {
  using owner = scope<0, rules>;
  static constexpr expression_traits traits{};
};

/// True for a rule of whole tensors.
template <class Rule>
inline constexpr bool reads_whole_tensors = requires { requires Rule::whole_tensor; };

/// Returns the shape of moment number k of a parameter of shape s, or no_shape if the parameter has no such moment.
template <class Rule>
constexpr shape moment_shape(int k, const shape& s) {
  if constexpr (requires { Rule::moment_shape(k, s); }) return Rule::moment_shape(k, s);
  else return s;
}
/// Returns how many moments a rule of whole tensors stores of a parameter of shape s.
template <class Rule>
constexpr int moments_of(const Rule& rule, const shape& s) {
  int count = 0;
  while (count < moments_of(rule) && moment_shape<Rule>(count, s).valid()) ++count;
  return count;
}

template <clipping Clip>
constexpr auto clipped(auto gradient, [[maybe_unused]] auto limit) {
  if constexpr (Clip == clipping::norm) return gradient * limit;
  else if constexpr (Clip == clipping::value) return minimum(maximum(gradient, -limit), limit);
  else return gradient;
}

/// Returns what `next` of an update rule computes from placeholders, or nothing if `next` cannot be called. The
/// placeholders have this order: the parameter, its gradient, the rule's numbers of the training step, the moments, and
/// the limit if gradients are clipped.
template <class Rule, int Moments, clipping Clip>
constexpr auto next_values() {
  return []<int... I>(std::integer_sequence<int, I...>) {
    constexpr int limit = 2 + static_cast<int>(sizeof...(I));
    if constexpr (requires { Rule::next(rule_number<0>{}, rule_number<1>{}, rule_number<2 + I>{}...); })
      return Rule::next(rule_number<0>{}, clipped<Clip>(rule_number<1>{}, rule_number<limit>{}),
                        rule_number<2 + I>{}...);
  }(std::make_integer_sequence<int, numbers_of<Rule> + Moments>{});
}

/// The tensor of real numbers with shape S.
template <shape S, class Axes = std::make_index_sequence<static_cast<std::size_t>(S.rank)>>
struct real_tensor_of;
template <shape S, std::size_t... Axis>
struct real_tensor_of<S, std::index_sequence<Axis...>> {
  using type = tensor<element_type{}, S.extent[Axis]...>;
};
template <shape S>
using real_tensor = typename real_tensor_of<S>::type;

/// The arguments of a rule of whole tensors for a parameter of shape S, in the order of `next_values`.
template <class Rule, int Moments, clipping Clip, shape S>
struct whole_arguments {
  static constexpr int moments_begin = 2 + numbers_of<Rule>, limit = moments_begin + Moments,
                       count = limit + (Clip != clipping::off);
  template <int I>
  static constexpr auto argument() {
    if constexpr (I < 2) return rule_tensor<I, real_tensor<S>>{};
    else if constexpr (I < moments_begin || I >= limit) return rule_number<I>{};
    else {
      constexpr shape of_moment = moment_shape<Rule>(I - moments_begin, S);
      return rule_tensor<I, real_tensor<of_moment>>{};
    }
  }
  template <int I>
  using nth = decltype(argument<I>());
  /// Returns what `next` computes, or nothing if `next` cannot be called.
  static constexpr auto values() {
    return []<int... I>(std::integer_sequence<int, I...>) {
      if constexpr (requires { Rule::next(nth<0>{}, nth<1>{}, nth<2 + I>{}...); })
        return Rule::next(nth<0>{}, clipped<Clip>(nth<1>{}, nth<limit>{}), nth<2 + I>{}...);
    }(std::make_integer_sequence<int, limit - 2>{});
  }
};

/// True if a tuple has one elementwise result for the parameter and for each moment, of the shape that it has. Two of
/// the results are not the same expression, because each of them gets memory of its own.
template <class Rule, int Moments, shape S, class T>
inline constexpr bool all_of_shape = false;
template <class E, class... All>
inline constexpr std::size_t count_of = (std::size_t{0} + ... + std::is_same_v<E, All>);
template <class E>
inline constexpr bool ends_elementwise = false;
template <class Op, class... A>
inline constexpr bool ends_elementwise<expr<Op, A...>> = Op::elementwise;
template <class Opaque>
inline constexpr bool ends_elementwise<renamed<Opaque>> = ends_elementwise<revealed<Opaque>>;
template <class Rule, int Moments, shape S, class... E>
inline constexpr bool all_of_shape<Rule, Moments, S, std::tuple<E...>> = [] {
  int next = 0;
  const auto fits = [&next](const shape& made) { return made == (next == 0 ? S : moment_shape<Rule>(next - 1, S)); };
  return sizeof...(E) == static_cast<std::size_t>(Moments) + 1 &&
         ((ends_elementwise<E> && fits(E::shape) && ++next > 0) && ...) &&
         (0 + ... + count_of<E, E...>) == sizeof...(E);
}();

template <class E>
inline constexpr bool is_elementwise = false;
template <int I>
inline constexpr bool is_elementwise<rule_number<I>> = true;
template <double Value>
inline constexpr bool is_elementwise<constant_leaf<Value>> = true;
template <class Op, class... A>
inline constexpr bool is_elementwise<expr<Op, A...>> = Op::elementwise && (is_elementwise<A> && ...);
template <class Opaque>
inline constexpr bool is_elementwise<renamed<Opaque>> = is_elementwise<revealed<Opaque>>;
template <int Moments, class T>
inline constexpr bool all_elementwise = false;
template <int Moments, class... E>
inline constexpr bool all_elementwise<Moments, std::tuple<E...>> =
    sizeof...(E) == static_cast<std::size_t>(Moments) + 1 && (is_elementwise<E> && ...);

/// True if `next` of an update rule returns the next values of a parameter and of `Moments` moments, and computes them
/// with elementwise operations.
template <class Rule, int Moments>
concept computes_next_values =
    Moments >= 0 && all_elementwise<Moments, decltype(next_values<Rule, Moments, clipping::off>())>;

/// Returns true for a rule of whole tensors, whose `next` is checked for each parameter, and for a rule whose `next` is
/// elementwise.
template <class Rule, int Moments>
constexpr bool is_whole_or_elementwise() {
  if constexpr (reads_whole_tensors<Rule>) return true;
  else return computes_next_values<Rule, Moments>;
}

/// A type that update<...> and optimizers take as an update rule. The concept does not check `next`.
template <class Rule>
concept an_update_rule = requires(const Rule& rule) {
  { rule.lr } -> std::convertible_to<double>;
  std::string_view(Rule::moments[0]);
  rule.numbers(0.0, std::int64_t{1})[0];
};

/// Returns the first mistake in the expressions of a tuple, or sound if the tuple contains no mistake.
template <class... E>
constexpr auto mistake_among(std::tuple<E...>*) {
  if constexpr ((wrong<E> || ...)) return pass_on<top_scope>(E{}...);
  else return sound{};
}
constexpr sound mistake_among(const void*) { return {}; }
template <class Rule, int Moments>
constexpr auto mistake_in_next() {
  using values = decltype(next_values<Rule, Moments, clipping::off>());
  return mistake_among(static_cast<std::add_pointer_t<values>>(nullptr));
}
/// Returns true if files can tell `Moments` moments of an update rule apart: their names are not empty, and no two
/// names are equal.
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
/// Returns what is wrong with an update rule that stores `Moments` moments, or sound if nothing is wrong. Either Rule
/// is no update rule, or `next` contains a mistake, or two moments have one name.
template <class Rule, int Moments>
constexpr auto problem_of_rule() {
  using no_update_rule = mistake<misuse::not_an_update_rule, top_scope, fact::given<Rule>>;
  if constexpr (!an_update_rule<Rule>) return no_update_rule{};
  else if constexpr (!is_whole_or_elementwise<Rule, Moments>())
    return first_problem(mistake_in_next<Rule, Moments>(), no_update_rule{});
  else if constexpr (names_differ<Rule, Moments>()) return sound{};
  else return mistake<misuse::moments_alike, top_scope, fact::given<Rule>>{};
}
/// Returns true if a rule of whole tensors can update a parameter of shape S.
template <class Rule, int Moments, clipping Clip, shape S>
constexpr bool fits_whole_rule() {
  if constexpr (requires { requires !Rule::takes(S); }) return false;
  else return all_of_shape<Rule, Moments, S, decltype(whole_arguments<Rule, Moments, Clip, S>::values())>;
}
/// Returns what is wrong with a rule of whole tensors for the parameter `Name` of shape S, or sound.
template <class Rule, int Moments, clipping Clip, shape S, auto Name>
constexpr auto problem_of_whole_rule() {
  using of_parameter = about<fact::parameter, Name>;
  if constexpr (fits_whole_rule<Rule, Moments, Clip, S>()) {
    return sound{};
  } else if constexpr (requires { requires !Rule::takes(S); }) {
    return mistake<misuse::rule_of_other_shapes, top_scope, of_parameter, fact::given<Rule>,
                   fact::operation<"update", tensor_fact<real_tensor<S>>>>{};
  } else {
    using values = decltype(whole_arguments<Rule, Moments, Clip, S>::values());
    return first_problem(mistake_among(static_cast<std::add_pointer_t<values>>(nullptr)),
                         mistake<misuse::wrong_whole_rule, top_scope, of_parameter, fact::given<Rule>>{});
  }
}
/// Returns the largest number of moments that an update rule can store. Returns 0 if Rule is no update rule.
template <class Rule>
constexpr int most_moments() {
  if constexpr (an_update_rule<Rule>) return static_cast<int>(Rule::moments.size());
  else return 0;
}
/// Returns what is wrong with a rule of an optimizer next to a program, or sound.
template <class Rule>
constexpr auto problem_of_rule_beside() {
  if constexpr (reads_whole_tensors<Rule>) return mistake<misuse::whole_rule_beside, top_scope, fact::given<Rule>>{};
  else return problem_of_rule<Rule, most_moments<Rule>()>();
}
/// Returns the settings of an update rule. The first setting is the learning rate.
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
template <auto Rule>
constexpr int moments_if_rule() {
  if constexpr (an_update_rule<std::remove_const_t<decltype(Rule)>>) return moments_of(Rule);
  else return 0;
}
/// Number of arguments of an update from which stochastic rounding draws.
inline constexpr int stochastic_argument_count = 3;

/// An update rule as an operation. The results are the next values of the parameter and of the moments. If Stochastic
/// is true, the parameter is bf16 and is rounded stochastically. The last three arguments
/// (`stochastic_argument_count`) are then the index of each element of the parameter and the two words of a key.
template <class Rule, int Moments, clipping Clip, bool Stochastic = false>
struct update_op : elementwise_op {
  static constexpr fixed_string name = "update";
  using values = decltype(next_values<Rule, Moments, Clip>());
};

}  // namespace cairn::lang

namespace cairn {
using lang::an_update_rule, lang::saturated, lang::squarable;
}  // namespace cairn
