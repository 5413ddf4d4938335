// Models that look like misuse but are correct. They must compile without a message.
#include "cairn/check/model.hpp"
#include "cairn/lang/generated.hpp"
#include "cairn/nn/activation.hpp"
#include "cairn/nn/linear.hpp"
#include "cairn/op/concatenate.hpp"
#include "cairn/op/extremum.hpp"
#include "cairn/op/loss.hpp"
#include "cairn/op/matmul.hpp"
#include "cairn/op/slice.hpp"
#include "cairn/run/predictor.hpp"

#include <cmath>

using namespace cairn;

namespace {

template <auto Output, class... Options>
constexpr bool silent = std::same_as<decltype(detail::problem_of_program<Output, true, Options...>()), lang::sound>;
template <auto Output>
constexpr bool predicts = std::same_as<decltype(detail::problem_of_program<Output, false>()), lang::sound>;

constexpr auto x = input<"x", 8, 12>;
constexpr auto mask = input<"mask", 8, 12>;
constexpr auto y = labels<"y", 5, 8>;
constexpr auto classify = [](auto h) { return cross_entropy(h | nn::linear<"head", 5>, y); };
constexpr auto mlp = nn::linear<"fc1", 48> | nn::gelu | nn::linear<"fc2", 12>;

// The check does report real misuse. In the first model, nothing in "s" needs a gradient. In the second model, the
// segment frees nothing.
static_assert(!silent<classify(x | ckpt<"s">(mlp)), freeze<"fc1", "fc2">>);
static_assert(!silent<classify(x | nn::linear<"in", 12> | ckpt<"s">(nn::tanh))>);

// Weights that are shared by two segments, by a segment and the model around it, and by two blocks.
constexpr auto again = classify(x | ckpt<"s">(mlp) | shared(ckpt<"t">(mlp)) | ckpt<"u">(shared(mlp)));
constexpr auto tied = classify(x | shared(nn::linear<"fc1", 48> | nn::linear<"fc2", 12>) | mlp | block<"b">(mlp) |
                               shared(block<"b">(shared(mlp))));
static_assert(silent<again> && silent<tied> && predicts<again> && predicts<tied>);

// Weights that are shared by an absolute name, and weights that are shared by hand. The latter are the weight of a
// layer and a parameter without a layer, which a body reads twice.
constexpr auto absolute = classify(x | nn::linear<"/fc", 12> | nn::tanh | block<"b">(nn::linear<"/fc", 12>));
constexpr auto by_hand = [] {
  const auto w = param<"/fc.weight", 12, 12>;
  const auto body = layer([](auto h) { return matmul(matmul(h, param<"own", 12, 12>), param<"own", 12, 12>); });
  return classify(matmul(x | nn::linear<"fc", 12> | body | nn::tanh | body, w) + 0.1_c * sum(square(w)));
}();
static_assert(silent<absolute> && silent<by_hand>);

// The result of one layer is read, returned and differentiated several times. The results of other layers are read by
// two bodies.
constexpr auto one = [] {
  const auto h = x | nn::linear<"fc", 12>;
  const auto l = classify((h | nn::tanh) * (h | nn::gelu) * ckpt<"s">([](auto v) { return tanh(v) * v; }, h));
  return outputs(l + sum(square(grad(l, h))), h | nn::relu, mean(h));
}();
constexpr auto of_parameters = nn::linear<"fc", 12>(param<"w", 12, 12>);
constexpr auto of_parameters_in_a_chain = param<"w", 12, 12> | nn::linear<"fc", 12>;
constexpr auto of_chain = x | nn::linear<"fc", 12>;
constexpr auto by_these = layer([](auto h) { return matmul(h, of_parameters); });
constexpr auto read_again = layer([](auto h) { return tanh(h) + of_chain; });
constexpr auto in_a_chain = layer([](auto h) { return matmul(h, of_parameters_in_a_chain); });
static_assert(silent<classify(of_chain | read_again)>);
static_assert(silent<classify(x | in_a_chain | nn::tanh | in_a_chain)>);
static_assert(silent<one> && silent<classify(x | by_these | nn::tanh | by_these)>);

// Frozen parameters before a segment, in a segment, and as leaves of their own.
constexpr auto two = classify(x | ckpt<"s">(block<"s">(mlp)) | ckpt<"t">(block<"t">(mlp)));
constexpr auto adapter = [](auto h) {
  return (gelu(matmul(h, transpose(frozen<"w", 48, 12>))) | nn::linear<"low", 2> | nn::linear<"up", 12>)+h;
};
static_assert(silent<two> && silent<two, freeze<"s.fc1">> && silent<two, freeze<"t.fc1", "t.fc2">>);
static_assert(silent<classify(x | nn::linear<"in", 12> | ckpt<"s">(layer(adapter)))>);
constexpr auto tuned =
    classify(x | repeat<4, "block">([](auto) { return ckpt<"ff", allow_useless>(nn::residual(mlp)); }));
static_assert(silent<tuned> && silent<tuned, freeze<"block.0", "block.1">>);

// Additional outputs. One is the result of a segment, and one has no gradient.
constexpr auto auxiliary = [] {
  const auto h = x | ckpt<"s">(mlp);
  const auto logits = h | nn::linear<"head", 5>;
  return outputs(cross_entropy(logits, y), accuracy(logits, y), h, mean(mask));
}();
static_assert(silent<auxiliary> && predicts<auxiliary>);

// Residual connections around segments and inside segments.
constexpr auto residual = [] {
  const auto a = x | nn::linear<"in", 12>;
  const auto b = a + ckpt<"s">(block<"s">(mlp), a);
  return classify(a * b + ckpt<"t">(nn::residual(block<"t">(mlp)))(b));
}();
static_assert(silent<residual> && predicts<residual>);

// Weight normalization, which is computed only from parameters. One segment has an argument, and one has none.
constexpr auto normal = [](auto w) { return w / sqrt(sum<1>(square(w), keepdim)); };
constexpr auto weights =
    classify(x | ckpt<"s">(layer([](auto h) {
               return tanh(matmul(h, transpose(normal(param<"v", 48, 12>)))) | nn::linear<"out", 12>;
             })));
constexpr auto no_argument = classify(matmul(x, ckpt<"s">([] { return normal(param<"v", 12, 12>); })));
static_assert(silent<weights> && silent<no_argument> && predicts<weights>);

// Arguments that are inputs; a mask in addition to a computed value; and a stage that computes values from an input
// without taking it as an argument.
constexpr auto masked = [](auto h, auto m) { return (h * m) | mlp; };
constexpr auto inputs_only = classify(ckpt<"s">(masked, x, mask));
constexpr auto with_mask = classify(ckpt<"s">(masked, x | nn::linear<"in", 12>, mask));
constexpr auto part_of_mask =
    layer([](auto h) { return h * slice<0, 4, 8>(mask) * reshape<4, 12>(slice<0, 0, 4>(mask)); });
constexpr auto with_part =
    classify(concatenate<0>(slice<0, 0, 4>(x), slice<0, 0, 4>(x) | ckpt<"s">(part_of_mask | mlp)));
static_assert(silent<with_part>);
constexpr auto in_place = classify(x | layer([](auto h) { return h * exp(mask); }) | ckpt<"s">(mlp));
static_assert(silent<inputs_only> && silent<with_mask> && silent<in_place>);

// Bodies of any form: final function objects, and function objects with any number of arguments.
struct final_layer final {
  template <an_expression X>
  constexpr auto operator()(X v) const {
    return v | mlp;
  }
};
constexpr auto variadic = [](auto... v) { return tanh((v + ...) | mlp); };
static_assert(silent<classify(x | ckpt<"s">(final_layer{}) | ckpt<"t">(block<"t">(variadic)))>);
static_assert(silent<classify(ckpt<"s">(variadic, x, x* param<"scale">))>);

// Segments that are useful in training, although another program freezes the values that they read.
constexpr auto light =
    classify(x | repeat<4, "b">([](auto) { return ckpt<"s">(nn::residual(nn::linear<"fc", 12> | nn::gelu)); }));
static_assert(silent<light> && silent<light, freeze<"b.2">>);

// Nested segments, segments in a repeated segment, and the last segment of a model.
constexpr auto nested = classify(x | ckpt<"outer">(block<"o">(mlp) | ckpt<"inner">(mlp) | nn::tanh));
constexpr auto deep =
    classify(x | repeat<3, "stage">([](auto) {
               return ckpt<"stage">(repeat<2, "block">([](auto) { return ckpt<"ff">(nn::residual(mlp)); }));
             }));
static_assert(silent<nested> && silent<deep> && predicts<deep>);

// Models of four thousand nodes, and the option for larger models.
static_assert(!detail::too_large({.nodes = 4400, .characters = 30000}) && detail::too_large({.nodes = 20000}));
static_assert(silent<two, any_size>);

// detach outside of segments, of a value that another segment differentiates.
constexpr auto target = [] {
  const auto h = x | ckpt<"s">(mlp);
  return mse(h | ckpt<"t">(block<"t">(mlp)), detach(h));
}();
static_assert(silent<target> && predicts<target>);

// Options that may occur several times, and one thread in a build without OpenMP.
constexpr auto weighted = classify((x * mask) | ckpt<"t">(mlp) | ckpt<"u">(block<"b">(mlp)));
static_assert(silent<weighted, freeze<"fc1">, freeze<"fc2">, budget<1_MiB>, budget<2_MiB>, wrt<"x">, wrt<"mask">>);
static_assert(std::same_as<decltype(detail::problem_of_threads<1>()), lang::sound>);

// A gradient rule with constants, a generated array, a tag, a slice and reductions.
struct bent_op : elementwise_op {
  static constexpr fixed_string name = "bent";
  static constexpr auto vjp(auto g, auto y, auto v) {
    constexpr auto slope = generated<12>([](int i) { return 1 + i; });
    return gradients(tag<"rule">(g * slope) + 0_c * sum(slice<0, 0, 1>(y)) * max<-1>(concatenate<1>(v, v), keepdim));
  }
};
template <class V>
V lanewise(bent_op, V v) {
  return v * v;
}
static_assert(detail::checked<classify(make<bent_op>(x | nn::linear<"fc", 12>))>());

// With `plain`, nothing is reported about segments. Predictors need no gradient at all.
static_assert(silent<two, plain, freeze<"s">>);
static_assert(predicts<mean(x)> && predicts < x | ckpt<"s">(nn::tanh) >);

// Arguments that are neither expressions nor layers are no mistake of cairn's. Other functions with the same names stay
// visible.
template <class A, class B>
concept foreign = !requires(A a) { relu(a); } && !requires(A a) { sum(a); } && !requires(A a, B b) {
  sum(a, b);
} && !requires(A a, B b) { softmax(a, b); } && !requires(A a) { cross_entropy(a); } && !requires(A a, B b) { a + b; };
static_assert(foreign<std::array<int, 2>, decltype(x)> && foreign<std::array<int, 2>, decltype(nn::relu)>);
static_assert(std::same_as<decltype(tanh(0.5)), double>);

}  // namespace
