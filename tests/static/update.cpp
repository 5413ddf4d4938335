// Updates in the step: what they need and save, when they come, which loops they join; and that they and what they
// follow share memory lawfully.
#include "../overlap.hpp"

#include "cairn/op/loss.hpp"
#include "cairn/op/matmul.hpp"
#include "cairn/op/reduce.hpp"
#include "cairn/op/slice.hpp"
#include "cairn/nn/activation.hpp"
#include "cairn/nn/batch_norm.hpp"
#include "cairn/nn/linear.hpp"
#include "cairn/nn/norm.hpp"
#include "cairn/train/rules.hpp"

using namespace cairn;
using namespace cairn::test;

namespace {

using adam = update<adamw_options{}>;
using descent = update<sgd_options{}>;
using with_momentum = update<sgd_options{.momentum = 0.9}>;

constexpr auto x = input<"x", 16, 8>;
constexpr auto y = labels<"y", 4, 16>;
constexpr auto net = cross_entropy(x | nn::linear<"a", 16> | nn::relu | nn::linear<"b", 4>, y);
constexpr auto stage = nn::linear<"fc", 32> | nn::tanh;
constexpr auto deep = cross_entropy(
    x | nn::linear<"in", 32> | repeat<4, "block">([](auto) { return stage; }) | nn::linear<"out", 4>, y);
constexpr auto in_segments = cross_entropy(
    x | nn::linear<"in", 32> |
        repeat<3, "block">([](auto) { return ckpt<"s">(nn::residual(stage | nn::linear<"gc", 32>)); }) |
        nn::linear<"out", 4>,
    y);
constexpr auto normed = cross_entropy(
    x | nn::linear<"in", 32> | ckpt<"s", allow_useless>(nn::batch_norm<"bn"> | nn::layer_norm<"ln"> | nn::tanh) |
        nn::linear<"out", 4>,
    y);

// ---- Bytes. No block of gradients; moments are as large as what is trained, as often as the rule keeps one.
template <class Step>
constexpr memory_plan bytes = detail::memory_in<Step>;
static_assert(bytes<step_of<net, adam>>.gradient_bytes == 0);
static_assert(bytes<step_of<net, adam>>.moment_bytes == 2 * bytes<step_of<net>>.parameter_bytes);
static_assert(bytes<step_of<net, with_momentum>>.moment_bytes == bytes<step_of<net>>.parameter_bytes);
static_assert(bytes<step_of<net, descent>>.moment_bytes == 0);
static_assert(bytes<step_of<net, adam>>.parameter_bytes == bytes<step_of<net>>.parameter_bytes);
// a {16, 8}, {16}; b {4, 16}, {4}: 512 + 64 + 256 + 64 bytes, of which the frozen ones have neither.
static_assert(bytes<step_of<net>>.parameter_bytes == 896 && bytes<step_of<net>>.gradient_bytes == 896);
static_assert(bytes<step_of<net, adam, freeze<"a">>>.moment_bytes == 2 * 320);
static_assert(bytes<step_of<net, descent, update<adamw_options{}, "*.bias">>>.moment_bytes == 2 * (64 + 64));
static_assert(bytes<step_of<deep, adam>>.parameter_bytes == bytes<step_of<deep>>.gradient_bytes);
constexpr memory_plan all_of_it = bytes<step_of<deep, adam>>;
static_assert(all_of_it.total_bytes() == all_of_it.peak_bytes + all_of_it.parameter_bytes + all_of_it.moment_bytes);
// A gradient is in the arena for a moment only: it does not wait for the others. To clip by a norm keeps them all.
constexpr memory_plan clipped = bytes<step_of<deep, adam, clip<1>>>;
static_assert(clipped.gradient_bytes == clipped.parameter_bytes && clipped.moment_bytes == all_of_it.moment_bytes);
static_assert(all_of_it.peak_bytes < clipped.peak_bytes + clipped.gradient_bytes / 2);
static_assert(all_of_it.total_bytes() < clipped.total_bytes());
static_assert(bytes<step_of<deep, adam, clip_value<0.5>>>.total_bytes() == all_of_it.total_bytes());
static_assert(bytes<step_of<net, descent, wrt<"x">>>.gradient_bytes == 16 * 8 * 4);  // that of an input is kept

// ---- Order. Each update stands as soon as its gradient is complete and the last product has read the parameter.
static_assert(steps<step_of<net, adam>> ==
              "[matmul add relu] [matmul add] cross_entropy | softmax_error [mul] [mul sum] matmul [update] matmul "
              "[update] [step mul sum] matmul [update] [update]");
static_assert(steps<step_of<net, adam, clip<1>>> ==
              "[matmul add relu] [matmul add] cross_entropy | softmax_error [mul] [mul sum] matmul [matmul step mul] "
              "sum matmul [update] [update] [update] [update]");
/// Whether no step that comes after an update reads the parameter as it was, and none before the turn updates.
template <class Plan>
constexpr bool updates_come_last = [] {
  constexpr const auto& s = Plan::schedule;
  constexpr const auto& f = Plan::steps;
  int updates = 0;
  for (int c = 0; c < s.carry_count; ++c) {
    if (s.carries[c].moment != graph::none) continue;
    ++updates;
    const int at = f.step_of[s.carries[c].after];
    if (at < f.turn) return false;
    for (int i = at + 1; i < f.step_count; ++i) {
      bool reads = false;
      for_each_operand<Plan>(i, f.members[f.steps[i].begin], [&](int v, bool) { reads |= v == s.carries[c].before; });
      if (reads) return false;
    }
  }
  int trained = 0;
  for (int i = 0; i < Plan::graph.leaf_count; ++i) trained += Plan::model::chosen.trained[i];
  return updates == trained;
}();
static_assert(updates_come_last<step_of<net, adam>> && updates_come_last<step_of<net, adam, clip<1>>>);
static_assert(updates_come_last<step_of<deep, adam>> && updates_come_last<step_of<in_segments, adam>>);
static_assert(updates_come_last<step_of<in_segments, adam, plain>> && updates_come_last<step_of<normed, adam>>);
static_assert(updates_come_last<step_of<net, adam, freeze<"a">>>);
// A parameter that is read twice is updated after both, and so is one whose transpose or slice is read.
constexpr auto square_w = param<"w", 8, 8>;
constexpr auto tied =
    mean(matmul(matmul(x, square_w), transpose(square_w)) * param<"scale", 8>) + sum(square(square_w));
static_assert(updates_come_last<step_of<tied, adam>> && updates_come_last<step_of<tied, descent>>);

// ---- Loops. An update joins the loop that makes an elementwise gradient: it is no step of its own.
constexpr auto elementwise = mean(square(input<"a", 16> * param<"w", 16>));
static_assert(steps<step_of<elementwise>> == "[mul square sum] [mul] | [mul] [expand mul mul mul mul]");
static_assert(steps<step_of<elementwise, adam>> == "[mul square sum] [mul] | [mul] [expand mul mul mul mul update]");
static_assert(steps<step_of<elementwise, adam, clip_value<1>>> ==
              "[mul square sum] [mul] | [mul] [expand mul mul mul mul update]");
static_assert(steps<step_of<elementwise, adam, clip<1>>> ==
              "[mul square sum] [mul] | [mul] [expand mul mul mul mul] [update]");
// The gradient has no memory then, not in the arena either.
static_assert(bytes<step_of<elementwise, adam>>.peak_bytes == bytes<step_of<elementwise>>.peak_bytes);

// ---- The law of the arena, to which moments and updated parameters belong.
static_assert(lawful<net, adam>() && lawful<net, descent>() && lawful<net, with_momentum>());
static_assert(lawful<deep, adam>() && lawful<net, adam, clip<1>>() && lawful<net, adam, clip_value<1>>());
static_assert(lawful<in_segments, adam>() && lawful<in_segments, adam, clip<1>, real<double>>());
static_assert(lawful<normed, adam>() && lawful<tied, adam>() && lawful<elementwise, adam>());
// What an update's loop reads of its parameter at other elements is copied before.
constexpr auto folded = sum(square(param<"w", 8, 16> - detach(slice<0, 0, 1>(param<"w", 8, 16>))));
static_assert(steps<step_of<folded, adam>> == "[slice] [sub square] sum | [expand mul] [slice] [sub mul update]");
static_assert(step_of<folded, adam>::addresses.copy_count == 0 && lawful<folded, adam>());
static_assert(lawful<outputs(tied, square_w), adam>() && lawful<net, descent, wrt<"x">, freeze<"b">>());

}  // namespace
