// The program reports this mistake.
//
// The option asks for threads, and the program is compiled without OpenMP. The step would run on one thread, and
// nothing would show it. Compile with `-fopenmp`, or leave the option out.
//
// For the same reason a program ends at its start, with a message, if its files were compiled with different options.
// This happens if only some files have `-fopenmp` or only some have `-fno-exceptions`, or if they are compiled for
// different processors: the linker keeps one of two functions that have one name.

#include "cairn/nn/linear.hpp"
#include "cairn/run/program.hpp"

using namespace cairn;

// case: threads-without-openmp
// says: a program has several threads where it is compiled with OpenMP: g\+\+ -fopenmp
// shows: fact::threads<2>
constexpr auto loss = sum(input<"x", 8, 4> | nn::linear<"fc", 4>);
using step = program<loss, threads<2>>;  // wrong
using step = program<loss, threads<1>>;  // right
static_assert(step::memory().peak_bytes > 0);
