// The program reports this mistake.
//
// A policy fits no value of its segment. Here the segment contains no matrix product. Take the policy out, or move it
// to the segment that is meant. A policy that fits only values that the backward pass does not read is no mistake,
// because a policy says what may be kept. In `ckpt_sequential` a policy must fit one segment at least. A tag that no
// value of the segment has is an [unknown-name](#unknown-name).

#include "cairn/check/model.hpp"
#include "cairn/nn/activation.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;

// case: idle-policy
// says: this policy \(the first is number 0\) fits no value inside of its segment
// shows: fact::segment<cairn::fixed_string<\d+>\{"act"\}>.*fact::policy<1>
constexpr auto act = nn::softmax | nn::tag<"shares"> | nn::softmax | nn::softmax;
constexpr auto h = input<"x", 8, 4> | nn::linear<"in", 16> | ckpt<"act", save<"shares">, save_matmuls>(act);  // wrong
constexpr auto h = input<"x", 8, 4> | nn::linear<"in", 16> | ckpt<"act", save<"shares">>(act);                // right
static_assert(detail::checked<sum(h | nn::linear<"head", 4>)>());
