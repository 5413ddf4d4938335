// Gradient rules: an operation's vjp over placeholders, lowered into a graph that is being differentiated.
#pragma once

#include "cairn/expr/reduce.hpp"
#include "cairn/ir/lower.hpp"

#include <utility>

namespace cairn::ir {

/// The gradient rule of an operation, lowered: its vjp over placeholders for arguments, result and cotangent.
template <class Op, class Target, class... Tensors>
struct vjp_of {
  using result = tensor_of<expr<Op, argument<1, 0, Tensors, Op>...>>;
  static constexpr int arity = static_cast<int>(sizeof...(Tensors));

  template <class Indices>
  struct rule;
  template <std::size_t... I>
  struct rule<std::index_sequence<I...>> {
    using type = decltype(Op::vjp(argument<1, static_cast<int>(I), Tensors, Op>{}...,
                                  argument<1, arity, result, Op>{}, argument<1, arity + 1, result, Op>{}));
  };

  /// A gradient has its argument's shape: what broadcasting repeated is summed up again.
  template <class Tensor, class G>
  static constexpr auto fitted(G g) {
    if constexpr (std::same_as<G, no_gradient>) {
      return g;
    } else if constexpr (G::shape == Tensor::shape) {
      return g;
    } else {
      constexpr axis_set axes = stretched_axes(Tensor::shape, G::shape);
      return make<reshape_op<Tensor::shape>>(make<sum_op<axes, true>>(g));
    }
  }

  template <class List>
  struct parts;
  template <class... G>
  struct parts<gradients<G...>> {
    static_assert(sizeof...(G) == sizeof...(Tensors), "a vjp gives one gradient for each argument");
    template <class G1>
    static constexpr int order_of() {
      if constexpr (std::same_as<G1, no_gradient>) return 0;
      else return G1::facts.order;
    }
    static_assert(((order_of<G>() == 0) && ...), "a vjp is written without grad");
    template <class Tensor, class G1>
    using fitted_type = decltype(fitted<Tensor>(G1{}));
    static constexpr bool any = (!std::same_as<G, no_gradient> || ...);

    template <class G1>
    static constexpr void count(counter& c) {
      if constexpr (!std::same_as<G1, no_gradient>) {
        lowering<G1>::count(c);
        c.total += {.nodes = 1};  // the sum, where the argument has a gradient already
      }
    }
    static constexpr int nodes = [] {
      counter c;
      (count<fitted_type<Tensors, G>>(c), ...);
      return c.total.nodes;
    }();

    template <class Tensor, class G1>
    static constexpr void append_one(builder& b, int node, int which, const bool* wanted, int* gradient) {
      if constexpr (!std::same_as<G1, no_gradient>) {
        const int argument = b.nodes[node].argument[which];
        if (!wanted[argument]) return;
        const int more = lowering<G1>::template into<Target>(b);
        if (gradient[argument] == 0) {
          gradient[argument] = more;
        } else {
          const int both[]{gradient[argument], more};
          gradient[argument] = b.append(&operation_of<add_op, Target, Tensor, Tensor>, both, 2);
        }
      }
    }
    using rule_of = void (*)(builder&, int, int, const bool*, int*);
    /// From the last argument: a layer's weights. Then its input may die, and not live beside its gradient.
    static constexpr void append(builder& b, int node, const bool* wanted, int* gradient) {
      constexpr rule_of rules[]{&append_one<Tensors, fitted_type<Tensors, G>>...};
      int bound[max_arguments + 2] = {};
      for (int i = 0; i < arity; ++i) bound[i] = b.nodes[node].argument[i];
      bound[arity] = node;
      bound[arity + 1] = gradient[node];
      const builder::frame before = b.open(bound, arity + 2);
      tag* const tags = std::exchange(b.tags, nullptr);
      b.segment_now = b.nodes[node].segment;
      for (int which = arity; which-- > 0;) rules[which](b, node, which, wanted, gradient);
      b.tags = tags;
      b.close(before);
    }
  };
  using found = parts<typename rule<std::index_sequence_for<Tensors...>>::type>;
  static constexpr bool any = found::any;
  static constexpr int nodes = found::nodes;
  static constexpr void append(builder& b, int node, const bool* wanted, int* gradient) {
    found::append(b, node, wanted, gradient);
  }
};

}  // namespace cairn::ir
