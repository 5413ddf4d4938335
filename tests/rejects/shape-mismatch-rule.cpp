// rejects: cairn \[shape-mismatch\]: matrices must be
// rejects: fact::operation<cairn::fixed_string<17>\{"matmul\(\.\.\., \.\.\.\)"\}, float, float>
#include "cairn/misuse/table.hpp"
#include "cairn/check/model.hpp"
#include "cairn/op/matmul.hpp"

#include <array>

using namespace cairn;

constexpr auto loss = sum(square(input<"x", 4> * param<"w", 4>));
struct descent {
  double lr = 1e-3;
  static constexpr std::array<std::string_view, 0> moments{};
  constexpr std::array<double, 1> numbers(double rate, std::int64_t) const { return {rate}; }
#ifdef CAIRN_REJECT
  static constexpr auto next(auto p, auto g, auto rate) { return std::tuple{p - rate * matmul(g, p)}; }
#else
  static constexpr auto next(auto p, auto g, auto rate) { return std::tuple{p - rate * (g * p)}; }
#endif
};
static_assert(detail::checked<loss, update<descent{}>>());
