// rejects: cairn \[wrong-loop\]: snapshots of a loop lie elsewhere only where no other loop is around it
// rejects: fact::in<.*"outer"
#include "cairn/misuse/table.hpp"
#include "cairn/op/elementwise.hpp"
#include "cairn/lang/scan.hpp"

using namespace cairn;

constexpr auto x = input<"x", 5>;
constexpr auto body = [](auto h) { return tanh(h * param<"w", 5>); };
template <class Policy>
constexpr auto loops = [](auto h) { return scan<10, "inner", Policy>(body, carried(h)); };
#ifdef CAIRN_REJECT
[[maybe_unused]] constexpr auto h = scan<10, "outer">(loops<two_level<5, 2, snapshots::elsewhere>>, carried(x));
#else
[[maybe_unused]] constexpr auto h = scan<10, "outer">(loops<two_level<5, 2>>, carried(x));
#endif
