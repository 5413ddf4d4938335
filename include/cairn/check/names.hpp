// Names and values of a compiled model, as messages show them.
#pragma once

#include "cairn/plan/compile.hpp"

#include <algorithm>

namespace cairn::detail {

template <auto Name>
inline constexpr auto text_of_name = [] {
  constexpr std::string_view name = Name();
  fixed_string<name.size() + 1> text;
  std::copy_n(name.data(), name.size(), text.text);
  // written explicitly, because clang's messages print only characters that were written
  text.text[name.size()] = '\0';
  return text;
}();
template <class Compiled, int Leaf>
inline constexpr auto leaf_name = text_of_name<[] { return Compiled::graph.name(Compiled::graph.leaves[Leaf]); }>;
template <class Compiled, int Tag>
inline constexpr auto tag_name = text_of_name<[] { return Compiled::graph.name(Compiled::graph.tags[Tag]); }>;
/// The path of the segment at region `Region`.
template <class Compiled, int Region>
inline constexpr auto region_name = text_of_name<[] { return Compiled::graph.name(Compiled::graph.regions[Region]); }>;

/// The name of the leaf at node `Node`.
template <class Compiled, int Node>
inline constexpr auto node_name = leaf_name<Compiled, [] {
  int leaf = 0;
  while (Compiled::graph.leaves[leaf].node != Node) ++leaf;
  return leaf;
}()>;

/// Returns the index of the name that begins and ends most like `wanted`, of `count` names. Returns none if there are
/// no names. `name_of(i)` may be empty; entry i then has no name.
constexpr int nearest(int count, std::string_view wanted, auto name_of) {
  int found = graphs::none;
  std::ptrdiff_t most = -1;
  for (int i = 0; i < count; ++i) {
    const std::string_view name = name_of(i);
    if (name.empty()) continue;
    const auto begin = std::mismatch(name.begin(), name.end(), wanted.begin(), wanted.end()).first;
    const auto end = std::mismatch(name.rbegin(), name.rend(), wanted.rbegin(), wanted.rend()).first;
    const std::ptrdiff_t alike = (begin - name.begin()) + (end - name.rbegin());
    if (alike > most) {
      most = alike;
      found = i;
    }
  }
  return found;
}
/// Returns the leaf of role `what` with the name that is most like `wanted`, or none.
template <class Graph>
constexpr int nearest_leaf(const Graph& g, graphs::role what, std::string_view wanted) {
  return nearest(g.leaf_count, wanted,
                 [&](int i) { return g.leaf_op(i).what == what ? g.name(g.leaves[i]) : std::string_view{}; });
}

/// Returns the mistake that no leaf of role `What` has the name `Name`, with the nearest name if there is one.
template <class Compiled, graphs::role What, template <fixed_string...> class Fact, fixed_string Name,
          class Misuse = misuse::unknown_name>
constexpr auto not_found() {
  constexpr int nearest = nearest_leaf(Compiled::graph, What, Name);
  if constexpr (nearest == graphs::none) {
    return mistake<Misuse, top_scope, about<Fact, Name>>{};
  } else {
    using known = about<fact::nearest, leaf_name<Compiled, nearest>>;
    return mistake<Misuse, top_scope, about<Fact, Name>, known>{};
  }
}

/// The first result of an operation, as messages show it.
template <const graphs::operation& Op>
struct shown_result {
  static constexpr const graphs::operation& op = Op;
  static constexpr cairn::shape shape = Op.results[0].extents;
  static constexpr element_type element = Op.results[0].element;
};
/// A value, as messages show it.
template <class Compiled, int Node>
struct shown_value {
  static constexpr cairn::shape shape = Compiled::graph.result(Node).extents;
  static constexpr element_type element = Compiled::graph.result(Node).element;
};
template <class Compiled, int Leaf>
using shown_leaf = shown_result<*Compiled::graph.nodes[Compiled::graph.leaves[Leaf].node].op>;

/// Returns the fact that tells a leaf from another leaf of the same name.
template <class Leaf, class Other>
constexpr auto difference() {
  constexpr const graphs::operation& own = Leaf::op;
  constexpr const graphs::operation& other = Other::op;
  if constexpr (Leaf::shape != Other::shape || Leaf::element.type != Other::element.type) {
    return std::type_identity<fact::given<tensor_fact<Leaf>>>{};
  } else if constexpr (Leaf::element != Other::element) {
    return std::type_identity<fact::bound<Leaf::element.bound>>{};
  } else if constexpr (own.trainable != other.trainable) {
    return std::type_identity<fact::trained<own.trainable>>{};
  } else if constexpr (own.start.zero_row != other.start.zero_row) {
    return std::type_identity<fact::zero_row<own.start.zero_row>>{};
  } else if constexpr (own.start.drawn == initial::law::constant) {
    return std::type_identity<fact::constant<own.start.fill>>{};
  } else if constexpr (own.start.drawn == initial::law::uniform) {
    return std::type_identity<fact::uniform<own.start.width>>{};
  } else if constexpr (own.start.drawn == initial::law::truncated_normal) {
    return std::type_identity<fact::truncated_normal<own.start.width>>{};
  } else if constexpr (own.start.drawn == initial::law::orthogonal) {
    return std::type_identity<fact::orthogonal<own.start.width>>{};
  } else {
    return std::type_identity<fact::normal<own.start.width>>{};
  }
}
template <class Name, class One, class Other>
using conflict_of =
    mistake<misuse::parameter_conflict, top_scope, Name, typename decltype(difference<One, Other>())::type,
            typename decltype(difference<Other, One>())::type>;

}  // namespace cairn::detail
