// Programs that divide their batch: their memory, their work and their plans. The plan is that of one part. It adds to
// the gradients of the parts before it, and its updates come behind it.
#include "cairn/check/frontier.hpp"
#include "cairn/check/parts_that_fit.hpp"
#include "cairn/check/scan.hpp"
#include "cairn/lang/scan.hpp"
#include "cairn/nn/activation.hpp"
#include "cairn/nn/batch_norm.hpp"
#include "cairn/nn/linear.hpp"
#include "cairn/op/loss.hpp"
#include "cairn/op/matmul.hpp"
#include "cairn/op/reduce.hpp"
#include "cairn/train/rules.hpp"

#include "../overlap.hpp"

using namespace cairn;
using namespace cairn::test;

namespace {

using adam = update<adamw_options{}>;

constexpr auto x = input<"x", 16, 8>;
constexpr auto y = labels<"y", 4, 16>;
constexpr auto net = cross_entropy(x | nn::linear<"a", 16> | nn::relu | nn::linear<"b", 4>, y);
constexpr auto in_segments =
    cross_entropy(x | nn::linear<"in", 32> | repeat<3, "block">([](auto) {
                    return ckpt<"s">(nn::residual(nn::linear<"fc", 64> | nn::tanh | nn::linear<"gc", 32>));
                  }) | nn::linear<"out", 4>,
                  y);
constexpr nn::batch_norm_options local{.statistics = nn::batch_statistics::local};
constexpr auto normed = cross_entropy(x | nn::linear<"in", 32> | nn::batch_norm<"bn", local> | nn::linear<"out", 4>, y);
constexpr auto counted = cross_entropy<nn::cross_entropy_options{.ignore_index = 0}>(x | nn::linear<"out", 4>, y);
constexpr auto looped =
    mean(scan<5, "step", revolve<1>>([](auto h) { return tanh(h | nn::linear<"w", 8>); }, carried(x)));

template <class Step>
constexpr memory_plan bytes = detail::memory_in<Step>;
template <class Step>
constexpr flop_counts work = detail::flops_in<Step>;

// ---- Bytes. The arena is that of a part. The gradients of all parts are in one block. Without states and shards,
// nothing else is stored.
template <auto Loss, class... Options>
constexpr bool has_the_memory_of_a_part = [] {
  constexpr memory_plan one = bytes<step_of<Loss, accumulate_gradients>>;
  constexpr memory_plan many = bytes<step_of<Loss, Options...>>;
  return many.peak_bytes == one.peak_bytes && many.stored_bytes == one.stored_bytes &&
         many.gradient_bytes == one.gradient_bytes && many.parameter_bytes == one.parameter_bytes &&
         many.total_bytes() ==
             many.peak_bytes + many.parameter_bytes + many.gradient_bytes + many.moment_bytes + many.division_bytes;
}();
static_assert(has_the_memory_of_a_part<net, microbatch<2>>);
static_assert(has_the_memory_of_a_part<net, microbatch<1000>>);
static_assert(has_the_memory_of_a_part<net, microbatch<up_to<3>>>);
static_assert(has_the_memory_of_a_part<in_segments, microbatch<4>>);
static_assert(has_the_memory_of_a_part<in_segments, shards<4>, microbatch<3>>);
static_assert(has_the_memory_of_a_part<normed, shards<2>>);
static_assert(bytes<step_of<net, microbatch<2>>>.division_bytes == 0);
static_assert(bytes<step_of<net, accumulate_gradients>>.division_bytes == 0);
static_assert(bytes<step_of<net, microbatch<2>, adam>>.moment_bytes == 2 * bytes<step_of<net>>.parameter_bytes);
// A running mean and a running variance of 32 floats have a second copy. Without a division they have none.
static_assert(bytes<step_of<normed, microbatch<2>>>.division_bytes == 2 * 128);
static_assert(bytes<step_of<normed, microbatch<7>, adam>>.division_bytes == 2 * 128);
static_assert(bytes<step_of<normed, adam>>.division_bytes == 0);
static_assert(bytes<step_of<normed, microbatch<2>, real<double>>>.division_bytes == 2 * 256);
// A tree of L shards has log2(L) sums that wait.
template <auto Loss, int L, class... Options>
constexpr std::int64_t waiting = bytes<step_of<Loss, shards<L>, Options...>>.division_bytes;
static_assert(waiting<net, 2> == bytes<step_of<net>>.gradient_bytes);
static_assert(waiting<net, 8> == 3 * waiting<net, 2> && waiting<net, 8, microbatch<5>> == waiting<net, 8>);
static_assert(waiting<net, 1024, adam> == 10 * waiting<net, 2>);
static_assert(waiting<normed, 4> == 256 + 2 * (bytes<step_of<normed>>.gradient_bytes + 256));
static_assert(bytes<step_of<normed, freeze<"in">, shards<2>>>.division_bytes ==
              256 + bytes<step_of<normed, freeze<"in">>>.gradient_bytes + 256);
// The number of parts that is given at run time needs no bytes.
static_assert(bytes<step_of<normed, microbatch<up_to<6>>, adam>>.total_bytes() ==
              bytes<step_of<normed, microbatch<6>, adam>>.total_bytes());

// ---- Work. A step does N times the work of a part, and one update.
template <auto Loss, int N, class... Options>
constexpr bool has_the_work_of_parts = [] {
  constexpr flop_counts one = work<step_of<Loss, accumulate_gradients>>;
  constexpr flop_counts many = work<step_of<Loss, Options...>>;
  constexpr flop_counts updated = work<step_of<Loss, Options..., adam>>;
  constexpr std::int64_t update = work<step_of<Loss, adam>>.total() - work<step_of<Loss>>.total();
  return many.forward == N * one.forward && many.backward == N * one.backward &&
         many.recomputed == N * one.recomputed && updated.forward == many.forward &&
         updated.recomputed == many.recomputed && updated.backward == many.backward + update && update > 0;
}();
static_assert(has_the_work_of_parts<net, 2, microbatch<2>>);
static_assert(has_the_work_of_parts<in_segments, 3, microbatch<3>>);
static_assert(has_the_work_of_parts<in_segments, 12, microbatch<3>, shards<4>>);
static_assert(has_the_work_of_parts<normed, 5, microbatch<up_to<5>>>);
static_assert(work<step_of<in_segments, microbatch<3>>>.recomputed > 0);
constexpr loop_counts of_one = detail::loops_in<step_of<looped>>,
                      of_three = detail::loops_in<step_of<looped, microbatch<3>, adam>>;
static_assert(of_one.evaluations > 5 && of_three.evaluations == 3 * of_one.evaluations);
static_assert(of_three.saves == 3 * of_one.saves && of_three.loads == 3 * of_one.loads);

// ---- Plans. No two values that live at the same time share a byte.
template <auto Loss, class... Options>
constexpr bool is_sound =
    judged<step_of<Loss, Options...>>() == fault::none && judged<step_of<Loss, Options..., adam>>() == fault::none &&
    judged<step_of<Loss, Options..., adam, clip<1.0>>>() == fault::none;
static_assert(is_sound<net, microbatch<2>>);
static_assert(is_sound<in_segments, microbatch<up_to<2>>>);
static_assert(is_sound<normed, shards<2>>);
static_assert(is_sound<counted, microbatch<2>>);
static_assert(is_sound<looped, microbatch<2>>);
// The arena also holds the values of which the counts are computed.
static_assert(bytes<step_of<counted, microbatch<2>>>.peak_bytes >=
              plans::counts_of<step_of<counted, microbatch<2>>>::layout.peak_bytes);
static_assert(plans::counts_of<step_of<counted, microbatch<2>>>::layout.peak_bytes > 0);

// ---- The model of the whole batch.
template <int Rows>
constexpr auto rows =
    cross_entropy(input<"x", Rows, 8> | nn::linear<"a", 256> | nn::relu | nn::linear<"b", 4>, labels<"y", 4, Rows>);
static_assert(detail::checked<rows<64>, microbatch<4, of<rows<256>>>, adam>());
static_assert(detail::checked<rows<64>, microbatch<2, of<rows<256>>>, shards<2>, adam>());

// ---- The fewest microbatches that fit.
constexpr auto loss_of = [](auto count) { return rows<count>; };
template <int Parts>
constexpr std::int64_t arena = bytes<step_of<rows<360 / Parts>, adam, microbatch<Parts>>>.peak_bytes;
template <std::int64_t Bytes>
constexpr int fewest = parts_that_fit<loss_of, 360, budget<Bytes>, adam>;
constexpr std::int64_t undivided = bytes<step_of<rows<360>, adam>>.peak_bytes;
static_assert(undivided > arena<2> && arena<2> > arena<3> && arena<3> > arena<5> && arena<5> > arena<6>);
static_assert(fewest<undivided> == 1 && fewest<undivided - 1> == 2 && fewest<arena<2> - 1> == 3);
static_assert(fewest<arena<5>> == 5 && fewest<arena<5> - 1> == 6);
static_assert(parts_that_fit<loss_of, 7, budget<arena<360>>, adam> == 7 && parts_that_fit<loss_of, 360, adam> == 1);
// If none fits, this is the number of microbatches with the smallest arena.
static_assert(arena<fewest<1>> <= arena<180> && arena<fewest<1>> <= arena<360>);
// With fit<...>, each program has the segments that the compiler places.
constexpr auto deep_of = [](auto count) {
  return mean(square(input<"x", count, 32> | repeat<4, "block">([](auto) {
                       return nn::residual(nn::linear<"fc", 64> | nn::tanh | nn::linear<"gc", 32>);
                     })));
};
template <int Rows>
constexpr auto deep = deep_of(std::integral_constant<int, Rows>{});
constexpr std::int64_t least_deep = frontier<deep<48>>[0].peak_bytes;
static_assert(parts_that_fit<deep_of, 48, fit<least_deep>> == 1 &&
              parts_that_fit<deep_of, 48, fit<least_deep - 1>> == 2);
static_assert(parts_that_fit<deep_of, 48, budget<least_deep>> > 1);
static_assert(frontier<deep<24>, microbatch<2>>[0].peak_bytes < least_deep);

}  // namespace
