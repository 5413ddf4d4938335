// rejects: cairn \[detached-in-segment\]: this segment contains a detach
// rejects: fact::in<cairn::fixed_string<5>\{"eval"\}>
#include "cairn/misuse/table.hpp"
#include "cairn/lang/checkpoint.hpp"
#include "cairn/op/loss.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;

constexpr auto classes = labels<"y", 4, 8>;
constexpr auto logits = input<"x", 8, 16> | nn::linear<"head", 4>;

// What has no gradient by design cuts one, too.
#ifdef CAIRN_REJECT
constexpr auto loss = ckpt<"eval">([](auto z, auto y) { return cross_entropy(z, y) - accuracy(z, y); }, logits, classes);
#else
constexpr auto loss = ckpt<"eval">([](auto z, auto y) { return cross_entropy(z, y); }, logits, classes) -
                      accuracy(logits, classes);
#endif
static_assert(an_expression<decltype(loss)>);
