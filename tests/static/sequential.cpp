// ckpt_sequential: where it cuts chains. Its result is equal to a chain with ckpt written by hand.
#include "cairn/search/sequential.hpp"

#include "cairn/nn/activation.hpp"
#include "cairn/nn/linear.hpp"
#include "cairn/op/loss.hpp"

#include "plan.hpp"

#include <boost/hana/tuple.hpp>

using namespace cairn;
using namespace cairn::test;
namespace hana = boost::hana;

namespace {

template <int N>
constexpr bool cut_at(const detail::cuts<N>& c, const int (&expected)[N + 1]) {
  return std::ranges::equal(c.begin, expected);
}

// Cuts by number. Nine layers in five segments are cut into 2, 2, 2, 2, 1 and not into 1, 1, 1, 1, 5.
static_assert(cut_at<5>(detail::cut_evenly<5>(9), {0, 2, 4, 6, 8, 9}));
static_assert(cut_at<4>(detail::cut_evenly<4>(10), {0, 3, 6, 8, 10}));
static_assert(cut_at<1>(detail::cut_evenly<1>(7), {0, 7}));
static_assert(cut_at<3>(detail::cut_evenly<3>(3), {0, 1, 2, 3}));
template <int N>
constexpr bool even() {
  for (int layers = N; layers < 60; ++layers) {
    const detail::cuts<N> c = detail::cut_evenly<N>(layers);
    if (c.begin[0] != 0 || c.begin[N] != layers) return false;
    for (int i = 0; i < N; ++i) {
      const int size = c.begin[i + 1] - c.begin[i], next = i + 1 < N ? c.begin[i + 2] - c.begin[i + 1] : size;
      if (size != layers / N + (i < layers % N ? 1 : 0) || next > size) return false;
    }
  }
  return true;
}
static_assert(even<1>() && even<2>() && even<3>() && even<7>() && even<30>());

// Cuts by cost. The largest cost of a segment is the least that any cut reaches, and no segment is empty.
template <int N, int Layers>
constexpr std::int64_t least_by_search(const std::int64_t (&cost)[Layers], int begin = 0) {
  std::int64_t sum = 0, least = std::numeric_limits<std::int64_t>::max();
  for (int end = begin; end < Layers; ++end) {
    sum += cost[end];
    if constexpr (N > 1) {
      if (Layers - end - 1 >= N - 1) least = std::min(least, std::max(sum, least_by_search<N - 1>(cost, end + 1)));
    }
  }
  return N == 1 ? sum : least;
}
template <int N, int Layers>
constexpr bool best_of_all() {
  std::uint32_t state = 1;
  for (int round = 0; round < 20; ++round) {
    std::int64_t cost[Layers];
    for (std::int64_t& c : cost) c = (state = state * 1664525 + 1013904223) >> (round % 2 == 0 ? 29 : 12);
    const detail::cuts<N> c = detail::cut_by_cost<N>(cost);
    if (c.begin[0] != 0 || c.begin[N] != Layers) return false;
    for (int i = 0; i < N; ++i) {
      if (c.begin[i] >= c.begin[i + 1]) return false;
    }
    if (detail::largest(cost, c) != least_by_search<N>(cost)) return false;
  }
  return true;
}
static_assert(best_of_all<1, 5>() && best_of_all<2, 7>() && best_of_all<3, 8>() && best_of_all<4, 9>());
static_assert(best_of_all<6, 6>() && best_of_all<5, 7>());
static_assert(cut_at<5>(detail::cut_by_cost<5>({1, 1, 1, 1, 1, 1, 1, 1, 1}), {0, 2, 4, 6, 8, 9}));
static_assert(cut_at<3>(detail::cut_by_cost<3>({0, 0, 0, 0}), {0, 2, 3, 4}));
static_assert(cut_at<2>(detail::cut_by_cost<2>({1, 1, 1, 1, 1, 9}), {0, 5, 6}));

// A chain of narrow layers and one wide layer. f3 reads and writes the most bytes and has the most work.
constexpr auto x = input<"x", 8, 16>;
constexpr auto y = labels<"y", 5, 8>;
template <fixed_string Name, int Width>
constexpr auto f = nn::linear<Name, Width> | nn::gelu;
constexpr auto chain =
    hana::make_tuple(f<"f1", 16>, f<"f2", 16>, f<"f3", 128>, f<"f4", 16>, f<"f5", 16>, nn::linear<"head", 5>);

template <class Layer>
constexpr auto loss_of(Layer l) {
  return cross_entropy(x | l, y);
}
/// Returns true if two training steps compute the same operations in the same order, store the same bytes, and have
/// equal segments except for the names.
template <auto A, auto B>
constexpr bool equal_steps() {
  using a = step_of<A>;
  using b = step_of<B>;
  if (a::schedule.node_count != b::schedule.node_count || a::schedule.turn != b::schedule.turn) return false;
  for (int v = 0; v < a::schedule.node_count; ++v) {
    const graphs::node &n = a::schedule.nodes[v], &m = b::schedule.nodes[v];
    if (n.op != m.op || a::schedule.segment[v] != b::schedule.segment[v] ||
        a::schedule.recomputes[v] != b::schedule.recomputes[v])
      return false;
    for (int i = 0; i < n.op->argument_count; ++i) {
      if (a::schedule.argument(v, i) != b::schedule.argument(v, i)) return false;
    }
  }
  return stored<a> == stored<b> && peak<a> == peak<b> &&
         std::ranges::equal(detail::segments_in<a>, detail::segments_in<b>, {}, &segment_plan::boundary_bytes,
                            &segment_plan::boundary_bytes);
}
template <auto Loss>
constexpr bool has_segments(auto... names) {
  return std::ranges::equal(detail::segments_in<step_of<Loss>>,
                            std::array<std::string_view, sizeof...(names)>{names...}, {}, &segment_plan::path);
}

constexpr auto in_three = loss_of(ckpt_sequential<3>(chain));
static_assert(
    equal_steps<in_three, loss_of(ckpt<"s">(f<"f1", 16> | f<"f2", 16>) | ckpt<"t">(f<"f3", 128> | f<"f4", 16>) |
                                  f<"f5", 16> | nn::linear<"head", 5>)>());
static_assert(has_segments<in_three>("sequential.0", "sequential.1") && detail::checked<in_three>());
static_assert(
    equal_steps<loss_of(ckpt_sequential<1>(chain)), loss_of(f<"f1", 16> | f<"f2", 16> | f<"f3", 128> | f<"f4", 16> |
                                                            f<"f5", 16> | nn::linear<"head", 5>)>());
static_assert(has_segments<loss_of(ckpt_sequential<1>(chain))>());
static_assert(
    has_segments<loss_of(ckpt_sequential<1>(hana::make_tuple([](auto v) { return v | nn::linear<"a", 5>; })))>());
static_assert(has_segments<loss_of(block<"b">(ckpt_sequential<2>(chain)))>("b.sequential.0"));

// Policies are passed on to the segments. Each policy needs to fit only one segment.
// A tuple of std and a tuple of Boost.Hana make the same chain.
static_assert(std::same_as<decltype(ckpt_sequential<2>(std::tuple{nn::relu, nn::tanh, nn::gelu})),
                           decltype(ckpt_sequential<2>(hana::make_tuple(nn::relu, nn::tanh, nn::gelu)))>);

constexpr auto tagged_chain = hana::make_tuple(nn::linear<"a", 16> | nn::softmax | nn::tag<"t"> | nn::softmax,
                                               nn::relu | nn::softmax, nn::linear<"head", 5>);
template <class... Policy>
using kept_in_chain = step_of<loss_of(ckpt_sequential<3, Policy...>(tagged_chain))>;
template <class... Policy>
constexpr auto recomputed_in_chain = std::pair{recomputed<kept_in_chain<Policy...>>("sequential.0"),
                                               recomputed<kept_in_chain<Policy...>>("sequential.1")};
static_assert(recomputed_in_chain<> == std::pair{3, 1});
static_assert(recomputed_in_chain<save<"t">> == std::pair{0, 1});
static_assert(recomputed_in_chain<by_bytes, save<"t">> == std::pair{0, 1});
static_assert(recomputed_in_chain<save_matmuls> == std::pair{2, 1});
static_assert(recomputed_in_chain<save_everything> == std::pair{0, 0});

// Cuts by what is computed. f3 computes the most bytes, because its result is wide. f4 has as much work as f3, because
// its argument is wide.
constexpr graphs::stage_work of_f3 =
    graphs::stage_work_of<lang::call<lang::stage_mark, std::remove_const_t<decltype(f<"f3", 128>)>,
                                     lang::stage_input<0, lang::tensor_of<decltype(x)>>>>();
static_assert(of_f3.bytes == 3 * 8 * 128 * 4 && of_f3.flops == 2 * 8 * 16 * 128 + 2 * 8 * 128);
static_assert(equal_steps<loss_of(ckpt_sequential<4, by_bytes, allow_useless>(chain)),
                          loss_of(ckpt<"s">(f<"f1", 16> | f<"f2", 16>) | ckpt<"t">(f<"f3", 128>) |
                                  ckpt<"u">(f<"f4", 16> | f<"f5", 16>) | nn::linear<"head", 5>)>());
static_assert(equal_steps<loss_of(ckpt_sequential<4, by_flops, allow_useless>(chain)),
                          loss_of(ckpt<"s">(f<"f1", 16> | f<"f2", 16>) | ckpt<"t">(f<"f3", 128>) |
                                  ckpt<"u">(f<"f4", 16>) | f<"f5", 16> | nn::linear<"head", 5>)>());

}  // namespace
