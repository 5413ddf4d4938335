// The program reports this mistake.
//
// Two options contradict each other. Gradients cannot be summed over steps if each step uses them up. For a batch in
// parts, write `program<loss, microbatch<4>, update<...>>`, or `program<loss, accumulate_gradients>` with an optimizer.
// A program that divides its batch has no gradients of inputs, no given cotangent, and no sums over steps. Other pairs
// have sentences of their own. `sharded_moments` divides the moments of `update<...>` among processes, which share the
// shards of `shards<L>`, so it needs both of these options.
// `fit<...>` and `budget<...>`, for example, are two limits of one arena. A batch norm with
// `nn::batch_statistics::synchronized` needs the rows of all shards at once, so it does not go with `microbatch<N>`.

#include "cairn/check/model.hpp"
#include "cairn/nn/activation.hpp"
#include "cairn/nn/batch_norm.hpp"
#include "cairn/nn/linear.hpp"
#include "cairn/train/rules.hpp"
#include "cairn/train/whole_rules.hpp"

using namespace cairn;

// case: contradicting-options
// says: gradients cannot be summed over steps where each step uses them up
// shows: fact::given<cairn::accumulate_gradients>
constexpr auto loss = sum(square(input<"x", 4> * param<"w", 4> + param<"b", 4>));
static_assert(detail::checked<loss, accumulate_gradients, update<sgd_options{}>>());  // wrong
static_assert(detail::checked<loss, accumulate_gradients>());                         // right

// case: contradicting-options-division
// says: a program with microbatch<\.\.\.> or shards<\.\.\.> sums the gradients of its parameters over the parts
// shows: fact::given<cairn::accumulate_gradients>
constexpr auto loss = sum(square(input<"x", 4> * param<"w", 4> + param<"b", 4>));
static_assert(detail::checked<loss, microbatch<2>, accumulate_gradients>());  // wrong
static_assert(detail::checked<loss, microbatch<2>>());                        // right

// case: contradicting-options-division-input
// says: a program with microbatch<\.\.\.> or shards<\.\.\.> sums the gradients of its parameters over the parts
// shows: fact::given<cairn::wrt<
constexpr auto loss = sum(square(input<"x", 4> * param<"w", 4> + param<"b", 4>));
static_assert(detail::checked<loss, shards<2>, wrt<"x">>());  // wrong
static_assert(detail::checked<loss, shards<2>>());            // right

// case: contradicting-options-division-cotangent
// says: a program with microbatch<\.\.\.> or shards<\.\.\.> sums the gradients of its parameters over the parts
// shows: fact::given<cairn::cotangent<
constexpr auto result = input<"x", 4> * param<"w", 4>;
static_assert(detail::checked<result, cotangent<"v">, microbatch<2>>());  // wrong
static_assert(detail::checked<sum(result), microbatch<2>>());             // right

// case: contradicting-options-moments
// says: sharded_moments divides the moments of update<\.\.\.> among the processes that share the shards of shards<L>
// shows: fact::given<cairn::sharded_moments>
constexpr auto loss = sum(square(input<"x", 4> * param<"w", 4> + param<"b", 4>));
static_assert(detail::checked<loss, update<adamw_options{}>, sharded_moments>());             // wrong
static_assert(detail::checked<loss, update<adamw_options{}>, shards<4>, sharded_moments>());  // right

// case: contradicting-options-moments-without-update
// says: sharded_moments divides the moments of update<\.\.\.> among the processes that share the shards of shards<L>
// shows: fact::given<cairn::sharded_moments>
constexpr auto loss = sum(square(input<"x", 4> * param<"w", 4> + param<"b", 4>));
static_assert(detail::checked<loss, shards<4>, sharded_moments>());                          // wrong
static_assert(detail::checked<loss, shards<4>, update<adamw_options{}>, sharded_moments>());  // right

// case: contradicting-options-whole-rule
// says: this update rule reads whole tensors of floats, of which sharded_moments has a part
// shows: fact::given<cairn::lamb_options>
// shows: fact::given<cairn::sharded_moments>
constexpr auto loss = sum(square(input<"x", 4> * param<"w", 4> + param<"b", 4>));
static_assert(detail::checked<loss, update<lamb_options{}>, shards<4>, sharded_moments>());  // wrong
static_assert(detail::checked<loss, update<lamb_options{}>, shards<4>>());                   // right

// case: contradicting-options-whole-rule-rounded
// says: this update rule reads whole tensors of floats, of which sharded_moments has a part
// shows: fact::given<cairn::lamb_options>
// shows: fact::given<cairn::stochastic_rounding>
constexpr auto loss = sum(square(input<"x", 4> * param<"w", 4> + param<"b", 4>));
static_assert(detail::checked<loss, update<lamb_options{}>, mixed<bf16, stochastic_rounding>>());  // wrong
static_assert(detail::checked<loss, update<lamb_options{}>, mixed<bf16>>());                       // right

// case: contradicting-options-fit
// says: fit<\.\.\.> is a limit of the arena itself
constexpr auto loss = sum(input<"x", 8, 4> | nn::linear<"fc", 40> | nn::tanh | nn::linear<"fc2", 40> | nn::tanh);
static_assert(detail::checked<loss, fit<8_KiB>, budget<8_KiB>>());  // wrong
static_assert(detail::checked<loss, fit<8_KiB>>());                 // right

// case: contradicting-options-gradcheck
// says: mixed<bf16> rounds what is computed in floats, .* gradcheck is in double; leave mixed out
// shows: fact::given<double>
#include "cairn/gradcheck.hpp"
constexpr auto loss = sum(param<"w", 4> * param<"v", 4>);

int main() {
  return gradcheck<loss, mixed<bf16>>(seed{1}).relative > gradient_tolerance;  // wrong
  return gradcheck<loss>(seed{1}).relative > gradient_tolerance;               // right
}

// case: contradicting-options-mixed
// says: mixed<bf16> rounds what is computed in floats
// shows: double
constexpr auto loss = sum(input<"x", 8, 4> | nn::linear<"fc", 40>);
static_assert(detail::checked<loss, real<double>, mixed<bf16>>());  // wrong
static_assert(detail::checked<loss, real<float>, mixed<bf16>>());   // right

// case: contradicting-options-rules
// says: later update<...> options take all that this one
// shows: fact::argument<0>
#include "cairn/cairn.hpp"
constexpr auto loss = mean(square(input<"x", 8, 4> | nn::linear<"fc", 2>));
constexpr sgd_options slow{.lr = 1e-4};
using step = program<loss, update<slow, "*.bias">, update<sgd_options{}>>;  // wrong
using step = program<loss, update<sgd_options{}>, update<slow, "*.bias">>;  // right
static_assert(step::memory().gradient_bytes == 0);

// case: contradicting-options-synchronized
// says: microbatches run one after another, so a synchronized batch norm cannot have the rows of all
// shows: operation<cairn::fixed_string<11>\{"microbatch"\}>
constexpr nn::batch_norm_options together{.statistics = nn::batch_statistics::synchronized};
constexpr auto loss = mean(square(input<"x", 8, 4> | nn::batch_norm<"bn", together> | nn::linear<"fc", 2>));
static_assert(detail::checked<loss, shards<2>, microbatch<2>>());  // wrong
static_assert(detail::checked<loss, shards<2>>());                 // right

// case: contradicting-options-synchronized-alone
// says: microbatches run one after another, so a synchronized batch norm cannot have the rows of all
// shows: operation<cairn::fixed_string<11>\{"microbatch"\}>
constexpr nn::batch_norm_options together{.statistics = nn::batch_statistics::synchronized};
constexpr auto loss = mean(square(input<"x", 8, 4> | nn::batch_norm<"bn", together> | nn::linear<"fc", 2>));
static_assert(detail::checked<loss, microbatch<4>>());  // wrong
static_assert(detail::checked<loss>());                 // right
