// Defines what an operation declares about itself. Passes, kernels and programs know nothing else about an operation.
#pragma once

#include "cairn/base/element.hpp"
#include "cairn/base/fixed_string.hpp"
#include "cairn/base/map.hpp"
#include "cairn/cost/parts.hpp"
#include "cairn/misuse/table.hpp"

#include <array>

namespace cairn {
/// Says whether the kernel of an operation can hand its first result to a fused loop in tiles.
/// - `none`: the kernel has no tiles.
/// - `complete`: the kernel hands out complete tiles, and does not use the memory of the result.
/// - `summed_in_result`: until a tile is complete, its partial sums lie in the memory of the result. Nothing else may
///   be written there in the meantime.
enum class tiling : std::uint8_t { none, complete, summed_in_result };

/// How the kernel of an operation reads an argument.
struct reading {
  /// The type in which real numbers are read where some of them are stored as bf16.
  enum type : std::uint8_t {
    as_float,     ///< the argument is converted to float32 if it is stored as bf16
    as_stored,    ///< the argument is bf16; it is rounded if it is float32
    as_parameter  ///< like `as_stored` in programs with bf16 parameters, for example rows of a table; else as float32
  };
  type numbers = as_float;
  /// If this argument is float32 and was never rounded, for example because it is an input of the program, the kernel
  /// reads all arguments as float32, and its results are not rounded. Kernels that compute statistics or move numbers
  /// have such an argument.
  bool decides_precision = false;
  /// Number of last axes that make up a row, if the kernel can read rows that lie further apart than they are long.
  /// Rows lie so if each is a part of a longer row. 0: the kernel needs the rows side by side.
  int row_axes = 0;
  /// The kernel can read the argument piece by piece if the argument is a concatenation.
  bool in_pieces = false;
  /// The kernel reads the argument row by row, along the last axis. A fused loop may then compute each row just before
  /// the kernel reads it. Only the first argument can be read so.
  bool rows_from_loop = false;
};

/// How an operation makes a result.
struct making {
  /// The kernel itself rounds the result where real numbers are stored as bf16. Each number is rounded once. The type
  /// `Real` of the kernel is then `floats_rounded`, and an argument that the kernel reads as bf16 has elements of type
  /// bf16.
  bool rounds = false;
  /// The result is a sum, an extremum or a statistic. It stays float32 where other results are rounded to bf16.
  bool is_statistic = false;
  /// Says whether the kernel can hand out the result in tiles. Only the first result can be handed out so.
  tiling tiles = tiling::none;
  /// The kernel goes through the rows once and computes one number for each row, so the result is {..., 1}. The rows
  /// are the rows of the first argument and of all arguments with the same number of elements. A fused loop that reads
  /// these numbers may then go through the rows right after the kernel, and write over them.
  bool one_for_each_row = false;
  /// The result is nothing but the arguments, one after the other along the last axis. Readers of the result then read
  /// these pieces in place, where this is possible.
  bool joins = false;
  /// The axes over which the operation sums its argument, if it does nothing else. The fused loop that computes the
  /// argument may then compute the sum.
  detail::axis_set summed = 0;
  /// The kernel may write the result into the memory of this argument, each element over one element; -1: of no
  /// argument.
  int overwrites = -1;
};

/// How the next value of a state follows from those of the shards: their mean, their largest number at each element, or
/// the value of the last shard.
enum class shard_join : std::uint8_t { unsaid, mean, maximum, last };

/// The value that a state has after a training step: result number `result` or argument number `argument` of the
/// operation that updates the state. -1: the value is not such a result or argument.
struct next_state {
  int result = -1, argument = -1;
  shard_join join = shard_join::unsaid;
};

namespace lang {
/// The type of a member that operations no longer have.
struct former_member {};
/// Base of `op`. If an operation declares a member of one of these names, it hides the one here, and the mistake is
/// found.
struct former_members {
  static constexpr former_member takes_rows{}, reads_rows{}, reads_pieces{}, takes_bf16{}, takes_weights{}, exact{},
      tiles{}, gives_rows{}, joins{}, overwrites{}, summed{}, makes_bf16{}, sums{};
};
}  // namespace lang

/// Base of every operation, with the defaults. An operation is an empty struct that declares
/// - `name`: the name of the operation in messages, graphs and reports.
/// - `result(x...)`: the results for arguments x. Each argument is a tensor_type, which is a shape with an element. One
///   result is returned as a tensor_type, or as a shape if its elements are real numbers of the arguments' type.
///   Several results are returned as a std::array of tensor_type or of shape. If the arguments do not fit, the result
///   is `no_shape`.
/// - `rule`: the misuse that is reported if the arguments do not fit. It is in misuse/table.hpp, or the user's own.
/// - `asked` (optional): a fact that the message shows in addition to the arguments, for example the wanted shape.
/// - `flops(x...)`: the number of floating-point operations.
/// - `vjp(g..., y..., x...)`: the gradient rule, written in the language itself. It gets the cotangents g of all
///   results that are real numbers, then the results y, then the arguments x, and returns the gradients of the
///   arguments as gradients(...). An operation with several results may have a second gradient rule with only the first
///   cotangent. The second rule is used if no other result has a cotangent, because only gradient rules read them.
///
/// In addition, an operation declares each of the following members that differs from the default. The kernel of an
/// operation is in the file of the same stem in kernel/.
struct op : lang::former_members {
  static constexpr fixed_string name = "unnamed";
  /// Kind of argument number i. All arguments that are real numbers must have one type; a constant takes the type of
  /// the other arguments. A kernel gets real numbers of a user's type only for arguments of kind::any.
  static constexpr kind argument_kind(int) { return kind::real; }
  /// For an argument of indices: the number of positions that the indices can point to; for a mask: 2. The bound of the
  /// argument must be at least 1 and at most this number. 0: the bound is not checked. Only asked of whole numbers.
  static constexpr int extent_indexed(int /*argument*/, const auto&...) { return 0; }
  /// The shape of argument number i as the user wrote it, for messages. `s` is the shape that the operation gets.
  static constexpr shape shown(std::size_t, const shape& s) { return s; }

  // How the operation is computed. An operation for which the next three members are all false has a kernel, `compute`.

  /// One element of each result is computed from one element of each broadcast argument, by `lanewise`. Fused loops
  /// join elementwise operations.
  static constexpr bool elementwise = false;
  /// The result has the elements of the argument in the same order. A view needs no plan step and no memory.
  static constexpr bool view = false;
  /// The result has elements of the argument at other positions, which map(x, axis) tells for each axis. Readers of the
  /// result read the elements in the argument where this is possible. Otherwise a fused loop copies the elements.
  static constexpr bool mapped = false;
  /// How the kernel reads argument number i. If rows come from a fused loop, if rows lie apart, or if there are pieces,
  /// only a kernels::launch tells the kernel, so `compute` must take one. This also holds for tiles and for
  /// `one_for_each_row` below.
  static constexpr reading reads(int /*argument*/, const auto&...) { return {}; }
  /// How the kernel makes a result. Here and below, `bytes` is the size of one number of the type in which the kernel
  /// computes, which is the type of its arguments.
  static constexpr making makes(int /*result*/, int /*bytes*/, const auto&...) { return {}; }
  /// Returns true if each statistic is taken of a single number. Nothing of the number is left after a normalization by
  /// its own statistics: see the misuse one_row_batch_norm.
  static constexpr bool of_single_numbers(const auto&...) { return false; }
  /// The number of floating-point operations. -1: one for each element of the first result.
  static constexpr std::int64_t flops(const auto&...) { return -1; }
  /// Workspace of the kernel, in numbers of `bytes` bytes.
  static constexpr workspace scratch(int /*bytes*/, const auto&...) { return {}; }

  /// Returns true if the kernel computes row r of each result from row r of argument number i, for each r. The rows are
  /// the entries along the first axis. If the function returns true for any argument, every row is computed in the same
  /// way: from the same row of these arguments, and from all of the other arguments. Tiled layers (lang/tiled.hpp)
  /// contain only such kernels. Elementwise operations, views and mapped operations need no declaration.
  static constexpr bool keeps_rows(int /*argument*/, const auto&...) { return false; }

  // The meaning of the operation for gradients, policies and states.

  /// The operation is a matrix product, a convolution or similar. It takes much work for each number of the result, so
  /// save_matmuls and similar policies store the result.
  static constexpr bool contraction = false;
  /// The operation cuts the gradient that its arguments would have. Segments reject the operation.
  static constexpr bool detaches = false;
  /// The operation is constant wherever it has a derivative, for example a comparison. That it gives its arguments no
  /// gradient is therefore right.
  static constexpr bool piecewise_constant = false;
  /// Returns true if argument number i is a function of the other arguments, and the gradients of the other arguments
  /// already contain the part that goes through argument i. Argument i then gets no gradient of its own.
  static constexpr bool in_other_gradients(int /*argument*/) { return false; }
  /// An operation that adds the result of this one to a further argument, which is its argument 0:
  /// `onto(sum, x...) = sum + this(x...)`; void: there is none. It takes the place of a sum of two gradients, so that
  /// the second gradient needs no memory of its own.
  using onto = void;
  /// Index of the argument that takes the place of the operation in a program (`training`) or in a predictor; -1: the
  /// operation is computed there.
  static constexpr int stands_for(bool /*training*/) { return -1; }
  /// In a program that divides its batch, the mean of argument 0 over the microbatches of the whole batch takes the
  /// place of the operation. Argument 0 is a single number that depends on inputs alone.
  static constexpr bool averages_over_parts = false;
  /// The kernel copies argument 0. In a program with shards<L>, the mean of the copies of all shards then takes the
  /// place of the copy. Segments store the result, because recomputation does not communicate. A program that does not
  /// divide its batch has argument 0 in place of the operation.
  static constexpr bool averages_over_shards = false;
  /// The value of argument number i, a state, after a training step. A cache gets its value after a call of a
  /// predictor.
  static constexpr next_state becomes(int /*argument*/) { return {}; }
};

/// Base of operations that compute each element of their results from the elements at the same position of the
/// arguments.
struct elementwise_op : op {
  static constexpr bool elementwise = true;
  using rule = misuse::extents_equal_or_one;
  static constexpr shape result(const shape& x, const auto&... more) {
    shape out = x;
    ((out = out.valid() ? broadcast(out, more) : out), ...);
    return out;
  }
  static constexpr std::int64_t flops(const auto&... x) { return result(x...).count(); }
};

/// Marks an argument that gets no gradient.
struct no_gradient {};

/// The gradients of the arguments of an operation, in the order of the arguments.
template <class... G>
struct gradients {
  constexpr explicit gradients(G...) {}
};

}  // namespace cairn
