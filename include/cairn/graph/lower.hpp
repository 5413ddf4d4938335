// Lowers expression types to a graph. No other code recurs over expression types.
#pragma once

#include "cairn/graph/lower_leaf.hpp"
#include "cairn/lang/shared.hpp"
#include "cairn/op/elementwise.hpp"

namespace cairn::graphs {

template <int Level, int Index, class Tensor, class F>
struct lowering<lang::argument<Level, Index, Tensor, F>> {
  static constexpr void count(counter&) {}
  template <class Target>
  static constexpr int into(builder& b) {
    return b.bindings[b.first_binding + Index];
  }
};

/// The number that takes the place of an operation which averages over the microbatches of a batch.
template <class Tensor>
struct mean_leaf : Tensor {};
template <class Tensor>
struct lowering<mean_leaf<Tensor>> {
  static constexpr void describe(operation& o) {
    o.what = role::number;
    o.name = "mean over microbatches";
  }
};

template <class Opaque>
struct lowering<lang::renamed<Opaque>> : lowering<lang::revealed<Opaque>> {};

/// The operation that copies a value of this tensor type.
template <class Target, class Tensor>
inline constexpr const operation& copy_of = operation_of<lang::expand_op<Tensor::shape>, Target, Tensor>;

/// Returns true if an operation updates one of its arguments, which is a state.
constexpr bool updates_any(next_state (*becomes)(int), int arguments) {
  for (int i = 0; i < arguments; ++i) {
    const next_state next = becomes(i);
    if (next.result >= 0 || next.argument >= 0) return true;
  }
  return false;
}

template <class Op, class... A>
struct lowering<lang::expr<Op, A...>> {
  using type = lang::expr<Op, A...>;
  static constexpr int height = type::traits.height;
  static constexpr dtype common = lang::common_type_of<A...>;
  template <std::size_t I>
  using nth = std::tuple_element_t<I, std::tuple<A...>>;
  /// True if X is a constant that takes the type of the other arguments. adapted_tensor and adapted are the tensor type
  /// and the expression of an argument after this adaptation.
  template <class X>
  static constexpr bool adapts = lang::is_constant<X> && common != dtype::real;
  template <class X>
  using adapted_tensor = std::conditional_t<adapts<X>, lang::tensor<element_type{common}>, lang::tensor_of<X>>;
  template <class X>
  using adapted = std::conditional_t<adapts<X>, constant_as<X, common>, X>;
  static constexpr bool updates = updates_any(&Op::becomes, sizeof...(A));

  static constexpr void count(counter& c) {
    if (!c.add_if_new(&id_of<type>, height)) return;
    (lowering<A>::count(c), ...);
    constexpr int count = static_cast<int>(sizeof...(A));
    constexpr int results = static_cast<int>(type::results.size());
    c.total += {.nodes = results, .arguments = count};
    if (common == dtype::bf16 && !Op::elementwise) c.total += {.nodes = results, .arguments = results, .rounds = true};
    if (updates) c.total += {.nodes = count, .arguments = count, .updates = count};
    if (Op::averages_over_parts) c.total += {.leaves = 1, .updates = 1};  // the value becomes an output of its own
  }
  template <class Target>
  static constexpr int into(builder& b) {
    if (const int known = b.known.find(&id_of<type>, height); known != none) return known;
    constexpr int same_as = Op::stands_for(Target::training);
    int made = none;
    if constexpr (Op::averages_over_parts && Target::divides) {
      const int of = lowering<nth<0>>::template into<Target>(b);
      using tensor = lang::tensor_of<nth<0>>;
      const int leaf = b.nameless_leaf(&leaf_operation<mean_leaf<tensor>, typename Target::numbers, tensor>);
      b.leaves[leaf].mean_of = of;
      made = b.leaves[leaf].node;
    } else if constexpr (Op::averages_over_shards && Target::shards == 1 && !Target::divides) {
      made = lowering<nth<0>>::template into<Target>(b);
    } else if constexpr (same_as >= 0) {
      made = lowering<nth<same_as>>::template into<Target>(b);
    } else {
      const int arguments[]{lowering<adapted<A>>::template into<Target>(b)..., none};
      made = b.find_or_append(&operation_of<Op, Target, adapted_tensor<A>...>, arguments);
    }
    if constexpr (updates) {
      [&]<std::size_t... I>(std::index_sequence<I...>) {
        (update<Target, I>(b, made), ...);
      }(std::index_sequence_for<A...>{});
    }
    return b.known.add(&id_of<type>, height, made);
  }
  template <class Target, int Which>
  static constexpr int result(builder& b) {
    const int first = into<Target>(b);
    if (Which == 0 || Op::stands_for(Target::training) >= 0) return first;
    return b.known.find(&id_of<type>, height) + Which;
  }

 private:
  /// If argument number I is a state that this graph's owner updates, notes the state's next value. A program updates
  /// all states; a predictor updates caches only. If the next value is itself a state or a parameter, a copy of it is
  /// noted, because the state may be updated before it is read.
  template <class Target, std::size_t I>
  static constexpr void update(builder& b, int made) {
    constexpr bool owned = Target::training || lang::is_cache<nth<I>>;
    constexpr next_state next = owned ? Op::becomes(static_cast<int>(I)) : next_state{};
    if constexpr (next.result >= 0) {
      constexpr const tensor_type& becomes = type::results[static_cast<std::size_t>(next.result)];
      static_assert(becomes == nth<I>::shape && becomes.element == nth<I>::element,
                    "cairn: a state becomes a value of its own shape and type");
      b.set_next_value(lowering<nth<I>>::template leaf<Target>(b), made + next.result, next.join);
    } else if constexpr (next.argument >= 0) {
      using value = nth<static_cast<std::size_t>(next.argument)>;
      int v = lowering<value>::template into<Target>(b);
      if (is_persistent(b.nodes[b.root(v)].op->what)) v = b.append(&copy_of<Target, lang::tensor_of<value>>, &v);
      b.set_next_value(lowering<nth<I>>::template leaf<Target>(b), v, next.join);
    }
  }
};

template <int I, class E>
struct lowering<lang::pick<I, E>> {
  static constexpr void count(counter& c) { lowering<E>::count(c); }
  template <class Target>
  static constexpr int into(builder& b) {
    return lowering<E>::template result<Target, I>(b);
  }
};

template <fixed_string Name, class X>
struct lowering<lang::tagged<Name, X>> {
  using type = lang::tagged<Name, X>;
  static constexpr void count(counter& c) {
    if (!c.add_if_new(&id_of<type>, type::traits.height)) return;
    lowering<X>::count(c);
    c.total += {.tags = 1, .characters = sizeof(Name.text)};
  }
  template <class Target>
  static constexpr int into(builder& b) {
    if (const int known = b.known.find(&id_of<type>, type::traits.height); known != none) return known;
    const int value = lowering<X>::template into<Target>(b);
    if (b.in_rule) return value;
    b.tags[b.tag_count++] = {value, b.write_name(Name), static_cast<int>(std::string_view(Name).size())};
    return b.known.add(&id_of<type>, type::traits.height, value);
  }
};

template <class Leaf, class X>
struct lowering<lang::layer_result<Leaf, X>> {
  using type = lang::layer_result<Leaf, X>;
  static constexpr void count(counter& c) { lowering<X>::count(c); }
  template <class Target>
  static constexpr int into(builder& b) {
    const top_level_expression here{b, std::same_as<typename type::owner, lang::top_scope>};
    const int value = lowering<X>::template into<Target>(b);
    b.note_layer(lowering<Leaf>::template leaf<Target>(b), value);
    return value;
  }
};

// The marks of calls. sizes_of_call() adds what a mark needs to the sizes of the call. open() and close() are run when
// the scope of the call opens and before it closes.
template <class Mark>
struct marking {
  static constexpr region_kind what = region_kind::stage;
  static constexpr sizes sizes_of_call(const sizes& inner) { return inner; }
  static constexpr void open(builder&) {}
  static constexpr void close(builder&, int, int) {}
};
template <fixed_string Name>
struct marking<lang::block_mark<Name>> : marking<void> {
  static constexpr region_kind what = region_kind::block;
  static constexpr sizes sizes_of_call(sizes inner) {
    inner.prefix_names(sizeof(Name.text));
    return inner;
  }
  static constexpr void open(builder& b) { b.extend_path(Name); }
};
template <>
struct marking<lang::shared_mark> : marking<void> {
  static constexpr sizes sizes_of_call(sizes inner) {
    inner.prefix_names(8);
    return inner;
  }
  static constexpr void open(builder& b) { b.regions[b.current_region].shared_application = ++b.shared_count; }
};
template <fixed_string Name, class... Policy>
struct marking<lang::segment_mark<Name, Policy...>> {
  static constexpr region_kind what = region_kind::segment;
  static constexpr sizes sizes_of_call(sizes inner) {
    inner.segments += 1;
    inner.characters += inner.segments * static_cast<int>(sizeof(Name.text));
    inner.characters += (0 + ... + tag_characters<Policy>);  // a tag that is not found is written for the message
    if (sizeof...(Policy) > 0) inner.stored_values += inner.nodes;
    inner.depth += 1;
    return inner;
  }
  static constexpr void open(builder& b) {
    const int length = b.path.count();
    b.extend_path(Name);
    region& made = b.regions[b.current_region];
    made.name = b.write_name(b.full_path());
    made.name_length = b.path.count();
    made.may_be_useless = ((std::same_as<Policy, allow_useless> || std::same_as<Policy, save_everything>) || ...);
    b.path.shrink(length);
  }
  static constexpr void close(builder& b, int first_node, int first_tag) {
    closing_segment{b, first_node, first_tag}.template store_by<Policy...>();
  }
};
template <fixed_string Name, int Part, int Parts, class... Policy>
struct marking<lang::chain_mark<Name, Part, Parts, Policy...>>
    : marking<lang::segment_mark<Name, Policy..., allow_useless>> {
  static constexpr void close(builder& b, int first_node, int first_tag) {
    closing_segment{b, first_node, first_tag, Part, Parts}.template store_by<Policy...>();
  }
};

/// Lowers the body of a call in a scope of its own. The body has an expression for each result of the call.
template <class Mark, class Bodies>
struct body_lowering;
template <class Mark, class... E>
struct body_lowering<Mark, std::tuple<E...>> {
  static constexpr sizes counted() {
    counter c;
    (lowering<E>::count(c), ...);
    c.total.regions += 1;
    return marking<Mark>::sizes_of_call(c.total);
  }
  static constexpr sizes size = counted();
  template <class Target>
  static constexpr void into(builder& b, const int* arguments, int count, int* results) {
    const builder::frame before = b.open(marking<Mark>::what, arguments, count);
    marking<Mark>::open(b);
    const int first_node = b.node_count, first_tag = b.tag_count;
    int* result = results;
    ((*result++ = lowering<E>::template into<Target>(b)), ...);
    marking<Mark>::close(b, first_node, first_tag);
    b.close(before);
  }
};

/// Lowers the body of a repeat N times. Each iteration is applied to the results of the iteration before it.
template <int N, fixed_string Name, class... E>
struct body_lowering<lang::repeat_mark<N, Name>, std::tuple<E...>> {
  using once = body_lowering<lang::stage_mark, std::tuple<E...>>;
  static constexpr sizes size = [] {
    sizes iteration = once::size;
    iteration.regions += 1;
    iteration.prefix_names(sizeof(Name.text) + 8);
    return N * iteration;
  }();
  template <class Target>
  static constexpr void into(builder& b, const int* arguments, int count, int* results) {
    for (int i = 0; i < N; ++i) {
      const builder::frame before = b.open(region_kind::iteration, nullptr, 0);
      b.extend_path(Name);
      b.number_path('.', i);
      once::template into<Target>(b, i == 0 ? arguments : results, count, results);
      b.close(before);
    }
  }
};

template <class Mark, class F, class... A>
struct lowering<lang::call<Mark, F, A...>> {
  using type = lang::call<Mark, F, A...>;
  using body = body_lowering<Mark, typename type::bodies>;
  static constexpr int height = type::traits.height;

  static constexpr void count(counter& c) {
    if (!c.add_if_new(&id_of<type>, height)) return;
    (lowering<A>::count(c), ...);
    c.total += body::size;
  }
  /// Returns result number Which. All results of a call are lowered together.
  template <class Target, int Which>
  static constexpr int result(builder& b) {
    if (const int known = b.known.find(&id_of<lang::pick<Which, type>>, height); known != none) return known;
    const top_level_expression here{b, std::same_as<typename type::owner, lang::top_scope>};
    const int arguments[]{lowering<A>::template into<Target>(b)..., none};
    int results[type::results.size()] = {};
    body::template into<Target>(b, arguments, sizeof...(A), results);
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (b.known.add(&id_of<lang::pick<static_cast<int>(I), type>>, height, results[I]), ...);
    }(std::make_index_sequence<type::results.size()>{});
    return results[Which];
  }
  template <class Target>
  static constexpr int into(builder& b) {
    return result<Target, 0>(b);
  }
};

namespace detail {
/// One stage of a chain as a type. The tensor to which the stage is applied determines its body.
template <int Level, class Tensor, class L>
using stage_call = lang::call<lang::stage_mark, L, lang::stage_input<Level, Tensor>>;

/// Folds over the stages of a chain. The result of each stage is the argument of the next stage.
template <class Target, int Level, class Tensor>
struct stage_fold {
  builder* b;
  int value;
  template <class L>
  constexpr auto operator<<(std::type_identity<L>) const {
    using stage = stage_call<Level, Tensor, L>;
    int next = b->known.find(&id_of<L>, value);
    if (next == none) {
      body_lowering<lang::stage_mark, typename stage::bodies>::template into<Target>(*b, &value, 1, &next);
      b->known.add(&id_of<L>, value, next);
    }
    return stage_fold<Target, Level, lang::tensor_of<stage>>{b, next};
  }
};
template <int Level, class Tensor>
struct count_fold {
  counter* c;
  template <class L>
  constexpr auto operator<<(std::type_identity<L>) const {
    using stage = stage_call<Level, Tensor, L>;
    c->total += body_lowering<lang::stage_mark, typename stage::bodies>::size;
    return count_fold<Level, lang::tensor_of<stage>>{c};
  }
};
}  // namespace detail

template <lang::chain_traits Last, class X, class... L>
struct lowering<lang::chained<Last, X, lang::chain_of<L...>>> {
  using type = lang::chained<Last, X, lang::chain_of<L...>>;
  static constexpr void count(counter& c) {
    if (!c.add_if_new(&id_of<type>, Last.traits.height)) return;
    lowering<X>::count(c);
    static_cast<void>((detail::count_fold<X::traits.level, lang::tensor_of<X>>{&c} << ... << std::type_identity<L>{}));
  }
  template <class Target>
  static constexpr int into(builder& b) {
    const top_level_expression here{b, std::same_as<typename type::owner, lang::top_scope>};
    return (detail::stage_fold<Target, X::traits.level, lang::tensor_of<X>>{&b, lowering<X>::template into<Target>(b)}
            << ... << std::type_identity<L>{})
        .value;
  }
};

}  // namespace cairn::graphs
