// The shapes, names and bytes of tiled layers, as constants.
#include "cairn/lang/tiled.hpp"

#include "cairn/check/frontier.hpp"
#include "cairn/check/scan.hpp"
#include "cairn/nn/activation.hpp"
#include "cairn/nn/linear.hpp"
#include "cairn/nn/norm.hpp"
#include "cairn/op/reduce.hpp"
#include "cairn/run/program.hpp"
#include "cairn/run/scan.hpp"
#include "cairn/train/rules.hpp"

#include <algorithm>
#include <functional>

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

// Layers on a number of groups that `fit` chooses. Without `fit`, they are the layers as they are.
template <auto Layer>
constexpr auto four = mean(square(x | repeat<4, "block">([](auto) { return nn::residual(Layer); })));
constexpr auto whole = four<feed_forward>;
constexpr auto chosen = four<nn::tiled<up_to<8>>(feed_forward)>;
template <std::int64_t Bytes>
using within = program<chosen, fit<Bytes>>;
template <class One, class Other>
constexpr bool are_alike = One::memory().peak_bytes == Other::memory().peak_bytes &&
                           One::flops().total() == Other::flops().total() && One::row_groups() == 1;
static_assert(are_alike<program<chosen>, program<whole>> && are_alike<program<chosen, plain>, program<whole>>);
static_assert(are_alike<within<64 * MiB>, program<whole>>);
static_assert(are_alike<within<30 * MiB>, program<whole, fit<30 * MiB>>>);
// In 20 MiB, segments alone do not fit. Then the fewest groups that fit are chosen.
static_assert(frontier<whole>[0].peak_bytes > 20 * MiB);
static_assert(within<20 * MiB>::memory().peak_bytes <= 20 * MiB && within<20 * MiB>::row_groups() == 2);
static_assert(within<15 * MiB>::memory().peak_bytes <= 15 * MiB && within<15 * MiB>::row_groups() == 4);
static_assert(within<15 * MiB>::memory().peak_bytes ==
              program<four<nn::tiled<4>(feed_forward)>, fit<15 * MiB>>::memory().peak_bytes);
// up_to<5> allows as many groups as up_to<4>. The layers of a model may differ in the groups that they allow.
static_assert(program<four<nn::tiled<up_to<5>>(feed_forward)>, fit<15 * MiB>>::row_groups() == 4);
constexpr auto mixed_groups = mean(square(x | nn::residual(nn::tiled<up_to<2>>(feed_forward)) |
                                          block<"more">(nn::residual(nn::tiled<up_to<8>>(feed_forward)))));
static_assert(program<mixed_groups, fit<frontier<mixed_groups>[0].peak_bytes>>::row_groups() > 2);
// The points of the frontier are what `fit` chooses for their bytes.
constexpr const auto& points = frontier<chosen>;
static_assert(points.front().row_groups == 8 && points.back().row_groups == 1);
static_assert(std::ranges::is_sorted(points, std::less{}, &frontier_point::peak_bytes) &&
              std::ranges::is_sorted(points, std::greater{}, &frontier_point::recomputed_flops));
static_assert(within<points.front().peak_bytes>::memory().peak_bytes == points.front().peak_bytes);
static_assert(cairn::detail::compiled_of<chosen, true, fit<points.front().peak_bytes - 1>>::layout.peak_bytes ==
              points.front().peak_bytes);
// A model that differentiates itself leaves the layers as they are, because tiled layers have first gradients only.
constexpr auto doubled = [] {
  constexpr auto h = param<"h", 64, 8>;
  return sum(square(grad(sum(h | nn::tiled<up_to<4>>(nn::linear<"fc1", 64> | nn::tanh)), h)));
}();
static_assert(program<doubled, fit<1 * MiB>>::row_groups() == 1);

}  // namespace
