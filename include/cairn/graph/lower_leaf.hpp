// Lowers leaves, which have no arguments, to a graph.
#pragma once

#include "cairn/graph/keep.hpp"
#include "cairn/lang/checkpoint.hpp"
#include "cairn/lang/generated.hpp"
#include "cairn/lang/state.hpp"

namespace cairn::graphs {

/// Lowers a leaf that has a name. If `Prefixed`, the path of the blocks around it is put before the name.
template <class Leaf, fixed_string Name, bool Prefixed, bool Weight = false>
struct named_leaf {
  static constexpr void count(counter& c) {
    if (!c.add_if_new(&id_of<Leaf>, Leaf::traits.height)) return;
    c.total += {.nodes = 1, .leaves = 1, .characters = sizeof(Name.text)};
  }
  /// Returns the number of the leaf in the table of leaves.
  template <class Target>
  static constexpr int leaf(builder& b) {
    using numbers = typename Target::numbers;
    if constexpr (Weight && cairn::detail::rounds_parameters<numbers>)
      return b.leaf_of(&rounded_leaf_operation<Leaf, numbers>, Name, Prefixed);
    else return b.leaf_of(&leaf_operation<Leaf, numbers>, Name, Prefixed);
  }
  template <class Target>
  static constexpr int into(builder& b) {
    return b.leaves[leaf<Target>(b)].node;
  }
};

template <fixed_string Name, int... E>
struct lowering<lang::input_leaf<Name, E...>> : named_leaf<lang::input_leaf<Name, E...>, Name, false> {
  static constexpr void describe(operation& o) { o.what = role::input; }
};
template <fixed_string Name, int Bound, int... E>
struct lowering<lang::indices_leaf<Name, Bound, E...>>
    : named_leaf<lang::indices_leaf<Name, Bound, E...>, Name, false> {
  static constexpr void describe(operation& o) { o.what = role::input; }
};
template <fixed_string Name, bool Trainable, initial Init, int... E>
struct lowering<lang::parameter_leaf<Name, Trainable, Init, E...>>
    : named_leaf<lang::parameter_leaf<Name, Trainable, Init, E...>, Name, true, Trainable> {
  static constexpr void describe(operation& o) {
    o.what = role::parameter;
    o.start = Init;
    o.trainable = Trainable;
  }
};
template <fixed_string Name, int... E>
struct lowering<lang::cache_leaf<Name, E...>> : named_leaf<lang::cache_leaf<Name, E...>, Name, true> {
  static constexpr void describe(operation& o) { o.what = role::cache; }
};
template <fixed_string Name>
struct lowering<lang::random_key_leaf<Name>> : named_leaf<lang::random_key_leaf<Name>, Name, true> {
  static constexpr void describe(operation& o) { o.what = role::random; }
};
template <double Value>
struct lowering<lang::constant_leaf<Value>> {
  static constexpr void count(counter& c) { c.total += {.nodes = 1}; }
  static constexpr void describe(operation& o) {
    o.what = role::constant;
    o.name = "constant";
    o.value = Value;
  }
  template <class Target>
  static constexpr int into(builder& b) {
    return b.append_leaf(&leaf_operation<lang::constant_leaf<Value>, typename Target::numbers>);
  }
};
template <double Factor, std::int64_t Rows>
struct lowering<lang::unbiased_leaf<Factor, Rows>> {
  static constexpr void count(counter& c) { c.total += {.nodes = 1}; }
  template <class Target>
  static constexpr int into(builder& b) {
    constexpr auto rows = static_cast<double>(Rows * Target::shards);
    return lowering<lang::constant_leaf<Factor * rows / (rows > 1 ? rows - 1 : 1)>>::template into<Target>(b);
  }
};
template <class F, int... Extents>
inline constexpr generator generator_of{&lang::generate<F, Extents...>};
template <class F, element_type E, int... Extents>
struct lowering<lang::generated_leaf<F, E, Extents...>> {
  static constexpr void count(counter& c) { c.total += {.nodes = 1}; }
  static constexpr void describe(operation& o) {
    o.what = role::generated;
    o.name = "positions";
    o.generate = &generator_of<F, Extents...>;
  }
  template <class Target>
  static constexpr int into(builder& b) {
    return b.append_leaf(&leaf_operation<lang::generated_leaf<F, E, Extents...>, typename Target::numbers>);
  }
};
/// A constant that is combined with numbers of another type than the program's.
template <class Constant, dtype Type>
struct constant_as {};
template <class Constant, dtype Type>
struct lowering<constant_as<Constant, Type>> : lowering<Constant> {
  template <class Target>
  static constexpr int into(builder& b) {
    return b.append_leaf(&leaf_operation<Constant, typename Target::numbers, lang::tensor<element_type{Type}>>);
  }
};

}  // namespace cairn::graphs
