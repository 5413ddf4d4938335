// Says which element types the kernel of an operation reads and makes, if some values are stored as bf16.
#pragma once

#include "cairn/graph/graph.hpp"
#include "cairn/lang/convert.hpp"

#include <array>
#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>

namespace cairn {

namespace detail {
/// The type in which an operation computes: the type of its arguments, or the program's type if it has no arguments.
template <class Real, class... Tensors>
using computed_as = stored_as<common_type_of<Tensors...>, Real>;
}  // namespace detail

namespace graphs {

/// An argument with the element type that the kernel reads: bf16 if `AsBf16`, and otherwise the argument's own type.
template <bool AsBf16, class Tensor,
          class Axes = std::make_index_sequence<static_cast<std::size_t>(Tensor::shape.rank)>>
struct argument_as_read {
  using type = Tensor;
};
template <class Tensor, std::size_t... Axis>
  requires(kind_of(Tensor::element.type) == kind::real)
struct argument_as_read<true, Tensor, std::index_sequence<Axis...>> {
  using type = lang::tensor<element_type{dtype::bf16}, Tensor::shape.extent[Axis]...>;
};

/// Returns entry number i of a list.
template <bool... Entry>
constexpr bool is_true_at(int i) {
  constexpr bool all[]{Entry..., false};
  return all[i];
}

/// Returns how an operation makes each result, in a kernel that computes with numbers of `Bytes` bytes.
template <class Op, int Bytes, class... Tensors>
constexpr auto makings_of() {
  std::array<making, lang::results_of<Op, Tensors...>.size()> out{};
  for (std::size_t r = 0; r < out.size(); ++r) out[r] = Op::makes(static_cast<int>(r), Bytes, Tensors::shape...);
  return out;
}

/// How an operation reads its arguments and makes its results, where real numbers are stored as `Numbers` says.
template <class Op, class Numbers, class Indices, class... Tensors>
struct storage;
/// If the program rounds no value to bf16 and no argument has this type, the kernel reads and makes the types that the
/// operation states.
template <class Op, class Real, std::size_t... I, class... Tensors>
  requires(std::same_as<Real, cairn::detail::real_type_of<Real>> && !lang::any_is_bf16({Tensors::element.type...}))
struct storage<Op, Real, std::index_sequence<I...>, Tensors...> {
  using real = Real;
  static constexpr const auto& made = lang::results_of<Op, Tensors...>;
  static constexpr reading readings[sizeof...(I) + 1]{Op::reads(static_cast<int>(I), Tensors::shape...)..., {}};
  static constexpr int precision_argument = none;
  static constexpr rounding handling = rounding::as_typed;
  static constexpr bool is_typed = true;  ///< nothing is rounded, and nothing is read as bf16 that has another type
  static constexpr auto* reads_bf16 = &is_true_at<(static_cast<void>(I), false)...>;
  template <template <class...> class Kernel>
  using with = Kernel<Tensors...>;
  static constexpr int bytes = sizeof(cairn::detail::computed_as<Real, Tensors...>);
  static constexpr auto makings = makings_of<Op, bytes, Tensors...>();
  static constexpr bool rounds_any = false;
};
template <class Op, class Numbers, std::size_t... I, class... Tensors>
struct storage<Op, Numbers, std::index_sequence<I...>, Tensors...> {
  using real = cairn::detail::real_type_of<Numbers>;
  static constexpr bool mixed = !std::is_same_v<Numbers, real>;
  static constexpr const auto& made = lang::results_of<Op, Tensors...>;

  static constexpr reading readings[sizeof...(I) + 1]{Op::reads(static_cast<int>(I), Tensors::shape...)..., {}};
  /// Returns true if the kernel can read argument number i as bf16.
  static constexpr bool can_read_bf16(std::size_t i) {
    return readings[i].numbers == reading::as_stored ||
           (cairn::detail::rounds_parameters<Numbers> && readings[i].numbers == reading::as_parameter);
  }
  /// The index of the argument that decides the precision, or none.
  static constexpr int precision_argument = [] {
    for (int i = 0; i < static_cast<int>(sizeof...(Tensors)); ++i) {
      if (readings[i].decides_precision) return i;
    }
    return none;
  }();
  /// How the operation treats values that are stored as bf16.
  static constexpr rounding handling = [] {
    constexpr dtype common = lang::common_type_of<Tensors...>;
    const bool reads = (false || ... || can_read_bf16(I));
    if (reads && (std::is_same_v<stored_as<common, real>, bf16> || (mixed && common == dtype::real)))
      return rounding::reads_bf16;
    if (!mixed) return rounding::as_typed;
    return Op::elementwise || Op::view || Op::mapped ? rounding::follows_arguments : rounding::reads_float;
  }();
  static constexpr bool is_typed = handling == rounding::as_typed;

  static constexpr bool as_read[sizeof...(I) + 1]{(handling == rounding::reads_bf16 && can_read_bf16(I))..., false};
  /// The function that tells for an argument whether the operation reads it as bf16.
  static constexpr auto* reads_bf16 = &is_true_at<(Tensors::element.type == dtype::bf16 ||
                                                   (as_read[I] && kind_of(Tensors::element.type) == kind::real))...>;
  /// The kernel for arguments of the element types that it reads.
  template <template <class...> class Kernel>
  using with = Kernel<typename argument_as_read<as_read[I], Tensors>::type...>;
  template <class... Read>
  struct size_of_number : std::integral_constant<int, sizeof(cairn::detail::computed_as<real, Read...>)> {};
  /// The size of a number of the type in which the kernel computes.
  static constexpr int bytes = with<size_of_number>::value;

  static constexpr auto makings = makings_of<Op, bytes, Tensors...>();
  /// Returns true if the kernel computes a result in floats and rounds it to bf16 itself.
  static constexpr bool rounds(std::size_t result) {
    if (handling != rounding::reads_bf16 &&
        (handling != rounding::reads_float || made[result].element.type != dtype::real))
      return false;
    if (handling == rounding::reads_bf16 && Op::argument_kind(0) == kind::any) return false;
    return makings[result].rounds;
  }
  static constexpr bool rounds_any = [] {
    for (std::size_t r = 0; r < made.size(); ++r) {
      if (rounds(r)) return true;
    }
    return false;
  }();
};
template <class Op, class Numbers, class... Tensors>
using storage_of = storage<Op, Numbers, std::index_sequence_for<Tensors...>, Tensors...>;

}  // namespace graphs
}  // namespace cairn
