// A compiled plan as the tables that a program walks: for each step a kernel and where its operands lie.
#pragma once

#include "cairn/kernel/elementwise.hpp"
#include "cairn/kernel/kernels.hpp"
#include "cairn/pass/compile.hpp"

#include <array>
#include <cstddef>

namespace cairn {

/// One step at run time: operands [begin, end) of the operand table.
struct runtime_step {
  ir::kernel_pointer run = nullptr;
  int begin = 0, end = 0;
};

/// The tables of a compiled model.
template <class Compiled>
struct executable {
  using real = typename Compiled::real;
  static constexpr const auto& schedule = Compiled::schedule;
  static constexpr const auto& fused = Compiled::steps;
  static constexpr const auto& loops = Compiled::loops;
  static constexpr const auto& layout = Compiled::layout;
  static constexpr int step_count = fused.step_count;
  static constexpr int max_operands = pass::max_loop_inputs + pass::max_loop_operations + 3;

  static constexpr kernel::loop_operand operand_of(int i) {
    const pass::loop_input& in = loops.inputs[i];
    return {in.stretched, in.constant, in.immediate};
  }
  static constexpr kernel::loop_operation operation_of(int m) {
    kernel::loop_operation o{loops.code[m].lanes, {}, loops.code[m].stored};
    for (int i = 0; i < ir::max_arguments; ++i) o.argument[i] = loops.code[m].argument[i];
    return o;
  }

  /// The kernels of distinct loops, by the number of the first step that runs them.
  template <int Step>
  static constexpr pass::loop loop_at = loops.of[Step];
  template <int Step, int... I, int... O>
  static constexpr ir::kernel_pointer loop_kernel(std::integer_sequence<int, I...>, std::integer_sequence<int, O...>) {
    constexpr pass::loop l = loop_at<Step>;
    using loop = kernel::loop<real, l.extents, l.summed, kernel::values<operand_of(l.input_begin + I)...>,
                              kernel::values<operation_of(fused.steps[Step].begin + O)...>>;
    if constexpr (l.product == nullptr) return &loop::run;
    else return &kernel::multiply_into<real, l.product->multiplied, loop>;
  }
  template <int Step>
  static constexpr ir::kernel_pointer loop_kernel() {
    constexpr int inputs = loop_at<Step>.input_end - loop_at<Step>.input_begin;
    constexpr int operations = fused.steps[Step].end - fused.steps[Step].begin;
    return loop_kernel<Step>(std::make_integer_sequence<int, inputs>{}, std::make_integer_sequence<int, operations>{});
  }
  static constexpr int distinct_count = [] {
    int n = 0;
    for (int i = 0; i < step_count; ++i) n += fused.steps[i].loop && loops.of[i].same_as == i ? 1 : 0;
    return n;
  }();
  static constexpr auto distinct = [] {
    std::array<int, distinct_count + 1> steps{};
    int n = 0;
    for (int i = 0; i < step_count; ++i) {
      if (fused.steps[i].loop && loops.of[i].same_as == i) steps[static_cast<std::size_t>(n++)] = i;
    }
    return steps;
  }();
  static constexpr auto kernels = []<std::size_t... K>(std::index_sequence<K...>) {
    struct {
      ir::kernel_pointer of[fused.step_count + 1] = {};
    } out;
    ((out.of[distinct[K]] = loop_kernel<distinct[K]>()), ...);
    return out;
  }(std::make_index_sequence<static_cast<std::size_t>(distinct_count)>{});

  /// Calls `visit` with the places of a step's operands, in the order that its kernel expects.
  static constexpr void for_each_operand(int index, auto visit) {
    const pass::step& s = fused.steps[index];
    if (s.loop) {
      for (int m = s.begin; m < s.end; ++m) {
        if (loops.code[m].stored) visit(layout.of[fused.members[m]]);
      }
      for (int i = loops.of[index].input_begin; i < loops.of[index].input_end; ++i) {
        if (!loops.inputs[i].constant) visit(layout.of[loops.inputs[i].value]);
      }
    } else {
      visit(layout.of[fused.members[s.begin]]);
    }
    if (!s.loop || s.product) {
      const ir::node& n = schedule.nodes[fused.members[s.begin]];
      for (int i = 0; i < n.op->arguments; ++i) visit(layout.of[n.argument[i]]);
      if (n.op->scratch.numbers(1) > 0) visit(pass::place{pass::arena_base, layout.scratch[index]});
    }
  }

  static constexpr int operand_count = [] {
    int n = 0;
    for (int i = 0; i < step_count; ++i) for_each_operand(i, [&](pass::place) { ++n; });
    return n;
  }();

  static constexpr auto tables = [] {
    struct {
      runtime_step steps[step_count + 1] = {};
      pass::place operands[operand_count + 1] = {};
      real constants[Compiled::places.constant_count + 1] = {};
    } out;
    int n = 0;
    for (int i = 0; i < step_count; ++i) {
      const pass::step& s = fused.steps[i];
      out.steps[i].begin = n;
      for_each_operand(i, [&](pass::place p) { out.operands[n++] = p; });
      out.steps[i].end = n;
      out.steps[i].run = s.loop ? kernels.of[loops.of[i].same_as] : schedule.nodes[fused.members[s.begin]].op->run;
    }
    for (int i = 0; i < Compiled::places.constant_count; ++i) {
      out.constants[i] = static_cast<real>(schedule.nodes[Compiled::places.constants[i]].op->value);
    }
    return out;
  }();

  /// Runs all steps. `bases` are the arena, the gradients, the constants, and the leaves in order.
  static void run(std::byte* const* bases) {
    const int threads = kernel::threads_at_hand(Compiled::request::threads);
    for (int i = 0; i < step_count; ++i) {
      const runtime_step& s = tables.steps[i];
      void* operands[max_operands];
      for (int k = s.begin; k < s.end; ++k) {
        operands[k - s.begin] = bases[tables.operands[k].base] + tables.operands[k].offset;
      }
      s.run(operands, threads);
    }
  }
};

}  // namespace cairn
