// Reverse-mode differentiation of the values that have been lowered so far.
#pragma once

#include "cairn/graph/vjp.hpp"
#include "cairn/lang/gradient.hpp"

namespace cairn::graphs {

/// Marks the values up to `last` that depend on marked values through operations that have a gradient.
constexpr void mark_wanted(const builder& b, int last, bool* wanted) {
  for (int v = 0; v <= last; ++v) {
    const operation& op = *b.nodes[v].op;
    if (cairn::detail::same_address(op.vjp, nullptr)) continue;
    if (kind_of(b.nodes[v].result->element.type) != kind::real) continue;
    for (int i = 0; i < op.argument_count; ++i) wanted[v] |= wanted[b.argument(v, i)];
  }
}

/// Visits the operations from value `last` back to the first, and appends the gradients of their wanted arguments.
/// `gradient` is a table by value, which is none for a value without a gradient. Calls visit(v) after the gradient rule
/// of the operation with first result v.
constexpr void append_gradients(builder& b, int last, const bool* wanted, int* gradient, auto visit) {
  for (int v = last; v >= 0; --v) {
    const operation& op = *b.nodes[v].op;
    if (b.nodes[v].result_index > 0 || cairn::detail::same_address(op.vjp, nullptr)) continue;
    int cotangents = 0, differentiable = 0;
    bool any = false, first_alone = !cairn::detail::same_address(op.vjp_first, nullptr);
    for (int r = 0; r < op.result_count; ++r) {
      any |= wanted[v + r];
      if (kind_of(op.results[r].element.type) != kind::real) continue;
      cotangents += gradient[v + r] != none;
      first_alone &= differentiable++ == 0 || gradient[v + r] == none;
    }
    if (!any || cotangents == 0) continue;
    (first_alone ? op.vjp_first : op.vjp)(b, v, wanted, gradient);
    visit(v);
  }
}

/// A table for constant evaluation. All entries are 0 at first.
template <class T>
class table {
 public:
  constexpr explicit table(int size) : items_(new T[static_cast<std::size_t>(size)]{}) {}
  table(const table&) = delete;
  constexpr ~table() { delete[] items_; }
  constexpr T* data() { return items_; }

 private:
  T* items_;
};

template <int I, class F, class... X>
struct lowering<lang::derivative<I, F, X...>> {
  using type = lang::derivative<I, F, X...>;
  static constexpr int height = type::traits.height;
  static constexpr void count(counter& c) {
    if (!c.add_if_new(&id_of<lang::derivative<0, F, X...>>, height)) return;
    (lowering<X>::count(c), ...);
    lowering<F>::count(c);
  }
  template <class Target>
  static constexpr int into(builder& b) {
    if (const int known = b.known.find(&id_of<type>, height); known != none) return known;
    const int variables[]{lowering<X>::template into<Target>(b)...};
    const int function = lowering<F>::template into<Target>(b), end = b.node_count;
    table<bool> wanted(end);
    table<int> gradient(end);
    std::fill_n(gradient.data(), end, none);
    for (const int x : variables) wanted.data()[x] = true;
    mark_wanted(b, function, wanted.data());
    gradient.data()[function] =
        b.append_leaf(&leaf_operation<lang::constant_leaf<1.0>, typename Target::numbers, lang::tensor_of<F>>);
    append_gradients(b, function, wanted.data(), gradient.data(), [](int) {});
    for (int v = end; v < b.node_count; ++v) b.nodes[v].order = type::traits.order;
    for (const int x : variables) {
      if (gradient.data()[x] != none) continue;
      b.wrong.independent = x;
      gradient.data()[x] = x;  // stands in for the gradient until the mistake is reported
    }
    [&]<std::size_t... K>(std::index_sequence<K...>) {
      (b.known.add(&id_of<lang::derivative<static_cast<int>(K), F, X...>>, height, gradient.data()[variables[K]]), ...);
    }(std::index_sequence_for<X...>{});
    return gradient.data()[variables[I]];
  }
};

}  // namespace cairn::graphs
