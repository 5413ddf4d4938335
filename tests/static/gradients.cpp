// Gradients as values of a model: their formulas, and what is computed and recomputed for them.
#include "cairn/lang/checkpoint.hpp"
#include "cairn/lang/gradient.hpp"
#include "cairn/nn/activation.hpp"
#include "cairn/nn/linear.hpp"
#include "cairn/op/matmul.hpp"

#include "../overlap.hpp"

using namespace cairn;
using namespace cairn::test;

namespace {

constexpr auto x = input<"x", 8>;
constexpr auto w = param<"w", 8>;

// `grad` applies the same gradient rules as the backward pass of a program.
static_assert(written<grad(sum(x* w), x)> == "mul(expand(reshape(constant)), w)");
static_assert(written<grad(sum(square(x)), x)> == "mul(mul(expand(reshape(constant)), constant), x)");
static_assert(gradient_of<step_of<sum(x* w)>>("w") == "mul(expand(reshape(constant)), x)");
static_assert(written<grad(sum(x* w), w)> == "mul(expand(reshape(constant)), x)");
static_assert(grad(sum(x * w), x).shape == x.shape &&
              std::same_as<decltype(grad(sum(x * w), w))::owner, lang::top_scope>);
// There may be several gradients, which form a tuple. A gradient may be taken with respect to a computed value. The
// gradient of a gradient can be a product with a Hessian, which is 2 v here.
constexpr auto both = [] {
  const auto [by_x, by_w] = grad(sum(x * w), x, w);
  return by_x * by_w;
}();
static_assert(written<both> == "mul(mul(expand(reshape(constant)), w), mul(expand(reshape(constant)), x))");
constexpr auto bent = tanh(x * w);
static_assert(written<grad(sum(square(bent)), bent)> ==
              "mul(mul(expand(reshape(constant)), constant), tanh(mul(x, w)))");
constexpr auto times_hessian = grad(sum(grad(sum(square(w)), w) * x), w);
static_assert(decltype(times_hessian)::traits.order == 2);
static_assert(step_of<sum(times_hessian* w)>::model::order == 2 && forward_of<times_hessian>::model::order == 2);
static_assert(forward_of<sum(bent)>::model::order == 0);

// A gradient in the forward pass reads the recomputed values of a segment. It does not read the values that the segment
// computed first.
constexpr auto f = [](auto v) { return softmax(softmax(v)); };
constexpr auto checkpointed = [] {
  const auto h = matmul(reshape<1, 8>(x), param<"p", 8, 8>);
  const auto y = sum(square(ckpt<"s">(f, h)));
  return grad(y, h);
}();
using forward_only = forward_of<checkpointed>;
// The first softmax is recomputed. The second softmax is read by square, so it is a boundary.
static_assert(runs_of<forward_only>("softmax") == runs{3, 0} && recomputed<forward_only>("s") == 1);
// A penalty on a gradient: the backward pass recomputes both softmaxes, and the values of the gradient inside the
// segment.
using penalty = step_of<sum(square(checkpointed))>;
static_assert(runs_of<penalty>("softmax").forward == 3 && runs_of<penalty>("softmax").backward == 2);
using penalty_plain = step_of<sum(square(checkpointed)), plain>;
static_assert(runs_of<penalty_plain>("softmax") == runs{2, 0});
static_assert(stored<penalty> == 3 * 8 * sizeof(float));        // the boundary and two products
static_assert(stored<penalty_plain> == 4 * 8 * sizeof(float));  // both softmaxes, and the slope of each

// Values that only a gradient reads are computed where the gradient reads them. Here both softmaxes run once in each
// place.
constexpr auto unread =
    grad(sum(ckpt<"s">([](auto v) { return f(v) * 2_c; }, transpose(param<"p", 8, 8>)) * x), param<"p", 8, 8>);
static_assert(judged<forward_of<unread>>() == fault::none && runs_of<forward_of<unread>>("softmax") == runs{2, 0});
static_assert(recomputed<forward_of<unread>>("s") == 0);

// A body does not know that its argument is a gradient. The orders of gradients add up, also over chains and repeats.
constexpr auto slope = layer([](auto v) { return v + grad(sum(v * v * w), w); });
static_assert(decltype(grad(sum(square(x) * w), x) | slope)::traits.order == 2);
static_assert(decltype(ckpt<"s">(slope)(grad(sum(square(x) * w), x)))::traits.order == 2);
static_assert(decltype(x | repeat<3, "block">([](auto) { return slope; }))::traits.order == 3);

// A value keeps its tag, although a gradient moves the computation of the value to the place where the gradient reads
// it.
constexpr auto tagged_inside = [](auto v) { return tag<"late">(exp(tag<"hid">(gelu(v)) * softmax(v))); };
constexpr auto by_gradient = [] {
  const auto y = x * w;
  return sum(square(grad(mean(square(ckpt<"s">(tagged_inside, y))), y)));
}();
template <int Tag>
constexpr std::string_view operation_of_tag = [] {
  constexpr const auto& s = step_of<by_gradient>::schedule;
  return s.nodes[s.tagged[Tag]].op->name;
}();
static_assert(operation_of_tag<0> == "gelu" && operation_of_tag<1> == "exp");

}  // namespace
