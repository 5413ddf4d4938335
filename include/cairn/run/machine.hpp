// The memory of a program or predictor, and how both run their plans.
#pragma once

#include "cairn/base/hash.hpp"
#include "cairn/base/philox.hpp"
#include "cairn/base/tensor_view.hpp"
#include "cairn/check/figures.hpp"
#include "cairn/check/use.hpp"
#include "cairn/kernel/amx.hpp"
#include "cairn/run/arena.hpp"
#include "cairn/run/bind.hpp"
#include "cairn/run/executable.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <span>
#include <utility>

namespace cairn::detail {

/// Returns a view of shape `S` of the numbers at `at`. The view does not own the numbers.
template <shape S, class Number>
static_view<Number, S> view_of(Number* at) {
  return static_view<Number, S>(at);
}

/// Draws a normal number of two uniform ones: Box and Muller, A note on the generation of random normal deviates
/// (1958).
inline double draw_normal(random_sequence& draw) {
  const auto random = [&] { return static_cast<double>(uniform(draw())); };
  const double radius = std::sqrt(-2 * std::log(1 - random()));
  return radius * std::cos(2 * std::numbers::pi * random());
}
/// Draws one number of a parameter. For an orthogonal matrix, it is a number of the matrix of which it is made. A
/// program without parameters that need normal numbers sets Normal to false, and does not contain their code.
template <bool Normal = true>
double draw_initial(const initial& start, random_sequence& draw) {
  if (start.drawn == initial::law::constant) return start.fill;
  if constexpr (Normal) {
    if (start.is_normal()) {
      double number = draw_normal(draw);
      while (start.drawn == initial::law::truncated_normal && std::abs(number) > 2) number = draw_normal(draw);
      return start.width * number;
    }
  }
  return (2 * static_cast<double>(uniform(draw())) - 1) * start.width;
}

/// The facts about a leaf that are needed at run time.
struct runtime_leaf {
  graphs::role what;
  bool trained;
  bool has_next;  ///< true for a state or a cache that the training step updates
  bool is_bf16;   ///< true for a parameter that is stored as bf16
  int first_extent;
  std::int64_t count, bytes, offset, gradient_offset;
  initial start;
  std::uint32_t hash;       ///< 32-bit hash of the leaf's name
  std::uint64_t long_hash;  ///< 64-bit hash of the leaf's name
  plans::address next;      ///< address of the next value, if `has_next`
};

/// The facts about a moment that are needed at run time. `base` is the moment's own base, `offset` is the moment's
/// offset in the program's block of moments, and `bytes` is its size.
struct runtime_moment {
  int base;
  std::int64_t offset, bytes;
};

[[noreturn, gnu::cold, gnu::noinline]] inline void refuse_scattered_parameters() {
  refuse(
      program_error("cairn: the parameters of this program do not lie next to one another, because it shares them with "
                    "a program that trains others; give it update<...>, or use for_each_parameter"));
}

/// The common part of program and predictor: the memory of a compiled model, its inputs and its results.
template <class Compiled>
class machine {
 public:
  using real = typename Compiled::real;
  static constexpr const auto& graph = Compiled::graph;
  static constexpr int leaf_count = graph.leaf_count;

  static constexpr auto leaves = [] {
    std::array<runtime_leaf, static_cast<std::size_t>(leaf_count) + 1> out{};
    int updated = graph.result_count;
    for (int i = 0; i < leaf_count; ++i) {
      const graphs::operation& op = graph.leaf_op(i);
      const std::string_view name = graph.name(graph.leaves[i]);
      runtime_leaf& made = out[static_cast<std::size_t>(i)];
      made = {op.what,
              Compiled::model::chosen.trained[i],
              graph.leaves[i].next_value != graphs::none,
              op.what == graphs::role::parameter && op.results[0].element.type == dtype::bf16,
              op.results[0].extents.rank > 0 ? op.results[0].extents[0] : 1,
              op.results[0].count,
              op.results[0].bytes,
              Compiled::addresses.leaf_offset[i],
              Compiled::addresses.gradient_offset[i],
              op.start,
              hash_of(name),
              hash64_of(name),
              {}};
      if (made.has_next) made.next = Compiled::layout.of[Compiled::schedule.outputs[updated++]];
    }
    return out;
  }();
  static constexpr const runtime_leaf& leaf(int i) { return leaves[static_cast<std::size_t>(i)]; }
  /// True if a parameter starts as an orthogonal matrix, or with normal numbers. If not, the program does not contain
  /// the code that draws them.
  static constexpr bool draws_orthogonal = [] {
    for (const runtime_leaf& leaf : leaves) {
      if (leaf.start.drawn == initial::law::orthogonal) return true;
    }
    return false;
  }();
  static constexpr bool draws_normal = [] {
    for (const runtime_leaf& leaf : leaves) {
      if (leaf.start.is_normal()) return true;
    }
    return false;
  }();
  static constexpr int carry_count = Compiled::schedule.carry_count;
  static constexpr auto moments = [] {
    constexpr const auto& s = Compiled::schedule;
    constexpr int count = [] {
      int n = 0;
      for (int i = 0; i < carry_count; ++i) n += s.carries[i].moment != graphs::none;
      return n;
    }();
    std::array<runtime_moment, static_cast<std::size_t>(count)> out{};
    std::size_t next = 0;
    for (int i = 0; i < carry_count; ++i) {
      const int before = s.carries[i].before;
      if (s.carries[i].moment != graphs::none)
        out[next++] = {Compiled::layout.of[before].base, Compiled::addresses.moment_offset[i], s.result(before).bytes};
    }
    return out;
  }();
  /// Returns the shape of leaf `i`. The function is consteval, so that the compiled program does not contain the graph.
  static consteval shape extents_of(int i) { return graph.leaf_op(i).results[0].extents; }

  /// Returns the number of the random sequence from which parameter or input `i` is drawn. No two leaves of one role
  /// have the same number. The low half of the number is the 32-bit hash of the leaf's name. The high half is 0 unless
  /// several leaves of one role have the same 32-bit hash. These leaves are then sorted by their 64-bit hashes, and the
  /// high half is the rank of the leaf, counted from 0.
  static std::uint64_t sequence_of(int i) {
    const auto order_of = [](int leaf_number) { return std::pair{leaf(leaf_number).long_hash, leaf_number}; };
    std::uint64_t before = 0;
    for (int j = 0; j < leaf_count; ++j)
      before += leaf(j).hash == leaf(i).hash && leaf(j).what == leaf(i).what && order_of(j) < order_of(i);
    return before << 32 | leaf(i).hash;
  }

  /// Throws program_error if products of bf16 are compiled for AMX and the system does not permit the use of AMX's tile
  /// registers.
  machine() {
    if constexpr (multiplies_tiles && has_bf16_product) kernels::request_tile_registers();
  }

  std::byte* const* bases() const { return bases_; }
  /// Returns the addresses of the leaves.
  std::byte* const* leaf_bases() const { return bases_ + plans::leaf_base; }
  static constexpr std::span<const runtime_leaf> all_leaves() {
    return {leaves.data(), static_cast<std::size_t>(leaf_count)};
  }
  /// Places the leaves of role `what` (parameters and states, or caches) in the memory that begins at `at`.
  void set_leaf_addresses(std::byte* at, graphs::role what = graphs::role::parameter) {
    for (int i = 0; i < leaf_count; ++i) {
      if (leaf(i).what == what) leaf_base(i) = at + leaf(i).offset;
    }
  }
  /// Returns the address of the first trained parameter, or `otherwise` if nothing is trained. Throws program_error if
  /// the trained parameters do not lie next to one another in the order of their offsets.
  std::byte* trained_block(std::byte* otherwise) const {
    std::byte* first = nullptr;
    for (int i = 0; i < leaf_count; ++i) {
      if (!leaf(i).trained) continue;
      std::byte* const begin = leaf_bases()[i] - leaf(i).offset;
      if (first != nullptr && begin != first) refuse_scattered_parameters();
      first = begin;
    }
    return first == nullptr ? otherwise : first;
  }
  /// Places the moments in the memory that begins at `at`.
  void set_moment_addresses(std::byte* at) {
    for (const runtime_moment& one : moments) base(one.base) = at + one.offset;
  }
  std::byte*& base(int which) { return bases_[which]; }
  std::byte*& leaf_base(int i) { return bases_[plans::leaf_base + i]; }
  std::byte* at(const plans::address& p) const { return bases_[p.base] + p.offset; }

  /// The kinds of contents that a part of memory can have.
  /// - `values`: values of one training step.
  /// - `snapshots`: snapshots of scans.
  /// - `unchanging`: numbers that outlive a training step, and that no training step changes.
  /// - `updated_by_step`: numbers that outlive a training step, and that a training step may change.
  enum class contents : std::uint8_t { values, snapshots, unchanging, updated_by_step };
  /// Returns how many bytes `memory` shares with this machine's memory. Only parts of the machine's memory for which
  /// is_meant(contents) is true count. If several of these parts overlap `memory`, the function counts only the first
  /// of them.
  std::size_t shared_bytes(std::span<const std::byte> memory, auto is_meant) const {
    constexpr bool updates = Compiled::model::purpose::updates_parameters;
    std::size_t shared = 0;
    const auto look = [&](int which, std::int64_t bytes, contents what) {
      if (shared == 0 && is_meant(what))
        shared = common_bytes(memory, {bases_[which], static_cast<std::size_t>(bytes)});
    };
    look(plans::arena_base, arena_bytes<Compiled>(), contents::values);
    look(plans::gradient_base, bytes_of_sums_, contents::updated_by_step);
    for (const runtime_moment& one : moments) look(one.base, one.bytes, contents::updated_by_step);
    look(plans::elsewhere_base, Compiled::addresses.elsewhere_bytes, contents::snapshots);
    for (int i = 0; i < leaf_count; ++i) {
      const bool is_updated = leaf(i).has_next || (updates && leaf(i).trained);
      if (graphs::is_persistent(leaf(i).what))
        look(plans::leaf_base + i, leaf(i).bytes, is_updated ? contents::updated_by_step : contents::unchanging);
    }
    return shared;
  }

  /// Sets how many bytes the block of gradients and the sums behind it have.
  void set_bytes_of_sums(std::int64_t bytes) { bytes_of_sums_ = bytes; }
  std::int64_t bytes_of_sums() const { return bytes_of_sums_; }

  /// Calls visit(bytes) with the memory of each parameter, each state and each moment, and with the block of gradients.
  void for_each_lasting(auto visit) const {
    const auto visit_base = [&](int which, std::int64_t bytes) {
      visit(std::span(bases_[which], static_cast<std::size_t>(bytes)));
    };
    for (int i = 0; i < leaf_count; ++i) {
      if (leaf(i).what == graphs::role::parameter) visit_base(plans::leaf_base + i, leaf(i).bytes);
    }
    for (const runtime_moment& one : moments) visit_base(one.base, one.bytes);
    visit_base(plans::gradient_base, Compiled::addresses.gradient_bytes);
  }

  /// Places snapshots in the given memory. The memory is unchanged until a training step runs. Throws memory_error if
  /// the memory is too small, not aligned, or shares bytes with the machine's other memory.
  void keep_snapshots_in(std::span<std::byte> given) {
    check_memory(given, elsewhere_bytes);
    refuse_shared_bytes(
        shared_bytes(given.first(elsewhere_bytes), [](contents what) { return what != contents::snapshots; }));
    base(plans::elsewhere_base) = given.data();
  }
  /// Throws program_error if the scans need memory for snapshots and no memory was given.
  void check_snapshots() const {
    if (elsewhere_bytes > 0 && bases_[plans::elsewhere_base] == nullptr)
      refuse(program_error("cairn: the snapshots of a scan lie elsewhere; call keep_snapshots_in(memory) first"));
  }
  static constexpr auto elsewhere_bytes = static_cast<std::size_t>(Compiled::addresses.elsewhere_bytes);

  /// Makes the next runs read the given inputs. All inputs are checked before any input is used.
  template <class... Bound>
  void bind_inputs(const array_role& role, const Bound&... bound) {
    check_inputs(role, 1, bound...);
    place_inputs(0, bound...);
  }
  /// Throws extent_error or label_error if one of the arrays does not hold `count` microbatches of its input.
  template <class... Bound>
  void check_inputs(const array_role& role, [[maybe_unused]] int count, const Bound&... bound) const {
    // The compiler has checked static extents, but not that all arrays hold the same number of microbatches.
    if constexpr (Compiled::model::purpose::division.varies)
      (check_extents(role, Bound::name, whole_batch_of(input_of<Compiled, Bound>::shape, count), bound.extents,
                     bound.row_major),
       ...);
    (bound.check(whole_batch_of(input_of<Compiled, Bound>::shape, count), input_of<Compiled, Bound>::element.bound,
                 role),
     ...);
    (check_unwritten(bound, whole_batch_of(input_of<Compiled, Bound>::shape, count)), ...);
  }
  /// Makes the next runs read microbatch number `part` of the given arrays.
  template <class... Bound>
  void place_inputs([[maybe_unused]] int part, const Bound&... bound) {
    ((leaf_base(bound_leaf<Compiled, Bound>) = bytes_of(bound.data + part * input_of<Compiled, Bound>::shape.count())),
     ...);
    base(plans::constant_base) = bytes_of(executable<Compiled>::model_constants.at);
    base(plans::position_base) = bytes_of(graphs::first_position());
  }
  /// Runs the plan steps [begin, end).
  void run(int begin, int end) { executable<Compiled>::run(bases_, begin, end); }
  /// Copies the results whose final address is not where the plan steps computed them. Copies a result only if
  /// `is_wanted` returns true for the base of its final address.
  void copy_to_final_addresses(auto is_wanted) { executable<Compiled>::copy_to_final_addresses(bases_, is_wanted); }
  static constexpr int turn = Compiled::steps.turn, first_update_step = Compiled::steps.first_update_step,
                       step_count = Compiled::steps.step_count;
  /// The first plan step that a training step runs once, behind those of each microbatch.
  static constexpr int end_of_microbatch =
      Compiled::schedule.first_update == graphs::none ? step_count : first_update_step;

  /// Gives the states and caches their next values.
  void update_states() {
    for (int i = 0; i < leaf_count; ++i) {
      if (leaf(i).has_next) std::memcpy(leaf_base(i), at(leaf(i).next), static_cast<std::size_t>(leaf(i).bytes));
    }
  }
  /// Runs another plan over the same leaves and the same arena.
  template <class Other>
  void run_other() {
    base(plans::constant_base) = bytes_of(executable<Other>::model_constants.at);
    executable<Other>::run(bases_);
  }
  /// Returns the single number of the program's type at an address.
  real number_at(const plans::address& p) const { return *reinterpret_cast<const real*>(at(p)); }

  /// The number of random operations.
  static constexpr std::size_t random_count = [] {
    std::size_t n = 0;
    for (int i = 0; i < leaf_count; ++i) n += leaf(i).what == graphs::role::random ? 1 : 0;
    return n;
  }();
  /// Makes random operations draw the numbers of training step `step` of seed `from`.
  void set_random_streams(seed from, std::uint32_t step) {
    std::size_t n = 0;
    for (int i = 0; n < random_count; ++i) {
      if (leaf(i).what != graphs::role::random) continue;
      streams_[n] = {from, leaf(i).long_hash, step};
      leaf_base(i) = bytes_of(&streams_[n++]);
    }
  }

  /// Returns the numbers of result I, in the type in which the result is stored. If the result is a parameter, the
  /// numbers are const, because a parameter must not be written through the view of a result.
  template <int I>
  auto result_numbers() const {
    constexpr plans::address address = Compiled::layout.of[Compiled::schedule.outputs[I]];
    using made = stored_as<graph.result(graph.outputs[I]).element.type, real>;
    using number = std::conditional_t<(address.base >= plans::leaf_base), const made, made>;
    return std::span(reinterpret_cast<number*>(at(address)), static_cast<std::size_t>(extents_of_result<I>.count()));
  }
  /// Returns a number for a scalar and a view for a tensor.
  template <int I>
  auto result() const {
    if constexpr (extents_of_result<I>.rank == 0) return result_numbers<I>()[0];
    else return view_of<extents_of_result<I>>(result_numbers<I>().data());
  }
  /// Returns the results of a model whose results are single real numbers.
  auto results_as_array() const {
    return [&]<int... I>(std::integer_sequence<int, I...>) {
      return std::array{result<I>()...};
    }(std::make_integer_sequence<int, graph.result_count>{});
  }
  /// Returns the result, or a tuple if the model has several results.
  auto results() const {
    return [&]<int... I>(std::integer_sequence<int, I...>) {
      if constexpr (sizeof...(I) == 1) return (result<I>(), ...);
      else return std::tuple{result<I>()...};
    }(std::make_integer_sequence<int, graph.result_count>{});
  }

 private:
  static constexpr bool has_bf16_product = [] {
    bool any = false;
    for (int v = 0; v < graph.node_count; ++v) any |= graph.op(v).has_bf16_product;
    return any;
  }();

  template <int I>
  static constexpr shape extents_of_result = graph.result(graph.outputs[I]).extents;

  /// Throws extent_error if the array overlaps memory that the plan writes.
  template <class Bound>
  void check_unwritten(const Bound& array, const shape& extents) const {
    if (shared_bytes(array.bytes(extents), [](contents what) { return what != contents::unchanging; }) > 0)
      refuse_overlap(Bound::name);
  }

  /// Returns the address of constant numbers without const. The table of bases has one type for all memory. Kernels
  /// only read the memory of bound arrays.
  template <class T>
  static std::byte* bytes_of(const T* data) {
    return const_cast<std::byte*>(reinterpret_cast<const std::byte*>(data));
  }

  std::byte* bases_[plans::leaf_base + leaf_count + carry_count + 1] = {};
  std::array<random_stream, random_count> streams_;
  std::int64_t bytes_of_sums_ = Compiled::addresses.gradient_bytes + block_of_sums<Compiled>::bytes_behind_gradients;
};

}  // namespace cairn::detail
