// Optimizers in the training step. The tests show which memory updates need and save, when they run, and which fused
// loops they join. The law of the arena also holds for updates and for the values that they replace.
#include "cairn/nn/activation.hpp"
#include "cairn/nn/batch_norm.hpp"
#include "cairn/nn/linear.hpp"
#include "cairn/nn/norm.hpp"
#include "cairn/op/loss.hpp"
#include "cairn/op/matmul.hpp"
#include "cairn/op/reduce.hpp"
#include "cairn/op/slice.hpp"
#include "cairn/train/rules.hpp"
#include "cairn/train/whole_rules.hpp"

#include "../overlap.hpp"

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
constexpr auto deep =
    cross_entropy(x | nn::linear<"in", 32> | repeat<4, "block">([](auto) { return stage; }) | nn::linear<"out", 4>, y);
constexpr auto in_segments = cross_entropy(x | nn::linear<"in", 32> | repeat<3, "block">([](auto) {
                                             return ckpt<"s">(nn::residual(stage | nn::linear<"gc", 32>));
                                           }) | nn::linear<"out", 4>,
                                           y);
constexpr auto normed = cross_entropy(
    x | nn::linear<"in", 32> | ckpt<"s", allow_useless>(nn::batch_norm<"bn"> | nn::layer_norm<"ln"> | nn::tanh) |
        nn::linear<"out", 4>,
    y);

// ---- Bytes. There is no block of gradients. Each moment is as large as the trained parameters, and a rule may keep
// several moments.
template <class Step>
constexpr memory_plan bytes = detail::memory_in<Step>;
static_assert(bytes<step_of<net, adam>>.gradient_bytes == 0);
static_assert(bytes<step_of<net, adam>>.moment_bytes == 2 * bytes<step_of<net>>.parameter_bytes);
static_assert(bytes<step_of<net, with_momentum>>.moment_bytes == bytes<step_of<net>>.parameter_bytes);
static_assert(bytes<step_of<net, descent>>.moment_bytes == 0);
static_assert(bytes<step_of<net, adam>>.parameter_bytes == bytes<step_of<net>>.parameter_bytes);
// a is {16, 8} and {16}; b is {4, 16} and {4}. In bytes, this is 512 + 64 + 256 + 64. Frozen parameters have no
// gradients and no moments.
static_assert(bytes<step_of<net>>.parameter_bytes == 896 && bytes<step_of<net>>.gradient_bytes == 896);
static_assert(bytes<step_of<net, adam, freeze<"a">>>.moment_bytes == 2 * 320);
static_assert(bytes<step_of<net, descent, update<adamw_options{}, "*.bias">>>.moment_bytes == 2 * (64 + 64));
static_assert(bytes<step_of<deep, adam>>.parameter_bytes == bytes<step_of<deep>>.gradient_bytes);
constexpr memory_plan all_of_it = bytes<step_of<deep, adam>>;
static_assert(all_of_it.total_bytes() == all_of_it.peak_bytes + all_of_it.parameter_bytes + all_of_it.moment_bytes);
// A gradient is in the arena only until its update has run. It does not wait for other gradients. Clipping by a norm
// stores all gradients.
constexpr memory_plan clipped = bytes<step_of<deep, adam, clip<1>>>;
static_assert(clipped.gradient_bytes == clipped.parameter_bytes && clipped.moment_bytes == all_of_it.moment_bytes);
static_assert(all_of_it.peak_bytes < clipped.peak_bytes + clipped.gradient_bytes / 2);
static_assert(all_of_it.total_bytes() < clipped.total_bytes());
static_assert(bytes<step_of<deep, adam, clip_value<0.5>>>.total_bytes() == all_of_it.total_bytes());
static_assert(bytes<step_of<net, descent, wrt<"x">>>.gradient_bytes == 16 * 8 * 4);  // the gradient of an input is kept

// ---- Order. Each update runs as soon as its gradient is complete and the last product has read the parameter.
static_assert(steps<step_of<net, adam>> ==
              "[matmul add relu] [matmul add] cross_entropy | softmax_error [mul] [mul sum] matmul [update] matmul "
              "[update] [step mul sum] matmul [update] [update]");
static_assert(steps<step_of<net, adam, clip<1>>> ==
              "[matmul add relu] [matmul add] cross_entropy | softmax_error [mul] [mul sum] matmul [matmul step mul] "
              "sum matmul [update] [update] [update] [update]");
// The gradient of a parameter that two layers read has two terms. The product with the first term is larger than its
// arguments, so it is computed when the second term is, and not at the start of the backward pass.
constexpr auto at_both_ends = param<"w", 64, 32>;
constexpr auto inside =
    repeat<4, "inside">([](auto) { return nn::linear<"a", 96> | nn::tanh | nn::linear<"b", 32> | nn::tanh; });
constexpr auto decoder = layer([](auto h) { return matmul(h, transpose(at_both_ends)); });
using autoencoder = step_of<sum(square(tanh(matmul(input<"x", 4, 64>, at_both_ends)) | inside | decoder)), adam>;
static_assert(
    std::string_view(steps<autoencoder>.text, steps<autoencoder>.length).ends_with("matmul [matmul add] [update]"));
static_assert(peak<autoencoder> < 3 * 64 * 32 * 4 + 1000);
/// Returns true if no plan step after an update reads the old value of the parameter, and if no update runs before the
/// turn.
template <class Plan>
constexpr bool updates_come_last = [] {
  constexpr const auto& s = Plan::schedule;
  constexpr const auto& f = Plan::steps;
  int updates = 0;
  for (int c = 0; c < s.carry_count; ++c) {
    if (s.carries[c].moment != graphs::none) continue;
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
// A parameter that is read twice is updated after both reads. If the transpose or a slice of a parameter is read, the
// parameter is updated after this read.
constexpr auto square_w = param<"w", 8, 8>;
constexpr auto tied =
    mean(matmul(matmul(x, square_w), transpose(square_w)) * param<"scale", 8>) + sum(square(square_w));
static_assert(updates_come_last<step_of<tied, adam>> && updates_come_last<step_of<tied, descent>>);

// ---- Fused loops. An update joins the fused loop that computes an elementwise gradient. It is then no plan step of
// its own.
constexpr auto elementwise = mean(square(input<"a", 16> * param<"w", 16>));
static_assert(steps<step_of<elementwise>> == "[mul square sum] [mul] | [mul] [expand mul mul mul mul]");
static_assert(steps<step_of<elementwise, adam>> == "[mul square sum] [mul] | [mul] [expand mul mul mul mul update]");
static_assert(steps<step_of<elementwise, adam, clip_value<1>>> ==
              "[mul square sum] [mul] | [mul] [expand mul mul mul mul update]");
static_assert(steps<step_of<elementwise, adam, clip<1>>> ==
              "[mul square sum] [mul] | [mul] [expand mul mul mul mul] [update]");
// The gradient then has no memory at all, not even in the arena.
static_assert(bytes<step_of<elementwise, adam>>.peak_bytes == bytes<step_of<elementwise>>.peak_bytes);

// ---- The law of the arena, which also covers moments and updated parameters.
static_assert(lawful<net, adam>() && lawful<net, descent>() && lawful<net, with_momentum>());
static_assert(lawful<deep, adam>() && lawful<net, adam, clip<1>>() && lawful<net, adam, clip_value<1>>());
static_assert(lawful<in_segments, adam>() && lawful<in_segments, adam, clip<1>, real<double>>());
static_assert(lawful<normed, adam>() && lawful<tied, adam>() && lawful<elementwise, adam>());
// The fused loop of an update reads elements of its parameter at other positions. These elements are copied before the
// loop.
constexpr auto folded = sum(square(param<"w", 8, 16> - detach(slice<0, 0, 1>(param<"w", 8, 16>))));
static_assert(steps<step_of<folded, adam>> == "[slice] [sub square] sum | [expand mul] [slice] [sub mul update]");
static_assert(step_of<folded, adam>::addresses.copy_count == 0 && lawful<folded, adam>());
static_assert(lawful<outputs(tied, square_w), adam>() && lawful<net, descent, wrt<"x">, freeze<"b">>());

// ---- Rules of whole tensors. Their values are planned as all others. The gradient, the moments and the parameter are
// read and written in place, and the loop that computes the direction also sums its squares.
using lamb = update<lamb_options{}>;
static_assert(steps<step_of<elementwise, lamb>> ==
              "[mul square sum] [mul] | [mul] [expand mul mul mul mul square sum] [equal where sqrt where saturated] "
              "[squarable sub mul add mul sub mul add sqrt add div mul mul add saturated square sum] "
              "[equal where sqrt where saturated minimum less div saturated where] [mul saturated mul sub saturated]");
static_assert(step_of<elementwise, lamb>::addresses.copy_count == 0);
static_assert(bytes<step_of<net, lamb>>.moment_bytes == 2 * bytes<step_of<net>>.parameter_bytes);
static_assert(bytes<step_of<net, lamb>>.gradient_bytes == 0);
static_assert(updates_come_last<step_of<net, lamb>> && updates_come_last<step_of<net, lamb, clip<1>>>);
static_assert(updates_come_last<step_of<in_segments, lamb>> && updates_come_last<step_of<tied, lamb>>);
static_assert(lawful<net, lamb>() && lawful<net, lamb, clip<1>>() && lawful<in_segments, lamb>());
static_assert(lawful<normed, lamb>() && lawful<tied, lamb>() && lawful<folded, lamb>());
// Adafactor stores a number for each row and for each column.
using muon = update<muon_options{}, "*.weight">;
using factored = update<adafactor_options{}>;
static_assert(lawful<net, adam, muon>() && lawful<net, adam, muon, clip<1>>() && lawful<in_segments, adam, muon>());
static_assert(lawful<net, factored>() && lawful<in_segments, factored>() && lawful<tied, factored>());
static_assert(updates_come_last<step_of<in_segments, adam, muon>> && updates_come_last<step_of<tied, factored>>);
// The loop that writes over the parameter does not take the tiles of the last product, as no update does.
using orthogonal = step_of<sum(param<"w", 8, 16> * input<"g", 8, 16>), update<muon_options{}>>;
static_assert(std::string_view(steps<orthogonal>.text, steps<orthogonal>.length)
                  .ends_with("[matmul mul] [matmul mul add] [matmul add mul sub] [saturated]"));
static_assert(bytes<step_of<net, descent, muon>>.moment_bytes == 512 + 256);
static_assert(bytes<step_of<net, descent, update<adafactor_options{}, "a.weight">>>.moment_bytes == 16 * 4 + 64);
static_assert(lawful<outputs(tied, square_w), lamb>() && lawful<net, lamb, wrt<"x">, freeze<"b">>());

// A limit that is 0 or subnormal as a float would train nothing.
template <auto Limit>
concept a_limit = requires { clip<Limit>{}; } && requires { clip_value<Limit>{}; };
static_assert(a_limit<1> && a_limit<1e-30> && !a_limit<0> && !a_limit<1e-60>);

}  // namespace
