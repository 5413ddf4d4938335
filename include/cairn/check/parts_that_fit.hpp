// The fewest microbatches with which the arena of a program fits.
#pragma once

#include "cairn/check/model.hpp"

#include <concepts>
#include <limits>
#include <type_traits>

namespace cairn {

/// A function that returns the loss of a number of rows: `[](auto rows) { return loss<rows>; }`.
template <class F>
concept a_loss_of_rows = std::invocable<const F&, std::integral_constant<int, 1>>;

namespace detail {
template <auto LossOf, int Rows>
inline constexpr auto loss_of_rows = LossOf(std::integral_constant<int, Rows>{});

/// The option, or an option without effect in place of a limit of the arena.
template <class Option>
using without_limit =
    std::conditional_t<std::min(option_settings<Option>::fit, option_settings<Option>::budget) == default_settings::fit,
                       Option, freeze<>>;

/// Returns the bytes of the arena of a program that runs a batch of `Rows` rows in `Parts` microbatches. Returns 0 if
/// the program has a mistake that no number of bytes cures. The program itself then reports the mistake.
template <auto LossOf, int Rows, int Parts, class... Options>
constexpr std::int64_t arena_in_parts() {
  constexpr auto loss = loss_of_rows<LossOf, Rows / Parts>;
  using division = std::conditional_t<Parts == 1, freeze<>, microbatch<Parts>>;
  if constexpr (!runs<loss, true, without_limit<Options>..., division>) return 0;
  else return arena_bytes<compiled_of<loss, true, Options..., division>>();
}

/// Returns the least divisor of `rows` that is larger than `parts`, or `rows` + 1.
constexpr int next_divisor(int rows, int parts) {
  do ++parts;
  while (parts <= rows && rows % parts != 0);
  return parts;
}
/// Tries `Parts` microbatches, and then more of them. `Best` microbatches take the fewest bytes so far, `Least`.
template <auto LossOf, int Rows, int Parts, int Best, std::int64_t Least, class... Options>
constexpr int find_parts() {
  if constexpr (Parts > Rows) {
    return Best;
  } else {
    constexpr std::int64_t bytes = arena_in_parts<LossOf, Rows, Parts, Options...>();
    constexpr int best = bytes < Least ? Parts : Best;
    if constexpr (bytes <= std::min(request<Options...>::fit, request<Options...>::budget)) return Parts;
    else return find_parts<LossOf, Rows, next_divisor(Rows, Parts), best, std::min(bytes, Least), Options...>();
  }
}
}  // namespace detail

/// The least number of equal microbatches with which a training step of `Rows` rows fits into the bytes that fit<...>
/// or budget<...> allows for the arena: `parts_that_fit<loss_of, 512, fit<4_MiB>>`. The function `LossOf` is called
/// with a std::integral_constant, the rows of a microbatch, and returns the loss. The divisors of Rows are tried one
/// after another, from 1 on. If no divisor fits, this is the divisor with the smallest arena.
template <auto LossOf, int Rows, class... Options>
  requires(Rows > 0 && a_loss_of_rows<decltype(LossOf)>)
inline constexpr int parts_that_fit =
    detail::find_parts<LossOf, Rows, 1, 1, std::numeric_limits<std::int64_t>::max(), Options...>();

}  // namespace cairn
