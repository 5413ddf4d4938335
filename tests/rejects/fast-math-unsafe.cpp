// rejects: cairn \[fast-math\]: numbers
// options: -funsafe-math-optimizations
#ifdef CAIRN_REJECT
// g++ -std=c++20 -O3 -march=native -funsafe-math-optimizations -Iinclude model.cpp -lz
#else
// g++ -std=c++20 -O3 -march=native -Iinclude model.cpp -lz
#endif
#include <cairn/cairn.hpp>
using namespace cairn;

constexpr auto loss = mean(log(input<"x", 8> * param<"w", 8>));
using train_step = program<loss>;
