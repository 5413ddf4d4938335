// Matrix products.
//
// C is made in tiles of `tile_rows` rows and up to two registers of columns, which stay in registers while a loop
// runs over the depth (k). The tiles of one column of tiles share a panel of B, packed so that the loop reads
// it in order from the first-level cache. A is read in place, or packed likewise where it is stored
// transposed and a step of depth would jump a row. (K. Goto and R. van de Geijn, Anatomy of high-performance
// matrix multiplication, 2008.)
//
// Compiled once for all shapes are the loops around the tiles, and once for each number of rows and registers the
// tiles.
#pragma once

#include "cairn/core/blocking.hpp"
#include "cairn/kernel/halves.hpp"
#include "cairn/kernel/threads.hpp"
#include "cairn/kernel/tiles.hpp"

namespace cairn::kernel {

inline constexpr std::int64_t at_start = 0;

/// What a column of tiles reads over `steps` of depth, at each of some places of A: a product has one, a convolution
/// one for each run of taps, the gradient of a filter one for each row of pixels. Of A either rows are `apart` and a
/// step is one number on, or rows are side by side and a step is `apart` on; the next tile begins `below`. Steps of B
/// are `step_b` apart.
struct tile_source {
  std::int64_t apart, below, step_b;
  int steps;
  int places = 1;
  const std::int64_t* place = &at_start;
};

/// Where tiles go: into C, of which rows are `apart`, or added to it; or to a reader. A C that is far away, or what the
/// reader writes, is fetched while a tile is made.
template <class Sum>
struct tile_target {
  Sum* c;
  std::int64_t apart;
  bool add, far;
  const tile_reader* reader;

  Sum* at(int row, int column) const { return c + row * apart + column; }
  [[gnu::noinline]] void fetch_tile(int row, int column, int rows, int columns) const {
    if (reader != nullptr) reader->fetch(row, column, rows, columns);
    if (reader != nullptr && !add) return;  // then C is neither read nor written
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < columns; j += 64 / static_cast<int>(sizeof(Sum))) fetch(at(row + i, column + j));
  }
  /// Takes a tile that is to be read, or whose columns do not fill its registers.
  void take(Sum* tile, int stride, int row, int column, int rows, int columns) const {
    constexpr int width = lanes<Sum>::width;
    for (int i = 0; i < rows && (add || reader == nullptr); ++i) {
      Sum *const here = tile + i * stride, *const there = at(row + i, column);
      for (int j = 0; j < columns; j += width) {
        lanes<Sum> sum = lanes<Sum>::load(here + j);
        if (add) sum = load_row(there, j, columns) + sum;
        if (reader == nullptr) store_row(sum, there, j, columns);
        else sum.store(here + j);
      }
    }
    if (reader != nullptr) reader->run(tile, stride, row, column, rows, columns);
  }
};

/// A column of tiles, of `height` rows and `columns` columns of C from (row, column) on. Tiles have `Rows` rows and at
/// most `Registers` registers of columns: in registers over all steps, and added to C last. RowsApart: which of the two
/// ways A is read. A's numbers become those of sums as they are read, B's where they are packed; or both are pairs.
template <class In, class Sum, int Rows, int Registers, bool RowsApart>
[[gnu::always_inline]] inline void tiles_in_registers(const In* a, const typename factor<In, Sum>::number* b,
                                                      const tile_source& from, const tile_target<Sum>& to, int row,
                                                      int column, int columns, int height) {
  using vec = lanes<Sum>;
  using read = factor<In, Sum>;
  constexpr int width = vec::width, in_step = read::in_step;
  constexpr int reached = RowsApart ? 3 : Rows, pointers = (Rows + reached - 1) / reached;  // rows by one pointer
  const bool direct = to.reader == nullptr && columns == Registers * width;
  for (const int bottom = row + height; row < bottom; row += Rows, a += from.below) {
    if (to.far) to.fetch_tile(row, column, Rows, columns);
    vec sum[Rows][Registers];
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i)
#pragma GCC unroll 4
      for (int j = 0; j < Registers; ++j) sum[i][j] = vec::fill(0);
    const auto* step = b;
    for (int t = 0; t < from.places; ++t) {
      const In* at[pointers];
#pragma GCC unroll 4
      for (int q = 0; q < pointers; ++q) at[q] = a + from.place[t] + (RowsApart ? q * reached * from.apart : 0);
      for (int p = 0; p < from.steps; ++p) {
        typename read::vector row_b[Registers];
#pragma GCC unroll 4
        for (int j = 0; j < Registers; ++j) {
          row_b[j] = read::load(step + j * width * in_step);
          barrier(row_b[j]);  // g++ would load it again for each row
        }
#pragma GCC unroll 16
        for (int i = 0; i < Rows; ++i) {
          const auto x = read::fill(at[i / reached] + (RowsApart ? i % reached * from.apart : i * in_step));
#pragma GCC unroll 4
          for (int j = 0; j < Registers; ++j) sum[i][j] = fused(x, row_b[j], sum[i][j]);
        }
#pragma GCC unroll 4
        for (int q = 0; q < pointers; ++q) at[q] += RowsApart ? in_step : from.apart;
        step += from.step_b;
      }
    }
    alignas(64) Sum tile[Rows * Registers * width];
    Sum* const out = direct ? to.at(row, column) : tile;
    const std::int64_t apart = direct ? to.apart : Registers * width;
    if (direct && to.add) {
#pragma GCC unroll 16
      for (int i = 0; i < Rows; ++i)
#pragma GCC unroll 4
        for (int j = 0; j < Registers; ++j) sum[i][j] = vec::load(out + i * apart + j * width) + sum[i][j];
    }
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i)
#pragma GCC unroll 4
      for (int j = 0; j < Registers; ++j) sum[i][j].store(out + i * apart + j * width);
    if (!direct) to.take(tile, Registers * width, row, column, Rows, columns);
  }
}

/// Steps [p, end) of a tile of rows of a transposed A, as {steps, Rows}. A register is stored whole where what comes
/// after it is written later.
template <class Real, int Rows>
void pack_tile(const Real* from, std::int64_t apart, int p, int end, int steps, Real* to) {
  constexpr int width = lanes<Real>::width, whole = Rows / width * width;
  const int safe = std::min(end, steps - width / Rows - 1);
  from += p * apart;
  to += std::int64_t{p} * Rows;
  for (; p < end; ++p, from += apart, to += Rows) {
#pragma GCC unroll 4
    for (int i = 0; i < whole; i += width) lanes<Real>::load(from + i).store(to + i);
    if constexpr (whole < Rows) {
      const lanes<Real> rest = lanes<Real>::load(from + whole, Rows - whole);
      if (p < safe) rest.store(to + whole);
      else rest.store(to + whole, Rows - whole);
    }
  }
}

/// Columns of B, of which rows lie `apart`, as {steps, tile_columns}, filled up to whole registers with zeros.
template <class In, class Sum>
void pack_columns(const In* from, std::int64_t apart, int columns, int steps, int tile_columns, Sum* to) {
  using vec = lanes<Sum>;
  constexpr int width = vec::width;
  const bool pair = columns == 2 * width;
  for (int p = 0; p < steps; ++p, from += apart, to += tile_columns) {
    if (pair) {
      const vec first = load_row_as<Sum>(from, 0, width), second = load_row_as<Sum>(from + width, 0, width);
      first.store(to);
      second.store(to + width);
    } else {
      for (int j = 0; j < columns; j += width) load_row_as<Sum>(from, j, columns).store(to + j);
    }
  }
}
/// The same of a transposed B, of which columns lie `apart`.
template <class In, class Sum>
[[gnu::noinline]] void pack_columns_transposed(const In* from, std::int64_t apart, int columns, int steps,
                                               int tile_columns, Sum* to) {
  using vec = lanes<Sum>;
  constexpr int width = vec::width;
  const std::int64_t step = tile_columns;
  for (int p = 0; p < steps; p += width) {
    const int filled = std::min(width, steps - p);
    for (int j = 0; j < columns; j += width) {
      const In* const at = from + j * apart + p;
      const bool whole = filled == width && j + width <= columns;
      Sum part[width][width];
      for (int i = 0; i < width && !whole; ++i)
        (j + i < columns ? load_row_as<Sum>(at + i * apart, 0, filled) : vec::fill(0)).store(part[i]);
      vec square[width];
#pragma GCC unroll 16
      for (int i = 0; i < width; ++i)
        square[i] = whole ? load_row_as<Sum>(at + i * apart, 0, width) : vec::load(part[i]);
      vec::transpose(square);
      Sum* const out = to + p * step + j;
#pragma GCC unroll 16
      for (int i = 0; i < width; ++i)
        if (i < filled) square[i].store(out + i * step);
    }
  }
}

/// Numbers of bf16 by columns, of which rows lie `apart`, as steps of a product: {steps, row}, of which the first
/// `columns` are there, and zeros, also in place of a row that would be the second of a pair.
template <class Number>
[[gnu::noinline]] void pack_pairs(const bf16* from, std::int64_t apart, int columns, int rows, int row, Number* to) {
  constexpr int width = half_pairs::width;
  for (int p = 0; p < rows; p += 2, from += 2 * apart, to += 2 * std::int64_t{row}) {
    const bf16* const second = p + 1 < rows ? from + apart : nullptr;
    for (int j = 0; j < row; j += width) {
      const int left = std::max(columns - j, 0);
      half_pairs::of_rows(from + j, second == nullptr ? nullptr : second + j, left)
          .store_step(to + j * factor<bf16, float>::in_step, row, row - j);
    }
  }
}
/// The same where columns lie `apart`.
template <class Number>
[[gnu::noinline]] void pack_pairs_transposed(const bf16* from, std::int64_t apart, int columns, int rows, int row,
                                             Number* to) {
  constexpr int width = half_pairs::width;
  for (int p = 0; p < rows; p += 2 * width, to += 2 * std::int64_t{width} * row) {
    const int filled = std::min(width, (rows - p + 1) / 2);
    for (int j = 0; j < row; j += width) {
      half_pairs square[width];
      for (int i = 0; i < width; ++i)
        square[i] = half_pairs::load(from + (j + i) * apart + p, j + i < columns ? rows - p : 0);
      half_pairs::transpose(square);
      for (int i = 0; i < filled; ++i)
        square[i].store_step(to + 2 * std::int64_t{i} * row + j * factor<bf16, float>::in_step, row, row - j);
    }
  }
}
/// Numbers of a row as steps of a product, and a zero where they are odd in number.
inline void pack_row(const bf16* from, int count, bf16* to) {
  std::copy_n(from, count, to);
  if (count % 2 != 0) to[count] = bf16{};
}
inline void pack_row(const bf16* from, int count, float* to) {
  for (int p = 0; p < count; p += 2) {
    to[p] = p + 1 < count ? static_cast<float>(from[p + 1]) : 0;
    to[p + 1] = static_cast<float>(from[p]);
  }
}

/// How a product is cut: the rows and the registers of whole tiles, and of the last.
template <class In, product P>
struct tile_extents {
  using sum = sum_of<In>;
  static constexpr blocking cut = blocking_of(P, sizeof(In));
  static constexpr bool rows_apart = !P.transpose_a;
  static constexpr int rows_left = P.m % cut.tile_rows, columns_left = P.n % cut.tile_columns;
  static constexpr int rows = std::min(P.m, cut.tile_rows), last_rows = rows_left == 0 ? rows : rows_left;
  static constexpr int registers_of(int columns) { return (columns + lanes<sum>::width - 1) / lanes<sum>::width; }
  static constexpr int registers = registers_of(std::min(P.n, cut.tile_columns)),
                       last_registers = columns_left == 0 ? registers : registers_of(columns_left);
};

/// The numbers of a product: those that are read, as they are packed, and their sums.
template <class In>
struct product_numbers {
  using in = In;
  using sum = sum_of<In>;
  using packed = typename factor<In, sum>::number;
};

/// A product with the code of its tiles, which products share: of whole tiles and of the last rows, of whole ones and
/// of the last columns. So only tiles that occur are compiled.
template <class In>
struct shared_plan : product_numbers<In> {
  using sum = sum_of<In>;
  using packed = typename factor<In, sum>::number;
  static constexpr bool shared = true;
  product of;
  blocking cut;
  int rows_left;  ///< of the last tile, where it has less than others
  void (*code[2][2])(const packed*, const packed*, const tile_source&, const tile_target<sum>&, int, int, int, int);
  void (*packing[2])(const In*, std::int64_t, int, int, int, In*);

  void tiles(bool last_rows, bool last_columns, const auto&... arguments) const {
    code[last_rows][last_columns](arguments...);
  }
  void pack(bool last_rows, const auto&... arguments) const { packing[last_rows](arguments...); }
};
template <class In, class Sum, int Rows, int Registers, bool RowsApart>
void column_of_tiles(const In* a, const typename factor<In, Sum>::number* b, const tile_source& from,
                     const tile_target<Sum>& to, int row, int column, int columns, int height) {
  tiles_in_registers<In, Sum, Rows, Registers, RowsApart>(a, b, from, to, row, column, columns, height);
}
template <class In, product P>
inline constexpr shared_plan<In> shared_plan_of = [] {
  using cut = tile_extents<In, P>;
  using sum = sum_of<In>;
  using packed = typename factor<In, sum>::number;
  constexpr bool apart = cut::rows_apart;
  shared_plan<In> plan{{},
                       P,
                       cut::cut,
                       cut::rows_left,
                       {{&column_of_tiles<packed, sum, cut::rows, cut::registers, apart>,
                         &column_of_tiles<packed, sum, cut::rows, cut::last_registers, apart>},
                        {&column_of_tiles<packed, sum, cut::last_rows, cut::registers, apart>,
                         &column_of_tiles<packed, sum, cut::last_rows, cut::last_registers, apart>}},
                       {}};
  if constexpr (P.transpose_a && cut::cut.pack_a && !std::is_same_v<In, bf16>) {
    plan.packing[0] = &pack_tile<In, cut::rows>;
    plan.packing[1] = &pack_tile<In, cut::last_rows>;
  }
  return plan;
}();

/// A product with code of its own, for its extents alone.
template <class In, product P>
struct own_plan : product_numbers<In>, tile_extents<In, P> {
  using cuts = tile_extents<In, P>;
  using sum = sum_of<In>;
  using packed = typename factor<In, sum>::number;
  static constexpr bool shared = false;
  static constexpr product of = P;

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
      return tiles_in_registers<packed, sum, Rows, cuts::last_registers, apart>(arguments...);
    tiles_in_registers<packed, sum, Rows, cuts::registers, apart>(arguments...);
  }
};

/// The plan of a product. Code of its own is worth it where all is over in some hundred nanoseconds: bench/NOTES.md.
template <class In, product P>
inline constexpr auto plan_of = [] {
  if constexpr (std::int64_t{P.m} * P.n * P.k <= 64 * 64 * 64) return own_plan<In, P>{};
  else return shared_plan_of<In, P>;
}();

/// One product: C = op(A) op(B). Rows of A and of B as they are stored lie `apart`. Where a reader gets the tiles, C
/// holds sums until they are complete, if k is greater than the depth. Each number of C is summed in an order that only
/// the shape and the processor decide; of bf16 the shape alone.
template <class Plan>
class multiplication {
  using In = typename Plan::in;
  using Sum = typename Plan::sum;
  using packed_number = typename Plan::packed;
  static constexpr bool in_pairs = std::is_same_v<In, bf16>;
  static constexpr int in_step = factor<packed_number, Sum>::in_step;
  const Plan& plan;
  const In *a, *b;
  Sum* c;
  const tile_reader* reader;
  std::int64_t given_a, given_b;

 public:
  multiplication(const Plan& of_plan, const In* of_a, const In* of_b, Sum* to, const tile_reader* given_to = nullptr,
                 std::int64_t rows_of_a_apart = 0, std::int64_t rows_of_b_apart = 0)
      : plan(of_plan), a(of_a), b(of_b), c(to), reader(given_to), given_a(rows_of_a_apart), given_b(rows_of_b_apart) {}

  /// `scratch` numbers of working space, aligned to 64 bytes, are the caller's to lend: cut.scratch says how many.
  [[gnu::noinline]] void run(In* scratch, int threads = 1) const {
    const product& of = plan.of;
    const blocking& cut = plan.cut;
    if (cut.parts == 1 || threads == 1) return run_alone(scratch);
    const int parts = std::min(cut.parts, threads);
    in_parts(parts, [this, &of, &cut, scratch, parts](int part) {
      const range own = share(cut.extent(of), cut.unit(), part, parts);
      const int begin = static_cast<int>(own.begin), end = static_cast<int>(own.end);
      packed_number* const panel = numbers(scratch + part * cut.scratch.each);
      if (cut.by_rows) {
        packed_number* const packed = numbers(scratch + parts * cut.scratch.each);
        block(panel, packed + std::min(begin, part * cut.rows) * std::int64_t{cut.depth}, begin, end, 0, of.n);
      } else {
        block(panel, panel + cut.panel, 0, of.m, begin, end);
      }
    });
  }

 private:
  static packed_number* numbers(In* scratch) { return static_cast<packed_number*>(static_cast<void*>(scratch)); }

  void run_alone(In* scratch) const {
    packed_number* const panel = numbers(scratch);
    if constexpr (Plan::shared) block(panel, panel + plan.cut.panel, 0, plan.of.m, 0, plan.of.n);
    else run_in_one(panel);
  }
  [[gnu::flatten]] void run_in_one(packed_number* panel) const {
    block(panel, panel + plan.cut.panel, 0, plan.of.m, 0, plan.of.n);
  }
  /// How far rows of A and of B lie apart; as far as they are long where code is compiled for its extents.
  std::int64_t rows_of_a() const {
    return Plan::shared && given_a != 0 ? given_a : plan.of.transpose_a ? plan.of.m : plan.of.k;
  }
  std::int64_t rows_of_b() const {
    return Plan::shared && given_b != 0 ? given_b : plan.of.transpose_b ? plan.of.k : plan.of.n;
  }
  /// Rows [top, bottom) and columns [left, right) of C.
  void block(packed_number* panel, packed_number* packed, int top, int bottom, int left, int right) const {
    [[maybe_unused]] const std::conditional_t<in_pairs && in_step == 1, denormals_as_zeros, int> as_instructions{};
    const product& of = plan.of;
    const blocking& cut = plan.cut;
    const int tile_columns = cut.tile_columns, tile_rows = cut.tile_rows;
    const std::int64_t apart_a = rows_of_a(), apart_b = rows_of_b();
    for (int i = top; i < bottom; i += cut.rows) {
      const int count = std::min(cut.rows, bottom - i), whole = i + count < of.m ? count : count - plan.rows_left;
      for (int p = 0; p < of.k; p += cut.depth) {
        const int given = std::min(cut.depth, of.k - p), steps = in_pairs ? given + given % 2 : given;
        const tile_target<Sum> to{c, of.n, p > 0, cut.far_c, p + given == of.k ? reader : nullptr};
        const In* const in_a = a + (of.transpose_a ? p * apart_a + i : i * apart_a + p);
        const packed_number* const block_a = cut.pack_a ? pack_a(in_a, count, given, steps, packed) : in_place(in_a);
        const bool columns_packed = of.transpose_a && cut.pack_a;
        const std::int64_t row_a = !of.transpose_a ? (cut.pack_a ? cut.depth : apart_a) : cut.pack_a ? steps : 1;
        tile_source from{!of.transpose_a ? row_a : apart_a, row_a * tile_rows,
                         in_step * (cut.pack_b ? tile_columns : apart_b), steps / in_step};
        tile_source rest = from;
        if (columns_packed) {
          from.apart = in_step * tile_rows;
          rest.apart = in_step * (count - whole);
        }
        for (int j = left; j < right; j += tile_columns) {
          const int columns = std::min(tile_columns, right - j);
          const In* const in_b = b + (of.transpose_b ? j * apart_b + p : p * apart_b + j);
          const packed_number* const block_b = cut.pack_b ? pack_b(in_b, columns, given, panel) : in_place(in_b);
          const bool last = columns < tile_columns;
          if (whole > 0) plan.tiles(false, last, block_a, block_b, from, to, i, j, columns, whole);
          if (whole < count)
            plan.tiles(true, last, block_a + whole * row_a, block_b, rest, to, i + whole, j, columns, count - whole);
        }
      }
    }
  }

  /// What is not packed, which is of the type that tiles read.
  static const packed_number* in_place(const In* x) {
    if constexpr (std::is_same_v<In, packed_number>) return x;
    else return nullptr;
  }
  const packed_number* pack_b(const In* from, int columns, int steps, packed_number* to) const {
    const int tile_columns = plan.cut.tile_columns;
    if constexpr (in_pairs) {
      if (plan.of.transpose_b) pack_pairs_transposed(from, rows_of_b(), columns, steps, tile_columns, to);
      else pack_pairs(from, rows_of_b(), columns, steps, tile_columns, to);
    } else {
      if (plan.of.transpose_b) pack_columns_transposed(from, rows_of_b(), columns, steps, tile_columns, to);
      else pack_columns(from, rows_of_b(), columns, steps, tile_columns, to);
    }
    return to;
  }

  /// Rows of op(A): of A as they are; of a transposed A `tile_rows` at a time, as {steps, tile_rows}. Of `given` steps,
  /// which are filled up with zeros.
  const packed_number* pack_a(const In* from, int count, int given, [[maybe_unused]] int steps,
                              packed_number* to) const {
    const blocking& cut = plan.cut;
    constexpr int some = 8;  // rows of A at a time, so that few lines are written by turns
    if constexpr (in_pairs) {
      if (!plan.of.transpose_a) {
        for (int i = 0; i < count; ++i) pack_row(from + i * rows_of_a(), given, to + std::int64_t{i} * cut.depth);
        return to;
      }
      for (int p = 0; p < given; p += some) {
        for (int i = 0; i < count; i += cut.tile_rows) {
          const int rows = std::min(cut.tile_rows, count - i);
          pack_pairs(from + p * rows_of_a() + i, rows_of_a(), rows, std::min(some, given - p), rows,
                     to + std::int64_t{i} * steps + p * rows);
        }
      }
    } else {
      if (!plan.of.transpose_a) {
        for (int i = 0; i < count; ++i) std::copy_n(from + i * rows_of_a(), given, to + std::int64_t{i} * cut.depth);
        return to;
      }
      for (int p = 0; p < given; p += some) {
        const int end = std::min(p + some, given);
        for (int i = 0; i < count; i += cut.tile_rows)
          plan.pack(i + cut.tile_rows > count, from + i, rows_of_a(), p, end, given, to + std::int64_t{i} * given);
      }
    }
    return to;
  }
};
template <class Plan, class... More>
multiplication(const Plan&, More...) -> multiplication<Plan>;

}  // namespace cairn::kernel
