// Gradient rules. An operation's vjp is applied to placeholders and lowered into a graph that is being differentiated.
#pragma once

#include "cairn/graph/lower.hpp"
#include "cairn/lang/convert.hpp"
#include "cairn/op/reduce.hpp"

#include <utility>

namespace cairn::graphs {

/// The operation that adds two values of one tensor type.
template <class Target, class Tensor>
inline constexpr const operation& sum_of_two = operation_of<lang::add_op, Target, Tensor, Tensor>;

namespace detail {
/// Appends the sum of the earlier gradient of value `of` and its further gradient G, which has the type of `Tensor`. If
/// an operation computes G that can add its result to another value (op::onto), G itself is not appended.
template <class G>
struct gradient_sum {
  static constexpr int arguments = 2;
  template <class Target, class Tensor>
  static constexpr int append(builder& b, int earlier, [[maybe_unused]] int of) {
    const int both[]{earlier, lowering<G>::template into<Target>(b)};
    if (Target::rounds) b.gradient_pairs.push({both[1], of});
    return b.append(&sum_of_two<Target, Tensor>, both);
  }
};
template <class Op, class... A>
  requires(!std::is_void_v<typename Op::onto>)
struct gradient_sum<lang::expr<Op, A...>> {
  static constexpr int arguments = 1 + static_cast<int>(sizeof...(A));
  template <class Target, class Tensor>
  static constexpr int append(builder& b, int earlier, int) {
    const int values[]{earlier, lowering<A>::template into<Target>(b)...};
    return b.append(&operation_of<typename Op::onto, Target, Tensor, lang::tensor_of<A>...>, values);
  }
};

/// The number of gradients that a rule returned, or -1 if the rule did not return gradients(...).
template <class Returned>
inline constexpr int gradients_in = -1;
template <class... G>
inline constexpr int gradients_in<gradients<G...>> = static_cast<int>(sizeof...(G));
/// What a rule returned, as messages show it. Gradients are shown by their shapes.
template <class Result>
struct shown_result {
  using type = Result;
};
template <class... G>
struct shown_result<gradients<G...>> {
  using type = gradients<typename lang::showing<G>::type...>;
};
}  // namespace detail

/// Lowers the gradient rule of an operation: its vjp, applied to placeholders for the first `Cotangents` of its
/// cotangents, for its results, and for its arguments.
template <class Op, class Target, int Cotangents, class... Tensors>
struct gradient_rule_of {
  static constexpr const auto& made = lang::results_of<Op, Tensors...>;
  static constexpr int results = static_cast<int>(made.size()), arity = static_cast<int>(sizeof...(Tensors));

  /// The results that have a cotangent, in order.
  static constexpr auto differentiable = [] {
    std::array<int, made.size()> which{};
    int n = 0;
    for (int r = 0; r < results; ++r) {
      if (kind_of(made[static_cast<std::size_t>(r)].element.type) == kind::real)
        which[static_cast<std::size_t>(n++)] = r;
    }
    return which;
  }();
  template <int R>
  using result_tensor = lang::tensor_of<lang::result_tensor<Op, R, Tensors...>>;
  template <class Lists>
  struct applied_to;
  template <std::size_t... G, std::size_t... Y, std::size_t... X>
  struct applied_to<std::tuple<std::index_sequence<G...>, std::index_sequence<Y...>, std::index_sequence<X...>>> {
    template <int I, class Tensor>
    using at = lang::argument<1, I, Tensor, Op>;
    template <class O>
    using called = lang::vjp_call<O, at<static_cast<int>(G), result_tensor<differentiable[G]>>...,
                                  at<Cotangents + static_cast<int>(Y), result_tensor<Y>>...,
                                  at<Cotangents + results + static_cast<int>(X), Tensors>...>;
  };
  using placeholders =
      applied_to<std::tuple<std::make_index_sequence<Cotangents>, std::make_index_sequence<made.size()>,
                            std::index_sequence_for<Tensors...>>>;
  /// The call of the rule of O. O is always Op; it is a template parameter so that the rule is not instantiated before
  /// it is needed.
  template <class O>
  using call = typename placeholders::template called<O>;
  /// True if O has this rule in addition to the rule for all cotangents. A rule for all cotangents that takes any
  /// number of arguments could be called with fewer cotangents, too, but it would return too many gradients.
  template <class O>
  static constexpr bool is_additional_rule = [] {
    if constexpr (call<O>::exists) return detail::gradients_in<typename call<O>::template type<>> == arity;
    else return false;
  }();

  /// Returns gradient g with the type and shape of its argument. Axes along which the argument was repeated by
  /// broadcasting are summed.
  template <class Tensor, class G>
  static constexpr auto fitted(G g) {
    if constexpr (std::same_as<G, no_gradient>) {
      return g;
    } else if constexpr (G::shape != Tensor::shape && is_rounded(G::element.type)) {
      return fitted<Tensor>(make<lang::as_op<dtype::real>>(g));
    } else if constexpr (G::shape != Tensor::shape) {
      constexpr ::cairn::detail::axis_set axes = cairn::detail::stretched_axes(Tensor::shape, G::shape);
      return fitted<Tensor>(make<lang::reshape_op<Tensor::shape>>(make<lang::sum_op<axes, true>>(g)));
    } else if constexpr (G::element.type != Tensor::element.type) {
      return make<lang::as_op<Tensor::element.type>>(g);
    } else {
      return g;
    }
  }

  /// The gradients that a rule returned, which append() lowers.
  template <class List>
  struct returned_gradients;
  template <class... G>
  struct returned_gradients<gradients<G...>> {
    template <class Tensor, class G1>
    using fitted_type = decltype(fitted<Tensor>(G1{}));
    static constexpr bool any = (!std::same_as<G, no_gradient> || ...);

    template <class G1>
    static constexpr void count(counter& c) {
      if constexpr (!std::same_as<G1, no_gradient>) {
        lowering<G1>::count(c);
        // the sum, if the argument already has a gradient
        c.total += {.nodes = 1, .arguments = detail::gradient_sum<G1>::arguments};
      }
    }
    static constexpr sizes size = [] {
      counter c;
      (count<fitted_type<Tensors, G>>(c), ...);
      if (Cotangents > 1) c.total += {.nodes = 2 * Cotangents, .arguments = Cotangents};  // zeros
      return c.total;
    }();

    /// Lowers the gradient of one argument and adds it to `gradient`, if it is wanted.
    template <class Tensor, class G1>
    static constexpr void append_gradient(builder& b, int argument, const bool* wanted, int* gradient) {
      if constexpr (!std::same_as<G1, no_gradient>) {
        if (!wanted[argument]) return;
        int& sum = gradient[argument];
        if (sum == none) sum = lowering<G1>::template into<Target>(b);
        else sum = detail::gradient_sum<G1>::template append<Target, Tensor>(b, sum, argument);
        if (Target::rounds) b.gradient_pairs.push({sum, argument});
      }
    }
    /// Appends zeros as the cotangent of a result that has no gradient. This is only needed for rules of several
    /// cotangents, because a rule is applied only if at least one of its results has a gradient.
    template <class Tensor>
    static constexpr int zeros(builder& b) {
      using zero = lang::constant_leaf<0.0>;
      const int number = b.append_leaf(&leaf_operation<zero, typename Target::numbers, lang::tensor<Tensor::element>>);
      return b.append(&operation_of<lang::expand_op<Tensor::shape>, Target, lang::tensor<Tensor::element>>, &number);
    }

    using append_pointer = void (*)(builder&, int, const bool*, int*);
    /// Appends the gradients of the arguments, from the last argument to the first. The weights of a layer come after
    /// its input, and the gradient of the weights reads the input. If that gradient is computed first, the live range
    /// of the input can end before the input's gradient is computed.
    static constexpr void append(builder& b, int node, const bool* wanted, int* gradient) {
      constexpr append_pointer rules[]{&append_gradient<Tensors, fitted_type<Tensors, G>>...};
      const builder::frame before = b.open_rule(b.nodes[node].region);
      const int first = b.nodes[node].first;
      int* binding = b.bindings.extend(Cotangents + results + arity);
      if constexpr (Cotangents == 1) {
        *binding++ = gradient[node + differentiable[0]];
      } else {
        [&]<std::size_t... I>(std::index_sequence<I...>) {
          constexpr int (*zeros_of[])(builder&){&zeros<result_tensor<differentiable[I]>>...};
          for (int i = 0; i < Cotangents; ++i) {
            const int known = gradient[node + differentiable[static_cast<std::size_t>(i)]];
            *binding++ = known != none ? known : zeros_of[i](b);
          }
        }(std::make_index_sequence<Cotangents>{});
      }
      for (int r = 0; r < results; ++r) *binding++ = node + r;
      for (int i = 0; i < arity; ++i) *binding++ = b.arguments[first + i];
      for (int which = arity; which-- > 0;) rules[which](b, b.arguments[first + which], wanted, gradient);
      b.close(before);
    }
  };

  using what = fact::operation<Op::name, lang::tensor_fact<Tensors>...>;
  /// Returns the mistake in the gradient of one argument, or sound.
  template <int I, class Tensor, class G>
  static constexpr auto problem_of_gradient() {
    if constexpr (std::same_as<G, no_gradient>) {
      constexpr bool right = Op::detaches || Op::piecewise_constant || Op::in_other_gradients(I) ||
                             kind_of(Tensor::element.type) != kind::real;
      if constexpr (right) return lang::sound{};
      else return lang::mistake<misuse::gradient_missing, lang::top_scope, what, fact::argument<I>>{};
    } else if constexpr (lang::wrong<G>) {
      return G{};
    } else if constexpr (broadcast(Tensor::shape, G::shape) != G::shape) {
      return lang::mistake<misuse::gradient_shape, lang::top_scope, what, fact::argument<I>,
                           fact::got<lang::tensor_fact<G>>>{};
    } else if constexpr (G::traits.has_model_parts) {
      return lang::mistake<misuse::gradient_of_rule, lang::top_scope, what>{};
    } else {
      return lang::sound{};
    }
  }
  template <int... I, class... G>
  static constexpr auto problem_of(std::integer_sequence<int, I...>, std::type_identity<gradients<G...>>) {
    return lang::first_problem(problem_of_gradient<I, Tensors, G>()...);
  }
  /// Returns the mistake in the rule, or sound. If the compiler itself refuses the rule, returns rejected, which adds
  /// no message.
  template <class O>
  static constexpr auto problem() {
    using rule = call<O>;
    if constexpr (rule::has_body_error) {
      return lang::rejected{};
    } else if constexpr (!rule::exists) {
      return lang::mistake<misuse::no_vjp, lang::top_scope, what>{};
    } else if constexpr (detail::gradients_in<typename rule::template type<>> != arity) {
      return lang::mistake<misuse::gradients_in_number, lang::top_scope, what,
                           fact::returned<typename detail::shown_result<typename rule::template type<>>::type>>{};
    } else {
      return problem_of(std::make_integer_sequence<int, arity>{}, std::type_identity<typename rule::template type<>>{});
    }
  }
  /// Returns a gradient of zeros. It replaces a wrong gradient, so that no second error follows the first.
  template <class Tensor>
  static constexpr auto zero_gradient() {
    if constexpr (kind_of(Tensor::element.type) != kind::real) return no_gradient{};
    else return make<lang::expand_op<Tensor::shape>>(constant<0.0>);
  }
  /// Reports a mistake in the rule as an error of the compiler. Returns the type of the gradients to append.
  template <class O>
  static constexpr auto checked() {
    using mistake_or_sound = decltype(problem<O>());
    static_assert(lang::report_of<mistake_or_sound>{}.shown);
    if constexpr (std::same_as<mistake_or_sound, lang::sound>)
      return std::type_identity<returned_gradients<typename call<O>::template type<>>>{};
    else return std::type_identity<returned_gradients<gradients<decltype(zero_gradient<Tensors>())...>>>{};
  }
  template <class O>
  using gradients_to_append = typename decltype(checked<O>())::type;
};

/// Adds the gradient rules to an operation: the rule for all cotangents, and the rule for the first cotangent alone if
/// the operation has one.
template <class Op, class Target, class... Tensors>
struct vjp_of {
  static constexpr int cotangents = [] {
    int n = 0;
    for (const tensor_type& made : lang::results_of<Op, Tensors...>) n += kind_of(made.element.type) == kind::real;
    return n;
  }();

  /// Appends the gradients, in constant evaluation only. The test keeps the compiler from generating code for rules.
  template <class Gradients>
  static constexpr void append(builder& b, int node, const bool* wanted, int* gradient) {
    if (std::is_constant_evaluated()) Gradients::append(b, node, wanted, gradient);
  }
  template <int Cotangents>
  static constexpr vjp_pointer rule(operation& o) {
    using rules = gradient_rule_of<Op, Target, Cotangents, Tensors...>;
    using returned = typename rules::template gradients_to_append<Op>;
    if constexpr (returned::any) {
      constexpr sizes size = with_conversions<Target>(returned::size);
      o.vjp_nodes = std::max(o.vjp_nodes, size.nodes);
      o.vjp_arguments = std::max(o.vjp_arguments, size.arguments);
      return &append<returned>;
    }
    return nullptr;
  }
  static constexpr void describe(operation& o) {
    if constexpr (cotangents > 0) o.vjp = rule<cotangents>(o);
    if constexpr (cotangents > 1) {
      if constexpr (gradient_rule_of<Op, Target, 1, Tensors...>::template is_additional_rule<Op>)
        o.vjp_first = rule<1>(o);
    }
  }
};

}  // namespace cairn::graphs
