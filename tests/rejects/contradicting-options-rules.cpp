// rejects: cairn \[contradicting-options\]: later update<...> options take all that this one
// rejects: fact::argument<0>
#include "cairn/cairn.hpp"

using namespace cairn;

constexpr auto loss = mean(square(input<"x", 8, 4> | nn::linear<"fc", 2>));
constexpr sgd_options slow{.lr = 1e-4};
#ifdef CAIRN_REJECT
using step = program<loss, update<slow, "*.bias">, update<sgd_options{}>>;
#else
using step = program<loss, update<sgd_options{}>, update<slow, "*.bias">>;
#endif
static_assert(step::memory().gradient_bytes == 0);
