// The order in which backward values are computed. It is the order of the gradient rules, with one exception. The
// gradient of a parameter that several layers read is a sum. If a term of the sum is larger than the values from which
// it is computed, it is computed right before it is added, and meanwhile the smaller values are kept. An example is the
// gradient of a table of tokens that is also the weight of the head.
#pragma once

#include "cairn/plan/needs.hpp"

namespace cairn::plans {

/// The first results of the operations of the backward pass, in the order of their computation.
template <int Nodes>
struct backward_order {
  int values[Nodes] = {};
  int count = 0;
};

namespace detail {
template <class Graph, class Gradient, class Segments, class Needs>
struct orderer {
  const Graph& g;
  const Gradient& d;
  const Segments& segments;
  const Needs& need;
  backward_order<Gradient::capacity> out{};
  bool late[Gradient::capacity] = {};  ///< values that are computed right before their reader, and are not yet

  /// Returns true if `v` is a kernel's result that is larger than all of its arguments together. Leaves do not count,
  /// because they are in memory anyway. Arguments in a segment's interior would have to be recomputed.
  constexpr bool is_larger_than_its_arguments(int v) const {
    const graphs::node& n = d.nodes[v];
    if (n.op->what != graphs::role::kernel || n.op->result_count > 1 || segments.of[v] != 0) return false;
    std::int64_t bytes = 0;
    for (int i = 0; i < n.op->argument_count; ++i) {
      const int a = d.root(d.arguments[n.first + i]);
      if (segments.of[a] != 0) return false;
      if (!graphs::is_leaf(d.nodes[a].op->what)) bytes += d.nodes[a].result->bytes;
    }
    return bytes < n.result->bytes;
  }
  /// Finds the terms of the gradients of leaves that are computed late. A term has the size of the gradient.
  constexpr void find_late() {
    for (int i = 0; i < g.leaf_count; ++i) {
      int next = d.gradient[i];
      while (next != none && next >= d.turn && segments.of[next] == 0) {
        const graphs::node& sum = d.nodes[next];
        next = none;
        for (int k = 0; k < sum.op->argument_count; ++k) {
          const int a = d.arguments[sum.first + k];
          if (a < d.turn || d.nodes[a].result->bytes != sum.result->bytes) continue;
          late[a] = is_larger_than_its_arguments(a);
          if (!late[a]) next = a;
        }
      }
    }
  }
  constexpr void append(int v) {
    const graphs::node& n = d.nodes[v];
    late[v] = false;
    for (int i = 0; i < n.op->argument_count; ++i) {
      const int a = d.arguments[n.first + i];
      if (late[a]) append(a);
    }
    out.values[out.count++] = v;
  }
};
}  // namespace detail

/// Returns the order of the backward values that are needed. Each value comes behind its arguments.
template <class Graph, class Gradient, class Segments, class Needs>
constexpr auto order_backward(const Graph& g, const Gradient& d, const Segments& segments, const Needs& need) {
  detail::orderer<Graph, Gradient, Segments, Needs> all{g, d, segments, need};
  all.find_late();
  for (int v = d.turn; v < d.node_count; ++v) {
    if (d.nodes[v].result_index == 0 && need.live[v] && !all.late[v]) all.append(v);
  }
  return all.out;
}

}  // namespace cairn::plans
