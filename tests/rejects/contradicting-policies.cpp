// The outermost call reports this mistake.
//
// Several policies of one segment keep every value that any of them keeps. Some pairs of policies therefore contradict
// each other. Take one of the two out:
//
// - `save_nothing` or `save_everything` leaves nothing to say for another policy.
// - A tag cannot be in `save` and in `save_all_but`.
// - Of two `save_all_but`, each saves what the other leaves out. Give one of them all tags.
//
// Policies of segments inside of each other do not contradict.

#include "cairn/lang/checkpoint.hpp"
#include "cairn/nn/activation.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;

// case: contradicting-policies
// says: these two policies of one segment contradict each other
// shows: fact::in<cairn::fixed_string<\d+>\{"outer\.ff"\}>.*policies<cairn::save_nothing, ?cairn::save_matmuls>
constexpr auto mlp = nn::linear<"fc1", 16> | nn::softmax | nn::linear<"fc2", 4>;
constexpr auto ff = ckpt<"ff", save_nothing, allow_useless, save_matmuls>(mlp);  // wrong
constexpr auto ff = ckpt<"ff", allow_useless, save_matmuls>(mlp);                // right
constexpr auto h = input<"x", 8, 4> | block<"outer">(ff);
static_assert(an_expression<decltype(h)>);

// case: contradicting-policies-exclusions
// says: these two policies of one segment contradict each other
// shows: policies<cairn::save_all_but<.*"a".*save_all_but<.*"b"
constexpr auto ff =
    nn::linear<"fc1", 16> | nn::softmax | nn::tag<"a"> | nn::softmax | nn::tag<"b"> | nn::linear<"fc2", 4>;
constexpr auto h = ckpt<"ff", save_all_but<"a">, save_all_but<"b">>(ff)(input<"x", 8, 4>);  // wrong
constexpr auto h = ckpt<"ff", save_all_but<"a", "b">>(ff)(input<"x", 8, 4>);                // right
static_assert(an_expression<decltype(h)>);

// case: contradicting-policies-tags
// says: these two policies of one segment contradict each other
// shows: policies<cairn::save_all_but<.*"b".*save<.*"b"
constexpr auto ff =
    nn::linear<"fc1", 16> | nn::softmax | nn::tag<"a"> | nn::softmax | nn::tag<"b"> | nn::linear<"fc2", 4>;
constexpr auto h = ckpt<"ff", save_all_but<"b">, save<"b">>(ff)(input<"x", 8, 4>);  // wrong
constexpr auto h = ckpt<"ff", save_all_but<"a">, save<"b">>(ff)(input<"x", 8, 4>);  // right
static_assert(an_expression<decltype(h)>);
