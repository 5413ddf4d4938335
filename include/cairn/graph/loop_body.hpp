// The body of a scan as a graph of its own. Every value that has another address in each iteration is a leaf.
#pragma once

#include "cairn/graph/build.hpp"
#include "cairn/lang/tiled.hpp"

namespace cairn::graphs {

/// A leaf of a body that has another address in each iteration: an argument, or the cotangent of a result.
template <class Tensor>
struct iteration_leaf : Tensor {};
template <class Tensor>
struct lowering<iteration_leaf<Tensor>> {
  static constexpr void describe(operation& o) { o.what = role::input; }
};
template <class Tensor, class Target>
inline constexpr const operation& iteration_leaf_of =
    leaf_operation<iteration_leaf<Tensor>, typename Target::numbers, Tensor>;

/// The graph of a scan's body. The first leaves are the scan's arguments. Then come the leaves of the body itself, and
/// then the cotangents. A name begins with "/." if the path of the blocks around the scan is put before it.
template <sizes Size>
struct body_graph : graph<Size> {
  int own_leaves = 0;                                ///< the number of leaves before the cotangents
  int cotangents[body_graph::output_capacity] = {};  ///< by result: the leaf that is its cotangent, or none

  /// Returns a name without the "/." of a prefixed name.
  constexpr std::string_view name(const auto& named) const {
    const std::string_view all = graph<Size>::name(named);
    return all.starts_with("/.") ? all.substr(2) : all;
  }
  /// Returns true if a leaf's name gets no prefix from the blocks around the scan.
  constexpr bool is_absolute(int i) const { return !graph<Size>::name(this->leaves[i]).starts_with("/."); }
};

/// The tensor type of result number R of one iteration.
template <class Scan, std::size_t R>
using iteration_tensor = lang::tensor_of<lang::pick<static_cast<int>(R), typename Scan::body>>;

template <class Scan>
inline constexpr sizes size_of_body = [](sizes s) {
  s.leaves += Scan::carried_count + Scan::each_count + Scan::same_count + Scan::result_count;
  s.nodes += s.leaves + Scan::result_count;
  s.updates += Scan::result_count;  // makes room in `outputs`, because a scan may have more results than a program
  s.characters += 2 * (s.leaves + s.segments);
  return s;
}(body_lowering<typename Scan::mark, typename Scan::body::bodies>::size);

/// Lowers the body of a scan. The path of names begins with '/', so that a prefixed name begins with "/.".
template <class Scan, class Target>
constexpr void lower_body(builder& b, int* results) {
  using body = body_lowering<typename Scan::mark, typename Scan::body::bodies>;
  constexpr int count = std::tuple_size_v<typename Scan::tensors>;
  int arguments[count];
  [&]<class... Tensor>(std::type_identity<std::tuple<Tensor...>>) {
    int i = 0;
    ((arguments[i++] = b.leaves[b.nameless_leaf(&iteration_leaf_of<Tensor, Target>)].node), ...);
  }(std::type_identity<typename Scan::tensors>{});
  b.path.push('/');
  body::template into<Target>(b, arguments, count, results);
}
/// Returns the sizes of the body's graph. If the body takes gradients itself, it is lowered once to find out how much
/// they append.
template <class Scan, class Target>
constexpr sizes grown_size_of_body() {
  sizes size = with_conversions<Target>(size_of_body<Scan>);
  if constexpr (Scan::body::inside.order > 0) {
    graph<with_conversions<Target>(size_of_body<Scan>)> g;
    builder b;
    b.write_to(g);
    b.write_apart(size);
    lower_body<Scan, Target>(b, g.outputs);
    size.nodes = b.node_count + size.leaves;
    size.arguments = b.argument_count + 1;
  }
  return size;
}
template <class Scan, class Target>
constexpr auto build_body() {
  body_graph<grown_size_of_body<Scan, Target>()> g;
  builder b;
  b.write_to(g);
  lower_body<Scan, Target>(b, g.outputs);
  g.output_count = g.result_count = Scan::result_count;
  g.own_leaves = b.leaf_count;
  [&]<std::size_t... R>(std::index_sequence<R...>) {
    constexpr const auto& made = Scan::body::results;
    ((g.cotangents[R] = Target::order > 0 && kind_of(made[R].element.type) == kind::real
                            ? b.nameless_leaf(&iteration_leaf_of<iteration_tensor<Scan, R>, Target>)
                            : none),
     ...);
  }(std::make_index_sequence<static_cast<std::size_t>(Scan::result_count)>{});
  finish(g, b);
  return g;
}
/// The target of the body. A scan is differentiated at most once, even if the model around it is differentiated more
/// often.
template <class Scan, class Target>
using body_target = target<typename Target::numbers, Scan::body::inside.order + (Target::order > 0 ? 1 : 0),
                           Target::training, Target::inputs, Target::divides, Target::groups, Target::shards>;
template <class Scan, class Target>
inline constexpr auto scan_body_of = build_body<Scan, Target>();

/// Facts about a scan that are known before its body has a plan.
template <class Scan, class Target>
struct scan_facts {
  using real = typename Target::real;
  static constexpr const auto& g = scan_body_of<Scan, Target>;
  static constexpr int carried = Scan::carried_count, each = Scan::each_count,
                       first_leaf = carried + each + Scan::same_count;
  static constexpr int arguments = g.own_leaves, results = g.output_count;

  /// Marks of leaves that are arguments of the scan.
  struct marks {
    bool by_leaf[g.leaf_count + 1] = {};
  };
  /// The arguments for which the pullback computes a gradient. An argument that depends on no parameter gets one only
  /// if gradients of inputs are wanted. Carried real numbers always get one.
  static constexpr marks wanted = [] {
    marks out;
    [&]<class... A>(std::type_identity<std::tuple<A...>>) {
      int i = 0;
      ((out.by_leaf[i] = kind_of(A::element.type) == kind::real && (i < carried || Target::inputs || A::traits.trained),
        ++i),
       ...);
    }(std::type_identity<typename Scan::arguments>{});
    for (int i = first_leaf; i < arguments; ++i) {
      const operation& leaf = g.leaf_op(i);
      const bool asked =
          leaf.what == role::input && kind_of(leaf.results[0].element.type) == kind::real && Target::inputs;
      out.by_leaf[i] = leaf.trainable || asked;
    }
    return out;
  }();
  /// The arguments that have a gradient which is summed over the iterations.
  static constexpr marks summed = [] {
    marks out = wanted;
    for (int i = 0; i < carried + each; ++i) out.by_leaf[i] = false;
    return out;
  }();
  static constexpr int gradient_count = static_cast<int>(std::ranges::count(wanted.by_leaf, true)),
                       sum_count = static_cast<int>(std::ranges::count(summed.by_leaf, true));
  static constexpr int cotangent_count = [] {
    int n = 0;
    for (int r = 0; r < g.result_count; ++r) n += g.cotangents[r] != none;
    return n;
  }();
};

}  // namespace cairn::graphs
