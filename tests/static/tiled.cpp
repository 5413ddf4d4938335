// The shapes, names and bytes of tiled layers, as constants.
#include "cairn/lang/tiled.hpp"

#include "cairn/check/scan.hpp"
#include "cairn/nn/activation.hpp"
#include "cairn/nn/linear.hpp"
#include "cairn/nn/norm.hpp"
#include "cairn/op/reduce.hpp"
#include "cairn/run/program.hpp"
#include "cairn/run/scan.hpp"
#include "cairn/train/rules.hpp"

using namespace cairn;

namespace {

constexpr auto feed_forward = nn::linear<"fc1", 1024> | nn::gelu | nn::linear<"fc2", 256>;
constexpr auto x = input<"x", 2048, 256>;

static_assert((x | nn::tiled<4>(nn::linear<"fc", 10>)).shape == shape{2048, 10});
static_assert((input<"y", 6, 5, 4> | nn::tiled<3>(nn::linear<"fc", 10>)).shape == shape{6, 5, 10});
static_assert(nn::tiled<2>([](auto a, auto i) { return a * as_real(i); }, input<"a", 8>, arange<8>).shape == shape{8});

// Parameters have the names that they have without groups.
constexpr auto one = mean(square(x | block<"b">(nn::tiled<4>(feed_forward))));
static_assert(cairn::detail::compiled_of<one, true>::graph.find(graphs::role::parameter, "b.fc1.weight") >= 0);
static_assert(program<one>::memory().parameter_bytes == 4 * (2 * 256 * 1024 + 1024 + 256));

// The groups recompute the interior, and do no other work more than once. A tiled layer stores its arguments alone.
template <auto Layer>
constexpr auto blocks = mean(square(x | repeat<8, "block">([](auto) { return Layer; })));
constexpr auto in_segments = blocks<ckpt<"ff">(nn::residual(feed_forward))>;
template <int N>
constexpr auto in_groups = blocks<nn::residual(nn::tiled<N>(feed_forward))>;
static_assert(program<in_groups<4>>::memory().stored_bytes <= program<in_segments>::memory().stored_bytes);
static_assert(program<in_groups<4>>::flops().forward == program<in_segments>::flops().forward);
static_assert(program<in_groups<4>>::flops().recomputed <= program<in_segments>::flops().recomputed);

// Bytes of the arena: 8 boundaries of 2 MiB, and the interior of one group, which is two values of 8 MiB / N.
constexpr std::int64_t MiB = 1 << 20;
template <int N>
constexpr std::int64_t next_to_it = program<in_groups<N>>::memory().peak_bytes;
template <int N>
constexpr std::int64_t in_step = program<in_groups<N>, update<adamw_options{}>>::memory().peak_bytes;
static_assert(program<in_segments>::memory().peak_bytes > 32 * MiB);
static_assert(next_to_it<4> < 22 * MiB && in_step<4> < 24 * MiB);
static_assert(next_to_it<8> < 19 * MiB && in_step<8> < 21 * MiB);

}  // namespace
