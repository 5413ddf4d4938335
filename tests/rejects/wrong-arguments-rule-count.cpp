// rejects: cairn \[wrong-arguments\]: a rule is an object with lr, moments, numbers\(lr, step\), and a static next\(p, g, numbers\.\.\.
// rejects: fact::given<descent>
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
  static constexpr auto next(auto p, auto g) { return std::tuple{p - 0.1_c * g}; }
#else
  static constexpr auto next(auto p, auto g, auto rate) { return std::tuple{p - rate * g}; }
#endif
};
static_assert(detail::checked<loss, update<descent{}>>());
