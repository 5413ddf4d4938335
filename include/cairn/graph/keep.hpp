// Finds the values of a segment that its policies store. This is done when the segment closes, for the values and tags
// that were appended since it opened.
#pragma once

#include "cairn/graph/operation.hpp"
#include "cairn/lang/policy.hpp"

namespace cairn::graphs {

/// The number of characters of the tags that a policy names.
template <class Policy>
inline constexpr int tag_characters = 0;
template <fixed_string... Name>
inline constexpr int tag_characters<save<Name...>> = (0 + ... + static_cast<int>(sizeof(Name.text)));
template <fixed_string... Name>
inline constexpr int tag_characters<save_all_but<Name...>> = tag_characters<save<Name...>>;

/// A segment that closes. Its values begin at first_node, and its tags at first_tag. If a chain is cut into several
/// segments, a value or tag that a policy names only has to be in one of them.
class closing_segment {
 public:
  constexpr closing_segment(builder& to, int first_node, int first_tag, int chain_index = 0, int chain_length = 1)
      : b(to), first_node_(first_node), first_tag_(first_tag), chain_index_(chain_index), chain_length_(chain_length) {}

  /// Adds the values that these policies store to the table builder::stored_values.
  template <class... Policy>
  constexpr void store_by() {
    if constexpr (sizeof...(Policy) > 0) {
      if (chain_index_ > 0) segment().policies_met = b.regions[previous_segment()].policies_met;
      for (int v = first_node_; v < b.node_count; ++v) stored_.push(false);
      ((store_for(Policy{}), ++policy_), ...);
      for (int v = first_node_; v < b.node_count; ++v) {
        if (stored_[v - first_node_]) b.stored_values[b.stored_value_count++] = {v, b.current_region};
      }
    }
  }

 private:
  builder& b;
  int first_node_, first_tag_;
  int chain_index_,
      chain_length_;      ///< the number of this segment in the chain, and the number of segments in the chain
  int policy_ = 0;        ///< the index of the current policy in the list of policies
  int requirements_ = 0;  ///< how many predicates and tags the policies have named so far
  stack<bool> stored_;    ///< by value, from first_node_ on: a policy stores it

  constexpr region& segment() const { return b.regions[b.current_region]; }
  /// Returns the previous segment of the chain. Each segment is in a stage of the chain.
  constexpr int previous_segment() const {
    const auto chain_of = [&](int r) { return b.regions[b.regions[r].parent].parent; };
    int r = b.current_region - 1;
    while (b.regions[r].what != region_kind::segment || chain_of(r) != chain_of(b.current_region)) --r;
    return r;
  }
  /// Returns true if v is a value that a policy can store, which leaves and views are not.
  constexpr bool is_computed(int v) const {
    const operation& op = *b.nodes[v].op;
    return op.argument_count > 0 && op.what != role::view;
  }
  /// Describes v for a predicate of the user.
  constexpr saveable described(int v) const {
    const operation& op = *b.nodes[v].op;
    const auto rank = [&](int i) { return b.nodes[b.argument(v, i)].result->extents.rank; };
    const bool batched = op.argument_count > 1 && rank(0) > 2 && rank(1) > 2;
    return {op.name, b.nodes[v].result->extents, op.flops, op.contraction, batched};
  }

  /// Marks a value as stored. If the value is a view, also marks the value in memory that it is a view of.
  constexpr void save(int v) {
    for (; v >= first_node_ && b.nodes[v].op->argument_count > 0; v = b.argument(v, 0)) {
      stored_[v - first_node_] = true;
      if (b.nodes[v].op->what != role::view) return;
    }
  }

  /// Notes whether a value or tag that a policy names was found. If it was in no segment of the chain, notes the
  /// misfit.
  constexpr void note_found(bool is_found, std::string_view tag) {
    const std::uint64_t bit = std::uint64_t{1} << requirements_++;
    if (is_found) segment().policies_met |= bit;
    if ((segment().policies_met & bit) == 0 && chain_index_ + 1 == chain_length_ && b.wrong.policy.region == 0)
      b.wrong.policy = {b.current_region, policy_, b.write_name(tag), static_cast<int>(tag.size())};
  }

  /// Calls visit with each value of the segment that has this tag.
  constexpr void for_each_tagged(std::string_view tag, auto visit) {
    bool found = false;
    for (int t = first_tag_; t < b.tag_count; ++t) {
      if (std::string_view(b.names + b.tags[t].name, static_cast<std::size_t>(b.tags[t].name_length)) != tag) continue;
      found = true;
      const int v = b.root(b.tags[t].node);
      if (v >= first_node_) visit(v);
    }
    note_found(found, tag);
  }

  constexpr void store_for(auto) {}  // allow_useless and save_nothing store no value
  constexpr void store_for(a_predicate auto selects) {
    bool found = false;
    for (int v = first_node_; v < b.node_count; ++v) {
      if (!is_computed(v) || !selects(described(v))) continue;
      save(v);
      found = true;
    }
    for (int i = segment().first_reused; i < b.reused.count(); ++i)
      found |= is_computed(b.reused[i]) && selects(described(b.reused[i]));
    note_found(found, {});
  }
  template <fixed_string... Name>
  constexpr void store_for(cairn::save<Name...>) {
    (for_each_tagged(Name, [&](int v) { save(v); }), ...);
  }
  template <fixed_string... Name>
  constexpr void store_for(save_all_but<Name...>) {
    stack<bool> left_out;
    for (int v = first_node_; v < b.node_count; ++v) left_out.push(!is_computed(v));
    (for_each_tagged(Name, [&](int v) { left_out[v - first_node_] = true; }), ...);
    for (int v = first_node_; v < b.node_count; ++v) {
      if (!left_out[v - first_node_]) save(v);
    }
  }
};

}  // namespace cairn::graphs
