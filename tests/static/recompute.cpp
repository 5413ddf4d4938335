// The values that a training step stores and recomputes, counted by hand from the gradient rules.
#include "cairn/nn/activation.hpp"
#include "cairn/nn/linear.hpp"
#include "cairn/nn/norm.hpp"
#include "cairn/op/loss.hpp"
#include "cairn/op/matmul.hpp"
#include "cairn/op/rotary.hpp"

#include <algorithm>

#include "plan.hpp"

using namespace cairn;
using namespace cairn::test;

namespace {

// The bytes of a tensor {8}, which is the shape of all values below unless another is stated.
constexpr std::int64_t row = 8 * sizeof(float);
constexpr auto x = input<"x", 8>;
// A value that a kernel computes, so that the value is stored and not recomputed. Neither its own gradient rule nor the
// rule of sum reads a value.
constexpr auto h = reshape<8>(transpose(reshape<4, 2>(param<"w", 8>)));

// ---- One segment. The gradient rule of gelu reads v. The gradient rule of softmax reads the result of softmax.
constexpr auto f = [](auto v) { return softmax(gelu(v)); };
constexpr auto t = ckpt<"s">(f, h);

using plainly = step_of<sum(f(h))>;  // without ckpt
static_assert(stored<plainly> == 2 * row && reads<plainly>("transpose") && reads<plainly>("softmax"));
static_assert(runs_of<plainly>("gelu") == runs{1, 0} && runs_of<plainly>("softmax") == runs{1, 0});
static_assert(detail::segments_in<plainly>.empty() && detail::flops_in<plainly>.recomputed == 0);
static_assert(stored<step_of<sum(t), plain>> == 2 * row && detail::segments_in<step_of<sum(t), plain>>.empty());

using once = step_of<sum(t)>;  // the boundary is stored, the interior is recomputed
static_assert(stored<once> == row && reads<once>("transpose") && !reads<once>("softmax"));
static_assert(segment<once>("s").boundary_bytes == row && segment<once>("s").interior_bytes == row);
static_assert(recomputed<once>("s") == 2 && segment<once>("s").recomputed_flops == 8 + 5 * 8);
using at_half = step_of<sum(ckpt<"s", boundaries<bf16>>(f, h))>;
static_assert(stored<at_half> == row / 2 && segment<at_half>("s").boundary_bytes == row / 2);
static_assert(runs_of<once>("gelu") == runs{1, 1} && runs_of<once>("softmax") == runs{1, 1});
// The forward pass has gelu, softmax (which counts as five operations) and sum. The backward pass has mul, sum, sub and
// mul of softmax, gelu_slope, and mul of gelu. transpose and expand only move elements.
static_assert(detail::flops_in<once>.forward == 7 * 8 && detail::flops_in<once>.backward == 6 * 8);
static_assert(detail::flops_in<once>.recomputed == 6 * 8 && detail::flops_in<once>.total() == 19 * 8);
static_assert(stored<step_of<sum(t), real<double>>> == 2 * row);

// A result that is stored for another reason is not recomputed. The operations that lead to it are not recomputed
// either.
using squared = step_of<sum(square(t))>;  // square reads its argument
static_assert(stored<squared> == 2 * row && recomputed<squared>("s") == 0);
static_assert(segment<squared>("s").interior_bytes == 0);
using given_out = step_of<outputs(sum(t), t)>;
static_assert(stored<given_out> == row && recomputed<given_out>("s") == 0);  // results are not counted as stored
constexpr auto folded = ckpt<"s">([](auto v) { return reshape<2, 4>(relu(v)); }, h);
// relu is stored, because square reads it through the view. h is never read.
static_assert(stored<step_of<sum(square(folded))>> == row);
static_assert(recomputed<step_of<sum(square(folded))>>("s") == 0);
static_assert(recomputed<step_of<sum(folded)>>("s") == 1 && stored<step_of<sum(folded)>> == row);

// A boundary from which the backward pass recomputes an interior is stored anyway. A value that a fused loop computes
// from this boundary is not stored in addition.
constexpr auto bent = ckpt<"s">([](auto v) { return softmax(tanh(v)); }, h);  // tanh and softmax are recomputed from h
using made_of_boundary = step_of<sum(bent) + sum(square(exp(h)))>;
static_assert(stored<made_of_boundary> == row && runs_of<made_of_boundary>("exp") == runs{1, 1});
using made_of_other = step_of<sum(square(folded)) + sum(square(exp(h)))>;  // no interior is recomputed from h
static_assert(stored<made_of_other> == 2 * row && runs_of<made_of_other>("exp") == runs{1, 0});

// In a chain of segments, only the last segment recomputes its last operation. The results of the other segments are
// boundaries.
constexpr auto second = ckpt<"b">(f, ckpt<"a">(f, h));
static_assert(stored<step_of<sum(second)>> == 2 * row);
static_assert(recomputed<step_of<sum(second)>>("a") == 0 && recomputed<step_of<sum(second)>>("b") == 2);

// Values that the backward pass does not read are not recomputed. This may be the last operation of a segment, or all
// operations if only arguments are read.
using trailing = step_of<ckpt<"s">([](auto v) { return sum(relu(v)); }, h)>;
static_assert(recomputed<trailing>("s") == 1 && runs_of<trailing>("sum") == runs{1, 0} && stored<trailing> == row);
using arguments_only = step_of<sum(ckpt<"s">(nn::gelu, h))>;
static_assert(recomputed<arguments_only>("s") == 0 && stored<arguments_only> == row);
static_assert(runs_of<arguments_only>("gelu") == runs{1, 0});
using linear_only = step_of<sum(ckpt<"s">(nn::linear<"l", 3>)(reshape<1, 8>(h)))>;
static_assert(recomputed<linear_only>("s") == 0 && runs_of<linear_only>("matmul") == runs{1, 2});

// A boundary that the backward pass does not read is not stored either. Constants are never stored.
using scaled = step_of<sum(ckpt<"s">([](auto v) { return v * 2_c - 1_c; }, h))>;
static_assert(stored<scaled> == 0 && recomputed<scaled>("s") == 0 && segment<scaled>("s").boundary_bytes == row);
using by_constant = step_of<sum(ckpt<"s">([](auto v) { return v * exp(0.5_c); }, h))>;
static_assert(stored<by_constant> == 0 && recomputed<by_constant>("s") == 1);
static_assert(stored<step_of<sum(exp(0.5_c) * h)>> == 0);

// A value that is both an output and a boundary is stored once, as a result, and read from there.
using shown = step_of<outputs(sum(t), h)>;
static_assert(stored<shown> == 0 && recomputed<shown>("s") == 2 &&
              runs_of<shown>("transpose") == runs{1, 1});  // one computes h, the other the gradient of w
static_assert(reads<shown>("transpose") && shown::addresses.copy_count == 0);

// ---- Parameters.
// A parameter that is used inside and outside a segment has one gradient, the sum of both.
constexpr auto of_w = [](auto v) { return relu(v) * param<"w", 8>; };
using shared = step_of<sum(ckpt<"s">(of_w, param<"w", 8> + x))>;
static_assert(shared::graph.leaf_count == 2 && recomputed<shared>("s") == 1 && stored<shared> == row);
static_assert(gradient_of<shared>("w") ==
              "add(mul(expand(reshape(constant)), relu(add(w, x))), "
              "mul(mul(expand(reshape(constant)), w), "
              "step(relu(add(w, x)))))");
// Parameters get their gradient even if no argument of the segment needs one, and even if the segment has no argument.
using no_gradient_in = step_of<sum(ckpt<"s">([](auto v) { return relu(v * param<"p", 8>); }, x))>;
static_assert(gradient_of<no_gradient_in>("p") == "mul(mul(expand(reshape(constant)), step(relu(mul(x, p)))), x)");
static_assert(stored<no_gradient_in> == 0 && segment<no_gradient_in>("s").boundary_bytes == 0);
static_assert(recomputed<no_gradient_in>("s") == 2);
using chosen_without = step_of<sum(ckpt<"s">([](auto v) { return softmax(v * param<"p", 8>); }, x))>;
static_assert(stored<chosen_without> == 0 && std::same_as<detail::problem_in<chosen_without>, lang::sound>);
using parameters_only = step_of<sum(ckpt<"s">([] { return relu(square(param<"p", 8>)); }))>;
static_assert(stored<parameters_only> == 0 && recomputed<parameters_only>("s") == 2);

// ---- Nested segments. exp runs in the forward pass, for the outer segment, and for the inner segment.
constexpr auto inner = [](auto v) { return relu(exp(v)); };
constexpr auto outer = [](auto v) { return square(ckpt<"inner">(inner, sqrt(v))); };
using nested = step_of<sum(ckpt<"outer">(outer, h))>;
static_assert(stored<nested> == row && runs_of<nested>("exp") == runs{1, 2});
static_assert(recomputed<nested>("outer") == 3);  // sqrt, exp, relu; square reads the result of the inner segment
static_assert(recomputed<nested>("inner") == 1);  // exp; sqrt and relu are available from the outer segment
static_assert(runs_of<nested>("sqrt") == runs{1, 1} && runs_of<nested>("relu") == runs{1, 1});
static_assert(segment<nested>("outer").boundary_bytes == row && segment<nested>("inner").boundary_bytes == row);
static_assert(segment<nested>("inner").interior_bytes == row);      // exp
static_assert(segment<nested>("outer").interior_bytes == 2 * row);  // sqrt for the inner segment, relu for square
// A segment that contains only another segment costs nothing more.
using twofold = step_of<sum(ckpt<"a">(ckpt<"b">(inner))(h))>;
static_assert(stored<twofold> == row && recomputed<twofold>("a") == 0 && recomputed<twofold>("b") == 2);
// Three nested segments. Segment a recomputes all four operations for sqrt, and keeps relu for b. Segment c recomputes
// exp and sqrt once more.
constexpr auto c = [](auto v) { return sqrt(exp(v)); };
constexpr auto b = [](auto v) { return relu(ckpt<"c">(c, v)); };
constexpr auto a = [](auto v) { return sqrt(ckpt<"b">(b, v)); };
using threefold = step_of<sum(ckpt<"a">(a, h))>;
static_assert(stored<threefold> == row && recomputed<threefold>("a") == 4);
static_assert(recomputed<threefold>("b") == 0 && recomputed<threefold>("c") == 2);

// ---- Forms of graphs.
// A residual connection around a segment. exp reads its result, and h is stored once.
using skip = step_of<sum(exp(h - t))>;
static_assert(stored<skip> == 2 * row && reads<skip>("transpose") && reads<skip>("exp"));
static_assert(recomputed<skip>("s") == 2);
using residual = step_of<sum(ckpt<"s">(nn::residual(layer(f)))(h))>;
// The sum is not recomputed, because it is never read.
static_assert(stored<residual> == row && recomputed<residual>("s") == 2);

// Several results of a segment. Only the results that are needed elsewhere are stored. All other results are recomputed
// where they are read.
constexpr auto two = [](auto v) { return std::tuple{relu(v), exp(v)}; };
constexpr auto product_of_two = [] {
  auto [l, r] = ckpt<"s">(two, h);
  return sum(l * r);  // reads both
}();
static_assert(stored<step_of<product_of_two>> == 2 * row && recomputed<step_of<product_of_two>>("s") == 0);
constexpr auto one_of_two = [] {
  auto [l, r] = ckpt<"s">(two, h);
  return sum(square(l) + r);  // square reads l; exp is recomputed from h
}();
static_assert(stored<step_of<one_of_two>> == 2 * row && recomputed<step_of<one_of_two>>("s") == 1);
static_assert(runs_of<step_of<one_of_two>>("relu") == runs{1, 0});
static_assert(runs_of<step_of<one_of_two>>("exp") == runs{1, 1});
// An unused result is never computed.
constexpr auto first_only = sum(std::get<0>(ckpt<"s">([](auto v) { return std::tuple{relu(v), exp(gelu(v))}; }, h)));
static_assert(runs_of<step_of<first_only>>("exp") == runs{} && runs_of<step_of<first_only>>("gelu") == runs{});
static_assert(recomputed<step_of<first_only>>("s") == 1);

// Several arguments. The product reads each factor for the gradient of the other factor. k needs no gradient, so h is
// not read.
constexpr auto k = x - 1_c;
constexpr auto product = [](auto l, auto r) { return l * r; };
using masked = step_of<sum(ckpt<"s">(product, h, k))>;
static_assert(segment<masked>("s").boundary_bytes == 2 * row && stored<masked> == row && reads<masked>("sub"));
static_assert(!reads<masked>("transpose") && recomputed<masked>("s") == 0);

// ---- Values that need no gradient are neither stored nor recomputed. Both segments end in a value that the backward
// pass reads.
constexpr auto lower = [](auto v) { return relu(sqrt(v * param<"lower", 8>)); };
constexpr auto upper = [](auto v) { return exp(v * param<"upper", 8>); };
constexpr auto stack = sum(ckpt<"2">(upper, ckpt<"1">(lower, x)));
using trained = step_of<stack>;
// The result of segment 1 is stored. It is the boundary of segment 2.
static_assert(stored<trained> == row && reads<trained>("relu"));
static_assert(recomputed<trained>("1") == 2 && recomputed<trained>("2") == 2);  // mul, sqrt; mul, exp
using upper_only = step_of<stack, freeze<"lower">>;
static_assert(stored<upper_only> == row && recomputed<upper_only>("1") == 0 && recomputed<upper_only>("2") == 2);
static_assert(trained::gradient.reached[1] && !upper_only::gradient.reached[1]);  // segment 1 comes first
using lower_only = step_of<stack, freeze<"upper">>;
static_assert(stored<lower_only> == row && recomputed<lower_only>("1") == 2 && recomputed<lower_only>("2") == 2);
static_assert(runs_of<trained>("mul").backward == runs_of<lower_only>("mul").backward + 1);  // the gradient of upper
using frozen_leaf = step_of<sum(ckpt<"s">([](auto v) { return relu(v * frozen<"p", 8>); }, h))>;
static_assert(recomputed<frozen_leaf>("s") == 2 && stored<frozen_leaf> == row);

// detach outside of segments cuts the gradient. A parameter before it gets only the gradient that reaches it on another
// way.
constexpr auto cut = [](auto v) { return relu(v * param<"p", 8>); };
using detached = step_of<sum(ckpt<"s">(cut, detach(exp(h))) - param<"w", 8>)>;
static_assert(stored<detached> == row && reads<detached>("exp") && recomputed<detached>("s") == 2);
static_assert(gradient_of<detached>("w") == "neg(expand(reshape(constant)))");

// ---- Outside of segments, a value is recomputed and not stored if a chain of at most 16 elementwise operations
// computes it from values with fewer bytes. Leaves cost nothing. Outputs and values that the backward pass reads anyway
// cost nothing either.
constexpr auto of_leaves = [](auto v) { return relu(gelu(v)); };
using nothing_kept = step_of<sum(of_leaves(param<"w", 8> + x))>;
static_assert(stored<nothing_kept> == 0 && runs_of<nothing_kept>("add") == runs{1, 1});
static_assert(runs_of<nothing_kept>("gelu") == runs{1, 1} && runs_of<nothing_kept>("relu") == runs{1, 1});
static_assert(nothing_kept::schedule.recomputed[0].operations == 3);
static_assert(std::count_if(nothing_kept::schedule.recomputes,
                            nothing_kept::schedule.recomputes + nothing_kept::schedule.node_count,
                            [](int v) { return v != graphs::none; }) == 3);
static_assert(detail::flops_in<nothing_kept>.forward == 4 * 8 && detail::flops_in<nothing_kept>.backward == 4 * 8);
static_assert(detail::flops_in<nothing_kept>.recomputed == 3 * 8);
static_assert(stored<step_of<sum(relu(exp(0.5_c) + param<"w", 8>))>> == 0);
// The slope of tanh reads the argument. If a kernel of the backward pass reads the result, tanh is recomputed for it.
using argument_kept = step_of<sum(input<"m", 2, 4> | nn::linear<"a", 4> | nn::tanh | nn::linear<"b", 4>)>;
static_assert(stored<argument_kept> == row && reads<argument_kept>("add") && !reads<argument_kept>("tanh"));
static_assert(runs_of<argument_kept>("tanh") == runs{1, 1});
// An argument of a segment is stored, and so is the result of a segment. An output stays anyway.
using kept_for_a_segment = step_of<sum(ckpt<"s">(f, relu(param<"w", 8> + x)))>;
static_assert(stored<kept_for_a_segment> == row && kept_for_a_segment::schedule.recomputed[0].operations == 0);
using kept_of_a_segment = step_of<sum(square(ckpt<"s">(nn::gelu, h)))>;
static_assert(stored<kept_of_a_segment> == 2 * row && kept_of_a_segment::schedule.recomputed[0].operations == 0);
constexpr auto shown_root = sqrt(param<"w", 8> + x);
using kept_as_output = step_of<outputs(sum(relu(exp(shown_root))), reshape<2, 4>(shown_root))>;
static_assert(stored<kept_as_output> == 0 && runs_of<kept_as_output>("sqrt") == runs{1, 0});
static_assert(kept_as_output::schedule.recomputed[0].operations == 2);          // exp, relu
constexpr auto product_of_leaves = matmul(input<"a", 2, 3>, param<"p", 3, 4>);  // as large as a row
static_assert(stored<step_of<outputs(sum(relu(product_of_leaves)), product_of_leaves)>> == 0);
// A product is stored if a gradient rule reads it. Without gelu, relu is stored, and the values behind relu are
// recomputed from relu.
using of_a_product = step_of<sum(relu(sqrt(gelu(product_of_leaves))))>;
static_assert(stored<of_a_product> == row && reads<of_a_product>("matmul"));
static_assert(of_a_product::schedule.recomputed[0].operations == 3);
using of_what_is_not_kept = step_of<sum(exp(relu(product_of_leaves + input<"b", 4>)))>;
static_assert(stored<of_what_is_not_kept> == row && reads<of_what_is_not_kept>("relu"));
static_assert(of_what_is_not_kept::schedule.recomputed[0].operations == 1);  // exp
// If two values or a larger value can be recomputed from a product, they are not stored. Instead the product is stored,
// although nothing else reads it, or a value is stored that is computed from the product and is no larger.
using two_of_a_product = step_of<sum(exp(product_of_leaves)) + sum(relu(-product_of_leaves))>;
static_assert(stored<two_of_a_product> == row && reads<two_of_a_product>("matmul"));
constexpr auto larger = exp(reshape<8, 1>(-product_of_leaves) + param<"bias", 3>);
static_assert(stored<step_of<sum(larger)>> == row && reads<step_of<sum(larger)>>("neg"));
static_assert(stored<step_of<sum(softmax(product_of_leaves)) + sum(relu(product_of_leaves))>> == 2 * row);
// If storing the product would spare only one value, and this value is no larger than the product, the value itself is
// stored, and nothing is recomputed. This is the case if two ways lead from the product to the value. It is also the
// case if the other value is an output or an argument of a segment.
template <auto Loss, auto... Shown>
constexpr int made_again = step_of<outputs(Loss, Shown...)>::schedule.recomputed[0].operations;
constexpr auto rotated = product_of_leaves * input<"c", 4> + (-product_of_leaves) * input<"s", 4>;
static_assert(made_again<sum(relu(rotated))> == 0 && stored<step_of<sum(relu(rotated))>> == row);
constexpr auto shown_exp = exp(product_of_leaves);
static_assert(made_again<sum(relu(product_of_leaves)) + sum(shown_exp), reshape<4, 2>(shown_exp)> == 0);
static_assert(made_again<sum(relu(product_of_leaves)) + sum(ckpt<"s">(f, exp(product_of_leaves)))> == 0);
// A value inside a segment that is read only by the segment's own backward pass is not stored.
constexpr auto scores = [](auto v) { return softmax(v | nn::linear<"s", 4>); };
constexpr auto of_segments = [] {
  return sum(relu(ckpt<"l">(scores, product_of_leaves) + ckpt<"r">(block<"r">(layer(scores)), product_of_leaves)));
}();
static_assert(stored<step_of<of_segments>> == 2 * row && reads<step_of<of_segments>>("relu"));
static_assert(recomputed<step_of<of_segments>>("l") == 3 && recomputed<step_of<of_segments>>("r") == 3);

// A segment frees only the values that a block would store. Here this is relu. In addition to its boundary, the segment
// costs a result that a block would recompute. Here this is exp.
constexpr auto exp_of_relu = [](auto v) { return reshape<2, 4>(exp(relu(v))); };
constexpr auto wasted = sum(square(ckpt<"s">(exp_of_relu, h)));
static_assert(stored<step_of<wasted>> == 2 * row && stored<step_of<wasted, plain>> == row);
static_assert(step_of<wasted>::costs.interior_bytes[1] == row);
static_assert(step_of<wasted>::costs.extra_bytes[1] == 2 * row);

// A value that is computed outside from the result of a segment, and has no more bytes, is stored in place of this
// result. Thus no more is stored than without the segment, except the boundary.
using of_a_result = step_of<sum(sqrt(ckpt<"s">(exp_of_relu, h)))>;
static_assert(stored<of_a_result> == 2 * row && reads<of_a_result>("sqrt"));
constexpr auto small_in_large = [] {
  const auto temperature = ckpt<"s", allow_useless>([] { return relu(sum(param<"p", 8>)); });
  return sum(square(relu(softmax(h) + temperature)));
}();
static_assert(stored<step_of<small_in_large>> == stored<step_of<small_in_large, plain>>);
static_assert(stored<step_of<small_in_large>> == row + sizeof(float));
// This is not done if it would store more bytes than the computed value has.
template <fixed_string Name, int... N>
constexpr auto probabilities = ckpt<Name, allow_useless>([] { return softmax(param<Name, N...>); });
constexpr auto matrix = param<"m", 2, 4>;
static_assert(stored<step_of<sum(relu(matrix + probabilities<"a", 4> + probabilities<"b", 4>))>> == row);
static_assert(
    stored<step_of<sum(relu(matrix + probabilities<"a", 4> + probabilities<"b", 4> + probabilities<"c", 4>))>> == row);
static_assert(stored<step_of<sum(relu(probabilities<"m", 2, 4> + probabilities<"b", 4>))>> == row);

// In a chain in which every value is read, one of seventeen values is stored.
template <int Length>
using chain_of = step_of<sum(param<"w", 8> | repeat<Length, "r">([](auto) { return nn::relu; }))>;
static_assert(stored<chain_of<16>> == 0 && chain_of<16>::schedule.recomputed[0].operations == 16);
static_assert(stored<chain_of<17>> == row && chain_of<17>::schedule.recomputed[0].operations == 16);
static_assert(stored<chain_of<33>> == row && chain_of<33>::schedule.recomputed[0].operations == 32);
static_assert(stored<chain_of<34>> == 2 * row);

// A value may be recomputed from any number of leaves and of values that the backward pass reads anyway. softmax reads
// its own result.
template <fixed_string Name, int... Extents>
constexpr auto chosen = softmax(param<Name, Extents...>);
template <fixed_string Name>
constexpr auto leaf = param<Name, 2, 4>;
constexpr auto two_chosen = chosen<"1", 2, 4> + chosen<"2", 2, 4>;
static_assert(stored<step_of<sum(relu(chosen<"1", 2, 4> + leaf<"3">))>> == row);
static_assert(stored<step_of<sum(relu(chosen<"1", 2, 4> + leaf<"3"> + chosen<"4", 4>))>> == row + row / 2);
static_assert(stored<step_of<sum(relu(chosen<"1", 2, 4> + leaf<"3"> + leaf<"4">))>> == row);
static_assert(stored<step_of<sum(relu(leaf<"3"> + leaf<"4">))>> == 0);
static_assert(stored<step_of<sum(relu(two_chosen))>> == 2 * row);
// Values that nothing else reads can be shared by several recomputed values. For three sums, the two products are
// stored. For two sums, the values of relu are stored.
template <fixed_string Name>
constexpr auto made_of = matmul(input<"a", 2, 3>, param<Name, 3, 4>);
constexpr auto sums = [](auto a, auto b) { return sum(relu(a + b)) + sum(relu(a - b)); };
constexpr auto two_sums = sums(made_of<"1">, made_of<"2">);
static_assert(made_again<two_sums> == 0 && stored<step_of<two_sums>> == 2 * row && reads<step_of<two_sums>>("relu"));
constexpr auto three_sums = two_sums + sum(relu(made_of<"2"> - made_of<"1">));
static_assert(stored<step_of<three_sums>> == 2 * row && reads<step_of<three_sums>>("matmul"));

// Recomputation also happens if a kernel reads the value. The value is then written to memory for the kernel. The
// product with the weights reads its argument.
constexpr auto times_weights = nn::linear_without_bias<"w", 4>;
using between_products = step_of<sum(gelu(product_of_leaves) | times_weights)>;
static_assert(stored<between_products> == row && runs_of<between_products>("gelu") == runs{1, 1});
static_assert(between_products::schedule.recomputed[0].operations == 1);
static_assert(detail::flops_in<between_products>.recomputed == 8);
// silu is computed from one value, although it reads this value twice.
constexpr auto silu = layer([](auto v) { return v * sqrt(v); });
static_assert(stored<step_of<sum(product_of_leaves | silu | times_weights)>> == row);
using two_between = step_of<sum(relu(two_chosen) | times_weights)>;
static_assert(stored<two_between> == 2 * row && two_between::schedule.recomputed[0].operations == 2);
using two_in_a_view = step_of<sum(reshape<4, 2>(relu(two_chosen)) | times_weights)>;
static_assert(stored<two_in_a_view> == 2 * row && two_in_a_view::schedule.recomputed[0].operations == 2);
// A recomputed value that is written to memory lives until its last reader. A value that is computed from it is stored,
// and not recomputed. There is an exception: if the written value is read for the gradient of the same body, the second
// value is recomputed, because the first is written in any case.
constexpr auto activated = gelu(product_of_leaves);
template <auto Value>
constexpr auto product_with = matmul(Value, param<"b", 4, 4>);
using read_far = step_of<sum(matmul(activated, param<"c", 4, 4>)) + sum(product_with<exp(activated)>)>;
static_assert(stored<read_far> == 2 * row && runs_of<read_far>("exp") == runs{1, 0});
using read_near = step_of<sum(product_with<(activated | nn::layer_norm<"ln">)>)>;
static_assert(stored<read_near> == 3 * row / 2 && runs_of<read_near>("normalized") == runs{1, 1});

// Views of a recomputed value are views of the recomputed memory. They are not counted as operations. square reads exp
// through a view.
constexpr auto eight = repeat<8, "r">([](auto) { return nn::relu; });
static_assert(stored<step_of<sum(reshape<2, 4>(param<"w", 8> | eight) | eight)>> == 0);
using viewed = step_of<sum(square(reshape<2, 4>(exp(param<"w", 8> + x))))>;
static_assert(stored<viewed> == 0 && runs_of<viewed>("exp") == runs{1, 1});
static_assert(viewed::schedule.recomputed[0].operations == 2);  // add, exp
using of_a_view = step_of<sum(gelu(product_of_leaves)) + sum(relu(reshape<8>(product_of_leaves)))>;
static_assert(stored<of_a_view> == row && of_a_view::schedule.recomputed[0].operations == 1);

// The result of a segment is stored if the backward pass reads several values that are computed from it. Here it
// replaces relu, sqrt and their product, which square reads. Without the segment, all values are recomputed from the
// input.
constexpr auto halves = ckpt<"s">([](auto v) { return v * v * constant<0.5>; }, x);
constexpr auto squashed = relu(halves) * sqrt(halves);
static_assert(stored<step_of<sum(square(squashed)), wrt<"x">>> == row);
static_assert(stored<step_of<sum(square(squashed)), wrt<"x">, plain>> == 0);
// If one value reads the result twice, it counts as one value. Recomputing it would gain nothing.
using doubled = step_of<sum(square(halves + halves)), wrt<"x">>;
static_assert(stored<doubled> == row && doubled::schedule.recomputed[0].operations == 0);

// ---- A value that is computed only from parameters and constants is computed once in a training step, even if several
// bodies need it. This is the case for parameters with an absolute name and for shared layers. The value belongs to the
// innermost body around all places that need it.
constexpr auto weighed = layer([](auto v) { return relu(v * softmax(exp(param<"/p", 8> * 2_c))); });
template <auto Layer>
using four = step_of<sum(x | repeat<4, "r">([](auto) { return Layer; }))>;
static_assert(runs_of<four<weighed>>("softmax").forward == 1 && runs_of<four<weighed>>("exp").forward == 1);
static_assert(runs_of<four<ckpt<"s">(weighed)>>("softmax") == runs{1, 0});
static_assert(runs_of<four<ckpt<"s">(weighed)>>("exp").forward == 1);
constexpr auto weighed_apart = layer([](auto v) { return relu(v * softmax(exp(param<"p", 8> * 2_c))); });
static_assert(runs_of<four<weighed_apart>>("softmax").forward == 4);
using with_norm = step_of<[] {
  constexpr auto normed = layer([](auto v) {
    const auto w = param<"w", 8, 8>;
    return relu(matmul(v, w / sqrt(sum<0>(square(w), keepdim))));
  });
  return sum(reshape<1, 8>(x) | ckpt<"1">(normed) | ckpt<"2">(cairn::shared(normed)) |
             ckpt<"3">(cairn::shared(normed)));
}()>;
static_assert(runs_of<with_norm>("sqrt").forward == 1 && runs_of<with_norm>("matmul").forward == 3);
// If two bodies share the value, it belongs to the block around these two bodies, and not to the program. Here the
// block is the outer segment.
constexpr auto twice_in = layer([](auto v) { return v | ckpt<"a">(weighed) | ckpt<"b">(weighed); });
using in_a_segment = step_of<sum(x | ckpt<"outer">(twice_in) | nn::relu)>;
static_assert(runs_of<in_a_segment>("softmax") == runs{1, 1} && recomputed<in_a_segment>("outer") > 0);
// A value that is the purpose of a segment stays in the segment. A policy of a segment finds values that the segment
// shares with others.
constexpr auto in_segment = layer([](auto v) {
  return relu(v * ckpt<"norm", allow_useless>([](auto p) { return softmax(exp(p)); }, param<"/p", 8>));
});
// Three results are read outside of the segments and are stored.
static_assert(runs_of<four<in_segment>>("softmax") == runs{4, 1});
constexpr auto low_rank = layer([](auto v) { return relu(v * sum<0>(matmul(param<"/u", 8, 4>, param<"/v", 4, 8>))); });
static_assert(runs_of<four<ckpt<"s", save_matmuls, allow_useless>(low_rank)>>("matmul").forward == 1);
// Values that kernels compute from constants are stored like all values that kernels compute.
constexpr auto distances = generated<8, 8>([](int i, int j) { return i - j; });
using by_constants = step_of<sum(x | ckpt<"s", allow_useless>(layer([](auto v) {
                                   return relu(v * sum<0>(softmax(matmul(distances, distances))));
                                 })))>;
static_assert(runs_of<by_constants>("softmax").forward == 1);
using plain_by_constants = step_of<sum(square(x* sum<0>(softmax(matmul(distances, distances))))), wrt<"x">>;
static_assert(runs_of<plain_by_constants>("softmax") == runs{1, 0});

// ---- A deep model. In each block, the backward pass reads h for the first product, a = h W + b for gelu, and g =
// gelu(a) for the second product.
constexpr auto feed_forward = nn::linear<"fc1", 16> | nn::gelu | nn::linear<"fc2", 8>;
constexpr auto logits = input<"images", 4, 6> | nn::linear<"embed", 8> |
                        repeat<3, "block">([](auto) { return ckpt<"ff">(nn::residual(feed_forward)); }) |
                        nn::linear<"head", 10>;
constexpr auto deep_loss = cross_entropy(logits, labels<"classes", 10, 4>);
constexpr std::int64_t boundaries = 4 * (4 * 8 * 4) + 4 * 10 * 4;  // h0 to h3 (the head reads h3), and the logits
constexpr std::int64_t interior = 4 * 16 * 4;                      // a; g is recomputed in any case
using deep = step_of<deep_loss>;
using deep_plain = step_of<deep_loss, plain>;
static_assert(stored<deep> == boundaries && stored<deep_plain> == boundaries + 3 * interior);
static_assert(runs_of<deep_plain>("gelu") == runs{3, 3} && runs_of<deep_plain>("matmul") == runs{8, 15});
static_assert(segment<deep>("block.1.ff").boundary_bytes == 4 * 8 * 4);
static_assert(segment<deep>("block.1.ff").interior_bytes == interior);
static_assert(recomputed<deep>("block.0.ff") == 3 && recomputed<deep>("block.2.ff") == 3);  // product, bias, gelu
static_assert(segment<deep>("block.2.ff").recomputed_flops == 2 * 4 * 8 * 16 + 4 * 16 + 4 * 16);
// The forward pass has 1 + 3 * 2 + 1 products. The backward pass has two for each of them, except one for embed,
// because its input needs no gradient. 3 products are recomputed.
static_assert(runs_of<deep>("matmul") == runs{8, 15 + 3} && runs_of<deep>("gelu") == runs{3, 3});
// If the first two blocks and the embedding before them are frozen, only the last block is recomputed.
using head_only = step_of<deep_loss, freeze<"embed", "block.0", "block.1">>;
static_assert(recomputed<head_only>("block.1.ff") == 0 && recomputed<head_only>("block.2.ff") == 3);
static_assert(stored<head_only> == 2 * (4 * 8 * 4) + 4 * 10 * 4);  // h2, h3 and the logits

// The waves of rotary embeddings depend only on positions. They are computed once for all blocks, whatever segments
// there are.
constexpr auto turned = layer([](auto h) { return h * nn::rotary(h) + nn::rotary(h | nn::linear<"q", 4>); });
constexpr auto turned_thrice =
    sum(input<"h", 2, 5, 3, 4> | repeat<3, "b">([](auto) { return ckpt<"s">(nn::residual(turned)); }));
using turning = step_of<turned_thrice>;
static_assert(runs_of<turning>("waves") == runs{1, 0} && runs_of<turning>("rotary").forward == 6);

}  // namespace
