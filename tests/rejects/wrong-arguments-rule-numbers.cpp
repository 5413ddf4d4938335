// rejects: cairn \[wrong-arguments\]: parameter, gradient, numbers, moments and the limit of clip are at most 16
#include "cairn/cairn.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr int count = 15;
#else
constexpr int count = 14;
#endif
struct many_numbers {
  double lr = 0.1;
  static constexpr std::array<std::string_view, 0> moments{};
  constexpr std::array<double, count> numbers(double rate, std::int64_t) const { return {rate}; }
  static constexpr auto next(auto p, auto g, auto rate, auto...) { return std::tuple{p - rate * g}; }
};

constexpr auto loss = mean(square(param<"w", 8>));
static_assert(program<loss, update<many_numbers{}>>::memory().gradient_bytes == 0);
