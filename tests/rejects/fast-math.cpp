// PROSE

using namespace cairn;

// case: fast-math
// says: numbers (and checks )?would be wrong
// options: -ffast-math
// options: -Ofast -Wno-deprecated-ofast
// options: -ffinite-math-only
// options: -funsafe-math-optimizations
// options: -freciprocal-math
// options: -fassociative-math -fno-signed-zeros -fno-trapping-math
#include <cairn/cairn.hpp>
// g++ -std=c++20 -O3 -march=native -ffast-math -Iinclude model.cpp -lz  // wrong
// g++ -std=c++20 -O3 -march=native -Iinclude model.cpp -lz              // right
constexpr auto loss = mean(log(input<"x", 8> * param<"w", 8>));
using train_step = program<loss>;
