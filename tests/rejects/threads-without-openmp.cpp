// PROSE

#include "cairn/nn/linear.hpp"

using namespace cairn;

// case: threads-without-openmp
// says: a program has several threads where it is compiled with OpenMP: g\+\+ -fopenmp
// shows: fact::threads<2>
#include "cairn/run/program.hpp"
constexpr auto loss = sum(input<"x", 8, 4> | nn::linear<"fc", 4>);
using step = program<loss, threads<2>>;  // wrong
using step = program<loss, threads<1>>;  // right
static_assert(step::memory().peak_bytes > 0);
