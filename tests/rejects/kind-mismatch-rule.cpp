// rejects: cairn \[kind-mismatch\]: a plain number cannot enter an expression
// rejects: fact::operation<cairn::fixed_string<4>\{"mul"\}, double, float>
#include "cairn/misuse/table.hpp"
#include "cairn/check/model.hpp"

#include <array>

using namespace cairn;

constexpr auto loss = sum(square(input<"x", 4> * param<"w", 4>));
struct descent {
  double lr = 1e-3;
  static constexpr std::array<std::string_view, 0> moments{};
  constexpr std::array<double, 1> numbers(double rate, std::int64_t) const { return {rate}; }
#ifdef CAIRN_REJECT
  static constexpr auto next(auto p, auto g, auto rate) { return std::tuple{p - 0.5 * rate * g}; }
#else
  static constexpr auto next(auto p, auto g, auto rate) { return std::tuple{p - 0.5_c * rate * g}; }
#endif
};
static_assert(detail::checked<loss, update<descent{}>>());
