// Recurrent layers, which are scans over time, and cells, which compute one iteration of these scans.
#pragma once

#include "cairn/lang/generated.hpp"
#include "cairn/lang/scan.hpp"
#include "cairn/lang/shared.hpp"
#include "cairn/nn/features.hpp"
#include "cairn/op/concatenate.hpp"
#include "cairn/op/dropout.hpp"
#include "cairn/op/matmul.hpp"
#include "cairn/op/slice.hpp"

namespace cairn::nn {

/// Options of a recurrent layer.
struct recurrent_options {
  int num_layers = 1;  ///< number of layers, each of which reads the results of the layer before it
  double dropout = 0;  ///< probability with which an element between one layer and the next is dropped
  /// Each layer also runs from the last time step to the first, with parameters of its own. Its results are then
  /// {N, T, 2 Hidden}: those of the forward direction, followed by those of the reverse direction.
  bool bidirectional = false;
  /// How the weights start. The biases then start as zeros, or as `start_bias` says. An unspecified `start_hh`, of the
  /// weights by which the states are multiplied, is `start`. Without all, the parameters start as in PyTorch.
  initial start = initial::unspecified();
  initial start_hh = initial::unspecified();
  initial start_bias = initial::unspecified();
  friend constexpr bool operator==(const recurrent_options&, const recurrent_options&) = default;
};

namespace detail {
/// The units of recurrent layers. `next_states(x, product, states...)` computes the next states from the states,
/// {N, hidden} each. The argument `x` is the product of the input and its weights plus a bias. The argument `product`
/// is the product of the first state h and its weights plus a bias. Both are {N, gates hidden}.
struct rnn_units {
  static constexpr fixed_string name = "rnn";
  static constexpr int gates = 1, states = 1;
  static constexpr auto next_states(auto x, auto product, auto /* h */) { return std::tuple{tanh(x + product)}; }
};
struct gru_units {
  static constexpr fixed_string name = "gru";
  static constexpr int gates = 3, states = 1;
  static constexpr auto next_states(auto x, auto product, auto h) {
    const auto [x_reset, x_keep, x_new] = split<-1, 3>(x);
    const auto [h_reset, h_keep, h_new] = split<-1, 3>(product);
    const auto next = tanh(x_new + sigmoid(x_reset + h_reset) * h_new);
    return std::tuple{next + sigmoid(x_keep + h_keep) * (h - next)};
  }
};
struct lstm_units {
  static constexpr fixed_string name = "lstm";
  static constexpr int gates = 4, states = 2;
  static constexpr auto next_states(auto x, auto product, auto /* h */, auto c) {
    const auto [in, forget, cell, out] = split<-1, 4>(x + product);
    const auto next = sigmoid(forget) * c + sigmoid(in) * tanh(cell);
    return std::tuple{sigmoid(out) * tanh(next), next};
  }
};

/// Returns what is wrong with the input and the states of the layer Name, or sound if nothing is wrong. The input of a
/// layer is {N, T, features}, and the input of a cell is {N, features}. If states are given, they must have the shape
/// States.
template <class Units, fixed_string Name, int Rank, shape States, int Hidden, int... Layers, class X, class... S>
constexpr auto problem_of_units(X x, S... states) {
  using owner = lang::owner_of<X, S...>;
  using what = fact::operation<Units::name, lang::tensor_fact<X>, lang::tensor_fact<S>...>;
  if constexpr (lang::wrong<X> || (lang::wrong<S> || ...)) {
    return lang::pass_on<owner>(x, states...);
  } else if constexpr (kind_of(X::element.type) != kind::real || ((kind_of(S::element.type) != kind::real) || ...)) {
    return lang::poison<misuse::kind_mismatch, owner, fact::in<Name>, what, fact::takes<float>>{};
  } else if constexpr (X::shape.rank != Rank) {
    return lang::poison<misuse::steps_of_features, owner, fact::in<Name>, what>{};
  } else if constexpr (Hidden < 1) {
    return lang::poison<misuse::positive_extents, owner, fact::in<Name>, what, fact::extents<Hidden>>{};
  } else if constexpr (((Layers < 1) || ...)) {
    return lang::poison<misuse::no_layers, owner, fact::in<Name>, what, fact::layers<Layers>...>{};
  } else if constexpr (sizeof...(S) != 0 && sizeof...(S) != Units::states) {
    return lang::poison<misuse::states_or_none, owner, fact::in<Name>, what>{};
  } else if constexpr (((S::shape != States) || ...)) {
    return lang::poison<misuse::states_of_units, owner, fact::in<Name>, what, fact::extents<Hidden, Layers...>>{};
  } else {
    return lang::sound{};
  }
}

/// The parameters of Hidden units with In inputs, by PyTorch's names: `Name.weight_ih`, `Name.weight_hh`,
/// `Name.bias_ih` and `Name.bias_hh`, each followed by Suffix. `weight_hh` starts as StartHh says. The other
/// parameters, or all if StartHh is unspecified, start as Start says.
template <class Units, fixed_string Name, fixed_string Suffix, int Hidden, int In, initial StartHh, initial... Start>
struct unit_parameters {
  static constexpr int rows = Units::gates * Hidden;
  static constexpr initial of_weight = start_of_weight(fan_in(Hidden), Start...),
                           of_bias = start_of_bias(fan_in(Hidden), Start...);
  template <fixed_string Which, initial From, int... Extents>
  static constexpr auto one = param_from<Name + fixed_string{"."} + Which + Suffix, From, Extents...>;
  static constexpr auto weight_ih = one<"weight_ih", of_weight, rows, In>;
  static constexpr auto weight_hh = one<"weight_hh", StartHh.or_else(of_weight), rows, Hidden>;
  static constexpr auto bias_ih = one<"bias_ih", of_bias, rows>, bias_hh = one<"bias_hh", of_bias, rows>;
};

/// Units whose parameters start as Start says. Without Start, units_from is Units itself, so that messages stay short.
template <class Units, initial... Start>
struct started_units : Units {};
template <class Units, initial... Start>
using units_from = std::conditional_t<sizeof...(Start) == 0, Units, started_units<Units, Start...>>;
template <class Units, fixed_string Name, int Hidden, int In>
struct cell_parameters : unit_parameters<Units, Name, "", Hidden, In, initial::unspecified()> {};
template <class Units, initial... Start, fixed_string Name, int Hidden, int In>
struct cell_parameters<started_units<Units, Start...>, Name, Hidden, In>
    : unit_parameters<Units, Name, "", Hidden, In, initial::unspecified(), Start...> {};

template <class Units, fixed_string Name, int Hidden>
struct recurrent_cell_layer : lang::layer_base {
  static constexpr fixed_string name = Name;
  template <an_expression X, an_expression... S>
  constexpr auto operator()(X x, S... states) const {
    constexpr int examples = X::shape.rank > 0 ? X::shape[0] : 0;
    using problem = decltype(detail::problem_of_units<Units, Name, 2, shape{examples, Hidden}, Hidden>(x, states...));
    if constexpr (!std::same_as<problem, lang::sound>) {
      return lang::surfaced<decltype(lang::in_place_of_results<Units::states>(problem{}))>{};
    } else if constexpr (sizeof...(S) == 0) {
      constexpr auto zero = zeros<examples, Hidden>;
      if constexpr (Units::states == 1) return (*this)(x, zero);
      else return (*this)(x, zero, zero);
    } else {
      using parameters = detail::cell_parameters<Units, Name, Hidden, X::shape[-1]>;
      const auto h = std::get<0>(std::tuple{states...});
      const auto from_x = lang::result_of_layer<Name>(
          parameters::weight_ih, matmul(x, transpose(parameters::weight_ih)) + parameters::bias_ih);
      const auto next =
          Units::next_states(from_x, matmul(h, transpose(parameters::weight_hh)) + parameters::bias_hh, states...);
      if constexpr (Units::states == 1) return std::get<0>(next);
      else return next;
    }
  }
};

template <class Units, fixed_string Name, int Hidden, recurrent_options O, class Policy>
struct recurrent_layer : lang::layer_base {
  static constexpr fixed_string name = Name;
  template <an_expression X, an_expression... S>
  constexpr auto operator()(X x, S... states) const {
    constexpr int examples = X::shape.rank > 0 ? X::shape[0] : 0;
    constexpr shape of_states{layers * directions, examples, Hidden};
    using problem = decltype(detail::problem_of_units<Units, Name, 3, of_states, Hidden, layers>(x, states...));
    if constexpr (!std::same_as<problem, lang::sound>) {
      return lang::surfaced<decltype(lang::in_place_of_results<1 + sizeof...(S)>(problem{}))>{};
    } else if constexpr (!(O.dropout == 0 || (O.dropout > 0 && O.dropout < 1 && layers > 1))) {
      using wrong_dropout = decltype(problem_of_dropout(x, states...));
      return lang::surfaced<decltype(lang::in_place_of_results<1 + sizeof...(S)>(wrong_dropout{}))>{};
    } else if constexpr (sizeof...(S) == 0) {
      constexpr auto zero = zeros<layers * directions, examples, Hidden>;
      if constexpr (Units::states == 1) return std::get<0>((*this)(x, zero));
      else return std::get<0>((*this)(x, zero, zero));
    } else {
      return std::apply(
          [](auto ys, auto... last) { return std::tuple{transpose<1, 0, 2>(ys), std::apply(stacked, last)...}; },
          apply_layers_from<0>(transpose<1, 0, 2>(x), states...));
    }
  }

 private:
  static constexpr int layers = O.num_layers, directions = O.bidirectional ? 2 : 1;
  template <class X, class... S>
  static constexpr auto problem_of_dropout(X, S...) {
    using owner = lang::owner_of<X, S...>;
    if constexpr (O.dropout > 0 && O.dropout < 1) {
      using what = fact::setting<"dropout", O.dropout, "0 in a single layer">;
      return lang::poison<misuse::meaningless_setting, owner, fact::in<Name>, what>{};
    } else {
      using what = fact::operation<Units::name, lang::tensor_fact<X>, lang::tensor_fact<S>...>;
      return lang::poison<misuse::probability_below_one, owner, fact::in<Name>, what, fact::probability<O.dropout>>{};
    }
  }
  struct iteration {
    constexpr auto operator()(auto h, auto x, auto weight, auto bias) const {
      return with_h(Units::next_states(x, matmul(h, transpose(weight)) + bias, h));
    }
    constexpr auto operator()(auto h, auto c, auto x, auto weight, auto bias) const {
      return with_h(Units::next_states(x, matmul(h, transpose(weight)) + bias, h, c));
    }
    static constexpr auto with_h(auto next) { return std::tuple_cat(next, std::tuple{std::get<0>(next)}); }
  };
  template <bool Reverse>
  static constexpr auto in_direction(auto xs) {
    if constexpr (Reverse) return flip<0>(xs);
    else return xs;
  }
  template <int L, bool Reverse>
  static constexpr auto suffix = [] {
    constexpr auto of_layer = fixed_string{"_l"} + ::cairn::detail::digits<L>;
    if constexpr (Reverse) return of_layer + fixed_string{"_reverse"};
    else return of_layer;
  }();
  /// Runs layer L over xs {T, N, features}, from the first time step on or, if Reverse, from the last one on. Returns a
  /// tuple: for each state, a tuple of its final value, and then the results in the order of time. Returns the mistake
  /// if scan has one.
  template <int L, bool Reverse, class X, class... S>
  static constexpr auto one_direction(X xs, S... begin) {
    using parameters = detail::unit_parameters<Units, Name, suffix<L, Reverse>, Hidden, X::shape[-1], O.start_hh,
                                               O.start, O.start_bias>;
    constexpr int examples = X::shape[1], state = L * directions + Reverse;
    const auto from_x = lang::result_of_layer<Name>(parameters::weight_ih,
                                                    matmul(xs, transpose(parameters::weight_ih)) + parameters::bias_ih);
    const auto made = scan<X::shape[0], Name, Policy>(
        iteration{}, carried(reshape<examples, Hidden>(slice<0, state, state + 1>(begin))...),
        each(in_direction<Reverse>(from_x)), parameters::weight_hh, parameters::bias_hh);
    if constexpr (an_expression<std::remove_const_t<decltype(made)>>) {
      return made;
    } else {
      return [&]<std::size_t... K>(std::index_sequence<K...>) {
        return std::tuple{std::tuple{std::get<K>(made)}..., in_direction<Reverse>(std::get<sizeof...(K)>(made))};
      }(std::index_sequence_for<S...>{});
    }
  }
  /// Runs layer L in one direction or in both. Returns what one_direction returns.
  template <int L, class X, class... S>
  static constexpr auto one_layer(X xs, S... begin) {
    const auto forward = one_direction<L, false>(xs, begin...);
    if constexpr (!O.bidirectional || an_expression<std::remove_const_t<decltype(forward)>>) {
      return forward;
    } else {
      const auto reverse = one_direction<L, true>(xs, begin...);
      return [&]<std::size_t... K>(std::index_sequence<K...>) {
        return std::tuple{std::tuple_cat(std::get<K>(forward), std::get<K>(reverse))...,
                          concatenate<-1>(std::get<sizeof...(K)>(forward), std::get<sizeof...(K)>(reverse))};
      }(std::index_sequence_for<S...>{});
    }
  }
  /// Applies the layers from number L on to xs {T, N, features}. Returns a tuple. The first element is the result of
  /// the last layer. Then follows, for each state, a tuple of the final states of the layers from L on.
  template <int L, class X, class... S>
  static constexpr auto apply_layers_from(X xs, S... begin) {
    if constexpr (lang::wrong<X>) {
      return std::tuple{xs, (static_cast<void>(begin), std::tuple{xs})...};
    } else if constexpr (L == layers) {
      return std::tuple{xs, (static_cast<void>(begin), std::tuple<>{})...};
    } else {
      const auto made = one_layer<L>(xs, begin...);
      if constexpr (an_expression<std::remove_const_t<decltype(made)>>) {
        return apply_layers_from<layers>(made, begin...);  // `made` is a mistake
      } else {
        const auto later_layers = apply_layers_from<L + 1>(dropped<L>(std::get<sizeof...(S)>(made)), begin...);
        return [&]<std::size_t... K>(std::index_sequence<K...>) {
          return std::tuple{std::get<0>(later_layers),
                            std::tuple_cat(std::get<K>(made), std::get<K + 1>(later_layers))...};
        }(std::index_sequence_for<S...>{});
      }
    }
  }
  template <int L>
  static constexpr auto dropped(auto ys) {
    if constexpr (L + 1 == layers || O.dropout == 0) return ys;
    else return dropout<Name + fixed_string{".dropout_l"} + ::cairn::detail::digits<L>, O.dropout>(ys);
  }
  static constexpr auto stacked = []<class... H>(H... last) {
    if constexpr (sizeof...(H) > 1) return stack<0>(last...);
    else return (reshape<1, H::shape[0], Hidden>(last), ...);
  };
};
}  // namespace detail

/// Recurrent units (Elman, 1990) on x {N, T, features}: h' = tanh(W x + b + W' h + b'). The result {N, T, Hidden} is
/// what the last of num_layers layers computes in each time step.
///
/// States in the beginning are zeros. They can be given instead: `auto [ys, h] = nn::rnn<"n", 64>(x, h0)`. The initial
/// states h0 and the final states h are {num_layers, N, Hidden}. If the layers are bidirectional, the results are
/// {N, T, 2 Hidden} and the states are {2 num_layers, N, Hidden}: for each layer first the forward direction.
///
/// Parameters have the names and the initialization of nn.RNN(batch_first=True): `Name.weight_ih_l0`,
/// `Name.weight_hh_l0`, `Name.bias_ih_l0`, `Name.bias_hh_l0`, and the same for each further layer. The names of the
/// reverse direction end with `_reverse`.
///
/// Each layer is a scan of T iterations, and Policy is the policy of these scans:
/// `nn::rnn<"n", 64, nn::recurrent_options{.num_layers = 2, .dropout = 0.1}, revolve<8>>`.
///
/// Rejects: states of other shapes; a Hidden or num_layers below 1; a dropout outside of [0, 1), or above 0 in a
/// single layer; what scan rejects; in a program, one full name for two layers.
template <fixed_string Name, int Hidden, recurrent_options O = recurrent_options{}, class Policy = store_all>
inline constexpr detail::recurrent_layer<detail::rnn_units, Name, Hidden, O, Policy> rnn{};
/// Gated recurrent units (Cho et al., 2014), as in nn.GRU. The gates are r, z and n, in this order.
template <fixed_string Name, int Hidden, recurrent_options O = recurrent_options{}, class Policy = store_all>
inline constexpr detail::recurrent_layer<detail::gru_units, Name, Hidden, O, Policy> gru{};
/// Long short-term memory (Hochreiter and Schmidhuber, 1997), as in nn.LSTM. The gates are i, f, g and o, in this
/// order. There are two states: `auto [ys, h, c] = lstm<"n", 64>(x, h0, c0)`.
template <fixed_string Name, int Hidden, recurrent_options O = recurrent_options{}, class Policy = store_all>
inline constexpr detail::recurrent_layer<detail::lstm_units, Name, Hidden, O, Policy> lstm{};

/// Recurrent cells compute one iteration on x {N, features} and states {N, Hidden}, for use in the body of `repeat` or
/// scan: `const auto [h1, c1] = nn::lstm_cell<"cell", 64>(x, h, c);`. Without states, the states are zeros. The results
/// are the next states. The parameters have the names of nn.RNNCell, nn.GRUCell and nn.LSTMCell: `Name.weight_ih`,
/// `Name.weight_hh`, `Name.bias_ih` and `Name.bias_hh`. Start says how they start, as in
/// nn::linear.
template <fixed_string Name, int Hidden, initial... Start>
  requires(sizeof...(Start) <= 2)
inline constexpr detail::recurrent_cell_layer<detail::units_from<detail::rnn_units, Start...>, Name, Hidden> rnn_cell{};
template <fixed_string Name, int Hidden, initial... Start>
  requires(sizeof...(Start) <= 2)
inline constexpr detail::recurrent_cell_layer<detail::units_from<detail::gru_units, Start...>, Name, Hidden> gru_cell{};
template <fixed_string Name, int Hidden, initial... Start>
  requires(sizeof...(Start) <= 2)
inline constexpr detail::recurrent_cell_layer<detail::units_from<detail::lstm_units, Start...>, Name, Hidden>
    lstm_cell{};

}  // namespace cairn::nn
