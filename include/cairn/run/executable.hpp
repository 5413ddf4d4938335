// The tables of a compiled plan that a program walks at run time. For each plan step, a table has the kernel, the
// constants of the kernel, and the addresses of the operands. Nothing else of the plan is left at run time.
#pragma once

#include "cairn/run/step_tables.hpp"
#include "cairn/kernel/kernels.hpp"

#include <array>
#include <bit>
#include <cstddef>
#include <cstring>

namespace cairn {

/// One plan step at run time. Its operands are [begin, end) of the operand table.
struct runtime_step {
  graph::kernel_pointer run = nullptr;
  const void* constants = nullptr;
  int begin = 0, end = 0;
};
/// A value that is copied to its final address after the plan steps that compute the value have run.
struct runtime_copy {
  plan::place from, to;
  std::int64_t bytes;
};

/// The tables of a compiled model.
template <class Compiled>
struct executable {
  using real = typename Compiled::real;
  static constexpr const auto& s = Compiled::schedule;
  static constexpr const auto& f = Compiled::steps;
  static constexpr const auto& l = Compiled::loops;
  static constexpr const auto& layout = Compiled::layout;

  using told = step_tables<Compiled>;

  // The kernels of fused loops. Plan steps with equal code share the kernel of the first of these plan steps.

  static constexpr kernel::loop_operand operand_of(int i) {
    const plan::loop_input& in = l.inputs[i];
    return {in.type, in.how, in.joined, in.how == graph::access::constant ? in.immediate : 0, in.generate};
  }
  static constexpr graph::loop_value value_of(int m, int arguments_before) {
    graph::loop_value v = l.code[m];
    v.first -= arguments_before;
    return v;
  }
  template <int Step, int... I, int... O, int... A>
  static constexpr graph::kernel_pointer loop_kernel(std::integer_sequence<int, I...>, std::integer_sequence<int, O...>,
                                                     std::integer_sequence<int, A...>) {
    constexpr plan::step st = f.steps[Step];
    constexpr int inputs = l.of[Step].input_begin, arguments = l.code[st.code].first;
    using loop = kernel::loop<real, l.of[Step].sum, st.tiles, kernel::list_of<operand_of(inputs + I)...>,
                              kernel::list_of<value_of(st.code + O, arguments)...>,
                              kernel::list_of<l.arguments[arguments + A]...>>;
    if constexpr (st.tiles) return &kernel::run_with_tiles<loop>;
    else if constexpr (st.kernel != graph::none) return &kernel::run_with_rows<loop, st.follows>;
    else return &loop::run;
  }
  template <int Step>
  static constexpr graph::kernel_pointer loop_kernel() {
    constexpr plan::step st = f.steps[Step];
    constexpr graph::loop_value last = l.code[st.code_end - 1];
    return loop_kernel<Step>(std::make_integer_sequence<int, told::inputs_of(Step)>{},
                             std::make_integer_sequence<int, st.code_end - st.code>{},
                             std::make_integer_sequence<int, last.first + last.arguments - l.code[st.code].first>{});
  }
  static constexpr bool is_first(int step) { return f.steps[step].loop() && l.of[step].same_as == step; }
  static constexpr int distinct_count = [] {
    int n = 0;
    for (int i = 0; i < f.step_count; ++i) n += is_first(i);
    return n;
  }();
  static constexpr auto distinct = [] {
    std::array<int, distinct_count + 1> steps{};
    std::size_t n = 0;
    for (int i = 0; i < f.step_count; ++i) {
      if (is_first(i)) steps[n++] = i;
    }
    return steps;
  }();
  static constexpr auto kernels = []<std::size_t... K>(std::index_sequence<K...>) {
    struct {
      graph::kernel_pointer of[f.step_count + 1] = {};
    } out;
    ((out.of[distinct[K]] = loop_kernel<distinct[K]>()), ...);
    return out;
  }(std::make_index_sequence<static_cast<std::size_t>(distinct_count)>{});

  // The addresses of operands.

  /// Returns the address at which value `v` is read. If `map` is true, `v` is a map (a slice, a transpose) and its
  /// argument is read in place. The address is then that of the first element that the map reads.
  static constexpr plan::place place_of(int v, bool map) {
    plan::place p = layout.of[v];
    if (!map) return p;
    const graph::result_info& from = s.result(s.argument(v, 0));
    p = layout.of[s.argument(v, 0)];
    std::int64_t stride = from.bytes / from.count;
    for (int axis = from.extents.rank; axis-- > 0; stride *= from.extents.extent[axis]) {
      if (s.op(v).map[axis].in_steps()) p.offset += s.op(v).map[axis].begin * stride;
    }
    return p;
  }
  /// Calls `visit` with the address of each operand of a plan step, in the order that the kernel expects.
  static constexpr void for_each_operand(int index, auto visit) {
    const plan::step& st = f.steps[index];
    const int head = st.kernel;
    const auto visit_pieces = [&](int joined) {
      plan::for_each_piece(s, f, joined, [&](int piece) { visit(layout.of[piece]); });
    };
    const auto result = [&](int v) { visit(f.external[v] ? layout.of[v] : plan::place{plan::nowhere, 0}); };
    plan::place first{plan::nowhere, 0};
    if (st.loop()) {
      for (int m = st.code_end; m-- > st.code;) {
        if (l.code[m].stored) first = layout.of[f.members[m]];
      }
      for (int m = st.code; m < st.code_end; ++m) {
        if (l.code[m].stored) visit(layout.of[f.members[m]]);
      }
      for (int i = l.of[index].input_begin; i < l.of[index].input_end; ++i) {
        const plan::loop_input& in = l.inputs[i];
        if (in.joined) visit_pieces(in.value);
        else if (in.how != graph::access::constant) visit(place_of(in.value, in.map));
      }
    }
    if (head == graph::none) return;
    if (st.tiles) visit(first);
    else result(head);
    for (int r = 1; r < s.op(head).result_count; ++r) result(head + r);
    for (int i = 0; i < s.op(head).argument_count; ++i) {
      const int a = s.argument(head, i);
      if (f.joined[a]) visit_pieces(a);
      else if (told::is_mapped(a)) visit(place_of(s.root(a), true));
      else visit(place_of(a, false));
    }
    if (s.op(head).has_workspace())
      visit(Compiled::threads == 0 ? plan::place{plan::scratch_base, 0}
                                   : plan::place{plan::arena_base, layout.scratch[index]});
  }

  struct operand_counts {
    int all = 0, most = 1;
  };
  static constexpr operand_counts operands = [] {
    operand_counts n;
    for (int i = 0; i < f.step_count; ++i) {
      int here = 0;
      for_each_operand(i, [&](plan::place) { ++here; });
      n.all += here;
      n.most = std::max(n.most, here);
    }
    return n;
  }();

  static constexpr auto tables = [] {
    struct {
      runtime_step steps[f.step_count + 1] = {};
      plan::place operands[executable::operands.all + 1] = {};
    } out;
    int next = 0;
    for (int i = 0; i < f.step_count; ++i) {
      const plan::step& st = f.steps[i];
      runtime_step& made = out.steps[i];
      made.begin = next;
      for_each_operand(i, [&](plan::place p) { out.operands[next++] = p; });
      made.end = next;
      made.run = st.loop() ? kernels.of[l.of[i].same_as] : s.op(st.kernel).run;
      made.constants = told::constants_of(i);
    }
    return out;
  }();

  /// Writes a constant that kernels read from memory, as a number of element type `T`.
  template <dtype T>
  static constexpr void write(double value, std::byte* to) {
    using number = stored_as<T, real>;
    using given = std::conditional_t<std::is_arithmetic_v<number>, double, real>;
    const auto bytes =
        std::bit_cast<std::array<std::byte, sizeof(number)>>(static_cast<number>(static_cast<given>(value)));
    for (std::size_t i = 0; i < sizeof(number); ++i) to[i] = bytes[i];
  }
  template <int... I>
  static constexpr auto written(std::integer_sequence<int, I...>) {
    struct {
      alignas(plan::constant_bytes) std::byte at[(sizeof...(I) + 1) * plan::constant_bytes] = {};
    } out;
    (write<s.result(Compiled::places.constants[I]).element.type>(s.op(Compiled::places.constants[I]).value,
                                                                 out.at + I * plan::constant_bytes),
     ...);
    return out;
  }
  static constexpr auto constants = written(std::make_integer_sequence<int, Compiled::places.constant_count>{});

  static constexpr auto late_copies = [] {
    std::array<runtime_copy, static_cast<std::size_t>(Compiled::places.copy_count)> out{};
    for (std::size_t i = 0; i < out.size(); ++i) {
      const plan::late_copy& copy = Compiled::places.copies[i];
      out[i] = {layout.of[copy.value], copy.to, s.result(copy.value).bytes};
    }
    return out;
  }();

  /// Runs the plan steps [begin, end). `bases` are the bases of places.hpp, followed by the addresses of the leaves.
  static void run(std::byte* const* bases, int begin = 0, int end = f.step_count) {
    run(bases, begin, end, kernel::threads_at_hand(Compiled::threads));
  }
  /// Runs the plan steps [begin, end) on `threads` threads.
  static void run(std::byte* const* bases, int begin, int end, int threads) {
    for (int i = begin; i < end; ++i) {
      const runtime_step& step = tables.steps[i];
      void* at[operands.most];
      for (int k = step.begin; k < step.end; ++k)
        at[k - step.begin] = bases[tables.operands[k].base] + tables.operands[k].offset;
      step.run(step.constants, at, threads);
    }
  }
  /// Copies the results whose final address is not where the plan steps computed them. Copies a result only if
  /// `is_wanted` returns true for the base of its final address.
  static void write_late(std::byte* const* bases, auto is_wanted) {
    for (const runtime_copy& copy : late_copies) {
      if (is_wanted(copy.to.base))
        std::memcpy(bases[copy.to.base] + copy.to.offset, bases[copy.from.base] + copy.from.offset,
                    static_cast<std::size_t>(copy.bytes));
    }
  }
};

}  // namespace cairn
