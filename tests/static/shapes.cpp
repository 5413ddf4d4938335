// The shape rule of every operation. Expressions with wrong shapes do not compile, so the shape rule itself is called
// for them.
#include "cairn/nn/batch_norm.hpp"
#include "cairn/nn/convolution.hpp"
#include "cairn/nn/embedding.hpp"
#include "cairn/nn/flatten.hpp"
#include "cairn/nn/linear_cross_entropy.hpp"
#include "cairn/nn/lora.hpp"
#include "cairn/nn/norm.hpp"
#include "cairn/nn/parametrization.hpp"
#include "cairn/nn/pool.hpp"
#include "cairn/nn/positions.hpp"
#include "cairn/nn/prelu.hpp"
#include "cairn/nn/recurrent.hpp"
#include "cairn/nn/resample.hpp"
#include "cairn/nn/transformer.hpp"
#include "cairn/op/attention.hpp"
#include "cairn/op/comparison.hpp"
#include "cairn/op/concatenate.hpp"
#include "cairn/op/cumsum.hpp"
#include "cairn/op/einsum.hpp"
#include "cairn/op/expand.hpp"
#include "cairn/op/linear_system.hpp"
#include "cairn/op/loss.hpp"
#include "cairn/op/matmul.hpp"
#include "cairn/op/measure.hpp"
#include "cairn/op/probability_loss.hpp"
#include "cairn/op/reductions.hpp"
#include "cairn/op/roll.hpp"
#include "cairn/op/similarity.hpp"
#include "cairn/op/sort.hpp"

using namespace cairn;

namespace {

template <int... Extents>
constexpr auto t = input<"t", Extents...>;
template <int... Extents>
constexpr auto to = labels<"to", 10, Extents...>;

constexpr shape of(an_expression auto e) { return e.shape; }
template <class A, class B>
constexpr bool same(A, B) {
  return std::same_as<A, B>;
}
/// Returns what a form makes of arguments, or a mistake that is not reported.
template <class Form, class... A>
constexpr auto formed(A...) {
  return lang::result_of_form<Form, A...>();
}
/// Returns true if a call breaks this rule.
template <class Rule>
constexpr bool breaks(auto) {
  return false;
}
template <class Rule, class Owner, class Path, class... Facts>
constexpr bool breaks(lang::poison<Rule, Owner, Path, Facts...>) {
  return true;
}

// Leaves.
static_assert(of(input<"x", 128, 784>) == shape{128, 784});
static_assert(of(param<"w", 8, 4>) == shape{8, 4} && of(frozen<"w", 8, 4>) == shape{8, 4});
static_assert(of(labels<"y", 10, 128>) == shape{128});  // 128 labels in [0, 10)
static_assert(of(param<"scale">) == shape{});
static_assert(labels<"y", 10, 128>.element == index_below(10) && input<"x", 128>.element == element_type{});

// Shapes.
static_assert(shape{4, 8}.rank == 2 && shape{4, 8}.count() == 32 && shape{4, 8}[-1] == 8 && shape{4, 8}[0] == 4);
constexpr shape none = no_shape;
static_assert(shape{}.rank == 0 && shape{}.count() == 1 && shape{}.valid() && !none.valid());
static_assert(shape{4} != shape{4, 1});

// Constants are scalars. One number is one type, however it is written.
static_assert(of(constant<2>) == shape{});
static_assert(same(constant<1>, constant<1.f>) && same(constant<1>, constant<1.0>) && same(constant<1>, constant<1L>));
static_assert(same(constant<1>, 1_c) && same(constant<1>, 1.0_c) && same(constant<1>, 10e-1_c));
static_assert(!same(constant<1>, constant<2>));
static_assert(same(-0.5_c, constant<-0.5>) && same(-constant<3>, constant<-3>) && same(- -3_c, 3_c));
template <class>
constexpr double number{};
template <double Value>
constexpr double number<lang::constant_leaf<Value>> = Value;
constexpr double of_number(auto c) { return number<decltype(c)>; }
static_assert(of_number(0.5_c) == 0.5 && of_number(.5_c) == 0.5 && of_number(5._c) == 5);
static_assert(of_number(0.1_c) == 0.1 && of_number(0.3_c) == 0.3 && of_number(3.14159_c) == 3.14159);
static_assert(of_number(12345_c) == 12345 && of_number(1'000'000_c) == 1e6 && of_number(007_c) == 7);
static_assert(of_number(1e-3_c) == 1e-3 && of_number(1E3_c) == 1e3 && of_number(2.5e+2_c) == 250);
static_assert(of_number(1e-8_c) == 1e-8 && of_number(6.02e22_c) == 6.02e22 && of_number(0_c) == 0);

// Elementwise operations broadcast as in NumPy. Shapes are aligned at the last axis, and an extent of 1 is stretched.
static_assert(of(t<4, 8> + t<4, 8>) == shape{4, 8});
static_assert(of(t<4, 8> - t<8>) == shape{4, 8} && of(t<8> - t<4, 8>) == shape{4, 8});
static_assert(of(t<4, 1> * t<1, 8>) == shape{4, 8} && of(t<4, 1> * t<8>) == shape{4, 8});
static_assert(of(t<4, 8> / t<>) == shape{4, 8} && of(t<4, 8> * 0.5_c) == shape{4, 8} && of(t<> + 1_c) == shape{});
static_assert(of(t<5, 1, 3> + t<2, 1>) == shape{5, 2, 3});
static_assert(of(t<1> + t<1, 1>) == shape{1, 1} && of(t<1> + t<>) == shape{1});
static_assert(lang::add_op::result(shape{4, 8}, shape{4}) == no_shape);
static_assert(lang::mul_op::result(shape{4, 8}, shape{2, 8}) == no_shape);
static_assert(lang::sub_op::result(shape{4, 8}, shape{4, 4}) == no_shape);
static_assert(lang::div_op::result(shape{2, 3, 4}, shape{3, 1, 4}) == no_shape);
static_assert(of(maximum(t<4, 1>, t<8>)) == shape{4, 8} && lang::maximum_op::result(shape{3}, shape{2}) == no_shape);
static_assert(of(-t<4, 8>) == shape{4, 8} && of(exp(t<4, 8>)) == shape{4, 8} && of(log(t<4, 8>)) == shape{4, 8});
static_assert(of(sqrt(t<8>)) == shape{8} && of(square(t<8>)) == shape{8} && of(tanh(t<8>)) == shape{8});
static_assert(of(sigmoid(t<>)) == shape{} && of(relu(t<2, 3, 4>)) == shape{2, 3, 4} && of(gelu(t<1>)) == shape{1});
static_assert(of(abs(t<4, 8>)) == shape{4, 8} && of(sign(t<8>)) == shape{8});
static_assert(of(erf(t<4, 8>)) == shape{4, 8} && of(floor(t<>)) == shape{} && of(ceil(t<8>)) == shape{8} &&
              of(round(t<2, 3>)) == shape{2, 3});
static_assert(of(log1p(t<8>)) == shape{8} && of(softplus(t<>)) == shape{});
static_assert(of(sin(t<4, 8>)) == shape{4, 8} && of(cos(t<8>)) == shape{8} && of(silu(t<2, 3>)) == shape{2, 3});
static_assert(of(rsqrt(t<4, 1>)) == shape{4, 1} && of(rsqrt(t<>)) == shape{});
static_assert(of(minimum(t<4, 1>, t<8>)) == shape{4, 8} && of(minimum(1_c, t<3>)) == shape{3} &&
              lang::minimum_op::result(shape{4, 8}, shape{4}) == no_shape);
static_assert(of(pow(t<4, 8>, 3_c)) == shape{4, 8} && of(pow(t<8>, -1_c)) == shape{8} &&
              of(pow(t<>, 0.3_c)) == shape{});
static_assert(same(pow(t<8>, 1_c), t<8>) && same(pow(t<8>, 2_c), square(t<8>)) && same(pow(t<8>, 0.5_c), sqrt(t<8>)));
static_assert(of(clamp(t<4, 1>, t<8>, 6_c)) == shape{4, 8} && of(clamp(t<4>, 0_c, t<2, 1>)) == shape{2, 4} &&
              of(clamp(t<8>, 0_c, 1_c)) == shape{8});
static_assert(of(leaky_relu<0.2>(t<4>)) == shape{4} && of(leaky_relu(t<4, 8>)) == shape{4, 8} &&
              same(leaky_relu<1>(t<4>), leaky_relu<1.0>(t<4>)) && same(nn::leaky_relu<0>(t<4>), leaky_relu<0>(t<4>)));
static_assert(of(elu<0.5>(t<4>)) == shape{4} && same(nn::elu<>(t<4, 8>), elu(t<4, 8>)) && of(mish(t<>)) == shape{} &&
              of(gelu_tanh(t<4, 8>)) == shape{4, 8} && same(nn::hardsigmoid(t<8>), hardsigmoid(t<8>)) &&
              same(nn::hardswish(t<8>), hardswish(t<8>)) && same(nn::mish(t<8>), mish(t<8>)) &&
              same(nn::gelu_tanh(t<8>), gelu_tanh(t<8>)));
static_assert(
    breaks<misuse::meaningless_setting>(formed<lang::elu_form<std::numeric_limits<double>::infinity()>>(t<4>)));
static_assert(of(prelu(t<4, 8>, t<8>)) == shape{4, 8} && of(prelu(t<4, 8>, t<1>)) == shape{4, 8} &&
              of(prelu(t<4>, t<4>)) == shape{4} && of(t<2, 4, 8> | nn::prelu<"a">) == shape{2, 4, 8} &&
              of(t<4, 8> | nn::prelu<"a", 8>) == shape{4, 8});
static_assert(breaks<misuse::weight_of_prelu>(formed<lang::prelu_form>(t<4, 8>, t<4>)) &&
              breaks<misuse::weight_of_prelu>(formed<lang::prelu_form>(t<4, 8>, t<1, 8>)) &&
              breaks<misuse::weight_of_prelu>(formed<lang::prelu_form>(t<>, t<1>)) &&
              breaks<misuse::weight_of_prelu>(formed<lang::prelu_form>(t<4, 8>, t<>)));
static_assert(lang::expand_op<shape{4, 8}>::result(shape{4, 1}) == shape{4, 8});
static_assert(lang::expand_op<shape{4, 1}>::result(shape{4, 8}) == no_shape);  // expand never shrinks

// Comparisons return truth values. `where` chooses one of two values by them. The values are real numbers, or indices,
// and then the result has the larger bound.
static_assert(of(t<4, 1> < t<8>) == shape{4, 8} && (t<4> >= 0_c).element == element_type{dtype::u8, 2});
static_assert(same(t<4> > t<>, t<> < t<4>) && same(t<4> >= 0_c, 0_c <= t<4>));
static_assert((to<4> == labels<"of_three", 3, 4>).element == (2_c != to<4>).element);
static_assert(of(where(t<4, 1> < t<8>, t<>, 0_c)) == shape{4, 8} &&
              where(t<4> < t<>, t<4>, 1_c).element == element_type{});
static_assert(where(indices<"mask", 2, 4>, to<4>, labels<"of_three", 3, 4>).element == index_below(10));
static_assert(lang::compare_op<lang::comparison::less>::result(shape{4, 8}, shape{4}) == no_shape);
static_assert(of(where(t<> < 1_c, t<4, 1>, t<8>)) == shape{4, 8} &&
              of(where(t<2, 1, 1> != 0_c, t<4, 1>, t<8>)) == shape{2, 4, 8});
static_assert(same(masked_fill(t<4, 8>, t<8> < 0_c, 2_c), where(t<8> < 0_c, 2_c, t<4, 8>)));
static_assert(lang::where_op::result(shape{3}, shape{4}, shape{}) == no_shape);
static_assert(lang::where_op::result(shape{}, shape{3}, shape{4}) == no_shape &&
              lang::where_op::result(shape{4, 3}, shape{4, 3}, shape{4}) == no_shape);

// Reductions. They reduce any axes, and negative axes count from the last axis. Without a list they reduce all axes.
// With keepdim, extents of 1 stay.
static_assert(of(sum(t<4, 8>)) == shape{} && of(sum(t<>)) == shape{} && of(sum(t<4, 8>, keepdim)) == shape{1, 1});
static_assert(of(sum<0>(t<4, 8>)) == shape{8} && of(sum<1>(t<4, 8>)) == shape{4} && of(sum<-1>(t<4, 8>)) == shape{4});
static_assert(of(sum<-2>(t<4, 8>)) == shape{8} && of(sum<-1>(t<4, 8>, keepdim)) == shape{4, 1});
static_assert(of(sum<0, 2>(t<2, 3, 4>)) == shape{3} && of(sum<2, 0>(t<2, 3, 4>)) == shape{3});
static_assert(of(sum<-1, 0>(t<2, 3, 4>, keepdim)) == shape{1, 3, 1} && of(sum<0, 1, 2>(t<2, 3, 4>)) == shape{});
static_assert(same(sum<-1>(t<4, 8>), sum<1>(t<4, 8>)));  // one operation has one name
static_assert(of(mean(t<4, 8>)) == shape{} && of(mean<-1>(t<4, 8>)) == shape{4});
static_assert(of(mean<0>(t<4, 8>, keepdim)) == shape{1, 8} && of(mean<1, 2>(t<2, 3, 4>)) == shape{2});
static_assert(of(var<0>(t<4, 8>, keepdim, biased)) == shape{1, 8} && of(var<-1>(t<4, 8>)) == shape{4} &&
              of(var(t<1>)) == shape{});
static_assert(of(stddev<0>(t<4, 8>, keepdim, biased)) == shape{1, 8} && of(stddev(t<4>)) == shape{});
static_assert(of(logsumexp(t<4, 8>)) == shape{} && of(logsumexp<-1>(t<4, 8>, keepdim)) == shape{4, 1} &&
              of(logsumexp<0, 2>(t<2, 3, 4>)) == shape{3});
static_assert(of(vector_norm<-1>(t<4, 8>)) == shape{4} && of(vector_norm(t<4, 8>, keepdim)) == shape{1, 1});
template <shape From, int... Axes>
constexpr shape summed = lang::sum_op<lang::axes_of<From, Axes...>(), false>::result(From);
static_assert(summed<shape{4, 8}, 1> == shape{4});
static_assert(summed<shape{4, 8}, 2> == no_shape && summed<shape{4, 8}, -3> == no_shape);
static_assert(summed<shape{4, 8}, 32> == no_shape && summed<shape{4, 8}, -40> == no_shape);
static_assert(summed<shape{}, 0> == no_shape && summed<shape{}, -1> == no_shape);

// Axes of extent 1, and repeated axes. Indices stay indices.
static_assert(of(unsqueeze<0>(t<4, 8>)) == shape{1, 4, 8} && of(unsqueeze<-1>(t<4, 8>)) == shape{4, 8, 1} &&
              of(unsqueeze<2>(t<4, 8>)) == shape{4, 8, 1} && of(unsqueeze<0>(t<>)) == shape{1});
static_assert(breaks<misuse::new_axis>(formed<lang::unsqueeze_form<3>>(t<4, 8>)) &&
              breaks<misuse::new_axis>(formed<lang::unsqueeze_form<-4>>(t<4, 8>)) &&
              breaks<misuse::new_axis>(formed<lang::unsqueeze_form<0>>(t<1, 2, 3, 4, 5, 6>)));
static_assert(of(squeeze<1>(t<4, 1, 8>)) == shape{4, 8} && of(squeeze<-1, 0>(t<1, 4, 1>)) == shape{4} &&
              of(squeeze<0>(t<1>)) == shape{});
static_assert(breaks<misuse::axes_of_extent_one>(formed<lang::squeeze_form<0>>(t<4, 1>)) &&
              breaks<misuse::axes_of_extent_one>(formed<lang::squeeze_form<1, 2>>(t<4, 1>)) &&
              breaks<misuse::axes_of_extent_one>(formed<lang::squeeze_form<0>>(t<>)));
static_assert(of(expand<8, 3, -1>(t<3, 5>)) == shape{8, 3, 5} && of(expand<4, -1>(t<1, 8>)) == shape{4, 8} &&
              of(expand<2>(t<>)) == shape{2} && same(expand<-1, 8>(t<4, 8>), t<4, 8>));
static_assert(breaks<misuse::extents_of_expand>(formed<lang::expand_form<8, 8>>(t<4, 8>)) &&
              breaks<misuse::extents_of_expand>(formed<lang::expand_form<-1, 4, 8>>(t<4, 8>)) &&
              breaks<misuse::extents_of_expand>(formed<lang::expand_form<8>>(t<4, 8>)) &&
              breaks<misuse::extents_of_expand>(formed<lang::expand_form<4, 0>>(t<4, 1>)) &&
              breaks<misuse::extents_of_expand>(formed<lang::expand_form<1 << 30, 1 << 30, -1>>(t<1, 4>)) &&
              breaks<misuse::extents_of_expand>(formed<lang::expand_form<2, 1, 1, 1, 1, 1, -1>>(t<4>)));
static_assert(of(tile<2, 3>(t<4, 8>)) == shape{8, 24} && of(tile<3>(t<4, 8>)) == shape{4, 24} &&
              of(tile<2, 1, 3>(t<8>)) == shape{2, 1, 24} && of(tile<2>(t<>)) == shape{2});
static_assert(same(tile<1, 1>(t<4, 8>), t<4, 8>) && same(tile<1>(t<1, 2, 3, 4, 5, 6>), t<1, 2, 3, 4, 5, 6>));
static_assert(breaks<misuse::repetitions_of_axes>(formed<lang::tile_form<0, 1>>(t<4, 8>)) &&
              breaks<misuse::repetitions_of_axes>(formed<lang::tile_form<1 << 30>>(t<2>)) &&
              breaks<misuse::repetitions_of_axes>(formed<lang::tile_form<1 << 30, 1 << 30, 2>>(t<1>)) &&
              breaks<misuse::repetitions_of_axes>(formed<lang::tile_form<2, 1, 1, 1, 1, 1>>(t<4>)) &&
              breaks<misuse::repetitions_of_axes>(formed<lang::tile_form<2>>(t<1, 2, 3, 4, 5, 6>)));
static_assert(unsqueeze<0>(to<4>).element == index_below(10) && squeeze<1>(to<4, 1>).element == index_below(10) &&
              expand<3, 4>(to<4>).element == index_below(10) && tile<3>(to<4>).element == index_below(10));

// Matrix products: {m, k} x {k, n}. Leading axes broadcast. Transposed matrices are read in place.
static_assert(of(matmul(t<4, 8>, t<8, 3>)) == shape{4, 3});
static_assert(of(matmul(t<4, 8>, transpose(t<3, 8>))) == shape{4, 3});
static_assert(of(matmul(transpose(t<8, 4>), t<8, 3>)) == shape{4, 3});
static_assert(of(matmul(transpose(t<8, 4>), transpose(t<3, 8>))) == shape{4, 3});
static_assert(same(matmul(t<4, 8>, transpose(t<3, 8>)), make<lang::matmul_op<false, true>>(t<4, 8>, t<3, 8>)));
static_assert(same(matmul(transpose(t<8, 4>), t<8, 3>), make<lang::matmul_op<true, false>>(t<8, 4>, t<8, 3>)));
static_assert(same(matmul(transpose<0, 2, 1>(t<2, 8, 4>), t<8, 3>), matmul(transpose(t<2, 8, 4>), t<8, 3>)));
static_assert(of(matmul(t<2, 4, 8>, t<8, 3>)) == shape{2, 4, 3} && of(matmul(t<4, 8>, t<2, 8, 3>)) == shape{2, 4, 3});
static_assert(of(matmul(t<2, 4, 8>, t<2, 8, 3>)) == shape{2, 4, 3});
static_assert(of(matmul(t<5, 1, 4, 8>, t<2, 8, 3>)) == shape{5, 2, 4, 3});
static_assert(of(matmul(t<2, 4, 8>, transpose(t<2, 3, 8>))) == shape{2, 4, 3});
static_assert(of(matmul(transpose<1, 0, 2>(t<4, 2, 8>), t<8, 3>)) ==
              shape{2, 4, 3});  // this transposition is an operation of its own
template <bool A, bool B>
constexpr shape product_of(shape a, shape b) {
  return lang::matmul_op<A, B>::result(a, b);
}
static_assert(product_of<false, false>(shape{4, 8}, shape{3, 8}) == no_shape);
static_assert(product_of<false, true>(shape{4, 8}, shape{8, 3}) == no_shape);
static_assert(product_of<true, false>(shape{4, 8}, shape{8, 3}) == no_shape);
static_assert(product_of<true, true>(shape{8, 4}, shape{8, 3}) == no_shape);
static_assert(product_of<false, false>(shape{8}, shape{8, 3}) == no_shape);  // a vector is not a matrix
static_assert(product_of<false, false>(shape{4, 8}, shape{8}) == no_shape);
static_assert(product_of<false, false>(shape{2, 4, 8}, shape{3, 8, 3}) == no_shape);
static_assert(lang::matmul_op<false, false>::flops(shape{4, 8}, shape{8, 3}) == 2 * 4 * 8 * 3);
static_assert(lang::matmul_op<true, true>::flops(shape{2, 8, 4}, shape{3, 8}) == 2 * 2 * 4 * 8 * 3);
// The rows of all leading axes form one product if their number fits into an extent.
static_assert(lang::matmul_op<false, false>::one(shape{1 << 15, 1 << 15, 2}, shape{2, 3}).m == 1 << 30);
static_assert(lang::matmul_op<false, false>::products(shape{1 << 16, 1 << 16, 2}, shape{2, 3}) == 1 << 16);

// Views with another shape and the same elements.
static_assert(of(reshape<8, 4>(t<4, 8>)) == shape{8, 4} && of(reshape<32>(t<4, 8>)) == shape{32});
static_assert(of(reshape<-1>(t<4, 8>)) == shape{32} && of(reshape<2, -1, 2>(t<4, 8>)) == shape{2, 8, 2});
static_assert(of(reshape<>(t<1, 1>)) == shape{} && of(reshape<1, 1>(t<>)) == shape{1, 1});
static_assert(lang::reshape_op<shape{5, 6}>::result(shape{4, 8}) == no_shape);
static_assert(lang::reshape_op<lang::inferred<shape{4, 8}, 3, -1>()>::result(shape{4, 8}) == no_shape);
static_assert(lang::reshape_op<lang::inferred<shape{4, 8}, -1, -1>()>::result(shape{4, 8}) == no_shape);
static_assert(of(transpose(t<4, 8>)) == shape{8, 4} && of(transpose(t<2, 3, 4>)) == shape{2, 4, 3});
static_assert(of(transpose<1, 0, 2>(t<2, 3, 4>)) == shape{3, 2, 4});
// Axis i of the result is axis p[i] of the argument.
static_assert(of(transpose<2, 0, 1>(t<2, 3, 4>)) == shape{4, 2, 3});
static_assert(lang::transpose_op<std::array{2, 0, 1}>::inverse == std::array{1, 2, 0});
static_assert(lang::transpose_op<std::array{0, 0}>::result(shape{4, 8}) == no_shape);
static_assert(lang::transpose_op<std::array{1, 0}>::result(shape{2, 3, 4}) == no_shape);
static_assert(lang::transpose_op<std::array{0, 2}>::result(shape{4, 8}) == no_shape);
static_assert(lang::transpose_op<lang::permutation<1>()>::result(shape{8}) == no_shape);
static_assert(of(detach(t<4, 8>)) == shape{4, 8});

// Elements at indices along an axis. The indices have the extents of the table along all other axes.
static_assert(of(gather_along<1>(t<4, 12>, to<4, 3>)) == shape{4, 3} &&
              of(gather_along<-2>(t<10, 3>, to<20, 3>)) == shape{20, 3} &&
              gather_along<0>(labels<"at", 7, 10>, to<2>).element == index_below(7));
static_assert(lang::gather_along_op<1>::result(shape{4, 12}, shape{2, 3}) == no_shape &&
              lang::gather_along_op<2>::result(shape{4, 12}, shape{4, 12}) == no_shape &&
              lang::gather_along_op<0>::result(shape{4, 12}, shape{4}) == no_shape &&
              lang::gather_along_op<0>::result(shape{}, shape{}) == no_shape);
static_assert(lang::gather_along_op<-1>::extent_indexed(1, shape{4, 12}, shape{4, 3}) == 12);
static_assert(of(scatter_add_along<-1>(t<4, 12>, to<4, 3>, t<4, 3>)) == shape{4, 12});
static_assert(lang::scatter_add_along_op<1>::result(shape{4, 12}, shape{4, 3}, shape{4, 2}) == no_shape &&
              lang::scatter_add_along_op<1>::result(shape{4, 12}, shape{2, 3}, shape{2, 3}) == no_shape);

// Running sums, and sorted elements with their positions.
static_assert(of(cumsum<0>(t<4, 8>)) == shape{4, 8} && of(cumsum<-1>(t<4>)) == shape{4});
static_assert(lang::cumsum_op<2, false>::result(shape{4, 8}) == no_shape &&
              lang::cumsum_op<0, false>::result(shape{}) == no_shape);
static_assert(of(sort<0>(t<4, 8>)) == shape{4, 8} && of(sort<-1>(t<4, 8>, descending)) == shape{4, 8} &&
              argsort<-1>(t<4, 8>).element == index_below(8) && argsort<0>(t<4, 8>, descending).shape == shape{4, 8});
static_assert(of(topk<3>(t<4, 8>)) == shape{4, 3} && of(topk<4, 0>(t<4, 8>)) == shape{4, 8} &&
              argtopk<2, 0>(t<4, 8>, smallest).shape == shape{2, 8} && argtopk<2>(t<4, 8>).element == index_below(8));
static_assert(
    breaks<misuse::axes_exist>(formed<lang::sort_form<"sort", lang::sorted::values, 2>>(t<4, 8>)) &&
    breaks<misuse::axes_exist>(formed<lang::topk_form<"topk", lang::sorted::values, 1, 2>>(t<4, 8>)) &&
    breaks<misuse::meaningless_setting>(formed<lang::topk_form<"topk", lang::sorted::values, 5, 0>>(t<4, 8>)) &&
    breaks<misuse::meaningless_setting>(formed<lang::topk_form<"argtopk", lang::sorted::positions, 0>>(t<4, 8>)));

// Products of lettered axes. Each letter stands for one extent.
static_assert(of(einsum<"bij,bjk->bik">(t<2, 3, 4>, t<2, 4, 5>)) == shape{2, 3, 5} &&
              of(einsum<"ij,jk->ki">(t<3, 4>, t<4, 5>)) == shape{5, 3} &&
              of(einsum<" i j , jk -> k i ">(t<3, 4>, t<4, 5>)) == shape{5, 3} &&
              of(einsum<"abcd,abcd->">(t<2, 3, 4, 5>, t<2, 3, 4, 5>)) == shape{});
static_assert(of(einsum<"i,jk->ikj">(t<3>, t<4, 5>)) == shape{3, 5, 4} && of(einsum<",i->i">(t<>, t<4>)) == shape{4} &&
              of(einsum<"abcdef,f->abcde">(t<1, 2, 1, 2, 1, 4>, t<4>)) == shape{1, 2, 1, 2, 1} &&
              of(einsum<"abcXf,abcYf->cYbaX">(t<2, 3, 4, 5, 6>, t<2, 3, 4, 7, 6>)) == shape{4, 7, 3, 2, 5});
template <class Misuse, fixed_string Text, int... A>
constexpr bool einsum_breaks = breaks<Misuse>(formed<lang::einsum_form<Text>>(t<A...>, t<4, 5>));
static_assert(einsum_breaks<misuse::text_of_einsum, "ij,jk", 3, 4> &&
              einsum_breaks<misuse::text_of_einsum, "ij,jk- >ik", 3, 4> &&
              einsum_breaks<misuse::text_of_einsum, "...j,jk->...k", 3, 4> &&
              einsum_breaks<misuse::text_of_einsum, "", 3, 4> &&
              einsum_breaks<misuse::text_of_einsum, "ij,jk,kl->il", 3, 4> &&
              einsum_breaks<misuse::text_of_einsum, "ij->ij", 3, 4> &&
              einsum_breaks<misuse::text_of_einsum, "ij,jk->ik->ik", 3, 4>);
static_assert(einsum_breaks<misuse::repeated_letter, "ii,jk->ik", 3, 3> &&
              einsum_breaks<misuse::repeated_letter, "ij,jk->kk", 3, 4>);
static_assert(einsum_breaks<misuse::letter_of_result, "ij,jk->il", 3, 4>);
static_assert(einsum_breaks<misuse::letters_of_axes, "ij,jk->ik", 3, 5> &&
              einsum_breaks<misuse::letters_of_axes, "ij,jk->ik", 3> &&
              einsum_breaks<misuse::letters_of_axes, "abcdefg,jk->a", 3> &&
              einsum_breaks<misuse::letters_of_axes, "i,jkl->i", 3>);
static_assert(einsum_breaks<misuse::matrices_of_einsum, "abj,jk->abk", 65536, 65536, 4> &&
              einsum_breaks<misuse::matrices_of_einsum, "jab,jk->kab", 4, 65536, 65536> &&
              of(einsum<"abj,jk->abjk">(t<65536, 65536, 4>, t<4, 5>)) == shape{65536, 65536, 4, 5});

// Concatenations along an axis that all arguments have. All other extents must be equal.
static_assert(of(concatenate<1>(t<4, 6>, t<4, 2>)) == shape{4, 8} && of(concatenate<0>(t<4>, t<1>)) == shape{5});
static_assert(of(concatenate<-1>(t<4, 6>, t<4, 2>)) == shape{4, 8} &&
              of(concatenate<-2>(t<4, 6>, t<1, 6>)) == shape{5, 6});
static_assert(of(concatenate<1>(t<2, 3, 4>, t<2, 1, 4>, t<2, 3, 4>, t<2, 5, 4>)) == shape{2, 12, 4});
template <int Axis>
constexpr shape joined_shape(auto... shapes) {
  return lang::concatenate_op<Axis>::result(tensor_type(shapes)...);
}
static_assert(joined_shape<1>(shape{4, 6}, shape{5, 6}) == no_shape);
static_assert(joined_shape<0>(shape{4, 6}, shape{4, 6}, shape{4, 7}) == no_shape);
static_assert(joined_shape<-1>(shape{4, 6}, shape{6}) == no_shape &&
              joined_shape<0>(shape{6}, shape{4, 6}) == no_shape);
static_assert(joined_shape<2>(shape{4, 6}, shape{4, 6}) == no_shape);
static_assert(joined_shape<-3>(shape{4, 6}, shape{4, 6}) == no_shape);
static_assert(joined_shape<0>(shape{}, shape{}) == no_shape && joined_shape<-1>(shape{}, shape{}) == no_shape);

// A concatenation of any number of arguments is one operation.
template <int N>
constexpr auto n = param<"n", N, 2>;
constexpr auto many = []<int... I>(std::integer_sequence<int, I...>) { return concatenate<-2>(n<I + 1>...); };
constexpr auto seventeen = many(std::make_integer_sequence<int, 17>{});
static_assert(of(seventeen) == shape{153, 2} && seventeen.traits.height == 2);

// Slices along an axis. Negative bounds count from the end of the axis. Without a second bound, the slice extends to
// the end.
static_assert(of(slice<1, 2, 5>(t<4, 6>)) == shape{4, 3} && of(slice<0, 0, 4>(t<4, 6>)) == shape{4, 6});
static_assert(of(slice<-1, 5, 6>(t<4, 6>)) == shape{4, 1} && of(slice<-2, 1, 2>(t<4, 6>)) == shape{1, 6});
static_assert(of(slice<1, -4, -1>(t<4, 6>)) == shape{4, 3} && of(slice<1, -6, -5>(t<4, 6>)) == shape{4, 1});
static_assert(of(slice<1, 0, -1>(t<4, 6>)) == shape{4, 5} && of(slice<1, -2, 6>(t<4, 6>)) == shape{4, 2});
static_assert(same(slice<1, 2>(t<4, 6>), slice<1, 2, 6>(t<4, 6>)) && of(slice<-1, -2>(t<4, 6>)) == shape{4, 2});
template <int Axis, int Begin, int End>
constexpr shape sliced = lang::slice_op<Axis, Begin, End>::result(shape{4, 6});
static_assert(sliced<1, 3, 3> == no_shape && sliced<1, 4, 3> == no_shape && sliced<1, 0, 0> == no_shape);
static_assert(sliced<1, 0, 7> == no_shape && sliced<1, 6, 7> == no_shape && sliced<0, 4, 6> == no_shape);
static_assert(sliced<1, -7, 3> == no_shape && sliced<1, 0, -6> == no_shape && sliced<1, -1, 0> == no_shape);
static_assert(sliced<2, 0, 1> == no_shape && sliced<-3, 0, 1> == no_shape && sliced<2, 0, -1> == no_shape);
static_assert(lang::pad_op<1, 2, 6>::result(shape{4, 3}) == shape{4, 6});
constexpr auto middle_of_three = [](auto x) { return std::get<1>(split<-1, 3>(x)); };
static_assert(same(middle_of_three(t<4, 6>), slice<-1, 2, 4>(t<4, 6>)));
static_assert(std::tuple_size_v<decltype(split<0, 4>(t<4, 6>))> == 4 &&
              of(std::get<0>(split<1, 1>(t<4, 6>))) == shape{4, 6});

// pad, flip and stack: zeros around an axis, reversed axes, and new axes.
static_assert(of(pad<1, 2, 1>(t<4, 6>)) == shape{4, 9} && of(pad<-2, 0, 0>(t<4, 6>)) == shape{4, 6});
static_assert(pad<0, 1, 0>(to<4>).element == index_below(10) && flip<0>(to<4>).element == index_below(10));
static_assert(of(flip<0, -1>(t<4, 6>)) == shape{4, 6} && same(flip<0, 1>(t<4, 6>), flip<-1, -2>(t<4, 6>)));
static_assert(lang::flip_op<4>::result(shape{4, 6}) == no_shape && lang::flip_op<1>::result(shape{}) == no_shape);

// roll and shift keep the shape. Axes and distances that mean the same are the same type.
static_assert(of(roll<1, 2>(t<4, 6>)) == shape{4, 6} && of(nn::shift<0, -9>(t<4, 6>)) == shape{4, 6});
static_assert(roll<0, 1>(to<4>).element == index_below(10) && nn::shift<0, 1>(to<4>).element == index_below(10));
static_assert(same(roll<1, -1>(t<4, 6>), roll<-1, 5>(t<4, 6>)) && same(roll<0, 13>(t<4, 6>), roll<0, -3>(t<4, 6>)));
static_assert(same(nn::shift<-2, 7>(t<4, 6>), nn::shift<0, 4, nn::edge::zero>(t<4, 6>)));
static_assert(!same(nn::shift<0, 1>(t<4, 6>), nn::shift<0, 1, nn::edge::nearest>(t<4, 6>)));
static_assert(lang::roll_op<2, 1>::result(shape{4, 6}) == no_shape && lang::roll_op<0, 1>::result(shape{}) == no_shape);
static_assert(lang::shift_op<-1, 1, nn::edge::zero>::result(shape{4, 6}) == no_shape);
static_assert(lang::roll_op<0, 1>::map(shape{4, 6}, 0).outside == nn::edge::wrap &&
              lang::roll_op<0, 1>::map(shape{4, 6}, 1).in_steps());

static_assert(of(stack<0>(t<4, 6>, t<4, 6>, t<4, 6>)) == shape{3, 4, 6} && of(stack<0>(t<>, t<>)) == shape{2});
static_assert(of(stack<1>(t<4, 6>, t<4, 6>)) == shape{4, 2, 6} && of(stack<2>(t<4, 6>, t<4, 6>)) == shape{4, 6, 2});
static_assert(of(stack<-1>(t<4, 6>, t<4, 6>)) == shape{4, 6, 2} && of(stack<-3>(t<4, 6>, t<4, 6>)) == shape{2, 4, 6});
static_assert(lang::with_axis(shape{4, 6}, 3) == no_shape && lang::with_axis(shape{4, 6}, -4) == no_shape);
static_assert(lang::with_axis(shape{1, 2, 3, 4, 5, 6}, 0) == no_shape);

// Softmax keeps the shape. Its axis must exist.
static_assert(of(softmax(t<4, 8>)) == shape{4, 8} && of(log_softmax<0>(t<4, 8>)) == shape{4, 8});
static_assert(lang::softmax_op<-2>::result(shape{4, 8}) == shape{4, 8} &&
              lang::softmax_op<-3>::result(shape{4, 8}) == no_shape);
static_assert(lang::softmax_op<2>::result(shape{4, 8}) == no_shape &&
              lang::log_softmax_op<-1>::result(shape{}) == no_shape);

// Losses are scalars. Labels have the shape of the logits without the last axis, the axis of the classes.
static_assert(of(cross_entropy(t<4, 10>, to<4>)) == shape{} && of(cross_entropy(t<2, 4, 10>, to<2, 4>)) == shape{});
static_assert(of(cross_entropy(t<10>, to<>)) == shape{} && of(accuracy(t<4, 10>, to<4>)) == shape{});
static_assert(lang::cross_entropy_op::result(shape{4, 10}, shape{10}) == no_shape);
// The label of rows that pad a batch is the number of classes. It counts in accuracy alone.
static_assert(lang::cross_entropy_op::extent_indexed(1, shape{4, 10}, shape{4}) == 10 &&
              lang::accuracy_op::extent_indexed(1, shape{4, 10}, shape{4}) == 11);
static_assert(lang::row_cross_entropy_op::result(shape{2, 4, 10}, shape{2, 4}) == shape{2, 4} &&
              lang::label_logit_op::result(shape{4, 10}, shape{10}) == no_shape);
static_assert(of(cross_entropy(t<2, 4, 10>, to<2, 4>, t<10>, t<2, 4>)) == shape{});
static_assert(same(cross_entropy(t<4, 10>, to<4>), make<lang::cross_entropy_op>(t<4, 10>, to<4>)));  // without weights
static_assert(of(nn::l1(t<4, 8>, t<4, 8>)) == shape{} && of(huber<2.0>(t<4>, 0_c)) == shape{} &&
              of(binary_cross_entropy_with_logits(t<4>, t<4>)) == shape{});
static_assert(same(huber<2>(t<4>, t<4>), huber<2.0>(t<4>, t<4>)) && same(huber<1>(t<4>, 0_c), huber(t<4>, 0_c)));
static_assert(breaks<misuse::equal_shapes>(formed<lang::pairwise_form<lang::l1_loss>>(t<4, 1>, t<4>)) &&
              breaks<misuse::equal_shapes>(formed<lang::huber_form<2.0>>(t<4, 8>, t<8>)) &&
              breaks<misuse::equal_shapes>(formed<lang::pairwise_form<lang::binary_cross_entropy_loss>>(t<8>, t<1>)));
static_assert(breaks<misuse::delta_of_huber>(formed<lang::huber_form<-2.0>>(t<8>, t<8>)) &&
              breaks<misuse::delta_of_huber>(formed<lang::huber_form<std::numeric_limits<double>::quiet_NaN()>>(t<8>,
                                                                                                                0_c)));
template <double Share>
using smoothing = lang::cross_entropy_form<nn::cross_entropy_options{.label_smoothing = Share}>;
static_assert(of(formed<smoothing<1.0>>(t<4, 10>, to<4>)) == shape{} &&
              breaks<misuse::share_of_classes>(formed<smoothing<1.01>>(t<4, 10>, to<4>)) &&
              breaks<misuse::share_of_classes>(formed<smoothing<-0.01>>(t<4, 10>, to<4>, t<10>)));
static_assert(lang::cross_entropy_op::result(shape{4, 10}, shape{4, 1}) == no_shape);
static_assert(lang::cross_entropy_op::result(shape{}, shape{}) == no_shape);
static_assert(lang::accuracy_op::result(shape{4, 10}, shape{5}) == no_shape);
static_assert(lang::cross_entropy_op::argument_kind(0) == kind::real &&
              lang::cross_entropy_op::argument_kind(1) == kind::whole);
static_assert(of(mse(t<4, 8>, t<4, 8>)) == shape{} && of(mse(t<4, 8>, 1_c)) == shape{});
static_assert(of(soft_cross_entropy(t<2, 4, 8>, t<2, 4, 8>)) == shape{} && of(kl_div(t<8>, t<8>)) == shape{} &&
              of(nll_loss(t<2, 4, 10>, to<2, 4>, t<10>, t<2, 4>)) == shape{});
using divergence = lang::compared_rows_form<lang::kl_div_loss>;
static_assert(breaks<misuse::two_rows_of_classes>(formed<divergence>(t<4, 8>, t<8>)) &&
              breaks<misuse::two_rows_of_classes>(formed<divergence>(t<>, t<>)) &&
              breaks<misuse::kind_mismatch>(formed<divergence>(t<4, 10>, to<4>)));
static_assert(breaks<misuse::one_label_per_row>(formed<lang::nll_loss_form<>>(t<4, 10>, to<10>)) &&
              breaks<misuse::kind_mismatch>(formed<lang::nll_loss_form<>>(t<4, 10>, t<4>)) &&
              breaks<misuse::weights_of_classes_and_rows>(formed<lang::nll_loss_form<>>(t<4, 10>, to<4>, t<4>)));

// Losses and similarities of rows. The leading axes of cosine_similarity broadcast.
static_assert(of(cosine_similarity(t<4, 1, 8>, t<3, 8>)) == shape{4, 3} &&
              of(cosine_similarity(t<8>, t<8>)) == shape{});
static_assert(of(triplet_loss(t<4, 8>, t<4, 8>, t<4, 8>)) == shape{} &&
              of(cosine_embedding_loss(t<2, 4, 8>, t<2, 4, 8>, t<2, 4>)) == shape{});
using cosines = lang::cosine_similarity_form<"cosine_similarity">;
static_assert(breaks<misuse::rows_to_compare>(formed<cosines>(t<4, 8>, t<4, 1>)) &&
              breaks<misuse::rows_to_compare>(formed<cosines>(t<4, 8>, t<3, 8>)) &&
              breaks<misuse::rows_to_compare>(formed<cosines>(t<8>, t<>)));
static_assert(breaks<misuse::equal_rows>(formed<lang::triplet_loss_form<1.0>>(t<4, 8>, t<4, 8>, t<8>)) &&
              breaks<misuse::pairs_and_targets>(formed<lang::cosine_embedding_loss_form<0.0>>(t<4, 8>, t<4, 8>, t<8>)));
template <double Margin>
using triplets = lang::triplet_loss_form<Margin>;
static_assert(breaks<misuse::meaningless_setting>(formed<triplets<0.0>>(t<4, 8>, t<4, 8>, t<4, 8>)) &&
              breaks<misuse::meaningless_setting>(formed<lang::cosine_embedding_loss_form<1.5>>(t<8>, t<8>, t<>)));

// Measures of classifiers.
static_assert(of(top_k_accuracy<10>(t<4, 10>, to<4>)) == shape{} && of(top_k_accuracy<1>(t<10>, to<>)) == shape{} &&
              of(confusion_matrix(t<2, 4, 10>, to<2, 4>)) == shape{10, 10} &&
              of(confusion_matrix(t<9>, to<>)) == shape{9, 9});
static_assert(breaks<misuse::meaningless_setting>(formed<lang::top_k_accuracy_form<0>>(t<4, 10>, to<4>)) &&
              breaks<misuse::meaningless_setting>(formed<lang::top_k_accuracy_form<11>>(t<4, 10>, to<4>)) &&
              breaks<misuse::one_label_per_row>(formed<lang::top_k_accuracy_form<1>>(t<4, 10>, to<5>)));

// Convolutions of images {N, H, W, C} with filters {O, C / groups, rows, columns}. The extents of results are the same
// as in PyTorch.
static_assert(of(conv2d(t<2, 5, 6, 3>, t<4, 3, 3, 2>)) == shape{2, 3, 5, 4});
static_assert(of(conv2d<nn::window{.stride = 2, .padding = 1, .groups = 2}>(t<2, 5, 6, 4>, t<6, 2, 3, 3>)) ==
              shape{2, 3, 3, 6});
static_assert(of(conv2d<nn::window{.padding = 4, .dilation = 3}>(t<1, 1, 1, 1>, t<2, 1, 3, 3>)) == shape{1, 3, 3, 2});
static_assert(of(conv1d<nn::window{.stride = 3}>(t<2, 9, 4>, t<5, 4, 3>)) == shape{2, 3, 5});
static_assert(of(conv_transpose2d<nn::window{.stride = 2, .padding = 1}>(t<2, 4, 3, 6>, t<6, 5, 3, 3>)) ==
              shape{2, 7, 5, 5});
static_assert(of(conv_transpose2d<nn::window{.groups = 3}>(t<1, 3, 2, 6>, t<6, 2, 2, 2>)) == shape{1, 4, 3, 6});
template <nn::window By>
constexpr shape filtered = lang::conv2d_form<By>::result_shape(shape{1, 3, 3, 2}, shape{4, 1, 3, 3});
static_assert(filtered<{.groups = 2}> == shape{1, 1, 1, 4} && filtered<{}> == no_shape);
static_assert(filtered<{.dilation = 2, .groups = 2}> == no_shape && filtered<{.groups = 4}> == no_shape);
template <class Rule, class Form, int... Extents>
constexpr bool refused = breaks<Rule>(formed<Form>(t<2, 5, 6, 4>, t<Extents...>));
static_assert(refused<misuse::window_of_filter, lang::conv2d_form<{.stride = -1}>, 3, 4, 2, 2> &&
              refused<misuse::window_of_filter, lang::conv2d_form<{.padding = -1}>, 3, 4, 2, 2> &&
              refused<misuse::window_of_filter, lang::conv2d_form<{.dilation = 0}>, 3, 4, 2, 2> &&
              refused<misuse::window_of_filter, lang::conv_transpose2d_form<{.groups = 0}>, 4, 3, 2, 2>);
static_assert(refused<misuse::filter_of_images, lang::conv2d_form<{}>, 3, 2, 2, 2> &&
              refused<misuse::filter_of_images, lang::conv2d_form<{}>, 3, 4, 2> &&
              refused<misuse::filter_of_rows, lang::conv1d_form<{}>, 3, 4, 2> &&
              refused<misuse::transposed_filter, lang::conv_transpose2d_form<{}>, 3, 4, 2, 2>);
static_assert(refused<misuse::groups_divide, lang::conv2d_form<{.groups = 2}>, 3, 2, 2, 2> &&
              refused<misuse::groups_divide, lang::conv_transpose2d_form<{.groups = 3}>, 4, 1, 2, 2>);
static_assert(refused<misuse::filter_in_image, lang::conv2d_form<{}>, 3, 4, 6, 2> &&
              refused<misuse::some_image_left, lang::conv_transpose2d_form<{.padding = 3}>, 4, 3, 2, 2> &&
              !refused<misuse::some_image_left, lang::conv_transpose2d_form<{.padding = 2}>, 4, 3, 2, 2>);
// Lengths up to 2^31 are legal, but their sums and products may not be extents.
constexpr int huge = std::numeric_limits<int>::max();
template <nn::window By>
constexpr bool too_large = refused<misuse::extents_of_convolution, lang::conv2d_form<By>, 3, 4, 3, 3>;
static_assert(too_large<{.padding = huge}> && too_large<{.padding = huge / 2 - 9}> && too_large<{.dilation = huge}> &&
              too_large<{.padding = nn::same, .dilation = huge}> &&
              refused<misuse::extents_of_convolution, lang::conv_transpose2d_form<{.stride = huge}>, 4, 3, 2, 2> &&
              refused<misuse::some_image_left, lang::conv_transpose2d_form<{.padding = huge}>, 4, 3, 2, 2>);
static_assert(of(conv1d<nn::window{.padding = huge / 2 - 9}>(t<1, 5, 1>, t<1, 1, 2>)) == shape{1, huge - 15, 1});
// In a layer, the filters follow from the channels. Here 5 channels of the result do not divide into 2 groups.
using in_halves = lang::conv_transpose2d_form<{.groups = 2}>;
constexpr int fault = in_halves::broken_rule(shape{2, 5, 6, 4}, in_halves::filters(4, 5, 3));
static_assert(same(std::tuple_element_t<fault, in_halves::rules>{}, misuse::groups_divide{}));
using moved = lang::convolution_op<costs::motion{{2, 2}, {1, 1}}>;
static_assert(moved::result(shape{1, 4, 4, 3}, shape{5, 3, 3, 3}) == shape{1, 2, 2, 5});
static_assert(lang::convolution_back_op<costs::motion{{2, 2}, {1, 1}}, 4, 4>::result(shape{1, 2, 2, 5},
                                                                                     shape{5, 3, 3, 3}) ==
              shape{1, 4, 4, 3});
static_assert(lang::convolution_back_op<costs::motion{{2, 2}, {1, 1}}, 5, 4>::result(shape{1, 2, 2, 5},
                                                                                     shape{5, 3, 3, 3}) == no_shape);
static_assert(lang::filter_gradient_op<costs::motion{{2, 2}, {1, 1}}, 3, 3>::result(shape{1, 4, 4, 3},
                                                                                    shape{1, 2, 2, 5}) ==
              shape{5, 3, 3, 3});
static_assert(lang::filter_gradient_op<costs::motion{}, 3, 3>::result(shape{1, 4, 4, 3}, shape{2, 2, 2, 5}) ==
              no_shape);

// Attention of queries {N, T, H, D} to keys and values {N, S, heads, D}. `heads` divides H, and a mask broadcasts to
// {N, H, T, S}.
constexpr auto q = t<2, 7, 6, 4>;
static_assert(of(nn::attention(q, t<2, 9, 6, 4>, t<2, 9, 6, 4>)) == shape{2, 7, 6, 4});
static_assert(of(nn::attention(q, t<2, 9, 2, 4>, t<2, 9, 2, 5>, nn::causal)) == shape{2, 7, 6, 5});
static_assert(of(nn::attention<"d", 0.1>(q, t<2, 9, 3, 4>, t<2, 9, 3, 4>, t<6, 1, 9>, nn::causal)) ==
              shape{2, 7, 6, 4});
static_assert(same(nn::attention(q, q, q, nn::causal, t<7, 7>), nn::attention(q, q, q, t<7, 7>, nn::causal)));
static_assert(same(nn::attention<"d", 0>(q, q, q), nn::attention(q, q, q)));
using attending_op = lang::attention_op<cairn::costs::attending{.mask = costs::masking::real}>;
template <int... Extents>
constexpr bool takes_mask = attending_op::result(q.shape, q.shape, q.shape, shape{Extents...})[0].valid();
static_assert(takes_mask<> && takes_mask<1> && takes_mask<7, 1> && takes_mask<2, 1, 1, 7> && takes_mask<6, 7, 7>);
static_assert(!takes_mask<6, 1, 8> && !takes_mask<3, 7, 7> && !takes_mask<1, 1, 1, 7, 7> && !takes_mask<2, 7, 7>);
template <int... K>
constexpr bool takes_keys =
    lang::attention_op<cairn::costs::attending{}>::result(q.shape, shape{K...}, shape{K...})[0].valid();
static_assert(takes_keys<2, 1, 1, 4> && !takes_keys<2, 9, 4, 4> && !takes_keys<2, 9, 12, 4> &&
              !takes_keys<2, 9, 6, 5> && !takes_keys<1, 9, 6, 4> && !takes_keys<2, 9, 4>);
static_assert(lang::attention_op<cairn::costs::attending{}>::flops(q.shape, q.shape, q.shape) ==
              2 * 6 * 7 * 7 * (4 * 4 + 5));
static_assert(lang::attention_op<cairn::costs::attending{true}>::flops(q.shape, q.shape, q.shape) ==
              2 * 6 * 28 * (4 * 4 + 5));
// The backward pass has a workspace for the queries of one head, however many heads share keys.
template <int Heads, int Bytes = 4>
constexpr std::int64_t room_for = [] {
  constexpr shape queries{1, 300, Heads, 16}, keys{1, 300, 2, 16};
  return lang::attention_gradients_op<cairn::costs::attending{}>::scratch(Bytes, queries, queries, keys, keys).each;
}();
static_assert(room_for<12> == room_for<4> && room_for<4> < 2 * room_for<2>);
// In bf16, the workspace has as many bytes as in floats, because the copies are floats. It may be smaller if the
// processor multiplies bf16.
static_assert(multiplies_bf16 || 2 * room_for<4, 2> == 4 * room_for<4>);
static_assert(of(t<2, 7, 12> | nn::self_attention<"a", 6, nn::causal>) == shape{2, 7, 12});
static_assert(of(nn::self_attention<"a", 6>(t<2, 7, 12>, reshape<2, 1, 1, 7>(indices<"real", 2, 2, 7>))) ==
              shape{2, 7, 12});
static_assert(same(t<2, 7, 12> | nn::self_attention<"a", 6, nn::causal>,
                   t<2, 7, 12> | nn::self_attention<"a", 6, nn::attention_options{.causal = true}>));
static_assert(of(nn::cross_attention<"a", 6, nn::attention_options{.key_heads = 3}>(t<2, 7, 12>, t<2, 9, 5>)) ==
              shape{2, 7, 12});
static_assert(of(t<2, 7, 12> | nn::transformer_block<3> | nn::swiglu<"f", 5>) == shape{2, 7, 12});
static_assert(of(t<2, 7, 12> | nn::lora<3, 16>(nn::linear<"f", 5>)) == shape{2, 7, 5});
static_assert(detail::first_refused(nn::detail::lora_settings<3, -0.5>::all) == 2 &&
              detail::first_refused(nn::detail::lora_settings<3, 0.0>::all) == 1);

static_assert(of(conv_transpose1d<nn::window{.stride = 2, .padding = 1}>(t<2, 4, 6>, t<6, 5, 3>)) == shape{2, 7, 5} &&
              of(t<2, 4, 6> | nn::conv_transpose1d_without_bias<"c", 4, 3, nn::window{.stride = 2, .groups = 2}>) ==
                  shape{2, 9, 4});
static_assert(refused<misuse::transposed_filter_of_rows, lang::conv_transpose1d_form<{}>, 3, 4, 2>);
// Each extent and each setting of a window may be two numbers: for the height, and for the width.
constexpr nn::window flat{.stride = {1, 2}, .padding = {0, 3}};
static_assert(of(conv2d<flat>(t<2, 5, 6, 3>, t<4, 3, 1, 7>)) == shape{2, 5, 3, 4});
static_assert(of(conv2d<nn::window{.dilation = {2, 1}}>(t<2, 5, 6, 3>, t<4, 3, 2, 3>)) == shape{2, 3, 4, 4});
static_assert(of(conv_transpose2d<flat>(t<2, 5, 6, 3>, t<3, 4, 1, 7>)) == shape{2, 5, 11, 4});
static_assert(of(t<2, 5, 6, 3> | nn::conv2d<"c", 4, {1, 7}, flat>) == shape{2, 5, 3, 4} &&
              of(t<2, 5, 6, 3> | nn::conv_transpose2d_without_bias<"c", 4, {2, 3}>) == shape{2, 6, 8, 4});
static_assert(of(max_pool2d<{1, 6}, flat>(t<2, 5, 6, 3>)) == shape{2, 5, 4, 3} &&
              of(avg_pool2d<{2, 3}>(t<2, 5, 6, 3>)) == shape{2, 2, 2, 3} &&
              of(max_pool2d<{2, 3}, nn::window{.stride = {0, 1}}>(t<2, 5, 6, 3>)) == shape{2, 2, 4, 3});
static_assert(same(conv2d<nn::window{.stride = {2, 2}}>(t<2, 5, 6, 3>, t<4, 3, 2, 2>),
                   conv2d<nn::window{.stride = 2}>(t<2, 5, 6, 3>, t<4, 3, 2, 2>)));
static_assert(!std::is_constructible_v<nn::extents, double>);
static_assert(refused<misuse::window_of_filter, lang::conv2d_form<{.stride = {1, -1}}>, 3, 4, 2, 2> &&
              refused<misuse::window_of_filter, lang::conv2d_form<{.dilation = {0, 1}}>, 3, 4, 2, 2> &&
              refused<misuse::window_of_rows, lang::conv1d_form<{.stride = {1, 2}}>, 3, 4, 2> &&
              refused<misuse::window_of_rows, lang::conv1d_form<{.padding = {0, 2}}>, 3, 4, 2> &&
              refused<misuse::window_of_rows, lang::conv1d_form<{.dilation = {1, 2}}>, 3, 4, 2>);

// A padding of nn::same keeps height and width, whatever the extents of the filter are.
constexpr nn::window kept{.padding = nn::same}, kept_apart{.padding = nn::same, .dilation = {3, 2}};
static_assert(of(conv2d<kept>(t<2, 5, 6, 3>, t<4, 3, 2, 5>)) == shape{2, 5, 6, 4} &&
              of(conv2d<kept_apart>(t<2, 5, 6, 3>, t<4, 3, 4, 1>)) == shape{2, 5, 6, 4} &&
              of(t<2, 5, 6, 3> | nn::conv2d<"c", 4, {1, 8}, kept>) == shape{2, 5, 6, 4} &&
              of(t<2, 9, 4> | nn::conv1d<"c", 5, 4, kept>) == shape{2, 9, 5});
static_assert(same(conv2d<kept>(t<2, 5, 6, 3>, t<4, 3, 1, 1>), conv2d(t<2, 5, 6, 3>, t<4, 3, 1, 1>)));
static_assert(lang::motion_of(kept_apart, 2, shape{4, 3, 2, 2}) ==
              costs::motion{.padding = 1, .dilation = {3, 2}, .more = {1, 0}});
static_assert(refused<misuse::same_padding, lang::conv2d_form<{.stride = {1, 2}, .padding = nn::same}>, 3, 4, 2, 2> &&
              refused<misuse::same_padding, lang::conv_transpose2d_form<{.padding = nn::same}>, 4, 3, 2, 2> &&
              refused<misuse::window_of_filter, lang::conv2d_form<{.padding = {nn::same.height, 1}}>, 3, 4, 2, 2>);
// A transposed convolution may make more pixels at the end of its result.
constexpr nn::window wider{.stride = {2, 1}, .dilation = {1, 3}, .output_padding = {1, 2}};
static_assert(of(conv_transpose2d<wider>(t<2, 4, 3, 6>, t<6, 5, 3, 2>)) == shape{2, 10, 8, 5});
template <nn::window By>
constexpr bool refuses_more = refused<misuse::output_padding, lang::conv_transpose2d_form<By>, 4, 3, 2, 2>;
static_assert(refuses_more<{.output_padding = 1}> && refuses_more<{.stride = 2, .output_padding = {1, 2}}> &&
              refuses_more<{.stride = 2, .output_padding = {-1, 1}}> &&
              !refuses_more<{.stride = {1, 2}, .output_padding = {0, 1}}>);
static_assert(refused<misuse::output_padding, lang::conv2d_form<{.stride = 2, .output_padding = 1}>, 3, 4, 2, 2>);

// Pools of images {N, H, W, C}. There are as many windows as fit, and at most half of a window lies outside the image.
static_assert(of(max_pool2d<2>(t<2, 5, 6, 3>)) == shape{2, 2, 3, 3});
static_assert(of(avg_pool2d<5>(t<1, 5, 6, 3>)) == shape{1, 1, 1, 3});
static_assert(of(max_pool2d<3, nn::window{.stride = 2, .padding = 1}>(t<2, 5, 6, 3>)) == shape{2, 3, 3, 3});
static_assert(of(avg_pool2d<2, nn::window{.stride = 1, .padding = 1}>(t<2, 1, 6, 3>)) == shape{2, 2, 7, 3});
static_assert(same(max_pool2d<2>(t<2, 4, 4, 3>), max_pool2d<2, nn::window{.stride = 2}>(t<2, 4, 4, 3>)));
static_assert(of(global_average(t<2, 5, 6, 3>)) == shape{2, 3});
static_assert(of(upsample2d<3>(t<2, 5, 6, 3>)) == shape{2, 15, 18, 3} &&
              of(upsample2d<1>(t<2, 5, 6, 3>)) == shape{2, 5, 6, 3});
static_assert(breaks<misuse::image>(formed<detail::max_pool_form<2, nn::window{}>>(t<5, 6, 3>)) &&
              breaks<misuse::image>(formed<detail::avg_pool_form<2, nn::window{}>>(t<2, 5, 6, 3, 1>)) &&
              breaks<misuse::image>(formed<detail::upsample_form<2>>(t<>)) &&
              breaks<misuse::factor_of_pixels>(formed<detail::upsample_form<-1>>(t<2, 5, 6, 3>)));
static_assert(lang::pooling{16}.position_type() == element_type{dtype::u8, 256} &&
              lang::pooling{17}.position_type() == index_below(289));
template <nn::extents Extent, nn::window W>
constexpr shape pooled = [](const shape& x) { return detail::pooling_of(Extent, W, x).result(x); }(shape{2, 5, 6, 3});
static_assert(pooled<6, {}> == no_shape && pooled<7, {.padding = 1}> == shape{2, 1, 1, 3});
static_assert(pooled<8, {.padding = 1}> == no_shape);
static_assert(pooled<3, {.padding = 2}> == no_shape && pooled<2, {.padding = -1}> == no_shape);
static_assert(pooled<0, {}> == no_shape && pooled<2, {.stride = -1}> == no_shape);
static_assert(pooled<2, {.dilation = {4, 5}}> == shape{2, 1, 1, 3} && pooled<2, {.dilation = {5, 1}}> == no_shape);
// In ceil_mode, a last window begins within the image or before it, and reaches over the end of the padded image.
static_assert(pooled<2, {.ceil_mode = true}> == shape{2, 3, 3, 3} &&
              pooled<6, {.ceil_mode = true}> == shape{2, 1, 1, 3});
static_assert(pooled<1, {.stride = 3, .ceil_mode = true}> == shape{2, 2, 2, 3});  // a third one would begin behind
static_assert(pooled<3, {.stride = {3, 2}, .padding = 1, .dilation = {1, 2}, .ceil_mode = true}> == shape{2, 2, 3, 3});
static_assert(pooled<{7, 9}, {.stride = {3, 3}, .ceil_mode = true}> == no_shape &&
              pooled<{7, 8}, {.stride = {3, 3}, .ceil_mode = true}> == shape{2, 1, 1, 3});
static_assert(same(max_pool2d<2, nn::window{.ceil_mode = true}>(t<2, 4, 6, 3>), max_pool2d<2>(t<2, 4, 6, 3>)) &&
              !same(max_pool2d<2, nn::window{.ceil_mode = true}>(t<2, 5, 6, 3>), max_pool2d<2>(t<2, 5, 6, 3>)));
template <nn::window W>
constexpr bool refused_by_max = breaks<misuse::settings_of_pool>(formed<detail::max_pool_form<2, W>>(t<2, 5, 6, 3>));
template <nn::window W>
constexpr bool refused_by_avg = breaks<misuse::settings_of_pool>(formed<detail::avg_pool_form<2, W>>(t<2, 5, 6, 3>));
static_assert(!refused_by_max<{.dilation = 2, .ceil_mode = true}> && refused_by_max<{.count_include_pad = false}> &&
              refused_by_max<{.groups = 3}> && refused_by_max<{.padding = nn::same}> &&
              refused_by_max<{.output_padding = 1}>);
static_assert(!refused_by_avg<{.padding = 1, .ceil_mode = true, .count_include_pad = false}> &&
              refused_by_avg<{.dilation = 2}> && refused_by_avg<{.groups = 3}> &&
              refused_by_avg<{.padding = nn::same}>);
static_assert(refused<misuse::settings_of_convolution, lang::conv2d_form<{.ceil_mode = true}>, 3, 4, 2, 2> &&
              refused<misuse::settings_of_convolution, lang::conv1d_form<{.count_include_pad = false}>, 3, 4, 2>);
static_assert(breaks<misuse::window_in_image>(
    formed<detail::avg_pool_form<9, nn::window{.stride = 2, .ceil_mode = true, .count_include_pad = false}>>(
        t<2, 5, 30, 3>)));
template <nn::extents Extent, nn::window W>
constexpr bool outside = breaks<misuse::window_in_image>(formed<detail::max_pool_form<Extent, W>>(t<2, 5, 6, 3>)) &&
                         breaks<misuse::window_in_image>(formed<detail::avg_pool_form<Extent, W>>(t<2, 5, 6, 3>));
static_assert(outside<2, nn::window{.padding = huge}> && outside<huge, nn::window{.ceil_mode = true}> &&
              outside<huge, nn::window{.padding = huge / 2}> && !outside<2, nn::window{.stride = huge}>);
static_assert(lang::pooling{2}.result(shape{5, 6, 3}) == no_shape && lang::pooling{2}.result(shape{}) == no_shape);
static_assert(lang::window_scatter_op<lang::pooling{2}, 5, 6>::result(shape{2, 2, 3, 3}, shape{2, 2, 3, 3}) ==
              shape{2, 5, 6, 3});
static_assert(lang::window_scatter_op<lang::pooling{2}, 6, 6>::result(shape{2, 2, 3, 3}, shape{2, 2, 3, 3}) ==
              no_shape);
static_assert(lang::window_gather_op<lang::pooling{2}>::result(shape{2, 5, 6, 3}, shape{2, 2, 3, 1}) == no_shape);

// Layers of images. Their filters have as many channels as the argument.
static_assert(of(t<2, 5, 6, 4> | nn::conv2d<"c", 6, 3, nn::window{.stride = 2, .padding = 1, .groups = 2}>) ==
              shape{2, 3, 3, 6});
static_assert(of(t<2, 5, 6, 3> | nn::conv2d_without_bias<"c", 4, 2>) == shape{2, 4, 5, 4});
static_assert(of(t<2, 9, 4> | nn::conv1d<"c", 5, 3, nn::window{.stride = 3}>) == shape{2, 3, 5});
static_assert(of(t<2, 9, 4> | nn::conv1d_without_bias<"c", 6, 3, nn::window{.groups = 2}>) == shape{2, 7, 6});
constexpr nn::window by_two{.stride = 2, .groups = 2};
static_assert(of(t<2, 4, 3, 6> | nn::conv_transpose2d<"c", 4, 3, by_two>) == shape{2, 9, 7, 4});
static_assert(of(t<2, 4, 3, 6> | nn::conv_transpose2d_without_bias<"c", 5, 2>) == shape{2, 5, 4, 5});
static_assert(of(t<2, 5, 6, 3> | nn::max_pool2d<3, nn::window{.stride = 2, .padding = 1}>) == shape{2, 3, 3, 3});
static_assert(of(t<2, 5, 6, 3> | nn::avg_pool2d<2>) == shape{2, 2, 3, 3});
static_assert(of(t<2, 5, 6, 3> | nn::global_average) == shape{2, 3});
static_assert(of(t<2, 5, 6, 3> | nn::upsample2d<3>) == shape{2, 15, 18, 3});
static_assert(of(t<2, 5, 6, 3> | nn::upsample2d<3, nn::bilinear>) == shape{2, 15, 18, 3} &&
              of(upsample2d<2, nn::bilinear_corners>(t<2, 5, 6, 3>)) == shape{2, 10, 12, 3} &&
              of(interpolate2d<4, 9>(t<2, 5, 6, 3>)) == shape{2, 4, 9, 3} &&
              of(t<2, 5, 6, 3> | nn::adaptive_avg_pool2d<7, 1>) == shape{2, 7, 1, 3});
static_assert(same(interpolate2d<5, 6>(t<2, 5, 6, 3>), t<2, 5, 6, 3>) &&
              same(nn::upsample2d<1, nn::bilinear>(t<2, 5, 6, 3>), t<2, 5, 6, 3>) &&
              same(nn::upsample2d<2, nn::bilinear>(t<2, 5, 6, 3>), interpolate2d<10, 12>(t<2, 5, 6, 3>)));
template <std::int64_t Height>
using pool_of_height = detail::adaptive_pool_form<Height, 2>;
static_assert(of(t<2, 5, 6, 3> | nn::adaptive_max_pool2d<7, 1>) == shape{2, 7, 1, 3} &&
              of(adaptive_max_pool2d<4, 5>(t<2, 5, 6, 3>)) == shape{2, 4, 5, 3} &&
              same(adaptive_max_pool2d<5, 3>(t<2, 5, 6, 3>), max_pool2d<{1, 2}>(t<2, 5, 6, 3>)) &&
              breaks<misuse::size_of_image>(formed<detail::adaptive_max_pool_form<2, 0>>(t<2, 5, 6, 3>)) &&
              breaks<misuse::image>(formed<detail::adaptive_max_pool_form<2, 2>>(t<5, 6, 3>)));
static_assert(breaks<misuse::size_of_image>(formed<pool_of_height<0>>(t<2, 5, 6, 3>)) &&
              breaks<misuse::size_of_image>(formed<pool_of_height<(std::int64_t{1} << 31)>>(t<2, 5, 6, 3>)) &&
              breaks<misuse::image>(formed<pool_of_height<2>>(t<5, 6, 3>)) &&
              breaks<misuse::factor_of_pixels>(formed<detail::upsample_form<0, nn::bilinear>>(t<2, 5, 6, 3>)) &&
              breaks<misuse::image>(formed<detail::upsample_form<2, nn::bilinear>>(t<5, 6, 3>)));
constexpr auto keeps = [](auto norm) {
  return of(norm(t<2, 5, 6, 4>)) == shape{2, 5, 6, 4} && of(norm(t<5, 4>)) == shape{5, 4};
};
static_assert(keeps(nn::batch_norm<"n">) && keeps(nn::layer_norm<"n">) && keeps(nn::group_norm<"n", 2>));
constexpr nn::norm_options without_affine{.affine = false};
static_assert(keeps(nn::layer_norm<"n", without_affine>) && keeps(nn::group_norm<"n", 2, without_affine>) &&
              keeps(nn::batch_norm<"n", nn::batch_norm_options{.affine = false}>));
static_assert(of(t<2, 5, 6, 4> | nn::instance_norm<"n">) == shape{2, 5, 6, 4} &&
              of(t<1, 2, 4> | nn::instance_norm<"n", nn::instance_norm_options{.affine = true}>) == shape{1, 2, 4});
static_assert(same(nn::layer_norm<"n">, nn::layer_norm<"n", 1e-5>) &&
              same(nn::group_norm<"n", 2, 0.5>, nn::group_norm<"n", 2, nn::norm_options{.eps = 0.5}>));
static_assert(same(nn::rms_norm<"n", 0.5>, nn::rms_norm<"n", nn::rms_norm_options{.eps = 0.5}>) &&
              !same(nn::rms_norm<"n">, nn::rms_norm<"n", 1e-5>) &&
              keeps(nn::rms_norm<"n", nn::rms_norm_options{.affine = false}>));
static_assert(keeps(nn::rms_norm<"n">) && keeps(nn::rms_norm<"n", 1e-6>) && keeps(nn::sinusoidal_positions));
static_assert(of(t<4, 8> | nn::weight_norm(nn::linear<"f", 3>)) == shape{4, 3} &&
              of(t<4, 8> | nn::spectral_norm(nn::linear_without_bias<"f", 3>)) == shape{4, 3} &&
              of(t<2, 5, 6, 4> | nn::weight_norm(nn::conv2d_without_bias<"c", 6, 3>)) == shape{2, 3, 4, 6} &&
              of(t<2, 9, 4> | nn::weight_norm(nn::conv1d<"c", 5, 3>)) == shape{2, 7, 5});
static_assert(lang::row_moments_op<1e-5>::result(shape{})[0] == no_shape &&
              lang::row_scale_op<>::result(shape{2, 5}) == shape{2, 1});
static_assert(of(to<4, 9> | nn::embedding<"e", 16>) == shape{4, 9, 16});
static_assert(of(to<> | nn::embedding<"e", 16, nn::embedding_options{.padding_idx = -1}>) == shape{16});
static_assert(of(arange<9> | nn::embedding<"e", 16>) == shape{9, 16});
static_assert(of(t<4, 9, 16> | nn::tied_linear<"/e.weight", 10>) == shape{4, 9, 10});
// A head without stored logits: one label for each row. The operation takes one weight for each row, or one number.
static_assert(of(nn::linear_cross_entropy<"h", 10>(t<4, 9, 16>, to<4, 9>)) == shape{} &&
              of(nn::tied_linear_cross_entropy<"/e.weight", 10>(t<4, 16>, to<4>, t<10>, t<4>)) == shape{});
using head = lang::linear_cross_entropy_op<1>;
using head_loss = lang::linear_cross_entropy_loss_op<1>;
static_assert(head::result(shape{2, 4, 16}, shape{10, 16}, shape{2, 4}, shape{}, shape{2, 4}) ==
              std::array{shape{}, shape{2, 4, 16}, shape{10, 16}, shape{2, 4}, shape{2, 4}});
static_assert(head_loss::result(shape{4, 16}, shape{10, 16}, shape{4}, shape{4}, shape{}) ==
              std::array{shape{}, shape{4, 16}, shape{4}, shape{4}});
static_assert(lang::linear_cross_entropy_weight_op<1>::result(shape{4, 16}, shape{10, 16}, shape{4}, shape{4},
                                                              shape{}) == shape{10, 16});
static_assert(head_loss::result(shape{4, 16}, shape{16, 10}, shape{4}, shape{}, shape{})[0] == no_shape &&
              head_loss::result(shape{4, 16}, shape{10, 16}, shape{5}, shape{}, shape{})[0] == no_shape &&
              head_loss::result(shape{4, 16}, shape{10, 16}, shape{4}, shape{5}, shape{})[0] == no_shape &&
              head_loss::result(shape{4, 16}, shape{10, 16}, shape{4}, shape{}, shape{4, 1})[0] == no_shape &&
              head_loss::result(shape{4, 16}, shape{10, 2, 16}, shape{4}, shape{}, shape{})[0] == no_shape &&
              head_loss::result(shape{}, shape{10, 16}, shape{}, shape{}, shape{})[0] == no_shape);
static_assert(head::extent_indexed(2, shape{4, 16}, shape{10, 16}) == 10 && head::argument_kind(2) == kind::whole &&
              head::argument_kind(3) == kind::real);
static_assert(of(solve(t<3, 3>, t<3, 1>)) == shape{3, 1} &&
              of(solve(t<5, 2, 3, 3>, t<5, 2, 3, 4>)) == shape{5, 2, 3, 4});
static_assert(of(cholesky(t<1, 1>)) == shape{1, 1} && of(cholesky(t<5, 3, 3>)) == shape{5, 3, 3});
static_assert(of(nn::rotary(t<2, 9, 3, 4>)) == shape{2, 9, 3, 4} &&
              of(nn::rotary(t<9, 3, 4>, to<9>)) == shape{9, 3, 4});
static_assert(of(nn::rotary<500>(t<2, 9, 3, 4>, to<2, 9>)) == shape{2, 9, 3, 4} &&
              of(nn::rotary(t<1, 1, 3, 4>, to<1>)) == shape{1, 1, 3, 4});
static_assert(lang::rotated_op<false>::result(shape{2, 9, 3, 5}, shape{9, 5}) == no_shape);
static_assert(lang::rotated_op<false>::result(shape{2, 9, 3, 4}, shape{2, 1, 4}) == no_shape);
static_assert(lang::rotated_op<false>::result(shape{9, 4}, shape{9, 4}) == no_shape);
static_assert(lang::waves_op<4, 10.0, true>::result(shape{1, 1, 1, 1, 1, 1}) == no_shape);
static_assert(of(t<2, 5, 6> | nn::rnn<"n", 4>) == shape{2, 5, 4});
static_assert(of(t<2, 5, 6> | nn::lstm<"n", 4, nn::recurrent_options{.num_layers = 3}>) == shape{2, 5, 4});
static_assert(of(t<2, 5, 6> | nn::lstm<"n", 4, nn::recurrent_options{.bidirectional = true}>) == shape{2, 5, 8});
static_assert(std::apply(
    [](auto ys, auto... states) {
      return of(ys) == shape{2, 5, 4} && ((of(states) == shape{3, 2, 4}) && ...) && sizeof...(states) == 2;
    },
    nn::lstm<"n", 4, nn::recurrent_options{.num_layers = 3}>(t<2, 5, 6>, t<3, 2, 4>, t<3, 2, 4>)));
static_assert(of(std::get<1>(nn::gru<"n", 4>(t<2, 5, 6>, t<1, 2, 4>))) == shape{1, 2, 4});
static_assert(of(t<2, 6> | nn::rnn_cell<"n", 4>) == shape{2, 4});
static_assert(of(nn::gru_cell<"n", 4>(t<2, 6>, t<2, 4>)) == shape{2, 4});
static_assert(of(std::get<1>(nn::lstm_cell<"n", 4>(t<2, 6>))) == shape{2, 4});
static_assert(of(t<2, 5, 6, 3> | nn::flatten) == shape{2, 90} && of(t<2, 5, 3> | nn::flatten) == shape{2, 15});
static_assert(same(nn::flatten(t<5, 4>), t<5, 4>));
constexpr auto halved = nn::conv2d<"c", 4, 2, nn::window{.stride = 2}>;
static_assert(of(t<2, 5, 6, 3> | nn::residual(nn::conv2d<"c", 3, 3, nn::window{.padding = 1}>)) == shape{2, 5, 6, 3});
static_assert(of(t<2, 5, 6, 3> | nn::residual(halved, nn::avg_pool2d<2> | nn::conv2d<"s", 4, 1>)) == shape{2, 2, 3, 4});

// Tensors have at most six axes.
static_assert(max_rank == 6 && of(t<1, 2, 3, 4, 5, 6> + 1_c) == shape{1, 2, 3, 4, 5, 6});

// Computed extents are below 2^31, and numbers of elements are below 2^60.
constexpr auto long_axis = t<2'000'000'000, 1>;
static_assert(lang::concatenate_op<0>::result(tensor_type(of(long_axis)), tensor_type(of(long_axis))) == no_shape);
static_assert(lang::concatenate_op<0>::result(tensor_type(shape(2'000'000'000)), tensor_type(shape(147'483'647))) ==
              shape(2'147'483'647));
static_assert(breaks<misuse::zeros_around_axis>(formed<lang::pad_form<0, 147'483'647, 1>>(long_axis)));
static_assert(of(pad<0, 147'483'647, 0>(long_axis)) == shape(2'147'483'647, 1));
static_assert(breaks<misuse::factor_of_pixels>(formed<detail::upsample_form<60'000>>(t<1, 60'000, 1, 1>)));
static_assert(lang::inferred<shape(60'000, 60'000), -1>().extent[0] == 0);  // no tensor has an extent of 0
static_assert(!detail::can_be_shape<2'147'483'647, 2'147'483'647> && detail::can_be_shape<1 << 30, 1 << 30>);

}  // namespace
