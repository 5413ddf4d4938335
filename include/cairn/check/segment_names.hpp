// Names of segments. A marked segment has the path that the user gave it. A placed segment is named after the layers in
// it: "encoder", "block.2 ... block.5", "fc1 ... fc3".
#pragma once

#include "cairn/plan/compile.hpp"

#include <string_view>

namespace cairn::detail {

constexpr std::string_view layer_of(std::string_view parameter) { return parameter.substr(0, parameter.rfind('.')); }
constexpr bool is_around(std::string_view path, std::string_view other) {
  return other.starts_with(path) && (path.size() == other.size() || other[path.size()] == '.');
}
/// Returns the outermost path around `layer` that is not around layer `before` or layer `after`, and after which no
/// iteration number follows.
constexpr std::string_view distinct_path(std::string_view layer, std::string_view before, std::string_view after) {
  for (std::size_t end = layer.find('.'); end < layer.size(); end = layer.find('.', end + 1)) {
    const std::string_view path = layer.substr(0, end);
    const bool repeats = '0' <= layer[end + 1] && layer[end + 1] <= '9';
    if (!repeats && !is_around(path, before) && !is_around(path, after)) return path;
  }
  return layer;
}
/// Writes the name of a range of layers from `first` to `last`. The name is the path around both, or the paths around
/// each of them. Paths that are also around the layer before the range or behind the range are not used.
constexpr void name_range(std::string_view first, std::string_view last, std::string_view before,
                          std::string_view after, auto write) {
  first = distinct_path(first, before, after);
  last = distinct_path(last, before, after);
  if (is_around(first, last)) return write(first);
  if (is_around(last, first)) return write(last);
  write(first);
  write(" ... ");
  write(last);
}

/// The names of segments, by segment. The program outside of all segments has no name.
template <class Compiled>
struct segment_names {
 private:
  static constexpr const auto& g = Compiled::graph;
  static constexpr const auto& in = Compiled::segments;
  /// Parameters in the order in which they are read. `first` and `last` are, by segment, the first and the last of
  /// them.
  static constexpr auto read = [] {
    struct {
      int leaf[std::remove_cvref_t<decltype(g)>::argument_capacity + 1] = {}, count = 0;
      int first[in.count] = {}, last[in.count] = {};
    } out;
    int leaf_of[std::remove_cvref_t<decltype(g)>::capacity];
    for (int& leaf : leaf_of) leaf = graphs::none;
    for (int i = 0; i < g.leaf_count; ++i) {
      if (g.leaf_op(i).what == graphs::role::parameter) leaf_of[g.leaves[i].node] = i;
    }
    for (int& first : out.first) first = graphs::none;
    for (int v = 0; v < g.node_count; ++v) {
      for (int i = 0; g.nodes[v].result_index == 0 && i < g.op(v).argument_count; ++i) {
        const int leaf = leaf_of[g.argument(v, i)];
        if (leaf == graphs::none) continue;
        for (int s = in.of[v]; s != 0; s = in.all[s].parent) {
          if (out.first[s] == graphs::none) out.first[s] = out.count;
          out.last[s] = out.count;
        }
        out.leaf[out.count++] = leaf;
      }
    }
    return out;
  }();
  static constexpr std::string_view layer_read(int position) {
    if (position < 0 || position == read.count) return {};
    return layer_of(g.name(g.leaves[read.leaf[position]]));
  }
  static constexpr void write(int i, auto to) {
    const int first = read.first[i], last = read.last[i];
    if (!in.all[i].placed) to(g.name(g.regions[in.all[i].region]));
    else if (first != graphs::none)
      name_range(layer_read(first), layer_read(last), layer_read(first - 1), layer_read(last + 1), to);
    else to("without parameters");
  }
  static constexpr int characters = [] {
    std::size_t n = 0;
    for (int i = 1; i < in.count; ++i) write(i, [&](std::string_view part) { n += part.size(); });
    return static_cast<int>(n);
  }();
  static constexpr auto texts = [] {
    struct {
      char at[characters + 1] = {};
      int begin[in.count + 1] = {};
    } out;
    int n = 0;
    for (int i = 1; i < in.count; ++i) {
      out.begin[i] = n;
      write(i, [&](std::string_view part) {
        for (const char c : part) out.at[n++] = c;
      });
    }
    out.begin[in.count] = n;
    return out;
  }();

 public:
  static constexpr std::string_view of(int segment) {
    if (segment == 0) return {};
    return {texts.at + texts.begin[segment], static_cast<std::size_t>(texts.begin[segment + 1] - texts.begin[segment])};
  }
};

}  // namespace cairn::detail
