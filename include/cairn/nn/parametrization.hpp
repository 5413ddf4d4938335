// Layers whose weight is not a parameter, but is computed from other parameters.
#pragma once

#include "cairn/lang/state.hpp"
#include "cairn/nn/convolution.hpp"
#include "cairn/nn/linear.hpp"
#include "cairn/op/reductions.hpp"

namespace cairn::nn {

namespace detail {
/// Returns the mistake of giving the function `Name` a layer without such a weight, or `sound`.
template <fixed_string Name, class L>
constexpr auto problem_of_weighted() {
  if constexpr (an_expression<L>) return lang::mistaken_call<misuse::expression_for_layer, Name, L>();
  else if constexpr (requires { L::has_weight; }) return lang::sound{};
  else return lang::mistake<misuse::layer_with_weight, lang::top_scope, fact::operation<Name, fact::layer>>{};
}

/// Returns the mistake of giving nn::spectral_norm another layer than it takes, or `sound`. PyTorch forms the matrix of
/// a transposed convolution in another way, which is not implemented.
template <class L>
constexpr auto problem_of_spectral() {
  if constexpr (requires { L::is_transposed; })
    return problem_of_weighted<"spectral_norm", std::conditional_t<L::is_transposed, lang::layer_base, L>>();
  else return problem_of_weighted<"spectral_norm", L>();
}

/// Returns the norm that a row of a matrix {rows, columns} is expected to have at the start.
constexpr double expected_norm(initial start, std::int64_t rows, std::int64_t columns) {
  const auto n = static_cast<double>(columns);
  if (start.drawn == initial::law::constant) return lang::square_root(n * start.fill * start.fill);
  if (start.drawn == initial::law::normal) return lang::square_root(n) * start.width;
  if (start.drawn == initial::law::truncated_normal) return lang::square_root(0.7737 * n) * start.width;
  if (start.drawn == initial::law::orthogonal)
    return lang::square_root(std::min(1.0, n / static_cast<double>(rows))) * start.width;
  return lang::square_root(n / 3) * start.width;
}
/// Returns the mistake of a weight that starts as zeros, or `sound`. If the weight itself is a mistake, returns it.
template <template <class> class Parametrization, class X, class Weight>
constexpr auto problem_of_start(X, Weight weight) {
  return weight;
}
template <template <class> class Parametrization, class X, fixed_string Name, bool Trainable, initial Start,
          int... Extents>
constexpr auto problem_of_start(X, lang::parameter_leaf<Name, Trainable, Start, Extents...> weight) {
  if constexpr (expected_norm(Start, 1, 1) > 0) return lang::sound{};
  else
    return lang::poison<misuse::weight_of_zeros, typename X::owner, fact::in<Name>,
                        fact::operation<Parametrization<decltype(weight)>::kind, lang::tensor_fact<X>>>{};
}

/// The layer L with another weight. `Parametrization<weight>` describes it, for the parameter `weight` that L has:
/// - `kind` is the name of the function that makes the layer.
/// - `marked` is a parameter of the new weight. It stands for the layer, of which each has its own name.
/// - `value()` returns the new weight as an expression.
template <class L, template <class> class Parametrization>
struct parametrized_layer : checked_layer<parametrized_layer<L, Parametrization>> {
  static constexpr auto name = L::name;
  static constexpr auto problem(auto x) {
    using of_layer = decltype(L::problem(x));
    if constexpr (std::same_as<of_layer, lang::sound>) return problem_of_start<Parametrization>(x, L::weight_for(x));
    else return of_layer{};
  }
  static constexpr auto apply(auto x) {
    using weight = Parametrization<decltype(L::weight_for(x))>;
    return lang::result_of_layer<name>(weight::marked, L::with_weight(x, weight::value()));
  }
};

template <class Parameter>
struct weight_normed;
template <fixed_string Name, bool Trainable, initial Start, int Rows, int... Extents>
struct weight_normed<lang::parameter_leaf<Name, Trainable, Start, Rows, Extents...>> {
  static constexpr fixed_string kind = "weight_norm";
  static constexpr auto prefix = lang::without_last_part<Name> + fixed_string{".parametrizations.weight.original"};
  static constexpr std::int64_t count = (std::int64_t{1} * ... * Extents);
  static constexpr auto marked = param_from<prefix + fixed_string{"1"}, Start, Rows, Extents...>;
  static constexpr auto value() {
    const auto norms = param_from<prefix + fixed_string{"0"}, initial::constant(expected_norm(Start, Rows, count)),
                                  Rows, (Extents / Extents)...>;
    return marked * (norms / norm_of_rows(std::make_integer_sequence<int, sizeof...(Extents)>{}));
  }

 private:
  template <int... Axis>
  static constexpr auto norm_of_rows(std::integer_sequence<int, Axis...>) {
    return vector_norm<Axis + 1 ...>(marked, keepdim);
  }
};
/// Returns x, through which no gradient flows. In contrast to detach, it may stand in a segment, because layers of the
/// library use it on purpose.
struct held_op : op {
  static constexpr fixed_string name = "held";
  using rule = misuse::equal_shapes;
  static constexpr bool mapped = true, piecewise_constant = true;
  static constexpr shape result(const shape& x) { return x; }
  static constexpr axis_map map(const shape&, int /*axis*/) { return {}; }
  static constexpr std::int64_t flops(const shape&) { return 0; }
  static constexpr auto vjp(auto, auto, auto) { return gradients(no_gradient{}); }
};

template <class Parameter>
struct spectrally_normed;
template <fixed_string Name, bool Trainable, initial Start, int Rows, int... Extents>
struct spectrally_normed<lang::parameter_leaf<Name, Trainable, Start, Rows, Extents...>> {
  static constexpr fixed_string kind = "spectral_norm";
  static constexpr auto prefix = lang::without_last_part<Name> + fixed_string{".parametrizations.weight."};
  static constexpr int columns = (1 * ... * Extents);
  static constexpr auto marked = param_from<prefix + fixed_string{"original"}, Start, Rows, Extents...>;
  /// A training step computes u and v from the last v by one power iteration. A predictor reads the last u and v.
  static constexpr auto value() {
    const auto matrix = reshape<Rows, columns>(marked);
    const auto last_u = state<prefix + fixed_string{"0._u"}, start_of<Rows>, Rows>;
    const auto last_v = state<prefix + fixed_string{"0._v"}, start_of<columns>, columns>;
    const auto u = unit(matmul(matrix, reshape<columns, 1>(last_v)));
    const auto v = unit(matmul(transpose(matrix), u));
    const auto norm = updated<shard_join::last>(
        updated<shard_join::last>(norm_of(matrix, u, v), last_u, reshape<Rows>(u)), last_v, reshape<columns>(v));
    return marked / in_training(norm, norm_of(matrix, reshape<Rows, 1>(last_u), reshape<columns, 1>(last_v)));
  }

 private:
  template <int Count>
  static constexpr initial start_of = initial::normal(1 / lang::square_root(Count));
  static constexpr auto unit(auto x) { return make<held_op>(x / maximum(vector_norm(x), constant<1e-12>)); }
  static constexpr auto norm_of(auto matrix, auto u, auto v) { return sum(u * matmul(matrix, v)); }
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
/// and their forms without bias; a weight that starts as zeros, because zeros have no direction.
template <class L>
constexpr lang::sound_or<decltype(detail::problem_of_weighted<"weight_norm", L>()),
                         detail::parametrized_layer<L, detail::weight_normed>>
weight_norm(L) {
  return {};
}

/// Returns the layer with a weight of spectral norm 1 (Miyato et al., 2018): `nn::spectral_norm(nn::linear<"fc", 64>)`.
/// As with torch.nn.utils.parametrizations.spectral_norm, the weight is `W / (u^T W v)`, where W is the parameter
/// `fc.parametrizations.weight.original`. The states u = `fc.parametrizations.weight.0._u` {64} and
/// v = `fc.parametrizations.weight.0._v` {in} are estimates of the first singular vectors of W. Each training step
/// improves the estimates by one power iteration, and gives them no gradient. A filter of a convolution is a row of W.
///
/// The states start at random. PyTorch runs 15 power iterations before the first step. A predictor needs trained or
/// loaded states.
///
/// Rejects: what the layer rejects; other layers than `nn::linear`, `nn::conv2d`, `nn::conv1d` and their forms without
/// bias; a weight that starts as zeros.
template <class L>
constexpr lang::sound_or<decltype(detail::problem_of_spectral<L>()),
                         detail::parametrized_layer<L, detail::spectrally_normed>>
spectral_norm(L) {
  return {};
}

}  // namespace cairn::nn
