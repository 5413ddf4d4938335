// Random operations: their gradients, their keys, and what they cost.
#include "cairn/lang/gradient.hpp"
#include "cairn/lang/state.hpp"
#include "cairn/nn/activation.hpp"
#include "cairn/nn/dropout.hpp"
#include "cairn/op/matmul.hpp"
#include "cairn/op/random_numbers.hpp"

#include "../overlap.hpp"

using namespace cairn;
using namespace cairn::test;

namespace {

// The bytes of a tensor {8}, which is the shape of all values below unless another is stated.
constexpr std::int64_t row = 8 * sizeof(float);
constexpr auto x = input<"x", 8>;
// A computed value. Neither its own gradient rule nor the rule of sum reads a value.
constexpr auto h = param<"w", 8> + x;

constexpr bool same(auto a, auto b) { return std::same_as<decltype(a), decltype(b)>; }
static_assert(decltype(dropout<"d">(input<"x", 2, 3>))::shape == shape{2, 3});
static_assert(same(dropout<"d">(x), dropout<"d", 0.5>(x)) && same(dropout<"d", 0.5F>(x), dropout<"d", 0.5>(x)));
static_assert(same(nn::dropout<"d", 0.1>(x), dropout<"d", 0.1>(x)) && !same(dropout<"e">(x), dropout<"d">(x)));
static_assert(same(nn::dropout<"d", 0>, nn::dropout<"d", 0.0>) && an_expression<decltype(dropout<"d", 0>(x))>);

// The backward pass drops the same elements of the gradient. It draws them from the same key and reads nothing else.
using simple = step_of<sum(dropout<"d">(h))>;
static_assert(gradient_of<simple>("w") == "dropout(expand(reshape(constant)), d)");
static_assert(runs_of<simple>("dropout") == runs{1, 1} && stored<simple> == 0);
static_assert(simple::graph.leaf_count == 3 && simple::graph.find(graphs::role::random, "d") != graphs::none);
static_assert(simple::graph.find(graphs::role::input, "d") == graphs::none &&
              simple::graph.find(graphs::role::parameter, "d") == graphs::none);
static_assert(detail::memory_in<simple>.parameter_bytes == 64 && detail::memory_in<simple>.gradient_bytes == 64);
// The dropout runs in place. There are 32 numbers and the loss, and the backward pass needs only the memory of the
// gradient.
static_assert(peak<step_of<sum(dropout<"d">(param<"w", 32> + input<"x", 32>))>> == 128 + 64);

// The gradient of dropout reads neither the mask nor the argument. A training step with dropout stores the same bytes
// as without dropout.
constexpr auto network = [](auto v) { return softmax(softmax(v)); };
constexpr auto dropping = [](auto v) { return dropout<"b", 0.2>(softmax(dropout<"a", 0.1>(softmax(v)))); };
static_assert(stored<step_of<sum(network(h))>> == 2 * row && stored<step_of<sum(dropping(h))>> == 2 * row);

// In a segment, the masks that the backward pass reads are drawn again. The last dropout of the segment is not
// recomputed, and a key is not part of the boundary.
using segmented = step_of<sum(ckpt<"s">(dropping, h))>;
static_assert(stored<segmented> == row && segment<segmented>("s").boundary_bytes == row);
static_assert(segment<segmented>("s").interior_bytes == 2 * row);
// The last dropout is not recomputed.
static_assert(recomputed<segmented>("s") == 3 && runs_of<segmented>("dropout") == runs{2, 3});
using trailing = step_of<sum(ckpt<"s">([](auto v) { return dropout<"d">(v); }, h))>;
static_assert(recomputed<trailing>("s") == 0 && stored<trailing> == 0 && runs_of<trailing>("dropout") == runs{1, 1});
using of_parameters = step_of<sum(ckpt<"s">([] { return exp(dropout<"d">(param<"p", 8>)); }))>;
static_assert(stored<of_parameters> == 0 && recomputed<of_parameters>("s") == 2);

// A gradient that is a value of the model draws the same masks as its operation. It does not count as a second
// operation with the same key.
constexpr auto sloped = sum(square(dropout<"d">(h)));
static_assert(detail::checked<sloped + sum(square(grad(sloped, h)))>());

// The name of a key gets the prefixes of blocks, as the name of a parameter does.
template <class Step>
constexpr bool has_key(std::string_view name) {
  return Step::graph.find(graphs::role::random, name) != graphs::none;
}
constexpr auto deep =
    sum(h | block<"top">(repeat<3, "block">([](auto) { return ckpt<"s">(layer(dropping)); }) | nn::dropout<"/all">));
static_assert(has_key<step_of<deep>>("top.block.0.a") && has_key<step_of<deep>>("top.block.2.b"));
static_assert(has_key<step_of<deep>>("all") && !has_key<step_of<deep>>("top.all") && lawful<deep>());

// A dropout that is applied twice to one value is one operation. Its name may also be the name of a parameter.
constexpr auto twice = sum(dropout<"w">(h) * dropout<"w">(h) + (h | nn::dropout<"w">));
static_assert(std::same_as<detail::problem_in<step_of<twice>>, lang::sound> && lawful<twice>());
static_assert(runs_of<step_of<sum(dropout<"w">(h) * dropout<"w">(h))>>("dropout") == runs{1, 1});

// A predictor contains no dropout.
static_assert(written<sum(dropping(x))> == "sum(softmax(softmax(x)))" && forward_of<deep>::graph.leaf_count == 2);
static_assert(written<ckpt<"s">(nn::dropout<"d">)(exp(x))> == "exp(x)" && written<exp(dropout<"d">(x))> == "exp(x)");
static_assert(detail::flops_in<forward_of<sum(dropping(h))>>.total() ==
              detail::flops_in<forward_of<sum(network(h))>>.total());
static_assert(detail::flops_in<simple>.forward == 3 * 8 && detail::flops_in<simple>.backward == 8);

// Arrays of random numbers. A key is their only argument, and two mentions are one array.
constexpr auto eps = random_normal<"eps", 8>;
/// Returns the shape of result number `number` among those of an operation.
template <class Step>
constexpr shape find_shape(std::string_view operation, int number) {
  for (int v = 0; v < Step::graph.node_count; ++v) {
    if (Step::graph.op(v).name == operation && number-- == 0) return Step::graph.result(v).extents;
  }
  return no_shape;
}
static_assert(eps.shape == shape{8} && random_uniform<"u">.shape == shape{});
static_assert(random_bernoulli<"m", 0.1, 2, 3>.shape == shape{2, 3});
static_assert(same(random_bernoulli<"m", 0, 2>, random_bernoulli<"m", 0.0, 2>));
using noisy = step_of<sum(h * eps + square(eps))>;
static_assert(gradient_of<noisy>("w") == "mul(expand(reshape(constant)), random_normal(eps))");
static_assert(runs_of<noisy>("random_normal") == runs{1, 0});
// Without a segment, an array that the backward pass reads is stored. In a segment, it is drawn again.
static_assert(stored<noisy> == row);
using noisy_segment = step_of<sum(ckpt<"s">([](auto v) { return exp(tanh(v) * random_normal<"eps", 8>); }, h))>;
static_assert(stored<noisy_segment> == row && runs_of<noisy_segment>("random_normal") == runs{1, 1});
static_assert(has_key<step_of<sum(block<"b">([](auto v) { return v * eps; }, h))>>("b.eps") && lawful<sum(h * eps)>());
// Layers that drop whole examples or channels draw one number for each of them. A predictor contains no such layer.
constexpr auto pictures = input<"pictures", 4, 3, 3, 2>;
static_assert(decltype(pictures | nn::drop_path<"p">)::shape == shape{4, 3, 3, 2});
static_assert(written<exp(pictures | nn::drop_path<"p", 0.1> | nn::dropout2d<"d">)> == "exp(pictures)");
using drops_paths = step_of<sum(pictures * param<"v", 2> | nn::drop_path<"p"> | nn::dropout2d<"d">)>;
static_assert(find_shape<drops_paths>("random_bernoulli", 0) == shape{4, 1, 1, 1});
static_assert(find_shape<drops_paths>("random_bernoulli", 1) == shape{4, 1, 1, 2});

// In a predictor, in_training has another value in place of the array.
static_assert(written<in_training(x + eps, exp(x))> == "exp(x)");

}  // namespace
