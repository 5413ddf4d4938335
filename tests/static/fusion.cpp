// Which operations run together. Elementwise operations form fused loops, and equal fused loops share one kernel.
#include "cairn/nn/activation.hpp"
#include "cairn/nn/batch_norm.hpp"
#include "cairn/nn/convolution.hpp"
#include "cairn/nn/linear.hpp"
#include "cairn/nn/norm.hpp"
#include "cairn/op/attention.hpp"
#include "cairn/op/comparison.hpp"
#include "cairn/op/concatenate.hpp"
#include "cairn/op/einsum.hpp"
#include "cairn/op/loss.hpp"
#include "cairn/op/matmul.hpp"
#include "cairn/op/sort.hpp"
#include "cairn/train/rules.hpp"

#include "plan.hpp"

using namespace cairn;
using namespace cairn::test;

namespace {

constexpr auto x = input<"x", 4, 8>;
constexpr auto y = input<"y", 4, 8>;
constexpr auto w = param<"w", 4, 8>;

// ---- A chain of elementwise operations is one fused loop. Only values that are read elsewhere are stored.
using chain_plan = forward_of<tanh(exp(x) * 2_c + x)>;
constexpr const auto& chained = chain_plan::loops;
/// Argument i of value k of the first fused loop.
constexpr int argument(int k, int i) { return chained.arguments[chained.code[k].first + i]; }
static_assert(steps<chain_plan> == "[exp mul add tanh]");
static_assert(!chained.code[0].written && !chained.code[1].written && !chained.code[2].written &&
              chained.code[3].written);
// Arguments. k >= 0 is the result of operation k, -1 is the first input, and -2 is the second input. x is one of the
// inputs.
static_assert(argument(0, 0) == -1);
static_assert(argument(1, 0) == 0 && argument(1, 1) == -2);
static_assert(argument(2, 0) == 1 && argument(2, 1) == -1);
static_assert(argument(3, 0) == 2 && chained.input_count == 2);
// Constants are immediates. They are no operands and take no memory. This includes the 1 from which the backward pass
// starts, whatever its shape is.
static_assert(chained.inputs[0].how == graphs::access::contiguous &&
              chained.inputs[1].how == graphs::access::constant && chained.inputs[1].immediate == 2);
static_assert(chain_plan::addresses.constant_count == 0);
using training = step_of<sum(relu(w + x))>;
// The backward pass recomputes relu, in the fused loop that reads it.
static_assert(steps<training> == "[add relu sum] | [expand add relu step mul]");
static_assert(training::loops.inputs[2].how == graphs::access::constant &&
              training::loops.inputs[2].immediate == 1);  // after w and x
static_assert(training::addresses.constant_count == 0);
static_assert(forward_of<sum(2_c)>::addresses.constant_count == 1);  // a kernel reads memory

// ---- What ends a fused loop. A kernel that reads the fused loop ends it. If the kernel takes rows, it joins the plan
// step.
static_assert(steps_of<tanh(softmax(exp(x) + y))> == "[exp add softmax] [tanh]");
// Another shape ends a fused loop.
static_assert(steps_of<exp(input<"row", 8>) + x> == "[exp] [add]");
static_assert(steps_of<x / tanh(input<"column", 4, 1>)> == "[tanh] [div]");
// A view of a value that the fused loop computes ends it.
static_assert(steps_of<exp(detach(exp(x)))> == "[exp] [exp]");
static_assert(steps_of<exp(reshape<8, 4>(exp(x)))> == "[exp] [exp]");
// The turn ends a fused loop.
static_assert(steps<step_of<relu(param<"s"> + 1_c)>> == "[add relu] | [step mul]");
// The limits of 32 operations and 16 inputs end a fused loop.
static_assert(steps_of < x | repeat<32, "r">([](auto) { return nn::tanh; }) >.count('[') == 1);
static_assert(steps_of < x | repeat<33, "r">([](auto) { return nn::tanh; }) >.count('[') == 2);
constexpr auto many = repeat<40, "r">([](auto) { return layer([](auto v) { return v + param<"p", 4, 8>; }); });
template <class Plan>
constexpr bool within_limits = [] {
  for (int i = 0; i < Plan::steps.step_count; ++i) {
    const plans::plan_step& s = Plan::steps.steps[i];
    const plans::loop& l = Plan::loops.of[i];
    if (s.end - s.begin > plans::max_loop_operations || l.input_end - l.input_begin > plans::max_loop_inputs)
      return false;
  }
  return true;
}();
static_assert(within_limits<forward_of<x | many>> && within_limits<step_of<sum(x | many)>>);
// An unrelated kernel does not end a fused loop. It runs before the loop.
static_assert(steps_of<exp(x) + softmax(y) * tanh(x)> == "softmax [exp tanh mul add]");

// ---- One plan step sorts and computes the positions.
static_assert(steps_of<sort<-1>(x) * as_real(argsort<-1>(x))> == "sort [as mul]");

// ---- A sum over letters of both arguments is a matrix product, which reads most orders of the axes in place. Products of
// equal letters, and products without a sum, are elementwise.
template <int... Extents>
constexpr auto u = input<"u", Extents...>;
template <int... Extents>
constexpr auto v = input<"v", Extents...>;
static_assert(steps_of<einsum<"bij,bkj->bik">(u<2, 3, 4>, v<2, 5, 4>)> == "matmul");
static_assert(steps_of<einsum<"bij,jk->bik">(u<2, 3, 4>, v<4, 5>)> == "matmul");
static_assert(steps_of<einsum<"ij,jk->ki">(u<3, 4>, v<4, 5>)> == "matmul");
static_assert(steps_of<einsum<"ji,jk->ik">(u<4, 3>, v<4, 5>)> == "matmul");
static_assert(steps_of<einsum<"i,ij->j">(u<3>, v<3, 4>)> == "matmul");
static_assert(steps_of<einsum<"bqhd,bkhd->bhqk">(u<2, 3, 4, 5>, v<2, 6, 4, 5>)> == "transpose transpose matmul");
static_assert(steps_of<einsum<"ijk,jl->il">(u<3, 4, 5>, v<4, 6>)> == "sum matmul");
static_assert(steps_of<einsum<"bi,bi->b">(u<2, 3>, v<2, 3>)> == "[mul sum]");
static_assert(steps_of<einsum<"i,j->ij">(u<3>, v<4>)> == "[mul]");

// ---- A product hands its tiles to the fused loop that reads the product first. Elementwise operations that are open
// before the product and do not read it join this fused loop, unless the shapes differ.
constexpr auto left = input<"a", 4, 2>;
constexpr auto right = input<"b", 2, 8>;
constexpr auto product_of = matmul(left, right);
static_assert(steps_of<relu(product_of + input<"row", 8>) * x> == "[matmul add relu mul]");
static_assert(steps_of<exp(x) + product_of> == "[matmul exp add]");
static_assert(steps_of<exp(input<"row", 8>) + product_of> == "[exp] [matmul add]");
static_assert(steps_of<exp(product_of + matmul(input<"c", 4, 3>, input<"d", 3, 8>))> == "matmul [matmul add exp]");
// The product does not join the fused loop if another kernel comes first, if the product is read in another shape, or
// if it has only one column. Batched products do not join either.
static_assert(steps_of<softmax(product_of) + product_of> == "matmul softmax [add]");
static_assert(steps_of<exp(reshape<8, 4>(product_of))> == "matmul [exp]");
static_assert(steps_of<exp(product_of + matmul(softmax(left), right))> == "matmul softmax [matmul add exp]");
static_assert(steps_of<exp(matmul(left, input<"b", 2, 1>))> == "matmul [exp]");
static_assert(steps_of<exp(matmul(input<"a", 3, 4, 2>, right))> == "[matmul exp]");  // this is one product of 12 rows
static_assert(steps_of<exp(matmul(input<"a", 3, 4, 2>, input<"b", 3, 2, 8>))> == "matmul [exp]");
// A product with more than one block of depth keeps partial sums in its result. Therefore its result is not written
// over an argument. A fused loop that could write over an argument without the product does not join the product.
constexpr auto far = matmul(input<"a", 4, 800>, input<"b", 800, 8>);
static_assert(steps_of<relu(far + input<"row", 8>) + x> == "[matmul add relu add]");  // x is not ours to write over
static_assert(steps_of<softmax(y) + far> == "softmax matmul [add]");
static_assert(steps_of<softmax(y) + product_of> == "softmax [matmul add]");

// ---- A kernel that takes rows has the fused loop compute each row just before the kernel reads it. There are
// exceptions: the rows have another shape or have one number each, the kernel reads another value of the fused loop, or
// a product with tiles or a sum joined the fused loop first.
static_assert(steps_of<log_softmax(exp(x))> == "[exp log_softmax]" && steps_of<softmax<1>(exp(x))> == "[exp softmax]");
static_assert(steps_of<softmax<0>(exp(x))> == "[exp] softmax");
static_assert(steps_of<softmax(reshape<2, 16>(exp(x)))> == "[exp] softmax");
static_assert(steps_of<softmax(exp(input<"column", 4, 1>))> == "[exp] softmax");
static_assert(steps_of<softmax(relu(product_of))> == "[matmul relu] softmax");
static_assert(steps_of<outputs(sum(exp(x)), softmax(exp(x)))> == "[exp sum] softmax");
static_assert(steps_of<softmax(matmul(input<"a", 3, 4, 2>, input<"b", 3, 2, 8>) * 2_c)> == "matmul [mul softmax]");
constexpr auto classes = labels<"l", 8, 4>;
static_assert(steps_of<cross_entropy(exp(x) + y, classes)> == "[exp add cross_entropy]");
static_assert(steps_of<accuracy(exp(x) + y, classes)> == "[exp add accuracy]");
// Nothing is stored in vain. Other readers of the row get the stored row.
static_assert(steps_of<outputs(softmax(exp(x)), exp(x))> == "[exp softmax]");

// ---- A kernel that computes one number for each row is followed by the fused loop that reads this number, row by row.
// The fused loop may read other values as well. It does not follow if the rows have one number each, if a kernel reads
// the number, or if the number is read in another shape.
constexpr auto normed = x | nn::layer_norm<"ln">;
static_assert(steps_of<normed> == "[row_moments normalized]");
static_assert(steps_of<y + gelu(x | nn::rms_norm<"ln">)> == "[row_scale scaled gelu add]");
static_assert(steps_of < exp(x) | nn::layer_norm < "ln" >> == "[exp] [row_moments normalized]");
static_assert(steps_of < input<"column", 4, 1> | nn::layer_norm < "ln" >> == "row_moments [normalized]");
constexpr auto of_rows = make<lang::row_scale_op<>>(x);
static_assert(steps_of<matmul(of_rows, input<"b", 1, 8>) + x> == "row_scale [matmul add]");
static_assert(steps_of<reshape<4>(of_rows) + input<"z", 8, 4>> == "row_scale [add]");
static_assert(steps_of<exp(of_rows) * x> == "row_scale [exp] [mul]");
static_assert(steps_of<sum(x* of_rows)> == "[row_scale mul] sum");  // the columns of sum would be split for threads
static_assert(steps_of<outputs(x* of_rows, y* make<lang::row_scale_op<>>(y))> == "[row_scale mul] [row_scale mul]");
// If no fused loop follows, a fused loop computes the rows just before.
static_assert(steps_of<make<lang::row_scale_op<>>(exp(x))> == "[exp row_scale]");
// The backward pass computes all sums in one pass over the rows, and adds the rest of the gradient.
static_assert(steps<step_of<sum(square((w | nn::layer_norm<"ln">)+w))>> ==
              "[row_moments normalized add square] sum | [expand mul normalized add mul] "
              "[normalized_sums normalized_slope add]");

// This also holds if an update follows, which reads the sums.
constexpr auto of_norm = w + (gelu(w) | nn::layer_norm<"ln">);
static_assert(steps<step_of<sum(square(of_norm)), update<adamw_options{}>>> ==
              "[gelu] [row_moments normalized add square] sum | [expand mul gelu normalized add mul] "
              "[normalized_sums normalized_slope gelu_slope mul add] [update] [update] [update]");

// ---- A sum joins the fused loop that computes its terms. It sums all numbers, rows or columns. Several sums may join
// if they have the same axes.
static_assert(steps_of<sum(exp(x) * y)> == "[exp mul sum]");
static_assert(steps_of<mean(square(x - y))> == "[sub square sum] [mul]");
static_assert(steps_of<sum<0>(exp(x))> == "[exp sum]" && steps_of<sum<-1>(exp(x))> == "[exp sum]");
// These axes are neither all numbers nor rows nor columns.
static_assert(steps_of<sum<0, 2>(exp(input<"x", 2, 3, 4>))> == "[exp] sum");
static_assert(steps_of<sum<0, 1>(exp(input<"x", 2, 3, 4>))> == "[exp sum]");
static_assert(steps_of<outputs(sum(exp(x)), sum<0>(exp(x)))> == "[exp sum] sum");
static_assert(steps_of<sum<0>(exp(x)) + sum<0>(x* exp(x))> == "[exp sum mul sum] [add]");
static_assert(steps_of<exp(x) * sum(exp(x))> == "[exp sum] [mul]");  // the reader of the sum runs after it
// The bits of a sum depend only on the summed shape, and fused loops keep these bits. Therefore the sum does not join
// if an operand is repeated along one axis, or if a product joined first.
static_assert(steps_of<sum(exp(x) + input<"row", 8>)> == "[exp add] sum");
static_assert(steps_of<sum(exp(x) * input<"s">)> == "[exp mul sum]");
static_assert(steps_of<sum(relu(product_of))> == "[matmul relu] sum");
static_assert(steps_of<sum(reshape<32>(exp(x)))> == "[exp] sum");  // the fused loop does not compute the view

// ---- Broadcasting. Neighbouring axes are merged if all operands treat them alike, and extents of 1 are removed. The
// strides are the strides of an input along the axes of the fused loop. A stride is 0 where the input is repeated.
template <class Plan>
constexpr bool has_strides(int input, const shape& expected) {
  const auto& l = Plan::loops;
  for (int axis = 0; axis < l.of[0].extents.rank; ++axis) {
    const int last = l.of[0].last_axis[axis];
    const shape& whole = Plan::schedule.result(Plan::steps.members[0]).extents;
    if (plans::axis_of_operand(Plan::schedule, l.inputs[input], whole, last).stride != expected.extent[axis])
      return false;
  }
  return true;
}
template <auto Model>
constexpr bool runs_over(shape extents, shape first, shape second) {
  using plan = forward_of<Model>;
  return plan::steps.step_count == 1 && plan::loops.of[0].extents == extents && has_strides<plan>(0, first) &&
         has_strides<plan>(1, second);
}
template <auto Model>
constexpr bool runs_flat(int count) {
  return forward_of<Model>::steps.step_count == 1 && forward_of<Model>::loops.of[0].extents == shape{count};
}
template <int... Extents>
constexpr auto a = input<"a", Extents...>;
template <int... Extents>
constexpr auto b = input<"b", Extents...>;
static_assert(runs_flat<a<2, 3, 4> + b<2, 3, 4>>(24) && runs_flat<a<4, 8> + 1_c>(32));
static_assert(runs_over<a<4, 8> + b<8>>(shape{4, 8}, shape{8, 1}, shape{0, 1}));
static_assert(runs_over<a<8> + b<4, 8>>(shape{4, 8}, shape{0, 1}, shape{8, 1}));
static_assert(runs_over<a<4, 8> + b<4, 1>>(shape{4, 8}, shape{8, 1}, shape{1, 0}));
static_assert(runs_over<a<4, 1> + b<1, 8>>(shape{4, 8}, shape{1, 0}, shape{0, 1}));
static_assert(runs_over<a<4, 8> + b<>>(shape{32}, shape{1}, shape{0}));
static_assert(runs_over<a<4, 8> + b<1, 1>>(shape{32}, shape{1}, shape{0}));
static_assert(runs_over<a<2, 3, 8> + b<8>>(shape{6, 8}, shape{8, 1}, shape{0, 1}));
static_assert(runs_over<a<2, 3, 8> + b<2, 1, 1>>(shape{2, 24}, shape{24, 1}, shape{1, 0}));
static_assert(runs_over<a<2, 3, 4> + b<2, 1, 4>>(shape{2, 3, 4}, shape{12, 4, 1}, shape{4, 0, 1}));
static_assert(runs_over<a<4, 1, 8> + b<1, 1>>(shape{32}, shape{1}, shape{0}));
static_assert(forward_of<a<> + b<>>::loops.of[0].extents == shape{});

// ---- A sum joins the fused loop of its terms if this loop reads all of its inputs by rows. The rows are the summed
// rows, or the rows of the result.
constexpr auto cube = input<"cube", 2, 4, 8>;
constexpr auto column = input<"column", 4, 1>;
static_assert(steps_of<sum<-1>(square(x - mean<-1>(x, keepdim)))> == "sum [mul] [sub square sum]");
static_assert(steps_of<sum<0>(tanh(x + input<"row", 8>))> == "[add tanh sum]");
static_assert(steps_of<sum<0>(x* column)> == "[mul sum]" && steps_of<sum<1>(x* column)> == "[mul sum]");
static_assert(steps_of<sum<0, 1>(cube* column)> == "[mul sum]" && steps_of<sum<2>(cube* column)> == "[mul sum]");
static_assert(steps_of<sum<0>(cube* input<"row", 8>)> == "[mul] sum" && steps_of<sum<0>(cube* x)> == "[mul sum]");
static_assert(steps_of<sum<1, 2>(cube* column)> == "[mul] sum" && steps_of<sum<1, 2>(cube* cube)> == "[mul sum]");
static_assert(steps_of<sum(x + column)> == "[add] sum" && steps_of<sum(x + 2_c * y)> == "[mul add sum]");
// Operations that join the fused loop of a sum afterwards read rows, too.
static_assert(steps_of<outputs(sum<0>(x* y), tanh(x* y) + column)> == "[mul sum tanh add]");
static_assert(steps_of<outputs(sum(x* y), tanh(x* y) + column)> == "[mul sum tanh] [add]");
// A value that is computed only for a sum is left to the next fused loop, which computes both, if the product that it
// reads is stored anyway.
constexpr auto scores = matmul(w, transpose(w));
static_assert(steps_of<outputs(sum(scores* scores), softmax(scores))> == "matmul softmax [mul sum]");
static_assert(steps_of<sum(scores* scores)> == "[matmul mul] sum");

// ---- Generated arrays are computed in the fused loops that read them, broadcast or not. Kernels read a copy.
// Generated arrays are not stored: the backward pass generates them again.
constexpr auto distance = generated<8, 8>([](int i, int j) { return i - j; });
static_assert(steps<forward_of<softmax(x - generated<8>([](int i) { return i; })) * zeros<4, 1>>> ==
              "[sub softmax] [mul]");
static_assert(steps<forward_of<softmax(scores + causal_mask<4>)>> == "[matmul add] softmax");
static_assert(steps<forward_of<sum(square(input<"z", 8, 8> - distance))>> == "[sub square sum]");
static_assert(steps<forward_of<matmul(x, distance)>> == "[generated] matmul");
static_assert(steps<forward_of<reshape<64>(distance) + zeros<64>>> == "[generated] [add]");
using by_distance = step_of<sum(
    x | ckpt<"s">(layer([](auto h) { return relu(matmul(h * param<"of columns", 8>, distance) + zeros<8>); })) |
    nn::linear<"out", 3>)>;
static_assert(steps<by_distance> ==
              "[mul] [generated] [matmul add relu] [matmul add] sum | [expand sum] matmul [matmul step mul] "
              "[generated] [matmul mul] sum");
// The difference is the boundary behind the segment.
static_assert(stored<by_distance> == stored<step_of<sum(x | nn::linear<"out", 3>)>> + 128);

// ---- A concatenation along the last axis is read from its pieces by the following readers. Fused loops of its shape
// read the pieces, also if they compute rows for kernels or take tiles. They may contain sums of columns, but not sums
// of rows. Kernels for moments, further concatenations, and convolutions that copy their input read the pieces as well.
// All other readers read a copy.
constexpr auto both = concatenate<-1>(x, y);
static_assert(steps_of<tanh(both * 2_c)> == "[mul tanh]");
static_assert(steps_of<sum<0>(tanh(both))> == "[tanh sum]");
static_assert(steps_of<sum<1>(tanh(both))> == "[tanh] sum");
static_assert(steps_of<softmax(both * 2_c)> == "[mul softmax]");
static_assert(steps_of<nn::linear<"fc", 16>(x) * both> == "[matmul add mul]");
static_assert(steps_of<square(concatenate<-1>(both, x))> == "[square]");
static_assert(steps_of<reshape<4 * 19>(concatenate<-1>(both, param<"v", 4, 3>))> == "concatenate");
static_assert(steps_of<both> == "concatenate");
static_assert(steps_of<sum(both)> == "concatenate sum");
static_assert(steps_of<tanh(concatenate<0>(x, y))> == "concatenate [tanh]");
static_assert(steps_of<both * slice<-1, 0, 1>(both)> == "concatenate [mul]");
constexpr auto image = reshape<1, 4, 4, 2>(x);
static_assert(steps_of < concatenate<-1>(image, image) | nn::conv2d < "c", 3, 3,
              nn::window{.padding = 1} >> == "[convolution add]");
static_assert(steps_of < concatenate<-1>(image, image) | nn::conv2d < "c", 3, 1 >> == "concatenate [matmul add]");
// The tiles of a convolution are handed to the fused loop that follows. The loop may contain a bias, the batch norm of
// a predictor, relu, or the sum of a residual block.
constexpr auto pixels = input<"pixels", 2, 4, 4, 8>;
constexpr auto unit = nn::conv2d_without_bias<"c", 8, 3, nn::window{.padding = 1}> | nn::batch_norm<"n">;
static_assert(steps<forward_of<pixels | unit | nn::relu>> == "[mul add sqrt div] [convolution normalized relu]");
static_assert(steps<forward_of<pixels | nn::residual(unit) | nn::relu>> ==
              "[mul add sqrt div] [convolution normalized add relu]");

// ---- Heads of one projection are read in place, also through a reshape. Rows of a product are read in place as well.
// Heads that are reordered and heads that are computed elementwise are copied.
constexpr auto tokens = input<"tokens", 2, 5, 24>;
constexpr auto heads = [](auto v) { return reshape<2, 5, 2, 4>(v); };
constexpr auto split_first = [](auto all) {
  const auto [q, k, v] = split<-1, 3>(all);
  return nn::attention(heads(q), heads(k), heads(v));
};
constexpr auto heads_first = [](auto all) {
  const auto [q, k, v] = split<2, 3>(reshape<2, 5, 6, 4>(all));
  return nn::attention(q, k, v);
};
static_assert(steps_of<split_first(tokens)> == "attention");
static_assert(steps_of<split_first(tanh(tokens))> == "[tanh] attention");
static_assert(steps_of<heads_first(tanh(tokens))> == "[tanh] attention");
constexpr auto some = heads(slice<-1, 0, 8>(tokens));
static_assert(steps_of<nn::attention(some, flip<1>(some), some)> == "[slice] [flip] attention");
static_assert(steps_of<nn::attention(some, flip<2>(heads(tanh(slice<-1, 8, 16>(tokens)))), some)> ==
              "[tanh] [flip] attention");
static_assert(steps_of<matmul(reshape<10, 8>(slice<-1, 8, 16>(tokens)), transpose(w))> == "matmul");
static_assert(steps_of<tanh(reshape<10, 8>(slice<-1, 8, 16>(tokens)))> == "[slice] [tanh]");

// ---- Truth values stay in the fused loop that chooses by them.
static_assert(steps_of<where(x > y, x, y * 2_c)> == "[less mul where]");

// ---- Fused loops with equal code share one kernel, wherever they stand and whatever their extents are. The first of
// them has the kernel.
template <class Plan>
constexpr int kernels = [] {
  constexpr const auto& f = Plan::steps;
  int n = 0;
  for (int i = 0; i < f.step_count; ++i) n += f.steps[i].has_loop() && Plan::loops.of[i].same_as == i;
  return n;
}();
constexpr auto hidden = nn::linear<"fc", 8> | nn::gelu;
using three = forward_of<x | block<"1">(hidden) | block<"2">(hidden) | block<"3">(hidden)>;
static_assert(steps<three> == "[matmul add gelu] [matmul add gelu] [matmul add gelu]");
static_assert(three::loops.of[1].same_as == 0 && three::loops.of[2].same_as == 0 && kernels<three> == 1);
// Fused loops differ if they have another operation, another constant, an input that is repeated along rows, or one
// more value that is stored.
constexpr auto apart = [](auto v, auto u) { return softmax(v) + softmax(u); };
static_assert(kernels<forward_of<apart(exp(x), exp(y))>> == 2);  // [exp] twice, and [add]
static_assert(kernels<forward_of<apart(exp(x), tanh(y))>> == 3);
static_assert(kernels<forward_of<apart(2_c * x, 3_c * y)>> == 3);
static_assert(kernels<forward_of<apart(exp(x), exp(input<"row", 8>))>> == 2);
static_assert(kernels<forward_of<apart(x + y, x + input<"row", 8>)>> == 2);  // [add softmax] twice, and [add]
constexpr auto along_rows = apart(x + input<"row", 8>, x + input<"column", 4, 1>);
static_assert(kernels<forward_of<along_rows>> == 3);
constexpr auto doubly = [](auto v) { return tanh(exp(v)); };
static_assert(kernels<forward_of<apart(doubly(x), doubly(y))>> == 2);
static_assert(kernels<forward_of<apart(doubly(x), doubly(y)) + exp(y)>> ==
              3);  // one of the two fused loops also stores exp
// Recomputation runs the kernel of the forward pass if the backward pass reads the same values of it as the forward
// pass did. Here the gradient of a bias is a sum. The gradient of the second product's weights comes before the
// gradient of its input, and reads relu. Therefore relu is computed right before.
using again = step_of<sum(x | ckpt<"s">(nn::linear<"in", 8> | nn::relu | nn::linear<"out", 3>))>;
static_assert(
    steps<again> ==
    "[matmul add relu] [matmul add] sum | [expand sum] [matmul add relu] matmul [matmul step mul] sum matmul");
static_assert(again::loops.of[0].same_as == 0 && again::loops.of[4].same_as == 0);
// Depth adds plan steps, but no kernels.
template <int Depth>
constexpr auto deep = sum(x | repeat<Depth, "b">([](auto) { return ckpt<"s">(nn::residual(hidden)); }));
static_assert(kernels<step_of<deep<3>>> == kernels<step_of<deep<6>>>);
static_assert(step_of<deep<6>>::steps.step_count > step_of<deep<3>>::steps.step_count);

}  // namespace
