// rejects: cairn \[meaningless-setting\]: this setting has a value that cannot be meant
// rejects: fact::given<descent>
// rejects: setting<(cairn::)?fixed_string<3>\{"lr"\}, -1\.0.*, (cairn::)?fixed_string<18>\{"0 or more, finite"\}>
#include "cairn/check/model.hpp"
#include "cairn/misuse/table.hpp"

#include <array>

using namespace cairn;

constexpr auto loss = sum(square(input<"x", 4> * param<"w", 4>));
struct descent {
  double lr = 1e-3;
  static constexpr std::array<std::string_view, 0> moments{};
  constexpr std::array<double, 1> numbers(double rate, std::int64_t) const { return {rate}; }
  static constexpr auto next(auto p, auto g, auto rate) { return std::tuple{p - rate * g}; }
};
#ifdef CAIRN_REJECT
static_assert(detail::checked<loss, update<descent{.lr = -1}>>());
#else
static_assert(detail::checked<loss, update<descent{.lr = 1}>>());
#endif
