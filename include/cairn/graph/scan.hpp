// A scan as one operation of the graph, and its pullback as another operation.
#pragma once

#include "cairn/graph/loop_body.hpp"
#include "cairn/graph/rows.hpp"

#include <limits>

namespace cairn::graphs {

/// Figures of a whole scan, which follow from the plan of its body.
struct scan_figures {
  std::int64_t stored_bytes = 0;  ///< bytes that the forward pass stores for the backward pass
  std::int64_t forward_flops = 0, backward_flops = 0, recomputed_flops = 0;  ///< backward includes recomputed
  loop_counts forward, backward;
};
/// Functions of a scan that need the plan of its body. The graph around the scan calls them while it is lowered, so
/// they are declared here. Each is defined in the file scan.hpp of the folder that the comment before it names.
template <class Scan, class Target>
struct scan_hooks {
  // plan/
  static constexpr scan_figures figures();
  static constexpr bool backward_reads(int result);
  static constexpr bool gradient_fits_over_argument(
      int leaf);  ///< true if the leaf's gradient is written after the leaf was last read
  static constexpr bool gradient_can_be_left_out(
      int leaf);  ///< true if the leaf's gradient, if unused, is not computed
  template <bool Backward>
  static constexpr std::int64_t workspace_bytes(int threads);  ///< bytes of the workspace
  // check/: returns the mistake in the body, or sound
  static constexpr auto problem();
  // run/: runs the scan, or its pullback
  template <bool Backward>
  static void run(const void* constants, void* const* operands, int threads);
};

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
template <class Scan, class Target>
struct scan_operations {
  using facts = scan_facts<Scan, Target>;
  static constexpr const auto& g = facts::g;
  using hooks = scan_hooks<Scan, Target>;
  static constexpr scan_figures figures = hooks::figures();
  static constexpr bool stores_memory = figures.stored_bytes > 0;
  /// Index of the first of the scan's own arguments among the arguments of the pullback.
  static constexpr int first_argument = [] {
    int n = facts::cotangent_count + stores_memory;
    for (int r = 0; r < facts::results; ++r) n += hooks::backward_reads(r);
    return n;
  }();
  static constexpr int pullback_arguments = first_argument + facts::arguments + facts::sum_count + 1;

  template <class Tensor>
  static constexpr result_info describe_as() {
    using real = typename Target::real;
    result_info r = describe_result({Tensor::shape, Tensor::element}, bytes_of<Tensor::element.type, real>,
                                    the_shape<Tensor::shape>);
    if constexpr (Target::rounds && Tensor::element.type == dtype::real)
      r.to_bf16 = &rounding_to_bf16<real, the_shape<Tensor::shape>>;
    return r;
  }
  /// Bytes of a row of the stored memory: a cache line. If the number of cache lines exceeds the largest extent, a row
  /// has 1 MiB.
  static constexpr std::int64_t row_bytes = figures.stored_bytes / 64 <= std::numeric_limits<int>::max() ? 64 : 1 << 20;
  static constexpr shape stored_shape{(figures.stored_bytes + row_bytes - 1) / row_bytes, row_bytes};
  /// The results of the scan.
  static constexpr auto scan_results = [] {
    std::array<result_info, facts::results + 1> out{};
    [&]<std::size_t... R>(std::index_sequence<R...>) {
      ((out[R] = describe_as<lang::tensor_of<lang::pick<static_cast<int>(R), Scan>>>()), ...);
    }(std::make_index_sequence<static_cast<std::size_t>(g.result_count)>{});
    std::size_t r = static_cast<std::size_t>(g.result_count);
    for (int i = 0; i < g.leaf_count; ++i) {
      if (g.leaves[i].next_value != none) out[r++] = g.leaf_op(i).results[0];
    }
    out[r] = describe_result({stored_shape, {dtype::u8}}, 1, stored_shape);
    out[r].in_user_memory = Scan::policy::snapshots_in_user_memory;
    out[r].overwritten_by_reader = Scan::policy::overwrites_snapshots;
    return out;
  }();
  /// Returns true if the gradient of an argument of each(...) may overwrite the argument. This is possible because
  /// iterations are reversed from the last to the first, and an iteration is recomputed only before its gradients are
  /// computed.
  static constexpr bool may_be_overwritten(int leaf) {
    return leaf >= facts::carried && leaf < facts::carried + facts::each && hooks::gradient_fits_over_argument(leaf);
  }
  /// The results of the pullback: one gradient for each wanted argument. A gradient that is summed over the iterations
  /// may overwrite the sum so far.
  static constexpr auto pullback_results = [] {
    std::array<result_info, facts::gradient_count + 1> out{};
    std::size_t n = 0;
    [&]<class... A>(std::type_identity<std::tuple<A...>>) {
      int i = 0;
      ((facts::wanted.by_leaf[i++] ? void(out[n++] = describe_as<lang::tensor_of<A>>()) : void()), ...);
    }(std::type_identity<typename Scan::arguments>{});
    for (int i = facts::first_leaf; i < facts::arguments; ++i) {
      if (facts::wanted.by_leaf[i]) out[n++] = g.leaf_op(i).results[0].as_float();
    }
    n = 0;
    int so_far = first_argument + facts::arguments;
    for (int i = 0; i < facts::arguments; ++i) {
      if (!facts::wanted.by_leaf[i]) continue;
      out[n].always_in_memory = facts::summed.by_leaf[i] && !hooks::gradient_can_be_left_out(i);
      out[n++].overwrites = facts::summed.by_leaf[i] ? so_far++ : may_be_overwritten(i) ? first_argument + i : none;
    }
    return out;
  }();

  /// Returns the pullback's result that is the gradient of a leaf.
  static constexpr const result_info& gradient_of(int leaf) {
    return pullback_results[static_cast<std::size_t>(
        std::count(facts::wanted.by_leaf, facts::wanted.by_leaf + leaf, true))];
  }

  /// Returns true if argument number i of the scan is bf16: the user gave it this type, or parameters are stored as
  /// bf16. pullback_reads_bf16 is the same function for the pullback.
  static constexpr bool reads_bf16(int i) {
    return i < facts::arguments && g.leaf_op(i).results[0].element.type == dtype::bf16;
  }
  static constexpr auto pullback_bf16_arguments = [] {
    std::array<bool, pullback_arguments> out{};
    std::size_t n = 0, wanted = 0;
    for (int r = 0; r < g.result_count; ++r) {
      if (g.cotangents[r] != none) out[n++] = scan_results[static_cast<std::size_t>(r)].element.type == dtype::bf16;
    }
    for (int r = 0; r < facts::results; ++r) {
      if (hooks::backward_reads(r)) out[n++] = scan_results[static_cast<std::size_t>(r)].element.type == dtype::bf16;
    }
    n += stores_memory;
    for (int i = 0; i < facts::arguments; ++i) out[n++] = reads_bf16(i);
    for (int i = 0; i < facts::arguments; ++i) {
      const bool rounded = facts::wanted.by_leaf[i] && pullback_results[wanted++].element.type == dtype::bf16;
      if (facts::summed.by_leaf[i]) out[n++] = rounded;
    }
    return out;
  }();
  static constexpr bool pullback_reads_bf16(int i) { return pullback_bf16_arguments[static_cast<std::size_t>(i)]; }
  /// Describes what the scan and the pullback have in common.
  static constexpr operation common(std::string_view name, bool backward) {
    operation o;
    o.name = name;
    o.hash = cairn::detail::mix(cairn::detail::hash_of(name), static_cast<std::uint32_t>(hash_of_values(g)));
    o.flops = backward ? figures.backward_flops : figures.forward_flops;
    o.counts = backward ? figures.backward : figures.forward;
    o.bf16_handling = Target::rounds ? rounding::reads_bf16 : rounding::as_typed;
    o.reads_bf16 = backward ? &pullback_reads_bf16 : &reads_bf16;
    for (int v = 0; v < g.node_count; ++v) o.has_bf16_product |= g.op(v).has_bf16_product;
    return o;
  }
  /// The gradient rule of the pullback, and of each sum to which the pullback adds a term. A scan can be differentiated
  /// only once, so the rule notes a mistake.
  static constexpr void refuse(builder& b, int node, const bool*, int*) { b.wrong.gradient_of_scan = node; }
  static constexpr operation pullback = [] {
    operation o = common("scan_gradients", true);
    o.argument_count = pullback_arguments;
    o.result_count = facts::gradient_count;
    o.results = pullback_results.data();
    o.recomputed = figures.recomputed_flops;
    o.workspace_of_plan = &hooks::template workspace_bytes<true>;
    o.run = &hooks::template run<true>;
    o.vjp = &refuse;
    return o;
  }();
  template <element_type Element>
  static constexpr const operation& sum_of =
      sum_of_two<target<typename Target::numbers, 0, true>, lang::tensor<Element>>;
  /// By argument from carried(...), each(...) or the scan's further arguments: the operation that adds two gradients of
  /// the argument's type. The entry of an argument without a gradient is unused.
  static constexpr auto own_gradient_sums = []<class... A>(std::type_identity<std::tuple<A...>>) {
    return std::array<const operation*, sizeof...(A)>{
        &sum_of<element_type{kind_of(A::element.type) == kind::real ? A::element.type : dtype::real}>...};
  }(std::type_identity<typename Scan::arguments>{});
  /// By leaf: the operation that adds its gradient from this scan to its gradient from other operations.
  static constexpr auto gradient_sums = [] {
    std::array<operation, static_cast<std::size_t>(facts::arguments) + 1> out{};
    std::size_t n = 0;
    for (int i = 0; i < facts::arguments; ++i) {
      if (!facts::wanted.by_leaf[i]) continue;
      operation& o = out[static_cast<std::size_t>(i)];
      o = i < facts::first_leaf ? *own_gradient_sums[static_cast<std::size_t>(i)] : sum_of<element_type{}>;
      o.results = &pullback_results[n++];
      o.flops = o.results[0].count;
      o.vjp = &refuse;
    }
    return out;
  }();

  /// Returns true if the gradient of argument number `argument` is summed over the iterations, and no earlier argument
  /// with a summed gradient is the same value. The sum then begins with the gradient that the value has so far.
  static constexpr bool continues_sum(const builder& b, int node, int argument) {
    const auto value = [&](int i) { return b.argument(node, i); };
    bool first = facts::summed.by_leaf[argument];
    for (int i = 0; i < argument; ++i) first &= !facts::summed.by_leaf[i] || value(i) != value(argument);
    return first;
  }
  static constexpr void append_gradients(builder& b, int node, const bool* wanted, int* gradient) {
    const builder::frame before = b.open_rule(b.nodes[node].region);
    int operands[pullback_arguments];
    int n = 0;
    // `zero` is of type Target::real, so it is never converted.
    const int zero = b.append_leaf(&leaf_operation<lang::constant_leaf<0.0>, typename Target::real>);
    for (int r = 0; r < g.result_count; ++r) {
      const int known = gradient[node + r];
      if (g.cotangents[r] != none) operands[n++] = known != none ? known : zero;
    }
    for (int r = 0; r < facts::results; ++r) {
      if (hooks::backward_reads(r)) operands[n++] = node + r;
    }
    if (stores_memory) operands[n++] = node + facts::results;
    for (int i = 0; i < facts::arguments; ++i) operands[n++] = b.argument(node, i);
    for (int i = 0; i < facts::arguments; ++i) {
      if (!facts::summed.by_leaf[i]) continue;
      const int argument = b.argument(node, i), so_far = gradient[argument];
      operands[n++] = so_far != none && continues_sum(b, node, i) ? so_far : zero;
    }
    operands[n++] = zero;
    const int first_gradient = b.append(&pullback, operands);
    // One value may be several arguments. A sum for which continues_sum() is true contains the gradient so far and
    // replaces it. These sums are handled first. Every other gradient of the value is then added.
    for (const bool first : {true, false}) {
      int next = first_gradient;
      for (int i = 0; i < facts::arguments; ++i) {
        if (!facts::wanted.by_leaf[i]) continue;
        const int argument = b.argument(node, i), both[]{gradient[argument], next++};
        if (!wanted[argument] || continues_sum(b, node, i) != first) continue;
        gradient[argument] =
            first || both[0] == none ? both[1] : b.append(&gradient_sums[static_cast<std::size_t>(i)], both);
        if (Target::rounds) b.gradient_pairs.push({gradient[argument], argument});
      }
    }
    b.close(before);
  }
  /// Appends the gradients, in constant evaluation only, like all gradient rules.
  static constexpr void append(builder& b, int node, const bool* wanted, int* gradient) {
    if (std::is_constant_evaluated()) append_gradients(b, node, wanted, gradient);
  }

  static constexpr operation scan = [] {
    operation o = common("scan", false);
    o.argument_count = facts::arguments;
    o.result_count = facts::results + stores_memory;
    o.results = scan_results.data();
    if (Scan::cuts_rows) o.keeps_rows = (std::uint64_t{1} << facts::each) - 1;
    o.workspace_of_plan = &hooks::template workspace_bytes<false>;
    o.run = &hooks::template run<false>;
    if constexpr (Target::order > 0 && facts::cotangent_count > 0 && facts::gradient_count > 0) {
      o.vjp = &append;
      constexpr sizes appended = with_conversions<Target>(
          {.nodes = 2 * facts::gradient_count + 1, .arguments = pullback_arguments + 2 * facts::gradient_count});
      o.vjp_nodes = appended.nodes;
      o.vjp_arguments = appended.arguments;
    }
    return o;
  }();
};

/// Replaces the policy fit<Bytes> of a scan by a policy that stores at most Bytes bytes: store_all if it fits, and
/// otherwise revolve with as many snapshots as fit. A scan with any other policy stays as it is.
template <class Scan, class Target>
struct scan_that_fits {
  using type = Scan;
};
template <int T, fixed_string Name, std::int64_t Bytes, class F, class... Rest, class Target>
struct scan_that_fits<lang::scanned<T, Name, fit<Bytes>, F, Rest...>, Target> {
  template <class Policy>
  using with = lang::scanned<T, Name, Policy, F, Rest...>;
  static constexpr std::int64_t all = scan_hooks<with<store_all>, Target>::figures().stored_bytes;
  static constexpr std::int64_t one = scan_hooks<with<revolve<std::min(T, 2)>>, Target>::figures().stored_bytes;
  static constexpr int snapshots = one == 0 ? T : static_cast<int>(std::min<std::int64_t>(T, 1 + Bytes / one));
  using type = std::conditional_t<all <= Bytes, with<store_all>, with<revolve<snapshots>>>;
};

/// For a scan in which iterations are groups of rows: how the body treats rows, and what is wrong with that.
template <class Scan, class Target>
inline constexpr auto rows_of_body = row_judge(scan_body_of<Scan, Target>, Scan::each_count);
template <class Scan, class Target>
inline constexpr mixed_rows mixed_rows_of_body = find_mixed_rows(rows_of_body<Scan, Target>, Scan::iterations);
/// What is wrong with a tiled layer: with this one, or with one in the body of the scan. Null if nothing is wrong.
template <class Scan, class Target>
inline constexpr const mixed_rows* mixed_rows_in = [] {
  const mixed_rows* const inner = scan_body_of<Scan, Target>.wrong.rows;
  if constexpr (!Scan::cuts_rows) return inner;
  else return mixed_rows_of_body<Scan, Target>.groups > 0 ? &mixed_rows_of_body<Scan, Target> : inner;
}();

/// Lowers a scan, or another expression with the members of a scan, that has the arguments A.
template <class Scan, class... A>
struct scan_lowering {
  using type = Scan;
  static constexpr int height = type::traits.height;

  static constexpr void count(counter& c) {
    if (!c.add_if_new(&id_of<type>, height)) return;
    (lowering<A>::count(c), ...);
    sizes within = size_of_body<type>;
    within.prefix_names(sizeof(type::name.text));
    const int leaves = within.leaves + 1, results = type::result_count + within.updates + 1;
    c.total += {.nodes = leaves + results,
                .arguments = leaves,
                .leaves = leaves,
                .characters = within.characters + static_cast<int>(sizeof(type::name.text)),
                .updates = within.updates};
  }
  template <class Target, int Which>
  static constexpr int result(builder& b) {
    if (const int known = b.known.find(&id_of<lang::pick<Which, type>>, height); known != none) return known;
    using within = body_target<type, Target>;
    using fitting = typename scan_that_fits<type, within>::type;
    static_assert(lang::report_of<decltype(scan_hooks<fitting, within>::problem())>{}.shown);
    using operations = scan_operations<fitting, within>;
    constexpr const auto& g = operations::g;
    const top_level_expression here{b, std::same_as<typename type::owner, lang::top_scope>};
    constexpr const mixed_rows* fault = mixed_rows_in<fitting, within>;
    if (!cairn::detail::same_address(fault, nullptr)) b.wrong.rows = fault;
    b.most_groups = std::max(b.most_groups, g.most_groups);
    stack<int> arguments;
    (arguments.push(lowering<A>::template into<Target>(b)), ...);
    int leaves[operations::facts::arguments + 1] = {};
    for (int i = operations::facts::first_leaf; i < operations::facts::arguments; ++i) {
      const operation* const leaf = &g.leaf_op(i);
      // Random operations with prefixed names share one key, which is named after the scan. run/scan.hpp derives from
      // it a key for each iteration and operation. If iterations are groups of rows, each operation has its own key.
      const bool keyed = leaf->what == role::random && !g.is_absolute(i) && !type::cuts_rows;
      leaves[i] = b.leaf_of(leaf, keyed ? std::string_view(type::name) : g.name(g.leaves[i]), !g.is_absolute(i));
      arguments.push(b.leaves[leaves[i]].node);
    }
    const int made = b.append(&operations::scan, arguments.begin());
    int next = made + g.result_count;
    for (int i = operations::facts::first_leaf; i < operations::facts::arguments; ++i) {
      if (g.leaves[i].next_value != none) b.set_next_value(leaves[i], next++, g.leaves[i].join);
    }
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (b.known.add(&id_of<lang::pick<static_cast<int>(I), type>>, height, made + static_cast<int>(I)), ...);
    }(std::make_index_sequence<static_cast<std::size_t>(type::result_count)>{});
    return made + Which;
  }
  template <class Target>
  static constexpr int into(builder& b) {
    return result<Target, 0>(b);
  }
};

template <int T, fixed_string Name, class Policy, class F, class... C, class... E, class... Same>
struct lowering<lang::scanned<T, Name, Policy, F, lang::carried_values<C...>, lang::each_values<E...>, Same...>>
    : scan_lowering<lang::scanned<T, Name, Policy, F, lang::carried_values<C...>, lang::each_values<E...>, Same...>,
                    C..., E..., Same...> {};
template <int N, class F, class... X>
struct lowering<lang::tiled_call<N, F, X...>> : scan_lowering<lang::tiled_call<N, F, X...>, X...> {};

/// A layer on at most N groups of rows is lowered to the layer as it is, or to a tiled layer. The target has the number
/// of groups. A layer that mixes rows is a mistake even if the layer stays as it is, so that a smaller budget causes no
/// new mistake.
template <int N, class F, class... X>
struct lowering<lang::tiled_up_to<N, F, X...>> {
  using whole = lowering<lang::call<lang::stage_mark, F, X...>>;
  template <int Groups>
  using tiled = lang::tiled_call<Groups, F, X...>;

  static constexpr void count(counter& c) {
    whole::count(c);
    lowering<tiled<N>>::count(c);
  }
  template <class Target, int Which>
  static constexpr int result(builder& b) {
    constexpr int groups = std::min(N, Target::groups);
    constexpr const mixed_rows* fault = mixed_rows_in<tiled<N>, body_target<tiled<N>, Target>>;
    if (!cairn::detail::same_address(fault, nullptr)) b.wrong.rows = fault;
    b.most_groups = std::max(b.most_groups, N);
    if constexpr (groups > 1) return lowering<tiled<groups>>::template result<Target, Which>(b);
    else return whole::template result<Target, Which>(b);
  }
  template <class Target>
  static constexpr int into(builder& b) {
    return result<Target, 0>(b);
  }
};

}  // namespace cairn::graphs
