// rejects: cairn \[useless-segment\]: all of the model is in this segment
// rejects: fact::segment<cairn::fixed_string<\d+>\{"all"\}>
#include "cairn/core/diagnose.hpp"
#include "cairn/exec/plan.hpp"
#include "cairn/expr/loss.hpp"
#include "cairn/nn/activation.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;

constexpr auto images = input<"x", 8, 4>;
constexpr auto classes = labels<"y", 10, 8>;
constexpr auto model =
    repeat<12, "block">([](auto) { return nn::linear<"fc", 4> | nn::tanh; }) | nn::linear<"head", 10>;

#ifdef CAIRN_REJECT
constexpr auto loss = ckpt<"all">([](auto x, auto y) { return cross_entropy(x | model, y); }, images, classes);
#else
constexpr auto loss = cross_entropy(images | ckpt<"all">(model), classes);
#endif
static_assert(detail::checked<loss>());
