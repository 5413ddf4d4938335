// Checks whether an operation of the user keeps the laws on which programs rely. Example:
// `opcheck<own::picked_op, param<"x", 8, 5>, indices<"at", 5, 8>>()`
// The function returns a description of the broken law, or an empty text if the operation keeps all laws.
#pragma once

#include "cairn/base/macros_aside.hpp"

// cairn.hpp explains why these warnings are off.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wsign-conversion"  // extents are ints, sizes of std are not
#include "cairn/base/decimal.hpp"
#include "cairn/lang/convert.hpp"
#include "cairn/run/predictor.hpp"
#include "cairn/testing/gradcheck.hpp"
#include "cairn/testing/kernel_trial.hpp"
#pragma GCC diagnostic pop

#include <concepts>
#include <cstring>
#include <string>
#include <tuple>
#include <vector>

namespace cairn {

namespace detail {

/// The distribution of an argument's numbers. A parameter has its own initial distribution.
template <class E>
inline constexpr initial start_of = initial::uniform(1);
template <fixed_string Name, bool Trainable, initial Init, int... Extents>
inline constexpr initial start_of<parameter_leaf<Name, Trainable, Init, Extents...>> = Init;

template <class E>
inline constexpr bool is_trained = false;
template <fixed_string Name, initial Init, int... Extents>
inline constexpr bool is_trained<parameter_leaf<Name, true, Init, Extents...>> = true;

/// Draws one number of an argument, the same for equal seeds. Indices are less than `bound`.
template <class T>
void draw_number(T& to, const initial& start, int bound, random_sequence& random) {
  if constexpr (std::integral<T>)
    to = static_cast<T>(random.below(bound > 0 ? static_cast<std::uint32_t>(bound) : 100));
  else to = static_cast<T>(static_cast<float>(draw_initial(start, random)));
}
template <class T>
std::vector<T> drawn_numbers(std::int64_t count, const initial& start, int bound, seed s, int number) {
  random_sequence random(s, static_cast<std::uint64_t>(number) + 1);
  std::vector<T> numbers(static_cast<std::size_t>(count));
  for (T& drawn : numbers) {
    if constexpr (std::same_as<T, random_stream>) drawn = {s, static_cast<std::uint64_t>(number), 0};
    else draw_number(drawn, start, bound, random);
  }
  return numbers;
}
/// Returns the bytes of argument `number`, which a kernel reads as numbers of type T.
template <class E, class T>
std::vector<std::byte> drawn_bytes(seed s, int number) {
  const auto numbers = drawn_numbers<T>(E::shape.count(), start_of<E>, E::element.bound, s, number);
  const auto bytes = std::as_bytes(std::span(numbers));
  return {bytes.begin(), bytes.end()};
}

/// An array for the input `Name`.
template <fixed_string Name, class T>
struct drawn_input {
  std::vector<T> numbers;
  auto bound() const { return bind<Name>(numbers); }
};
/// The inputs that an argument reads, with random numbers.
template <class E>
struct inputs_of {
  static std::tuple<> drawn(seed, int) { return {}; }
};
template <fixed_string Name, int... Extents>
struct inputs_of<input_leaf<Name, Extents...>> {
  static std::tuple<drawn_input<Name, double>> drawn(seed s, int number) {
    return {{drawn_numbers<double>((std::int64_t{1} * ... * Extents), initial::uniform(1), 0, s, number)}};
  }
};
template <fixed_string Name, int Bound, int... Extents>
struct inputs_of<indices_leaf<Name, Bound, Extents...>> {
  static std::tuple<drawn_input<Name, std::int32_t>> drawn(seed s, int number) {
    return {{drawn_numbers<std::int32_t>((std::int64_t{1} * ... * Extents), {}, Bound, s, number)}};
  }
};
template <dtype To, class E>
struct inputs_of<expr<as_op<To>, E>> : inputs_of<E> {};
template <class Opaque>
struct inputs_of<renamed<Opaque>> : inputs_of<revealed<Opaque>> {};

/// Returns the terms of a weighted sum over the real results of an operation. Each number has a weight of its own.
template <int R, class Y>
constexpr auto weighted_terms(Y y) {
  if constexpr (kind_of(Y::element.type) != kind::real) {
    return std::tuple<>{};
  } else {
    return []<std::size_t... Axis>(Y of, std::index_sequence<Axis...>) {
      constexpr auto name = fixed_string{"weight of result "} + digits<R>;
      return std::tuple{sum(as_real(of) * frozen<name, Y::shape.extent[Axis]...>)};
    }(y, std::make_index_sequence<static_cast<std::size_t>(Y::shape.rank)>{});
  }
}
template <an_expression Y>
constexpr auto weighted_sum(Y y) {
  return weighted_terms<0>(y);
}
template <class... Y>
constexpr auto weighted_sum(std::tuple<Y...> results) {
  return [&]<int... R>(std::integer_sequence<int, R...>) {
    return std::tuple_cat(weighted_terms<R>(std::get<static_cast<std::size_t>(R)>(results))...);
  }(std::make_integer_sequence<int, static_cast<int>(sizeof...(Y))>{});
}

inline std::string gradient_text(const gradient_deviation& worst) {
  return text_of({"the gradient of ", worst.name, ", number ", std::to_string(worst.at), ": ",
                  significant(worst.gradient, 9), ", but ", significant(worst.quotient, 9),
                  " by differences, a deviation of ", significant(worst.relative, 2)});
}
inline std::string gradient_fault(const gradient_deviation& worst) {
  return worst.relative <= gradient_tolerance ? std::string() : gradient_text(worst);
}

/// Returns a description of the fault, or an empty text. A training step must produce the same bits whatever its arena
/// contains at the beginning. The check includes values that only fused loops compute.
std::string step_fault(auto& step, seed s, const auto&... inputs) {
  std::vector<double> found[2];
  for (const std::byte before : {std::byte{0xff}, std::byte{0x3f}}) {
    step.init(s);
    std::ranges::fill(step.arena(), before);
    auto& numbers = found[before == std::byte{0xff} ? 0 : 1];
    numbers.push_back(step.value_and_grad(inputs...));
    numbers.insert(numbers.end(), step.gradients().begin(), step.gradients().end());
  }
  const bool same = std::memcmp(found[0].data(), found[1].data(), found[0].size() * sizeof(double)) == 0;
  return same ? "" : "a step that differentiates it has other bits when other bytes lay in its arena before";
}

template <an_expression Y>
constexpr Y first_result(Y y) {
  return y;
}
template <class... Y>
constexpr auto first_result(std::tuple<Y...> results) {
  return std::get<0>(results);
}
/// Returns the same value as the result of a fused loop, if the value is a real number that a fused loop can compute.
template <an_expression X>
constexpr auto computed_by_fused_loop(X x) {
  if constexpr (kind_of(X::element.type) == kind::real && !(is_updatable<X> || is_rounded(X::element.type)))
    return x * 1_c;
  else return x;
}
/// Returns the bytes of a predictor's result.
auto bytes_of(const auto& result) {
  const auto raw = std::as_bytes([&] {
    if constexpr (requires { result.data(); }) return std::span(result.data(), result.size());
    else return std::span(&result, 1);
  }());
  return std::vector(raw.begin(), raw.end());
}
template <class... Result>
auto bytes_of(const std::tuple<Result...>& results) {
  return std::apply([](const auto&... each) { return std::vector{bytes_of(each)...}; }, results);
}
template <an_expression Y>
constexpr auto outputs_with(Y y, auto more) {
  return outputs(y, more);
}
template <class... Y>
constexpr auto outputs_with(std::tuple<Y...> results, auto more) {
  return std::apply([more](Y... y) { return outputs(y..., more); }, results);
}
/// Checks a kernel that can share a plan step with fused loops. The kernel must compute the same numbers in such a
/// plan step as alone. Returns a description of the fault, or an empty text.
template <class Op, auto... Arguments>
std::string sharing_fault(auto& step, const auto&... inputs) {
  constexpr making made = Op::makes(0, sizeof(double), decltype(Arguments)::shape...);
  constexpr bool shares = made.tiles != tiling::none || Op::reads(0, decltype(Arguments)::shape...).rows_from_loop;
  if constexpr (shares) {
    predictor<first_result(make<Op>(Arguments...)), real<double>> alone{step};
    predictor<computed_by_fused_loop(first_result(make<Op>(computed_by_fused_loop(Arguments)...))), real<double>>
        with_loop{step};
    if (bytes_of(alone(inputs...)) != bytes_of(with_loop(inputs...)))
      return "it computes other numbers where a loop makes the rows of its argument, or takes its result in tiles";
  }
  if constexpr (made.one_for_each_row) {
    constexpr auto row_results = first_result(make<Op>(Arguments...));
    constexpr auto rows = std::get<0>(std::tuple{Arguments...});
    predictor<outputs_with(make<Op>(Arguments...), rows + computed_by_fused_loop(row_results)), real<double>> alone{
        step};
    predictor<outputs_with(make<Op>(Arguments...), rows + row_results), real<double>> with_loop{step};
    if (bytes_of(alone(inputs...)) != bytes_of(with_loop(inputs...)))
      return "it computes other numbers where a loop follows it through the rows, or does not go through all of them";
  }
  return {};
}

template <class E>
inline constexpr bool is_mistake = wrong<E>;
template <class First, class... Rest>
inline constexpr bool is_mistake<std::tuple<First, Rest...>> = wrong<First>;

/// The number type in which a kernel reads an argument.
template <bool Halves, class A, class Numbers>
using number_read = std::conditional_t<Halves, bf16, stored_as<A::element.type, real_type_of<Numbers>>>;
/// Runs the trial of the kernel for the number type of a program. If the operation has a second kernel that returns
/// float32 where the first one returns bf16, runs the trial of the second kernel, too.
template <class Op, class Numbers, class... A>
std::string kernel_fault(seed s) {
  static constexpr const graphs::operation& op =
      graphs::operation_of<Op, graphs::target<Numbers, 0, true>, tensor_of<A>...>;
  return [s]<int... I>(std::integer_sequence<int, I...>) {
    constexpr bool draws = ((Op::argument_kind(I) == kind::key) || ...);
    std::string fault;
    for (const graphs::operation* const form : {&op, op.with_float_results}) {
      if (form == nullptr || !fault.empty()) continue;
      kernel_trial trial(*form, {drawn_bytes<A, number_read<op.reads_bf16(I), A, Numbers>>(s, I)...});
      fault = trial.fault();
      if (fault.empty()) fault = trial.row_fault(draws);
    }
    return fault;
  }(std::make_integer_sequence<int, static_cast<int>(sizeof...(A))>{});
}
/// Runs the trial in mixed<bf16>, if the kernel reads or returns bf16 there.
template <class Op, class... A>
std::string mixed_kernel_fault(seed s) {
  constexpr const graphs::operation& op =
      graphs::operation_of<Op, graphs::target<floats_rounded, 0, true>, tensor_of<A>...>;
  std::string fault;
  if constexpr (op.bf16_handling == graphs::rounding::reads_bf16 || op.with_float_results != nullptr) {
    fault = kernel_fault<Op, floats_rounded, A...>(s);
    if (!fault.empty()) fault += ", in mixed<bf16>";
  }
  return fault;
}
/// Returns arrays for all inputs among the arguments.
template <class... A>
auto all_inputs(seed s) {
  return [s]<int... I>(std::integer_sequence<int, I...>) {
    return std::tuple_cat(inputs_of<A>::drawn(s, I)...);
  }(std::make_integer_sequence<int, static_cast<int>(sizeof...(A))>{});
}

template <class Op, auto... Arguments>
inline constexpr auto terms_of = weighted_sum(make<Op>(Arguments...));
/// True if one of the arguments of the operation has a gradient.
template <class Op, auto... Arguments>
inline constexpr bool has_gradient = (is_trained<std::remove_const_t<decltype(Arguments)>> || ...) &&
                                     std::tuple_size_v<std::remove_const_t<decltype(terms_of<Op, Arguments...>)>> > 0 &&
                                     !Op::detaches && !Op::piecewise_constant;

/// True if two arguments are trained parameters that differ only in their names.
template <class A, class B>
inline constexpr bool are_alike = false;
template <fixed_string First, fixed_string Second, initial Init, int... Extents>
inline constexpr bool
    are_alike<parameter_leaf<First, true, Init, Extents...>, parameter_leaf<Second, true, Init, Extents...>> = true;
/// Returns the first argument that differs from argument I only in its name, or argument I itself.
template <std::size_t I, class... A>
constexpr auto first_alike(std::tuple<A...> arguments) {
  using argument = std::tuple_element_t<I, std::tuple<A...>>;
  constexpr bool alike[]{are_alike<A, argument>...};
  constexpr auto first = static_cast<std::size_t>(std::ranges::find(alike, true) - alike);
  return std::get < first<I ? first : I>(arguments);
}

template <class Op, auto... Arguments>
inline constexpr auto loss_of = std::apply([](auto... term) { return (term + ...); }, terms_of<Op, Arguments...>);
/// Checks gradients with one parameter in place of all arguments that differ only in their names.
template <class Op, auto... Arguments>
std::string equal_arguments_fault(seed s, const auto&... inputs) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    constexpr auto loss = loss_of<Op, first_alike<I>(std::tuple{Arguments...})...>;
    if constexpr (std::same_as<decltype(loss), decltype(loss_of<Op, Arguments...>)>) return std::string();
    else {
      const std::string fault = gradient_fault(gradcheck<loss>(s, inputs...));
      return fault.empty() ? fault : fault + ", where one parameter is several arguments";
    }
  }(std::make_index_sequence<sizeof...(Arguments)>{});
}

/// Checks the gradient of the first real result of several. An operation may have a gradient rule of its own for it.
template <class Op, auto... Arguments>
std::string first_result_fault(seed s, const auto&... inputs) {
  constexpr auto terms = terms_of<Op, Arguments...>;
  if constexpr (std::tuple_size_v<std::remove_const_t<decltype(terms)>> == 1) return {};
  else {
    const std::string fault = gradient_fault(gradcheck<std::get<0>(terms)>(s, inputs...));
    return fault.empty() ? fault : fault + ", where only the first result is used";
  }
}

template <class Op, auto... Arguments>
std::string step_and_gradient_fault(seed s, const auto&... inputs) {
  constexpr auto loss = loss_of<Op, Arguments...>;
  program<loss, real<double>> step;
  std::string fault = step_fault(step, s, inputs...);
  if (fault.empty()) fault = sharing_fault<Op, Arguments...>(step, inputs...);
  if (fault.empty()) fault = gradient_fault(gradcheck<loss>(s, inputs...));
  if (fault.empty()) fault = first_result_fault<Op, Arguments...>(s, inputs...);
  return fault.empty() ? equal_arguments_fault<Op, Arguments...>(s, inputs...) : fault;
}
/// The sum of a parameter or state. For any other argument, 0.
template <class E>
inline constexpr auto sum_of_parameter = 0_c;
template <fixed_string Name, bool Trainable, initial Init, int... Extents>
inline constexpr auto sum_of_parameter<parameter_leaf<Name, Trainable, Init, Extents...>> =
    sum(parameter_leaf<Name, Trainable, Init, Extents...>{});
template <dtype To, class E>
inline constexpr auto sum_of_parameter<expr<as_op<To>, E>> = sum_of_parameter<E>;

template <an_expression Y>
constexpr auto all_results(Y y) {
  return outputs(y);
}
template <class... Y>
constexpr auto all_results(std::tuple<Y...> results) {
  return std::apply([](Y... y) { return outputs(y...); }, results);
}
/// Checks an operation that no training step differentiates. Its value must have the same bits twice, whatever the
/// arena contains before. Returns a description of the fault, or an empty text.
template <class Op, auto... Arguments>
std::string value_fault(seed s, const auto&... inputs) {
  using predicting = predictor<all_results(make<Op>(Arguments...)), real<double>>;
  program<(sum(param<"one that is trained", 1>) + ... + sum_of_parameter<std::remove_const_t<decltype(Arguments)>>),
          real<double>>
      owner;  // owns the parameters that the predictor reads, and never runs
  owner.init(s);
  guarded_memory arena(predicting::memory().peak_bytes);
  predicting predict{owner, arena.bytes()};
  const auto found = [&](std::byte before) {
    std::ranges::fill(arena.bytes(), before);
    return bytes_of(predict(inputs...));
  };
  return found(std::byte{0xff}) == found(std::byte{0x3f})
             ? ""
             : "it has other bits the second time, when other bytes lay in the arena before";
}
template <class Op, auto... Arguments>
std::string program_fault(seed s) {
  const auto drawn = all_inputs<std::remove_const_t<decltype(Arguments)>...>(s);
  return std::apply(
      [=](const auto&... input) -> std::string {
        if constexpr (has_gradient<Op, Arguments...>)
          return step_and_gradient_fault<Op, Arguments...>(s, input.bound()...);
        else if constexpr (!has_kernel<Op>) return value_fault<Op, Arguments...>(s, input.bound()...);
        else return {};
      },
      drawn);
}
}  // namespace detail

/// Applies the operation Op to the given leaves, and returns a description of the first law that it breaks. Returns an
/// empty text if it keeps all laws.
///
/// If the operation has a kernel:
/// - The kernel computes the same bits from the same arguments when it runs twice and on any number of threads.
/// - The results do not depend on the previous contents of results and workspace, nor on the bytes next to the
///   operands.
/// - The results are the same if one result is unused, or if a result lies over the argument that it `overwrites`.
/// - The kernel writes only its results and its workspace.
/// - If the operation declares `keeps_rows`, each row of the results depends on the same row of these arguments alone,
///   and not on the position of the row.
/// - If the kernel gives tiles, or takes or gives rows, it computes the same in a plan step with fused loops as alone.
///
/// All of these laws except the last one are checked in float and in double, and also in mixed<bf16> if the operation
/// takes or returns bf16 there.
///
/// If the operation has a gradient:
/// - A training step produces the same bits whatever its arena contains.
/// - The gradients of the leaves that are parameters agree with finite differences. They also agree if one parameter
///   takes the place of all parameters that differ from it only in their names.
///
/// If the operation has neither a kernel nor a gradient, its value has the same bits twice, whatever the arena
/// contains.
///
/// Parameters start as they declare. Other numbers are drawn from `s`. Rejects everything that make<Op> rejects.
template <class Op, auto... Leaves>
  requires(sizeof...(Leaves) > 0 && (an_expression<std::remove_const_t<decltype(Leaves)>> && ...))
[[nodiscard]] std::string opcheck(seed s = {1}) {
  const auto applied = make<Op>(Leaves...);  // reports a wrong application of the operation
  std::string fault;
  if constexpr (!detail::is_mistake<std::remove_const_t<decltype(applied)>>) {
    if constexpr (lang::has_kernel<Op>) {
      fault = detail::kernel_fault<Op, float, std::remove_const_t<decltype(Leaves)>...>(s);
      if (fault.empty()) fault = detail::kernel_fault<Op, double, std::remove_const_t<decltype(Leaves)>...>(s);
      if (fault.empty()) fault = detail::mixed_kernel_fault<Op, std::remove_const_t<decltype(Leaves)>...>(s);
    }
    if (fault.empty()) fault = detail::program_fault<Op, Leaves...>(s);
  }
  return fault.empty() ? fault : detail::text_of({Op::name, ": ", fault});
}

}  // namespace cairn

#include "cairn/base/macros_back.hpp"
