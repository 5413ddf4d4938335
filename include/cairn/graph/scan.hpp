// A scan as one operation of the graph, and its pullback as another operation.
#pragma once

#include "cairn/graph/loop_body.hpp"

#include <limits>

namespace cairn {

/// Figures of a whole scan, which follow from the plan of its body.
struct loop_figures {
  std::int64_t kept_bytes = 0;  ///< bytes that the forward pass stores for the backward pass
  std::int64_t forward_flops = 0, backward_flops = 0, recomputed_flops = 0;  ///< backward includes recomputed
  loop_counts forward, backward;
};
/// Functions of a scan that need the plan of its body. The graph around the scan calls them while it is lowered, so
/// they are declared here. Each is defined in the file scan.hpp of the folder that the comment before it names.
template <class Loop, class Target>
struct loop_hooks {
  // plan/
  static constexpr loop_figures figures();
  static constexpr bool backward_reads(int result);
  static constexpr bool backward_reads_argument(int leaf);
  static constexpr bool can_be_left_out(int leaf);  ///< true if the leaf's gradient, if unused, is not computed
  template <bool Backward>
  static constexpr std::int64_t scratch(int threads);  ///< bytes of the workspace
  // check/: returns the mistake in the body, or sound
  static constexpr auto problem();
  // run/: runs the scan, or its pullback
  template <bool Backward>
  static void run(const void* constants, void* const* operands, int threads);
};

namespace graph {

/// The two operations of a scan: the scan itself and its pullback.
///
/// The results of the scan are its results for the user, the next values of states, and the memory that it stores for
/// the pullback, if there is any. The arguments of the pullback are, in this order:
/// - the cotangents of all results that are real numbers,
/// - the results that the pullback reads,
/// - the memory that the scan stored, if there is any,
/// - the scan's own arguments,
/// - for each gradient that is summed over the iterations, the sum so far, to which the pullback adds. The terms of the
///   sum therefore have the same order as without a scan.
/// - a number that replaces missing cotangents and sums.
template <class Loop, class Target>
struct loop_operations {
  using of = loop_of<Loop, Target>;
  static constexpr const auto& g = of::g;
  using hooks = loop_hooks<Loop, Target>;
  static constexpr loop_figures figures = hooks::figures();
  static constexpr bool keeps = figures.kept_bytes > 0;
  /// Index of the first of the scan's own arguments among the arguments of the pullback.
  static constexpr int first_argument = [] {
    int n = of::cotangent_count + keeps;
    for (int r = 0; r < of::results; ++r) n += hooks::backward_reads(r);
    return n;
  }();
  static constexpr int pulled_arguments = first_argument + of::arguments + of::sum_count + 1;

  template <class Tensor>
  static constexpr result described_as() {
    using real = typename Target::real;
    result r =
        described({Tensor::shape, Tensor::element}, bytes_of<Tensor::element.type, real>, the_shape<Tensor::shape>);
    if constexpr (Target::rounds && Tensor::element.type == dtype::real)
      r.round = &rounding_to_bf16<real, the_shape<Tensor::shape>>;
    return r;
  }
  /// Bytes of a row of the stored memory: a cache line. If the number of cache lines exceeds the largest extent, a row
  /// has 1 MiB.
  static constexpr std::int64_t row = figures.kept_bytes / 64 <= std::numeric_limits<int>::max() ? 64 : 1 << 20;
  static constexpr shape kept_shape{(figures.kept_bytes + row - 1) / row, row};
  /// The results of the scan.
  static constexpr auto made = [] {
    std::array<result, of::results + 1> out{};
    [&]<std::size_t... R>(std::index_sequence<R...>) {
      ((out[R] = described_as<tensor_of<pick<static_cast<int>(R), Loop>>>()), ...);
    }(std::make_index_sequence<static_cast<std::size_t>(g.result_count)>{});
    std::size_t r = static_cast<std::size_t>(g.result_count);
    for (int i = 0; i < g.leaf_count; ++i) {
      if (g.leaves[i].after != none) out[r++] = *g.leaf_op(i).made;
    }
    out[r] = described({kept_shape, {dtype::u8}}, 1, kept_shape);
    out[r].elsewhere = Loop::policy::lies_elsewhere;
    out[r].rewritten = Loop::policy::rewrites_snapshots;
    return out;
  }();
  /// Returns true if the gradient of an argument of each(...) may overwrite the argument. This is possible because
  /// iterations are reversed from the last to the first, and an iteration is recomputed only before its gradients are
  /// computed.
  static constexpr bool is_used_up(int leaf) {
    return leaf >= of::carried && leaf < of::carried + of::each && !hooks::backward_reads_argument(leaf);
  }
  /// The results of the pullback: one gradient for each wanted argument. A gradient that is summed over the iterations
  /// may overwrite the sum so far.
  static constexpr auto gradients_made = [] {
    std::array<result, of::gradient_count + 1> out{};
    std::size_t n = 0;
    [&]<class... A>(std::type_identity<std::tuple<A...>>) {
      int i = 0;
      ((of::wanted.of[i++] ? void(out[n++] = described_as<tensor_of<A>>()) : void()), ...);
    }(std::type_identity<typename Loop::arguments>{});
    for (int i = of::own; i < of::arguments; ++i) {
      if (of::wanted.of[i]) out[n++] = g.leaf_op(i).made->in_floats();
    }
    n = 0;
    int so_far = first_argument + of::arguments;
    for (int i = 0; i < of::arguments; ++i) {
      if (!of::wanted.of[i]) continue;
      out[n].always = of::added_up.of[i] && !hooks::can_be_left_out(i);
      out[n++].overwrites = of::added_up.of[i] ? so_far++ : is_used_up(i) ? first_argument + i : none;
    }
    return out;
  }();

  /// Returns the pullback's result that is the gradient of a leaf.
  static constexpr const result& gradient_of(int leaf) {
    return gradients_made[static_cast<std::size_t>(std::count(of::wanted.of, of::wanted.of + leaf, true))];
  }

  /// Returns true if argument number i of the scan is bf16: the user gave it this type, or parameters are stored as
  /// bf16. pulls_bf16 is the same function for the pullback.
  static constexpr bool takes_bf16(int i) {
    return i < of::arguments && g.leaf_op(i).made->element.type == dtype::bf16;
  }
  static constexpr auto pulled_as_bf16 = [] {
    std::array<bool, pulled_arguments> out{};
    std::size_t n = 0, wanted = 0;
    for (int r = 0; r < g.result_count; ++r) {
      if (g.cotangents[r] != none) out[n++] = made[static_cast<std::size_t>(r)].element.type == dtype::bf16;
    }
    for (int r = 0; r < of::results; ++r) {
      if (hooks::backward_reads(r)) out[n++] = made[static_cast<std::size_t>(r)].element.type == dtype::bf16;
    }
    n += keeps;
    for (int i = 0; i < of::arguments; ++i) out[n++] = takes_bf16(i);
    for (int i = 0; i < of::arguments; ++i) {
      const bool rounded = of::wanted.of[i] && gradients_made[wanted++].element.type == dtype::bf16;
      if (of::added_up.of[i]) out[n++] = rounded;
    }
    return out;
  }();
  static constexpr bool pulls_bf16(int i) { return pulled_as_bf16[static_cast<std::size_t>(i)]; }
  /// Describes what the scan and the pullback have in common.
  static constexpr operation common(std::string_view name, bool backward) {
    operation o;
    o.name = name;
    o.hash = hash_of(name);
    o.flops = backward ? figures.backward_flops : figures.forward_flops;
    o.counts = backward ? figures.backward : figures.forward;
    o.rounded = Target::rounds ? rounding::takes : rounding::typed;
    o.takes_bf16 = backward ? &pulls_bf16 : &takes_bf16;
    for (int v = 0; v < g.node_count; ++v) o.multiplies_halves |= g.op(v).multiplies_halves;
    return o;
  }
  /// The gradient rule of the pullback. A scan can be differentiated only once, so the rule notes a mistake.
  static constexpr void refuse(builder& b, int node, const bool*, int*) { b.wrong.gradient_of_loop = node; }
  static constexpr operation pullback = [] {
    operation o = common("scan_gradients", true);
    o.arguments = pulled_arguments;
    o.results = of::gradient_count;
    o.made = gradients_made.data();
    o.recomputed = figures.recomputed_flops;
    o.scratch_of_plan = &hooks::template scratch<true>;
    o.run = &hooks::template run<true>;
    o.vjp = &refuse;
    return o;
  }();
  template <element_type Element>
  static constexpr const operation& sum_of = sum_of_two<target<typename Target::numbers, 0, true>, tensor<Element>>;
  /// By argument from carried(...), each(...) or the scan's further arguments: the operation that adds two gradients of
  /// the argument's type. The entry of an argument without a gradient is unused.
  static constexpr auto sums_of_own = []<class... A>(std::type_identity<std::tuple<A...>>) {
    return std::array<const operation*, sizeof...(A)>{
        &sum_of<element_type{kind_of(A::element.type) == kind::real ? A::element.type : dtype::real}>...};
  }(std::type_identity<typename Loop::arguments>{});
  /// By leaf: the operation that adds its gradient from this scan to its gradient from other operations.
  static constexpr auto sums = [] {
    std::array<operation, static_cast<std::size_t>(of::arguments) + 1> out{};
    std::size_t n = 0;
    for (int i = 0; i < of::arguments; ++i) {
      if (!of::wanted.of[i]) continue;
      operation& o = out[static_cast<std::size_t>(i)];
      o = i < of::own ? *sums_of_own[static_cast<std::size_t>(i)] : sum_of<element_type{}>;
      o.made = &gradients_made[n++];
      o.flops = o.made->count;
    }
    return out;
  }();

  /// Returns true if the gradient of argument number `argument` is summed over the iterations, and no earlier argument
  /// with a summed gradient is the same value. The sum then begins with the gradient that the value has so far.
  static constexpr bool goes_on(const builder& b, int node, int argument) {
    const auto value = [&](int i) { return b.differentiated(b.argument(node, i)); };
    bool first = of::added_up.of[argument];
    for (int i = 0; i < argument; ++i) first &= !of::added_up.of[i] || value(i) != value(argument);
    return first;
  }
  static constexpr void append_gradients(builder& b, int node, const bool* wanted, int* gradient) {
    const builder::frame before = b.open_rule(b.nodes[node].region);
    tag* const tags = std::exchange(b.tags, nullptr);
    int given[pulled_arguments];
    int n = 0;
    // `nothing` is of type Target::real, so the builder never converts it.
    const int nothing = b.append_leaf(&leaf_operation<constant_leaf<0.0>, typename Target::real>);
    for (int r = 0; r < g.result_count; ++r) {
      const int known = gradient[node + r];
      if (g.cotangents[r] != none) given[n++] = known != 0 ? known : nothing;
    }
    for (int r = 0; r < of::results; ++r) {
      if (hooks::backward_reads(r)) given[n++] = node + r;
    }
    if (keeps) given[n++] = node + of::results;
    for (int i = 0; i < of::arguments; ++i) given[n++] = b.argument(node, i);
    for (int i = 0; i < of::arguments; ++i) {
      if (!of::added_up.of[i]) continue;
      const int argument = b.differentiated(b.argument(node, i)), so_far = gradient[argument];
      given[n++] = so_far != 0 && goes_on(b, node, i) ? so_far : nothing;
    }
    given[n++] = nothing;
    const int pulled = b.append(&pullback, given);
    // One value may be several arguments. A sum for which goes_on() is true contains the gradient so far and replaces
    // it. These sums are handled first. Every other gradient of the value is then added.
    for (const bool first : {true, false}) {
      int next = pulled;
      for (int i = 0; i < of::arguments; ++i) {
        if (!of::wanted.of[i]) continue;
        const int argument = b.differentiated(b.argument(node, i)), both[]{gradient[argument], next++};
        if (!wanted[argument] || goes_on(b, node, i) != first) continue;
        gradient[argument] = first || both[0] == 0 ? both[1] : b.append(&sums[static_cast<std::size_t>(i)], both);
      }
    }
    b.tags = tags;
    b.close(before);
  }
  /// Appends the gradients, in constant evaluation only, like all gradient rules.
  static constexpr void append(builder& b, int node, const bool* wanted, int* gradient) {
    if (std::is_constant_evaluated()) append_gradients(b, node, wanted, gradient);
  }

  static constexpr operation loop = [] {
    operation o = common("scan", false);
    o.arguments = of::arguments;
    o.results = of::results + keeps;
    o.made = made.data();
    o.scratch_of_plan = &hooks::template scratch<false>;
    o.run = &hooks::template run<false>;
    if constexpr (Target::order > 0 && of::cotangent_count > 0 && of::gradient_count > 0) {
      o.vjp = &append;
      constexpr sizes appended = with_conversions<Target>(
          {.nodes = 2 * of::gradient_count + 1, .arguments = pulled_arguments + 2 * of::gradient_count});
      o.vjp_nodes = appended.nodes;
      o.vjp_arguments = appended.arguments;
    }
    return o;
  }();
};

/// Replaces the policy fit<Bytes> of a scan by a policy that stores at most Bytes bytes: store_all if it fits, and
/// otherwise revolve with as many snapshots as fit. A scan with any other policy stays as it is.
template <class Loop, class Target>
struct loop_that_fits {
  using type = Loop;
};
template <int T, fixed_string Name, std::int64_t Bytes, class F, class... Rest, class Target>
struct loop_that_fits<scanned<T, Name, fit<Bytes>, F, Rest...>, Target> {
  template <class Policy>
  using with = scanned<T, Name, Policy, F, Rest...>;
  static constexpr std::int64_t all = loop_hooks<with<store_all>, Target>::figures().kept_bytes;
  static constexpr std::int64_t one = loop_hooks<with<revolve<std::min(T, 2)>>, Target>::figures().kept_bytes;
  static constexpr int snapshots = one == 0 ? T : static_cast<int>(std::min<std::int64_t>(T, 1 + Bytes / one));
  using type = std::conditional_t<all <= Bytes, with<store_all>, with<revolve<snapshots>>>;
};

template <int T, fixed_string Name, class Policy, class F, class... C, class... E, class... Same>
struct lowering<scanned<T, Name, Policy, F, carried_values<C...>, step_values<E...>, Same...>> {
  using type = scanned<T, Name, Policy, F, carried_values<C...>, step_values<E...>, Same...>;
  static constexpr int height = type::traits.height;

  static constexpr void count(counter& c) {
    if (!c.first(&id_of<type>, height)) return;
    (lowering<C>::count(c), ...);
    (lowering<E>::count(c), ...);
    (lowering<Same>::count(c), ...);
    sizes within = size_of_body<type>;
    within.prefix_names(sizeof(Name.text));
    const int leaves = within.leaves + 1, results = type::result_count + within.updates + 1;
    c.total += {.nodes = leaves + results,
                .arguments = leaves,
                .leaves = leaves,
                .characters = within.characters + static_cast<int>(sizeof(Name.text)),
                .updates = within.updates};
  }
  template <class Target, int Which>
  static constexpr int result(builder& b) {
    if (const int known = b.known.find(&id_of<pick<Which, type>>, height); known != none) return known;
    using within = body_target<type, Target>;
    using loop = typename loop_that_fits<type, within>::type;
    static_assert(report_of<decltype(loop_hooks<loop, within>::problem())>{}.shown);
    using operations = loop_operations<loop, within>;
    constexpr const auto& g = operations::g;
    const read_outside here{b, std::same_as<typename type::owner, top_scope>};
    stack<int> arguments;
    (arguments.push(lowering<C>::template into<Target>(b)), ...);
    (arguments.push(lowering<E>::template into<Target>(b)), ...);
    (arguments.push(lowering<Same>::template into<Target>(b)), ...);
    int leaves[operations::of::arguments + 1] = {};
    for (int i = operations::of::own; i < operations::of::arguments; ++i) {
      const operation* const leaf = &g.leaf_op(i);
      // Random operations with prefixed names share one key, which is named after the scan. run/scan.hpp derives from
      // it a key for each iteration and operation.
      const bool keyed = leaf->what == role::random && !g.is_absolute(i);
      leaves[i] = b.leaf_of(leaf, keyed ? std::string_view(Name) : g.name(g.leaves[i]), !g.is_absolute(i));
      arguments.push(b.leaves[leaves[i]].node);
    }
    const int made = b.append(&operations::loop, arguments.begin());
    int next = made + g.result_count;
    for (int i = operations::of::own; i < operations::of::arguments; ++i) {
      if (g.leaves[i].after != none) b.update(leaves[i], next++);
    }
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (b.known.add(&id_of<pick<static_cast<int>(I), type>>, height, made + static_cast<int>(I)), ...);
    }(std::make_index_sequence<static_cast<std::size_t>(type::result_count)>{});
    return made + Which;
  }
  template <class Target>
  static constexpr int into(builder& b) {
    return result<Target, 0>(b);
  }
};

}  // namespace graph
}  // namespace cairn
