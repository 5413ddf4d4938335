// The program reports this mistake.
//
// `program<...> step{all}` shares the shards of a training step among the processes of `mpi::ranks all{argc, argv}`. A
// program without `shards<L>` has nothing that could be shared: each process would train the same model for itself. Add
// `shards<L>`, where L is at least the largest number of processes. A program of which each process has its own takes no
// `all`.

#include "cairn/nn/linear.hpp"
#include "cairn/run/program.hpp"

using namespace cairn;

// shared: a model, and the processes that mpi::ranks stands for
constexpr auto loss = sum(input<"x", 8, 4> | nn::linear<"fc", 4>);
detail::process_group& all();

// case: ranks-without-shards
// says: the processes of a program share its shards, and this program has none; add shards<L>
program<loss> step{all()};             // wrong
program<loss, shards<8>> step{all()};  // right

// case: ranks-without-shards-microbatch
// says: the processes of a program share its shards, and this program has none
program<loss, microbatch<2>> step{all()};             // wrong
program<loss, microbatch<2>, shards<2>> step{all()};  // right
