// Checks an operation of a user's against what programs rely on: `opcheck<own::picked_op, param<"x", 8, 5>,
// indices<"at", 5, 8>>()` says in words what it breaks, and nothing where all holds.
#pragma once

#include "cairn/base/macros_aside.hpp"

// As in cairn.hpp.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wsign-conversion"  // extents are ints, sizes of std are not
#include "cairn/base/decimal.hpp"
#include "cairn/testing/kernel_trial.hpp"
#include "cairn/run/predictor.hpp"
#include "cairn/lang/convert.hpp"
#include "cairn/testing/gradcheck.hpp"
#pragma GCC diagnostic pop

#include <concepts>
#include <cstring>
#include <string>
#include <tuple>
#include <vector>

namespace cairn {

namespace detail {

/// Where an argument's numbers come from: of a parameter, what it starts with.
template <class E>
inline constexpr initial start_of = initial::uniform(1);
template <fixed_string Name, bool Trainable, initial Init, int... Extents>
inline constexpr initial start_of<parameter_leaf<Name, Trainable, Init, Extents...>> = Init;

template <class E>
inline constexpr bool is_trained = false;
template <fixed_string Name, initial Init, int... Extents>
inline constexpr bool is_trained<parameter_leaf<Name, true, Init, Extents...>> = true;

/// Numbers for an argument, the same for the same seed: of indices such as are below their bound.
template <class T>
void draw_number(T& to, const initial& start, int bound, random_sequence& random) {
  if constexpr (std::integral<T>)
    to = static_cast<T>(random.below(bound > 0 ? static_cast<std::uint32_t>(bound) : 100));
  else to = static_cast<T>(static_cast<float>(drawn_by(start, random)));
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
/// The bytes of argument number I, which a kernel reads as numbers of type T.
template <class E, class T>
std::vector<std::byte> drawn_bytes(seed s, int number) {
  const auto numbers = drawn_numbers<T>(E::shape.count(), start_of<E>, E::element.bound, s, number);
  const auto bytes = std::as_bytes(std::span(numbers));
  return {bytes.begin(), bytes.end()};
}

/// An array for an input, to be bound by its name.
template <fixed_string Name, class T>
struct drawn_input {
  std::vector<T> numbers;
  auto bound() const { return bind<Name>(numbers); }
};
/// The inputs that an argument reads.
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

/// A sum over the real results of an operation, in which each number has a weight of its own.
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

/// Whether a step has the same bits whatever lies in its arena before: also of what only loops compute.
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
/// The same value, if it is a number that a loop may compute, as what a loop does compute.
template <an_expression X>
constexpr auto by_a_loop(X x) {
  if constexpr (kind_of(X::element.type) == kind::real && !(is_state<X> || is_rounded(X::element.type))) return x * 1_c;
  else return x;
}
/// What a predictor returned.
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
/// Whether a kernel that may share its step with loops computes the same there as alone.
template <class Op, auto... Arguments>
std::string sharing_fault(auto& step, const auto&... inputs) {
  constexpr bool shares = Op::tiles(sizeof(double), decltype(Arguments)::shape...) != tiling::none ||
                          Op::takes_rows(decltype(Arguments)::shape...);
  if constexpr (shares) {
    predictor<first_result(make<Op>(Arguments...)), real<double>> alone{step};
    predictor<by_a_loop(first_result(make<Op>(by_a_loop(Arguments)...))), real<double>> beside{step};
    if (bytes_of(alone(inputs...)) != bytes_of(beside(inputs...)))
      return "it computes other numbers where a loop makes the rows of its argument, or takes its result in tiles";
  }
  if constexpr (Op::gives_rows(decltype(Arguments)::shape...)) {
    constexpr auto told = first_result(make<Op>(Arguments...));
    constexpr auto rows = std::get<0>(std::tuple{Arguments...});
    predictor<outputs_with(make<Op>(Arguments...), rows + by_a_loop(told)), real<double>> alone{step};
    predictor<outputs_with(make<Op>(Arguments...), rows + told), real<double>> beside{step};
    if (bytes_of(alone(inputs...)) != bytes_of(beside(inputs...)))
      return "it computes other numbers where a loop follows it through the rows, or does not go through all of them";
  }
  return {};
}

template <class E>
inline constexpr bool is_mistake = wrong<E>;
template <class First, class... Rest>
inline constexpr bool is_mistake<std::tuple<First, Rest...>> = wrong<First>;

/// What a kernel reads of an argument.
template <bool Halves, class A, class Numbers>
using number_read = std::conditional_t<Halves, bf16, stored_as<A::element.type, real_type_of<Numbers>>>;
/// By type of a program's numbers; of what makes bf16 in floats, too.
template <class Op, class Numbers, class... A>
std::string kernel_fault(seed s) {
  static constexpr const ir::operation& op = ir::operation_of<Op, ir::target<Numbers, 0, true>, tensor_of<A>...>;
  return [s]<int... I>(std::integer_sequence<int, I...>) {
    std::string fault;
    for (const ir::operation* const form : {&op, op.wide}) {
      if (form != nullptr && fault.empty())
        fault = kernel_trial(*form, {drawn_bytes<A, number_read<op.takes_bf16(I), A, Numbers>>(s, I)...}).fault();
    }
    return fault;
  }(std::make_integer_sequence<int, static_cast<int>(sizeof...(A))>{});
}
/// The same of a kernel that reads or makes bf16 where real numbers are stored so.
template <class Op, class... A>
std::string mixed_kernel_fault(seed s) {
  constexpr const ir::operation& op = ir::operation_of<Op, ir::target<floats_rounded, 0, true>, tensor_of<A>...>;
  std::string fault;
  if constexpr (op.rounded == ir::rounding::takes || op.wide != nullptr) {
    fault = kernel_fault<Op, floats_rounded, A...>(s);
    if (!fault.empty()) fault += ", in mixed<bf16>";
  }
  return fault;
}
/// Arrays for all inputs among the arguments.
template <class... A>
auto all_inputs(seed s) {
  return [s]<int... I>(std::integer_sequence<int, I...>) {
    return std::tuple_cat(inputs_of<A>::drawn(s, I)...);
  }(std::make_integer_sequence<int, static_cast<int>(sizeof...(A))>{});
}

template <class Op, auto... Arguments>
inline constexpr auto terms_of = weighted_sum(make<Op>(Arguments...));
/// Whether one of its arguments has a gradient.
template <class Op, auto... Arguments>
inline constexpr bool is_differentiated =
    (is_trained<std::remove_const_t<decltype(Arguments)>> || ...) &&
    std::tuple_size_v<std::remove_const_t<decltype(terms_of<Op, Arguments...>)>> > 0 && !Op::detaches &&
    !Op::piecewise_constant;

/// Whether two arguments are trained parameters that differ in their names alone.
template <class A, class B>
inline constexpr bool are_alike = false;
template <fixed_string First, fixed_string Second, initial Init, int... Extents>
inline constexpr bool
    are_alike<parameter_leaf<First, true, Init, Extents...>, parameter_leaf<Second, true, Init, Extents...>> = true;
/// The first argument that is like argument number I, or the argument itself.
template <std::size_t I, class... A>
constexpr auto first_alike(std::tuple<A...> arguments) {
  using argument = std::tuple_element_t<I, std::tuple<A...>>;
  constexpr bool alike[]{are_alike<A, argument>...};
  constexpr auto first = static_cast<std::size_t>(std::ranges::find(alike, true) - alike);
  return std::get < first<I ? first : I>(arguments);
}

template <class Op, auto... Arguments>
inline constexpr auto loss_of = std::apply([](auto... term) { return (term + ...); }, terms_of<Op, Arguments...>);
/// The same where one parameter stands for all arguments that are alike.
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

template <class Op, auto... Arguments>
std::string step_and_gradient_fault(seed s, const auto&... inputs) {
  constexpr auto loss = loss_of<Op, Arguments...>;
  program<loss, real<double>> step;
  std::string fault = step_fault(step, s, inputs...);
  if (fault.empty()) fault = sharing_fault<Op, Arguments...>(step, inputs...);
  if (fault.empty()) fault = gradient_fault(gradcheck<loss>(s, inputs...));
  return fault.empty() ? equal_arguments_fault<Op, Arguments...>(s, inputs...) : fault;
}
/// The parameters and states among arguments, as a number.
template <class E>
inline constexpr auto kept_in = 0_c;
template <fixed_string Name, bool Trainable, initial Init, int... Extents>
inline constexpr auto kept_in<parameter_leaf<Name, Trainable, Init, Extents...>> =
    sum(parameter_leaf<Name, Trainable, Init, Extents...>{});
template <dtype To, class E>
inline constexpr auto kept_in<expr<as_op<To>, E>> = kept_in<E>;

template <an_expression Y>
constexpr auto all_results(Y y) {
  return outputs(y);
}
template <class... Y>
constexpr auto all_results(std::tuple<Y...> results) {
  return std::apply([](Y... y) { return outputs(y...); }, results);
}
/// Whether the same value has the same bits twice, whatever lies in the arena before: where no step differentiates it.
template <class Op, auto... Arguments>
std::string value_fault(seed s, const auto&... inputs) {
  using predicting = predictor<all_results(make<Op>(Arguments...)), real<double>>;
  program<(sum(param<"one that is trained", 1>) + ... + kept_in<std::remove_const_t<decltype(Arguments)>>),
          real<double>>
      owner;  // of what the predictor reads, and never run
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
        if constexpr (is_differentiated<Op, Arguments...>)
          return step_and_gradient_fault<Op, Arguments...>(s, input.bound()...);
        else if constexpr (!has_kernel<Op>) return value_fault<Op, Arguments...>(s, input.bound()...);
        else return {};
      },
      drawn);
}
}  // namespace detail

/// What the operation Op breaks when it is applied to such leaves, or nothing. Where it has a kernel: that it computes
/// the same bits from the same arguments, run twice, on any number of threads, whatever lay in the memory of its
/// results and its scratch before and lies beside its operands; with a result that nobody reads, or over the argument
/// that it `overwrites`; that it writes nothing but its results and its scratch; and, where it gives tiles, or takes or
/// gives rows, the same beside loops as alone. All but the last in floats, in doubles, and in mixed<bf16> where it
/// takes or makes that. Where it has a gradient: that a step has the same bits whatever lay in its arena, and that the
/// gradients of those leaves that are parameters are the differences, also where one of them stands for all that differ
/// from it in their names alone. Where it has neither: that its value has the same bits twice, whatever lay in the
/// arena.
/// Parameters start as they say, other numbers are drawn from `s`. Rejects what make<Op> does.
template <class Op, auto... Leaves>
  requires(sizeof...(Leaves) > 0 && (an_expression<std::remove_const_t<decltype(Leaves)>> && ...))
[[nodiscard]] std::string opcheck(seed s = {1}) {
  const auto applied = make<Op>(Leaves...);  // which reports what is wrong with it
  std::string fault;
  if constexpr (!detail::is_mistake<std::remove_const_t<decltype(applied)>>) {
    if constexpr (detail::has_kernel<Op>) {
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
