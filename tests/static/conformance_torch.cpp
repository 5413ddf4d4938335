// What PyTorch's tests of checkpoints check, counted in plans. docs/conformance.md lists them.
#include "cairn/op/matmul.hpp"
#include "cairn/op/loss.hpp"
#include "cairn/nn/activation.hpp"
#include "cairn/nn/dropout.hpp"
#include "cairn/nn/linear.hpp"

#include "plan.hpp"

using namespace cairn;
using namespace cairn::test;

namespace {

constexpr std::int64_t row = 8 * 4 * sizeof(float);  // of every value here, if not said otherwise
constexpr auto h = input<"x", 8, 4> | nn::linear<"in", 4>;

// ---- What is computed again is what was computed: the same operation, so of the same shape and random numbers, in the
// same segment or in one around it.
template <class Step>
constexpr int repeated = [] {
  constexpr const auto& s = Step::schedule;
  int n = 0;
  for (int v = s.turn; v < s.node_count; ++v) {
    if (s.recomputes[v] == graph::none) continue;
    const int first = s.recomputes[v];
    if (first >= s.turn || s.origin[first] != s.origin[v] || s.nodes[first].op != s.nodes[v].op) return -1;
    ++n;
  }
  return n;
}();
constexpr auto inner = nn::linear<"a", 16> | nn::gelu | nn::dropout<"d"> | nn::linear<"b", 4>;
constexpr auto outer = ckpt<"inner">(inner) | nn::softmax | nn::tag<"t"> | nn::linear<"c", 4> | nn::tanh;
using blocks = step_of<sum(h | repeat<3, "block">([](auto) { return ckpt<"outer", save<"t">>(outer); }))>;
static_assert(repeated<blocks> > 0 && repeated<step_of<sum(h | outer), plain>> == 0);

// ---- Memory falls as backward goes on: of four stored values each is read last before those that are older.
template <class Step>
constexpr int freed_in_turn = [] {
  int n = 0, before = Step::steps.step_count;
  for (int v = 0; v < Step::schedule.turn; ++v) {
    if (!Step::schedule.stored[v] || Step::ranges.last[v] == Step::steps.step_count) continue;  // results stay
    if (Step::ranges.last[v] >= before) return -1;
    before = Step::ranges.last[v];
    ++n;
  }
  return n;
}();
constexpr auto unit = nn::linear<"fc", 4> | nn::softmax;
constexpr auto chain = sum(h | repeat<4, "block">([](auto) { return ckpt<"s", allow_useless>(unit | unit); }));
static_assert(freed_in_turn<step_of<chain>> == 4 && stored<step_of<chain>> == 4 * row);

// ---- Arguments that are no tensors: numbers alone, of which one is a result again.
constexpr auto of_numbers = [](auto a, auto b) { return std::tuple{exp(a) * param<"w", 8, 4> * b, b}; };
constexpr auto numbers_only = [] {
  const auto [value, same] = ckpt<"s", allow_useless>(of_numbers, 0.5_c, 2_c);
  return sum(tanh(value) * same);
}();
static_assert(std::same_as<detail::problem_in<step_of<numbers_only>>, sound>);
static_assert(segment<step_of<numbers_only>>("s").boundary_bytes == 0);

// ---- Several results that a policy keeps: none of them, nor what leads to it, runs again.
constexpr auto two = [](auto v) { return std::tuple{tag<"l">(softmax(exp(v))), tag<"r">(softmax<0>(tanh(v)))}; };
template <class Policy>
constexpr auto of_two = [] {
  const auto [l, r] = ckpt<"s", allow_useless, Policy>(two, h);
  return sum(l * 2_c + r);  // reads neither
}();
static_assert(runs_of<step_of<of_two<save_nothing>>>("softmax") == runs{2, 2});
static_assert(runs_of<step_of<of_two<save<"l">>>>("softmax") == runs{2, 1});
static_assert(runs_of<step_of<of_two<save<"l", "r">>>>("softmax") == runs{2, 0});

// ---- A policy has no state, so what it says depends on the value alone.
struct counting {
  int asked = 0;
  constexpr bool operator()(const saveable&) const { return asked == 0; }
};
struct asking {
  constexpr bool operator()(const saveable& v) const { return v.operation == "softmax"; }
};
static_assert(a_policy<asking> && !a_policy<counting>);

// ---- Of two products of one size a policy keeps the dear one, and the cheap one is computed again.
struct keeps_what_is_dear {
  constexpr bool operator()(const saveable& v) const { return v.flops >= 100 * v.shape.count(); }
};
constexpr auto cheap_and_dear = [](auto v, auto wide) {
  return softmax(matmul(v, param<"cheap", 4, 4>)) + softmax(matmul(wide, param<"dear", 128, 4>));
};
template <class Policy>
using of_both = step_of<sum(ckpt<"s", allow_useless, Policy>(cheap_and_dear, h, input<"wide", 8, 128>))>;
static_assert(stored<of_both<keeps_what_is_dear>> == 2 * row && stored<of_both<save_nothing>> == row);
static_assert(segment<of_both<save_nothing>>("s").recomputed_flops -
                  segment<of_both<keeps_what_is_dear>>("s").recomputed_flops ==
              2 * 8 * 128 * 4);

}  // namespace
