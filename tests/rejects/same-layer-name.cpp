// The program reports this mistake.
//
// Two layers with one full name have the same parameters, like one module of PyTorch that is called twice. After a line
// was copied, this is never meant. Rename one of the layers. A layer that has no name of its own, for example
// `nn::transformer_block`, gets a name by `block<"b">(layer)`.
//
// Sharing is meant in a recurrent cell, for example. There write `shared(layer)` for all applications but one. An
// absolute name, for example `nn::linear<"/state", 12>`, also says that sharing is meant, and so does a parameter that
// you write by hand.

#include "cairn/check/scan.hpp"
#include "cairn/nn/batch_norm.hpp"
#include "cairn/nn/transformer.hpp"

using namespace cairn;

// case: same-layer-name-cell
// says: two layers have one name and would share this parameter.*shared\(layer\)
// shows: fact::parameter<cairn::fixed_string<\d+>\{"state\.weight"\}>
// All steps of a recurrent cell have the same weights.
constexpr auto cell = [](auto h, auto x) { return tanh(x + (h | nn::linear<"state", 12>)); };
constexpr auto x = input<"x", 8, 12>;
constexpr auto first = ckpt<"t1", allow_useless>(cell, x, x);
constexpr auto second = ckpt<"t2", allow_useless>(cell, first, x);          // wrong
constexpr auto second = ckpt<"t2", allow_useless>(shared(cell), first, x);  // right
constexpr auto loss = sum(second);
static_assert(detail::checked<loss>());

// case: same-layer-name-hand
// says: two layers have one name and would share this parameter
// shows: fact::parameter<cairn::fixed_string<\d+>\{"embed\.weight"\}>
// shows: given<float ?\[8\]\[12\]>, cairn::fact::given<float ?\[12\]\[12\]>
// An expression may read the parameter of a layer, but a second layer may not.
constexpr auto h = input<"x", 8, 12> | nn::linear<"embed", 12>;
constexpr auto w = param<"q", 12, 12> | nn::linear<"embed", 12>;                                    // wrong
constexpr auto w = param<"q", 12, 12> * param<"/embed.weight", 12, 12> + param<"/embed.bias", 12>;  // right
constexpr auto loss = sum(tanh(matmul(h, w)));
static_assert(detail::checked<loss>());

// case: same-layer-name-in-loop
// says: two layers have one name
// shows: fact::parameter<cairn::fixed_string<15>\{"step.fc.weight"\}
#include "cairn/run/scan.hpp"
constexpr auto body = nn::linear<"fc", 5> | nn::tanh | nn::linear<"fc", 5>;   // wrong
constexpr auto body = nn::linear<"fc", 5> | nn::tanh | nn::linear<"fc2", 5>;  // right
constexpr auto loss = mean(square(scan<10, "step">(body, carried(input<"x", 4, 5>))));
static_assert(detail::checked<loss>());

// case: same-layer-name-transformer
// says: .* rename one, put it into a block, or write shared\(layer\)
// shows: fact::parameter<cairn::fixed_string<\d+>\{"norm1\.weight"\}>
constexpr auto second = nn::transformer_block<2>;                   // wrong
constexpr auto second = block<"second">(nn::transformer_block<2>);  // right
constexpr auto loss = sum(input<"x", 2, 3, 4> | nn::transformer_block<2> | second);
static_assert(detail::checked<loss>());

// case: same-layer-name
// says: two layers have one name and would share this parameter.*shared\(layer\)
// shows: fact::parameter<cairn::fixed_string<\d+>\{"block\.0\.bn1\.weight"\}>
// shows: given<float ?\[8\]\[16\]>, cairn::fact::given<float ?\[8\]\[16\]>
// The line was copied, and the name was not changed.
constexpr fixed_string second = "bn1";  // wrong
constexpr fixed_string second = "bn2";  // right
constexpr auto body = nn::batch_norm<"bn1"> | nn::linear<"fc1", 16> | nn::batch_norm<second> | nn::linear<"fc2", 16>;
constexpr auto loss = sum(input<"x", 8, 16> | repeat<4, "block">([](auto) { return nn::residual(body); }));
static_assert(detail::checked<loss>());
