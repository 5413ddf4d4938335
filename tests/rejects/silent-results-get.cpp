// rejects: cairn \[shape-mismatch\]: extents, from the last on, must be equal or 1
// rejects: fact::in<cairn::fixed_string<5>\{"cell"\}>
#include "cairn/misuse/table.hpp"
#include "cairn/lang/checkpoint.hpp"
#include "cairn/op/reduce.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr auto bias = param<"w", 3>;
#else
constexpr auto bias = param<"w", 4>;
#endif

// Results taken by std::get and std::apply are silent too.
constexpr auto cell = [](auto h, auto c) { return std::tuple{h + bias, c * h}; };
constexpr auto x = input<"x", 8, 4>;
constexpr auto results = ckpt<"cell">(cell, x, square(x));
constexpr auto together = std::apply([](auto h, auto c) { return mean(h * c); }, results);
constexpr auto loss = mean(std::get<0>(results)) + mean(std::get<1>(results)) + together;
static_assert(an_expression<decltype(loss)>);
