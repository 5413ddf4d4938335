// Who reads a value: the first and the last of a schedule, views left out.
#pragma once

#include "cairn/pass/rematerialize.hpp"

namespace cairn::pass {

/// By value of the schedule.
template <int Nodes>
struct readers {
  int root[Nodes] = {};                     ///< the value whose memory a view reads; else itself
  int first[Nodes] = {}, last[Nodes] = {};  ///< none where nobody reads it
};

template <class Schedule>
constexpr auto find_readers(const Schedule& s) {
  readers<Schedule::capacity> out;
  for (int v = 0; v < s.node_count; ++v) {
    const ir::node& n = s.nodes[v];
    const bool view = n.op->what == ir::role::view;
    out.root[v] = view ? out.root[n.argument[0]] : v;
    out.first[v] = out.last[v] = none;
    if (view) continue;
    for (int i = 0; i < n.op->arguments; ++i) {
      const int a = out.root[n.argument[i]];
      if (out.first[a] == none) out.first[a] = v;
      out.last[a] = v;
    }
  }
  return out;
}

}  // namespace cairn::pass
