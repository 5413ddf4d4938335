// rejects: cairn \[wrong-arguments\]: std::get takes values apart, and this is one value: scan and layers
// rejects: fact::operation<cairn::fixed_string<4>\{"get"\}, float ?\[4\]>
#include "cairn/misuse/table.hpp"
#include "cairn/check/model.hpp"
#include "cairn/check/scan.hpp"
#include "cairn/lang/scan.hpp"
#include "cairn/graph/scan.hpp"

using namespace cairn;

constexpr auto cell = [](auto h, auto x) { return tanh(h + x); };
constexpr auto states = scan<5, "rnn">(cell, carried(zeros<4>), each(input<"xs", 5, 4>));
#ifdef CAIRN_REJECT
constexpr auto last = std::get<0>(states);
#else
constexpr auto last = states;
#endif
constexpr auto loss = mean(last * param<"w", 4>);
static_assert(an_expression<decltype(loss)>);
