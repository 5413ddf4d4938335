// The table of all misuse. It holds all compile-time messages, one sentence for each misuse.
//
// A misuse is a tag with a nested template `found<Silent, Facts...>`. The constructor of `found` has a single
// static_assert, which reports the misuse. The user's outermost call returns a `found`, so this call runs the
// constructor and the error names the user's line. After the report, the object behaves as its base `Silent`, which can
// be used in any way without a second error.
//
// The assertion is in the constructor and not in the class, because clang rejects every use of a class in which an
// assertion failed. Expression types carry only the tag and the facts (misuse/facts.hpp). clang prints the facts and
// the sentence in one line, so both must be short. A macro would make each of these structs one row, but each message
// six lines longer.
#pragma once

#include "cairn/misuse/facts.hpp"

namespace cairn::misuse {

// clang-format off

// Shape rules: the conditions that operations put on the shapes of their arguments.
struct extents_equal_or_one { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [shape-mismatch]: extents, from the last on, must be equal or 1; change one"); } }; };
struct one_number { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [shape-mismatch]: over_parts takes a single number, such as a count or a sum; reduce the array with sum or "
  "mean"); } }; };
struct inner_extents_equal { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [shape-mismatch]: matrices must be {..., m, k} and {..., k, n}; transpose or change an argument"); } }; };
struct systems_of_equations { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [shape-mismatch]: solve takes matrices {..., n, n} and right-hand sides {..., n, k} with equal leading axes; for a "
  "vector b write solve(a, unsqueeze<-1>(b))"); } }; };
struct square_matrices { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [shape-mismatch]: cholesky takes square matrices {..., n, n}"); } }; };
struct same_number_of_elements { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [shape-mismatch]: reshape keeps the number of elements; ask for extents with the same product, each below 2^31"); } }; };
struct axes_exist { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [shape-mismatch]: the argument has no such axes: they count from 0, or backward from -1, and each is named once"); } }; };
struct axes_in_new_order { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [shape-mismatch]: transpose<...> names every axis once, from 0 on, in a new order: transpose<0, 2, 1>(x); "
  "transpose(x) swaps the last two"); } }; };
struct equal_but_along_axis { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [shape-mismatch]: extents must be equal but along the joined axis, which all must have; change one"); } }; };
struct part_of_axis { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [shape-mismatch]: a slice is one or more elements [begin, end) of an axis that exists; negative ones count "
  "from the end"); } }; };
struct equal_parts { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [shape-mismatch]: split<axis, n>(x) takes n equal parts of an axis that exists: its extent is a multiple of n"); } }; };
struct zeros_around_axis { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [shape-mismatch]: pad<axis, before, after>(x) puts so many zeros around an axis that exists, none or more, below 2^31 in all; "
  "slice<...> cuts"); } }; };
struct new_axis { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [shape-mismatch]: stack<axis> and unsqueeze<axis> make a new axis, from 0 to the number of axes there are, or "
  "backward from -1; at most 6"); } }; };
struct axes_of_extent_one { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [shape-mismatch]: squeeze<axis>(x) removes axes that exist and have extent 1; take one element of another axis "
  "with slice first"); } }; };
struct extents_of_expand { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [shape-mismatch]: expand<8, 3, -1>(x) stretches axes of extent 1 and adds axes in front; other extents stay: write "
  "them again, or -1"); } }; };
struct repetitions_of_axes { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [shape-mismatch]: tile<2, 3>(x) repeats each axis at least once; the result has at most 5 axes, with extents below "
  "2^31"); } }; };
struct weight_of_prelu { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [shape-mismatch]: prelu(x, weight) takes x {..., channels} and a weight {1} or {channels}"); } }; };
struct one_label_per_row { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [shape-mismatch]: logits {..., classes} take labels<\"name\", classes, ...>, one a row"); } }; };
struct weights_of_classes_and_rows { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [shape-mismatch]: cross_entropy(logits, labels, weights, row_weights) takes weights {classes}, then one a row; 1_c "
  "where there are none"); } }; };
struct filter_of_images { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [shape-mismatch]: images {N, H, W, C} take filters {O, C / groups, rows, columns}"); } }; };
struct filter_of_rows { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [shape-mismatch]: rows {N, L, C} take filters {O, C / groups, extent}"); } }; };
struct transposed_filter { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [shape-mismatch]: images {N, H, W, C} take transposed filters {C, O / groups, rows, columns}"); } }; };
struct pixels_of_instances { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [shape-mismatch]: instance_norm takes {N, L, C} or {N, H, W, C} with more than one pixel for each example; take "
  "layer_norm for {N, C}"); } }; };
struct transposed_filter_of_rows { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [shape-mismatch]: rows {N, L, C} take transposed filters {C, O / groups, extent}"); } }; };
struct groups_divide { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [shape-mismatch]: groups divide the channels read and the channels made"); } }; };
struct numbers_in_group { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [shape-mismatch]: each group of this group_norm is a single number, so all results are the bias; take fewer groups, or no norm"); } }; };
struct filter_in_image { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [shape-mismatch]: a filter, dilated, is no larger than the image, padded"); } }; };
struct extents_of_convolution { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [shape-mismatch]: the dilated filter and the result have extents below 2^31"); } }; };
struct some_image_left { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [shape-mismatch]: padding leaves nothing of what the transposed filter makes"); } }; };
struct window_of_filter { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [shape-mismatch]: a window has no stride or padding below 0, and no dilation or groups below 1"); } }; };
struct window_of_rows { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [shape-mismatch]: a window over rows {N, L, C} has single numbers, because rows have one axis"); } }; };
struct settings_of_convolution { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [shape-mismatch]: ceil_mode and count_include_pad are for pools, not for convolutions"); } }; };
struct same_padding { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [shape-mismatch]: a padding of nn::same takes a stride of 1, in conv2d and conv1d alone"); } }; };
struct output_padding { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [shape-mismatch]: a transposed convolution alone has output_padding, below stride or dilation"); } }; };
struct size_of_image { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [shape-mismatch]: adaptive pools, as adaptive_avg_pool2d<height, width>(x), and interpolate2d<height, width>(x) make "
  "images of 1 or more pixels, with extents below 2^31"); } }; };
struct factor_of_pixels { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [shape-mismatch]: upsample2d<n>(x) makes n x n pixels of each; n is at least 1, and height and width stay below 2^31"); } }; };
struct queries_keys_values { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [shape-mismatch]: attention takes {N, T, H, D}, twice {N, S, h, D}, h divides H; masks fit {N, H, T, S}, as {N, 1, 1, S}"); } }; };
struct heads_of_features { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [shape-mismatch]: layers of attention take {N, T, features}: heads divide the features, key_heads the heads"); } }; };
struct mask_of_scores { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [shape-mismatch]: a mask in a layer of attention fits scores {N, heads, T, S}: of keys it is {N, 1, 1, S}"); } }; };
struct equal_shapes { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [shape-mismatch]: the shapes must be equal; change the argument that differs"); } }; };
struct two_rows_of_classes { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [shape-mismatch]: this loss compares two arrays {..., classes} of equal shape; change the argument that differs"); } }; };
struct rows_to_compare { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [shape-mismatch]: cosine_similarity takes {..., D} and {..., D}, whose leading axes broadcast"); } }; };
struct pairs_and_targets { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [shape-mismatch]: cosine_embedding_loss takes two arrays {..., D} of equal shape, and targets {...}, one a row"); } }; };
struct equal_rows { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [shape-mismatch]: triplet_loss takes three arrays {..., D} of equal shape; change the argument that differs"); } }; };
struct probability_below_one { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [wrong-probability]: elements are dropped, or are 1, with a probability from 0 to below 1"); } }; };
struct scalar_first { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [loss-not-scalar]: grad takes a scalar first, then what it is differentiated by; reduce it with mean or "
  "sum"); } }; };
struct unsaid { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [shape-mismatch]: the operation does not take these shapes; it has no `rule` that says which"); } }; };
struct positive_extents { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [shape-mismatch]: a tensor has at most 6 extents, each a positive constant below 2^31, that of the batch too, and 2^60 elements"); } }; };
struct positive_bound { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [shape-mismatch]: indices are in [0, bound), for a bound from 1 to below 2^31: indices<\"name\", bound, extents...>"); } }; };
struct indices_for_axis { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [shape-mismatch]: gather<Axis>(table, indices) puts the extents of the indices in place of that axis, which "
  "must exist; at most 6 axes are left"); } }; };
struct indices_along_axis { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [shape-mismatch]: gather_along<Axis> and scatter_add_along<Axis> take indices with the extents of x on all other "
  "axes, and values like indices"); } }; };
struct text_of_einsum { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [wrong-arguments]: einsum<\"bij,bjk->bik\">(a, b) has letters alone: those of the axes of a, a comma, those of b, "
  "an arrow, and those of the result"); } }; };
struct repeated_letter { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [wrong-arguments]: einsum gives each axis of a tensor a letter of its own"); } }; };
struct letter_of_result { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [wrong-arguments]: each letter of the result of einsum is a letter of an argument"); } }; };
struct letters_of_axes { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [shape-mismatch]: einsum has a letter for each axis, and axes with the same letter have equal extents"); } }; };
struct matrices_of_einsum { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [shape-mismatch]: einsum joins axes to the rows and columns of matrices, below 2^31 in number; take matmul, which "
  "joins none"); } }; };
struct rows_of_table { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [shape-mismatch]: placed<Axis>(table, index, rows) takes one index, and rows whose extents are the table's but along "
  "that axis, where there are no more"); } }; };
struct bound_as_extent { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [shape-mismatch]: one_hot adds an axis as long as the bound of its indices: they need a bound, and at most 5 "
  "axes"); } }; };
struct padding_in_table { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [shape-mismatch]: embedding takes indices with a bound, its rows; padding is one of these, or -1 for the last"); } }; };
struct pairs_of_features { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [shape-mismatch]: rotary turns pairs of features: it takes {..., T, H, D}, D even, and positions {T} or {..., T}"); } }; };
struct positions_of_rows { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [shape-mismatch]: sinusoidal_positions takes {..., T, features} and positions {T} or {..., T}"); } }; };
struct zero_row_of_parameter { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [shape-mismatch]: the zero_row of a parameter is one of its rows, from 0 on, or -1 for none"); } }; };
struct start_of_matrix { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [shape-mismatch]: orthogonal(), kaiming() and xavier() are starts of a weight {out, in, ...}; for a vector, name the "
  "fan in: initial::kaiming(fan_in)"); } }; };
struct window_in_image { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [shape-mismatch]: a window<extent, stride, padding, dilation> lies in the padded image; padding is at most half of extent"); } }; };
struct image { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [shape-mismatch]: this takes images {N, H, W, C}; reshape or transpose the argument"); } }; };
struct at_least_two_axes { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [shape-mismatch]: this layer takes {..., rows, features}; reshape its argument"); } }; };
struct steps_of_features { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [shape-mismatch]: a recurrent layer takes {N, T, features}, and its cell {N, features}; reshape or transpose "
  "the argument"); } }; };
struct states_of_units { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [shape-mismatch]: states of recurrent layers are {layers, N, hidden}, bidirectional {2 layers, N, hidden}, of a "
  "cell {N, hidden}"); } }; };
struct steps_along_first_axis { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [shape-mismatch]: the first axis of what stands in each(...) has as many elements as scan makes steps; with the "
  "batch first, write each(transpose<1, 0, 2>(x))"); } }; };
struct rows_in_groups { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [shape-mismatch]: nn::tiled<N> divides the first axis of each argument into N equal groups of rows; N is at least 1 "
  "and divides this axis, which has the same extent in all arguments"); } }; };
struct one_axis_more { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [shape-mismatch]: what the steps of scan collect gets one axis more, and a tensor has at most 6"); } }; };

// Misuse by calls that fit no function.
struct layer_for_expression { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [wrong-arguments]: a layer stands where an expression is needed; apply it: x | layer, or layer(x)"); } }; };
struct no_outputs { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [wrong-arguments]: a program or predictor is made of an expression, or of outputs(loss, ...); a function must be "
  "applied to inputs: program<f(input<\"x\", 8, 4>)>"); } }; };
struct expression_for_layer { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [wrong-arguments]: an expression stands where a layer is needed; give the layer itself, and apply the "
  "result: x | ckpt<\"name\">(layer)"); } }; };
struct linear_for_lora { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [wrong-arguments]: nn::lora<rank, alpha>(layer) takes nn::linear<\"name\", out> or nn::linear_without_bias"); } }; };
struct tuple_for_expression { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [wrong-arguments]: several values stand where one expression is needed, because a scan or a layer returned "
  "a tuple; take one: std::get<0>(values), or auto [a, b] = values"); } }; };
struct several_piped { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [wrong-arguments]: | applies a layer to one value; call it with several: layer(a, b)"); } }; };
struct piped_into_expression { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [wrong-arguments]: to the right of | stands a layer, not an expression; write x | layer, or relu(x) "
  "without x |"); } }; };
struct function_for_layer { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [wrong-arguments]: to the right of | stands a layer, not a function; write x | nn::relu, relu(x), or x | "
  "layer([](auto v) { return relu(v); })"); } }; };
struct axes_as_arguments { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [wrong-arguments]: axes and extents are template arguments: sum<-1>(x), sum<-1>(x, keepdim), "
  "reshape<8, 4>(x), slice<1, 0, 4>(x)"); } }; };
struct two_arguments { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [wrong-arguments]: this takes two arguments: cross_entropy(logits, labels), accuracy(logits, labels), "
  "mse(result, target), gather<0>(table, indices)"); } }; };
struct three_arguments { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [wrong-arguments]: this takes three arguments: triplet_loss(anchor, positive, negative), "
  "cosine_embedding_loss(x, y, targets)"); } }; };
struct one_value { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [wrong-arguments]: std::get takes values apart, and this is one value: scan and layers that return one value give "
  "that value itself; leave std::get out"); } }; };
struct truth_of_expression { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [wrong-arguments]: if, ?:, && and ! ask for a value, and an expression has none while the compiler runs; write "
  "where(x > 0_c, a, b)"); } }; };
struct one_axis { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [wrong-arguments]: this function goes along one axis; reshape several axes into one before, and back behind"); } }; };
struct nothing_shared { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [wrong-arguments]: these programs share no memory, because no parameter or state has the same name in both; make "
  "this program without the other one"); } }; };
struct copied_program { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [wrong-arguments]: a program is not a copy of another: it would share all memory; save one and load the other, or "
  "use predictor<output> p{step}"); } }; };
struct table_index_and_rows { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [wrong-arguments]: this takes three expressions: placed<0>(table, index, rows), "
  "scatter_add_along<0>(table, indices, values)"); } }; };
struct one_argument_reduced { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [wrong-arguments]: max and min reduce one expression over axes in <...>: max<-1>(x); the larger of two is "
  "maximum(x, y)"); } }; };
struct two_or_more_arguments { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [wrong-arguments]: this takes two expressions or more: concatenate<1>(a, b), stack<0>(a, b)"); } }; };
struct settings_of_pool { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [wrong-arguments]: a pool has stride, padding and ceil_mode; a max pool has dilation, an average pool count_include_pad"); } }; };
struct queries_keys_and_values { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [wrong-arguments]: attention takes q, k and v, then at most one mask and one causal: nn::attention(q, k, v, "
  "mask, nn::causal)"); } }; };
struct no_state { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [wrong-arguments]: what becomes another value when a step is over is a state: updated(x, state<\"s\", "
  "initial{}, 8>, next)"); } }; };
struct function_first { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [wrong-arguments]: ckpt, block and repeat take a function, then the expressions to call it with: ckpt<\"name\">(f, a, "
  "b), or ckpt<\"name\">(layer)"); } }; };
struct no_operation { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [wrong-arguments]: an operation derives from op and has a static result(x...), of as many shapes as it is "
  "applied to, that returns a shape"); } }; };
struct exponent_of_power { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [wrong-arguments]: the exponent of pow is a constant, from -64 to 64 and not 0: pow(x, 2_c); else write "
  "exp(p * log(x))"); } }; };
struct delta_of_huber { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [wrong-arguments]: huber<delta>(result, target) takes a delta above 0; it is 1 where none is given"); } }; };
struct share_of_classes { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [wrong-arguments]: label_smoothing is a share that all classes have alike, from 0 to 1"); } }; };
struct meaningless_setting { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [meaningless-setting]: this setting has a value that cannot be meant; the note shows which it may have"); } }; };
struct function_of_positions { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [wrong-arguments]: generated<2, 3>(f) takes a function that captures nothing, of an int for each axis, and "
  "that returns a number"); } }; };
struct name_for_leaf { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [wrong-arguments]: grad takes expressions, not their names: grad(loss, x); a layer's parameter is "
  "param<\"/fc.weight\", 16, 8>"); } }; };
struct weight_of_other_layer { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [wrong-arguments]: tied_linear takes the weight of another layer by its full name, which starts with /: "
  "nn::tied_linear<\"/wte.weight\", 256>"); } }; };
struct option_for_policy { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [wrong-arguments]: this is an option of a program, as in program<loss, plain>; a part that is no segment is a "
  "block<\"name\">"); } }; };
struct policy_of_scan { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [wrong-arguments]: this is a policy of scan<T, \"name\", Policy>; ckpt takes save<\"tag\">, save_matmuls, "
  "allow_useless, or a predicate on a saveable"); } }; };
struct no_policy { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [wrong-arguments]: after its name ckpt takes policies: save<\"tag\">, save_matmuls, allow_useless, or a "
  "predicate on a saveable without state; boundaries<bf16> or boundaries<float> stands "
  "before them"); } }; };
struct policy_out_of_place { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [wrong-arguments]: the name comes first in <...> of ckpt, and policies are types: ckpt<\"name\", save<\"tag\">>, "
  "ckpt<\"name\", decltype(predicate)>"); } }; };
struct contradicting_policies { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [contradicting-policies]: these two policies of one segment contradict each other; take one out"); } }; };
struct no_name { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [wrong-arguments]: ckpt, block, repeat and scan take a name in <...>: ckpt<\"name\">(layer), "
  "block<\"name\">(layer), repeat<8, \"name\">(f)"); } }; };
struct empty_name { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [wrong-arguments]: the name of this input, parameter, state or random operation is empty, or ends with a dot; write "
  "one: input<\"x\", 8>, param<\"w\", 8>, nn::dropout<\"d1\", 0.5>"); } }; };
struct no_iterations { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [wrong-arguments]: repeat<N, \"name\"> applies a layer N times; N is at least 1"); } }; };
struct scan_without_iterations { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [wrong-arguments]: scan<T, \"name\"> runs its body T times; T is at least 1"); } }; };
struct scan_of_values { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [wrong-arguments]: scan takes a function, and values in this order: (f, carried(h), each(xs), a)"); } }; };
struct one_mask { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [wrong-arguments]: a layer of attention takes x, or x and a memory, then at most one mask; causal is an "
  "option, in <...>"); } }; };
struct states_or_none { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [wrong-arguments]: a recurrent layer takes its input alone, or with each of its states: gru(x, h), lstm(x, h, "
  "c)"); } }; };
struct no_layers { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [wrong-arguments]: a recurrent layer has one layer or more: num_layers is at least 1"); } }; };
struct no_policy_of_scan { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [wrong-arguments]: the policy of scan<T, \"name\", Policy> is store_all, segment_every<P>, revolve<S>, "
  "two_level<P, S> or fit<Bytes>"); } }; };
struct changed_in_scan { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [wrong-scan]: the body of scan returns another shape or type for a carried value; return the shape and type "
  "that it has at the start (the first is number 0)"); } }; };
struct too_few_in_scan { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [wrong-scan]: the body of scan returns fewer values than are carried; return a std::tuple that begins with "
  "the next value of each carried value"); } }; };
struct snapshots_of_iterations { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [wrong-scan]: the policy does not fit T iterations; revolve<S> has 1 to T snapshots; segment_every<P>, "
  "two_level<P, S> have periods of 1 to T, 1 to P snapshots"); } }; };
struct snapshots_in_scan { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [wrong-scan]: a scan in the body of this scan keeps its snapshots elsewhere, which only a scan outside of "
  "all others can do; write two_level<P, S> for the inner scan"); } }; };
struct scan_differentiated_twice { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [wrong-scan]: a gradient of a gradient goes through this scan or tiled layer, which has first gradients only; "
  "write repeat<T, \"name\">, or the layer itself, in its place"); } }; };
struct no_tuple_of_layers { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [wrong-arguments]: ckpt_sequential<N> takes the layers of a chain in one tuple; write "
  "ckpt_sequential<2>(std::tuple{l1, l2})"); } }; };
struct segments_without_layers { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [wrong-arguments]: ckpt_sequential<N> makes N segments of these layers; N is at least 1 and at most their "
  "number"); } }; };
struct array_without_name { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [wrong-arguments]: an array enters under the name of an input, a template argument; write "
  "bind<\"x\">(array)"); } }; };
struct no_array { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [wrong-arguments]: bind takes elements that lie side by side: a span, C array, std::array, std::vector, "
  "view, or xtensor container"); } }; };
struct no_static_view { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [wrong-arguments]: as_xtensor, as_mdspan and as_eigen take a view whose shape is a constant, and as_eigen one of "
  "at most two axes; write static_view_of<shape(8, 784)>(x)"); } }; };
struct options_in_braces { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [wrong-arguments]: an optimizer takes its program, and options in braces: sgd optimizer{step, {.lr = 0.1}}"); } }; };
struct rate_without_braces { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [wrong-arguments]: train takes the learning rate first, in braces: step.train({.lr = 1e-3}, bind<\"x\">(array))"); } }; };
struct no_program_to_train { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [wrong-arguments]: an optimizer updates a program<...> of its own element type; write sgd optimizer{step}"); } }; };

// Misuse of elements, shapes, bodies, segments, programs and gradient rules.
struct kind_mismatch { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [kind-mismatch]: arguments are real numbers, shown as float, or indices, shown as int, as the operation takes "
  "them; check their order, or as_real(x)"); } }; };
struct different_types { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [kind-mismatch]: real numbers of different types meet in this operation, and as<float>(x) is another than the program's, "
  "which as_real(x) gives; convert one: as<double>(x), as_real(x)"); } }; };
struct raw_number { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [kind-mismatch]: a plain number cannot enter an expression; write 0.5_c or constant<0.5>, and for one of "
  "run time input<\"scale\">, which bind<\"scale\"> gives"); } }; };
struct index_as_number { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [kind-mismatch]: the index of repeat, a type with a constant, cannot enter an expression; write "
  "constant<decltype(i)::value>"); } }; };
struct soft_targets { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [kind-mismatch]: cross_entropy takes class indices alone; with probabilities as targets write "
  "soft_cross_entropy(logits, probabilities)"); } }; };
struct bound_shape_mismatch { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [shape-mismatch]: the array has other extents than the input that it is bound to; bind an array of the "
  "expected extents, or a flat one, such as a std::span, of as many elements"); } }; };
struct bound_kind_mismatch { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [kind-mismatch]: the array has other elements than the input that it is bound to; convert it: indices "
  "are std::int32_t, numbers float; double in gradcheck and with real<double>"); } }; };
struct other_element { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [kind-mismatch]: what shares the parameters of a program computes in its type; write real<double> for both or none"); } }; };
struct other_storage { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [kind-mismatch]: what shares the parameters of a program stores them in the same type; write mixed<bf16, "
  "stochastic_rounding> for both, or for none"); } }; };
struct bound_above_extent { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [shape-mismatch]: indices may lie outside of what they index; they need a bound of at most its extent"); } }; };
struct detached_in_segment { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [detached-in-segment]: this segment contains a detach, though its interior is differentiated again in "
  "backward; detach outside and pass the result as an argument of ckpt"); } }; };
struct mixes_rows { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [mixes-rows]: this operation in a tiled layer may compute a row from other rows or from its position; move it out of "
  "nn::tiled, or declare keeps_rows if it is your own"); } }; };
struct updated_by_groups { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [mixes-rows]: each group of a tiled layer would update this state; update it outside of nn::tiled"); } }; };
struct captured_value { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [captured-value]: a body uses another's value, or one of inputs not given to it; pass it as an argument"); } }; };
struct unused_argument { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [unused-argument]: the body of this segment never reads this argument (the first is number 0), which ckpt "
  "would keep for nothing; remove it from both"); } }; };
struct several_layers { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [not-a-layer]: several layers are no layer; write a | b | c, repeat<4, \"block\">([](auto) { return a; }), or "
  "ckpt_sequential<2>(std::tuple{a, b, c})"); } }; };
struct layer_with_weight { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [wrong-arguments]: nn::weight_norm and nn::spectral_norm take a linear layer or a convolution, as "
  "nn::weight_norm(nn::linear<\"fc\", 64>); nn::spectral_norm takes no transposed convolution"); } }; };
struct weight_of_zeros { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [meaningless-setting]: this weight is divided by its norm, so it cannot start as zeros; give it another start, "
  "as initial::normal(0.02)"); } }; };
struct not_a_layer { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [not-a-layer]: a layer returns an expression; what is called with its arguments, f(x, y), may return a "
  "tuple"); } }; };
struct no_expression_in_tuple { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [not-a-layer]: this element of what a layer returns (the first is number 0) is no expression; write "
  "3.0_c"); } }; };
struct not_callable { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [not-a-layer]: this cannot be called with these arguments: a layer takes expressions by value, as many as "
  "it is given"); } }; };
struct captures_values { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [not-a-layer]: a layer captures nothing and has no members; pass values as arguments: ckpt<\"name\">(f, x, "
  "y); scan takes them last, behind each(...); the index i of repeat is decltype(i)::value"); } }; };
struct no_function_of_index { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [not-a-layer]: repeat takes a function of the index that returns a layer; write repeat<N, "
  "\"name\">([](auto i) { return ...; })"); } }; };
struct as_many_values { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [not-a-layer]: what repeat applies returns as many values as it is given, for the next is given these; several "
  "in a std::tuple"); } }; };
struct expression_too_large { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [expression-too-large]: too many operations one inside the other; make layers of them and compose these "
  "with | or repeat, which may be as long as you like"); } }; };
struct zero_grad_segment { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [zero-grad-segment]: nothing in this segment needs a gradient in this program, so nothing of it is "
  "recomputed; write block, or allow_useless where another program trains it"); } }; };
struct larger_than_shared { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [larger-than-shared]: this program needs a larger arena than the program whose memory it shares; let the program "
  "with the larger arena lend its memory"); } }; };
struct more_gradients_than_shared { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [larger-than-shared]: this program keeps more bytes of gradients than the program whose memory it shares; let the "
  "program with more of them lend its memory"); } }; };
struct useless_segment { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [useless-segment]: this segment frees no more bytes than the boundaries and results that only it keeps; "
  "write block, put more into it, take a policy out, or add allow_useless"); } }; };
struct whole_model_in_segment { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [useless-segment]: the whole model is this segment, so backward has all of it in memory again and the "
  "arena is no smaller; make segments of its parts"); } }; };
struct over_budget { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [over-budget]: the arena of this program is larger than its budget<...>; put more of it into segments, "
  "make the batch smaller, or allow these bytes"); } }; };
struct over_least { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [over-budget]: fit<...> found no segments with which the arena of this program has at most these bytes; allow "
  "least_bytes, write segments by hand, make the batch smaller, or write large layers as several smaller ones"); } }; };
struct nothing_to_place { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [nothing-to-place]: fit<...> makes segments of layers that are applied by |, repeat or block, and this model has "
  "none; leave the option out, or write the model as layers: x | nn::linear<\"fc1\", 64> | nn::relu"); } }; };
struct fit_and_budget { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [contradicting-options]: fit<...> is a limit of the arena itself, for which it places segments, and budget<...> "
  "is another; leave one of them out"); } }; };
struct mixed_over_double { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [contradicting-options]: mixed<bf16> rounds what is computed in floats, and this is computed in others, as all in "
  "gradcheck is in double; leave mixed out, or real"); } }; };
struct model_too_large { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [model-too-large]: so many nodes take more steps than a compiler allows a constant; raise its limit, g++ "
  "-fconstexpr-ops-limit=1000000000, clang -fconstexpr-steps=30000000, and add the option any_size"); } }; };
struct zero_grad_output { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [zero-grad-output]: no gradient of the loss reaches any parameter: all are behind the operation named here; take "
  "that out, name inputs in wrt<...>, or use predictor<...>"); } }; };
struct nothing_trained { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [zero-grad-output]: no parameter of the loss is trained: it has none, or all are frozen; add a layer or param<...>, "
  "leave freeze<...> out, name inputs in wrt<...>, or use predictor<...>"); } }; };
struct zero_grad_argument { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [zero-grad-argument]: a gradient is asked by a value of this shape on which the scalar does not depend, or "
  "only through detach or indices; take it out of grad"); } }; };
struct zero_grad_parameter { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [zero-grad-parameter]: no gradient of the loss reaches this parameter: it is unused or only behind detach; "
  "name it in freeze<...> or remove it"); } }; };
struct zero_grad_input { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [zero-grad-input]: no gradient of the loss reaches this input: only other outputs read it, or it is behind "
  "detach; take it out of wrt<...>"); } }; };
struct gradient_of_indices { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [kind-mismatch]: indices have no gradient; wrt<...> names inputs of real numbers"); } }; };
struct parameter_as_input { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [unknown-name]: wrt<...> names inputs, and this is a parameter; its gradient is there anyway, unless it is "
  "frozen"); } }; };
struct parameter_conflict { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [parameter-conflict]: one name stands for two different leaves; rename one, or put them into different "
  "blocks"); } }; };
struct same_layer_name { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [same-layer-name]: two layers have one name and would share this parameter; rename one, put it into a block, or "
  "write shared(layer)"); } }; };
struct same_random_key { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [same-random-key]: two random operations have one name and would draw the same numbers; rename one, or put "
  "them into different blocks"); } }; };
struct random_in_predictor { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [random-in-predictor]: nothing is random in a predictor, and this operation draws; write in_training(a, b) with "
  "a b that draws nothing; an operation of your own can also say by stands_for(false) what it is there"); } }; };
struct cache_in_program { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [cache-in-program]: a cache is what a predictor keeps from call to call; a program keeps state<\"name\", "
  "initial{}, ...>, or gives in_training(a, b) an a without it"); } }; };
struct two_updates { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [two-updates]: a step would update this state to two different values, as where a batch_norm is applied "
  "twice; rename one, or put them into different blocks"); } }; };
struct one_row_batch_norm { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [one-row-batch-norm]: a batch_norm over one number per feature has nothing to train by: all become the bias; "
  "make the batch larger, or take layer_norm or group_norm"); } }; };
struct loss_not_scalar { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [loss-not-scalar]: the first output of a program is differentiated and must be a scalar; reduce it with "
  "mean or sum, or give its gradient with cotangent<\"name\">"); } }; };
struct unknown_name { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [unknown-name]: the model has nothing of this name; names contain those of the blocks around them, as in "
  "\"block.0.fc1.weight\""); } }; };
struct unknown_in_option { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [unknown-name]: the model has nothing of this name; names contain those of the blocks around them, and "
  "\"*.bias\" is for all that end so"); } }; };
struct unknown_tag { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [unknown-name]: nothing in this segment has the tag that its policy names; write tag<\"name\">(value) "
  "there, or correct it"); } }; };
struct idle_policy { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [idle-policy]: this policy (the first is number 0) fits no value inside of its segment; take it out, or "
  "move it to the segment that is meant"); } }; };
struct frozen_parameter { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [unknown-name]: this parameter is frozen in this program and has no gradient; do not ask for it, or train "
  "the parameter"); } }; };
struct input_without_gradient { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [unknown-name]: this input has no gradient in this program; ask for it with the option wrt<\"name\">"); } }; };
struct files_not_included { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [files-not-included]: programs are saved and loaded by a header that cairn.hpp leaves out: #include <cairn/file/saving.hpp>"); } }; };
struct no_path { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [wrong-arguments]: a program is saved to and loaded from the path of a file: step.save(\"run.safetensors\")"); } }; };
struct no_selection { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [wrong-arguments]: behind the path, `load` takes a selection or partly: step.load(\"f\", selection{.except = {\"fc\"}}), "
  "and `save` a selection, texts of type file::metadata, or both in this order"); } }; };
struct no_program_of_loop { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [wrong-arguments]: train::loop runs the training steps of a program; a predictor, a loss and a const program have none: "
  "program<loss> step; train::loop run{step, {.epochs = 5}}"); } }; };
struct no_batches_of_loop { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [wrong-arguments]: the data of train::loop are a function of the epoch that returns its batches: "
  "[&](int epoch) { return data::batches<8>(set, seed{1}, epoch); }"); } }; };
struct no_step_of_loop { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [wrong-arguments]: a training step of train::loop is a function of the rate and the batch, and returns the loss alone: "
  "[&](double rate, const auto& batch) { return step.train({.lr = rate}, ...); }"); } }; };
struct no_validation_of_loop { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [wrong-arguments]: the validation of train::loop is a function without arguments that returns one number, which says how good the program is: "
  "[&] { return accuracy(step); }"); } }; };
struct no_moment { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [no-update]: the rule by which this parameter is updated, if any, keeps no moment of this name; it says which in `moments`"); } }; };
struct no_update { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [no-update]: this program changes no parameters; give it a rule, program<loss, update<adamw_options{}>>, or "
  "call value_and_grad and an optimizer"); } }; };
struct updates_itself { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [updates-itself]: a program with update<...> changes its parameters itself, by train, and shows no gradients; "
  "call train, add clip<1e9> to see them, or leave update<...> or the optimizer out"); } }; };
struct moments_in_parts { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [updates-itself]: with sharded_moments a process has a part of the moments and gradients, and shows neither; save "
  "the program, or leave sharded_moments out"); } }; };
struct moments_without_shards { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [contradicting-options]: sharded_moments divides the moments of update<...> among the processes that share the "
  "shards of shards<L>; add both options, or leave sharded_moments out"); } }; };
struct rounded_beside { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [wrong-arguments]: an optimizer changes floats, and parameters of mixed<bf16, stochastic_rounding> are rounded by "
  "the step; write update<...>"); } }; };
struct not_an_update_rule { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [wrong-arguments]: a rule is an object with lr, moments, numbers(lr, step), and a static next(p, g, numbers..., "
  "moments...), a tuple of elementwise operations, one more than moments"); } }; };
struct wrong_whole_rule { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [wrong-arguments]: next of a rule with whole_tensor returns a tuple with a value for the parameter and for each "
  "moment; each has the shape of what it replaces, and an elementwise operation of its own computes it"); } }; };
struct rule_of_other_shapes { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [wrong-arguments]: this rule is not for parameters of this shape: Muon takes two axes; give this another: "
  "update<rule, \"name\">"); } }; };
struct whole_rule_beside { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [wrong-arguments]: an optimizer changes one number of the parameters at a time, and this rule reads whole tensors; "
  "write update<...>"); } }; };
struct whole_rule_with { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [contradicting-options]: this update rule reads whole tensors of floats, of which sharded_moments has a part and "
  "stochastic_rounding bf16; leave the option out, or take another rule"); } }; };
struct moments_alike { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [wrong-arguments]: moments of a rule are saved by their names, which differ and are not empty; rename one in "
  "`moments`"); } }; };
struct without_rule { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [no-update]: no update<...> is for this parameter; add one without names, or freeze it"); } }; };
struct too_many_numbers { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [wrong-arguments]: parameter, gradient, numbers, moments and the limit of clip are at most 16 in an update "
  "rule; compute some in the step from others"); } }; };
struct idle_rule { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [contradicting-options]: later update<...> options take all that this one (the first is number 0) is for; "
  "those without names come first"); } }; };
struct update_of_sums { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [contradicting-options]: gradients cannot be summed over steps where each step uses them up; take out "
  "update<...> and use an optimizer"); } }; };
struct clip_without_update { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [no-update]: gradients are clipped where the step uses them: clip<...> goes with update<...>"); } }; };
struct unknown_option { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [unknown-option]: this is no option of a program: real, freeze, wrt, cotangent, update, clip, clip_value, "
  "microbatch, shards, budget, fit, threads and mixed, each with <...>, accumulate_gradients, sharded_moments, plain, "
  "check_finite and any_size"); } }; };
struct other_numbers { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [unknown-option]: the numbers of a program are real<float> or real<double>; half the bytes of floats takes "
  "mixed<bf16>, without real"); } }; };
struct negative_bytes { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [meaningless-setting]: an arena has 0 bytes or more, so a limit of its bytes cannot be negative; write fit<4_MiB> or "
  "budget<4_MiB>"); } }; };
struct repeated_option { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [repeated-option]: a program has one such option, and this is its second; leave one out"); } }; };
struct former_member { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [former-member]: an operation no longer has this member; declare reads(i, x...), which returns a reading, or "
  "makes(r, bytes, x...), which returns a making"); } }; };
struct no_vjp { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [wrong-gradient]: this operation is differentiated and has no vjp(cotangents..., results..., arguments...) for "
  "so many; cotangents are those of its results of real numbers"); } }; };
struct gradients_in_number { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [wrong-gradient]: a vjp returns gradients(...), one for each argument; no_gradient{} for what has none"); } }; };
struct gradient_missing { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [wrong-gradient]: the vjp of this operation gives no gradient to an argument of real numbers; say that the "
  "operation detaches, or that it is piecewise_constant"); } }; };
struct gradient_shape { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [wrong-gradient]: the gradient of an argument has its shape, or one to which it is broadcast"); } }; };
struct gradient_of_rule { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [wrong-gradient]: a vjp computes with its arguments, constants and generated arrays alone: no leaf, no layer, no "
  "segment, no grad"); } }; };
struct no_lanewise { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [no-kernel]: this elementwise operation has no lanewise(operation, V...) beside it, which returns a V"); } }; };
struct values_of_lanewise { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [no-kernel]: lanewise returns a V for an operation with one result, and std::array<V, N> for N results, as `result` "
  "states them"); } }; };
struct no_kernel { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [no-kernel]: no compute(operation, signature<Real, Arguments...>, void* const* operands) beside this operation "
  "takes it"); } }; };
struct no_launch { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [no-kernel]: this operation declares tiles, rows or pieces; its compute needs a fourth parameter, const "
  "kernels::launch&, which tells of them"); } }; };
struct wrong_launch { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [no-kernel]: the fourth parameter of this compute has a type that is never passed; it is an int, the number of "
  "threads, or a const kernels::launch&"); } }; };
struct ranks_without_shards { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [ranks-without-shards]: the processes of a program share its shards, and this program has none; add shards<L>, "
  "or make the program without ranks"); } }; };
struct threads_without_openmp { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [threads-without-openmp]: a program has several threads where it is compiled with OpenMP: g++ -fopenmp; else "
  "leave the option out"); } }; };
struct view_of_temporary { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [view-of-temporary]: the result is a view of memory that goes with this temporary; give the program, predictor or "
  "array a name"); } }; };
struct not_microbatches { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [not-microbatches]: microbatch<N> divides a batch into N parts, at least 2, or into microbatch<up_to<N>> "
  "of them; the model of the whole batch may follow: microbatch<4, of<whole>>"); } }; };
struct not_a_power_of_two { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [not-a-power-of-two]: shards<L> are summed in a binary tree, so L is a power of two, at least 2; "
  "microbatch<N> takes any number"); } }; };
struct divided_with { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [contradicting-options]: a program with microbatch<...> or shards<...> sums the gradients of its "
  "parameters over the parts of one batch; it has no gradients of inputs, no given cotangent, and no sums over "
  "steps; leave one option out"); } }; };
struct output_without_mean { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [output-without-mean]: outputs of a program with microbatch<...> or shards<...> are means over the parts "
  "of the batch, so each is a single real number; take this array to a predictor, or reduce it"); } }; };
struct over_parts_in_scan { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [over-parts-in-scan]: over_parts counts over the whole batch before the first microbatch, so it cannot stand in "
  "the body of a scan, as a loss with ignored labels or weights does here; take that loss outside of the scan"); } }; };
struct denominator_of_parameters { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [denominator-of-parameters]: a count over the parts of a batch is computed before the first one, from "
  "inputs alone, and this one depends on something else; leave over_parts or these weights out"); } }; };
struct state_in_shards { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [state-in-shards]: the shards leave different values of this state; say how they are joined: "
  "updated<shard_join::mean>(...), or nn::batch_norm_options{.statistics = nn::batch_statistics::local}"); } }; };
struct synchronized_in_scan { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [synchronized-in-scan]: the iterations of a scan do not wait for other shards, so a synchronized batch norm cannot "
  "stand in its body; choose nn::batch_statistics::local, or take the batch norm outside of the scan"); } }; };
struct synchronized_microbatches { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [contradicting-options]: microbatches run one after another, so a synchronized batch norm cannot have the rows of "
  "all; choose nn::batch_statistics::local, or leave microbatch<N> out"); } }; };
struct useless_microbatch { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [useless-microbatch]: this program needs at least as many bytes as one of the whole batch, because it "
  "keeps all gradients; leave microbatch out"); } }; };
struct other_whole { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [not-microbatches]: of<whole> names the model of the whole batch, where this input has the rows of all "
  "microbatches, one behind another"); } }; };
struct callback_without_inputs { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [wrong-arguments]: a callback, not mutable, gets the number of a microbatch and returns "
  "inputs(bind<\"x\">(x), ...); with microbatch<up_to<N>> it follows parts{n}"); } }; };
struct parts_of_arrays { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [wrong-arguments]: the length of the bound arrays says in how many parts the batch is, and parts{n} goes with a "
  "callback; leave parts{n} out"); } }; };
struct callback_of_whole_batch { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [wrong-arguments]: a callback or parts{n} gives a batch in parts, and this program takes the whole batch; "
  "bind its arrays, or add microbatch<N>, microbatch<up_to<N>> or shards<L> to the program"); } }; };
struct missing_input { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [missing-input]: the model reads this input, but no bind<...> gives it; bind an array to it"); } }; };
struct duplicate_input { template <class Silent, class... Facts> struct found : Silent { constexpr found() { static_assert(well_formed<Facts...>,
  "cairn [duplicate-input]: this input is bound more than once; remove a bind<...>"); } }; };

// clang-format on

}  // namespace cairn::misuse
