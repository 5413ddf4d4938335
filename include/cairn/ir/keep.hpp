// What the policies of a segment keep of it: asked when it closes, about the values and tags made since it opened.
#pragma once

#include "cairn/expr/policy.hpp"
#include "cairn/ir/operation.hpp"

namespace cairn::ir {

/// Characters of the tags that a policy names.
template <class Policy>
inline constexpr int tag_characters = 0;
template <fixed_string... Name>
inline constexpr int tag_characters<save<Name...>> = (0 + ... + static_cast<int>(sizeof(Name.text)));
template <fixed_string... Name>
inline constexpr int tag_characters<save_all_but<Name...>> = tag_characters<save<Name...>>;

/// A segment that closes: its values are those from first_node on, its tags those from first_tag on. In a chain of
/// segments, what a policy asks for need be in one of them only.
struct closing_segment {
  builder& b;
  int first_node, first_tag;
  int part = 0, parts = 1;  ///< its number in the chain
  int policy = 0;           ///< its number in the list
  int asked = 0;            ///< for how many things, by all policies

  template <class... Policy>
  constexpr void keep_by() {
    if (part > 0) now().found = b.segments[before()].found;
    ((keep_by(Policy{}), ++policy), ...);
  }

 private:
  constexpr segment& now() const { return b.segments[b.segment_now]; }
  /// The segment of the chain before this one.
  constexpr int before() const {
    int s = b.segment_now - 1;
    while (b.segments[s].parent != now().parent) --s;
    return s;
  }
  constexpr bool is_computed(int v) const { return b.nodes[v].op->arguments > 0 && b.nodes[v].op->what != role::view; }
  constexpr const shape& argument_shape(const node& n, int i) const { return b.nodes[n.argument[i]].op->result; }
  constexpr saveable described(int v) const {
    const node& n = b.nodes[v];
    const bool batched = n.op->arguments > 1 && argument_shape(n, 0).rank > 2 && argument_shape(n, 1).rank > 2;
    return {n.op->name, n.op->result, n.op->flops, batched};
  }

  /// Notes whether what a policy asks for is there.
  constexpr void note(bool there, std::string_view tag) {
    const std::uint64_t bit = std::uint64_t{1} << asked++;
    if (there) now().found |= bit;
    if ((now().found & bit) == 0 && part + 1 == parts && b.wrong_policy.segment == 0)
      b.wrong_policy = {b.segment_now, policy, b.keep(tag), static_cast<int>(tag.size())};
  }

  /// Calls visit with what has this tag.
  constexpr void for_each_tagged(std::string_view tag, auto visit) {
    bool any = false;
    for (int t = first_tag; t < b.tag_count; ++t) {
      if (std::string_view(b.names + b.tags[t].name, static_cast<std::size_t>(b.tags[t].name_length)) != tag) continue;
      any = true;
      int v = b.tags[t].node;
      while (b.nodes[v].op->what == role::view) v = b.nodes[v].argument[0];
      if (v >= first_node) visit(v);
    }
    note(any, tag);
  }

  constexpr void keep_by(auto) {}  // allow_useless, save_nothing
  constexpr void keep_by(a_predicate auto keeps) {
    bool any = false;
    for (int v = first_node; v < b.node_count; ++v) {
      if (!is_computed(v) || !keeps(described(v))) continue;
      b.save(v);
      any = true;
    }
    note(any, {});
  }
  template <fixed_string... Name>
  constexpr void keep_by(cairn::save<Name...>) {
    (for_each_tagged(Name, [&](int v) { b.save(v); }), ...);
  }
  template <fixed_string... Name>
  constexpr void keep_by(save_all_but<Name...>) {
    stack<bool> left_out;
    for (int v = first_node; v < b.node_count; ++v) left_out.push(!is_computed(v));
    (for_each_tagged(Name, [&](int v) { left_out[v - first_node] = true; }), ...);
    for (int v = first_node; v < b.node_count; ++v) {
      if (!left_out[v - first_node]) b.save(v);
    }
  }
};

}  // namespace cairn::ir
