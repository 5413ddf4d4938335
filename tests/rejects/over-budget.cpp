// The program reports this mistake.
//
// The arena of the program is larger than its `budget<...>`. `peak_bytes` is the size of the arena. Put more of the
// model into segments, make the batch smaller, or allow more bytes. The program's report shows how many bytes each
// segment frees. The id also reports a `fit<...>` that finds no segments within its bytes. There `least_bytes` is the
// size of the smallest arena that the search found, and you may ask for that size.
// [When it does not fit](does-not-fit.md) has more ways.

#include "cairn/check/model.hpp"
#include "cairn/nn/activation.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;

// case: over-budget
// says: the arena of this program is larger than its budget
// shows: budget_bytes<1024L?>.*peak_bytes<\d+L?>
constexpr auto loss = sum(input<"x", 8, 4> | nn::linear<"fc", 40> | nn::tanh | nn::linear<"fc2", 40> | nn::tanh);
using allowed = budget<1_KiB>;  // wrong
using allowed = budget<8_KiB>;  // right
static_assert(detail::checked<loss, budget<1_MiB>, allowed>());

// case: over-budget-fit
// says: fit<\.\.\.> found no segments
// shows: budget_bytes<1024L?>.*least_bytes<\d+L?>
constexpr auto loss = sum(input<"x", 8, 4> | nn::linear<"fc", 40> | nn::tanh | nn::linear<"fc2", 40> | nn::tanh);
using allowed = fit<1_KiB>;  // wrong
using allowed = fit<3840>;   // right
static_assert(detail::checked<loss, allowed>());

// case: over-budget-fit-in-groups
// says: fit<\.\.\.> found no segments
// shows: budget_bytes<1024L?>.*least_bytes<\d+L?>
#include "cairn/check/scan.hpp"
#include "cairn/op/reduce.hpp"
#include "cairn/run/scan.hpp"
constexpr auto wide = nn::tiled<up_to<8>>(nn::linear<"fc", 64> | nn::tanh | nn::linear<"fc2", 4>);
constexpr auto loss = sum(input<"x", 64, 4> | nn::linear<"in", 4> | wide);
using allowed = fit<1_KiB>;   // wrong
using allowed = fit<12_KiB>;  // right
static_assert(detail::checked<loss, allowed>());

// case: over-budget-in-parts
// says: the arena of this program is larger than its budget
// shows: budget_bytes<1024L?>.*peak_bytes<\d+L?>
#include "cairn/op/reduce.hpp"
#include "cairn/run/program.hpp"
constexpr auto loss_of = [](auto rows) {
  return mean(input<"x", rows, 4> | nn::linear<"fc", 40> | nn::tanh | nn::linear<"fc2", 40> | nn::tanh);
};
using step = program_in_parts<loss_of, 64, budget<1_KiB>>;  // wrong
using step = program_in_parts<loss_of, 64, budget<8_KiB>>;  // right
static_assert(step::memory().peak_bytes <= 8_KiB);

// case: over-budget-fit-in-parts
// says: fit<\.\.\.> found no segments
// shows: budget_bytes<512L?>.*least_bytes<\d+L?>
#include "cairn/op/reduce.hpp"
#include "cairn/run/program.hpp"
constexpr auto loss_of = [](auto rows) {
  return mean(input<"x", rows, 4> | nn::linear<"fc", 40> | nn::tanh | nn::linear<"fc2", 40> | nn::tanh);
};
using step = program_in_parts<loss_of, 8, fit<512>>;    // wrong
using step = program_in_parts<loss_of, 8, fit<4_KiB>>;  // right
static_assert(step::memory().peak_bytes <= 4_KiB);

// case: over-budget-in-report
// says: fit<\.\.\.> found no segments
#include <cairn/report/tables.hpp>
#include "cairn/run/program.hpp"
constexpr auto loss = sum(input<"x", 8, 4> | nn::linear<"fc", 40> | nn::tanh | nn::linear<"fc2", 40> | nn::tanh);
using allowed = fit<1_KiB>;  // wrong
using allowed = fit<3840>;   // right
inline void show(std::ostream& out) {
  const memory_plan planned = program<loss, allowed>::memory();
  out << planned.peak_bytes;
  report::segment_table<program<loss, allowed>>(out);
  report::step_table<program<loss, allowed>, program<loss, plain>>(out);
}
