// Compiles a value of the language by itself, with arrays of its own for all leaves. Benchmarks of values run it.
#pragma once

#include "cairn/kernel/float_mode.hpp"
#include "cairn/run/arena.hpp"
#include "cairn/run/machine.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace cairn::detail {

/// Runs the plan of a predictor on numbers that are drawn once. Inputs are drawn from [-1, 1), and indices below their
/// bound. Parameters start as they declare.
template <class Compiled>
class value_runner {
  using machine = detail::machine<Compiled>;
  using real = typename Compiled::real;

 public:
  explicit value_runner(seed s)
      : arena_(static_cast<std::size_t>(Compiled::layout.peak_bytes)), snapshots_(machine::elsewhere_bytes) {
    const kernels::default_float_mode mode;
    machine_.base(plans::arena_base) = arena_.data();
    machine_.base(plans::elsewhere_base) = snapshots_.data();
    machine_.bind_inputs({});
    machine_.set_random_streams(s, 0);
    for (int i = 0; i < machine::leaf_count; ++i) {
      const runtime_leaf& leaf = machine::leaf(i);
      if (leaf.what != graphs::role::input && leaf.what != graphs::role::parameter) continue;
      machine_.leaf_base(i) = leaves_.emplace_back(static_cast<std::size_t>(leaf.bytes)).data();
      draw_leaf(i, random_sequence(s, machine::sequence_of(i)));
    }
  }
  void operator()() {
    const kernels::default_float_mode mode;
    machine_.run(0, machine::step_count);
  }

 private:
  void draw_leaf(int i, random_sequence random) {
    const runtime_leaf& leaf = machine::leaf(i);
    const auto count = static_cast<std::size_t>(leaf.count);
    const element_type element = machine::graph.leaf_op(i).results[0].element;
    if (kind_of(element.type) == kind::whole) {
      for (auto& index : std::span(reinterpret_cast<std::int32_t*>(machine_.leaf_base(i)), count))
        index = static_cast<std::int32_t>(random.below(static_cast<std::uint32_t>(element.bound)));
      return;
    }
    const initial start = leaf.what == graphs::role::parameter ? leaf.start : initial::uniform(1);
    const auto fill = [&]<class Number>(Number* numbers) {
      for (Number& number : std::span(numbers, count))
        number = static_cast<Number>(static_cast<real>(draw_initial(start, random)));
    };
    if (leaf.is_bf16) fill(reinterpret_cast<bf16*>(machine_.leaf_base(i)));
    else fill(reinterpret_cast<real*>(machine_.leaf_base(i)));
  }

  machine machine_;
  memory_block arena_, snapshots_;
  std::vector<memory_block> leaves_;
};

}  // namespace cairn::detail
