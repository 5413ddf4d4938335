// The program reports this mistake.
//
// A synchronized batch norm needs the statistics of all shards before it goes on. The iterations of a scan run in one
// piece, and do not wait for other processes. Choose `nn::batch_statistics::local` in the body, or take the batch norm
// outside of the scan. In a program that does not divide its batch, both forms are the same.

#include "cairn/check/scan.hpp"
#include "cairn/nn/batch_norm.hpp"
#include "cairn/nn/linear.hpp"
#include "cairn/op/reduce.hpp"
#include "cairn/run/scan.hpp"

using namespace cairn;

// case: synchronized-in-scan-in-loop
// says: the iterations of a scan do not wait for other shards, so a synchronized batch norm cannot stand in its body
// shows: scan
constexpr nn::batch_norm_options how{.statistics = nn::batch_statistics::synchronized};  // wrong
constexpr nn::batch_norm_options how{.statistics = nn::batch_statistics::local};         // right
constexpr auto body = [](auto h, auto rows) { return h + (rows | nn::batch_norm<"bn", how> | nn::linear<"fc", 4>); };
constexpr auto summed = scan<5, "step">(body, carried(zeros<8, 4>), each(input<"x", 5, 8, 4>));
static_assert(detail::checked<mean(square(summed)), shards<2>>());
