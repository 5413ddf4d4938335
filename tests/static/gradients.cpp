// Gradients as values of a model: what they are, what is computed for them, and what of it again.
#include "cairn/lang/checkpoint.hpp"
#include "cairn/lang/gradient.hpp"
#include "cairn/op/matmul.hpp"
#include "cairn/nn/activation.hpp"
#include "cairn/nn/linear.hpp"

#include "../overlap.hpp"

using namespace cairn;
using namespace cairn::test;

namespace {

constexpr auto x = input<"x", 8>;
constexpr auto w = param<"w", 8>;

// The rules of the operations, as the program applies them itself.
static_assert(written<grad(sum(x* w), x)> == "mul(expand(reshape(constant)), w)");
static_assert(written<grad(sum(square(x)), x)> == "mul(mul(expand(reshape(constant)), constant), x)");
static_assert(gradient_of<step_of<sum(x* w)>>("w") == "mul(expand(reshape(constant)), x)");
static_assert(written<grad(sum(x* w), w)> == "mul(expand(reshape(constant)), x)");
static_assert(grad(sum(x * w), x).shape == x.shape && std::same_as<decltype(grad(sum(x * w), w))::owner, top_scope>);
// Of several, as a tuple; of a value computed; of a product with a Hessian, here 2 v.
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

// A gradient in the forward pass reads of a segment what is computed again for it, and not what the segment computed.
constexpr auto f = [](auto v) { return softmax(softmax(v)); };
constexpr auto checkpointed = [] {
  const auto h = matmul(reshape<1, 8>(x), param<"p", 8, 8>);
  const auto y = sum(square(ckpt<"s">(f, h)));
  return grad(y, h);
}();
using forward_only = forward_of<checkpointed>;
// Of two, the first is computed again; the second is read by square, and so a boundary.
static_assert(runs_of<forward_only>("softmax") == runs{3, 0} && recomputed<forward_only>("s") == 1);
// A penalty: backward computes both again, and the gradient's own values in the segment.
using penalty = step_of<sum(square(checkpointed))>;
static_assert(runs_of<penalty>("softmax").forward == 3 && runs_of<penalty>("softmax").backward == 2);
using penalty_plain = step_of<sum(square(checkpointed)), plain>;
static_assert(runs_of<penalty_plain>("softmax") == runs{2, 0});
static_assert(stored<penalty> == 3 * 8 * sizeof(float));        // the boundary and two products
static_assert(stored<penalty_plain> == 4 * 8 * sizeof(float));  // both softmax, and the slope of each

// What only a gradient reads is computed where it reads it, and not for itself: here both softmax once.
constexpr auto unread =
    grad(sum(ckpt<"s">([](auto v) { return f(v) * 2_c; }, transpose(param<"p", 8, 8>)) * x), param<"p", 8, 8>);
static_assert(judged<forward_of<unread>>() == fault::none && runs_of<forward_of<unread>>("softmax") == runs{2, 0});
static_assert(recomputed<forward_of<unread>>("s") == 0);

// A body does not see that what it is applied to is a gradient: orders add up, also over chains and repetitions.
constexpr auto slope = layer([](auto v) { return v + grad(sum(v * v * w), w); });
static_assert(decltype(grad(sum(square(x) * w), x) | slope)::traits.order == 2);
static_assert(decltype(ckpt<"s">(slope)(grad(sum(square(x) * w), x)))::traits.order == 2);
static_assert(decltype(x | repeat<3, "block">([](auto) { return slope; }))::traits.order == 3);

// A tag stays with its value, though a gradient computes what only it reads where it reads it.
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
