// The calls `param`, `grad`, `bind`, `freeze`, `update`, `wrt` and `predictor` report this mistake. The program reports
// the tags of policies.
//
// The model has nothing of this name. `nearest` is the most similar name of the model; write that name. A name includes
// the path of the blocks around it, without the segments. These mistakes have sentences of their own: the gradient of a
// frozen parameter, the gradient of an input that is not in `wrt<...>`, a tag of a policy, and a name in `freeze<...>`
// or `update<...>`.

#include "cairn/check/model.hpp"
#include "cairn/nn/activation.hpp"
#include "cairn/nn/linear.hpp"
#include "cairn/op/loss.hpp"
#include "cairn/search/sequential.hpp"
#include "cairn/train/rules.hpp"

using namespace cairn;

// shared: a loss with an input and a parameter
#include "cairn/run/program.hpp"

constexpr auto loss = sum(input<"x", 4> * param<"w", 4>);

int main() {
  // here
}

// case: unknown-name-bind
// says: the model has nothing of this name
// shows: fact::input<cairn::fixed_string<2>\{"y"\}>
// shows: fact::nearest<cairn::fixed_string<2>\{"x"\}>
  program<loss> step;
  float x[4] = {1, 2, 3, 4};
  float value = step.value_and_grad(bind<"y">(x));  // wrong
  float value = step.value_and_grad(bind<"x">(x));  // right
  return value > 0;

// case: unknown-name-grad-input
// says: this input has no gradient in this program; ask for it with the option wrt<"name">
// shows: fact::input<cairn::fixed_string<2>\{"x"\}>
  program<loss> step;            // wrong
  program<loss, wrt<"x">> step;  // right
  return step.grad<"x">()(1) > 0;

// case: unknown-name-grad
// says: the model has nothing of this name
// shows: fact::parameter<cairn::fixed_string<2>\{"v"\}>
// shows: fact::nearest<cairn::fixed_string<2>\{"w"\}>
  program<loss> step;
  auto view = step.grad<"v">();  // wrong
  return view(0, 1) > 0;         // wrong: of whatever rank: nothing more is said of it
  auto view = step.grad<"w">();  // right
  return view(1) > 0;            // right

// case: unknown-name-param
// says: the model has nothing of this name
// shows: fact::parameter<cairn::fixed_string<2>\{"v"\}>
// shows: fact::nearest<cairn::fixed_string<2>\{"w"\}>
  program<loss> step;
  auto view = step.param<"v">();              // wrong
  const tensor_view<float, 2> matrix = view;  // wrong: of whatever rank: nothing more is said of it
  return matrix(0, 1) + view(1) > 0;          // wrong
  auto view = step.param<"w">();              // right
  return view(1) > 0;                         // right

// shared: nothing

// case: unknown-name-cache
// says: the model has nothing of this name
// shows: fact::state<cairn::fixed_string<2>\{"h"\}>
// shows: fact::nearest<cairn::fixed_string<7>\{"step\.h"\}>
#include "cairn/run/predictor.hpp"
constexpr auto counting = [](auto x) { return updated(x + cache<"h", 4>, cache<"h", 4>, cache<"h", 4> + x); };
constexpr auto loss = sum(param<"w", 4>);

int main() {
  program<loss> step;
  predictor<block<"step">(counting, input<"x", 4>)> predict{step};
  predict.reset<"h">();       // wrong
  predict.reset<"step.h">();  // right
  return predict(bind<"x">(std::array<float, 4>{}))(0) > 0;
}

// case: unknown-name-freeze
// says: the model has nothing of this name
// shows: fact::parameter<cairn::fixed_string<4>\{"enc"\}>
// shows: fact::nearest<cairn::fixed_string<17>\{"encoder\.fc1\.bias"\}>
constexpr auto encoded = input<"x", 4> | block<"encoder">([](auto x) { return x + param<"fc1.bias", 4>; });
constexpr auto loss = sum(encoded * param<"head", 4>);
static_assert(detail::checked<loss, freeze<"enc">>());          // wrong
static_assert(detail::checked<loss, freeze<"encoder.fc1">>());  // right

// case: unknown-name-frozen-grad
// says: this parameter is frozen in this program
// shows: fact::parameter<cairn::fixed_string<2>\{"v"\}>
#include "cairn/run/program.hpp"
constexpr auto loss = sum(param<"v", 4> * param<"w", 4>);

int main() {
  program<loss, freeze<"v">> step;  // wrong
  program<loss> step;               // right
  return step.grad<"v">()(1) > 0;
}

// case: unknown-name-predictor
// says: the model has nothing of this name
// shows: fact::parameter<cairn::fixed_string<2>\{"v"\}>
// shows: fact::nearest<cairn::fixed_string<2>\{"w"\}>
#include "cairn/run/predictor.hpp"
constexpr auto weight = param<"v">;  // wrong
constexpr auto weight = param<"w">;  // right
constexpr auto loss = exp(param<"w">);

int main() {
  program<loss> step;
  predictor<exp(weight)> predict{step};
  return predict() > 0;
}

// case: unknown-name-tag-chain
// says: nothing in this segment has the tag that its policy names
// shows: "sequential.1"
// shows: "gone"
constexpr fixed_string second = "gone";   // wrong
constexpr fixed_string second = "there";  // right
constexpr auto layers = std::make_tuple(nn::linear<"a", 16> | nn::softmax | nn::tag<"here"> | nn::softmax,
                                         nn::softmax | nn::tag<"there"> | nn::softmax, nn::linear<"b", 4>);
constexpr auto chain = ckpt_sequential<3, save<"here", second>>(layers);
constexpr auto loss = cross_entropy(input<"x", 8, 4> | chain, labels<"y", 4, 8>);
static_assert(detail::checked<loss>());

// case: unknown-name-tag
// says: nothing in this segment has the tag that its policy names
// shows: fact::segment<cairn::fixed_string<\d+>\{"block\.0\.ff"\}>.*tag<cairn::fixed_string<7>\{"hiden1"\}>.*nearest<cairn::fixed_string<7>\{"hidden"\}>
using kept = save<"hiden1">;  // wrong
using kept = save<"hidden">;  // right
constexpr auto ff = nn::linear<"fc1", 16> | nn::tag<"hidden"> | nn::softmax | nn::linear<"fc2", 4> | nn::tanh;
constexpr auto blocks = repeat<3, "block">([](auto) { return ckpt<"ff", allow_useless, kept>(ff); });
static_assert(detail::checked<sum(input<"x", 8, 4> | blocks)>());

// case: unknown-name-update-suffix
// says: the model has nothing of this name.* and "\*\.bias" is for all that end so
// shows: fact::parameter<cairn::fixed_string<5>\{"bias"\}>
constexpr auto loss = sum(input<"x", 8, 4> | nn::linear<"fc", 4>);
static_assert(detail::checked<loss, update<sgd_options{}, "fc.weight", "bias">>());    // wrong
static_assert(detail::checked<loss, update<sgd_options{}, "fc.weight", "*.bias">>());  // right

// case: unknown-name-update
// says: the model has nothing of this name
// shows: fact::parameter<cairn::fixed_string<7>\{"\*\.bais"\}>
// shows: fact::nearest<cairn::fixed_string<8>\{"fc\.bias"\}>
constexpr auto loss = sum(input<"x", 8, 4> | nn::linear<"fc", 4>);
static_assert(detail::checked<loss, update<sgd_options{}, "fc.weight", "*.bais">>());  // wrong
static_assert(detail::checked<loss, update<sgd_options{}, "fc.weight", "*.bias">>());  // right

// case: unknown-name-wrt-parameter
// says: wrt<\.\.\.> names inputs, and this is a parameter
// shows: fact::parameter<cairn::fixed_string<10>\{"fc\.weight"\}>
constexpr auto loss = mean(input<"images", 4, 8> | nn::linear<"fc", 2>);
using also = wrt<"fc.weight">;  // wrong
using also = wrt<"images">;     // right
static_assert(detail::checked<loss, also>());

// case: unknown-name-wrt
// says: the model has nothing of this name
// shows: fact::input<cairn::fixed_string<6>\{"image"\}>
// shows: fact::nearest<cairn::fixed_string<7>\{"images"\}>
constexpr auto loss = mean(input<"mask", 4, 2> * (input<"images", 4, 8> | nn::linear<"fc", 2>));
using also = wrt<"mask", "image">;   // wrong
using also = wrt<"mask", "images">;  // right
static_assert(detail::checked<loss, also>());
