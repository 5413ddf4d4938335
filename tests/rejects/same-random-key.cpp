// The program reports this mistake.
//
// Two random operations with one key would draw the same numbers. Rename one of them, or put them into different
// blocks. In a `repeat` each repetition has a key of its own, because the path is part of the name.

#include "cairn/check/model.hpp"
#include "cairn/nn/activation.hpp"
#include "cairn/nn/dropout.hpp"
#include "cairn/nn/linear.hpp"
#include "cairn/op/random_numbers.hpp"

using namespace cairn;

// case: same-random-key
// says: two random operations have one name.*rename one
// shows: fact::key<cairn::fixed_string<3>\{"d1"\}>
// shows: given<float ?\[8\]\[16\]>
// shows: given<float ?\[8\]\[4\]>
constexpr fixed_string second = "d1";  // wrong
constexpr fixed_string second = "d2";  // right
constexpr auto hidden = input<"x", 8, 3> | nn::linear<"fc1", 16> | nn::dropout<"d1">;
constexpr auto loss = sum(hidden | nn::linear<"fc2", 4> | nn::dropout<second>);
static_assert(detail::checked<loss>());

// case: same-random-key-absolute
// says: two random operations have one name
// shows: fact::key<cairn::fixed_string<2>\{"d"\}>
// shows: given<float ?\[8\]\[3\]>
// Blocks can share weights, but not random numbers.
constexpr fixed_string name = "/d";  // wrong
constexpr fixed_string name = "d";   // right
constexpr auto body = nn::linear<"/fc", 3> | nn::dropout<name>;
constexpr auto loss = sum(input<"x", 8, 3> | repeat<2, "block">([](auto) { return layer(body); }));
static_assert(detail::checked<loss>());

// case: same-random-key-block
// says: two random operations have one name.*put them into different blocks
// shows: fact::key<cairn::fixed_string<11>\{"block\.0\.d1"\}>
// shows: given<float ?\[8\]\[3\]>
constexpr auto hidden = nn::linear<"fc1", 12> | nn::gelu | nn::linear<"fc2", 3>;
// The block is repeated, and the number of the repetition is part of the name.
constexpr auto body = nn::dropout<"d1", 0.1> | hidden | nn::dropout<"d1", 0.1>;                // wrong
constexpr auto body = nn::dropout<"d1", 0.1> | hidden | block<"out">(nn::dropout<"d1", 0.1>);  // right
constexpr auto loss = sum(input<"x", 8, 3> | repeat<4, "block">([](auto) { return ckpt<"s">(body); }));
static_assert(detail::checked<loss>());

// case: same-random-key-parts
// says: two random operations have one name
// shows: fact::key<cairn::fixed_string<5>\{"drop"\}>
// shows: given<float ?\[8\]\[4\]>, cairn::fact::given<float ?\[8\]\[4\]>
// Both layers would drop the same examples.
constexpr auto second = nn::drop_path<"drop">;          // wrong
constexpr auto second = shared(nn::drop_path<"drop">);  // right
constexpr auto hidden = nn::residual(nn::linear<"fc1", 4> | nn::drop_path<"drop">);
constexpr auto loss = sum(input<"x", 8, 4> | hidden | nn::residual(nn::linear<"fc2", 4> | second));
static_assert(detail::checked<loss>());

// case: same-random-key-probability
// says: two random operations have one name
// shows: fact::key<cairn::fixed_string<2>\{"d"\}>
// shows: given<float ?\[4\]>
// The same operation on the same value would be no mistake.
constexpr double probability = 0.25;  // wrong
constexpr double probability = 0.5;   // right
constexpr auto h = exp(param<"w", 4>);
constexpr auto loss = sum(dropout<"d">(h) * dropout<"d", probability>(h));
static_assert(detail::checked<loss>());

// case: same-random-key-numbers
// says: two random operations have one name
// shows: fact::key<cairn::fixed_string<2>\{"e"\}>
// shows: given<float ?\[8\]\[3\]>
// The same array twice would be no mistake.
constexpr auto noise = random_normal<"e", 8, 3>;
constexpr auto scale = random_uniform<"e", 8, 1>;  // wrong
constexpr auto scale = random_uniform<"s", 8, 1>;  // right
constexpr auto loss = sum(input<"x", 8, 3> * param<"w", 3> + noise * scale + noise);
static_assert(detail::checked<loss>());
