// Facts are tags that compile-time messages show. A fact labels its template arguments, for example in<"block.0">.
#pragma once

#include "cairn/base/fixed_string.hpp"

/// The facts that messages show. Tensors are array types: `float[128][784]` stands for real numbers, and `int[128]` for
/// indices. A name is a pack of strings, because clang cuts long strings.
namespace cairn::fact {
template <fixed_string... Path>
struct in;
template <fixed_string Name, class... Tensors>
struct operation;
template <fixed_string Name>
struct axes_come_from;
template <class... Kinds>
struct takes;
template <int... Axes>
struct axes;
template <int Axis, int Begin, int End>
struct slice;
template <int Axis, int Before, int After>
struct pad;
template <int N>
struct parts;
template <std::int64_t... Extents>
struct extents;
template <fixed_string Text>
struct letters;
template <char Letter>
struct letter;
template <int... ExtentStridePaddingDilation>  // each is a single number, or each is a height and a width
struct window;
template <int Out, int... Extent>
struct filters;
template <int... Numbers>
struct dilation;
template <int N>
struct factor;
template <int N>
struct groups;
template <int Queries, int Keys>
struct heads;
template <int N>
struct iterations;
template <class... Tensors>
struct carried;
template <class... Tensors>
struct each;
template <int N>
struct segments;
template <int N>
struct layers;
struct object {};  // stands for any class, without its name
struct layer {};   // stands for a layer, because the type of a layer has a long name
template <int... Numbers>  // all but the groups are single numbers, or each of them is a height and a width
struct stride_pad_dilate_groups;
template <class Tensor>
struct result;
template <class... Tensors>
struct arguments;
template <class... Tensors>
struct results;
template <int Index>
struct argument;
template <int Index>
struct element;
template <fixed_string... Name>
struct segment;
template <fixed_string... Name>
struct parameter;
template <fixed_string... Name>
struct state;
template <fixed_string... Name>
struct input;
template <fixed_string... Name>
struct key;
template <fixed_string... Name>
struct tag;
template <class... Policy>
struct policies;
template <int Number>
struct policy;
template <fixed_string... Name>
struct nearest;
template <class Type>
struct given;
template <class Type>
struct returned;
template <int Count>
struct values;
template <class What>
struct expected;
template <class What>
struct got;
template <std::int64_t N>
struct bound;
template <int Index>
struct padding;
template <int Row>
struct zero_row;
template <bool Trained>
struct trained;
template <double Fill>
struct constant;
template <double Bound>
struct uniform;
template <double Deviation>
struct normal;
template <double Deviation>
struct truncated_normal;
template <double Gain>
struct orthogonal;
template <double P>
struct probability;
template <double Delta>
struct delta;
template <double Share>
struct label_smoothing;
template <fixed_string Name, double Value, fixed_string Range>
struct setting;
template <int N>
struct threads;
template <int N>
struct height;
template <int N>
struct nodes;
template <auto Bytes>
struct frees;
template <auto Bytes>
struct keeps;
template <auto Bytes>
struct budget_bytes;
template <auto Bytes>
struct peak_bytes;
template <auto Bytes>
struct divided_bytes;
template <auto Bytes>
struct whole_bytes;
template <auto Bytes>
struct as_block;
template <auto Bytes>
struct least_bytes;
template <auto Bytes>
struct gradient_bytes;
template <auto Bytes>
struct shared_bytes;
}  // namespace cairn::fact

namespace cairn {

/// Is always false, so that the static_assert of a misuse fails. Compilers print this name with the facts.
template <class... Facts>
inline constexpr bool well_formed = false;

}  // namespace cairn
