// A hash by which processes that train one program notice that their programs differ.
#pragma once

#include "cairn/base/hash.hpp"
#include "cairn/run/kept.hpp"
#include "cairn/run/machine.hpp"

#include <cstdint>

namespace cairn::detail {

/// Returns a hash of everything about the plan that must be equal in all processes.
template <class Compiled>
std::uint64_t plan_hash(std::uint64_t hash) {
  const auto mix = [&](const auto& number) {
    hash = hash64_of({reinterpret_cast<const char*>(&number), sizeof number}, hash);
  };
  hash = hash64_of(compiled_as, hash);
  mix(sizeof(typename Compiled::real));
  mix(Compiled::model::purpose::division.shards);
  mix(Compiled::model::purpose::division.microbatches);
  mix(Compiled::model::purpose::division.shards_moments);
  mix(Compiled::model::purpose::clip.at);
  for (const kept_tensor& one : kept_tensors<Compiled>) {
    hash = hash64_of(one.moment, hash64_of(one.name, hash));
    for (int axis = 0; axis < one.extents.rank; ++axis) mix(one.extents[axis]);
    mix(one.type);
  }
  for (const runtime_leaf& one : machine<Compiled>::leaves) {
    mix(one.what);
    mix(one.count);
    mix(one.bytes);
    mix(one.long_hash);
  }
  for (const plans::address& one : executable<Compiled>::tables.operands) {
    mix(one.base);
    mix(one.offset);
  }
  static constexpr std::uint64_t operations = [] {
    std::uint64_t all = 0;
    for (int v = 0; v < Compiled::schedule.node_count; ++v) all = (all ^ Compiled::schedule.op(v).hash) * 0x100000001b3;
    return all;
  }();
  mix(operations);
  return hash;
}

}  // namespace cairn::detail
