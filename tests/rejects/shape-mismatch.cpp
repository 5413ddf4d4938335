// The outermost call reports this mistake.
//
// The arguments of an operation break the operation's rule about shapes. Here the operation stands three blocks deep.
// Change one of the extents that the note shows. The note has up to three facts:
//
// - `in` is the path of the blocks and segments around the operation.
// - `operation` names the operation, the source of each argument, and the arguments' shapes. A source is a layer, a
//   leaf, an operation, or an argument of the body.
// - `axes_come_from` names the first value that had as many axes as the argument with the most axes.
//
// Some mistakes have a sentence of their own: arrays that are bound, labels that do not fit logits, indices that do not
// fit the axis that they index, axes and reshapes. Joining, slicing and padding have their own sentences, and so have
// extents that are not positive or not below 2^31. Filters of convolutions and windows of pools have their own
// sentences, too. Their notes show the settings in the orders `stride_pad_dilate_groups<2, 1, 1, 1>` and
// `window<extent, stride, padding, dilation>`. If a setting has two numbers, all settings but the groups are shown as two numbers:
// that of the height, and that of the width. A padding of `nn::same` is shown as -1.

#include "cairn/check/model.hpp"
#include "cairn/lang/tiled.hpp"
#include "cairn/nn/batch_norm.hpp"
#include "cairn/nn/convolution.hpp"
#include "cairn/nn/dropout.hpp"
#include "cairn/nn/embedding.hpp"
#include "cairn/nn/flatten.hpp"
#include "cairn/nn/linear_cross_entropy.hpp"
#include "cairn/nn/pool.hpp"
#include "cairn/nn/positions.hpp"
#include "cairn/nn/recurrent.hpp"
#include "cairn/nn/transformer.hpp"
#include "cairn/op/cumsum.hpp"
#include "cairn/op/einsum.hpp"
#include "cairn/op/expand.hpp"
#include "cairn/op/extremum.hpp"
#include "cairn/op/loss.hpp"
#include "cairn/op/placed.hpp"
#include "cairn/op/probability_loss.hpp"
#include "cairn/op/random_numbers.hpp"
#include "cairn/op/roll.hpp"
#include "cairn/op/similarity.hpp"
#include "cairn/op/sort.hpp"

using namespace cairn;

// case: shape-mismatch-nested
// says: extents, from the last on, must be equal or 1
// shows: fact::in<cairn::fixed_string<15>\{"block\.0\.mlp\.ff"\}>
// shows: operation<cairn::fixed_string<21>\{"add\(argument 0, fc2\)"\}, float ?\[4\]\[8\], float ?\[4\]\[6\]>
constexpr int width = 6;  // wrong
constexpr int width = 8;  // right
constexpr auto feed_forward = nn::linear<"fc1", 16> | nn::gelu | nn::linear<"fc2", width>;
constexpr auto model =
    nn::linear<"embed", 8> |
    repeat<12, "block">([](auto) { return block<"mlp">(ckpt<"ff">(nn::residual(feed_forward))); }) |
    nn::linear<"head", 10>;
constexpr auto loss = cross_entropy(input<"x", 4, 5> | model, labels<"classes", 10, 4>);
constexpr auto penalized = loss + 0.1_c * mean(square(loss));
static_assert(an_expression<decltype(penalized)>);

// case: own-operation-inside
// says: matrices must be \{\.\.\., m, k\} and \{\.\.\., k, n\}
// shows: operation<cairn::fixed_string<28>\{"matmul\(argument 0, sigmoid\)"\}, float ?\[3\]\[5\], float ?\[3\]\[5\]>
namespace own {
using namespace cairn;
struct log1pexp_op : elementwise_op {
  static constexpr fixed_string name = "log1pexp";
  static constexpr auto vjp(auto g, auto, auto x) { return gradients(matmul(g, sigmoid(x))); }  // wrong
  static constexpr auto vjp(auto g, auto, auto x) { return gradients(g * sigmoid(x)); }         // right
};
}  // namespace own
constexpr auto loss = sum(make<own::log1pexp_op>(param<"p", 3, 5>));
static_assert(detail::checked<loss>());

// case: shape-mismatch-bound
// says: the array has other extents than the input
// shows: fact::input<cairn::fixed_string<2>\{"x"\}>
// shows: expected<float ?\[2\]\[3\]>
// shows: got<float ?\[3\]\[2\]>
#include "cairn/run/program.hpp"
constexpr auto loss = sum(input<"x", 2, 3> * param<"w", 3>);

int main() {
  program<loss> step;
  std::array<std::array<float, 2>, 3> x{};  // wrong
  std::array<std::array<float, 3>, 2> x{};  // right
  return step.value_and_grad(bind<"x">(x)) > 0;
}

// case: shape-mismatch-classes
// says: indices may lie outside of what they index
// shows: operation<cairn::fixed_string<14>\{"cross_entropy"\}, float ?\[4\]\[10\], int ?\[4\]>
// shows: bound<11>
constexpr int width = 11;  // wrong
constexpr int width = 10;  // right
constexpr auto loss = cross_entropy(param<"w", 4, 10>, labels<"y", width, 4>);
static_assert(detail::checked<loss>());

// case: shape-mismatch-ignored
// says: indices may lie outside of what they index
// shows: operation<cairn::fixed_string<14>\{"cross_entropy"\}, float ?\[4\]\[10\], int ?\[4\]>
// shows: bound<11>
// The padding of a batch has the label 10, so the bound of the labels is ignore_index + 1.
constexpr nn::cross_entropy_options padded{.ignore_index = 11};  // wrong
constexpr nn::cross_entropy_options padded{.ignore_index = 10};  // right
constexpr auto loss = cross_entropy<padded>(param<"w", 4, 10>, labels<"y", 11, 4>);
static_assert(detail::checked<loss>());

// case: shape-mismatch-embedding
// says: embedding takes indices with a bound, its rows; padding is one of these
// shows: fact::in<cairn::fixed_string<9>\{"text.wte"\}>
// shows: embedding.*int ?\[4\]\[9\]
// shows: bound<256>.*padding<256>
constexpr int padding = 256;  // wrong
constexpr int padding = -1;   // right
constexpr auto table = nn::embedding<"wte", 16, nn::embedding_options{.padding_idx = padding}>;
constexpr auto h = indices<"tokens", 256, 4, 9> | block<"text">(table);
static_assert(an_expression<decltype(h)>);

// case: shape-mismatch-expand
// says: expand<8, 3, -1>\(x\) stretches axes of extent 1 and adds axes in front
// shows: operation<cairn::fixed_string<7>\{"expand"\}, float ?\[4\]\[6\]>, .*extents<8, -1>
constexpr int rows = 8;   // wrong
constexpr int rows = -1;  // right
constexpr auto loss = sum(expand<rows, -1>(input<"x", 4, 6>));
static_assert(an_expression<decltype(loss)>);

// case: shape-mismatch-extents-above
// says: a tensor has at most 6 extents, each a positive constant below 2\^31
// shows: fact::in<cairn::fixed_string<2>\{"x"\}>
// shows: fact::extents<3000000000>
constexpr auto x = input<"x", 3'000'000'000>;  // wrong
constexpr auto x = input<"x", 2'147'483'647>;  // right
static_assert(an_expression<decltype(mean(x))>);

// case: shape-mismatch-indices
// says: indices are in \[0, bound\), for a bound from 1 to below 2\^31
// shows: fact::in<cairn::fixed_string<\d+>\{"tokens"\}>, cairn::fact::bound<0>
constexpr auto x = as_real(indices<"tokens", 0, 8, 16>);    // wrong
constexpr auto x = as_real(indices<"tokens", 256, 8, 16>);  // right
static_assert(an_expression<decltype(x)>);

// case: shape-mismatch-head-labels
// says: logits \{..., classes\} take labels<"name", classes, ...>, one a row
// shows: operation<cairn::fixed_string<31>\{"cross_entropy\(matmul, classes\)"\}, float ?\[32\]\[10\], int ?\[16\]>
// The head never stores these logits.
constexpr int rows = 16;  // wrong
constexpr int rows = 32;  // right
constexpr auto loss = nn::linear_cross_entropy<"head", 10>(input<"h", 32, 8>, labels<"classes", 10, rows>);
static_assert(an_expression<decltype(loss)>);

// case: shape-mismatch-head-rank
// says: this layer takes \{..., rows, features\}
// shows: fact::in<cairn::fixed_string<5>\{"head"\}>
// shows: operation<cairn::fixed_string<7>\{"linear"\}, float ?\[8\]>
constexpr auto h = input<"h", 8>;     // wrong
constexpr auto h = input<"h", 1, 8>;  // right
constexpr auto y = labels<"y", 10>;     // wrong
constexpr auto y = labels<"y", 10, 1>;  // right
constexpr auto loss = nn::linear_cross_entropy<"head", 10>(h, y);
static_assert(an_expression<decltype(loss)>);

// case: shape-mismatch-head-weights
// says: cross_entropy\(logits, labels, weights, row_weights\) takes weights \{classes\}, then
// shows: float ?\[32\]\[10\], int ?\[32\], float ?\[32\], float>
constexpr auto h = input<"h", 32, 8>;
constexpr auto y = labels<"y", 10, 32>;
constexpr auto weights = input<"w", 32>;
constexpr auto loss = nn::linear_cross_entropy<"head", 10>(h, y, weights);       // wrong
constexpr auto loss = nn::linear_cross_entropy<"head", 10>(h, y, 1_c, weights);  // right
static_assert(an_expression<decltype(loss)>);

// case: shape-mismatch-labels
// says: logits .* take labels<"name", classes, ...>, one a row
// shows: operation<cairn::fixed_string<31>\{"cross_entropy\(logits, classes\)"\}, float ?\[32\]\[10\], int ?\[16\]>
constexpr int width = 16;  // wrong
constexpr int width = 32;  // right
constexpr auto loss = cross_entropy(input<"logits", 32, 10>, labels<"classes", 10, width>);
constexpr auto doubled = 2.0_c * loss;
static_assert(an_expression<decltype(doubled)>);

// case: shape-mismatch-rotary-positions
// says: rotary turns pairs of features: .* positions \{T\} or \{..., T\}
// shows: operation<cairn::fixed_string<17>\{"rotary\(q, waves\)"\}, float ?\[2\]\[8\]\[4\]\[6\], float ?\[4\]\[6\]>
constexpr auto positions = indices<"positions", 100, 4>;  // wrong: of heads
constexpr auto positions = indices<"positions", 100, 8>;  // right
constexpr auto q = nn::rotary(input<"q", 2, 8, 4, 6>, positions);
static_assert(an_expression<decltype(q)>);

// case: shape-mismatch-rotary
// says: rotary turns pairs of features: it takes \{..., T, H, D\}, D even
// shows: operation<cairn::fixed_string<17>\{"rotary\(q, waves\)"\}, float ?\[2\]\[8\]\[4\]\[5\], float ?\[8\]\[5\]>
constexpr int features = 5;  // wrong
constexpr int features = 6;  // right
constexpr auto q = nn::rotary(input<"q", 2, 8, 4, features>);
static_assert(an_expression<decltype(q)>);

// case: shape-mismatch-rule
// says: matrices must be
// shows: fact::operation<cairn::fixed_string<17>\{"matmul\(\.\.\., \.\.\.\)"\}, float, float>
constexpr auto loss = sum(square(input<"x", 4> * param<"w", 4>));
struct descent {
  double lr = 1e-3;
  static constexpr std::array<std::string_view, 0> moments{};
  constexpr std::array<double, 1> numbers(double rate, std::int64_t) const { return {rate}; }
  static constexpr auto next(auto p, auto g, auto rate) { return std::tuple{p - rate * matmul(g, p)}; }  // wrong
  static constexpr auto next(auto p, auto g, auto rate) { return std::tuple{p - rate * (g * p)}; }       // right
};
static_assert(detail::checked<loss, update<descent{}>>());

// case: shape-mismatch-one-part
// says: the array has other extents than the input that it is bound to
// shows: fact::input<cairn::fixed_string<2>\{"x"\}>
#include "cairn/cairn.hpp"
constexpr auto loss = mean(square(input<"x", 8, 4> * param<"w", 4>));

float step_of(program<loss, microbatch<4>>& step) {
  const std::array<float, 8 * 4> x{};      // wrong
  const std::array<float, 4 * 8 * 4> x{};  // right
  return step.value_and_grad(bind<"x">(x));
}

// case: shape-mismatch-one-part-of-varied
// says: the array has other extents than the input that it is bound to
// shows: fact::input<cairn::fixed_string<2>\{"x"\}>
#include "cairn/cairn.hpp"
constexpr auto loss = mean(square(input<"x", 8, 4> * param<"w", 4>));

float step_of(program<loss, microbatch<up_to<4>>>& step) {
  const std::array<float, 7 * 4> x{};  // wrong
  const std::array<float, 8 * 4> x{};  // right
  return step.value_and_grad(bind<"x">(x));
}

// case: shape-mismatch-part-of-callback
// says: the array has other extents than the input that it is bound to
// shows: fact::input<cairn::fixed_string<2>\{"x"\}>
#include "cairn/cairn.hpp"
constexpr auto loss = mean(square(input<"x", 8, 4> * param<"w", 4>));

float step_of(program<loss, shards<4>>& step) {
  static const std::array<float, 4 * 8 * 4> x{};  // wrong
  static const std::array<float, 8 * 4> x{};      // right
  return step.value_and_grad([](int) { return inputs(bind<"x">(x)); });
}

// case: shape-mismatch-over-parts
// says: over_parts takes a single number, such as a count or a sum
// shows: operation<cairn::fixed_string<\d+>\{"over_parts\(m\)"\}, float ?\[8\]>
constexpr auto counted = over_parts(input<"m", 8>);       // wrong
constexpr auto counted = over_parts(sum(input<"m", 8>));  // right
static_assert(an_expression<decltype(counted)>);

// case: shape-mismatch-scan-body
// says: matrices must be
// shows: fact::in<cairn::fixed_string<5>\{"step"\}
constexpr auto body = [](auto h) { return std::tuple{matmul(h, param<"w", 4, 5>), sum(h)}; };  // wrong
constexpr auto body = [](auto h) { return std::tuple{matmul(h, param<"w", 5, 5>), sum(h)}; };  // right
[[maybe_unused]] constexpr auto h = scan<10, "step">(body, carried(input<"h0", 4, 5>));

// case: shape-mismatch-scan
// says: the first axis of what stands in each\(\.\.\.\) has as many elements as scan makes steps
// shows: fact::each<float *\[9\]>.*fact::iterations<10>
// shows: fact::in<cairn::fixed_string<5>\{"step"\}>
constexpr auto body = [](auto h, auto x) { return tanh(h * param<"w", 4>) * x; };
[[maybe_unused]] constexpr auto h = scan<10, "step">(body, carried(input<"h0", 4>), each(input<"x", 9>));   // wrong
[[maybe_unused]] constexpr auto h = scan<10, "step">(body, carried(input<"h0", 4>), each(input<"x", 10>));  // right

// case: shape-mismatch-tiled
// says: nn::tiled<N> divides the first axis of each argument into N equal groups of rows
// shows: fact::operation<cairn::fixed_string<6>\{"tiled"\}, float ?\[30\]\[8\]>, cairn::fact::groups<4>
constexpr auto feed_forward = nn::linear<"fc1", 32> | nn::relu | nn::linear<"fc2", 8>;
constexpr auto tiled = nn::tiled<4>(feed_forward);  // wrong
constexpr auto tiled = nn::tiled<5>(feed_forward);  // right
[[maybe_unused]] constexpr auto h = input<"x", 30, 8> | tiled;

// case: shape-mismatch-tiled-up-to
// says: nn::tiled<N> divides the first axis of each argument into N equal groups of rows
// shows: fact::operation<cairn::fixed_string<6>\{"tiled"\}, float ?\[30\]\[8\]>, cairn::fact::groups<4>
constexpr auto feed_forward = nn::linear<"fc1", 32> | nn::relu | nn::linear<"fc2", 8>;
constexpr auto tiled = nn::tiled<up_to<4>>(feed_forward);  // wrong
constexpr auto tiled = nn::tiled<up_to<2>>(feed_forward);  // right
[[maybe_unused]] constexpr auto h = input<"x", 30, 8> | tiled;

// case: shape-mismatch-start-of-vector
// says: orthogonal\(\), kaiming\(\) and xavier\(\) are starts of a weight \{out, in, \.\.\.\}
// shows: fact::in<cairn::fixed_string<8>\{"fc\.bias"\}>
// shows: fact::extents<4>
constexpr auto bias = param_from<"fc.bias", initial::kaiming(), 4>;   // wrong
constexpr auto bias = param_from<"fc.bias", initial::kaiming(6), 4>;  // right
static_assert(an_expression<decltype(bias)>);

// case: shape-mismatch-tiled-arguments
// says: nn::tiled<N> divides the first axis of each argument .* which has the same extent in all arguments
// shows: fact::operation<cairn::fixed_string<6>\{"tiled"\}, float ?\[32\]\[8\], float ?\[16\]\[8\]>, cairn::fact::groups<4>
constexpr auto product = [](auto a, auto b) { return a * b; };
constexpr auto b = input<"b", 16, 8>;  // wrong
constexpr auto b = input<"b", 32, 8>;  // right
[[maybe_unused]] constexpr auto h = nn::tiled<4>(product, input<"a", 32, 8>, b);

// case: shape-mismatch-zero-row
// says: the zero_row of a parameter is one of its rows, from 0 on, or -1 for none
// shows: fact::in<cairn::fixed_string<11>\{"wte.weight"\}>
// shows: fact::extents<5, 3>
// shows: fact::zero_row<5>
constexpr initial start{.drawn = initial::law::normal, .width = 1, .zero_row = 5};  // wrong
constexpr initial start{.drawn = initial::law::normal, .width = 1, .zero_row = 4};  // right
constexpr auto table = param_from<"wte.weight", start, 5, 3>;
static_assert(an_expression<decltype(table)>);

// case: silent-after-report
// says: extents, from the last on, must be equal or 1
// shows: fact::in<cairn::fixed_string<11>\{"block\.0\.ff"\}>
// shows: operation<cairn::fixed_string<21>\{"add\(argument 0, out\)"\}, float ?\[4\]\[8\], float ?\[4\]\[6\]>
#include <cairn/cairn.hpp>
#include <cairn/data/batches.hpp>
#include <cairn/train/loop.hpp>
// A whole program is made of the mistake, and it adds no second error.
constexpr int width = 6;  // wrong
constexpr int width = 8;  // right
constexpr auto inner = nn::linear<"fc", 16> | nn::gelu | nn::linear<"out", width>;
constexpr auto model = repeat<3, "block">([](auto) { return ckpt<"ff">(nn::residual(inner)); }) | nn::linear<"head", 5>;
constexpr auto logits = input<"x", 4, 8> | model;
constexpr auto classes = labels<"y", 5, 4>;
constexpr auto loss = cross_entropy(logits, classes);
using train_step = program<outputs(loss, accuracy(logits, classes)), freeze<"head">>;
static_assert(train_step::memory().peak_bytes <= 1_MiB && train_step::flops().total() >= 0);

void run(train_step& step, const data::dataset& set) {
  train::loop loop{step, {.epochs = 2, .folder = "run", .average = "average"}};
  loop([&](int epoch) { return data::batches<4>(set, seed{1}, epoch); },
       [&](double, const auto& b) { 
         return std::get<0>(step.value_and_grad(bind<"x">(b.images), bind<"y">(b.labels)));
       },
       [&] {
         predictor<outputs(loss, accuracy(logits, classes))> judge{step};
         const auto [x, y] = *data::batches<4>(set).begin();
         const auto [value, right] = judge(bind<"x">(x), bind<"y">(y));
         return right / 10 - 2 * value;
       });
}

int main() {
  train_step step;
  step.init(seed{42});
  run(step, {});
  step.save("run.safetensors", file::metadata{{"data", "the second half"}});
  const file::metadata texts = step.load("run.safetensors");
  step.load("run.safetensors", partly{"block"});
  adamw optimizer{step, {.lr = 5e-4f}};
  predictor<logits> predict{step};
  std::vector<float> x(4 * 8);
  std::vector<std::int32_t> y(4);
  auto [value, hits] = step.value_and_grad(bind<"x">(x), bind<"y">(y));
  optimizer.update();
  float norm = 0;
  for (float g : step.gradients()) norm += g * g;
  auto w = step.param<"block.0.fc.weight">();
  auto g = step.grad<"block.0.fc.weight">();
  auto out = predict(bind<"x">(x));
  return static_cast<float>(texts.size()) + value + hits + norm + w(1, 2) + g(1, 2) + out(3, 4) > 0;
}

// shared: the cases that make a loss
// here
static_assert(an_expression<decltype(loss)>);

// case: shape-mismatch-argmax
// says: the argument has no such axes
// shows: operation<cairn::fixed_string<10>\{"argmax\(x\)"\}, float ?\[4\]\[6\]>
// shows: axes<-3>
constexpr int axis = -3;  // wrong
constexpr int axis = -2;  // right
constexpr auto loss = sum(one_hot(argmax<axis>(param<"x", 4, 6>)));

// case: shape-mismatch-axis
// says: the argument has no such axes
// shows: operation<cairn::fixed_string<4>\{"sum"\}, float ?\[4\]\[6\]>
// shows: axes<2>
constexpr int width = 2;  // wrong
constexpr int width = 1;  // right
constexpr auto y = mean<width>(input<"x", 4, 6>);
constexpr auto loss = sum(y);

// case: shape-mismatch-axis-twice
// says: the argument has no such axes: .*, and each is named once
// shows: operation<cairn::fixed_string<5>\{"flip"\}, float ?\[4\]\[6\]>
// shows: axes<1, -1>
constexpr int other = -1;  // wrong
constexpr int other = -2;  // right
constexpr auto loss = mean(flip<1, other>(input<"x", 4, 6>));

// case: shape-mismatch-class-weights
// says: cross_entropy\(logits, labels, weights, row_weights\) takes weights \{classes\}, then
// shows: operation<cairn::fixed_string<14>\{"cross_entropy"\}|cross_entropy\(logits, ?classes,
// shows: float ?\[32\]\[10\], int ?\[32\], float ?\[32\], float>
constexpr auto logits = input<"logits", 32, 10>;
constexpr auto classes = labels<"classes", 10, 32>;
constexpr auto weights = input<"w", 32>;
constexpr auto loss = cross_entropy(logits, classes, weights);       // wrong
constexpr auto loss = cross_entropy(logits, classes, 1_c, weights);  // right

// case: shape-mismatch-cholesky
// says: cholesky takes square matrices \{..., n, n\}
// shows: operation<cairn::fixed_string<\d+>\{"cholesky\(a\)"\}, float ?\[5\]\[4\]\[3\]>
constexpr int columns = 3;  // wrong
constexpr int columns = 4;  // right
constexpr auto loss = sum(cholesky(input<"a", 5, 4, columns>));

// case: shape-mismatch-cosine-embedding-loss
// says: cosine_embedding_loss takes two arrays \{\.\.\., D\} of equal shape, and targets \{\.\.\.\}, one a row
// shows: float ?\[4\]\[8\], float ?\[4\]\[8\], float ?\[4\]\[1\]
constexpr auto x = input<"x", 4, 8>;
constexpr auto alike = input<"alike", 4, 1>;  // wrong
constexpr auto alike = input<"alike", 4>;     // right
constexpr auto loss = cosine_embedding_loss(x, tanh(x), alike);

// case: shape-mismatch-cosine-similarity
// says: cosine_similarity takes \{\.\.\., D\} and \{\.\.\., D\}, whose leading axes broadcast
// shows: float ?\[4\]\[8\], float ?\[4\]\[1\]
constexpr int width = 1;  // wrong
constexpr int width = 8;  // right
constexpr auto loss = mean(cosine_similarity(input<"x", 4, 8>, input<"y", 4, width>));

// case: shape-mismatch-concatenate-many
// says: extents must be equal but along the joined axis, which all must have
// shows: fact::in<cairn::fixed_string<5>\{"many"\}>
// shows: operation<cairn::fixed_string<30>\{"concatenate\(argument 0, more\)"\}, float ?\[4\], float ?\[4\]\[1\]>
// shows: axes<0>
// The note shows the first argument and the argument that does not fit it.
constexpr auto more = param<"more", 4, 1>;  // wrong
constexpr auto more = param<"more", 4>;     // right
constexpr auto many = [](auto x) { return concatenate<0>(x, exp(x), tanh(x), square(x), more, -x); };
constexpr auto loss = sum(input<"x", 4> | block<"many">(many));

// case: shape-mismatch-concatenate
// says: extents must be equal but along the joined axis, which all must have
// shows: fact::in<cairn::fixed_string<14>\{"block\.0\.dense"\}>
// shows: operation<cairn::fixed_string<30>\{"concatenate\(argument 0, more\)"\}, float ?\[8\]\[16\], float ?\[4\]\[16\]>
// shows: axes<-1>
constexpr int rows = 4;  // wrong
constexpr int rows = 8;  // right
constexpr auto dense = layer([](auto h) { return concatenate<-1>(h, param<"more", rows, 16>); });
constexpr auto unit = ckpt<"dense">(dense | nn::gelu | nn::linear<"down", 16>);
constexpr auto model = repeat<12, "block">([](auto) { return unit; }) | nn::linear<"head", 4>;
constexpr auto loss = cross_entropy(input<"x", 8, 16> | model, labels<"y", 4, 8>);

// case: shape-mismatch-cumsum
// says: the argument has no such axes
// shows: operation<cairn::fixed_string<10>\{"cumsum\(x\)"\}, float ?\[4\]\[6\]>, .*axes<2>
constexpr int axis = 2;  // wrong
constexpr int axis = 1;  // right
constexpr auto loss = sum(cumsum<axis>(input<"x", 4, 6>));

// case: shape-mismatch-einsum-huge
// says: einsum joins axes to the rows and columns of matrices.* take matmul
// shows: operation<cairn::fixed_string<7>\{"einsum"\}, float ?\[65536\]\[65536\]\[4\], float ?\[4\]\[6\]>
constexpr auto loss = einsum<"abj,jk->abk">(input<"x", 65536, 65536, 4>, input<"y", 4, 6>);  // wrong
constexpr auto loss = matmul(input<"x", 65536, 65536, 4>, input<"y", 4, 6>);                 // right

// case: shape-mismatch-einsum
// says: einsum has a letter for each axis, and axes with the same letter have equal extents
// shows: operation<cairn::fixed_string<7>\{"einsum"\}, float ?\[3\]\[5\], float ?\[4\]\[6\]>
// shows: letters<cairn::fixed_string<10>\{"ij,jk->ik"\}>
constexpr int inner = 5;  // wrong
constexpr int inner = 4;  // right
constexpr auto loss = sum(einsum<"ij,jk->ik">(input<"x", 3, inner>, input<"y", 4, 6>));

// case: shape-mismatch-extents-linear
// says: a tensor has at most 6 extents, each a positive constant below 2\^31, that of the batch too
// shows: fact::in<cairn::fixed_string<19>\{"block\.0\.seg\.mlp\.up"\}>
// shows: operation<cairn::fixed_string<7>\{"linear"\}, float ?\[8\]\[16\]
// shows: fact::extents<0>
constexpr auto unit = block<"mlp">(nn::linear<"up", 0> | nn::relu);   // wrong
constexpr auto unit = block<"mlp">(nn::linear<"up", 16> | nn::relu);  // right
constexpr auto model = repeat<12, "block">([](auto) { return ckpt<"seg">(unit); }) | nn::linear<"head", 4>;
constexpr auto loss = cross_entropy(input<"x", 8, 16> | model, labels<"y", 4, 8>);

// case: shape-mismatch-extents-parameter
// says: a tensor has at most 6 extents, each a positive constant below 2\^31, that of the batch too
// shows: fact::in<cairn::fixed_string<2>\{"w"\}>
// shows: fact::extents<0>
constexpr auto w = param<"w", 0>;   // wrong
constexpr auto w = param<"w", 16>;  // right
constexpr auto loss = mean(input<"x", 8, 16> * w);

// case: shape-mismatch-extents
// says: a tensor has at most 6 extents, each a positive constant below 2\^31, that of the batch too
// shows: fact::in<cairn::fixed_string<2>\{"x"\}>
// shows: fact::extents<-1, 16>
constexpr auto x = input<"x", -1, 16>;  // wrong
constexpr auto x = input<"x", 8, 16>;   // right
constexpr auto model = nn::linear<"in", 16> | nn::relu | nn::linear<"head", 4>;
constexpr auto loss = cross_entropy(x | model, labels<"y", 4, 8>);

// case: shape-mismatch-extents-random
// says: a tensor has at most 6 extents, each a positive constant below 2\^31, that of the batch too
// shows: fact::in<cairn::fixed_string<4>\{"eps"\}>
// shows: fact::extents<8, 0>
constexpr auto eps = random_normal<"eps", 8, 0>;   // wrong
constexpr auto eps = random_normal<"eps", 8, 16>;  // right
constexpr auto loss = mean(input<"x", 8, 16> * param<"w", 16> + eps);

// case: shape-mismatch-dropout2d
// says: this layer takes \{\.\.\., rows, features\}; reshape its argument
// shows: fact::in<cairn::fixed_string<2>\{"d"\}>
// shows: operation<cairn::fixed_string<\d+>\{"dropout2d"\}, float ?\[16\]>
constexpr auto rows = input<"x", 16>;     // wrong
constexpr auto rows = input<"x", 8, 16>;  // right
constexpr auto loss = mean(rows * param<"w", 16> | nn::dropout2d<"d">);

// case: shape-mismatch-extents-of-parts
// says: a tensor has at most 6 extents, each a positive constant below 2\^31, that of the batch too
// shows: fact::input<cairn::fixed_string<2>\{"x"\}>
// shows: operation<cairn::fixed_string<16>\{"the whole batch"\}>
// shows: fact::extents<2147483648>
constexpr auto loss = mean(square(input<"x", 1024, 4> | nn::linear<"head", 4>));
static_assert(detail::checked<loss, microbatch<2'097'152>>());  // wrong
static_assert(detail::checked<loss, microbatch<2'097'151>>());  // right

// case: shape-mismatch-extents-of-shards
// says: a tensor has at most 6 extents, each a positive constant below 2\^31, that of the batch too
// shows: fact::input<cairn::fixed_string<2>\{"x"\}>
// shows: fact::extents<70368744177664>
constexpr auto loss = mean(square(input<"x", 1024, 4> | nn::linear<"head", 4>));
static_assert(detail::checked<loss, shards<65536>, microbatch<up_to<1'048'576>>>());  // wrong
static_assert(detail::checked<loss, shards<65536>, microbatch<up_to<16>>>());         // right

// case: shape-mismatch-flip
// says: the argument has no such axes
// shows: operation<cairn::fixed_string<5>\{"flip"\}, float ?\[4\]\[6\]>, .*axes<0, 2>
constexpr int axis = 2;  // wrong
constexpr int axis = 1;  // right
constexpr auto loss = sum(flip<0, axis>(input<"x", 4, 6>));

// case: shape-mismatch-gather-along-argtopk
// says: gather_along<Axis> and scatter_add_along<Axis> take indices with the extents of x on all other axes
// shows: operation<cairn::fixed_string<25>\{"gather_along\(x, argtopk\)"\}, float ?\[4\]\[8\], int ?\[4\]\[3\]>
constexpr int axis = 0;  // wrong
constexpr int axis = 1;  // right
constexpr auto x = input<"x", 4, 8>;
constexpr auto loss = sum(gather_along<axis>(x, argtopk<3>(x)));

// case: shape-mismatch-gather-along-bound
// says: indices may lie outside of what they index
// shows: operation<cairn::fixed_string<13>\{"gather_along"\}, float ?\[4\]\[8\], int ?\[4\]\[3\]>
// shows: bound<9>
constexpr int bound = 9;  // wrong
constexpr int bound = 8;  // right
constexpr auto loss = sum(gather_along<1>(input<"x", 4, 8>, indices<"at", bound, 4, 3>));

// case: shape-mismatch-gather-along
// says: gather_along<Axis> and scatter_add_along<Axis> take indices with the extents of x on all other axes
// shows: operation<cairn::fixed_string<20>\{"gather_along\(x, at\)"\}, float ?\[4\]\[8\], int ?\[2\]\[3\]>
// shows: axes<1>
constexpr int rows = 2;  // wrong
constexpr int rows = 4;  // right
constexpr auto loss = sum(gather_along<1>(input<"x", 4, 8>, indices<"at", 8, rows, 3>));

// case: shape-mismatch-gather-bound
// says: indices may lie outside of what they index
// shows: fact::in<cairn::fixed_string<15>\{"block\.0\.lookup"\}>
// shows: operation<cairn::fixed_string<7>\{"gather"\}, float ?\[255\]\[8\], int ?\[4\]\[3\]>
// shows: bound<256>
constexpr int rows = 255;  // wrong
constexpr int rows = 256;  // right
// The bound is known in a body, too.
constexpr auto looked_up = [](auto at) { return tanh(gather<0>(param<"table", rows, 8>, transpose(at))); };
constexpr auto embed = block<"block.0">(ckpt<"lookup", allow_useless>(layer(looked_up)));
constexpr auto loss = sum(indices<"tokens", 256, 3, 4> | embed);

// case: shape-mismatch-gather-rank
// says: gather<Axis>\(table, indices\).*at most 6 axes are left
// shows: operation<cairn::fixed_string<18>\{"gather\(table, at\)"\}, float ?\[8\]\[2\]\[2\], int ?\[2\]\[2\]\[2\]\[2\]\[2\]>
constexpr auto at = indices<"at", 8, 2, 2, 2, 2, 2>;
constexpr auto rows = gather<0>(param<"table", 8, 2, 2>, at);               // wrong
constexpr auto rows = gather<0>(param<"table", 8, 2, 2>, reshape<32>(at));  // right
constexpr auto loss = sum(rows);

// case: shape-mismatch-gather-unbounded
// says: indices may lie outside of what they index
// shows: they need a bound of at most its extent
constexpr auto at = indices<"at", 8, 4>;
constexpr auto rows = gather<0>(param<"table", 8, 2>, as<std::int32_t>(as_real(at) * 2_c));  // wrong
constexpr auto rows = gather<0>(param<"table", 8, 2>, at);                                   // right
constexpr auto loss = sum(rows);

// case: shape-mismatch-gather
// says: gather<Axis>\(table, indices\) puts the extents of the indices in place of that axis
// shows: operation<cairn::fixed_string<18>\{"gather\(table, at\)"\}, float ?\[16\]\[8\], int ?\[4\]\[3\]>
// shows: axes<2>
constexpr int axis = 2;  // wrong
constexpr int axis = 1;  // right
constexpr auto loss = sum(gather<axis>(param<"table", 16, 8>, indices<"at", 8, 4, 3>));

// case: shape-mismatch-ignored-labels
// says: indices may lie outside of what they index
// shows: operation<cairn::fixed_string<14>\{"cross_entropy"\}, int ?\[32\]>, cairn::fact::bound<256>
constexpr nn::cross_entropy_options how{.ignore_index = 254};  // wrong
constexpr nn::cross_entropy_options how{.ignore_index = 255};  // right
constexpr auto loss = cross_entropy<how>(input<"logits", 32, 10>, labels<"classes", 256, 32>);

// case: shape-mismatch-linear
// says: this layer takes .*rows, features
// shows: fact::in<cairn::fixed_string<3>\{"fc"\}>
// shows: operation<cairn::fixed_string<7>\{"linear"\}, float ?\[8\]>
constexpr auto x = input<"x", 8>;     // wrong
constexpr auto x = input<"x", 1, 8>;  // right
constexpr auto loss = mean(x | nn::linear<"fc", 3>);

// case: shape-mismatch-long-path
// says: extents, from the last on, must be equal or 1
// shows: fact::in<cairn::fixed_string<16>\{"encoder\.layer\.7"\}, cairn::fixed_string<22>\{"self_attention\.scores"\}>
// shows: operation<cairn::fixed_string<23>\{"mul\(argument 0, scale\)"\}, float ?\[4\]\[8\], float ?\[4\]\[9\]>
constexpr int width = 9;  // wrong
constexpr int width = 8;  // right
// Parts of a path that clang would cut are shown separately.
constexpr auto scale = [](auto x) { return x * param<"scale", 4, width>; };
constexpr auto attention = ckpt<"self_attention.scores">(scale);
constexpr auto y = input<"x", 4, 8> | block<"encoder.layer.7">(attention);
constexpr auto loss = mean(y);

// case: shape-mismatch-matmul
// says: matrices must be \{\.\.\., m, k\} and \{\.\.\., k, n\}
// shows: operation<cairn::fixed_string<13>\{"matmul\(x, w\)"\}, float ?\[4\]\[3\], float ?\[7\]\[2\]>
constexpr int width = 7;  // wrong
constexpr int width = 3;  // right
// The message shows {7, 2}, as the user wrote it.
constexpr auto y = matmul(input<"x", 4, 3>, transpose(param<"w", 2, width>));
constexpr auto loss = mean(transpose(y));

// case: shape-mismatch-max
// says: the argument has no such axes
// shows: operation<cairn::fixed_string<4>\{"max"\}, float ?\[4\]\[6\]>
// shows: axes<2>
constexpr int axis = 2;  // wrong
constexpr int axis = 1;  // right
constexpr auto loss = sum(max<axis>(param<"x", 4, 6>));

// case: shape-mismatch-mse
// says: the shapes must be equal
// shows: operation<cairn::fixed_string<16>\{"mse\(fc, wanted\)"\}, float ?\[4\]\[3\], float ?\[4\]\[1\]>
constexpr int width = 1;  // wrong: would broadcast
constexpr int width = 3;  // right
constexpr auto loss = mse(input<"x", 4, 8> | nn::linear<"fc", 3>, input<"wanted", 4, width>);

// case: shape-mismatch-one-hot
// says: one_hot adds an axis as long as the bound of its indices
// shows: operation<cairn::fixed_string<12>\{"one_hot\(as\)"\}, int ?\[4\]>
constexpr auto at = indices<"at", 8, 4>;
constexpr auto ones = one_hot(as<std::int32_t>(as_real(at) * 2_c));  // wrong
constexpr auto ones = one_hot(at);                                   // right
constexpr auto loss = sum(ones);

// case: shape-mismatch-pad
// says: pad<axis, before, after>\(x\) puts so many zeros around an axis that exists
// shows: operation<cairn::fixed_string<4>\{"pad"\}, float ?\[4\]\[6\]>, .*pad<1, -1, 2>
constexpr int before = -1;  // wrong
constexpr int before = 1;   // right
constexpr auto loss = sum(pad<1, before, 2>(input<"x", 4, 6>));

// case: shape-mismatch-placed-bound
// says: indices may lie outside of what they index
// shows: operation<cairn::fixed_string<7>\{"placed"\}, float ?\[8\]\[4\], int ?\[1\], float ?\[3\]\[4\]>
// shows: bound<8>
// Three rows need a beginning below 6.
constexpr auto at = indices<"at", 8, 1>;  // wrong
constexpr auto at = indices<"at", 6, 1>;  // right
constexpr auto loss = sum(placed<0>(input<"table", 8, 4>, at, input<"rows", 3, 4>));

// case: shape-mismatch-placed
// says: placed<Axis>\(table, index, rows\) takes one index
// shows: operation<cairn::fixed_string<23>\{"placed\(table, at, row\)"\}, float ?\[8\]\[4\], int, float ?\[4\]>
// shows: axes<0>
constexpr auto row = input<"row", 4>;     // wrong
constexpr auto row = input<"row", 1, 4>;  // right
constexpr auto loss = sum(placed<0>(param<"table", 8, 4>, indices<"at", 8>, row));

// case: shape-mismatch-rank-layer
// says: the shapes must be equal; change the argument that differs
// shows: operation<cairn::fixed_string<11>\{"mse\(fc, x\)"\}, float ?\[4\]\[4\]\[6\], float ?\[4\]\[6\]>
// shows: axes_come_from<cairn::fixed_string<6>\{"slope"\}>
constexpr auto slope = param<"slope", 4, 1, 1>;  // wrong
constexpr auto slope = param<"slope", 4, 1>;     // right
constexpr auto x = input<"x", 4, 6>;
constexpr auto scaled = layer([](auto h) { return h * slope; });
constexpr auto loss = mse(ckpt<"scale">(scaled, x) | nn::linear<"fc", 6>, x);

// case: shape-mismatch-rank
// says: logits \{..., classes\} take labels<"name", classes, ...>, one a row
// shows: operation<cairn::fixed_string<14>\{"cross_entropy"\}, float ?\[16\]\[8\]\[16\], int ?\[8\]>
// shows: axes_come_from<cairn::fixed_string<7>\{"column"\}>
constexpr auto column = param<"column", 16, 1, 1>;  // wrong
constexpr auto column = param<"column", 16>;        // right
constexpr auto gated = [](auto h, auto y) { return cross_entropy(gelu(tanh(column + h) * 2_c), y); };
constexpr auto loss = block<"gate">(gated, input<"x", 8, 16>, labels<"y", 16, 8>);

// case: shape-mismatch-prelu
// says: prelu\(x, weight\) takes x \{..., channels\} and a weight \{1\} or \{channels\}
// shows: operation<cairn::fixed_string<12>\{"prelu\(x, w\)"\}, float ?\[4\]\[6\], float ?\[4\]>
constexpr auto weight = param<"w", 4>;  // wrong
constexpr auto weight = param<"w", 6>;  // right
constexpr auto loss = sum(prelu(input<"x", 4, 6>, weight));

// case: shape-mismatch-repeat-values
// says: extents, from the last on, must be equal or 1
// shows: fact::in<cairn::fixed_string<6>\{"net\.1"\}>
// shows: operation<cairn::fixed_string<28>\{"add\(argument 0, argument 1\)"\}, float ?\[4\]\[8\], float ?\[4\]\[2\]>
// The second step cannot read what the first returns.
constexpr auto step = [](auto a, auto b) {
  return std::tuple{a + b, slice<1, 0, 2>(b)};  // wrong
  return std::tuple{a + b, slice<1, 0, 8>(b)};  // right
};
constexpr auto both = repeat<4, "net">([](auto) { return step; }, input<"a", 4, 8>, input<"b", 4, 8>);
constexpr auto loss = mean(std::get<0>(both)) + mean(std::get<1>(both));

// case: shape-mismatch-repeat
// says: matrices must be
// shows: fact::in<cairn::fixed_string<12>\{"cell\.0\.step"\}>
// shows: operation<cairn::fixed_string<22>\{"matmul\(argument 0, w\)"\}, float ?\[4\]\[8\], float ?\[7\]\[8\]>
constexpr int width = 7;  // wrong
constexpr int width = 8;  // right
constexpr auto step = [](auto x) { return tanh(matmul(x, param<"w", width, 8>)); };
constexpr auto y = input<"x", 4, 8> | repeat<3, "cell">([](auto) { return ckpt<"step">(step); });
constexpr auto loss = mean(y * y);

// case: shape-mismatch-reshape
// says: reshape keeps the number of elements
// shows: operation<cairn::fixed_string<11>\{"reshape\(x\)"\}, float ?\[4\]\[6\]>
// shows: result<float ?\[5\]\[5\]>
constexpr int width = 5;  // wrong
constexpr int width = 4;  // right
constexpr auto y = reshape<width, width == 5 ? 5 : -1>(input<"x", 4, 6>);
constexpr auto loss = mean(y * y);

// case: shape-mismatch-roll
// says: the argument has no such axes: they count from 0, or backward from -1
// shows: operation<cairn::fixed_string<8>\{"roll\(x\)"\}, float ?\[4\]\[6\]>, cairn::fact::axes<2>
constexpr int axis = 2;   // wrong
constexpr int axis = -2;  // right
constexpr auto loss = sum(roll<axis, 1>(input<"x", 4, 6>));

// case: shape-mismatch-scatter-add-along
// says: gather_along<Axis> and scatter_add_along<Axis> take indices.*, and values like indices
// shows: operation<cairn::fixed_string<28>\{"scatter_add_along\(x, at, v\)"\}, float ?\[4\]\[8\], int ?\[4\]\[3\], float ?\[4\]\[2\]>
// shows: axes<1>
constexpr int columns = 2;  // wrong
constexpr int columns = 3;  // right
constexpr auto x = input<"x", 4, 8>;
constexpr auto loss = sum(scatter_add_along<1>(x, indices<"at", 8, 4, 3>, param<"v", 4, columns>));

// case: shape-mismatch-shift
// says: the argument has no such axes: they count from 0, or backward from -1
// shows: fact::in<cairn::fixed_string<6>\{"inner"\}>
// shows: operation<cairn::fixed_string<11>\{"shift\(sum\)"\}, float>, cairn::fact::axes<0>
// A scalar has no axis.
constexpr auto steepest = layer([](auto u) {
  const auto of = sum(u);  // wrong
  const auto of = u;       // right
  return of - nn::shift<0, 1, nn::edge::nearest>(of);
});
constexpr auto loss = sum(input<"u", 8> | block<"inner">(steepest));

// case: shape-mismatch-slice-axis
// says: a slice is one or more elements \[begin, end\) of an axis that exists
// shows: operation<cairn::fixed_string<9>\{"slice\(x\)"\}, float ?\[4\]\[6\]>
// shows: slice<2, 0, 4>
constexpr int axis = 2;   // wrong
constexpr int axis = -1;  // right
constexpr auto loss = mean(slice<axis, 0, 4>(input<"x", 4, 6>));

// case: shape-mismatch-slice-reversed
// says: a slice is one or more elements \[begin, end\) of an axis that exists
// shows: fact::in<cairn::fixed_string<5>\{"cell"\}>
// shows: operation<cairn::fixed_string<13>\{"slice\(gates\)"\}, float ?\[8\]\[24\]>
// shows: slice<-1, 12, -12>
constexpr int begin = 12;  // wrong
constexpr int begin = 0;   // right
constexpr auto cell = [](auto h) {
  const auto gates = h | nn::linear<"gates", 24>;
  return sigmoid(slice<-1, begin, -12>(gates)) * tanh(slice<-1, 12, 24>(gates));
};
constexpr auto loss = cross_entropy(ckpt<"cell">(cell, input<"x", 8, 16>) | nn::linear<"head", 4>, labels<"y", 4, 8>);

// case: shape-mismatch-slice
// says: a slice is one or more elements \[begin, end\) of an axis that exists
// shows: operation<cairn::fixed_string<9>\{"slice\(x\)"\}, float ?\[4\]\[6\]>
// shows: slice<1, 4, 7>
constexpr int end = 7;  // wrong
constexpr int end = 6;  // right
constexpr auto y = slice<1, 4, end>(input<"x", 4, 6>);
constexpr auto loss = mean(y * y);

// case: shape-mismatch-solve
// says: solve takes matrices \{..., n, n\} and right-hand sides \{..., n, k\} with equal leading axes
// shows: operation<cairn::fixed_string<\d+>\{"solve\(a, b\)"\}, float ?\[5\]\[4\]\[4\], float ?\[5\]\[4\]>
constexpr auto b = input<"b", 5, 4>;                 // wrong
constexpr auto b = unsqueeze<-1>(input<"b", 5, 4>);  // right
constexpr auto loss = sum(solve(input<"a", 5, 4, 4>, b));

// case: shape-mismatch-soft-cross-entropy
// says: this loss compares two arrays \{\.\.\., classes\} of equal shape
// shows: operation<cairn::fixed_string<\d+>\{"soft_cross_entropy\(x, soft\)"\}, float ?\[8\]\[4\], float ?\[4\]>
constexpr auto soft = input<"soft", 4>;     // wrong: would broadcast
constexpr auto soft = input<"soft", 8, 4>;  // right
constexpr auto loss = soft_cross_entropy(input<"x", 8, 4>, soft);

// case: shape-mismatch-sort
// says: the argument has no such axes
// shows: operation<cairn::fixed_string<8>\{"sort\(x\)"\}, float ?\[4\]\[6\]>, .*axes<-3>
constexpr int axis = -3;  // wrong
constexpr int axis = -2;  // right
constexpr auto loss = sum(sort<axis>(input<"x", 4, 6>, descending));

// case: shape-mismatch-split
// says: split<axis, n>\(x\) takes n equal parts of an axis that exists
// shows: fact::in<cairn::fixed_string<10>\{"attention"\}>
// shows: operation<cairn::fixed_string<6>\{"split"\}, float ?\[4\]\[8\]>, .*axes<-1>, .*parts<3>
constexpr int width = 8;  // wrong
constexpr int width = 9;  // right
constexpr auto parts = layer([](auto x) {
  const auto [q, k, v] = split<-1, 3>(x | nn::linear<"qkv", width>);
  return q * k + v;
});
constexpr auto loss = sum(input<"x", 4, 6> | block<"attention">(parts));

// case: shape-mismatch-squeeze
// says: squeeze<axis>\(x\) removes axes that exist and have extent 1
// shows: operation<cairn::fixed_string<8>\{"squeeze"\}, float ?\[4\]\[1\]\[6\]>, .*axes<0>
constexpr int axis = 0;  // wrong
constexpr int axis = 1;  // right
constexpr auto loss = sum(squeeze<axis>(input<"x", 4, 1, 6>));

// case: shape-mismatch-stack-axis
// says: stack<axis> and unsqueeze<axis> make a new axis, from 0 to the number of axes there are
// shows: operation<cairn::fixed_string<6>\{"stack"\}, float ?\[4\]\[6\]>, .*axes<3>
constexpr int axis = 3;  // wrong
constexpr int axis = 2;  // right
constexpr auto loss = sum(stack<axis>(input<"x", 4, 6>, input<"y", 4, 6>));

// case: shape-mismatch-stack
// says: the shapes must be equal
// shows: operation<cairn::fixed_string<6>\{"stack"\}, float ?\[4\]\[6\], float ?\[4\]\[1\]>
constexpr int columns = 1;  // wrong
constexpr int columns = 6;  // right
constexpr auto x = input<"x", 4, 6>;
constexpr auto loss = sum(stack<0>(x, x, input<"y", 4, columns>, x));

// case: shape-mismatch-tile
// says: tile<2, 3>\(x\) repeats each axis at least once
// shows: operation<cairn::fixed_string<5>\{"tile"\}, float ?\[4\]\[6\]>, .*extents<0, 1>
constexpr int times = 0;  // wrong
constexpr int times = 2;  // right
constexpr auto loss = sum(tile<times, 1>(input<"x", 4, 6>));

// case: shape-mismatch-top
// says: extents, from the last on, must be equal or 1
// shows: operation<cairn::fixed_string<13>\{"add\(x, bias\)"\}, float ?\[4\]\[3\], float ?\[5\]>
constexpr int width = 5;  // wrong
constexpr int width = 3;  // right
constexpr auto x = input<"x", 4, 3>;
constexpr auto y = x + param<"bias", width>;
constexpr auto loss = mean(square(relu(y) - 0.5_c * y) + mse(x, y));

// case: shape-mismatch-topk
// says: the argument has no such axes
// shows: operation<cairn::fixed_string<8>\{"topk\(x\)"\}, float ?\[4\]\[6\]>, .*axes<2>
constexpr int axis = 2;  // wrong
constexpr int axis = 1;  // right
constexpr auto loss = sum(topk<3, axis>(input<"x", 4, 6>));

// case: shape-mismatch-transpose
// says: transpose<...> names every axis once
// shows: operation<cairn::fixed_string<13>\{"transpose\(x\)"\}, float ?\[4\]\[6\]>
// shows: axes<1, 1>
constexpr int width = 1;  // wrong
constexpr int width = 0;  // right
constexpr auto loss = mean(transpose<1, width>(input<"x", 4, 6>));

// case: shape-mismatch-transpose-of-torch
// says: transpose<...> names every axis once, from 0 on, in a new order: .*; transpose\(x\) swaps the last two
// shows: operation<cairn::fixed_string<\d+>\{"transpose.*float ?\[4\]\[4\]>
// shows: axes<0, 1>
constexpr auto loss = mean(transpose<0, 1>(input<"x", 4, 4>));  // wrong
constexpr auto loss = mean(transpose<1, 0>(input<"x", 4, 4>));  // right

// case: shape-mismatch-triplet-loss
// says: triplet_loss takes three arrays \{\.\.\., D\} of equal shape
// shows: float ?\[4\]\[8\], float ?\[4\]\[8\], float ?\[8\]
constexpr auto x = input<"x", 4, 8>;
constexpr auto loss = triplet_loss(x, sin(x), input<"other", 8>);     // wrong
constexpr auto loss = triplet_loss(x, sin(x), input<"other", 4, 8>);  // right

// case: shape-mismatch-unsqueeze
// says: stack<axis> and unsqueeze<axis> make a new axis, from 0
// shows: operation<cairn::fixed_string<10>\{"unsqueeze"\}, float ?\[4\]\[6\]>, .*axes<3>
constexpr int axis = 3;   // wrong
constexpr int axis = -3;  // right
constexpr auto loss = sum(unsqueeze<axis>(input<"x", 4, 6>));

// case: silent-results-get
// says: extents, from the last on, must be equal or 1
// shows: fact::in<cairn::fixed_string<5>\{"cell"\}>
constexpr auto bias = param<"w", 3>;  // wrong
constexpr auto bias = param<"w", 4>;  // right
// Results that std::get and std::apply take are silent, too.
constexpr auto cell = [](auto h, auto c) { return std::tuple{h + bias, c * h}; };
constexpr auto x = input<"x", 8, 4>;
constexpr auto results = ckpt<"cell">(cell, x, square(x));
constexpr auto together = std::apply([](auto h, auto c) { return mean(h * c); }, results);
constexpr auto loss = mean(std::get<0>(results)) + mean(std::get<1>(results)) + together;

// case: silent-results
// says: extents, from the last on, must be equal or 1
// shows: fact::in<cairn::fixed_string<5>\{"cell"\}>
// shows: operation<cairn::fixed_string<12>\{"add\(add, b\)"\}, float ?\[2\]\[4\], float ?\[5\]>
constexpr int width = 5;  // wrong
constexpr int width = 4;  // right
// The cell is applied again to the results of its mistake, and reads extents.
constexpr auto cell = [](auto x, auto h) {
  constexpr int in = decltype(x)::shape[-1];
  const auto next = tanh(matmul(x, param<"w", in, 4>) + h + param<"b", width>);
  return std::tuple{next, exp(next)};
};
constexpr auto loss = [] {
  auto [y0, h0] = ckpt<"cell">(cell, input<"x0", 2, 3>, input<"h", 2, 4>);
  auto [y1, h1] = ckpt<"cell">(cell, input<"x1", 2, 3>, h0);
  return mean(y0 + y1 * h1);
}();

// shared: the cases that make a result y
// here
static_assert(an_expression<decltype(y)>);

// case: own-operation-rule
// says: the operation does not take these shapes; it has no `rule` that says which
// shows: operation<cairn::fixed_string<12>\{"reversed\(w\)"\}, float ?\[5\]>
namespace own {
using namespace cairn;
struct reversed_op : op {
  static constexpr fixed_string name = "reversed";
  static constexpr shape result(const shape& x) { return x.rank == 2 ? x : no_shape; }
};
}  // namespace own
constexpr auto y = make<own::reversed_op>(param<"w", 5>);     // wrong
constexpr auto y = make<own::reversed_op>(param<"w", 5, 1>);  // right

// case: shape-mismatch-adaptive-max-pool
// says: adaptive pools, as adaptive_avg_pool2d<height, width>\(x\), .* make images of 1 or more pixels
// shows: operation<cairn::fixed_string<20>\{"adaptive_max_pool2d"\}, float ?\[8\]\[5\]\[6\]\[3\]>, .*extents<2, 0>
constexpr int width = 0;  // wrong
constexpr int width = 3;  // right
constexpr auto y = input<"x", 8, 5, 6, 3> | nn::adaptive_max_pool2d<2, width>;

// case: shape-mismatch-adaptive-pool
// says: adaptive pools, as adaptive_avg_pool2d<height, width>\(x\), .* make images of 1 or more pixels
// shows: operation<cairn::fixed_string<20>\{"adaptive_avg_pool2d"\}, float ?\[8\]\[5\]\[6\]\[3\]>, .*extents<0, 2>
constexpr int height = 0;  // wrong
constexpr int height = 3;  // right
constexpr auto y = adaptive_avg_pool2d<height, 2>(input<"x", 8, 5, 6, 3>);

// case: shape-mismatch-attention-depth
// says: attention takes \{N, T, H, D\}, twice \{N, S, h, D\}, h divides H
// shows: fact::in<cairn::fixed_string<\d+>\{"attn"\}>
// shows: float ?\[2\]\[7\]\[4\]\[8\], float ?\[2\]\[9\]\[4\]\[6\], float ?\[2\]\[9\]\[4\]\[6\]
constexpr int depth = 6;  // wrong
constexpr int depth = 8;  // right
constexpr auto f = [](auto q, auto k) { return nn::attention(q, k, k); };
constexpr auto y = ckpt<"attn">(f, input<"q", 2, 7, 4, 8>, input<"k", 2, 9, 4, depth>);

// case: shape-mismatch-attention-heads
// says: attention takes \{N, T, H, D\}, twice \{N, S, h, D\}, h divides H
// shows: operation<cairn::fixed_string<\d+>\{"attention.*"\}, float ?\[2\]\[7\]\[4\]\[8\], float ?\[2\]\[9\]\[3\]\[8\], float ?\[2\]\[9\]\[3\]\[8\]
constexpr int heads = 3;  // wrong
constexpr int heads = 2;  // right
constexpr auto y = nn::attention(input<"q", 2, 7, 4, 8>, input<"k", 2, 9, heads, 8>, input<"v", 2, 9, heads, 8>);

// case: shape-mismatch-attention-mask
// says: attention .* masks fit \{N, H, T, S\}
// shows: float ?\[2\]\[9\]\[4\]\[8\], float ?\[9\]\[7\]>
constexpr auto mask = input<"mask", 9, 7>;  // wrong
constexpr auto mask = input<"mask", 7, 9>;  // right
constexpr auto k = input<"k", 2, 9, 4, 8>;
constexpr auto y = nn::attention(input<"q", 2, 7, 4, 8>, k, k, nn::causal, mask);

// case: shape-mismatch-attention-truth
// says: .* bound
// shows: fact::bound<3>
constexpr int values = 3;  // wrong
constexpr int values = 2;  // right
constexpr auto k = input<"k", 2, 9, 4, 8>;
constexpr auto y = nn::attention(input<"q", 2, 7, 4, 8>, k, k, indices<"mask", values, 7, 9>);

// case: shape-mismatch-batch-norm
// says: this layer takes \{..., rows, features\}; reshape its argument
// shows: fact::in<cairn::fixed_string<9>\{"block.bn"\}>
// shows: operation<cairn::fixed_string<11>\{"batch_norm"\}, float ?\[3\]>
constexpr auto x = input<"x", 3>;     // wrong
constexpr auto x = input<"x", 1, 3>;  // right
constexpr auto y = x | block<"block">(nn::batch_norm<"bn">);

// case: shape-mismatch-conv-transpose2d-layer
// says: groups divide the channels read and the channels made
// shows: fact::in<cairn::fixed_string<\d+>\{"up"\}>
// shows: operation<cairn::fixed_string<\d+>\{"conv_transpose2d"\}, float ?\[8\]\[5\]\[6\]\[4\]>
// shows: stride_pad_dilate_groups<2, 0, 1, 4>
constexpr int groups = 4;  // wrong
constexpr int groups = 2;  // right
constexpr nn::window doubling{.stride = 2, .groups = groups};
constexpr auto y = input<"x", 8, 5, 6, 4> | nn::conv_transpose2d<"up", 6, 2, doubling>;

// case: shape-mismatch-conv-transpose2d-padding
// says: padding leaves nothing of what the transposed filter makes
// shows: fact::in<cairn::fixed_string<3>\{"up"\}>
// shows: operation<cairn::fixed_string<17>\{"conv_transpose2d"\}, float ?\[8\]\[5\]\[6\]\[3\]
// shows: filters<4, 2>, cairn::fact::stride_pad_dilate_groups<1, 3, 1, 1>
constexpr int padding = 3;  // wrong
constexpr int padding = 2;  // right
constexpr auto y = input<"x", 8, 5, 6, 3> | nn::conv_transpose2d<"up", 4, 2, nn::window{.padding = padding}>;

// case: shape-mismatch-conv-transpose2d
// says: images \{N, H, W, C\} take transposed filters \{C, O / groups, rows, columns\}
// shows: operation<cairn::fixed_string<\d+>\{"conv_transpose2d\(x, w\)"\}, float ?\[8\]\[5\]\[6\]\[3\], float ?\[4\]\[3\]\[2\]\[2\]>
constexpr auto w = param<"w", 4, 3, 2, 2>;  // wrong
constexpr auto w = param<"w", 3, 4, 2, 2>;  // right
constexpr auto y = conv_transpose2d<nn::window{.stride = 2}>(input<"x", 8, 5, 6, 3>, w);

// case: shape-mismatch-conv-transpose2d-output-padding
// says: a transposed convolution alone has output_padding, below stride or dilation
// shows: fact::in<cairn::fixed_string<3>\{"up"\}>
// shows: filters<4, 3>, cairn::fact::stride_pad_dilate_groups<2, 1, 1, 1>
constexpr int more = 2;  // wrong
constexpr int more = 1;  // right
constexpr nn::window doubling{.stride = 2, .padding = 1, .output_padding = more};
constexpr auto y = input<"x", 8, 5, 6, 3> | nn::conv_transpose2d<"up", 4, 3, doubling>;

// case: shape-mismatch-conv-transpose1d
// says: rows \{N, L, C\} take transposed filters \{C, O / groups, extent\}
// shows: operation<cairn::fixed_string<\d+>\{"conv_transpose1d\(x, w\)"\}, float ?\[8\]\[5\]\[3\], float ?\[4\]\[3\]\[2\]>
constexpr auto w = param<"w", 4, 3, 2>;  // wrong
constexpr auto w = param<"w", 3, 4, 2>;  // right
constexpr auto y = conv_transpose1d<nn::window{.stride = 2}>(input<"x", 8, 5, 3>, w);

// case: shape-mismatch-conv1d-rank
// says: rows \{N, L, C\} take filters \{O, C / groups, extent\}
// shows: float ?\[8\]\[5\]\[6\]\[3\]
constexpr auto x = input<"x", 8, 5, 6, 3>;  // wrong
constexpr auto x = input<"x", 8, 30, 3>;    // right
constexpr auto y = x | nn::conv1d<"conv1", 12, 3>;

// case: shape-mismatch-conv1d-window
// says: a window over rows \{N, L, C\} has single numbers, because rows have one axis
// shows: fact::in<cairn::fixed_string<6>\{"conv1"\}>
// shows: filters<12, 3>, cairn::fact::stride_pad_dilate_groups<1, 2, 1, 1, 1, 1, 1>
constexpr nn::extents stride{1, 2};  // wrong
constexpr nn::extents stride{2};     // right
constexpr auto y = input<"x", 8, 30, 3> | nn::conv1d<"conv1", 12, 3, nn::window{.stride = stride, .padding = 1}>;

// case: shape-mismatch-conv2d-channels
// says: images \{N, H, W, C\} take filters \{O, C / groups, rows, columns\}
// shows: fact::in<cairn::fixed_string<2>\{"c"\}>
// shows: operation<cairn::fixed_string<\d+>\{"conv2d\(argument 0, w\)"\}, float ?\[8\]\[5\]\[6\]\[3\], float ?\[4\]\[6\]\[3\]\[3\]>
// shows: stride_pad_dilate_groups<2, 1, 1, 1>
constexpr int channels = 6;  // wrong
constexpr int channels = 3;  // right
constexpr auto filtered = [](auto x) {
  return conv2d<nn::window{.stride = 2, .padding = 1}>(x, param<"w", 4, channels, 3, 3>);
};
constexpr auto y = input<"x", 8, 5, 6, 3> | ckpt<"c">(layer(filtered) | nn::relu);

// case: shape-mismatch-conv2d-groups
// says: groups divide the channels read and the channels made
// shows: fact::in<cairn::fixed_string<\d+>\{"conv1"\}>
// shows: stride_pad_dilate_groups<1, 1, 1, 4>
constexpr int groups = 4;  // wrong
constexpr int groups = 3;  // right
constexpr auto y = input<"x", 8, 5, 7, 6> | nn::conv2d<"conv1", 12, 3, nn::window{.padding = 1, .groups = groups}>;

// case: shape-mismatch-conv2d-same
// says: a padding of nn::same takes a stride of 1, in conv2d and conv1d alone
// shows: operation<cairn::fixed_string<13>\{"conv2d\(x, w\)"\}, float ?\[8\]\[5\]\[6\]\[3\]
// shows: stride_pad_dilate_groups<2, -1, 1, 1>
constexpr int stride = 2;  // wrong
constexpr int stride = 1;  // right
constexpr nn::window kept{.stride = stride, .padding = nn::same};
constexpr auto y = conv2d<kept>(input<"x", 8, 5, 6, 3>, param<"w", 4, 3, 2, 2>);

// case: shape-mismatch-conv2d-settings
// says: a window has no stride or padding below 0, and no dilation or groups below 1
// shows: operation<cairn::fixed_string<13>\{"conv2d\(x, w\)"\}, float ?\[8\]\[5\]\[6\]\[3\]
// shows: stride_pad_dilate_groups<1, 0, 1, 0>
constexpr int groups = 0;  // wrong
constexpr int groups = 1;  // right
constexpr auto y = conv2d<nn::window{.groups = groups}>(input<"x", 8, 5, 6, 3>, param<"w", 4, 3, 2, 2>);

// case: shape-mismatch-conv2d-settings-of-pools
// says: ceil_mode and count_include_pad are for pools, not for convolutions
// shows: fact::in<cairn::fixed_string<6>\{"conv1"\}>
// shows: operation<cairn::fixed_string<\d+>\{"conv2d"\}, float ?\[8\]\[5\]\[6\]\[3\]
constexpr nn::window halving{.stride = 2, .ceil_mode = true};  // wrong
constexpr nn::window halving{.stride = 2, .padding = 1};       // right
constexpr auto y = input<"x", 8, 5, 6, 3> | nn::conv2d<"conv1", 8, 2, halving>;

// case: shape-mismatch-conv2d-window
// says: a filter, dilated, is no larger than the image, padded
// shows: fact::in<cairn::fixed_string<\d+>\{"stage.conv1"\}>
// shows: operation<cairn::fixed_string<\d+>\{"conv2d"\}, float ?\[8\]\[5\]\[6\]\[3\]
// shows: stride_pad_dilate_groups<1, 0, 3, 1>
constexpr int dilation = 3;  // wrong
constexpr int dilation = 2;  // right
constexpr auto y = input<"x", 8, 5, 6, 3> | block<"stage">(nn::conv2d<"conv1", 8, 3, nn::window{.dilation = dilation}>);

// case: shape-mismatch-conv2d-huge
// says: the dilated filter and the result have extents below 2\^31
// shows: operation<cairn::fixed_string<\d+>\{"conv2d\(x, w\)"\}, float ?\[8\]\[5\]\[6\]\[3\]
// shows: stride_pad_dilate_groups<1, 2000000000, 1, 1>
constexpr int padding = 2'000'000'000;  // wrong
constexpr int padding = 2;              // right
constexpr auto y = conv2d<nn::window{.padding = padding}>(input<"x", 8, 5, 6, 3>, param<"w", 4, 3, 2, 2>);

// case: shape-mismatch-cross-attention
// says: attention takes \{N, T, H, D\}, twice \{N, S, h, D\}
// shows: fact::in<cairn::fixed_string<5>\{"attn"\}>
// shows: operation<cairn::fixed_string<16>\{"cross_attention"\}, float ?\[2\]\[7\]\[12\], float ?\[3\]\[5\]\[8\]>
constexpr int examples = 3;  // wrong
constexpr int examples = 2;  // right
constexpr auto y = nn::cross_attention<"attn", 4>(input<"x", 2, 7, 12>, input<"memory", examples, 5, 8>);

// case: shape-mismatch-extents-conv2d
// says: a tensor has at most 6 extents, each a positive constant
// shows: fact::in<cairn::fixed_string<\d+>\{"stage.conv1"\}>
// shows: operation<cairn::fixed_string<7>\{"conv2d"\}, float ?\[8\]\[5\]\[6\]\[3\]>, cairn::fact::filters<0, 3>
constexpr int results = 0;  // wrong
constexpr int results = 4;  // right
constexpr auto y = input<"x", 8, 5, 6, 3> | block<"stage">(nn::conv2d<"conv1", results, 3>);

// case: shape-mismatch-flatten
// says: this layer takes \{..., rows, features\}; reshape its argument
// shows: fact::in<cairn::fixed_string<8>\{"flatten"\}>
// shows: operation<cairn::fixed_string<8>\{"flatten"\}, float ?\[90\]>
constexpr auto x = input<"x", 90>;       // wrong
constexpr auto x = input<"x", 5, 6, 3>;  // right
constexpr auto y = x | nn::flatten;

// case: shape-mismatch-generated
// says: a tensor has at most 6 extents, each a positive constant below 2\^31, that of the batch too
// shows: fact::extents<0, 0>
constexpr int positions = 0;  // wrong
constexpr int positions = 8;  // right
constexpr auto y = causal_mask<positions> + zeros<8, 1>;

// case: shape-mismatch-global-average
// says: this takes images \{N, H, W, C\}
// shows: fact::in<cairn::fixed_string<5>\{"head"\}>
// shows: operation<cairn::fixed_string<15>\{"global_average"\}, float ?\[8\]\[30\]\[3\]>
constexpr auto x = input<"x", 8, 30, 3>;    // wrong
constexpr auto x = input<"x", 8, 5, 6, 3>;  // right
constexpr auto y = x | block<"head">(nn::global_average);

// case: shape-mismatch-group-norm
// says: groups divide the channels read and the channels made
// shows: fact::in<cairn::fixed_string<3>\{"gn"\}>
// shows: group_norm.*float ?\[8\]\[5\]\[6\]
// shows: groups<4>
constexpr int groups = 4;  // wrong
constexpr int groups = 3;  // right
constexpr auto y = input<"x", 8, 5, 6> | nn::group_norm<"gn", groups>;

// case: shape-mismatch-group-norm-of-single-numbers
// says: each group of this group_norm is a single number, so all results are the bias
// shows: fact::in<cairn::fixed_string<3>\{"gn"\}>
// shows: group_norm.*float ?\[8\]\[6\]
// shows: groups<6>
constexpr int groups = 6;  // wrong
constexpr int groups = 3;  // right
constexpr auto y = input<"x", 8, 6> | nn::group_norm<"gn", groups>;

// case: shape-mismatch-heads-turned
// says: rotary turns pairs of features: it takes \{..., T, H, D\}, D even
// shows: fact::in<cairn::fixed_string<5>\{"attn"\}>
// shows: operation<cairn::fixed_string<26>\{"rotary\(argument 0, waves\)"\}, float ?\[2\]\[7\]\[4\]\[3\], float ?\[7\]\[3\]>
constexpr int heads = 4;  // wrong
constexpr int heads = 6;  // right
constexpr auto turned = [](auto q, auto k, auto v) { return std::tuple{nn::rotary(q), nn::rotary(k), v}; };
constexpr auto y = nn::self_attention<"attn", heads, nn::causal, turned>(input<"x", 2, 7, 12>);

// case: shape-mismatch-instance-norm
// says: instance_norm takes \{N, L, C\} or \{N, H, W, C\} with more than one pixel for each example
// shows: fact::in<cairn::fixed_string<3>\{"in"\}>
// shows: operation<cairn::fixed_string<14>\{"instance_norm"\}, float ?\[8\]\[6\]>
constexpr auto x = input<"x", 8, 6>;     // wrong
constexpr auto x = input<"x", 8, 2, 6>;  // right
constexpr auto y = x | nn::instance_norm<"in">;

// case: shape-mismatch-interpolate2d
// says: this takes images \{N, H, W, C\}; reshape or transpose the argument
// shows: fact::in<cairn::fixed_string<3>\{"up"\}>
// shows: operation<cairn::fixed_string<14>\{"interpolate2d"\}, float ?\[8\]\[5\]\[6\]>
constexpr auto x = input<"x", 8, 5, 6>;     // wrong
constexpr auto x = input<"x", 8, 5, 6, 1>;  // right
constexpr auto y = x | block<"up">(nn::interpolate2d<9, 9>);

// case: shape-mismatch-layer-norm
// says: this layer takes \{..., rows, features\}; reshape its argument
// shows: fact::in<cairn::fixed_string<9>\{"block.ln"\}>
// shows: operation<cairn::fixed_string<11>\{"layer_norm"\}, float ?\[3\]>
constexpr auto x = input<"x", 3>;     // wrong
constexpr auto x = input<"x", 1, 3>;  // right
constexpr auto y = x | block<"block">(nn::layer_norm<"ln">);

// case: shape-mismatch-pool-padding
// says: a window<extent, stride, padding, dilation> lies in the padded image
// shows: operation<cairn::fixed_string<14>\{"avg_pool2d\(x\)"\}, float ?\[8\]\[5\]\[6\]\[3\]>
// shows: window<3, 2, 2, 1>
constexpr int padding = 2;  // wrong
constexpr int padding = 1;  // right
constexpr auto y = avg_pool2d<3, nn::window{.stride = 2, .padding = padding}>(input<"x", 8, 5, 6, 3>);

// case: shape-mismatch-pool-huge
// says: .* padding is at most half of extent
// shows: window<3, 2, 2000000000, 1>
constexpr int padding = 2'000'000'000;  // wrong
constexpr int padding = 1;              // right
constexpr auto y = max_pool2d<3, nn::window{.stride = 2, .padding = padding}>(input<"x", 8, 5, 6, 3>);

// case: shape-mismatch-pool-window
// says: a window<extent, stride, padding, dilation> lies in the padded image
// shows: fact::in<cairn::fixed_string<5>\{"down"\}>
// shows: operation<cairn::fixed_string<23>\{"max_pool2d\(argument 0\)"\}, float ?\[8\]\[5\]\[6\]\[3\]>
// shows: window<6, 6, 0, 1>
constexpr int extent = 6;  // wrong
constexpr int extent = 5;  // right
constexpr auto y = input<"x", 8, 5, 6, 3> | block<"down">(nn::max_pool2d<extent>);

// case: shape-mismatch-prelu-layer
// says: prelu\(x, weight\) takes x \{..., channels\} and a weight \{1\} or \{channels\}
// shows: fact::in<cairn::fixed_string<4>\{"act"\}>
// shows: operation<cairn::fixed_string<6>\{"prelu"\}, float ?\[4\]\[6\]>, .*extents<4>
constexpr int parameters = 4;  // wrong
constexpr int parameters = 6;  // right
constexpr auto y = input<"x", 4, 6> | nn::prelu<"act", parameters>;

// case: shape-mismatch-recurrent
// says: a recurrent layer takes \{N, T, features\}, and its cell \{N, features\}
// shows: fact::in<cairn::fixed_string<11>\{"block.lstm"\}>
// shows: operation<cairn::fixed_string<5>\{"lstm"\}, float ?\[8\]\[3\]>
constexpr auto x = input<"x", 8, 3>;     // wrong
constexpr auto x = input<"x", 8, 5, 3>;  // right
constexpr auto y = x | block<"block">(nn::lstm<"lstm", 4>);

// case: shape-mismatch-reshape-axes
// says: a tensor has at most 6 extents, each a positive constant
// shows: operation<cairn::fixed_string<8>\{"reshape"\}, float ?\[4\]\[8\]>, cairn::fact::extents<1, 1, 1, 1, 1, 4, 8>
constexpr auto x = input<"x", 4, 8>;
constexpr auto y = reshape<1, 1, 1, 1, 1, 4, 8>(x);  // wrong
constexpr auto y = reshape<1, 1, 1, 1, 4, 8>(x);     // right

// case: shape-mismatch-residual
// says: extents, from the last on, must be equal or 1; change one
// shows: fact::in<cairn::fixed_string<5>\{"down"\}>
// shows: operation<.*"add\(s, f\)"\}, float ?\[2\]\[3\]\[3\]\[8\], float ?\[2\]\[3\]\[3\]\[6\]>
constexpr int channels = 8;  // wrong
constexpr int channels = 6;  // right
constexpr auto f = nn::conv2d<"f", 6, 3, nn::window{.stride = 2, .padding = 1}>;
constexpr auto shortcut = nn::conv2d_without_bias<"s", channels, 1, nn::window{.stride = 2}>;
constexpr auto y = input<"x", 2, 5, 6, 3> | ckpt<"down">(nn::residual(f, shortcut) | nn::relu);

// case: shape-mismatch-self-attention-mask
// says: a mask in a layer of attention fits scores \{N, heads, T, S\}
// shows: fact::in<cairn::fixed_string<5>\{"attn"\}>
// shows: operation<cairn::fixed_string<15>\{"self_attention"\}, float ?\[2\]\[7\]\[12\], float ?\[2\]\[7\]>
// shows: fact::extents<2, 4, 7, 7>
constexpr auto kept = input<"kept", 2, 7>;
constexpr auto y = nn::self_attention<"attn", 4>(input<"x", 2, 7, 12>, kept);                       // wrong
constexpr auto y = nn::self_attention<"attn", 4>(input<"x", 2, 7, 12>, reshape<2, 1, 1, 7>(kept));  // right

// case: shape-mismatch-self-attention
// says: layers of attention take \{N, T, features\}: heads divide the features
// shows: fact::in<cairn::fixed_string<\d+>\{"block\.0"\}, cairn::fixed_string<\d+>\{"attn"\}>|fact::in<cairn::fixed_string<\d+>\{"block\.0\.attn"\}>
// shows: operation<cairn::fixed_string<\d+>\{"self_attention"\}, float ?\[2\]\[7\]\[12\]>
// shows: fact::heads<4, 3>
constexpr int key_heads = 3;  // wrong
constexpr int key_heads = 2;  // right
constexpr auto body = [](auto) { return nn::self_attention<"attn", 4, nn::attention_options{.key_heads = key_heads}>; };
constexpr auto y = input<"x", 2, 7, 12> | repeat<2, "block">(body);

// case: shape-mismatch-sinusoidal
// says: sinusoidal_positions takes \{..., T, features\} and positions \{T\} or \{..., T\}
// shows: operation<cairn::fixed_string<21>\{"sinusoidal_positions"\}, float ?\[2\]\[1\]\[12\], int ?\[8\]>
constexpr auto positions = arange<8>;            // wrong
constexpr auto positions = indices<"at", 8, 1>;  // right
constexpr auto y = nn::sinusoidal_positions(input<"x", 2, 1, 12>, positions);

// case: shape-mismatch-states
// says: states of recurrent layers are \{layers, N, hidden\}, bidirectional \{2 layers, N, hidden\}, of a cell \{N, hidden\}
// shows: fact::in<cairn::fixed_string<8>\{"net.gru"\}>
// shows: operation<cairn::fixed_string<4>\{"gru"\}, float ?\[8\]\[5\]\[3\], float ?\[8\]\[4\]>
constexpr auto h0 = input<"h0", 8, 4>;     // wrong
constexpr auto h0 = input<"h0", 1, 8, 4>;  // right
constexpr auto net = [](auto x, auto h) { return std::get<0>(nn::gru<"gru", 4>(x, h)); };
constexpr auto y = block<"net">(net, input<"x", 8, 5, 3>, h0);

// case: shape-mismatch-states-bidirectional
// says: states of recurrent layers are \{layers, N, hidden\}, bidirectional \{2 layers, N, hidden\}
// shows: operation<cairn::fixed_string<4>\{"gru"\}, float ?\[8\]\[5\]\[3\], float ?\[3\]\[8\]\[4\]>
constexpr auto h0 = input<"h0", 3, 8, 4>;  // wrong
constexpr auto h0 = input<"h0", 6, 8, 4>;  // right
constexpr nn::recurrent_options both{.num_layers = 3, .bidirectional = true};
constexpr auto net = [](auto x, auto h) { return std::get<0>(nn::gru<"gru", 4, both>(x, h)); };
constexpr auto y = block<"net">(net, input<"x", 8, 5, 3>, h0);

// case: shape-mismatch-transformer-block
// says: layers of attention take \{N, T, features\}: heads divide the features
// shows: operation<cairn::fixed_string<\d+>\{"transformer_block"\}, float ?\[2\]\[7\]\[12\]>
// shows: fact::heads<5, 5>
constexpr int heads = 5;  // wrong
constexpr int heads = 6;  // right
constexpr auto y = input<"x", 2, 7, 12> | nn::transformer_block<heads>;

// case: shape-mismatch-transformer-mask
// says: indices may lie outside of what they index
// shows: fact::in<cairn::fixed_string<10>\{"self_attn"\}>
// shows: operation<cairn::fixed_string<15>\{"self_attention"\}, float ?\[2\]\[7\]\[12\], int ?\[7\]\[7\]>
// shows: fact::bound<3>
constexpr int bound = 3;  // wrong
constexpr int bound = 2;  // right
constexpr auto y = nn::transformer_block<4>(input<"x", 2, 7, 12>, indices<"m", bound, 7, 7>);

// case: shape-mismatch-upsample2d-rank
// says: this takes images \{N, H, W, C\}
// shows: fact::in<cairn::fixed_string<3>\{"up"\}>
// shows: operation<cairn::fixed_string<11>\{"upsample2d"\}, float ?\[28\]\[3\]>
constexpr auto x = input<"x", 28, 3>;         // wrong
constexpr auto x = input<"x", 1, 28, 28, 3>;  // right
constexpr auto y = x | block<"up">(nn::upsample2d<2>);

// case: shape-mismatch-upsample2d-bilinear
// says: upsample2d<n>\(x\) makes n x n pixels of each
// shows: operation<cairn::fixed_string<11>\{"upsample2d"\}, float ?\[8\]\[5\]\[6\]\[3\]>, .*factor<0>
constexpr int factor = 0;  // wrong
constexpr int factor = 2;  // right
constexpr auto y = upsample2d<factor, nn::bilinear>(input<"x", 8, 5, 6, 3>);

// case: shape-mismatch-upsample2d
// says: upsample2d<n>\(x\) makes n x n pixels of each; n is at least 1
// shows: operation<cairn::fixed_string<11>\{"upsample2d"\}, float ?\[8\]\[5\]\[6\]\[3\]>
// shows: fact::factor<0>
constexpr int factor = 0;  // wrong
constexpr int factor = 1;  // right
constexpr auto y = upsample2d<factor>(input<"x", 8, 5, 6, 3>);
