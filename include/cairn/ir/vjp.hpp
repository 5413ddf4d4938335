// Gradient rules: an operation's vjp over placeholders, lowered into a graph that is being differentiated.
#pragma once

#include "cairn/expr/convert.hpp"
#include "cairn/expr/reduce.hpp"
#include "cairn/ir/lower.hpp"

#include <utility>

namespace cairn::ir {

/// The sum of two values of one tensor.
template <class Target, class Tensor>
inline constexpr const operation& sum_of_two = operation_of<add_op, Target, Tensor, Tensor>;

/// The gradient rule of an operation, lowered: its vjp over placeholders for the first `Cotangents` of its cotangents,
/// its results and its arguments.
template <class Op, class Target, int Cotangents, class... Tensors>
struct rule_of {
  static constexpr const auto& made = cairn::detail::results_of<Op, Tensors...>;
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
  using result_tensor = tensor_of<cairn::detail::result_tensor<Op, R, Tensors...>>;
  template <class Lists>
  struct applied_to;
  template <std::size_t... G, std::size_t... Y, std::size_t... X>
  struct applied_to<std::tuple<std::index_sequence<G...>, std::index_sequence<Y...>, std::index_sequence<X...>>> {
    template <int I, class Tensor>
    using at = argument<1, I, Tensor, Op>;
    template <class O>
    static constexpr bool exists = requires {
      O::vjp(at<static_cast<int>(G), result_tensor<differentiable[G]>>{}...,
             at<Cotangents + static_cast<int>(Y), result_tensor<Y>>{}...,
             at<Cotangents + results + static_cast<int>(X), Tensors>{}...);
    };
    template <class O>
    using type = decltype(O::vjp(at<static_cast<int>(G), result_tensor<differentiable[G]>>{}...,
                                 at<Cotangents + static_cast<int>(Y), result_tensor<Y>>{}...,
                                 at<Cotangents + results + static_cast<int>(X), Tensors>{}...));
  };
  using placeholders =
      applied_to<std::tuple<std::make_index_sequence<Cotangents>, std::make_index_sequence<made.size()>,
                            std::index_sequence_for<Tensors...>>>;
  template <class O>
  static constexpr bool exists = placeholders::template exists<O>;
  /// Whether it is a rule beside that of all cotangents: one that takes any number of arguments could be called so, too,
  /// but gives too many gradients.
  template <class O>
  static constexpr bool is_second = [] {
    if constexpr (exists<O>) {
      return []<class... G>(std::type_identity<gradients<G...>>) {
        return sizeof...(G) == sizeof...(Tensors);
      }(std::type_identity<typename placeholders::template type<O>>{});
    }
    return false;
  }();

  /// A gradient has its argument's type and shape: what broadcasting repeated is summed up again.
  template <class Tensor, class G>
  static constexpr auto fitted(G g) {
    if constexpr (std::same_as<G, no_gradient>) {
      return g;
    } else if constexpr (wrong<G>) {
      static_assert(report_of<G>{}.shown);
      return fitted<Tensor>(make<expand_op<Tensor::shape>>(constant<0.0>));  // so that no second error follows
    } else if constexpr (G::shape != Tensor::shape && G::element.type >= dtype::own) {
      return fitted<Tensor>(make<as_op<dtype::real>>(g));
    } else if constexpr (G::shape != Tensor::shape) {
      constexpr axis_set axes = stretched_axes(Tensor::shape, G::shape);
      return fitted<Tensor>(make<reshape_op<Tensor::shape>>(make<sum_op<axes, true>>(g)));
    } else if constexpr (G::element.type != Tensor::element.type) {
      return make<as_op<Tensor::element.type>>(g);
    } else {
      return g;
    }
  }

  template <class List>
  struct parts;
  template <class... G>
  struct parts<gradients<G...>> {
    static_assert(sizeof...(G) == sizeof...(Tensors), "a vjp gives one gradient for each argument");
    static_assert(Op::detaches || Op::piecewise_constant ||
                      ((!std::same_as<G, no_gradient> || kind_of(Tensors::element.type) != kind::real) && ...),
                  "cairn: the vjp of an operation gives no gradient to an argument of real numbers; say that the "
                  "operation detaches, or that it is piecewise_constant");
    template <class G1>
    static constexpr int order_of() {
      if constexpr (std::same_as<G1, no_gradient>) return 0;
      else return G1::traits.order;
    }
    static_assert(((order_of<G>() == 0) && ...), "a vjp is written without grad");
    template <class Tensor, class G1>
    using fitted_type = decltype(fitted<Tensor>(G1{}));
    static constexpr bool any = (!std::same_as<G, no_gradient> || ...);

    template <class G1>
    static constexpr void count(counter& c) {
      if constexpr (!std::same_as<G1, no_gradient>) {
        lowering<G1>::count(c);
        c.total += {.nodes = 1, .arguments = 2};  // the sum, where the argument has a gradient already
      }
    }
    static constexpr sizes size = [] {
      counter c;
      (count<fitted_type<Tensors, G>>(c), ...);
      if (Cotangents > 1) c.total += {.nodes = 2 * Cotangents, .arguments = Cotangents};  // zeros
      return c.total;
    }();

    template <class Tensor, class G1>
    static constexpr void append_one(builder& b, int argument, const bool* wanted, int* gradient) {
      if constexpr (!std::same_as<G1, no_gradient>) {
        if (!wanted[argument]) return;
        const int more = lowering<G1>::template into<Target>(b);
        if (gradient[argument] == 0) {
          gradient[argument] = more;
        } else {
          const int both[]{gradient[argument], more};
          gradient[argument] = b.append(&sum_of_two<Target, Tensor>, both);
        }
      }
    }
    /// The cotangent of a result that nobody differentiates; where there is but one, somebody does.
    template <class Tensor>
    static constexpr int zeros(builder& b) {
      using zero = constant_leaf<0.0>;
      const int number = b.append_leaf(&leaf_operation<zero, typename Target::real, tensor<Tensor::element>>);
      return b.append(&operation_of<expand_op<Tensor::shape>, Target, tensor<Tensor::element>>, &number);
    }

    using append_pointer = void (*)(builder&, int, const bool*, int*);
    /// From the last argument: a layer's weights. Then its input may die, and not live beside its gradient.
    static constexpr void append(builder& b, int node, const bool* wanted, int* gradient) {
      constexpr append_pointer rules[]{&append_one<Tensors, fitted_type<Tensors, G>>...};
      const builder::frame before = b.open_rule(b.nodes[node].region);
      tag* const tags = std::exchange(b.tags, nullptr);
      if constexpr (Cotangents == 1) {
        b.bindings.push(gradient[node + differentiable[0]]);
      } else {
        [&]<std::size_t... I>(std::index_sequence<I...>) {
          constexpr int (*none_known[])(builder&){&zeros<result_tensor<differentiable[I]>>...};
          for (int i = 0; i < Cotangents; ++i) {
            const int known = gradient[node + differentiable[static_cast<std::size_t>(i)]];
            b.bindings.push(known != 0 ? known : none_known[i](b));
          }
        }(std::make_index_sequence<Cotangents>{});
      }
      for (int r = 0; r < results; ++r) b.bindings.push(node + r);
      for (int i = 0; i < arity; ++i) b.bindings.push(b.argument(node, i));
      for (int which = arity; which-- > 0;) rules[which](b, b.argument(node, which), wanted, gradient);
      b.tags = tags;
      b.close(before);
    }
  };
  /// O is Op: so nothing is asked of a rule that does not exist before `exists` has been.
  template <class O>
  using found = parts<typename placeholders::template type<O>>;
};

/// Tells an operation its rules: from all cotangents, and, where there is one, from the first alone.
template <class Op, class Target, class... Tensors>
struct vjp_of {
  static constexpr int cotangents = [] {
    int n = 0;
    for (const tensor_type& made : cairn::detail::results_of<Op, Tensors...>)
      n += kind_of(made.element.type) == kind::real;
    return n;
  }();

  /// Rules are for constant evaluation alone: so no code of theirs is made.
  template <class Found>
  static constexpr void append(builder& b, int node, const bool* wanted, int* gradient) {
    if (std::is_constant_evaluated()) Found::append(b, node, wanted, gradient);
  }
  template <int Cotangents>
  static constexpr vjp_pointer rule(operation& o) {
    using rules = rule_of<Op, Target, Cotangents, Tensors...>;
    static_assert(
        rules::template exists<Op>,
        "cairn: this operation is differentiated and has no vjp(cotangents..., results..., arguments...) for so "
        "many; cotangents are those of its results of real numbers");
    if constexpr (rules::template exists<Op>) {
      using found = typename rules::template found<Op>;
      if constexpr (found::any) {
        o.vjp_nodes = std::max(o.vjp_nodes, found::size.nodes);
        o.vjp_arguments = std::max(o.vjp_arguments, found::size.arguments);
        return &append<found>;
      }
    }
    return nullptr;
  }
  static constexpr void describe(operation& o) {
    if constexpr (cotangents > 0) o.vjp = rule<cotangents>(o);
    if constexpr (cotangents > 1) {
      if constexpr (rule_of<Op, Target, 1, Tensors...>::template is_second<Op>) o.vjp_first = rule<1>(o);
    }
  }
};

}  // namespace cairn::ir
