// Shows value by value what a training step stores for the backward pass and what it recomputes:
// `report::residuals<program<loss>>(out)`.
#pragma once

#include "cairn/base/macros_aside.hpp"
#include "cairn/report/account.hpp"
#include "cairn/report/print.hpp"
#include "cairn/report/stream.hpp"
#include "cairn/report/tables.hpp"

namespace cairn::report {

namespace detail {
/// The first and the last of several texts that differ only in numbers. They are shown as one text, with a star in
/// place of each number that differs.
struct text_range {
  std::string first, last;

  bool alike(const text_range& t) const { return without_numbers(first) == without_numbers(t.first); }
  std::string shown() const {
    if (without_numbers(first) != without_numbers(last)) return first + " ... " + last;
    const auto end_of_number = [](const std::string& t, std::size_t i) { return t.find_first_not_of("0123456789", i); };
    std::string text;
    for (std::size_t i = 0, k = 0; i < first.size();) {
      const std::size_t a = std::min(end_of_number(first, i), first.size()),
                        b = std::min(end_of_number(last, k), last.size());
      if (a == i) {
        text += first[i++];
        ++k;
        continue;
      }
      const std::string number = first.substr(i, a - i);
      text += number == last.substr(k, b - k) ? number : "*";
      i = a;
      k = b;
    }
    return text;
  }
};

/// A stored value, or several stored values that are alike.
struct residual {
  std::string what, extents;
  text_range from, reader;
  std::int64_t bytes;
  int count = 1;

  bool same_but_origin(const residual& r) const {
    return what == r.what && extents == r.extents && bytes == r.bytes && reader.alike(r.reader);
  }
  bool operator==(const residual& r) const { return same_but_origin(r) && count == r.count; }
  void extend(const residual& r) {
    from.last = r.from.last;
    reader.last = r.reader.last;
  }
};
/// A segment, or several equal segments with paths that differ only in numbers, or the program outside of segments.
struct segment_residuals {
  std::string first_path, last_path;
  int count = 1;
  std::vector<residual> stored;
  /// Recomputed operations and how often each occurs: see count_one.
  std::vector<std::pair<std::string_view, int>> again;
  std::int64_t again_flops = 0;
};

inline std::string_view operation_of(const value& v) { return v.converted ? "conversion" : v.operation; }

/// Returns the layer to which each forward value belongs. The layer of a parameter is its name without the last part,
/// and the layer of another leaf is its name. A computed value belongs to the layer of one of its arguments: of the
/// last parameter or random key among them, or else of the argument that was computed last. Constants do not count.
inline std::vector<std::string> layers_of(const account& a) {
  std::vector<std::string> layers(static_cast<std::size_t>(a.value_turn));
  for (int v = 0; v < a.value_turn; ++v) {
    std::string& layer = layers[static_cast<std::size_t>(v)];
    if (a[v].leaf != graphs::none) {
      layer = a.name(a.leaf(a[v].leaf));
      if (const std::size_t dot = layer.rfind('.'); a[v].what == graphs::role::parameter && dot != layer.npos)
        layer.resize(dot);
      continue;
    }
    int nearest = -1;
    bool parameter = false;
    for (int i = 0; i < a[v].argument_count; ++i) {
      const int of = a.argument(v, i);
      const graphs::role what = a[a.root(of)].what;
      const bool named = what == graphs::role::parameter || what == graphs::role::random;
      if (graphs::is_constant(what) || named < parameter || (named == parameter && of < nearest)) continue;
      nearest = of;
      parameter = named;
    }
    if (nearest >= 0) layer = layers[static_cast<std::size_t>(nearest)];
  }
  return layers;
}

/// Appends `text` to a comma-separated list, unless the list has it already.
inline void add_once(std::string& list, const std::string& text) {
  if ((", " + list + ", ").find(", " + text + ", ") != list.npos) return;
  list.append(list.empty() ? "" : ", ") += text;
}

/// Counts an operation in a list of operations with their counts.
inline void count_one(std::vector<std::pair<std::string_view, int>>& list, std::string_view operation) {
  const auto known = std::ranges::find(list, operation, [](const auto& entry) { return entry.first; });
  if (known == list.end()) list.emplace_back(operation, 1);
  else ++known->second;
}
inline std::string counted_names(const std::vector<std::pair<std::string_view, int>>& list) {
  std::string names;
  for (const auto& [name, n] : list) {
    names.append(names.empty() ? "" : ", ");
    names.append(n > 1 ? std::to_string(n) + " " : "") += name;
  }
  return names;
}

/// Returns the parameters that several operations of the forward pass read, each with the names of these operations.
inline std::vector<std::pair<std::string_view, std::string>> shared_parameters(const account& a) {
  std::vector<std::vector<std::pair<std::string_view, int>>> reading(a.leaves.size());
  std::vector<int> reader_counts(a.leaves.size());
  for (int v = 0; v < a.value_turn; ++v) {
    if (a[v].what == graphs::role::view || a[v].recomputes != graphs::none || a[v].order > 0) continue;
    for (int i = 0; i < a[v].argument_count; ++i) {
      const value& read = a[a.root(a.argument(v, i))];
      if (read.leaf == graphs::none || read.what != graphs::role::parameter) continue;
      const auto leaf = static_cast<std::size_t>(read.leaf);
      count_one(reading[leaf], operation_of(a[v]));
      ++reader_counts[leaf];
    }
  }
  std::vector<std::pair<std::string_view, std::string>> shared;
  for (std::size_t i = 0; i < reader_counts.size(); ++i) {
    if (reader_counts[i] > 1) shared.emplace_back(a.name(a.leaves[i]), counted_names(reading[i]));
  }
  return shared;
}

/// The operations that read a stored value in the backward pass. `segment` is the outermost segment that contains all
/// of them. It is 0 if they have no segment in common. `names` lists the operations, with two exceptions.
/// - If `segment` is 0, an operation inside a segment is listed by the name of its segment.
/// - If a conversion of the value is read, the list has the operations that read the conversion, and not the
///   conversion.
struct backward_readers {
  int segment = -1;
  std::string names;
};
inline std::vector<backward_readers> readers_of(const account& a) {
  std::vector<backward_readers> found(static_cast<std::size_t>(a.value_turn));
  const auto for_each = [&](auto visit) {
    const auto read = [&](auto& self, int by, int value, int segment) -> void {
      const int root = a.root(value);
      const bool passed = a[root].in_pieces || (a[root].converted && root >= a.value_turn);
      for (int i = 0; passed && i < a[root].argument_count; ++i) self(self, by, a.argument(root, i), segment);
      if (root < a.value_turn && a[root].stored) visit(found[static_cast<std::size_t>(root)], by, segment);
    };
    for (int v = 0; v < static_cast<int>(a.values.size()); ++v) {
      if (a[v].gradient != graphs::none) read(read, v, v, 0);  // a forward value may itself be a gradient
      const bool reads = v >= a.value_turn && a[v].what != graphs::role::view && !a[v].in_pieces;
      for (int i = 0; reads && i < a[v].argument_count; ++i) read(read, v, a.argument(v, i), a.around(a[v].segment, 1));
    }
  };
  for_each(
      [&](backward_readers& r, int, int segment) { r.segment = r.segment < 0 || r.segment == segment ? segment : 0; });
  for_each([&](backward_readers& r, int v, int segment) {
    if (segment != r.segment) add_once(r.names, std::string(a.segment(segment).name));
    else if (a[v].converted) return;
    else if (a[v].recomputes != graphs::none) add_once(r.names, std::string(a[v].operation) + " recomputed");
    else if (a[v].gradient != graphs::none)
      add_once(r.names, "gradient of " + std::string(a.name(a.leaf(a[v].gradient))));
    else add_once(r.names, std::string(a[v].operation));
  });
  return found;
}

inline std::vector<segment_residuals> residuals_by_segment(const account& a) {
  std::vector<segment_residuals> all(a.segments.size());
  for (std::size_t s = 0; s < all.size(); ++s) {
    all[s].first_path = all[s].last_path = s == 0 ? "outside of segments" : a.segments[s].name;
  }
  const std::vector<std::string> layers = layers_of(a);
  const std::vector<backward_readers> read = readers_of(a);
  for (int v = 0; v < a.value_turn; ++v) {
    if (!a[v].stored) continue;
    const auto at = static_cast<std::size_t>(v);
    std::ostringstream extents;
    extents.imbue(std::locale::classic());
    extents << extents_of{a[v].extents, a[v].type};
    int made = v;  // the value before conversions, because the type of elements is shown anyway
    while (a[made].converted) made = a.root(a.argument(made, 0));
    std::string what(a[made].operation);
    if (a[v].tag != graphs::none) what.append(" \"").append(a.name(a.tag(a[v].tag))) += '"';
    const residual kept{what, extents.str(), {layers[at], layers[at]}, {read[at].names, read[at].names}, a[v].bytes};
    auto& rows = all[static_cast<std::size_t>(read[at].segment)].stored;
    const auto row = std::ranges::find_if(
        rows, [&](const residual& r) { return r.same_but_origin(kept) && r.from.alike(kept.from); });
    if (row == rows.end()) {
      rows.push_back(kept);
    } else {
      row->extend(kept);
      ++row->count;
    }
  }
  for (const value& v : a.values) {
    if (v.recomputes == graphs::none || v.what == graphs::role::view) continue;
    segment_residuals& part = all[static_cast<std::size_t>(v.segment)];
    part.again_flops += v.flops;
    count_one(part.again, operation_of(v));
  }
  return all;
}

/// Joins parts with paths that differ only in numbers, if `same` finds them equal.
inline std::vector<segment_residuals> folded(const std::vector<segment_residuals>& all, auto same) {
  std::vector<segment_residuals> groups;
  for (const segment_residuals& p : all) {
    const auto group = std::ranges::find_if(groups, [&](const segment_residuals& g) {
      return same(g, p) && without_numbers(g.first_path) == without_numbers(p.first_path);
    });
    if (group == groups.end()) {
      groups.push_back(p);
      continue;
    }
    group->last_path = p.last_path;
    ++group->count;
    for (std::size_t i = 0; i < p.stored.size() && i < group->stored.size(); ++i) group->stored[i].extend(p.stored[i]);
  }
  return groups;
}
}  // namespace detail

/// Writes two or three tables.
/// - The first table shows what is alive between the forward pass and the backward pass, and why. It is ordered by the
///   segment that reads the values in the backward pass. Each value has its operation, its shape, its layer, and the
///   operations that read it.
/// - The second table shows what is recomputed, by segment.
/// - The third table shows the parameters that several operations of the forward pass read, if there are any.
///
/// Equal segments share their lines, which show the figures of one of these segments.
inline void residuals(std::ostream& out, const account& a) {
  const detail::plain_numbers guard(out);
  using detail::segment_residuals;
  const std::vector<segment_residuals> parts = detail::residuals_by_segment(a);
  const auto times = [](int n) { return n > 1 ? std::to_string(n) + " x" : ""; };
  detail::table stored({"stored for", "", "", "from", "read by", "", ""}, 5);
  for (const segment_residuals& p :
       detail::folded(parts, [](auto& one, auto& other) { return one.stored == other.stored; })) {
    const std::string path = detail::from_to(p.first_path, p.last_path, p.count);
    for (const detail::residual& r : p.stored) {
      stored.add({&r == &p.stored.front() ? path : "", r.what, r.extents, r.from.shown(), r.reader.shown(),
                  times(p.count * r.count), bytes(r.bytes)});
    }
  }
  detail::table again({"segment", "", "recomputed", "", "", "of forward"}, 3);
  int count = 0;
  for (const segment_residuals& p : detail::folded(parts, [](auto& one, auto& other) {
         return one.again == other.again && one.again_flops == other.again_flops;
       })) {
    int operations = 0;
    for (const auto& [name, n] : p.again) operations += n;
    count += p.count * operations;
    if (operations == 0) continue;
    again.add({detail::from_to(p.first_path, p.last_path, p.count), times(p.count), detail::counted_names(p.again),
               detail::operations(operations), flops(p.again_flops), detail::percent(p.again_flops, a.flops.forward)});
  }
  stored.add({"in all", "", "", "", "", "", bytes(a.memory.stored_bytes)});
  again.add({"in all", "", "", detail::operations(count), flops(a.flops.recomputed),
             detail::percent(a.flops.recomputed, a.flops.forward)});
  stored.print(out);
  out << '\n';
  again.print(out);
  detail::table shared({"shared", "read by"}, 2);
  const auto parameters = detail::shared_parameters(a);
  for (const auto& [name, operations] : parameters) shared.add({std::string(name), operations});
  if (parameters.empty()) return;
  out << '\n';
  shared.print(out);
}
template <class Program>
void residuals(std::ostream& out) {
  residuals(out, account_of<Program>());
}

}  // namespace cairn::report

#include "cairn/base/macros_back.hpp"
