// Buckets: the ranges of the block of gradients that processes exchange, each as soon as its gradients are complete.
#pragma once

#include "cairn/plan/compile.hpp"

namespace cairn::plans {

/// The bytes of a bucket. All buckets have this size, except for the last in the block.
inline constexpr std::int64_t bucket_bytes = 1 << 20;
/// A bucket of fewer bytes is exchanged whole, because short messages take as long as empty ones.
inline constexpr std::int64_t least_cut_bytes = 64 << 10;

/// A range of the block of gradients.
struct bucket {
  std::int64_t offset = 0, bytes = 0;
  int leaf = none;      ///< the first parameter with a gradient in the bucket
  int ready = 0;        ///< how many plan steps must have run before the gradients are complete
  bool is_cut = false;  ///< the processes share the bucket in slices
  /// Where sums of another process arrive, in memory of their own. Of a bucket that is cut, at most one half arrives.
  std::int64_t received_offset = 0;
};

/// The buckets of a program, in the order of their offsets.
template <int Count>
struct bucket_list {
  bucket of[Count + 1] = {};
  static constexpr int count = Count;
  std::int64_t bytes = 0;  ///< bytes of all buckets; the rest of the block is in none
  std::int64_t received_bytes = 0;
};

/// Returns the bytes of the block of gradients that buckets hold. `shards` processes can share them in equal slices of
/// whole cache lines.
constexpr std::int64_t bytes_in_buckets(std::int64_t gradient_bytes, int shards) {
  return gradient_bytes - gradient_bytes % (shards * alignment);
}

/// Returns the number of buckets that have `bytes` bytes together.
constexpr int bucket_count(std::int64_t bytes) { return static_cast<int>((bytes + bucket_bytes - 1) / bucket_bytes); }
/// Returns the bytes of the block of gradients of which one of `processes` processes has the sums, if the processes do
/// not collect the slices of other processes: a slice of each bucket, and everything that is in no bucket.
constexpr std::int64_t bytes_of_own_sums(std::int64_t gradient_bytes, int shards, int processes) {
  const std::int64_t in_buckets = bytes_in_buckets(gradient_bytes, shards);
  return in_buckets / processes + gradient_bytes - in_buckets;
}

/// Finds the buckets, which follow one another in the block of gradients. A bucket is ready after the last plan step of
/// a microbatch that reads or writes a byte of it. If a gradient is copied to or from the bucket at the end of the
/// microbatch, the bucket is ready then.
template <class Compiled>
constexpr auto find_buckets() {
  constexpr const auto& s = Compiled::schedule;
  constexpr const auto& f = Compiled::steps;
  constexpr const auto& a = Compiled::addresses;
  constexpr int end = s.first_update == none ? f.step_count : f.first_update_step;
  constexpr lang::division division = Compiled::model::purpose::division;
  constexpr std::int64_t bytes = bytes_in_buckets(a.gradient_bytes, division.shards);
  bucket_list<bucket_count(bytes)> out;
  out.bytes = bytes;
  for (int b = 0; b < out.count; ++b) {
    out.of[b].offset = b * bucket_bytes;
    out.of[b].bytes = std::min(bucket_bytes, bytes - out.of[b].offset);
    out.of[b].is_cut = division.shards_moments || out.of[b].bytes >= least_cut_bytes;
    out.of[b].received_offset = out.received_bytes;
    out.received_bytes += out.of[b].is_cut ? out.of[b].bytes / 2 : out.of[b].bytes;
  }
  const auto note = [&](const address& at, std::int64_t size, int ready) {
    if (at.base != gradient_base) return;
    for (std::int64_t b = at.offset / bucket_bytes; b < out.count && b * bucket_bytes < at.offset + size; ++b)
      out.of[b].ready = std::max(out.of[b].ready, ready);
  };
  for (int i = 0; i < end; ++i) {
    const auto note_value = [&](int v) { note(Compiled::layout.of[v], s.result(v).bytes, i + 1); };
    for (int m = f.steps[i].begin; m < f.steps[i].end; ++m) note_value(f.members[m]);
    for_each_read(s, f, Compiled::loops, i, note_value);
  }
  for (int i = 0; i < a.copy_count; ++i) {
    const auto& [value, to] = a.copies[i];
    if (to.base != gradient_base) continue;
    note(to, s.result(value).bytes, end);
    note(Compiled::layout.of[value], s.result(value).bytes, end);
  }
  for (int leaf = Compiled::graph.leaf_count; leaf-- > 0;) {
    if (!Compiled::model::chosen.trained[leaf]) continue;
    const std::int64_t first = a.gradient_offset[leaf];
    const std::int64_t last = first + Compiled::graph.leaf_op(leaf).results[0].as_float().bytes - 1;
    for (std::int64_t b = first / bucket_bytes; b <= last / bucket_bytes && b < out.count; ++b) out.of[b].leaf = leaf;
  }
  return out;
}

/// A value that is replaced by its mean over all shards, as soon as a plan step has computed it.
struct averaged_value {
  int value = none, step = none;
};
template <int Count>
struct averaged_values {
  averaged_value of[Count + 1] = {};
  static constexpr int count = Count;
};
/// Returns the values that are replaced by their means over all shards, in the order of their plan steps.
template <class Compiled>
constexpr auto find_averaged_values() {
  constexpr const auto& s = Compiled::schedule;
  constexpr int count = [] {
    int n = 0;
    for (int v = 0; v < s.node_count; ++v) n += s.op(v).averages_over_shards;
    return n;
  }();
  averaged_values<count> out;
  int n = 0;
  for (int v = 0; v < s.node_count; ++v) {
    if (s.op(v).averages_over_shards) out.of[n++] = {v, Compiled::steps.step_of[v]};
  }
  return out;
}

}  // namespace cairn::plans
