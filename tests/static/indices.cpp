// Index tensors keep their element type and their bound through all operations that move elements. There are also
// reductions by order.
#include "cairn/lang/block.hpp"
#include "cairn/lang/checkpoint.hpp"
#include "cairn/lang/convert.hpp"
#include "cairn/op/as_indices.hpp"
#include "cairn/op/concatenate.hpp"
#include "cairn/op/extremum.hpp"
#include "cairn/op/gather.hpp"
#include "cairn/op/loss.hpp"
#include "cairn/op/transpose.hpp"

#include "plan.hpp"

using namespace cairn;
using namespace cairn::test;

namespace {

template <int... Extents>
constexpr auto t = param<"t", Extents...>;
template <int... Extents>
constexpr auto tokens = indices<"tokens", 7, Extents...>;

constexpr bool is(auto e, const shape& s, element_type element) { return e.shape == s && e.element == element; }
constexpr element_type real_numbers{};

// Operations that move elements also move indices, and the indices keep their bound. A concatenation of two index
// tensors has the larger bound. It has no bound if one of the two has no bound.
static_assert(is(tokens<3, 4>, shape{3, 4}, index_below(7)) && is(tokens<>, shape{}, index_below(7)));
static_assert(is(reshape<2, -1>(tokens<3, 4>), shape{2, 6}, index_below(7)));
static_assert(is(slice<1, 1, 3>(tokens<3, 4>), shape{3, 2}, index_below(7)));
static_assert(is(transpose(tokens<3, 4>), shape{4, 3}, index_below(7)));
static_assert(is(concatenate<0>(tokens<3, 4>, tokens<1, 4>), shape{4, 4}, index_below(7)));
static_assert(is(concatenate<0>(tokens<3>, indices<"more", 9, 2>), shape{5}, index_below(9)));
static_assert(is(concatenate<0>(indices<"more", 9, 2>, tokens<3>), shape{5}, index_below(9)));
static_assert(is(concatenate<0>(tokens<3>, as<std::int32_t>(t<2>)), shape{5}, {dtype::i32}));
static_assert(is(concatenate<0>(as<std::int32_t>(t<2>), tokens<3>), shape{5}, {dtype::i32}));
static_assert(is(block<"b">(layer([](auto i) { return transpose(i); }))(tokens<3, 4>), shape{4, 3}, index_below(7)));

// In the result of a gather, the shape of the indices stands in place of the axis.
static_assert(is(gather<0>(t<7, 5>, tokens<3, 4>), shape{3, 4, 5}, real_numbers));
static_assert(is(gather<1>(t<2, 9, 5>, tokens<3, 4>), shape{2, 3, 4, 5}, real_numbers));
static_assert(is(gather<-1>(t<2, 7>, tokens<1>), shape{2, 1}, real_numbers));
static_assert(is(gather<0>(t<7>, tokens<1, 2, 3, 4, 5, 6>), shape{1, 2, 3, 4, 5, 6}, real_numbers));
static_assert(is(gather<0>(t<7, 5>, tokens<>), shape{5}, real_numbers));
static_assert(is(gather<0>(indices<"of", 3, 8>, tokens<4>), shape{4}, index_below(3)));
template <int Axis>
constexpr shape gathered(const shape& table, const shape& positions) {
  return lang::gather_op<Axis>::result(tensor_type(table), positions);
}
static_assert(gathered<2>(shape{7, 5}, shape{3}) == no_shape && gathered<-3>(shape{7, 5}, shape{3}) == no_shape);
static_assert(gathered<0>(shape{}, shape{}) == no_shape);
static_assert(gathered<0>(shape{7, 5}, shape{1, 1, 1, 1, 1, 1}) == no_shape);
static_assert(lang::scatter_add_op<1, 7>::result(shape{2, 3, 4, 5}, shape{3, 4}) == shape{2, 7, 5});
static_assert(lang::scatter_add_op<0, 7>::result(shape{5}, shape{}) == shape{7, 5});
static_assert(lang::scatter_add_op<1, 7>::result(shape{2, 3}, shape{4}) == no_shape);
static_assert(lang::scatter_add_op<1, 7>::result(shape{2}, shape{4}) == no_shape);
static_assert(is(one_hot(tokens<3, 4>), shape{3, 4, 7}, real_numbers));
static_assert(is(one_hot(tokens<>), shape{7}, real_numbers));
static_assert(lang::one_hot_op::result(tensor_type(shape{3}, {dtype::i32})) == no_shape);
static_assert(lang::one_hot_op::result(tensor_type(shape{1, 1, 1, 1, 1, 1}, index_below(2))) == no_shape);

// Reductions by order have the same form as sum. A position is an index below the extent of its axis.
static_assert(is(max(t<4, 8>), shape{}, real_numbers) && is(min<-1>(t<4, 8>), shape{4}, real_numbers));
static_assert(is(max<0, 2>(t<2, 3, 4>, keepdim), shape{1, 3, 1}, real_numbers));
static_assert(is(argmax<-1>(t<4, 8>), shape{4}, index_below(8)) && is(argmin<0>(t<4, 8>), shape{8}, index_below(4)));
static_assert(is(argmax<1>(t<4, 8>, keepdim), shape{4, 1}, index_below(8)));
static_assert(is(one_hot(argmax<-1>(t<4, 8>)), shape{4, 8}, real_numbers));
static_assert(is(gather<0>(t<9, 5>, argmax<-1>(t<4, 8>)), shape{4, 5}, real_numbers));
template <int Axis>
constexpr shape positions = lang::position_op<lang::extremum::largest, Axis, false>::result(shape{4, 8});
static_assert(positions<2> == no_shape && positions<-3> == no_shape && positions<-2> == shape{8});

// Real numbers that are read as indices have the given bound, and a table is looked up at them.
static_assert(is(as_indices<7>(t<3, 4>), shape{3, 4}, index_below(7)) &&
              is(as_indices<1>(t<>), shape{}, index_below(1)));
static_assert(is(as_indices<1 << 24>(as_real(tokens<3>)), shape{3}, index_below(1 << 24)));
static_assert(is(gather<0>(t<9, 5>, as_indices<9>(frozen<"at", 4, 8>)), shape{4, 8, 5}, real_numbers));

// A segment takes indices as arguments, and recomputes the values that it computes from them. Indices that the user
// binds are not stored.
constexpr auto h = softmax(param<"h", 4, 6>);
constexpr auto i = indices<"i", 4, 16>;
constexpr auto looked_up = [](auto x, auto at) {
  return tanh(gather<0>(x, at) * gather<0>(x, argmax<-1>(one_hot(at))));
};
using in_segment = step_of<sum(ckpt<"s">(looked_up, h, i))>;
using plainly = step_of<sum(looked_up(h, i))>;
static_assert(runs_of<in_segment>("gather") == runs{2, 2} && runs_of<in_segment>("scatter_add") == runs{0, 1} &&
              runs_of<in_segment>("scatter_add_onto") == runs{0, 1});
static_assert(runs_of<in_segment>("one_hot") == runs{1, 1} && runs_of<in_segment>("argmax") == runs{1, 1});
static_assert(runs_of<plainly>("gather") == runs{2, 0} && runs_of<plainly>("argmax") == runs{1, 0});
static_assert(stored<in_segment> == 4 * 6 * sizeof(float));
// Stored are h, the two factors of the product, and the positions from argmax.
static_assert(stored<plainly> == (4 * 6 + 2 * 16 * 6 + 16) * sizeof(float));
// The gradient of a table is added to an earlier gradient in place: to one from another operation, and to one from
// earlier steps. The arena then has no room for a gradient of the table's size.
constexpr auto table_of_words = param<"table", 100, 8>;
constexpr auto word_loss = sum(square(gather<0>(table_of_words, indices<"words", 100, 6>)));
using adds_to_sums = step_of<word_loss, accumulate_gradients>;
static_assert(runs_of<adds_to_sums>("scatter_add") == runs{0, 0} &&
              runs_of<adds_to_sums>("scatter_add_onto") == runs{0, 1});
static_assert(peak<adds_to_sums> < 100 * 8 * 4 / 4);
using in_parts = step_of<word_loss, microbatch<2>>;
static_assert(runs_of<in_parts>("scatter_add_onto") == runs{0, 1} && peak<in_parts> < 100 * 8 * 4 / 4);

// A boundary may consist of computed indices. A policy can store them by their tag.
constexpr auto found = [](auto x, auto at) { return tanh(gather<0>(x, tag<"at">(argmax<-1>(one_hot(at))))); };
static_assert(runs_of<step_of<sum(ckpt<"s">(found, h, i))>>("argmax") == runs{1, 1});
static_assert(runs_of<step_of<sum(ckpt<"s", save<"at">>(found, h, i))>>("argmax") == runs{1, 0});
static_assert(stored<step_of<sum(ckpt<"s", save<"at">>(found, h, i))>> == (4 * 6 + 16) * sizeof(float));
constexpr auto by_position = [](auto x, auto at) { return tanh(gather<0>(x, at)); };
static_assert(stored<step_of<sum(ckpt<"s">(by_position, h, argmax<-1>(one_hot(i))))>> == (4 * 6 + 16) * sizeof(float));

}  // namespace
