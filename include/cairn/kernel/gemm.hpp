// Computes matrix products.
//
// C is computed in tiles of `tile_rows` rows and up to two registers of columns. A tile stays in registers while a loop
// runs over the depth (k). The tiles of one column of tiles share a panel of B. The panel is packed so that the loop
// reads it in order from the first-level cache. A is read in place or packed. It is packed, for example, if it is
// stored transposed and a step of depth would jump a row. (K. Goto and R. van de Geijn, Anatomy of high-performance
// matrix multiplication, 2008.)
//
// The loops around the tiles are compiled once for all shapes. The tiles are compiled once for each number of rows and
// registers. Small products have code of their own.
#pragma once

#include "cairn/cost/blocking.hpp"
#include "cairn/kernel/amx.hpp"
#include "cairn/kernel/packing.hpp"
#include "cairn/kernel/reduce.hpp"
#include "cairn/kernel/threads.hpp"

namespace cairn::kernels {

/// Describes the tiles of a product: the rows and the registers of whole tiles, and of the last tiles.
template <class In, costs::product P>
struct tile_extents {
  static constexpr costs::blocking cut = costs::blocking_of(P, sizeof(In));
  static constexpr bool rows_apart = !P.transpose_a && !cut.strips;
  static constexpr int rows_left = P.m % cut.tile_rows, columns_left = P.n % cut.tile_columns;
  static constexpr int rows = cut.tile_rows, last_rows = rows_left == 0 ? rows : cut.filled_rows(rows_left);
  static constexpr int width = lanes<sum_of<In>>::width;
  static constexpr int registers_of(int columns) { return (columns + width - 1) / width; }
  static constexpr int registers = registers_of(std::min(P.n, cut.tile_columns)),
                       last_registers = columns_left == 0 ? registers : registers_of(columns_left);
};

/// A product with pointers to the code of its tiles, which products share. The first index of `code` is 1 for the last
/// rows, and the second index is 1 for the last columns. So only tiles that occur are compiled.
template <class In>
struct shared_plan : product_numbers<In> {
  using sum = sum_of<In>;
  using packed = typename product_numbers<In>::packed;
  static constexpr bool shared = true;
  costs::product of;
  costs::blocking cut;
  int rows_left;  ///< rows of the last tile if it has fewer rows than other tiles, else 0
  void (*code[2][2])(const packed*, const packed*, const tile_source&, const tile_target<sum>&, int, int, int, int);
  void (*packing[2])(const In*, std::int64_t, int, int, int, In*);

  void tiles(bool last_rows, bool last_columns, const auto&... arguments) const {
    code[last_rows][last_columns](arguments...);
  }
  void pack(bool last_rows, const auto&... arguments) const { packing[last_rows](arguments...); }
};
template <class In, costs::product P>
inline constexpr shared_plan<In> shared_plan_of = [] {
  using cut = tile_extents<In, P>;
  using numbers = product_numbers<In>;
  constexpr bool apart = cut::rows_apart;
  shared_plan<In> plan{{},
                       P,
                       cut::cut,
                       cut::rows_left,
                       {{numbers::template column<cut::rows, cut::registers, apart>,
                         numbers::template column<cut::rows, cut::last_registers, apart>},
                        {numbers::template column<cut::last_rows, cut::registers, apart>,
                         numbers::template column<cut::last_rows, cut::last_registers, apart>}},
                       {}};
  if constexpr (P.transpose_a && cut::cut.pack_a && !std::is_same_v<In, bf16>) {
    plan.packing[0] = &pack_tile<In, cut::rows>;
    plan.packing[1] = &pack_tile<In, cut::last_rows>;
  }
  return plan;
}();

/// A product with code of its own, which is compiled for the extents of this product alone.
template <class In, costs::product P>
struct own_plan : product_numbers<In>, tile_extents<In, P> {
  using cuts = tile_extents<In, P>;
  using numbers = product_numbers<In>;
  static constexpr bool shared = false;
  static constexpr costs::product of = P;

  static void tiles(bool last_rows, bool last_columns, const auto&... arguments) {
    if (last_rows && cuts::rows_left > 0) return in_rows<cuts::last_rows>(last_columns, arguments...);
    in_rows<cuts::rows>(last_columns, arguments...);
  }
  static void pack(bool last_rows, const auto&... arguments) {
    if (last_rows && cuts::rows_left > 0) return pack_tile<In, cuts::last_rows>(arguments...);
    pack_tile<In, cuts::rows>(arguments...);
  }

 private:
  template <int Rows>
  [[gnu::always_inline]] static void in_rows(bool last_columns, const auto&... arguments) {
    constexpr bool apart = cuts::rows_apart;
    if (last_columns && cuts::last_registers < cuts::registers)
      return numbers::template tiles<Rows, cuts::last_registers, apart>(arguments...);
    numbers::template tiles<Rows, cuts::registers, apart>(arguments...);
  }
};

/// The plan of a product. Code of its own pays only for products that take some hundred nanoseconds (docs/design.md).
template <class In, costs::product P>
inline constexpr auto plan_of = [] {
  if constexpr (std::int64_t{P.m} * P.n * P.k <= 48 * 48 * 48) return own_plan<In, P>{};
  else return shared_plan_of<In, P>;
}();

/// Computes one product C = op(A) op(B). The rows of A and of B, as they are stored, may lie apart: the last arguments
/// of the constructor are the distances, and 0 means that the rows are side by side. If a reader gets the tiles, and if
/// k is greater than the depth of a block, C holds sums until the tiles are complete.
///
/// The order in which a number of C is summed depends only on the shape and the processor. For bf16 it depends on the
/// shape alone, except on processors with AMX. If there are more blocks along k than one section holds, the blocks are
/// summed in sections.
template <class Plan>
class multiplication {
  using In = typename Plan::in;
  using Sum = typename Plan::sum;
  using packed_number = typename Plan::packed;
  static constexpr bool in_pairs = std::is_same_v<In, bf16>;
  static constexpr int in_step = Plan::in_step;
  const Plan& plan;
  const In *a, *b;
  Sum* c;
  const tile_reader* reader;
  std::int64_t distance_a, distance_b;
  std::int64_t distance_c = 0;
  bool adds = false;
  int skipped = 0;  ///< rows of the product that lie before the first row of A and of C

 public:
  multiplication(const Plan& of_plan, const In* of_a, const In* of_b, Sum* to, const tile_reader* given_to = nullptr,
                 std::int64_t rows_of_a_apart = 0, std::int64_t rows_of_b_apart = 0)
      : plan(of_plan),
        a(of_a),
        b(of_b),
        c(to),
        reader(given_to),
        distance_a(rows_of_a_apart),
        distance_b(rows_of_b_apart) {}

  /// Runs the product. The caller lends the workspace `scratch`, which is aligned to 64 bytes. cut.needed_workspace
  /// says how many numbers it has.
  [[gnu::noinline]] void run(In* scratch, int threads = 1) const {
    const costs::product& of = plan.of;
    const costs::blocking& cut = plan.cut;
    Sum* const open = cut.open_sums > 0 ? static_cast<Sum*>(static_cast<void*>(scratch)) : nullptr;
    scratch += cut.needed_workspace.shared;
    if (cut.parts == 1 || threads == 1) return run_alone(scratch, open);
    const int parts = std::min(cut.parts, threads);
    in_parts(parts, [this, &of, &cut, scratch, open, parts](int part) {
      const costs::range own = costs::share(cut.shared_extent(of), cut.shared_unit(), part, parts);
      const int begin = static_cast<int>(own.begin), end = static_cast<int>(own.end);
      packed_number* const panel = numbers(scratch + part * cut.needed_workspace.each);
      if (cut.threads_share_rows) {
        packed_number* const packed = numbers(scratch + parts * cut.needed_workspace.each);
        block(panel, packed + std::min(begin, part * cut.rows) * std::int64_t{cut.depth}, begin, end, 0, of.n, open);
      } else {
        block(panel, panel + cut.panel_numbers, 0, of.m, begin, end, open);
      }
    });
  }
  /// Computes rows [begin, end) of C in the calling thread, and adds them to the numbers in C if `add` is true. A and C
  /// were given from row `begin` on. The rows of C lie `rows_of_c_apart` numbers apart. Both bounds are multiples of
  /// the rows of a tile, or the last row. The blocks along k are not summed in sections.
  [[gnu::noinline]] void run_rows(int begin, int end, bool add, std::int64_t rows_of_c_apart, In* scratch) {
    static_assert(Plan::shared);  // other plans know the distance of the rows of C
    adds = add;
    skipped = begin;
    distance_c = rows_of_c_apart;
    packed_number* const panel = numbers(scratch);
    block(panel, panel + plan.cut.panel_numbers, begin, end, 0, plan.of.n, nullptr);
  }

 private:
  static packed_number* numbers(In* scratch) { return static_cast<packed_number*>(static_cast<void*>(scratch)); }

  void run_alone(In* scratch, Sum* open) const {
    packed_number* const panel = numbers(scratch);
    if constexpr (Plan::shared) block(panel, panel + plan.cut.panel_numbers, 0, plan.of.m, 0, plan.of.n, open);
    else run_in_one(panel, open);
  }
  [[gnu::flatten]] void run_in_one(packed_number* panel, Sum* open) const {
    block(panel, panel + plan.cut.panel_numbers, 0, plan.of.m, 0, plan.of.n, open);
  }
  /// Return the distances between neighbouring rows of A, of B and of C. If the code is compiled for the product's own
  /// extents, the rows are always side by side.
  std::int64_t rows_of_a() const {
    return Plan::shared && distance_a != 0 ? distance_a : plan.of.transpose_a ? plan.of.m : plan.of.k;
  }
  std::int64_t rows_of_b() const {
    return Plan::shared && distance_b != 0 ? distance_b : plan.of.transpose_b ? plan.of.k : plan.of.n;
  }
  std::int64_t rows_of_c() const { return Plan::shared && distance_c != 0 ? distance_c : plan.of.n; }
  /// Computes rows [top, bottom) and columns [left, right) of C. If `open` is not null, the blocks along k are summed
  /// there, section by section.
  void block(packed_number* panel, packed_number* packed, int top, int bottom, int left, int right, Sum* open) const {
    const typename Plan::setting as_instructions_want{};
    const costs::product& of = plan.of;
    const costs::blocking& cut = plan.cut;
    const int tile_columns = cut.tile_columns, tile_rows = cut.tile_rows;
    const std::int64_t apart_a = rows_of_a(), apart_b = rows_of_b();
    for (int i = top; i < bottom; i += cut.rows) {
      const int count = std::min(cut.rows, bottom - i), whole = i + count < of.m ? count : count - plan.rows_left;
      const int row = i - skipped;
      for (int p = 0; p < of.k; p += cut.depth) {
        const int given = std::min(cut.depth, of.k - p), steps = cut.filled_depth(given);
        const tile_target<Sum> to{open == nullptr ? c : open,
                                  rows_of_c(),
                                  adds || p > 0,
                                  cut.c_exceeds_cache,
                                  p + given == of.k ? reader : nullptr,
                                  denormals_setting(as_instructions_want),
                                  cut.fetched_ahead};
        const In* const in_a = a + (of.transpose_a ? p * apart_a + row : row * apart_a + p);
        const packed_number* const block_a = cut.pack_a ? pack_a(in_a, count, given, steps, packed) : in_place(in_a);
        const std::int64_t row_a = cut.strips ? steps : of.transpose_a ? 1 : cut.pack_a ? cut.depth : apart_a;
        tile_source from{!of.transpose_a ? row_a : apart_a, row_a * tile_rows,
                         in_step * (cut.pack_b ? tile_columns : apart_b), steps / in_step};
        tile_source rest = from;
        if (cut.strips) {
          from.apart = in_step * tile_rows;
          rest.apart = in_step * cut.filled_rows(count - whole);
        }
        for (int j = left; j < right; j += tile_columns) {
          const int columns = std::min(tile_columns, right - j);
          const In* const in_b = b + (of.transpose_b ? j * apart_b + p : p * apart_b + j);
          const packed_number* const block_b = cut.pack_b ? pack_b(in_b, columns, given, steps, panel) : in_place(in_b);
          const bool last = columns < tile_columns;
          if (whole > 0) plan.tiles(false, last, block_a, block_b, from, to, row, j, columns, whole);
          if (whole < count)
            plan.tiles(true, last, block_a + whole * row_a, block_b, rest, to, row + whole, j, columns, count - whole);
        }
        if (open != nullptr) end_block(open, {i, i + count}, {left, right}, p, given);
      }
    }
  }

  /// Adds the sums of a section to C if the block at `p` is the section's last. Before this, at the first block, fills
  /// C with zeros.
  [[gnu::noinline]] void end_block(Sum* open, costs::range rows, costs::range columns, int p, int given) const {
    const std::int64_t apart = plan.of.n, count = columns.end - columns.begin;
    const bool last = p + given == plan.of.k || (p / plan.cut.depth + 1) % costs::section_blocks == 0;
    for (auto row = rows.begin; row < rows.end; ++row) {
      const std::int64_t at = row * apart + columns.begin;
      if (p == 0) std::fill_n(c + at, count, Sum{0});
      if (last) join_columns<adding>(open + at, c + at, count);
    }
  }

  /// Returns an operand that is not packed. The operand already has the type that tiles read, because operands of other
  /// types are always packed.
  static const packed_number* in_place(const In* x) {
    if constexpr (std::is_same_v<In, packed_number>) return x;
    else return nullptr;
  }
  /// Packs columns of op(B). They have `given` steps, and are filled up to `steps` with zeros.
  const packed_number* pack_b(const In* from, int columns, int given, [[maybe_unused]] int steps,
                              packed_number* to) const {
    const int tile_columns = plan.cut.tile_columns;
    if constexpr (in_pairs) {
      if (plan.of.transpose_b) pack_pairs_transposed(from, rows_of_b(), columns, given, tile_columns, to);
      else pack_pairs(from, rows_of_b(), columns, given, tile_columns, to);
      for (std::int64_t p = given + given % 2; p < steps; ++p)
        std::fill_n(to + p * tile_columns, tile_columns, packed_number{});
    } else {
      if (plan.of.transpose_b) pack_columns_transposed(from, rows_of_b(), columns, given, tile_columns, to);
      else pack_columns(from, rows_of_b(), columns, given, tile_columns, to);
    }
    return to;
  }

  /// Packs rows of op(A), one after another or in strips {steps, tile_rows}. They have `given` steps, and are filled up
  /// to `steps` with zeros.
  const packed_number* pack_a(const In* from, int count, int given, [[maybe_unused]] int steps,
                              packed_number* to) const {
    const costs::blocking& cut = plan.cut;
    const std::int64_t apart = rows_of_a();
    if (!cut.strips) {
      for (int i = 0; i < count; ++i) {
        packed_number* const row = to + std::int64_t{i} * cut.depth;
        if constexpr (in_pairs) pack_row(from + i * apart, given, row);
        else std::copy_n(from + i * apart, given, row);
      }
      return to;
    }
    constexpr int some = std::max(8, in_step);  // steps at a time, so that few cache lines are written by turns
    for (int p = 0; p < given; p += some) {
      const int end = std::min(p + some, given);
      for (int i = 0; i < count; i += cut.tile_rows) {
        const int rows = std::min(cut.tile_rows, count - i);
        if constexpr (!in_pairs) {
          plan.pack(i + cut.tile_rows > count, from + i, apart, p, end, given, to + std::int64_t{i} * given);
        } else {
          const int filled = cut.filled_rows(rows);
          const In* const at = from + (plan.of.transpose_a ? p * apart + i : i * apart + p);
          packed_number* const strip = to + std::int64_t{i} * steps + p * filled;
          if constexpr (in_step <= 2) pack_pairs(at, apart, rows, end - p, filled, strip);
          else if (plan.of.transpose_a) pack_step_transposed(at, apart, rows, end - p, filled, strip);
          else pack_step(at, apart, rows, end - p, filled, strip);
        }
      }
    }
    return to;
  }
};
template <class Plan, class... More>
multiplication(const Plan&, More...) -> multiplication<Plan>;

}  // namespace cairn::kernels
