// Where a program and a predictor have their memory, and how both run.
#pragma once

#include "cairn/check/use.hpp"
#include "cairn/base/hash.hpp"
#include "cairn/base/philox.hpp"
#include "cairn/base/tensor_view.hpp"
#include "cairn/run/arena.hpp"
#include "cairn/run/executable.hpp"
#include "cairn/kernel/amx.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <span>
#include <utility>

namespace cairn::detail {

/// A view of numbers that lie elsewhere, in this shape.
template <shape S, class Number>
auto view_of(Number* at) {
  std::array<std::size_t, static_cast<std::size_t>(S.rank)> extents;
  for (std::size_t axis = 0; axis < extents.size(); ++axis) extents[axis] = static_cast<std::size_t>(S.extent[axis]);
  return tensor_view(at, extents);
}

/// A number for a parameter. Two words make a normal one: Box and Muller, A note on the generation of random normal
/// deviates (1958).
inline double drawn_by(const initial& start, random_sequence& draw) {
  const auto random = [&] { return static_cast<double>(uniform(draw())); };
  if (start.drawn == initial::law::constant) return start.fill;
  if (start.drawn == initial::law::uniform || start.drawn == initial::law::unsaid)
    return (2 * random() - 1) * start.width;
  const double radius = std::sqrt(-2 * std::log(1 - random()));
  return start.width * radius * std::cos(2 * std::numbers::pi * random());
}

/// What is known of a leaf at run time.
struct runtime_leaf {
  ir::role what;
  bool trained, updated;
  bool rounded;  ///< it is a parameter that is stored as bf16
  int rows;      ///< the first extent
  std::int64_t count, bytes, offset, gradient_offset;
  initial start;
  std::uint32_t hash;    ///< of its name
  std::uint64_t number;  ///< a longer hash of it
  pass::place next;      ///< of a state that a step updates: what it becomes
};

/// What program and predictor share: where the memory of a compiled model is, its inputs and its results.
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
      const ir::operation& op = graph.leaf_op(i);
      const std::string_view name = graph.name(graph.leaves[i]);
      runtime_leaf& made = out[static_cast<std::size_t>(i)];
      made = {op.what,
              Compiled::model::chosen.trained[i],
              graph.leaves[i].after != ir::none,
              op.what == ir::role::parameter && op.made->element.type == dtype::bf16,
              op.made->extents.rank > 0 ? op.made->extents[0] : 1,
              op.made->count,
              op.made->bytes,
              Compiled::places.offset[i],
              Compiled::places.gradients[i],
              op.start,
              hash_of(name),
              number_of(name),
              {}};
      if (made.updated) made.next = Compiled::layout.of[Compiled::schedule.outputs[updated++]];
    }
    return out;
  }();
  static constexpr const runtime_leaf& leaf(int i) { return leaves[static_cast<std::size_t>(i)]; }
  /// Constant, so that the graph does not stay in the program.
  static consteval shape extents_of(int i) { return graph.leaf_op(i).made->extents; }

  /// The number of the random sequence that a parameter or an input is drawn from: the hash of its name, and in the
  /// upper half how many leaves of its role with this hash come before it, in the order of their longer hashes. So no
  /// two have the same sequence, and where no hash is equal, a sequence depends on the name alone.
  static std::uint64_t sequence_of(int i) {
    const auto place = [](int leaf_number) { return std::pair{leaf(leaf_number).number, leaf_number}; };
    std::uint64_t before = 0;
    for (int j = 0; j < leaf_count; ++j)
      before += leaf(j).hash == leaf(i).hash && leaf(j).what == leaf(i).what && place(j) < place(i);
    return before << 32 | leaf(i).hash;
  }

  /// Throws program_error where the system does not lend the tiles that products of bf16 are compiled for.
  machine() {
    if constexpr (multiplies_tiles && multiplies_halves) kernel::ask_for_tiles();
  }

  std::byte* const* bases() const { return bases_; }
  /// Has parameters and states, or caches, lie from `at` on.
  void place_leaves(std::byte* at, ir::role what = ir::role::parameter) {
    for (int i = 0; i < leaf_count; ++i) {
      if (leaf(i).what == what) leaf_base(i) = at + leaf(i).offset;
    }
  }
  std::byte*& base(int which) { return bases_[which]; }
  std::byte*& leaf_base(int i) { return bases_[pass::leaf_base + i]; }
  std::byte* at(const pass::place& p) const { return bases_[p.base] + p.offset; }

  /// What a part of memory holds: values of one step, snapshots of loops, or numbers that stay from step to step. A
  /// step may change such numbers (changed) or does not (fixed).
  enum class holding : std::uint8_t { values, snapshots, fixed, changed };
  /// Returns how many bytes `memory` shares with the first part of this machine's memory that it meets, of those parts
  /// for which is_meant(holding) is true.
  std::size_t shared_bytes(std::span<const std::byte> memory, auto is_meant) const {
    constexpr bool updates = Compiled::model::purpose::updates_parameters;
    std::size_t shared = 0;
    const auto look = [&](int which, std::int64_t bytes, holding what) {
      if (shared == 0 && is_meant(what))
        shared = common_bytes(memory, {bases_[which], static_cast<std::size_t>(bytes)});
    };
    look(pass::arena_base, Compiled::layout.peak_bytes, holding::values);
    look(pass::gradient_base, Compiled::places.gradient_bytes, holding::changed);
    look(pass::moment_base, Compiled::places.moment_bytes, holding::changed);
    look(pass::elsewhere_base, Compiled::places.elsewhere_bytes, holding::snapshots);
    for (int i = 0; i < leaf_count; ++i) {
      const bool changed = leaf(i).updated || (updates && leaf(i).trained);
      if (ir::is_kept(leaf(i).what))
        look(pass::leaf_base + i, leaf(i).bytes, changed ? holding::changed : holding::fixed);
    }
    return shared;
  }

  /// Has snapshots lie in this memory, which stays as it is until a step. Throws memory_error.
  void keep_snapshots_in(std::span<std::byte> given) {
    check_memory(given, elsewhere_bytes);
    check_shared(shared_bytes(given.first(elsewhere_bytes), [](holding what) { return what != holding::snapshots; }));
    base(pass::elsewhere_base) = given.data();
  }
  /// Throws program_error where there is no memory for them.
  void check_snapshots() const {
    if (elsewhere_bytes > 0 && bases_[pass::elsewhere_base] == nullptr)
      refuse(program_error("cairn: the snapshots of a loop lie elsewhere; say where by keep_snapshots_in(memory)"));
  }
  static constexpr auto elsewhere_bytes = static_cast<std::size_t>(Compiled::places.elsewhere_bytes);

  /// Has the next steps run on these inputs, which are all checked before any is used.
  template <class... Bound>
  void read(const Bound&... bound) {
    (bound.check(input_of<Compiled, Bound>::shape, input_of<Compiled, Bound>::element.bound), ...);
    (check_unwritten(bound, input_of<Compiled, Bound>::shape), ...);
    ((leaf_base(bound_leaf<Compiled, Bound>) = bytes_of(bound.data)), ...);
    base(pass::constant_base) = bytes_of(executable<Compiled>::constants.at);
    base(pass::position_base) = bytes_of(ir::first_position());
  }
  /// Runs the steps [begin, end).
  void run(int begin, int end) { executable<Compiled>::run(bases_, begin, end); }
  /// Copies what belongs elsewhere than where the steps made it.
  void write_late(auto is_wanted) { executable<Compiled>::write_late(bases_, is_wanted); }
  static constexpr int turn = Compiled::steps.turn, all_gradients = Compiled::steps.all_gradients,
                       step_count = Compiled::steps.step_count;

  /// How many operations are random.
  static constexpr std::size_t key_count = [] {
    std::size_t n = 0;
    for (int i = 0; i < leaf_count; ++i) n += leaf(i).what == ir::role::random ? 1 : 0;
    return n;
  }();
  /// Has random operations draw what belongs to a step.
  void draw(seed from, std::uint32_t step) {
    std::size_t n = 0;
    for (int i = 0; n < key_count; ++i) {
      if (leaf(i).what != ir::role::random) continue;
      streams_[n] = {from, leaf(i).number, step};
      leaf_base(i) = bytes_of(&streams_[n++]);
    }
  }

  /// The numbers of a result, in its own type. A result that is a parameter cannot be written through its view.
  template <int I>
  auto numbers() const {
    constexpr pass::place place = Compiled::layout.of[Compiled::schedule.outputs[I]];
    using made = stored_as<graph.made(graph.outputs[I]).element.type, real>;
    using number = std::conditional_t<(place.base >= pass::leaf_base), const made, made>;
    return std::span(reinterpret_cast<number*>(at(place)), static_cast<std::size_t>(extents_of_result<I>.count()));
  }
  /// A number for a scalar, a view for a tensor.
  template <int I>
  auto result() const {
    if constexpr (extents_of_result<I>.rank == 0) return numbers<I>()[0];
    else return view_of<extents_of_result<I>>(numbers<I>().data());
  }
  /// The result, or a tuple where there are several.
  auto results() const {
    return [&]<int... I>(std::integer_sequence<int, I...>) {
      if constexpr (sizeof...(I) == 1) return (result<I>(), ...);
      else return std::tuple{result<I>()...};
    }(std::make_integer_sequence<int, graph.result_count>{});
  }

 private:
  static constexpr bool multiplies_halves = [] {
    bool any = false;
    for (int v = 0; v < graph.node_count; ++v) any |= graph.op(v).multiplies_halves;
    return any;
  }();

  template <int I>
  static constexpr shape extents_of_result = graph.made(graph.outputs[I]).extents;

  /// Throws extent_error if an array lies where a step writes.
  template <class Bound>
  void check_unwritten(const Bound& array, const shape& extents) const {
    if (shared_bytes(array.bytes(extents), [](holding what) { return what != holding::fixed; }) > 0)
      refuse_written(Bound::name);
  }

  /// Kernels only read what is bound; the table of bases is one for all memory.
  template <class T>
  static std::byte* bytes_of(const T* data) {
    return const_cast<std::byte*>(reinterpret_cast<const std::byte*>(data));
  }

  std::byte* bases_[pass::leaf_base + leaf_count + 1] = {};
  std::array<random_stream, key_count> streams_;
};

}  // namespace cairn::detail
