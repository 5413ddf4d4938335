// The program reports this mistake.
//
// The backward pass never reaches the segment, so the segment can save nothing. Either nothing in the segment is
// trained, or its result reaches the loss only through `detach` or indices. Write `block`, or add `allow_useless` if
// another program trains the segment.

#include "cairn/check/model.hpp"
#include "cairn/op/softmax.hpp"

using namespace cairn;

// case: zero-grad-segment-input
// says: nothing in this segment needs a gradient.*write block, or allow_useless
// shows: fact::segment<cairn::fixed_string<4>\{"enc"\}>
constexpr auto features = ckpt<"enc">([](auto x) { return exp(x); }, input<"x", 4>);   // wrong
constexpr auto features = block<"enc">([](auto x) { return exp(x); })(input<"x", 4>);  // right
constexpr auto loss = sum(features * param<"w", 4>);
static_assert(detail::checked<loss>());

// case: zero-grad-segment-detached
// says: nothing in this segment needs a gradient
// shows: fact::segment<cairn::fixed_string<4>\{"enc"\}>
constexpr auto encode = [](auto x) { return softmax(softmax(x * param<"w", 4>)); };
constexpr auto features = ckpt<"enc">(encode, input<"x", 4>);
constexpr auto loss = sum(detach(features) * param<"w", 4>);             // wrong: w itself gets a gradient
constexpr auto loss = sum(features * detach(features) * param<"w", 4>);  // right
static_assert(detail::checked<loss>());

// case: zero-grad-segment-frozen
// says: nothing in this segment needs a gradient
// shows: fact::segment<cairn::fixed_string<6>\{"b\.enc"\}>
constexpr auto encode = [](auto x) { return softmax(softmax(x * param<"k", 4>)); };
constexpr auto features = input<"x", 4> | block<"b">(ckpt<"enc">(encode));
constexpr auto loss = sum(features * param<"w", 4>);
static_assert(detail::checked<loss, freeze<"b">>());  // wrong
static_assert(detail::checked<loss>());               // right

// case: zero-grad-segment-output
// says: nothing in this segment needs a gradient
// shows: fact::segment<cairn::fixed_string<6>\{"probe"\}>
constexpr auto features = input<"x", 4> * param<"w", 4>;
constexpr auto probe = [](auto x) { return exp(x); };
constexpr auto loss = sum(features);
constexpr auto results = outputs(loss, ckpt<"probe">(probe, features));   // wrong: the loss does not depend on it
constexpr auto results = outputs(loss, block<"probe">(probe)(features));  // right
static_assert(detail::checked<results>());
