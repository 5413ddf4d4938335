// Layers whose weight is not a parameter, but is computed from other parameters.
#pragma once

#include "cairn/nn/convolution.hpp"
#include "cairn/nn/linear.hpp"
#include "cairn/op/reductions.hpp"

namespace cairn::nn {

namespace detail {
/// The layer L with another weight. `Parametrization<weight>` describes it, for the parameter `weight` that L has:
/// - `marked` is a parameter of the new weight. It stands for the layer, of which each has its own name.
/// - `value()` returns the new weight as an expression.
template <class L, template <class> class Parametrization>
struct parametrized_layer : checked_layer<parametrized_layer<L, Parametrization>> {
  static constexpr auto name = L::name;
  static constexpr auto problem(auto x) { return L::problem(x); }
  static constexpr auto apply(auto x) {
    using weight = Parametrization<decltype(L::weight_for(x))>;
    return lang::result_of_layer<name>(weight::marked, L::with_weight(x, weight::value()));
  }
};
/// Returns the mistake of giving the function `Name` a layer without such a weight, or `sound`.
template <fixed_string Name, class L>
constexpr auto problem_of_weighted() {
  if constexpr (an_expression<L>) return lang::mistaken_call<misuse::expression_for_layer, Name, L>();
  else if constexpr (requires { L::has_weight; }) return lang::sound{};
  else return lang::mistake<misuse::layer_with_weight, lang::top_scope, fact::operation<Name, fact::layer>>{};
}

/// Returns the norm that a row of `count` numbers is expected to have at the start.
constexpr double expected_norm(initial start, std::int64_t count) {
  const auto n = static_cast<double>(count);
  if (start.drawn == initial::law::constant) return lang::square_root(n * start.fill * start.fill);
  if (start.drawn == initial::law::normal) return lang::square_root(n) * start.width;
  return lang::square_root(n / 3) * start.width;
}
template <class Parameter>
struct weight_normed;
template <fixed_string Name, bool Trainable, initial Start, int Rows, int... Extents>
struct weight_normed<lang::parameter_leaf<Name, Trainable, Start, Rows, Extents...>> {
  static constexpr auto prefix = lang::without_last_part<Name> + fixed_string{".parametrizations.weight.original"};
  static constexpr std::int64_t count = (std::int64_t{1} * ... * Extents);
  static constexpr auto marked = param_from<prefix + fixed_string{"1"}, Start, Rows, Extents...>;
  static constexpr auto value() {
    const auto norms = param_from<prefix + fixed_string{"0"}, initial::constant(expected_norm(Start, count)), Rows,
                                  (Extents / Extents)...>;
    return marked * (norms / norm_of_rows(std::make_integer_sequence<int, sizeof...(Extents)>{}));
  }

 private:
  template <int... Axis>
  static constexpr auto norm_of_rows(std::integer_sequence<int, Axis...>) {
    return vector_norm<Axis + 1 ...>(marked, keepdim);
  }
};
}  // namespace detail

/// Returns the layer with a weight whose rows have norms of their own (Salimans and Kingma, 2016):
/// `nn::weight_norm(nn::linear<"fc", 64>)`. As with torch.nn.utils.parametrizations.weight_norm, row i of the weight is
/// `g[i] v[i] / |v[i]|`. The parameters are g = `fc.parametrizations.weight.original0` {64, 1} and
/// v = `fc.parametrizations.weight.original1` {64, in}. A filter of a convolution is a row.
///
/// v starts as the weight of the layer does. g starts at the expected norm of a row. PyTorch starts g at the norms of
/// the rows of v.
///
/// Rejects: what the layer rejects; other layers than `nn::linear`, `nn::conv2d`, `nn::conv1d`, `nn::conv_transpose2d`
/// and their forms without bias.
template <class L>
constexpr lang::sound_or<decltype(detail::problem_of_weighted<"weight_norm", L>()),
                         detail::parametrized_layer<L, detail::weight_normed>>
weight_norm(L) {
  return {};
}

}  // namespace cairn::nn
