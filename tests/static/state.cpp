// States: which values they take and when. The update of a state runs once, also in segments.
#include "cairn/nn/activation.hpp"
#include "cairn/nn/batch_norm.hpp"
#include "cairn/nn/linear.hpp"
#include "cairn/op/loss.hpp"

#include "../overlap.hpp"

using namespace cairn;
using namespace cairn::test;

namespace {

constexpr auto x = input<"x", 4, 8>;
constexpr auto h = matmul(x, param<"w", 8, 8>);
constexpr auto s = state<"s", initial{.fill = 2}, 8>;

// Shapes. The result of updated has the shape of its first argument, and a state has the shape of its new value. The
// two arguments of in_training have equal shapes.
static_assert(updated(h, s, mean<0>(h)).shape == shape{4, 8} && in_training(h, x).shape == shape{4, 8});
static_assert(lang::updated_op<shard_join::unsaid>::result(shape{4}, shape{8}, shape{1, 8}) == no_shape);
static_assert(lang::in_training_op::result(shape{4}, shape{}) == no_shape);
static_assert(nn::batch_norm<"bn">(input<"y", 2, 3, 4>).shape == shape{2, 3, 4});

/// The formula of the new value of a state. It is empty if the state has no new value.
template <class Step>
constexpr formula after(std::string_view name) {
  const graphs::leaf& l = Step::graph.leaves[Step::graph.find(graphs::role::parameter, name)];
  formula f;
  if (l.next_value != graphs::none) f.write(Step::graph, Step::graph, l.next_value);
  return f;
}
/// Counts the states that a training step updates. The count is -1 if a state is not read exactly once in the forward
/// pass and never in the backward pass.
template <class Step>
constexpr int updates = [] {
  constexpr const auto& g = Step::graph;
  constexpr const auto& s = Step::schedule;
  int n = 0;
  for (int leaf = 0; leaf < g.leaf_count; ++leaf) {
    if (g.leaves[leaf].next_value == graphs::none) continue;
    runs reads;
    for (int v = 0; v < s.node_count; ++v) {
      for (int i = 0; i < s.op(v).argument_count; ++i)
        (v < s.turn ? reads.forward : reads.backward) += s.argument(v, i) == s.leaf_value[leaf];
    }
    if (reads != runs{1, 0}) return -1;
    ++n;
  }
  return g.output_count - g.result_count == n ? n : -1;
}();

// The program returns the value, and the gradient is the gradient of the value alone. The new value of the state is a
// result that the user does not see.
constexpr auto moving = updated(h, s, s * 0.5_c + mean<0>(tanh(h)));
constexpr formula of_h = gradient_of<step_of<sum(h)>>("w");
using simple = step_of<outputs(sum(in_training(moving, x)), h)>;
static_assert(simple::graph.result_count == 2 && simple::graph.output_count == 3);
static_assert(after<simple>("s") == "add(mul(s, constant), mul(sum(tanh(matmul(x, w))), constant))");
static_assert(gradient_of<simple>("w") == std::string_view(of_h.text, of_h.length));
static_assert(runs_of<simple>("tanh") == runs{1, 0} && stored<simple> == 0);
static_assert(detail::memory_in<simple>.gradient_bytes == 256 && detail::memory_in<simple>.parameter_bytes == 320);

// A predictor updates no state. It computes the second argument of in_training, which may read states.
static_assert(written<sum(moving)> == "sum(matmul(x, w))" && written<in_training(moving, exp(x))> == "exp(x)");
static_assert(written < x |
              nn::batch_norm < "bn" >> ==
                  "normalized(x, mul(bn.running_mean, constant), div(constant, sqrt(add(bn.running_var, constant))), "
                  "bn.weight, bn.bias)");
static_assert(forward_of<moving>::graph.output_count == 1 && forward_of<moving>::graph.leaf_count == 2);

// The statistics are PyTorch's. With 4 rows, the variance that the states keep divides by 3.
constexpr auto normalized = sum(tanh(h | nn::batch_norm<"bn">));
using normalizing = step_of<normalized>;
static_assert(after<normalizing>("bn.running_mean") ==
              "add(mul(bn.running_mean, constant), mul(moments.0(matmul(x, w)), constant))");
static_assert(after<normalizing>("bn.running_var") ==
              "add(mul(bn.running_var, constant), mul(moments.2(matmul(x, w)), constant))");
static_assert(after<normalizing>("bn.weight") == "" && after<normalizing>("bn.bias") == "");
static_assert(!normalizing::model::chosen.trained[normalizing::graph.find(graphs::role::parameter, "bn.running_mean")]);
static_assert(lawful<normalized>());

// States in nested segments, in blocks and in plain programs. The forward pass reads a state once, and the backward
// pass never reads it.
constexpr auto inner = nn::linear<"fc", 8> | nn::batch_norm<"bn"> | nn::gelu;
constexpr auto outer = ckpt<"inner", allow_useless>(inner) | nn::tanh | nn::batch_norm<"outer">;
constexpr auto deep = sum(square(h | repeat<2, "block">([](auto) { return ckpt<"outer", allow_useless>(outer); }) |
                                 block<"last">(layer(inner))));
static_assert(updates<step_of<deep>> == 10 && updates<step_of<deep, plain>> == 10 && lawful<deep>());
static_assert(updates<step_of<deep, freeze<"block.0">>> == 10);
static_assert(runs_of<step_of<deep>>("moments").backward > 0 && runs_of<step_of<deep, plain>>("moments").backward == 0);

// The new value of a state stays in memory until the end of a training step. The backward pass reads it there.
constexpr auto read_again = [](auto v) {
  const auto m = tanh(mean<0>(exp(v)));
  return gelu(v) * updated(m, s, m);
};
using kept = step_of<sum(ckpt<"s">(read_again, h))>;
static_assert(runs_of<kept>("gelu") == runs{1, 1} && runs_of<kept>("tanh") == runs{1, 0});
static_assert(lawful<sum(ckpt<"s">(read_again, h))>());

// A state may be updated in two places if both places compute the same value.
constexpr auto shared = state<"/s", initial{}, 8>;
constexpr auto to_argument = [](auto v, auto m) { return updated(v, shared, m); };
constexpr auto to_its_own = [](auto v, auto m) { return updated(v, shared, m * 2_c); };
constexpr auto twice(auto f) { return sum(block<"a">(layer(f))(h, mean<0>(h)) * block<"b">(layer(f))(h, mean<0>(h))); }
static_assert(std::same_as<detail::problem_in<step_of<twice(to_argument)>>, lang::sound>);
static_assert(!std::same_as<detail::problem_in<step_of<twice(to_its_own)>>, lang::sound>);
static_assert(std::same_as<detail::problem_in<forward_of<twice(to_its_own)>>, lang::sound>);

}  // namespace
