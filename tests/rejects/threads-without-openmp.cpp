// rejects: cairn \[threads-without-openmp\]: a program has several threads where it is compiled with OpenMP: g\+\+ -fopenmp
// rejects: fact::threads<2>
#include "cairn/misuse/table.hpp"
#include "cairn/run/program.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;

constexpr auto loss = sum(input<"x", 8, 4> | nn::linear<"fc", 4>);
#ifdef CAIRN_REJECT
using step = program<loss, threads<2>>;
#else
using step = program<loss, threads<1>>;
#endif
static_assert(step::memory().peak_bytes > 0);
