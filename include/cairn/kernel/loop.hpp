// The kernel that runs a fused loop, that is, a group of elementwise operations in one pass. The kernel is compiled
// once for each distinct code, independent of the extents.
#pragma once

#include "cairn/kernel/elementwise.hpp"
#include "cairn/kernel/generated.hpp"
#include "cairn/kernel/reduce.hpp"
#include "cairn/kernel/rows.hpp"
#include "cairn/kernel/tiles.hpp"

namespace cairn::kernels {

using graphs::loop_value, graphs::sums;

/// An input of a fused loop.
struct loop_operand {
  dtype type = dtype::real;
  access how = access::contiguous;
  bool in_pieces = false;  ///< a concatenation along the columns, read from its pieces
  double immediate = 0;
  const graphs::generator* generate = nullptr;
};

template <auto... V>
struct list_of {};

/// A set of registers that are accessed by number. Each register has its own type.
template <int I, class V>
struct numbered {
  V value;
};
template <class Indices, class... V>
struct register_file;
template <std::size_t... I, class... V>
struct register_file<std::index_sequence<I...>, V...> : numbered<static_cast<int>(I), V>... {};
template <int I, class V>
[[gnu::always_inline]] inline V& at(numbered<I, V>& n) {
  return n.value;
}

/// One pass over the elements of a fused loop. The pass loads the inputs, applies the operations in order and stores
/// the results that are read elsewhere. `constants` points to a loop_table. The operands are, in this order:
/// - the written results;
/// - the inputs that are not constants; an input in pieces is replaced by its pieces.
///
/// A result may have the address of a contiguous input, with two exceptions. Both concern a fused loop whose first
/// value comes in tiles from a kernel:
/// - The kernel computes the tiles from the input.
/// - The kernel stores the partial sums of the tiles in the memory of the result.
template <class Real, sums Sum, bool Tiles, class Inputs, class Code, class Arguments>
struct loop;
template <class Real, sums Sum, bool Tiles, loop_operand... Input, loop_value... Code, int... Argument>
struct loop<Real, Sum, Tiles, list_of<Input...>, list_of<Code...>, list_of<Argument...>> {
  static constexpr int inputs = static_cast<int>(sizeof...(Input)), operations = static_cast<int>(sizeof...(Code));
  static constexpr int written = (0 + ... + Code.written);
  static constexpr int arrays = written + (0 + ... + (Input.how != access::constant));

  /// Runs the fused loop. Threads share the rows, or the elements of the row if there is only one row. If columns are
  /// summed, threads share the columns instead. The work per element is counted as 10 for each operation and 40 for
  /// each number that is loaded or stored.
  static void run(const void* constants, void* const* operands, int threads) {
    const loop_table& t = *static_cast<const loop_table*>(constants);
    const std::int64_t work = t.rows * t.columns * (10 * operations + 40 * (written + inputs));
    if constexpr (Sum == sums::all) {
      const cursor c(t, operands, {0, 1});
      const auto of_section = [&t, &c](std::int64_t begin, std::int64_t n) { return sum_along(t, c.now, begin, n); };
      const auto all = fold_all<adding, Real, sum_count>(t.columns, work, threads, of_section);
      for (int k = 0; k < sum_count; ++k) *static_cast<Real*>(operands[totals.at[k].result]) = all.of[k];
    } else if (Sum != sums::columns && t.rows > 1) {
      shares{work, t.rows}(threads, [&t, operands](costs::range own) { rows(t, operands, own, {0, t.columns}); });
    } else {
      shares{work, t.columns, width}(threads, [&t, operands](costs::range own) {
        if constexpr (Sum == sums::columns) sum_columns(t, operands, own);
        else rows(t, operands, {0, t.rows}, own);
      });
    }
  }

  /// Runs the fused loop for the rows `own` only, for a kernel that shares a plan step with the fused loop.
  static void make_rows(const void* constants, void* const* operands, costs::range own) {
    const loop_table& t = *static_cast<const loop_table*>(constants);
    rows(t, operands, own, {0, t.columns});
  }

  /// Fetches the memory that run_tile will read and write for this tile into the first-level cache.
  static void fetch_tile(const void* constants, void* const* of, int row, int column, int height, int columns) {
    const costs::range all{column, column + columns};
    in_pieces(*static_cast<const loop_table*>(constants), of, all,
              [=](const loop_table& t, void* const* at, costs::range some) {
                fetch_streams(streams, arrays, t, at, row, static_cast<int>(some.begin), height,
                              static_cast<int>(some.end - some.begin));
              });
  }

  /// Runs the fused loop for one tile of the first value. The tile begins at (row, column) and has `height` rows and
  /// `columns` columns. The numbers of the tile lie at `tile`; its rows are `stride` numbers apart.
  static void run_tile(const void* constants, void* const* operands, const void* tile, int stride, int row, int column,
                       int height, int columns) {
    const auto* const first = static_cast<const typename result_held<0>::number*>(tile) - column;
    const costs::range all{column, column + columns};
    in_pieces(*static_cast<const loop_table*>(constants), operands, all,
              [=](const loop_table& t, void* const* at, costs::range some) {
                const auto* from = first;
                for (cursor c(t, at, {row, row + height}); c.end > c.row; c.next(t, at), from += stride) {
                  std::int64_t i = some.begin;
                  for (; i + width <= some.end; i += width) step(t, c.now, i, whole, from + i);
                  if (i < some.end) step(t, c.now, i, {static_cast<int>(some.end - i), true}, from + i);
                }
              });
  }

 private:
  static constexpr int width = lanes<Real>::width;
  /// The number of lanes of a register that are used. `tail` is true if the register may be used in part. Wherever code
  /// is generated, the compiler knows the value of `tail`.
  struct lanes_used {
    int count;
    bool tail;
  };
  static constexpr lanes_used whole{width, false};
  static constexpr loop_value code[operations]{Code...};
  static constexpr loop_operand input[inputs + 1]{Input...};
  static constexpr int argument[sizeof...(Argument) + 1]{Argument...};
  using each_input = std::make_integer_sequence<int, inputs>;
  using each_operation = std::make_integer_sequence<int, operations>;

  template <int K>
  using result_held = held<code[K].type, Real>;
  template <int K>
  using input_held = held<input[K].type, Real>;

  /// An array of N numbers, where N may be 0.
  template <int N>
  struct list {
    int at[N + 1] = {};
  };
  /// `index_of_result` has for each value its index among the written results. `index_of_input` has for each input its
  /// index among the operands that follow the written results.
  static constexpr list<operations> index_of_result = [] {
    list<operations> indices;
    for (int k = 0, n = 0; k < operations; ++k) indices.at[k] = code[k].written ? n++ : 0;
    return indices;
  }();
  static constexpr list<inputs> index_of_input = [] {
    list<inputs> indices;
    for (int k = 0, n = 0; k < inputs; ++k) indices.at[k] = input[k].how == access::constant ? 0 : n++;
    return indices;
  }();
  static constexpr bool is_sum(int k) {
    return Sum != sums::nothing && cairn::detail::same_address(code[k].lanes, nullptr) && code[k].arguments == 1;
  }
  static constexpr int sum_count = [] {
    int n = 0;
    for (int k = 0; k < operations; ++k) n += is_sum(k);
    return n;
  }();
  /// A sum: its index among the written results, and the number of the value whose elements are added.
  struct summed_value {
    int result = 0, of = 0;
  };
  static constexpr auto totals = [] {
    struct {
      summed_value at[sum_count + 1];
    } all{};
    for (int k = 0, n = 0; k < operations; ++k) {
      if (is_sum(k)) all.at[n++] = {index_of_result.at[k], argument[code[k].first]};
    }
    return all;
  }();
  using each_sum = std::make_integer_sequence<int, sum_count>;

  static constexpr bool any_mapped = ((Input.how == access::mapped) || ...), any_in_pieces = (Input.in_pieces || ...);
  static constexpr auto all_streams = [] {
    std::array<stream, static_cast<std::size_t>(arrays) + 1> all{};
    const int result_bytes[]{static_cast<int>(sizeof(typename held<Code.type, Real>::number))...};
    const int input_bytes[]{!cairn::detail::same_address(Input.generate, nullptr)
                                ? 1
                                : static_cast<int>(sizeof(typename held<Input.type, Real>::number))...,
                            0};
    std::size_t n = 0;
    for (int k = 0; k < operations; ++k) {
      if (code[k].written) all[n++] = {.bytes = result_bytes[k], .is_sum = is_sum(k)};
    }
    for (int k = 0, maps = 0; k < inputs; ++k) {
      if (input[k].how == access::constant) continue;
      all[n++] = {input_bytes[k], k, input[k].how == access::mapped ? maps++ : -1, input[k].how};
    }
    return all;
  }();
  static constexpr const stream* streams = all_streams.data();

  /// The address at which a row begins, for each operand.
  struct row_addresses {
    std::byte* at[arrays];

    template <int K>
    [[gnu::always_inline]] auto* result() const {
      return reinterpret_cast<typename result_held<K>::number*>(at[index_of_result.at[K]]);
    }
    template <int K>
    [[gnu::always_inline]] const auto* operand() const {
      return reinterpret_cast<const typename input_held<K>::number*>(at[written + index_of_input.at[K]]);
    }
  };
  /// Visits rows one after another. The addresses `now` stay in registers because a function that is not inlined never
  /// gets a pointer to `now`: `restart_at_row` passes a copy instead.
  struct cursor : row_range {
    row_addresses now;
    std::int64_t step[arrays];

    cursor() = default;
    [[gnu::always_inline]] cursor(const loop_table& t, void* const* of, costs::range rows)
        : row_range{rows.begin, rows.end, rows.end} {
      if (t.outer > (any_mapped || any_in_pieces ? 0 : 1)) {
        restart_at_row(t, of);
        return;
      }
#pragma GCC unroll 16
      for (int k = 0; k < arrays; ++k) {
        const stream& s = streams[k];
        step[k] = s.bytes * (s.is_sum || t.outer == 0 ? 0 : s.input < 0 ? t.columns : t.strides[s.input]);
        now.at[k] = static_cast<std::byte*>(of[k]) + row * step[k];
      }
    }
    [[gnu::always_inline]] void next(const loop_table& t, void* const* of) {
      if (++row >= next_restart && row < end) return restart_at_row(t, of);
#pragma GCC unroll 16
      for (int k = 0; k < arrays; ++k) now.at[k] += step[k];
    }

   private:
    [[gnu::always_inline]] void restart_at_row(const loop_table& t, void* const* of) {
      row_range found = *this;
      row_addresses first;
      std::int64_t apart[arrays];
      found.start(streams, arrays, t, of, first.at, apart);
      next_restart = found.next_restart;
#pragma GCC unroll 16
      for (int k = 0; k < arrays; ++k) {
        now.at[k] = first.at[k];
        step[k] = apart[k];
      }
    }
  };

  /// A range of columns in which each input in pieces is one of its pieces. For these columns the piece is an ordinary
  /// input.
  struct piece {
    loop_table table;
    void* at[arrays];
    costs::range columns;
    cursor next;

    piece() = default;
    piece(const loop_table& t, const graphs::column_range& own, void* const* operands, costs::range all)
        : table(t), columns{std::max<std::int64_t>(own.begin, all.begin), std::min<std::int64_t>(own.end, all.end)} {
      table.reads = own.reads;
      find_piece_addresses(streams, arrays, own, operands, at);
    }
  };
  /// Calls run(table, operands, columns) for the columns of each piece.
  [[gnu::always_inline]] static void in_pieces(const loop_table& t, void* const* operands, costs::range columns,
                                               auto run) {
    if constexpr (!any_in_pieces) {
      run(t, operands, columns);
    } else {
      for (int r = 0; r < t.range_count; ++r) {
        if (t.ranges[r].end <= columns.begin || t.ranges[r].begin >= columns.end) continue;
        const piece own(t, t.ranges[r], operands, columns);
        run(own.table, own.at, own.columns);
      }
    }
  }
  using open_sums = open_columns<adding, Real, std::max(sum_count, 1)>;
  /// Computes the sums of the columns `own`. If there are more than `section_terms` rows, the rows of each section are
  /// added up separately, and the sum of the section then joins the total.
  static void sum_columns(const loop_table& t, void* const* operands, costs::range own) {
    if (t.rows <= costs::section_terms) return rows(t, operands, {0, t.rows}, own);
    open_sums open;
    for (int k = 0; k < sum_count; ++k) open.total[k] = static_cast<Real*>(operands[totals.at[k].result]);
    for (auto j = own.begin; j < own.end; j += open.most) {
      open.start({j, std::min(j + open.most, own.end)});
      if constexpr (any_in_pieces) {
        rows_of_pieces(t, operands, {0, t.rows}, open.columns, &open);
      } else {
        void* at[arrays];
        std::copy_n(operands, arrays, at);
        add_apart(at, open);
        rows(t, at, {0, t.rows}, open.columns, &open);
      }
    }
  }
  /// Changes the addresses of the sums so that elements are added to the open section instead of the totals.
  static void add_apart(void** at, open_sums& open) {
    for (int k = 0; k < sum_count; ++k) {
      void*& sum = at[totals.at[k].result];
      sum = open.open(k) + (static_cast<Real*>(sum) - open.total[k]);
    }
  }
  static void rows(const loop_table& t, void* const* operands, costs::range rows, costs::range columns,
                   open_sums* open = nullptr) {
    if constexpr (any_in_pieces) return rows_of_pieces(t, operands, rows, columns, open);
    for (cursor c(t, operands, rows); c.end > c.row; c.next(t, operands)) one_row(t, c, columns, open);
  }
  /// Runs the fused loop for rows that consist of pieces. All pieces of a row are processed before the next row begins,
  /// because processors prefetch memory that is read and written in order. At most 16 pieces are processed at a time;
  /// if there are more, the rows are visited again for the next pieces.
  static void rows_of_pieces(const loop_table& t, void* const* operands, costs::range rows, costs::range columns,
                             open_sums* open) {
    constexpr int most = 16;
    piece all[most];
    for (int r = 0, n = 0; r < t.range_count; n = 0) {
      for (; r < t.range_count && n < most; ++r) {
        if (t.ranges[r].end <= columns.begin || t.ranges[r].begin >= columns.end) continue;
        all[n] = piece(t, t.ranges[r], operands, columns);
        if (open != nullptr) add_apart(all[n].at, *open);
        all[n].next = cursor(all[n].table, all[n].at, rows);
        ++n;
      }
      for (auto row = rows.begin; row < rows.end; ++row) {
        for (int i = 0; i < n; ++i) {
          one_row(all[i].table, all[i].next, all[i].columns, open);
          all[i].next.next(all[i].table, all[i].at);
        }
      }
    }
  }
  [[gnu::always_inline]] static void one_row(const loop_table& t, const cursor& c, costs::range columns,
                                             [[maybe_unused]] open_sums* open) {
    if constexpr (Sum == sums::rows) {
      const auto sums_of_row = sum_along(t, c.now, 0, t.columns);
      for (int k = 0; k < sum_count; ++k)
        reinterpret_cast<Real*>(c.now.at[totals.at[k].result])[c.row] = sums_of_row.of[k];
    } else {
      for (std::int64_t i = columns.begin; i < columns.end;) {
        row_addresses here = c.now;
        const std::int64_t end = in_order(t, here, i, columns.end);
        for (; i + width <= end; i += width) add<true>(t, here, c.row == 0, i, whole);
        if (i >= columns.end) break;
        const int left = static_cast<int>(std::min<std::int64_t>(columns.end - i, width));
        if constexpr (any_mapped) add_at_edge(t, c.now, c.row == 0, i, left);
        else add<true>(t, here, c.row == 0, i, {left, true});
        i += left;
      }
      if constexpr (Sum == sums::columns) {
        if (open != nullptr) open->end_row(c.row + 1, t.rows, columns);
      }
    }
  }
  /// Returns the column up to which, from column i on, all maps lead to consecutive elements. Returns i if a map does
  /// not do so at column i. Also changes `here` so that up to the returned column the mapped inputs are read like
  /// contiguous inputs.
  [[gnu::always_inline]] static std::int64_t in_order(const loop_table& t, row_addresses& here, std::int64_t i,
                                                      std::int64_t end) {
#pragma GCC unroll 16
    for (int k = written; k < arrays; ++k) {
      if (streams[k].map < 0) continue;
      const mapped_axis& a = t.maps[streams[k].map * (t.outer + 1) + t.outer];
      if (here.at[k] == nullptr || a.stride != 1 || i < a.begin) return i;
      end = std::min<std::int64_t>(end, i < a.cut ? a.cut : a.end);
      here.at[k] += (i < a.cut ? a.before : a.after) * streams[k].bytes;
    }
    return end;
  }
  /// Processes a register for which a map may lead to elements that are not consecutive. Only few registers are of this
  /// kind, so their code is not inlined into the loop.
  [[gnu::noinline]] static void add_at_edge(const loop_table& t, const row_addresses& here, bool first_row,
                                            std::int64_t i, int count) {
    if (count == width) add<false>(t, here, first_row, i, whole);
    else add<false>(t, here, first_row, i, {count, true});
  }

  /// Processes one register of elements. If columns are summed, adds the values to the sums.
  template <bool InOrder>
  [[gnu::always_inline]] static void add(const loop_table& t, const row_addresses& here,
                                         [[maybe_unused]] bool first_row, std::int64_t i, lanes_used n) {
    if constexpr (Sum != sums::columns) {
      step<InOrder>(t, here, i, n);
    } else {
      using V = lanes<Real>;
      const several<V, sum_count> more = step<InOrder>(t, here, i, n);
      for (int k = 0; k < sum_count; ++k) {
        Real* const to = reinterpret_cast<Real*>(here.at[totals.at[k].result]) + i;
        const V sum = (first_row ? V::fill(0) : n.tail ? V::load(to, n.count) : V::load(to)) + more.of[k];
        if (n.tail) sum.store(to, n.count);
        else sum.store(to);
      }
    }
  }
  /// Returns the sums of n elements of a row, from element `begin` on.
  static several<Real, sum_count> sum_along(const loop_table& t, const row_addresses& here, std::int64_t begin,
                                            std::int64_t n) {
    return fold_row<adding, Real>(n, [&t, here, begin, n](std::int64_t i) {
      const int count = static_cast<int>(std::min<std::int64_t>(n - i, width));
      return count == width ? step(t, here, begin + i, whole) : masked(step(t, here, begin + i, {count, true}), count);
    });
  }

  using input_registers = register_file<std::make_index_sequence<sizeof...(Input)>, register_of<Input.type, Real>...>;
  using result_registers = register_file<std::make_index_sequence<sizeof...(Code)>, register_of<Code.type, Real>...>;

  template <int K, bool InOrder>
  [[gnu::always_inline]] static auto load(const loop_table& t, const row_addresses& here, std::int64_t i,
                                          lanes_used n) {
    using held = input_held<K>;
    constexpr access how = input[K].how;
    if constexpr (how == access::constant) {
      return held::fill(input[K].immediate);
    } else if constexpr (!cairn::detail::same_address(input[K].generate, nullptr)) {
      const std::int64_t row = here.at[written + index_of_input.at[K]] - graphs::first_position();
      if constexpr (how == access::generated) return load_generated<held, input[K].generate>(row + i, n.count);
      else return repeat_generated<held, input[K].generate>(row);
    } else {
      const auto* const row = here.template operand<K>();
      if constexpr (how == access::repeated) return held::repeat(row);
      else if constexpr (how == access::mapped && !InOrder)
        return load_mapped<held>(t.maps[streams[written + index_of_input.at[K]].map * (t.outer + 1) + t.outer], row, i,
                                 n.count, n.tail);
      else return n.tail ? held::load(row + i, n.count) : held::load(row + i);
    }
  }

  /// Computes and stores the values of the fused loop for one register of elements. If the fused loop has sums, returns
  /// the registers that the sums add up.
  template <bool InOrder = false>
  [[gnu::always_inline]] static auto step(const loop_table& t, const row_addresses& here, std::int64_t i, lanes_used n,
                                          const void* tile = nullptr) {
    return step<InOrder>(t, here, i, n, tile, each_input{}, each_operation{}, each_sum{});
  }
  template <bool InOrder, int... I, int... K, int... S>
  [[gnu::always_inline]] static auto step(const loop_table& t, const row_addresses& here, std::int64_t i, lanes_used n,
                                          const void* tile, std::integer_sequence<int, I...>,
                                          std::integer_sequence<int, K...>, std::integer_sequence<int, S...>) {
    input_registers in;
    result_registers made;
    ((at<I>(in) = load<I, InOrder>(t, here, i, n)), ...);
    if constexpr (Tiles) {
      const auto* from = static_cast<const typename result_held<0>::number*>(tile);
      at<0>(made) = n.tail ? result_held<0>::load(from, n.count) : result_held<0>::load(from);
    }
    (apply<K>(in, made, results_of<K>{}, arguments_of<K>{}), ...);
    (store<K>(made, here, i, n), ...);
    if constexpr (Sum != sums::nothing) return several<lanes<Real>, sum_count>{{at<totals.at[S].of>(made)...}};
  }

  /// Returns the number of results of operation k. The entry of an operation in `code` is the first result; the other
  /// results follow as entries without code and without arguments. `results_of` and `arguments_of` number the results
  /// and the arguments of operation K from 0.
  static constexpr int result_count(int k) {
    int n = 1;
    while (k + n < operations && cairn::detail::same_address(code[k + n].lanes, nullptr) && code[k + n].arguments == 0)
      ++n;
    return n;
  }
  template <int K>
  using results_of = std::make_integer_sequence<int, result_count(K)>;
  template <int K>
  using arguments_of = std::make_integer_sequence<int, code[K].arguments>;
  template <int K, int... R, int... A>
  [[gnu::always_inline]] static void apply(input_registers& in, result_registers& made,
                                           std::integer_sequence<int, R...>, std::integer_sequence<int, A...>) {
    if constexpr (constexpr const graphs::lane_code* operation = code[K].lanes;
                  !cairn::detail::same_address(operation, nullptr)) {
      constexpr auto run = operation->run;
      void* const results[]{&at<K + R>(made)...};
      const void* const arguments[]{argument_at<argument[code[K].first + A]>(in, made)..., nullptr};
      run(results, arguments);
      ((at<K + R>(made) = result_held<K + R>::rounded(at<K + R>(made))), ...);
    }
  }
  template <int A>
  [[gnu::always_inline]] static const void* argument_at(input_registers& in, result_registers& made) {
    if constexpr (A < 0) return &at<-1 - A>(in);
    else return &at<A>(made);
  }
  template <int K>
  [[gnu::always_inline]] static void store(result_registers& made, const row_addresses& here, std::int64_t i,
                                           lanes_used n) {
    if constexpr (code[K].written && !is_sum(K)) {
      auto* const to = here.template result<K>() + i;
      if (n.tail) result_held<K>::store(at<K>(made), to, n.count);
      else result_held<K>::store(at<K>(made), to);
    }
  }
};

}  // namespace cairn::kernels
