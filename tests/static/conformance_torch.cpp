// The properties that PyTorch's tests of checkpoints check, counted in plans. docs/conformance.md lists the tests.
#include "cairn/nn/activation.hpp"
#include "cairn/nn/dropout.hpp"
#include "cairn/nn/linear.hpp"
#include "cairn/op/loss.hpp"
#include "cairn/op/matmul.hpp"

#include "plan.hpp"

using namespace cairn;
using namespace cairn::test;

namespace {

constexpr std::int64_t row = 8 * 4 * sizeof(float);  // the bytes of all values here, unless others are stated
constexpr auto h = input<"x", 8, 4> | nn::linear<"in", 4>;

// ---- A recomputed value is computed by the same operation as the original value. The operation has the same shape and
// the same random numbers, in the same segment or in a segment around it.
template <class Step>
constexpr int repeated = [] {
  constexpr const auto& s = Step::schedule;
  int n = 0;
  for (int v = s.turn; v < s.node_count; ++v) {
    if (s.recomputes[v] == graphs::none) continue;
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

// ---- Memory is freed as the backward pass proceeds. There are four stored values, and the last read of each comes
// before the last reads of the older values.
template <class Step>
constexpr int freed_in_turn = [] {
  int n = 0, before = Step::steps.step_count;
  for (int v = 0; v < Step::schedule.turn; ++v) {
    // Results of the program stay.
    if (!Step::schedule.stored[v] || Step::ranges.last[v] == Step::steps.step_count) continue;
    if (Step::ranges.last[v] >= before) return -1;
    before = Step::ranges.last[v];
    ++n;
  }
  return n;
}();
constexpr auto unit = nn::linear<"fc", 4> | nn::softmax;
constexpr auto chain = sum(h | repeat<4, "block">([](auto) { return ckpt<"s", allow_useless>(unit | unit); }));
static_assert(freed_in_turn<step_of<chain>> == 4 && stored<step_of<chain>> == 4 * row);

// ---- All arguments of a segment are numbers, and one of them is also a result.
constexpr auto of_numbers = [](auto a, auto b) { return std::tuple{exp(a) * param<"w", 8, 4> * b, b}; };
constexpr auto numbers_only = [] {
  const auto [value, same] = ckpt<"s", allow_useless>(of_numbers, 0.5_c, 2_c);
  return sum(tanh(value) * same);
}();
static_assert(std::same_as<detail::problem_in<step_of<numbers_only>>, lang::sound>);
static_assert(segment<step_of<numbers_only>>("s").boundary_bytes == 0);

// ---- A policy stores several results. Neither these results nor the operations that lead to them are recomputed.
constexpr auto two = [](auto v) { return std::tuple{tag<"l">(softmax(exp(v))), tag<"r">(softmax<0>(tanh(v)))}; };
template <class Policy>
constexpr auto of_two = [] {
  const auto [l, r] = ckpt<"s", allow_useless, Policy>(two, h);
  return sum(l * 2_c + r);  // the backward pass reads neither l nor r
}();
static_assert(runs_of<step_of<of_two<save_nothing>>>("softmax") == runs{2, 2});
static_assert(runs_of<step_of<of_two<save<"l">>>>("softmax") == runs{2, 1});
static_assert(runs_of<step_of<of_two<save<"l", "r">>>>("softmax") == runs{2, 0});

// ---- A policy has no state, so its answer depends only on the value.
struct counting {
  int asked = 0;
  constexpr bool operator()(const saveable&) const { return asked == 0; }
};
struct asking {
  constexpr bool operator()(const saveable& v) const { return v.operation == "softmax"; }
};
static_assert(a_policy<asking> && !a_policy<counting>);

// ---- Two products have results of the same size. A policy stores the expensive one, and the cheap one is recomputed.
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
