// Types to graph: the only recursion over expression types.
#pragma once

#include "cairn/expr/checkpoint.hpp"
#include "cairn/ir/operation.hpp"

namespace cairn::ir {

template <fixed_string Name, int... E>
struct lowering<input_leaf<Name, E...>> {
  static constexpr sizes size{.nodes = 1, .leaves = 1, .characters = sizeof(Name.text)};
  static constexpr void describe(operation&) {}
  template <class Target>
  static constexpr int into(builder& b) {
    return b.leaf_of(&leaf_operation<input_leaf<Name, E...>, typename Target::real>, Name, false);
  }
};

template <fixed_string Name, int Classes, int... E>
struct lowering<labels_leaf<Name, Classes, E...>> {
  static constexpr sizes size{.nodes = 1, .leaves = 1, .characters = sizeof(Name.text)};
  static constexpr void describe(operation& o) { o.classes = Classes; }
  template <class Target>
  static constexpr int into(builder& b) {
    return b.leaf_of(&leaf_operation<labels_leaf<Name, Classes, E...>, typename Target::real>, Name, false);
  }
};

template <fixed_string Name, bool Trainable, initial Init, int... E>
struct lowering<parameter_leaf<Name, Trainable, Init, E...>> {
  static constexpr sizes size{.nodes = 1, .leaves = 1, .characters = sizeof(Name.text)};
  static constexpr void describe(operation& o) {
    o.what = role::parameter;
    o.value = Init.bound;
    o.fill = Init.fill;
    o.trainable = Trainable;
  }
  template <class Target>
  static constexpr int into(builder& b) {
    return b.leaf_of(&leaf_operation<parameter_leaf<Name, Trainable, Init, E...>, typename Target::real>, Name, true);
  }
};

template <double Value>
struct lowering<constant_leaf<Value>> {
  static constexpr sizes size{.nodes = 1};
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
  static constexpr sizes size{};
  template <class Target>
  static constexpr int into(builder& b) {
    return b.bindings[b.now.bindings + Index];
  }
};

template <int Level, class Tensor>
struct lowering<detail::stage_input<Level, Tensor>> {
  static constexpr sizes size{};
};

template <class Op, class... A>
struct lowering<expr<Op, A...>> {
  static constexpr sizes size = (sizes{.nodes = 1} + ... + lowering<A>::size);
  template <class Target>
  static constexpr int into(builder& b) {
    constexpr const char* type = &id_of<expr<Op, A...>>;
    if (const int known = b.seen(type); known != none) return known;
    const int arguments[]{lower<Target, A>(b)..., none};
    return b.remember(type, b.append(&operation_of<Op, Target, tensor_of<A>...>, arguments, sizeof...(A)));
  }
};

template <class Hiding>
struct lowering<brief<Hiding>> : lowering<cairn::detail::hidden_in<Hiding>> {};

// What a mark adds to the names inside a call, and what it does when the scope opens.
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
template <fixed_string Name>
struct marking<segment_mark<Name>> {
  static constexpr sizes around(sizes inner) {
    inner.segments += 1;
    inner.characters += inner.segments * static_cast<int>(sizeof(Name.text));
    inner.depth += 1;
    return inner;
  }
  static constexpr void open(builder& b) {
    if (!b.plain) b.open_segment(Name);
  }
};

/// The values of a call, one for each of its results, appended in a scope of its own.
template <class Mark, class Results>
struct body_lowering;
template <class Mark, class... E>
struct body_lowering<Mark, std::tuple<E...>> {
  static constexpr sizes size = marking<Mark>::around((sizes{} + ... + lowering<E>::size));
  template <class Target>
  static constexpr void into(builder& b, const int* arguments, int count, int* results) {
    const builder::frame before = b.open(arguments, count);
    marking<Mark>::open(b);
    int* result = results;
    ((*result++ = lower<Target, E>(b)), ...);
    if (b.now.depth > before.depth) {
      for (int i = 0; i < static_cast<int>(sizeof...(E)); ++i) {
        // What a result views is kept with it.
        for (int v = results[i]; b.nodes[v].visible == b.now.depth; v = b.nodes[v].argument[0]) {
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
  static constexpr int result_count = std::tuple_size_v<typename type::results>;
  static constexpr sizes size = (body::size + ... + lowering<A>::size);

  /// Result number `which`; the results of one call are remembered together.
  template <class Target>
  static constexpr int result(builder& b, int which) {
    constexpr const char* id = &id_of<type>;
    if (const int known = b.seen(id, -2 - which); known != none) return known;
    const int arguments[]{lower<Target, A>(b)..., none};
    int results[result_count] = {};
    body::template into<Target>(b, arguments, sizeof...(A), results);
    for (int i = 0; i < result_count; ++i) b.remember(id, results[i], -2 - i);
    return results[which];
  }
  template <class Target>
  static constexpr int into(builder& b) {
    return result<Target>(b, 0);
  }
};

template <int I, class Call>
struct lowering<pick<I, Call>> {
  static constexpr sizes size = lowering<Call>::size;
  template <class Target>
  static constexpr int into(builder& b) {
    return lowering<Call>::template result<Target>(b, I);
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
    constexpr const char* id = &id_of<L>;
    int next = b->seen(id, value);
    if (next == none) {
      body_lowering<stage_mark, typename stage::results>::template into<Target>(*b, &value, 1, &next);
      b->remember(id, next, value);
    }
    return stage_fold<Target, Level, tensor_of<stage>>{b, next};
  }
};
template <int Level, class Tensor>
struct size_fold {
  sizes size;
  template <class L>
  constexpr auto operator<<(std::type_identity<L>) const {
    using stage = stage_call<Level, Tensor, L>;
    return size_fold<Level, tensor_of<stage>>{size + body_lowering<stage_mark, typename stage::results>::size};
  }
};
}  // namespace detail

template <chain_facts Facts, class X, class... L>
struct lowering<links<Facts, X, L...>> {
  static constexpr sizes size =
      (detail::size_fold<X::level, tensor_of<X>>{lowering<X>::size} << ... << std::type_identity<L>{}).size;
  template <class Target>
  static constexpr int into(builder& b) {
    return (detail::stage_fold<Target, X::level, tensor_of<X>>{&b, lower<Target, X>(b)} << ... <<
            std::type_identity<L>{}).value;
  }
};

template <int N, fixed_string Name, class L, class X>
struct lowering<repeated<N, Name, L, X>> {
  using stage = detail::stage_call<X::level, tensor_of<X>, L>;
  using body = body_lowering<stage_mark, typename stage::results>;
  static constexpr sizes iteration = [] {
    sizes inner = body::size;
    inner.characters += (inner.leaves + inner.segments) * static_cast<int>(sizeof(Name.text) + 8);
    return inner;
  }();
  static constexpr sizes size = N * iteration + lowering<X>::size;
  template <class Target>
  static constexpr int into(builder& b) {
    constexpr const char* type = &id_of<repeated<N, Name, L, X>>;
    if (const int known = b.seen(type); known != none) return known;
    int value = lower<Target, X>(b);
    for (int i = 0; i < N; ++i) {
      const builder::frame before = b.open(nullptr, 0);
      b.extend_path(Name);
      char number[8] = {};
      int length = 0;
      for (int rest = i; length == 0 || rest > 0; rest /= 10) number[length++] = static_cast<char>('0' + rest % 10);
      b.path[b.path_length++] = '.';
      while (length > 0) b.path[b.path_length++] = number[--length];
      const int input = value;
      body::template into<Target>(b, &input, 1, &value);
      b.close(before);
    }
    return b.remember(type, value);
  }
};

}  // namespace cairn::ir
