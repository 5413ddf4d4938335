// rejects: cairn \[wrong-arguments\]: moments of a rule are saved by their names, which differ and are not empty
// rejects: fact::given<twice>
#include "cairn/misuse/table.hpp"
#include "cairn/check/model.hpp"

#include <array>

using namespace cairn;

constexpr auto loss = sum(square(input<"x", 4> * param<"w", 4>));
struct twice {
  double lr = 1e-3;
#ifdef CAIRN_REJECT
  static constexpr std::array<std::string_view, 2> moments{"mean", "mean"};
#else
  static constexpr std::array<std::string_view, 2> moments{"mean", "mean_of_mean"};
#endif
  constexpr std::array<double, 1> numbers(double rate, std::int64_t) const { return {rate}; }
  static constexpr auto next(auto p, auto g, auto rate, auto m, auto n) { return std::tuple{p - rate * g, g, n + m}; }
};
static_assert(detail::checked<loss, update<twice{}>>());
