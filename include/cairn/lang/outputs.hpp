// The results of a program.
#pragma once

#include "cairn/lang/apply.hpp"

namespace cairn::lang {

/// A list of the outputs of a program. The first output is differentiated.
template <an_expression... E>
struct output_list {};

/// The most outputs of a program.
inline constexpr int max_outputs = 8;

/// The report of a mistake in place of N outputs. A program can still be made of it, so that no second error follows.
template <class Report, std::size_t N>
struct reported_outputs : Report {};

/// The type that outputs(...) returns: a list, or a mistake if an argument is a layer or a tuple.
template <class First, class... Rest>
struct listing {
  using shown = fact::operation<"outputs", typename showing<First>::type, typename showing<Rest>::type...>;
  using misuse = typename misuse_for_expression<First, Rest...>::type;
  using found = surfaced<mistake<misuse, top_scope, shown>>;
  using type = reported_outputs<found, 1 + sizeof...(Rest)>;
};
template <an_expression First, an_expression... Rest>
struct listing<First, Rest...> {
  using type = output_list<First, Rest...>;
};

/// Returns one output or several outputs as a list.
template <an_expression E>
output_list<E> as_outputs(E);
template <class... E>
output_list<E...> as_outputs(output_list<E...>);
template <std::size_t... I>
output_list<std::conditional_t<(I >= 0), rejected, void>...> rejected_outputs(std::index_sequence<I...>);
template <class Report, std::size_t N>
auto as_outputs(reported_outputs<Report, N>) -> decltype(rejected_outputs(std::make_index_sequence<N>{}));
/// Anything else, such as a layer or a number, is no output. A program of it is a mistake.
template <class Other>
output_list<rejected> as_outputs(Other);

/// Gives a program several results: `outputs(loss, accuracy(logits, classes))`. The first one, a scalar, is
/// differentiated. There are at most eight results.
template <an_operand... E>
  requires(sizeof...(E) > 0 && sizeof...(E) <= max_outputs)
constexpr typename listing<E...>::type outputs(E...) {
  return {};
}

}  // namespace cairn::lang

namespace cairn {
using lang::max_outputs, lang::outputs;
}  // namespace cairn
