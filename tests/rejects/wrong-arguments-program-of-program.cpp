// rejects: cairn \[wrong-arguments\]: a program is not made from another: each has its own parameters
#include "cairn/misuse/table.hpp"
#include "cairn/cairn.hpp"

using namespace cairn;

constexpr auto net = input<"x", 4, 8> | nn::linear<"fc", 10>;
constexpr auto loss = mean(square(net));
inline constexpr auto other = mean(net);

inline void both() {
  program<loss> step;
#ifdef CAIRN_REJECT
  program<other> second{step};
#else
  predictor<net> second{step};
#endif
}
