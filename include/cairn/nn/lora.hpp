// Adapters of linear layers, with which a trained model is tuned.
#pragma once

#include "cairn/lang/state.hpp"
#include "cairn/nn/linear.hpp"

namespace cairn::nn {

namespace detail {
template <int Rank, double Alpha>
struct lora_settings {
  static constexpr std::array all{setting::at_least_one("rank", Rank),
                                  // With 0, the adapter would add nothing and learn nothing.
                                  setting("alpha", Alpha, setting::is_finite(Alpha) && Alpha != 0, "finite, not 0")};
};
/// A linear layer with an adapter. It is specialized for linear layers.
template <int Rank, double Alpha, class Linear>
struct lora_layer;
template <int Rank, double Alpha, fixed_string Name, std::int64_t Out, bool Bias, initial... Start>
struct lora_layer<Rank, Alpha, linear_layer<Name, Out, Bias, Start...>>
    : checked_layer<lora_layer<Rank, Alpha, linear_layer<Name, Out, Bias, Start...>>> {
  using base = linear_layer<Name, Out, Bias, Start...>;
  static constexpr fixed_string name = Name;
  static constexpr auto problem(auto x) {
    return problem_of_features<"lora", Name, lora_settings<Rank, Alpha>>(x, [](auto y) { return base::problem(y); });
  }
  template <class X>
  static constexpr auto apply(X x) {
    constexpr int in = X::shape[-1];
    constexpr fixed_string frozen = Name + fixed_string{".base_layer"};
    constexpr auto of_weight = start_of_weight(fan_in(in), Start...), of_bias = start_of_bias(fan_in(in), Start...);
    const auto weight = state<frozen + fixed_string{".weight"}, of_weight, Out, in>;
    const auto down = param_from<Name + fixed_string{".lora_A.default.weight"}, fan_in(in), Rank, in>;
    const auto up = param_from<Name + fixed_string{".lora_B.default.weight"}, initial::zeros(), Out, Rank>;
    const auto adapted = constant<Alpha / Rank> * matmul(matmul(x, transpose(down)), transpose(up));
    const auto y = matmul(x, transpose(weight)) + adapted;
    if constexpr (!Bias) return lang::result_of_layer<Name>(weight, y);
    else return lang::result_of_layer<Name>(weight, y + state<frozen + fixed_string{".bias"}, of_bias, Out>);
  }
};

/// Returns the mistake of giving a layer without an adapter, or sound.
template <class L>
constexpr auto problem_of_adapted() {
  if constexpr (requires { sizeof(lora_layer<1, 1.0, L>); }) return lang::sound{};
  else return lang::mistake<misuse::linear_for_lora, lang::top_scope, fact::given<L>>{};
}
}  // namespace detail

/// Adds an adapter of low rank to a linear layer (Hu et al., LoRA, 2022): `nn::lora<8, 16>(nn::linear<"q", 768>)`. The
/// layer computes `base(x) + Alpha / Rank (x A^T) B^T`. The parameters of the base are not trained. Only A and B are.
///
/// The parameters have the names of PEFT: `Name.base_layer.weight` {Out, in}, `Name.base_layer.bias` {Out},
/// `Name.lora_A.default.weight` {Rank, in} and `Name.lora_B.default.weight` {Out, Rank}. A starts uniformly with bound
/// `1 / sqrt(in)`, and B starts as zeros, so that the layer starts as its base. The base starts as the linear layer
/// would.
///
/// Rejects: what linear rejects; a Rank below 1; any other layer than `nn::linear` and `nn::linear_without_bias`.
template <int Rank, auto Alpha, class L>
constexpr lang::sound_or<decltype(detail::problem_of_adapted<L>()),
                         detail::lora_layer<Rank, static_cast<double>(Alpha), L>>
lora(L) {
  return {};
}

}  // namespace cairn::nn
