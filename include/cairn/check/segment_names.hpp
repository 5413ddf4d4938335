// What segments are called. A marked one has the path that the user gave it; a placed one is called after the layers
// that are in it: "encoder", "block.2 ... block.5", "fc1 ... fc3".
#pragma once

#include "cairn/pass/compile.hpp"

#include <string_view>

namespace cairn::detail {

/// The name of something that reaches from one parameter to another: what is around both, or both up to where they
/// differ.
constexpr void name_range(std::string_view first, std::string_view last, auto write) {
  const auto layer = [](std::string_view name) { return name.substr(0, name.rfind('.')); };
  first = layer(first);
  last = layer(last);
  const auto is_around = [](std::string_view a, std::string_view b) {
    return b.starts_with(a) && (a.size() == b.size() || b[a.size()] == '.');
  };
  if (is_around(first, last)) return write(first);
  if (is_around(last, first)) return write(last);
  std::size_t same = 0, differ = 0;
  while (differ < std::min(first.size(), last.size()) && first[differ] == last[differ]) {
    if (first[differ++] == '.') same = differ;
  }
  const char next = same < first.size() ? first[same] : '.';
  if (same > 0 && !('0' <= next && next <= '9')) return write(first.substr(0, same - 1));
  write(first.substr(0, first.find('.', same)));
  write(" ... ");
  write(last.substr(0, last.find('.', same)));
}

/// By segment; the program outside of them has none.
template <class Compiled>
struct segment_names {
 private:
  static constexpr const auto& g = Compiled::graph;
  static constexpr const auto& in = Compiled::segments;
  static constexpr auto parameters = [] {
    struct {
      int first[in.count] = {}, last[in.count] = {};  // one more than the number of a leaf
    } out;
    int leaf_of[std::remove_cvref_t<decltype(g)>::capacity] = {};
    for (int i = 0; i < g.leaf_count; ++i) {
      if (g.leaf_op(i).what == ir::role::parameter) leaf_of[g.leaves[i].node] = i + 1;
    }
    for (int v = 0; v < g.node_count; ++v) {
      for (int i = 0; i < g.op(v).arguments; ++i) {
        const int leaf = leaf_of[g.argument(v, i)];
        for (int s = in.of[v]; leaf != 0 && s != 0; s = in.all[s].parent) {
          if (out.first[s] == 0) out.first[s] = leaf;
          out.last[s] = leaf;
        }
      }
    }
    return out;
  }();
  static constexpr void write(int i, auto to) {
    const auto leaf = [](int number) { return g.name(g.leaves[number - 1]); };
    if (!in.all[i].placed) to(g.name(g.regions[in.all[i].region]));
    else if (parameters.first[i] != 0) name_range(leaf(parameters.first[i]), leaf(parameters.last[i]), to);
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
