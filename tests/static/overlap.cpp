// The law of the arena, for models in which values share memory in as many ways as possible. The suite `laws` checks
// the law for all of its models. In addition, this file checks that the packing leaves only small holes in the arena.
#include "../overlap.hpp"

#include "cairn/nn/activation.hpp"
#include "cairn/nn/linear.hpp"
#include "cairn/nn/norm.hpp"
#include "cairn/op/loss.hpp"
#include "cairn/op/matmul.hpp"
#include "cairn/op/slice.hpp"

using namespace cairn;
using namespace cairn::test;

namespace own {
/// An operation with a result that may be written over the second argument.
struct minus_op : op {
  static constexpr fixed_string name = "minus";
  using rule = misuse::equal_shapes;
  static constexpr making makes(int, int, const shape&, const shape&) { return {.overwrites = 1}; }
  static constexpr reading reads(int i, const shape&, const shape&) { return {.rows_from_loop = i == 0}; }
  static constexpr shape result(const shape& a, const shape& b) { return a == b ? a : no_shape; }
};
}  // namespace own
namespace {

/// Returns true if the arena is at most a twentieth larger than the bytes that live at the same time.
template <class Plan>
constexpr bool compact = 20 * Plan::layout.peak_bytes <= 21 * Plan::slots.live_bytes;
/// Returns true if the law holds and the arena is compact, with segments and with `plain`.
template <auto Loss>
constexpr bool packed() {
  return lawful<Loss>() && compact<step_of<Loss>> && compact<step_of<Loss, plain>>;
}

constexpr auto x = input<"x", 16>;
constexpr auto w = param<"w", 16>;
constexpr auto rows = input<"rows", 4, 12>;
constexpr auto classes = labels<"classes", 5, 4>;
template <class Layers>
constexpr auto classified(Layers layers) {
  return cross_entropy(rows | nn::linear<"in", 8> | layers | nn::linear<"out", 5>, classes);
}
constexpr auto feed_forward = nn::linear<"fc1", 16> | nn::gelu | nn::linear<"fc2", 8>;
constexpr auto deep = classified(repeat<4, "b">([](auto) { return ckpt<"s">(nn::residual(feed_forward)); }));
static_assert(packed<deep>() && judged<step_of<deep, real<double>>>() == fault::none);
static_assert(judged<forward_of<deep>>() == fault::none);
static_assert(packed<sum(softmax(softmax(w + x)))>() && packed<sum(ckpt<"s">(nn::tanh, w + x))>());
// The result of a kernel that takes rows is written over the rows of the fused loop. It is written over no other value
// that the fused loop may read again.
constexpr auto product = matmul(input<"a", 32, 16>, input<"b", 16, 16>);
constexpr auto first_row_and = slice<0, 0, 1>(product) + input<"z", 32, 16>;
static_assert(judged<forward_of<make<own::minus_op>(first_row_and, product)>>() == fault::none);
static_assert(packed<sum(tanh(w + param<"b", 16>))>());  // two parameters with the same gradient
constexpr auto widening = repeat<3, "b">([](auto i) { return ckpt<"s">(nn::linear<"fc", 3 + 6 * i> | nn::softmax); });
static_assert(packed<classified(widening)>());
constexpr auto inner = layer([](auto v) { return tanh(exp(v) * param<"p", 8>); });
constexpr auto outer = layer([](auto v) { return v - ckpt<"inner">(inner, softmax(v)) | nn::square; });
static_assert(packed<classified(ckpt<"outer">(outer) | ckpt<"last">(outer))>());
constexpr auto attention = layer([](auto v) {
  const auto q = v | nn::linear<"q", 8>;
  const auto k = v | nn::linear<"k", 8>;
  return v + matmul(softmax(matmul(q, transpose(k)) * 0.35_c), v | nn::linear<"v", 8>);
});
static_assert(packed<classified(ckpt<"attention">(attention) | nn::relu | ckpt<"more">(attention))>());
constexpr auto normalized = layer([](auto v) {
  const auto centred = v - mean<-1>(v, keepdim);
  return centred / sqrt(mean<-1>(square(centred), keepdim) + 1e-5_c) * param<"scale", 8> + param<"shift", 8>;
});
static_assert(packed<classified(ckpt<"n">(normalized) | nn::tanh | normalized)>());
// A fused loop that follows a kernel row by row writes over values that both have read. It does not write over a value
// that is read through a map.
constexpr auto normed = layer([](auto v) { return v + (v | nn::layer_norm<"ln"> | nn::linear<"fc", 8> | nn::tanh); });
static_assert(packed<classified(ckpt<"n">(normed) | nn::rms_norm<"rms"> | normed)>());
constexpr auto first_row_too = layer([](auto v) { return slice<0, 0, 1>(v) + v * make<lang::row_scale_op<>>(v); });
static_assert(judged<forward_of<first_row_too(exp(input<"z", 32, 16>))>>() == fault::none);
constexpr auto two_results = [] {
  auto [l, r] =
      ckpt<"s">([](auto v) { return std::tuple{tanh(v), sum<-1>(exp(v), keepdim)}; }, rows | nn::linear<"in", 8>);
  return outputs(mean(square(l / r)), l, r);
}();
static_assert(packed<two_results>());
constexpr auto transposed = layer([](auto v) { return exp(transpose(transpose(v) | nn::softmax)); });
static_assert(packed<classified(ckpt<"s">(transposed) | transposed)>());
// An argument of a product is not written over while the tiles of the product are computed, even if the fused loop that
// takes the tiles is the last reader of the argument.
constexpr auto dying = softmax(input<"square", 8, 8>);
constexpr auto other = input<"other", 8, 8>;
static_assert(judged<forward_of<matmul(dying, other) * dying>>() == fault::none);
static_assert(judged<forward_of<matmul(other, dying) * dying>>() == fault::none);

}  // namespace
