// Placement by budget. For equal blocks, the least work under a budget is known. For models, programs are compared
// under growing budgets.
#include "cairn/cairn.hpp"

#include "plan.hpp"

using namespace cairn;
using namespace cairn::test;

namespace {

// Equal blocks. Each value has one byte, and each block has a work of one. This is the chain of the tool rotor. For
// this chain, the number of forward executions is known for each number of bytes.
template <int Count>
constexpr auto equal_blocks = [] {
  plans::search::block_chain<Count> c;
  for (int i = 0; i <= Count; ++i) {
    plans::search::block_costs& b = c.of[i];
    b.stored_bytes_in_segment = b.unstored_peak = b.result_flops = b.reading_flops = b.both_flops = 1;
    b.peak_in_segment = {1, 2};
    b.peak_as_last = 2;
    c.gradient_bytes[i] = 1;
    for (int j = i + 1; j <= Count; ++j) c.crossing_bytes[i][j] = 1;
  }
  return c;
}();
template <int Count, int Starts>
constexpr const auto& best = plans::search::placements_inside<equal_blocks<Count>, Starts, 65>.of(0, Count - 1);

/// Returns true if `flops` lists the least work within 3, 4, ... bytes.
template <int Count, int Starts>
constexpr bool takes(std::initializer_list<std::int64_t> flops) {
  std::int64_t bytes = 3;
  for (const std::int64_t least : flops) {
    std::int64_t found = 0;
    for (int i = 0; i < best<Count, Starts>.count; ++i) {
      if (best<Count, Starts>.bytes[i] <= bytes) found = best<Count, Starts>.flops[i];
    }
    if (found != least) return false;
    ++bytes;
  }
  return best<Count, Starts>.bytes[0] == 3;  // no placement needs fewer bytes
}
static_assert(takes<4, 4>({9, 6, 4}));
static_assert(takes<6, 6>({20, 11, 9, 8, 6}));
static_assert(takes<10, 10>({54, 26, 19, 17, 15, 14, 13, 12, 10}));

// For equal blocks it is enough to search ranges that begin at the first block.
template <int Count>
constexpr bool alike_from_any = [] {
  if (best<Count, 1>.count != best<Count, Count>.count) return false;
  for (int i = 0; i < best<Count, 1>.count; ++i) {
    if (best<Count, 1>.bytes[i] != best<Count, Count>.bytes[i]) return false;
    if (best<Count, 1>.flops[i] != best<Count, Count>.flops[i]) return false;
  }
  return true;
}();
static_assert(alike_from_any<4> && alike_from_any<6> && alike_from_any<10> && alike_from_any<24>);

template <auto Loss, class... Options>
constexpr std::int64_t unplaced_bytes = peak<step_of<Loss, Options...>>;

template <auto Loss, class... Options>
constexpr std::int64_t unplaced_work = plans::search::figures_of<step_of<Loss, Options...>>.recomputed_flops;

/// The bytes that are asked for, the bytes of the program, and the work that the program recomputes.
struct fitting {
  std::int64_t asked, bytes, again;
};
/// Programs with several budgets. The budgets are multiples of 1/32 of the bytes without placed segments.
template <auto Loss, class... Options>
constexpr auto fittings = []<int... Parts>(std::integer_sequence<int, Parts...>) {
  return std::array{[] {
    constexpr std::int64_t asked = unplaced_bytes<Loss, Options...> * Parts / 32;
    using step = step_of<Loss, fit<asked>, Options...>;
    return fitting{asked, peak<step>, plans::search::figures_of<step>.recomputed_flops};
  }()...};
}(std::integer_sequence<int, 1, 8, 14, 22, 32>{});

/// Returns true if three conditions hold. The smallest budget is too small, and from some budget on all budgets are
/// kept. A larger budget never has more recomputed work. With as many bytes as without placed segments, the program
/// recomputes no more work than without placed segments.
template <auto Loss, class... Options>
constexpr bool monotone = [] {
  constexpr const auto& all = fittings<Loss, Options...>;
  const auto fits = [](const fitting& f) { return f.bytes <= f.asked; };
  for (std::size_t i = 1; i < all.size(); ++i) {
    if (fits(all[i - 1]) && (!fits(all[i]) || all[i].again > all[i - 1].again)) return false;
  }
  return !fits(all.front()) && fits(all.back()) && all.back().again <= unplaced_work<Loss, Options...>;
}();

/// Returns true if the least bytes in the error message can be asked for, if one byte less is too little, and if no
/// placement of the frontier takes fewer bytes.
template <auto Loss>
constexpr bool least_is_found = [] {
  using too_few = plans::search::fitted<typename step_of<Loss>::model, 0, 1, 1>;
  constexpr std::int64_t least = too_few::least_bytes();
  return peak<step_of<Loss, fit<least>>> <= least && peak<step_of<Loss, fit<least - 1>>> >= least &&
         least <= too_few::type::layout.peak_bytes && least <= frontier<Loss>[0].peak_bytes;
}();

/// Returns true if the points of a frontier are sorted and none is beaten by another, and if one point is at least as
/// good as the program without placed segments.
template <auto Loss, class... Options>
constexpr bool sorted = [] {
  constexpr const auto& points = frontier<Loss, Options...>;
  for (std::size_t i = 1; i < points.size(); ++i) {
    if (points[i].peak_bytes <= points[i - 1].peak_bytes) return false;
    if (points[i].recomputed_flops >= points[i - 1].recomputed_flops) return false;
  }
  return std::ranges::any_of(points, [](const frontier_point& p) {
    return p.peak_bytes <= unplaced_bytes<Loss, Options...> && p.recomputed_flops <= unplaced_work<Loss, Options...>;
  });
}();

constexpr auto x = input<"x", 32, 64>;
template <auto Logits>
constexpr auto classified = cross_entropy(Logits, labels<"y", 10, 32>);

constexpr auto of_widths = classified<(x | nn::linear<"l1", 64> | nn::gelu | nn::linear<"l2", 128> | nn::gelu |
                                       nn::linear<"l3", 32> | nn::gelu | nn::linear<"out", 10>)>;
static_assert(monotone<of_widths> && sorted<of_widths> && least_is_found<of_widths>);
static_assert(monotone<of_widths, update<adamw_options{}>>);
static_assert(monotone<of_widths, real<double>>);
#ifdef _OPENMP
static_assert(monotone<of_widths, threads<2>>);
#endif

inline constexpr auto mlp = nn::residual(nn::linear<"fc1", 96> | nn::gelu | nn::linear<"fc2", 64>);
template <int Count>
constexpr auto of_blocks = classified<(x | nn::linear<"embed", 64> | repeat<Count, "block">([](auto) { return mlp; }) |
                                       nn::linear<"out", 10>)>;
static_assert(monotone<of_blocks<12>> && sorted<of_blocks<12>>);
static_assert(monotone<of_blocks<48>>);

/// Returns true if, in all placements, a nested segment has another name than the segment around it.
template <auto Loss>
constexpr bool nested_are_told_apart = [] {
  using all = plans::search::candidates<typename step_of<Loss>::model, 0, 1>;
  return []<int... I>(std::integer_sequence<int, I...>) {
    int nested = 0;
    const auto alike = [&]<class Plan>(std::type_identity<Plan>) {
      using names = detail::segment_names<Plan>;
      for (int s = 1; s < Plan::segments.count; ++s) {
        const int around = Plan::segments.all[s].parent;
        nested += around > 0;
        if (names::of(s) == names::of(around)) return true;
      }
      return false;
    };
    const bool some_are_alike = (alike(std::type_identity<typename all::template planned<I>>{}) || ...);
    return nested > 10 && !some_are_alike;
  }(std::make_integer_sequence<int, all::count>{});
}();
static_assert(nested_are_told_apart<of_blocks<12>>);

/// Returns true if a segment has this name. The segment reaches from layer `first` to layer `last`, and lies between
/// the layers `before` and `behind`.
constexpr bool called(std::string_view name, std::string_view first, std::string_view last, std::string_view before,
                      std::string_view behind) {
  char text[64] = {};
  std::size_t count = 0;
  detail::name_range(first, last, before, behind, [&](std::string_view part) {
    for (const char c : part) text[count++] = c;
  });
  return name == std::string_view(text, count);
}
static_assert(called("embed ... block.0", "embed", "block.0.fc2", "", "block.1.fc1"));
static_assert(called("embed ... block.7", "embed", "block.7.fc2", "", "head"));
static_assert(called("block.0", "block.0.fc1", "block.0.fc2", "embed", "block.1.fc1"));
static_assert(called("block.0 ... block.7", "block.0.fc1", "block.7.fc2", "embed", "head"));
static_assert(called("encoder", "encoder.fc1", "encoder.fc2", "", "head"));
static_assert(called("encoder.fc2 ... head", "encoder.fc2", "head", "encoder.fc1", ""));
static_assert(called("stage.0.block.1 ... stage.1", "stage.0.block.1.fc", "stage.1.block.1.fc", "stage.0.block.0.fc",
                     "head"));

// Placed segments next to the user's own segments and policies, also nested ones.
constexpr auto marked = classified<(
    x | block<"a">(mlp) | ckpt<"b">(block<"b">(nn::residual(mlp | ckpt<"inner">(block<"c">(mlp))))) | block<"d">(mlp) |
    ckpt<"e", save<"kept">, allow_useless>(
        block<"e">(nn::linear<"fc1", 96> | nn::tag<"kept"> | nn::gelu | nn::linear<"fc2", 64>)) |
    nn::linear<"out", 10>)>;
static_assert(monotone<marked> && sorted<marked>);

// A model with states, and with random numbers that are drawn again in the recomputation.
constexpr auto normed = classified<(x | repeat<3, "block">([](auto) {
                                      return nn::residual(nn::batch_norm<"bn"> | nn::linear<"fc", 64> | nn::gelu |
                                                          nn::dropout<"drop", 0.2>);
                                    }) |
                                    nn::linear<"out", 10>)>;
static_assert(monotone<normed>);

// Values that skip blocks.
constexpr auto skips = [] {
  const auto a = x | block<"a">(nn::linear<"fc", 96> | nn::tanh);
  const auto b = a | block<"b">(nn::linear<"fc", 32> | nn::gelu);
  const auto c = b | block<"c">(nn::linear<"fc", 96> | nn::gelu);
  const auto d = (a + c) | block<"d">(nn::linear<"fc", 32> | nn::tanh);
  return cross_entropy((b * d) | nn::linear<"out", 10>, labels<"y", 10, 32>);
}();
static_assert(monotone<skips> && sorted<skips> && least_is_found<skips>);

// The work that a scan recomputes is counted as the program counts it, whatever segments are placed.
constexpr auto with_loop =
    classified<(x | block<"a">(mlp) | block<"loop">(layer([](auto h) {
                  return scan<5, "step", revolve<2>>([](auto v) { return tanh(v | nn::linear<"fc", 64>); }, carried(h));
                })) |
                block<"b">(mlp) | nn::linear<"out", 10>)>;
static_assert(sorted<with_loop>);
static_assert(std::ranges::any_of(frontier<with_loop>, [](const frontier_point& p) {
  return p.recomputed_flops == program<with_loop, fit<1_GiB>>::flops().recomputed;
}));
static_assert(program<with_loop, fit<1_GiB>>::flops().recomputed == program<with_loop>::flops().recomputed &&
              program<with_loop>::flops().recomputed > 0);
static_assert(program<with_loop, fit<frontier<with_loop>[0].peak_bytes>>::flops().recomputed ==
              frontier<with_loop>[0].recomputed_flops);

// Blocks that read values across other blocks, so that no segment can contain them. If at most three blocks are of this
// kind, each choice of blocks outside of segments is tried.
template <int Far>
constexpr auto reading_far = [] {
  const auto body = [](auto h, auto before) { return std::tuple{tanh(h | nn::linear<"fc", 64>) + before, h}; };
  return classified<(std::get<0>(repeat<Far + 2, "b">([body](auto) { return body; }, x, x)) | nn::linear<"out", 10>)>;
}();
template <int Far>
using placed_far = plans::search::candidates<typename step_of<reading_far<Far>>::model, 0, 1>;
static_assert(placed_far<3>::far == 3 && placed_far<3>::exact && placed_far<3>::complete);
static_assert(placed_far<4>::far == 4 && !placed_far<4>::exact && !placed_far<4>::complete);

// ---- Convolutions, batch norms and max pools. The segments with the smallest arena end before the pools. Then the
// result of a segment is freed as soon as the pool has read it, and the gradient of relu recomputes it in a fused loop. In
// a segment of convolution, norm, relu and pool, it lives until the gradient of relu has read it.
constexpr nn::window same_size{.padding = 1};
template <fixed_string Convolution, fixed_string Norm, int Channels>
constexpr auto convolved =
    nn::conv2d_without_bias<Convolution, Channels, 3, same_size> | nn::batch_norm<Norm> | nn::relu;
constexpr auto first = convolved<"conv1", "bn1", 16>;
constexpr auto second = convolved<"conv2", "bn2", 32>;
template <class Layers>
constexpr auto pooled(Layers layers) {
  return cross_entropy(input<"photos", 64, 28, 28, 1> | layers | nn::flatten | nn::linear<"head", 10>,
                       labels<"kinds", 10, 64>);
}
constexpr auto unmarked = pooled(first | nn::max_pool2d<2> | second | nn::max_pool2d<2>);
constexpr auto before_pools = pooled(ckpt<"a">(first) | nn::max_pool2d<2> | ckpt<"b">(second) | nn::max_pool2d<2>);
constexpr auto around_pools = pooled(ckpt<"a">(first | nn::max_pool2d<2>) | ckpt<"b">(second | nn::max_pool2d<2>));
using adam = update<adamw_options{}>;
constexpr std::int64_t of_plain = peak<step_of<unmarked, adam>>;
static_assert(peak<step_of<around_pools, adam>> > of_plain * 5 / 4);
static_assert(peak<step_of<before_pools, adam>> < of_plain * 17 / 20);
static_assert(peak<step_of<unmarked, adam, fit<of_plain * 17 / 20>>> <= peak<step_of<before_pools, adam>>);
static_assert(peak<step_of<unmarked, fit<unplaced_bytes<unmarked> * 17 / 20>>> <= peak<step_of<before_pools>>);

}  // namespace
