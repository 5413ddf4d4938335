// rejects: cairn \[captured-value\]: a body uses another's value, or one of inputs not given to it
// rejects: fact::in<cairn::fixed_string<6>\{"b\.enc"\}>, cairn::fact::operation<cairn::fixed_string<5>\{"tanh"\}, float ?\[4\]>
// rejects: fact::input<cairn::fixed_string<2>\{"x"\}>
#include "cairn/misuse/table.hpp"
#include "cairn/lang/checkpoint.hpp"
#include "cairn/op/reduce.hpp"

using namespace cairn;

constexpr auto features = tanh(input<"x", 4>);

// The segment would compute the features a second and a third time.
#ifdef CAIRN_REJECT
constexpr auto skipping = ckpt<"enc">(layer([](auto a) { return exp(a); }) | layer([](auto a) { return a + features; }));
constexpr auto y = features | block<"b">(skipping);
#else
constexpr auto skipping = ckpt<"enc">([](auto a) { return exp(a) + a; });
constexpr auto y = features | block<"b">(skipping);
#endif

constexpr auto loss = mean(y);
static_assert(an_expression<decltype(loss)>);
