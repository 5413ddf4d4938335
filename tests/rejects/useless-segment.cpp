// The program reports this mistake.
//
// The segment costs time and does not save memory, because `frees` is not larger than `keeps`. Write `block`, put more
// into the segment, take a policy out, or add `allow_useless`. The note has two numbers of bytes:
//
// - `frees` counts the values that would be kept for the backward pass if the segment were a block. A value that a
//   policy saves does not count.
// - `keeps` counts the values that would not be kept if the segment were a block. They are boundaries that only this
//   segment needs, and results that the backward pass recomputes in few operations outside of segments. Here `sqrt` of
//   `exp` is such a result.
//
// A program with `freeze<...>` reports only segments that are useless with nothing frozen, too, because another program
// may train what is frozen. A segment that the forward pass itself recomputes, for a `grad` in the model, is never
// useless. The id also reports a segment that is the whole model: the backward pass recomputes all of it at once, so
// the arena is no smaller. The note shows the arena's bytes.

#include "cairn/check/model.hpp"
#include "cairn/nn/activation.hpp"
#include "cairn/nn/linear.hpp"
#include "cairn/op/loss.hpp"

using namespace cairn;

// case: useless-segment
// says: this segment frees no more bytes than the boundaries and results
// shows: fact::segment<cairn::fixed_string<\d+>\{"block\.0\.act"\}>.*frees<128L?>.*keeps<256L?>
constexpr auto act = ckpt<"act">(layer([](auto v) { return sqrt(exp(v)); }));                 // wrong
constexpr auto act = ckpt<"act", allow_useless>(layer([](auto v) { return sqrt(exp(v)); }));  // right
constexpr auto blocks = repeat<12, "block">([](auto) { return nn::linear<"fc", 4> | act; });
constexpr auto h = input<"x", 8, 4> | blocks;
static_assert(detail::checked<sum(square(sigmoid(h)))>());

// case: useless-segment-frozen
// says: this segment frees no more bytes than the boundaries and results that only it keeps
// shows: fact::segment<cairn::fixed_string<4>\{"act"\}>
constexpr auto hidden = nn::linear<"fc1", 32> | nn::gelu | nn::linear<"fc2", 16>;
constexpr auto model = nn::linear<"in", 16> | ckpt<"act">(nn::tanh) | ckpt<"ff">(hidden) |  // wrong
                       nn::linear<"head", 4>;                                               // wrong
constexpr auto model = nn::linear<"in", 16> | nn::tanh | ckpt<"ff">(hidden) |               // right
                       nn::linear<"head", 4>;                                               // right
constexpr auto loss = cross_entropy(input<"x", 8, 16> | model, labels<"y", 4, 8>);
static_assert(detail::checked<loss, freeze<"head">>());

// case: useless-segment-grad
// says: this segment frees no more bytes than the boundaries and results that only it keeps
// shows: fact::segment<cairn::fixed_string<4>\{"act"\}>
constexpr auto act = ckpt<"act">(nn::tanh);  // wrong
constexpr auto act = nn::tanh;               // right
constexpr auto logits = input<"x", 8, 16> | nn::linear<"in", 16> | act | nn::linear<"head", 4>;
// The penalty does not lead through the segment.
constexpr auto loss = cross_entropy(logits, labels<"y", 4, 8>) + sum(square(grad(mean(square(logits)), logits)));
static_assert(detail::checked<loss>());

// case: useless-segment-loss
// says: this segment frees no more bytes than the boundaries
// shows: fact::segment<cairn::fixed_string<\d+>\{"loss"\}>.*frees<0L?>.*keeps<0L?>
constexpr auto logits = input<"x", 8, 4> | nn::linear<"fc", 10>;
constexpr auto classes = labels<"y", 10, 8>;
constexpr auto of_logits = [](auto l, auto y) { return cross_entropy(l, y); };
constexpr auto loss = ckpt<"loss">(of_logits, logits, classes);  // wrong
constexpr auto loss = of_logits(logits, classes);                // right
static_assert(detail::checked<loss>());

// case: useless-segment-step
// says: this segment frees no more bytes than the boundaries and results
// options: -O0
#include "cairn/cairn.hpp"
constexpr auto act = layer([](auto x) { return sigmoid(tanh(x)); });
constexpr auto model = nn::linear<"fc", 4> | ckpt<"act">(act) | nn::linear<"out", 4>;                 // wrong
constexpr auto model = nn::linear<"fc", 4> | ckpt<"act", allow_useless>(act) | nn::linear<"out", 4>;  // right
constexpr auto logits = input<"x", 8, 4> | model;

float stepped(const std::vector<float>& x) {
  program<outputs(mean(square(logits)), logits)> step;
  const auto [loss, values] = step.value_and_grad(bind<"x">(x));
  return loss + values(0, 0);
}

// shared: a deep model
constexpr auto images = input<"x", 8, 4>;
constexpr auto classes = labels<"y", 10, 8>;
constexpr auto model = repeat<12, "block">([](auto) {
                         return ckpt<"ff">(nn::residual(nn::linear<"fc1", 16> | nn::tanh | nn::linear<"fc2", 4>));
                       }) |
                       nn::linear<"head", 10>;

// case: useless-segment-whole-loss
// says: the whole model is this segment
// shows: fact::segment<cairn::fixed_string<\d+>\{"all"\}>.*peak_bytes<\d+L?>.*as_block<\d+L?>
constexpr auto of_batch = [](auto x, auto y) { return cross_entropy(x | model, y); };  // wrong
constexpr auto loss = ckpt<"all">(of_batch, images, classes);                          // wrong
constexpr auto loss = cross_entropy(images | model, classes);                          // right
static_assert(detail::checked<loss>());

// case: useless-segment-whole
// says: the whole model is this segment
// shows: fact::segment<cairn::fixed_string<\d+>\{"all"\}>.*peak_bytes<\d+L?>.*as_block<\d+L?>
constexpr auto logits = images | ckpt<"all">(model);  // wrong
constexpr auto logits = images | model;               // right
static_assert(detail::checked<cross_entropy(logits, classes)>());
