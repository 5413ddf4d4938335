// rejects: cairn \[wrong-arguments\]: ckpt, block and repeat take a function, then the expressions to call it with
// rejects: operation<cairn::fixed_string<7>\{"repeat"\}, float ?\[4\]\[8\], float ?\[4\]\[8\],
#include "cairn/misuse/table.hpp"
#include "cairn/lang/repeat.hpp"
#include "cairn/op/reduce.hpp"

using namespace cairn;

constexpr auto a = input<"a", 4, 8>;
constexpr auto b = input<"b", 4, 8>;
constexpr auto body = [](auto) { return [](auto x, auto y) { return std::tuple{x * y, x}; }; };
#ifdef CAIRN_REJECT
constexpr auto both = repeat<4, "net">(a, b, body);
#else
constexpr auto both = repeat<4, "net">(body, a, b);
#endif
constexpr auto loss = mean(std::get<0>(both)) + mean(std::get<1>(both));
static_assert(an_expression<decltype(loss)>);
