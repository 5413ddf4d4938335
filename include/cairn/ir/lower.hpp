// Types to graph: the only recursion over expression types.
#pragma once

#include "cairn/expr/checkpoint.hpp"
#include "cairn/expr/state.hpp"
#include "cairn/ir/keep.hpp"

namespace cairn::ir {

template <class Leaf>
constexpr void count_leaf(counter& c, int characters) {
  if (c.first(&id_of<Leaf>, Leaf::facts.height)) c.total += {.nodes = 1, .leaves = 1, .characters = characters};
}

template <fixed_string Name, int... E>
struct lowering<input_leaf<Name, E...>> {
  static constexpr void count(counter& c) { count_leaf<input_leaf<Name, E...>>(c, sizeof(Name.text)); }
  static constexpr void describe(operation&) {}
  template <class Target>
  static constexpr int into(builder& b) {
    return b.leaves[b.leaf_of(&leaf_operation<input_leaf<Name, E...>, typename Target::real>, Name, false)].node;
  }
};

template <fixed_string Name, int Classes, int... E>
struct lowering<labels_leaf<Name, Classes, E...>> {
  static constexpr void count(counter& c) { count_leaf<labels_leaf<Name, Classes, E...>>(c, sizeof(Name.text)); }
  static constexpr void describe(operation& o) { o.classes = Classes; }
  template <class Target>
  static constexpr int into(builder& b) {
    return b.leaves[b.leaf_of(&leaf_operation<labels_leaf<Name, Classes, E...>, typename Target::real>, Name, false)]
        .node;
  }
};

template <fixed_string Name, bool Trainable, initial Init, int... E>
struct lowering<parameter_leaf<Name, Trainable, Init, E...>> {
  static constexpr void count(counter& c) {
    count_leaf<parameter_leaf<Name, Trainable, Init, E...>>(c, sizeof(Name.text));
  }
  static constexpr void describe(operation& o) {
    o.what = role::parameter;
    o.value = Init.bound;
    o.fill = Init.fill;
    o.trainable = Trainable;
  }
  template <class Target>
  static constexpr int leaf(builder& b) {
    return b.leaf_of(&leaf_operation<parameter_leaf<Name, Trainable, Init, E...>, typename Target::real>, Name, true);
  }
  template <class Target>
  static constexpr int into(builder& b) {
    return b.leaves[leaf<Target>(b)].node;
  }
};

template <fixed_string Name>
struct lowering<random_key_leaf<Name>> {
  static constexpr void count(counter& c) { count_leaf<random_key_leaf<Name>>(c, sizeof(Name.text)); }
  static constexpr void describe(operation& o) { o.what = role::random; }
  template <class Target>
  static constexpr int into(builder& b) {
    return b.leaves[b.leaf_of(&leaf_operation<random_key_leaf<Name>, typename Target::real>, Name, true)].node;
  }
};

template <double Value>
struct lowering<constant_leaf<Value>> {
  static constexpr void count(counter& c) { c.total += {.nodes = 1}; }
  static constexpr void describe(operation& o) {
    o.what = role::constant;
    o.name = "constant";
    o.value = Value;
  }
  template <class Target>
  static constexpr int into(builder& b) {
    const int made = b.append(&leaf_operation<constant_leaf<Value>, typename Target::real>, nullptr, 0);
    b.nodes[made].segment = b.nodes[made].visible = 0;
    return made;
  }
};

template <int Level, int Index, class Tensor, class F>
struct lowering<argument<Level, Index, Tensor, F>> {
  static constexpr void count(counter&) {}
  template <class Target>
  static constexpr int into(builder& b) {
    return b.bindings[b.first_binding + Index];
  }
};

template <class Op, class... A>
struct lowering<expr<Op, A...>> {
  static constexpr const char* type = &id_of<expr<Op, A...>>;
  static constexpr int height = expr<Op, A...>::facts.height;
  static constexpr void count(counter& c) {
    if (!c.first(type, height)) return;
    (lowering<A>::count(c), ...);
    c.total += {.nodes = 1};
  }
  template <class Target>
  static constexpr int into(builder& b) {
    if constexpr (Op::only_in_training && !Target::training) {
      return lowering<std::tuple_element_t<0, std::tuple<A...>>>::template into<Target>(b);
    } else {
      if (const int known = b.known.find(type, height); known != none) return known;
      const int arguments[]{lowering<A>::template into<Target>(b)..., none};
      return b.known.add(type, height, b.append(&operation_of<Op, Target, tensor_of<A>...>, arguments, sizeof...(A)));
    }
  }
};

template <fixed_string Name, class X>
struct lowering<tagged<Name, X>> {
  using type = tagged<Name, X>;
  static constexpr void count(counter& c) {
    if (!c.first(&id_of<type>, type::facts.height)) return;
    lowering<X>::count(c);
    c.total += {.tags = 1, .characters = sizeof(Name.text)};
  }
  template <class Target>
  static constexpr int into(builder& b) {
    if (const int known = b.known.find(&id_of<type>, type::facts.height); known != none) return known;
    const int value = lowering<X>::template into<Target>(b);
    if (b.tags == nullptr) return value;
    b.tags[b.tag_count++] = {value, b.keep(Name), static_cast<int>(std::string_view(Name).size())};
    return b.known.add(&id_of<type>, type::facts.height, value);
  }
};

// No nodes of their own: what is updated is its first argument, and what is in_training one of the two.
template <class Value, class State, class Next>
struct lowering<expr<updated_op, Value, State, Next>> {
  using type = expr<updated_op, Value, State, Next>;
  static constexpr void count(counter& c) {
    if (!c.first(&id_of<type>, type::facts.height)) return;
    lowering<Value>::count(c);
    lowering<State>::count(c);
    lowering<Next>::count(c);
    c.total += {.nodes = 2, .updates = 1};
  }
  template <class Target>
  static constexpr int into(builder& b) {
    if (const int known = b.known.find(&id_of<type>, type::facts.height); known != none) return known;
    const int value = lowering<Value>::template into<Target>(b);
    if constexpr (Target::training) b.update(lowering<State>::template leaf<Target>(b), computed<Target>(b));
    return b.known.add(&id_of<type>, type::facts.height, value);
  }

 private:
  /// What the state becomes; of a leaf a copy, for that may be a state which is updated before.
  template <class Target>
  static constexpr int computed(builder& b) {
    const int next = lowering<Next>::template into<Target>(b);
    int root = next;
    while (b.nodes[root].op->what == role::view) root = b.nodes[root].argument[0];
    if (b.nodes[root].op->what != role::parameter) return next;
    const int factors[]{next, lowering<constant_leaf<1.0>>::template into<Target>(b)};
    return b.append(&operation_of<mul_op, Target, tensor_of<Next>, tensor<kind::real>>, factors, 2);
  }
};

template <class Program, class Predictor>
struct lowering<expr<in_training_op, Program, Predictor>> {
  using type = expr<in_training_op, Program, Predictor>;
  static constexpr void count(counter& c) {
    if (!c.first(&id_of<type>, type::facts.height)) return;
    lowering<Program>::count(c);
    lowering<Predictor>::count(c);
  }
  template <class Target>
  static constexpr int into(builder& b) {
    return lowering<std::conditional_t<Target::training, Program, Predictor>>::template into<Target>(b);
  }
};

template <class Hiding>
struct lowering<brief<Hiding>> : lowering<cairn::detail::hidden_in<Hiding>> {};

// What a mark adds to the names inside a call, and what it does when the scope opens and when a segment closes.
template <class Mark>
struct marking {
  static constexpr sizes around(const sizes& inner) { return inner; }
  static constexpr void open(builder&) {}
};
template <fixed_string Name>
struct marking<block_mark<Name>> {
  static constexpr sizes around(sizes inner) {
    inner.characters += (inner.leaves + inner.segments) * static_cast<int>(sizeof(Name.text));
    return inner;
  }
  static constexpr void open(builder& b) { b.extend_path(Name); }
};
template <fixed_string Name, class... Policy>
struct marking<segment_mark<Name, Policy...>> {
  static constexpr sizes around(sizes inner) {
    inner.segments += 1;
    inner.characters += inner.segments * static_cast<int>(sizeof(Name.text));
    inner.characters += (0 + ... + tag_characters<Policy>);  // to name the one that is not found
    inner.depth += 1;
    return inner;
  }
  static constexpr void open(builder& b) {
    b.open_segment(Name, ((std::same_as<Policy, allow_useless> || std::same_as<Policy, save_everything>) || ...));
  }
  static constexpr void close(builder& b, int first_node, int first_tag) {
    closing_segment{b, first_node, first_tag}.template keep_by<Policy...>();
  }
};
template <fixed_string Name, int Part, int Parts, class... Policy>
struct marking<chain_mark<Name, Part, Parts, Policy...>> : marking<segment_mark<Name, Policy..., allow_useless>> {
  static constexpr void close(builder& b, int first_node, int first_tag) {
    closing_segment{b, first_node, first_tag, Part, Parts}.template keep_by<Policy...>();
  }
};

/// The values of a call, one for each of its results, appended in a scope of its own.
template <class Mark, class Results>
struct body_lowering;
template <class Mark, class... E>
struct body_lowering<Mark, std::tuple<E...>> {
  static constexpr sizes size = [] {
    counter c;
    (lowering<E>::count(c), ...);
    return marking<Mark>::around(c.total);
  }();
  template <class Target>
  static constexpr void into(builder& b, const int* arguments, int count, int* results) {
    const builder::frame before = b.open(arguments, count);
    marking<Mark>::open(b);
    const int first_node = b.node_count, first_tag = b.tag_count;
    int* result = results;
    ((*result++ = lowering<E>::template into<Target>(b)), ...);
    if (b.depth > before.depth) {
      if constexpr (Mark::segment) marking<Mark>::close(b, first_node, first_tag);
      for (int i = 0; i < static_cast<int>(sizeof...(E)); ++i) {
        // What a result views is kept with it.
        for (int v = results[i]; b.nodes[v].visible == b.depth; v = b.nodes[v].argument[0]) {
          b.nodes[v].visible = before.depth;
          if (b.nodes[v].op->what != role::view) break;
        }
      }
    }
    b.close(before);
  }
};

template <class Mark, class F, class... A>
struct lowering<call<Mark, F, A...>> {
  using type = call<Mark, F, A...>;
  using body = body_lowering<Mark, typename type::results>;
  static constexpr int height = type::facts.height;

  static constexpr void count(counter& c) {
    if (!c.first(&id_of<type>, height)) return;
    (lowering<A>::count(c), ...);
    c.total += body::size;
  }
  /// Result number Which; the results of one call are made together.
  template <class Target, int Which>
  static constexpr int result(builder& b) {
    if (const int known = b.known.find(&id_of<pick<Which, type>>, height); known != none) return known;
    const int arguments[]{lowering<A>::template into<Target>(b)..., none};
    int results[std::tuple_size_v<typename type::results>] = {};
    body::template into<Target>(b, arguments, sizeof...(A), results);
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (b.known.add(&id_of<pick<static_cast<int>(I), type>>, height, results[I]), ...);
    }(std::make_index_sequence<std::tuple_size_v<typename type::results>>{});
    return results[Which];
  }
  template <class Target>
  static constexpr int into(builder& b) {
    return result<Target, 0>(b);
  }
};

template <int I, class Call>
struct lowering<pick<I, Call>> {
  static constexpr void count(counter& c) { lowering<Call>::count(c); }
  template <class Target>
  static constexpr int into(builder& b) {
    return lowering<Call>::template result<Target, I>(b);
  }
};

namespace detail {
/// One stage of a chain as a type: what it is applied to decides its body.
template <int Level, class Tensor, class L>
using stage_call = call<stage_mark, L, cairn::detail::stage_input<Level, Tensor>>;

/// Folds over the stages of a chain, carrying the shape from one to the next.
template <class Target, int Level, class Tensor>
struct stage_fold {
  builder* b;
  int value;
  template <class L>
  constexpr auto operator<<(std::type_identity<L>) const {
    using stage = stage_call<Level, Tensor, L>;
    int next = b->known.find(&id_of<L>, value);
    if (next == none) {
      body_lowering<stage_mark, typename stage::results>::template into<Target>(*b, &value, 1, &next);
      b->known.add(&id_of<L>, value, next);
    }
    return stage_fold<Target, Level, tensor_of<stage>>{b, next};
  }
};
template <int Level, class Tensor>
struct count_fold {
  counter* c;
  template <class L>
  constexpr auto operator<<(std::type_identity<L>) const {
    using stage = stage_call<Level, Tensor, L>;
    c->total += body_lowering<stage_mark, typename stage::results>::size;
    return count_fold<Level, tensor_of<stage>>{c};
  }
};
}  // namespace detail

template <chain_facts Facts, class X, class... L>
struct lowering<links<Facts, X, L...>> {
  static constexpr const char* type = &id_of<links<Facts, X, L...>>;
  static constexpr void count(counter& c) {
    if (!c.first(type, Facts.rest.height)) return;
    lowering<X>::count(c);
    static_cast<void>((detail::count_fold<X::facts.level, tensor_of<X>>{&c} << ... << std::type_identity<L>{}));
  }
  template <class Target>
  static constexpr int into(builder& b) {
    return (detail::stage_fold<Target, X::facts.level, tensor_of<X>>{&b, lowering<X>::template into<Target>(b)}
            << ... << std::type_identity<L>{})
        .value;
  }
};

template <int N, fixed_string Name, class L, class X>
struct lowering<repeated<N, Name, L, X>> {
  using type = repeated<N, Name, L, X>;
  using stage = detail::stage_call<X::facts.level, tensor_of<X>, L>;
  using body = body_lowering<stage_mark, typename stage::results>;
  static constexpr void count(counter& c) {
    if (!c.first(&id_of<type>, type::facts.height)) return;
    lowering<X>::count(c);
    sizes iteration = body::size;
    iteration.characters += (iteration.leaves + iteration.segments) * static_cast<int>(sizeof(Name.text) + 8);
    c.total += N * iteration;
  }
  template <class Target>
  static constexpr int into(builder& b) {
    if (const int known = b.known.find(&id_of<type>, type::facts.height); known != none) return known;
    int value = lowering<X>::template into<Target>(b);
    for (int i = 0; i < N; ++i) {
      const builder::frame before = b.open(nullptr, 0);
      b.extend_path(Name);
      b.path.push('.');
      char digits[8] = {};
      int length = 0;
      for (int rest = i; length == 0 || rest > 0; rest /= 10) digits[length++] = static_cast<char>('0' + rest % 10);
      while (length > 0) b.path.push(digits[--length]);
      const int input = value;
      body::template into<Target>(b, &input, 1, &value);
      b.close(before);
    }
    return b.known.add(&id_of<type>, type::facts.height, value);
  }
};

}  // namespace cairn::ir
