// The tables of a compiled plan that a program walks at run time. For each plan step, a table has the kernel, the
// constants of the plan step (step_tables.hpp), such as extents and strides, and the addresses of the operands. The
// constants of the model and the late copies are tables, too. The schedule and the graph are gone at run time.
#pragma once

#include "cairn/kernel/kernels.hpp"
#include "cairn/run/step_tables.hpp"

#include <array>
#include <bit>
#include <cstddef>
#include <cstring>

namespace cairn::detail {

/// One plan step at run time. Its operands are [first_operand, end_operand) of the operand table.
struct runtime_step {
  graphs::kernel_pointer run = nullptr;
  const void* constants = nullptr;  ///< what step_tables::constants_of returns for the plan step
  int first_operand = 0, end_operand = 0;
};
/// A value that is copied to its final address after the plan steps that compute the value have run.
struct runtime_copy {
  plans::address from, to;
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

  using table = step_tables<Compiled>;

  // The kernels of fused loops. Plan steps with equal code share the kernel of the first of these plan steps.

  static constexpr kernels::loop_operand operand_of(int i) {
    const plans::loop_input& in = l.inputs[i];
    return {in.type, in.how, in.in_pieces, in.how == graphs::access::constant ? in.immediate : 0, in.generate};
  }
  static constexpr graphs::loop_value value_of(int m, int arguments_before) {
    graphs::loop_value v = l.code[m];
    v.first -= arguments_before;
    return v;
  }
  template <int Step, int... I, int... O, int... A>
  static constexpr graphs::kernel_pointer loop_kernel(std::integer_sequence<int, I...>,
                                                      std::integer_sequence<int, O...>,
                                                      std::integer_sequence<int, A...>) {
    constexpr plans::plan_step st = f.steps[Step];
    constexpr int inputs = l.of[Step].input_begin, arguments = l.code[st.loop_begin].first;
    using loop = kernels::loop<real, l.of[Step].sum, st.loop_reads_tiles, kernels::list_of<operand_of(inputs + I)...>,
                               kernels::list_of<value_of(st.loop_begin + O, arguments)...>,
                               kernels::list_of<l.arguments[arguments + A]...>>;
    if constexpr (st.loop_reads_tiles) return &kernels::run_with_tiles<loop>;
    else if constexpr (st.kernel != graphs::none) return &kernels::run_with_rows<loop, st.loop_reads_rows>;
    else return &loop::run;
  }
  template <int Step>
  static constexpr graphs::kernel_pointer loop_kernel() {
    constexpr plans::plan_step st = f.steps[Step];
    constexpr graphs::loop_value last = l.code[st.loop_end - 1];
    return loop_kernel<Step>(
        std::make_integer_sequence<int, table::input_count(Step)>{},
        std::make_integer_sequence<int, st.loop_end - st.loop_begin>{},
        std::make_integer_sequence<int, last.first + last.arguments - l.code[st.loop_begin].first>{});
  }
  /// Returns true if the plan step is the first one with this fused loop.
  static constexpr bool owns_kernel(int step) { return f.steps[step].has_loop() && l.of[step].same_as == step; }
  static constexpr int distinct_count = [] {
    int n = 0;
    for (int i = 0; i < f.step_count; ++i) n += owns_kernel(i);
    return n;
  }();
  static constexpr auto distinct = [] {
    std::array<int, distinct_count + 1> steps{};
    std::size_t n = 0;
    for (int i = 0; i < f.step_count; ++i) {
      if (owns_kernel(i)) steps[n++] = i;
    }
    return steps;
  }();
  static constexpr auto kernels = []<std::size_t... K>(std::index_sequence<K...>) {
    struct {
      graphs::kernel_pointer of[f.step_count + 1] = {};
    } out;
    ((out.of[distinct[K]] = loop_kernel<distinct[K]>()), ...);
    return out;
  }(std::make_index_sequence<static_cast<std::size_t>(distinct_count)>{});

  // The addresses of operands.

  /// Returns the address of the first element that a map reads. `v` is a map (a slice, a transpose) whose argument is
  /// read in place.
  static constexpr plans::address address_read_through_map(int v) {
    const graphs::result_info& from = s.result(s.argument(v, 0));
    plans::address p = layout.of[s.argument(v, 0)];
    std::int64_t stride = from.bytes / from.count;
    for (int axis = from.extents.rank; axis-- > 0; stride *= from.extents.extent[axis]) {
      if (s.op(v).map[axis].in_steps()) p.offset += s.op(v).map[axis].begin * stride;
    }
    return p;
  }
  /// Calls `visit` with the address of each operand of a plan step, in the order that the kernel expects.
  static constexpr void for_each_operand(int index, auto visit) {
    const plans::plan_step& st = f.steps[index];
    const int kernel_value = st.kernel;
    const auto visit_pieces = [&](int concatenation) {
      plans::for_each_piece(s, f, concatenation, [&](int piece) { visit(layout.of[piece]); });
    };
    const auto visit_result = [&](int v) {
      visit(f.external[v] ? layout.of[v] : plans::address{plans::unwritten_base, 0});
    };
    plans::address first_stored{plans::unwritten_base, 0};
    if (st.has_loop()) {
      for (int m = st.loop_end; m-- > st.loop_begin;) {
        if (l.code[m].written) first_stored = layout.of[f.members[m]];
      }
      for (int m = st.loop_begin; m < st.loop_end; ++m) {
        if (l.code[m].written) visit(layout.of[f.members[m]]);
      }
      for (int i = l.of[index].input_begin; i < l.of[index].input_end; ++i) {
        const plans::loop_input& in = l.inputs[i];
        if (in.in_pieces) visit_pieces(in.value);
        else if (in.how != graphs::access::constant)
          visit(in.through_map ? address_read_through_map(in.value) : layout.of[in.value]);
      }
    }
    if (kernel_value == graphs::none) return;
    if (st.loop_reads_tiles) visit(first_stored);
    else visit_result(kernel_value);
    for (int r = 1; r < s.op(kernel_value).result_count; ++r) visit_result(kernel_value + r);
    for (int i = 0; i < s.op(kernel_value).argument_count; ++i) {
      const int a = s.argument(kernel_value, i);
      if (f.in_pieces[a]) visit_pieces(a);
      else if (table::is_read_through_map(a)) visit(address_read_through_map(s.root(a)));
      else visit(layout.of[a]);
    }
    if (s.op(kernel_value).has_workspace())
      visit(Compiled::threads == 0 ? plans::address{plans::workspace_base, 0}
                                   : plans::address{plans::arena_base, layout.workspace[index]});
  }

  /// The number of operands of all plan steps, and the largest number of operands of one plan step.
  struct operand_counts {
    int all = 0, most = 1;
  };
  static constexpr operand_counts operand_count = [] {
    operand_counts n;
    for (int i = 0; i < f.step_count; ++i) {
      int here = 0;
      for_each_operand(i, [&](plans::address) { ++here; });
      n.all += here;
      n.most = std::max(n.most, here);
    }
    return n;
  }();

  static constexpr auto tables = [] {
    struct {
      runtime_step steps[f.step_count + 1] = {};
      plans::address operands[executable::operand_count.all + 1] = {};
    } out;
    int next = 0;
    for (int i = 0; i < f.step_count; ++i) {
      const plans::plan_step& st = f.steps[i];
      runtime_step& made = out.steps[i];
      made.first_operand = next;
      for_each_operand(i, [&](plans::address p) { out.operands[next++] = p; });
      made.end_operand = next;
      made.run = st.has_loop() ? kernels.of[l.of[i].same_as] : s.op(st.kernel).run;
      made.constants = table::constants_of(i);
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
  /// Returns the bytes of the model's constants that kernels read from memory.
  template <int... I>
  static constexpr auto constants_as_bytes(std::integer_sequence<int, I...>) {
    struct {
      alignas(plans::constant_bytes) std::byte at[(sizeof...(I) + 1) * plans::constant_bytes] = {};
    } out;
    (write<s.result(Compiled::addresses.constants[I]).element.type>(s.op(Compiled::addresses.constants[I]).value,
                                                                    out.at + I * plans::constant_bytes),
     ...);
    return out;
  }
  static constexpr auto model_constants =
      constants_as_bytes(std::make_integer_sequence<int, Compiled::addresses.constant_count>{});

  static constexpr auto late_copies = [] {
    std::array<runtime_copy, static_cast<std::size_t>(Compiled::addresses.copy_count)> out{};
    for (std::size_t i = 0; i < out.size(); ++i) {
      const plans::late_copy& copy = Compiled::addresses.copies[i];
      out[i] = {layout.of[copy.value], copy.to, s.result(copy.value).bytes};
    }
    return out;
  }();

  /// Runs the plan steps [begin, end). `bases` are the bases of plan/places.hpp, followed by the addresses of the
  /// leaves.
  static void run(std::byte* const* bases, int begin = 0, int end = f.step_count) {
    run(bases, begin, end, kernels::threads_at_hand(Compiled::threads));
  }
  /// Runs the plan steps [begin, end) on `threads` threads.
  static void run(std::byte* const* bases, int begin, int end, int threads) {
    for (int i = begin; i < end; ++i) {
      const runtime_step& step = tables.steps[i];
      void* at[operand_count.most];
      for (int k = step.first_operand; k < step.end_operand; ++k)
        at[k - step.first_operand] = bases[tables.operands[k].base] + tables.operands[k].offset;
      step.run(step.constants, at, threads);
    }
  }
  /// Copies the results whose final address is not where the plan steps computed them. Copies a result only if
  /// `is_wanted` returns true for the base of its final address.
  static void copy_to_final_addresses(std::byte* const* bases, auto is_wanted) {
    for (const runtime_copy& copy : late_copies) {
      if (is_wanted(copy.to.base))
        std::memcpy(bases[copy.to.base] + copy.to.offset, bases[copy.from.base] + copy.from.offset,
                    static_cast<std::size_t>(copy.bytes));
    }
  }
  /// Copies the results at final addresses of base `which` back to where the plan steps computed them.
  static void copy_from_final_addresses(std::byte* const* bases, int which) {
    for (const runtime_copy& copy : late_copies) {
      if (copy.to.base == which)
        std::memcpy(bases[copy.from.base] + copy.from.offset, bases[copy.to.base] + copy.to.offset,
                    static_cast<std::size_t>(copy.bytes));
    }
  }
};
}  // namespace cairn::detail
