// A rectifier with a slope that is learned.
#pragma once

#include "cairn/lang/shared.hpp"
#include "cairn/nn/features.hpp"
#include "cairn/op/activation.hpp"

namespace cairn::nn {

namespace detail {
template <fixed_string Name, std::int64_t Parameters>
struct prelu_layer : checked_layer<prelu_layer<Name, Parameters>> {
  static constexpr fixed_string name = Name;
  static constexpr auto problem(auto x) {
    return problem_of_features<"prelu", Name>(x, []<class X>(X) {
      if constexpr (lang::prelu_form::fits_weight(X::shape, Parameters)) return lang::sound{};
      else
        return lang::poison<misuse::weight_of_prelu, typename X::owner, fact::in<Name>,
                            fact::operation<"prelu", lang::tensor_fact<X>>, fact::extents<Parameters>>{};
    });
  }
  static constexpr auto apply(auto x) {
    const auto weight = param_from<Name + fixed_string{".weight"}, initial::constant(0.25), Parameters>;
    return lang::result_of_layer<Name>(weight, prelu(x, weight));
  }
};
}  // namespace detail

/// Returns x {..., rows, channels} where x is positive, else `Name.weight` x, as nn.PReLU does (He et al., 2015). The
/// weight has one number, or one for each channel: `nn::prelu<"act", 64>`. It starts at 0.25.
/// Rejects: fewer than two axes; a number of parameters that is neither 1 nor the number of channels.
template <fixed_string Name, std::int64_t Parameters = 1>
inline constexpr detail::prelu_layer<Name, Parameters> prelu{};

}  // namespace cairn::nn
