// A hash by which processes that train one program notice that their programs differ.
#pragma once

#include "cairn/base/hash.hpp"
#include "cairn/base/type_name.hpp"
#include "cairn/run/kept.hpp"
#include "cairn/run/machine.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>

namespace cairn::detail {

/// The generated arrays of a plan, by the code that computes their elements. In a loop, they are part of its operation.
template <class Compiled>
inline constexpr auto generated_arrays = [] {
  struct generated {
    const graphs::generator* code = nullptr;
    std::int64_t count = 0;
  };
  const auto for_each = [](auto visit) {
    for (int v = 0; v < Compiled::schedule.node_count; ++v) {
      if (Compiled::schedule.op(v).what == graphs::role::generated) visit(v);
    }
  };
  constexpr int count = [=] {
    int n = 0;
    for_each([&](int) { ++n; });
    return n;
  }();
  std::array<generated, count> out{};
  std::size_t n = 0;
  for_each([&](int v) { out[n++] = {Compiled::schedule.op(v).generate, Compiled::schedule.result(v).count}; });
  return out;
}();

/// Returns a hash of everything about the plan that must be equal in all processes. `hash` is a hash of numbers that
/// are not part of it. The code of functions that the user wrote is not in the hash. Of generated arrays, the hash has
/// the first elements.
template <class Compiled>
std::uint64_t plan_hash(std::uint64_t hash) {
  using purpose = typename Compiled::model::purpose;
  const auto mix = [&](const auto& number) {
    hash = hash64_of({reinterpret_cast<const char*>(&number), sizeof number}, hash);
  };
  hash = hash64_of(compiled_as, hash);
  // The purpose has the options: types, frozen parameters, update rules, clipping, and how the batch is divided.
  mix(hash_of_type<purpose>());
  mix(purpose::clip.at);
  for (const kept_tensor& one : kept_tensors<Compiled>) hash = hash64_of(one.moment, hash64_of(one.name, hash));
  for (const runtime_leaf& one : machine<Compiled>::leaves) mix(one.long_hash);
  for (const plans::address& one : executable<Compiled>::tables.operands) {
    mix(one.base);
    mix(one.offset);
  }
  static constexpr std::uint64_t values = graphs::hash_of_values(Compiled::schedule);
  mix(values);
  for (const auto& [code, count] : generated_arrays<Compiled>) {
    std::array<double, 1024> elements{};
    code->run(elements.data(), 0, static_cast<int>(std::min<std::int64_t>(count, std::ssize(elements))));
    mix(elements);
  }
  return hash;
}

}  // namespace cairn::detail
