// The program reports this mistake.
//
// Two leaves have one name and differ in something else. Rename one of them, or put them into different blocks. Leaves
// with equal names and equal shapes are one parameter, which is how weights are shared. Leaves that conflict differ in
// shape, in their initial values, or in whether they are trained. Labels can also differ in the number of classes.

#include "cairn/check/model.hpp"
#include "cairn/nn/linear.hpp"
#include "cairn/op/loss.hpp"

using namespace cairn;

// case: parameter-conflict
// says: one name stands for two different leaves.*rename one
// shows: fact::parameter<cairn::fixed_string<2>\{"w"\}>
// shows: given<float ?\[4\]>
// shows: given<float ?\[3\]\[4\]>
constexpr fixed_string name = "w";  // wrong
constexpr fixed_string name = "v";  // right
constexpr auto loss = sum(param<"w", 4> * param<name, 3, 4>);
static_assert(detail::checked<loss>());

// case: parameter-conflict-classes
// says: one name stands for two different leaves
// shows: fact::input<cairn::fixed_string<\d+>\{"y"\}>.*fact::bound<10>.*fact::bound<9>
constexpr auto again = labels<"y", 9, 8>;   // wrong
constexpr auto again = labels<"y", 10, 8>;  // right
constexpr auto logits = input<"x", 8, 4> | nn::linear<"fc", 10>;
constexpr auto loss = cross_entropy(logits, labels<"y", 10, 8>) + cross_entropy(tanh(logits), again);
static_assert(detail::checked<loss>());

// case: parameter-conflict-cotangent
// says: one name stands for two different leaves
// shows: fact::input<cairn::fixed_string<2>\{"x"\}>
constexpr auto y = input<"x", 4> * param<"w", 4>;
using given = cotangent<"x">;  // wrong
using given = cotangent<"v">;  // right
static_assert(detail::checked<y, given>());

// case: parameter-conflict-frozen
// says: one name stands for two different leaves
// shows: fact::parameter<cairn::fixed_string<2>\{"w"\}>.*fact::trained<true>.*fact::trained<false>
// The shapes are equal, but only one of the two is trained.
constexpr auto twin = frozen<"w", 4>;  // wrong
constexpr auto twin = param<"w", 4>;   // right
constexpr auto loss = sum(param<"w", 4> * twin);
static_assert(detail::checked<loss>());

// case: parameter-conflict-initial
// says: one name stands for two different leaves
// shows: fact::parameter<cairn::fixed_string<\d+>\{"fc\.weight"\}>.*fact::uniform<.*fact::constant<
// The shapes are equal, but one is drawn and the other one is zero.
constexpr auto twin = param_from<"fc.weight", initial{}, 4, 4>;  // wrong
constexpr auto twin = param<"fc.weight", 4, 4>;                  // right
constexpr auto loss = sum((input<"x", 8, 4> | nn::linear<"fc", 4>)) + sum(square(twin));
static_assert(detail::checked<loss>());

// case: parameter-conflict-input
// says: one name stands for two different leaves
// shows: fact::input<cairn::fixed_string<\d+>\{"x"\}>.*given<float ?\[8\]\[4\]>.*given<int ?\[8\]>
constexpr auto classes = labels<"x", 10, 8>;  // wrong
constexpr auto classes = labels<"y", 10, 8>;  // right
constexpr auto loss = cross_entropy(input<"x", 8, 4> | nn::linear<"fc", 10>, classes);
static_assert(detail::checked<loss>());

// case: parameter-conflict-laws
// says: one name stands for two different leaves
// shows: fact::parameter<cairn::fixed_string<2>\{"w"\}>.*fact::orthogonal<1.*fact::truncated_normal<1
constexpr initial start = initial::truncated_normal(1);  // wrong
constexpr initial start = initial::orthogonal();         // right
constexpr auto loss = sum(param_from<"w", initial::orthogonal(), 4, 4>) + sum(square(param_from<"w", start, 4, 4>));
static_assert(detail::checked<loss>());

// case: parameter-conflict-shared
// says: one name stands for two different leaves
// shows: fact::parameter<cairn::fixed_string<\d+>\{"head\.weight"\}>.*given<float ?\[2\]\[4\]>.*given<float ?\[3\]\[4\]>
// The second program shares the memory of the first one.
#include "cairn/cairn.hpp"
template <int B, int N>
constexpr auto loss = mean(square(input<"x", B, 4> | nn::linear<"fc", 4> | nn::linear<"head", N>));

inline void both() {
  program<loss<8, 3>> longest;
  program<loss<4, 2>> shorter{longest};  // wrong
  program<loss<4, 3>> shorter{longest};  // right
}

// case: parameter-conflict-shared-state
// says: one name stands for two different leaves
// shows: fact::parameter<cairn::fixed_string<\d+>\{"s"\}>
// One program trains the parameter, and the other program updates it as a state.
#include "cairn/cairn.hpp"
inline constexpr auto trained = mean(square(param<"s", 4> * param<"w", 4>));
inline constexpr auto of_state = mean(square(param<"w", 4>) * state<"s", initial{}, 4>);

inline void both() {
  program<trained> longest;
  program<of_state> shorter{longest};  // wrong
  program<trained, plain, check_finite, real<float>, freeze<"w">> shorter{longest};  // right
}

// case: parameter-conflict-wrt
// says: one name stands for two different leaves
// shows: fact::input<cairn::fixed_string<2>\{"x"\}>, cairn::fact::parameter<cairn::fixed_string<2>\{"x"\}>
constexpr fixed_string name = "x";  // wrong
constexpr fixed_string name = "w";  // right
constexpr auto loss = sum(input<"x", 4> * param<name, 4>);
static_assert(detail::checked<loss, wrt<"x">>());
