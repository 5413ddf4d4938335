// The results and costs of a scan, as constants: shapes, evaluations, bytes and operations.
#include "cairn/check/scan.hpp"

#include "cairn/lang/scan.hpp"
#include "cairn/nn/linear.hpp"
#include "cairn/op/elementwise.hpp"
#include "cairn/op/matmul.hpp"
#include "cairn/op/reduce.hpp"
#include "cairn/run/program.hpp"
#include "cairn/run/scan.hpp"

#include <limits>

#include "../overlap.hpp"

using namespace cairn;

namespace {

// The number F(n, s) of Griewank and Walther (2000), if the turn is the last step.
static_assert(cairn::detail::reversal::evaluations(10, 1) == 55 && cairn::detail::reversal::evaluations(10, 2) == 30);
static_assert(cairn::detail::reversal::evaluations(10, 3) == 25 && cairn::detail::reversal::evaluations(10, 4) == 24);
static_assert(cairn::detail::reversal::evaluations(10, 5) == 23 && cairn::detail::reversal::evaluations(10, 9) == 19);
static_assert(cairn::detail::reversal::evaluations(16, 2) == 61 && cairn::detail::reversal::evaluations(16, 3) == 49);
static_assert(cairn::detail::reversal::evaluations(16, 4) == 43 && cairn::detail::reversal::evaluations(32, 3) == 125);
static_assert(cairn::detail::reversal::evaluations(100, 5) == 416 &&
              cairn::detail::reversal::evaluations(100, 10) == 322);
static_assert(cairn::detail::reversal::evaluations(100'000, 10) == 932'040);
static_assert(cairn::detail::reversal::evaluations(2'000'000'000, 1) == 2'000'000'001'000'000'000);

/// Runs a policy: follows the actions of its schedule and checks that each action is possible. Returns the counts, or
/// zeros if an action is impossible.
template <class Policy, int T>
constexpr loop_counts done = [] {
  using cairn::detail::reversal::action;
  typename Policy::template schedule<T> schedule;
  loop_counts n;
  int state_in[Policy::template slots<T> + Policy::backward_slots + 1] = {}, at_hand = 0;
  int left = T + 1, recorded = T;  // the turn counts as an iteration; iterations from `recorded` on need no evaluation
  for (action a = schedule.next(); a.what != action::done; a = schedule.next()) {
    if (a.what == action::restore) {
      at_hand = state_in[a.slot];
      ++n.loads;
    } else if (a.what == action::reverse) {
      if ((a.from != at_hand && a.from < recorded) || a.from != --left) return loop_counts{};
      n.evaluations += a.from < recorded;
      at_hand = T + 2;  // no state is at hand until one is restored
    } else if (a.what == action::record) {
      if (a.from != at_hand || a.to != left || a.to - a.from > Policy::segment_length) return loop_counts{};
      n.evaluations += a.to - a.from;
      recorded = a.from;
    } else {
      if (a.from != at_hand || a.to > T) return loop_counts{};
      n.evaluations += a.to - a.from;
      at_hand = a.to;
      if (a.slot == cairn::detail::reversal::none) continue;
      state_in[a.slot] = a.to;
      ++n.saves;
    }
  }
  return left == 0 ? n : loop_counts{};
}();
template <class Policy, int... T>
constexpr bool does_what_it_says = ((done<Policy, T> == Policy::template counts<T>) && ...);
static_assert(does_what_it_says<revolve<1>, 1, 2, 3, 5, 10, 100>);
static_assert(does_what_it_says<revolve<2>, 2, 3, 4, 5, 10, 100, 250>);
static_assert(does_what_it_says<revolve<3>, 3, 4, 9, 10, 15, 31, 100, 250>);
static_assert(does_what_it_says<revolve<10>, 10, 11, 64, 65, 66, 100, 250, 1000>);
static_assert(does_what_it_says<two_level<1, 1>, 1, 2, 5>);
static_assert(does_what_it_says<two_level<4, 2>, 4, 5, 7, 8, 9, 100>);
static_assert(does_what_it_says<two_level<10, 10>, 10, 11, 99, 100, 101>);
static_assert(does_what_it_says<segment_every<1>, 1, 2, 5>);
static_assert(does_what_it_says<segment_every<16>, 16, 17, 31, 32, 100>);

// The largest number of iterations. This checks the iterations after the last whole period, the turn, and the first
// iterations that are reversed.
constexpr int most = std::numeric_limits<int>::max();
template <class Policy>
constexpr bool begins_well = [] {
  using cairn::detail::reversal::action;
  typename Policy::template schedule<most> schedule;
  int now = 0;
  action a = schedule.next();
  for (; a.what == action::advance; a = schedule.next()) {
    if (a.from != now || a.to <= now) return false;
    now = a.to;
  }
  if (a.what != action::reverse || a.from != most || Policy::template slots<most> > 2) return false;
  if (schedule.next().what != action::restore) return false;
  a = schedule.next();
  return a.what == action::reverse ? a.from == most - 1 : a.to > most - 3;
}();
static_assert(begins_well<revolve<1>> && begins_well<revolve<3>>);
static_assert(begins_well<two_level<most - 1, 2>> && begins_well<two_level<most, 1>>);
static_assert(begins_well<two_level<most / 2, 1>>);
static_assert(begins_well<segment_every<most - 1>> && begins_well<segment_every<most>>);
static_assert(begins_well<segment_every<most / 2>>);
static_assert(revolve<1>::counts<most>.evaluations == std::int64_t{most} * (most + std::int64_t{3}) / 2);
static_assert(segment_every<most - 1>::counts<most> == loop_counts{2 * std::int64_t{most}, 1, 2});
static_assert(two_level<most - 1, 1>::slots<most> == 1 && two_level<most - 1, 1>::counts<most>.loads == most);

constexpr auto h0 = input<"h0", 8, 16>;
constexpr auto xs = input<"xs", 50, 8, 16>;
constexpr auto cell = [](auto h, auto x, auto a) {
  const auto next = tanh(matmul(h, param<"w", 16, 16>) + x * a);
  return std::tuple{next, sum<-1>(next), argmax<-1>(next)};
};
template <class Policy>
constexpr auto results = scan<50, "step", Policy>(cell, carried(h0), each(xs), param<"a", 16>);
template <class Policy>
constexpr auto loss = [] {
  const auto [h, sums, places] = results<Policy>;
  static_assert(decltype(h)::shape == shape(8, 16) && decltype(sums)::shape == shape(50, 8));
  static_assert(decltype(places)::shape == shape(50, 8) && decltype(places)::element == index_below(16));
  return mean(h) + mean(sums);
}();

// A single value is no tuple.
static_assert(scan<3, "s">([](auto h) { return tanh(h); }, carried(h0)).shape == shape(8, 16));
static_assert(scan<3, "s">([](auto h) { return std::tuple{tanh(h)}; }, carried(h0)).shape == shape(8, 16));
// The index of an iteration is a scalar below the number of iterations.
static_assert(std::get<1>(scan<3, "s">([](auto h, auto i) { return std::tuple{h, i}; }, carried(h0), each(arange<3>)))
                  .element == index_below(3));

template <class Policy, class... Options>
using trained = program<loss<Policy>, Options...>;

// The counts, and the bytes of the open sums of gradients. The gradients of `w` and `a` have open sums because there
// are more than 32 iterations.
constexpr std::int64_t of_sums = (16 * 16 + 16) * 4;
static_assert(trained<store_all>::loops() == loop_counts{50, 50, 50, of_sums});
static_assert(trained<revolve<1>>::loops() == loop_counts{50 + 50 * 51 / 2, 0, 50, of_sums});
static_assert(trained<revolve<50>>::loops() == loop_counts{100, 49, 50, of_sums});
static_assert(trained<two_level<10, 1>>::loops() == loop_counts{50 + 5 * 55, 4, 50, of_sums});
static_assert(trained<segment_every<10>>::loops() == loop_counts{100, 4, 5, of_sums});
template <int T>
constexpr auto decay = sum(scan<T, "step">([](auto h) { return h * param<"w", 16>; }, carried(input<"h", 16>)));
static_assert(program<decay<32>>::loops().sum_bytes == 0 && program<decay<33>>::loops().sum_bytes == 64);
// The difference is the open sum and one more state.
static_assert(program<decay<33>>::memory().peak_bytes == program<decay<32>>::memory().peak_bytes + 64 + 64);

// Operations. The forward pass is the same under all policies. Iterations that are evaluated again count as recomputed.
constexpr flop_counts all = trained<store_all>::flops(), few = trained<revolve<1>>::flops();
static_assert(all.recomputed == 0 && all.forward == few.forward && all.backward == few.backward);
constexpr std::int64_t one_step = 2 * 8 * 16 * 16;
static_assert(few.recomputed > 50 * 51 / 2 * one_step && few.recomputed < 50 * 51 / 2 * 2 * one_step);

// Bytes. A snapshot has the bytes of the carried state, whatever the body computes. With `store_all`, each iteration
// stores its state and the values that the backward pass reads. Here this is the argument of tanh.
constexpr std::int64_t state = 8 * 16 * 4;
constexpr auto peak = []<class Policy>(Policy) { return trained<Policy>::memory().peak_bytes; };
static_assert(peak(revolve<9>{}) - peak(revolve<8>{}) == state &&
              peak(revolve<50>{}) - peak(revolve<9>{}) == 41 * state);
// With segments of P iterations, a segment stores P - 1 states and P arguments of tanh. In addition, the 50 / P - 1
// states before the later segments are stored.
static_assert(peak(segment_every<10>{}) - peak(segment_every<5>{}) == 5 * state);
static_assert(peak(segment_every<25>{}) - peak(segment_every<10>{}) == (12 + 15) * state);
static_assert(peak(two_level<10, 1>{}) == peak(revolve<5>{}) && peak(two_level<10, 4>{}) == peak(revolve<8>{}));

// If the backward pass reads results of the scan, it reads them where they are. Here it reads the states with which
// iterations begin, and nothing else. The first of these states is an input. A value that is collected twice counts
// once, and a state that the backward pass does not read is not stored.
constexpr auto twice = [](auto h, auto sum) {
  const auto next = tanh(h * param<"w", 16>);
  return std::tuple{next, sum + next, next};
};
constexpr auto states_kept = [] {
  const auto [h, sum, hs] = scan<50, "step">(twice, carried(h0, h0));
  return mean(h) + mean(sum) + mean(hs);
}();
static_assert(program<states_kept>::memory().stored_bytes == 49 * state);

// In segments of iterations, a state that the backward pass does not read is not stored either. The second evaluation
// computes only the carried values and the values that the backward pass reads. Here this takes three operations for
// each number of a state. The product, which is only collected, is not computed again. The backward pass computes the
// argument of tanh once more.
template <class Policy>
using collecting = program<[] {
  const auto body = [](auto h, auto sum) {
    const auto [next, more, again] = twice(h, sum);
    return std::tuple{next, more, matmul(again, param<"v", 16, 16>)};
  };
  const auto [h, sum, seen] = scan<50, "step", Policy>(body, carried(h0, h0));
  return mean(h) + mean(sum) + mean(seen);
}()>;
static_assert(collecting<segment_every<10>>::flops().recomputed == 50 * (3 + 1) * 8 * 16);
static_assert(collecting<revolve<5>>::flops().recomputed > 50 * one_step);
static_assert(collecting<segment_every<25>>::memory().peak_bytes - collecting<segment_every<10>>::memory().peak_bytes ==
              15 * state - 3 * 2 * state);

// A scan can take any number of bytes, also more than 128 GiB.
template <int T>
constexpr auto wide = scan<T, "step">([](auto h) { return tanh(h * param<"w", 8192>); }, carried(param<"h0", 8, 8192>));
template <int T>
constexpr std::int64_t bytes_of_wide = program<sum(wide<T>)>::memory().peak_bytes;
static_assert(bytes_of_wide<1'000'001> - bytes_of_wide<41> == 999'960 * std::int64_t{8 * 8192 * 4});

// A gradient that is not asked for is not summed, and has no memory.
static_assert(trained<revolve<9>, freeze<"step">>::memory().peak_bytes == trained<revolve<9>>::memory().peak_bytes);
static_assert(trained<revolve<9>, freeze<"step">>::memory().gradient_bytes == 16 * 4);

// The gradient of the rows that the iterations read takes the place of these rows, if no gradient rule reads the rows.
template <class Policy>
constexpr auto reading = mean(
    scan<50, "step", Policy>([](auto h, auto x) { return relu(h + x); }, carried(h0), each(xs | nn::linear<"in", 16>)));
template <class Policy>
constexpr std::int64_t bytes_read_in = program<reading<Policy>>::memory().peak_bytes;
static_assert(bytes_read_in<revolve<5>> < 2 * 50 * state && bytes_read_in<segment_every<5>> < 2 * 50 * state);
static_assert(bytes_read_in<store_all> < 3 * 50 * state);  // the states as well

// Neither the plan nor the cost of planning depends on the number of iterations.
constexpr auto long_loss =
    mean(scan<100'000, "step", revolve<9>>([](auto h) { return tanh(h * param<"w", 16>); }, carried(h0)));
constexpr auto short_loss =
    mean(scan<10, "step", revolve<9>>([](auto h) { return tanh(h * param<"w", 16>); }, carried(h0)));
static_assert(program<long_loss>::memory().peak_bytes ==
              program<short_loss>::memory().peak_bytes + program<long_loss>::loops().sum_bytes);

// The scan continues the gradient of w from the earlier gradient, and makes a gradient of h in the same plan step. The
// gradient of h does not get the address of the gradient of w, which holds the earlier gradient at that time.
constexpr auto in_several_roles = [] {
  const auto h = tanh(input<"h", 8> * param<"p", 8>);
  return sum(square(scan<3, "r">([](auto c, auto same, auto w) { return tanh(c * w + same * param<"/w", 8>); },
                                 carried(h), h, param<"/w", 8>)));
}();
static_assert(test::lawful<in_several_roles, accumulate_gradients>());

}  // namespace
