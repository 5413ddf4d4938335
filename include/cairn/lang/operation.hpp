// What an operation states of itself: all that the passes, the kernels and the programs know of it.
#pragma once

#include "cairn/base/element.hpp"
#include "cairn/base/fixed_string.hpp"
#include "cairn/base/map.hpp"
#include "cairn/misuse/misuse.hpp"
#include "cairn/cost/parts.hpp"

#include <array>

namespace cairn {

/// Whether an operation can hand its first result to a loop in tiles: complete ones alone, or such that meanwhile the
/// sums lie in the result's memory, so that nothing else may be written there.
enum class tiling : std::uint8_t { none, complete, summed_in_result };

/// What a state is when the step is over: a result or an argument of the operation that updates it.
struct next_state {
  int result = -1, argument = -1;
};

/// Defaults of every operation. An operation is an empty struct that states
///   name            how messages, graphs and reports call it
///   result(x...)    what it makes of arguments x, each a tensor_type, which is a shape: a shape (its elements are real
///                   numbers, of the arguments' type), a tensor_type, or a std::array of either: several results.
///                   no_shape where the arguments do not fit
///   rule            the misuse that this is then (misuse/misuse.hpp, or one of the user's), and
///   asked           optional: a fact that the message shows beside the arguments, such as the wanted shape
///   flops(x...)     floating-point operations; without, one for each element of the first result
///   vjp(g..., y..., x...)  the gradients of its arguments, by gradients(...), from the cotangents of its results of
///                   real numbers, its results and its arguments; written in the language itself. Where it has several
///                   results there may be a second rule with the first cotangent alone: for where nobody reads the
///                   other results but these rules
/// and what of the following differs. Its kernel stands in the file of the same stem in kernel/.
struct op {
  static constexpr fixed_string name = "unnamed";
  /// Sort of argument number i. Arguments of real numbers are all of one type; constants take that of the others. A
  /// kernel gets real numbers of no user's type, but where it takes any sort.
  static constexpr kind argument_kind(int) { return kind::real; }
  /// Of an argument of indices: the extent of what they are positions in, which their bound may not exceed; 0 where
  /// they are none.
  static constexpr int extent_indexed(int /*argument*/, const auto&...) { return 0; }
  /// The shape of argument number i as the user wrote it.
  static constexpr shape shown(std::size_t, const shape& s) { return s; }

  // How it is computed. What is none of these first three has a kernel, `compute`.

  /// One element of each result from one of each broadcast argument: `lanewise`. Loops join such operations.
  static constexpr bool elementwise = false;
  /// The elements of its argument in the same order: no step, no memory.
  static constexpr bool view = false;
  /// Elements of its argument in other places, which map(x, axis) tells by axis: who reads it reads them there, where
  /// that is possible, and loops copy them where it is not.
  static constexpr bool mapped = false;
  /// The axes over which it adds its argument up, if it does just that: a loop that computes this may do it.
  static constexpr axis_set summed = 0;
  /// Whether it gives its first result in tiles: then `compute` takes a tile_reader. Here and below, `bytes` are those
  /// of a number of the type in which it computes: that of its arguments.
  static constexpr tiling tiles(int /*bytes*/, const auto&...) { return tiling::none; }
  /// Whether it goes through its first argument row by row, along the last axis: then a loop may make each row just
  /// before, and `compute` takes a row_maker.
  static constexpr bool takes_rows(const auto&...) { return false; }
  /// Whether it goes so through all arguments of as many elements, once, and tells of each row a number in results
  /// {..., 1}: then a loop that reads these may go through the rows right after, and write over them; `compute` takes
  /// a row_maker, too.
  static constexpr bool gives_rows(const auto&...) { return false; }
  /// Over which argument its kernel may write a result; -1 for none.
  static constexpr int overwrites(int /*result*/) { return -1; }
  /// How many of the last axes are rows of argument number i that its kernel reads where they lie further apart than
  /// they are long, as parts of longer ones; 0 where it needs them side by side.
  static constexpr int reads_rows(int /*argument*/) { return 0; }
  /// Whether its result is nothing but its arguments, one after the other along the last axis: who reads it reads them,
  /// where that is possible.
  static constexpr bool joins(const auto&...) { return false; }
  /// Whether its kernel reads argument number i where it is, if it is joined: then `compute` takes a launch.
  static constexpr bool reads_pieces(int /*argument*/, const auto&...) { return false; }
  /// Whether its kernel takes argument number i in bf16, where real numbers are stored so: then Real is bf16, and what
  /// it makes, and takes else, are floats; but one that moves numbers of any kind makes bf16 of such. The first of its
  /// arguments is one, or none is.
  static constexpr bool takes_bf16(int /*argument*/) { return false; }
  /// Of what it takes so the argument that counts, for statistics and what moves numbers: where this is a float that
  /// nothing rounded, as an input, its kernel takes floats alone, and what moves numbers makes such. -1 for none.
  static constexpr int exact = -1;
  /// Whether it does so where parameters are bf16 alone: rows of a table, a filter, which it takes as floats, too.
  static constexpr bool takes_weights(int /*argument*/) { return false; }
  /// Whether its kernel makes a result in bf16 where real numbers are stored so: each number is rounded once. Then Real
  /// is `floats_rounded`, and an argument of bf16 has elements of that type.
  static constexpr bool makes_bf16(int /*result*/, const auto&...) { return false; }
  /// Whether a result is a sum, an extremum or a statistic: then it stays a float where others are rounded to bf16.
  static constexpr bool sums(int /*result*/) { return false; }
  /// Whether it takes statistics of one number each, so that nothing comes through the normalization by these.
  static constexpr bool of_single_numbers(const auto&...) { return false; }
  /// Working space of its kernel, in such numbers.
  static constexpr workspace scratch(int /*bytes*/, const auto&...) { return {}; }

  // What it means.

  /// A matrix product, a convolution: much work for each number, which policies keep.
  static constexpr bool contraction = false;
  /// Cuts the gradient of arguments that have one. Refused in segments.
  static constexpr bool detaches = false;
  /// Is constant wherever it has a derivative, as a comparison is: gives its arguments no gradient, which is right.
  static constexpr bool piecewise_constant = false;
  /// Whether argument number i is a function of the others, and the gradient that reaches these through it is a part of
  /// theirs: then it gets no gradient itself.
  static constexpr bool in_other_gradients(int /*argument*/) { return false; }
  /// The argument that it is in a program, which trains, or in a predictor; -1 where it is an operation of its own.
  static constexpr int stands_for(bool /*training*/) { return -1; }
  /// What argument number i, a state, is when the step of a program is over; or, a cache, the call of a predictor.
  static constexpr next_state becomes(int /*argument*/) { return {}; }
};

/// An operation that computes each element of its results from the elements at the same place.
struct elementwise_op : op {
  static constexpr bool elementwise = true;
  using rule = rule::extents_equal_or_one;
  static constexpr shape result(const shape& x, const auto&... more) {
    shape out = x;
    ((out = out.valid() ? broadcast(out, more) : out), ...);
    return out;
  }
  static constexpr std::int64_t flops(const auto&... x) { return result(x...).count(); }
};

/// Marks an argument that gets no gradient.
struct no_gradient {};

/// The gradients of an operation's arguments, in order.
template <class... G>
struct gradients {
  constexpr explicit gradients(G...) {}
};

}  // namespace cairn
