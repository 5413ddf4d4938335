// The places of values in memory for small models, as drawn on paper, and the bytes that result.
#include "cairn/nn/activation.hpp"
#include "cairn/nn/attention.hpp"
#include "cairn/nn/batch_norm.hpp"
#include "cairn/nn/convolution.hpp"
#include "cairn/nn/embedding.hpp"
#include "cairn/nn/linear.hpp"
#include "cairn/nn/linear_cross_entropy.hpp"
#include "cairn/op/concatenate.hpp"
#include "cairn/op/loss.hpp"
#include "cairn/op/matmul.hpp"

#include "plan.hpp"

using namespace cairn;
using namespace cairn::test;

/// An operation that returns the rank of each number in the sorted order. It is never run.
struct ranks_op : op {
  static constexpr fixed_string name = "ranks";
  using rule = misuse::axes_exist;
  static constexpr tensor_type result(const shape& x) { return {x, index_below(16)}; }
  static constexpr std::int64_t flops(const shape& x) { return x.count(); }
  static constexpr workspace scratch(int, const shape& x) { return {.each = x.count()}; }
};

namespace {

/// Shows where each plan step writes: "exp@0, softmax@64, | mul@g0 tanh@128". A comma ends a plan step, and `|` marks
/// the turn. @g is an offset in the block of gradients, and @ is an offset in the arena.
template <class Plan>
constexpr formula drawn = [] {
  constexpr const auto& f = Plan::steps;
  formula out;
  for (int i = 0; i < f.step_count; ++i) {
    if (i > 0) out.write(",");
    if (i > 0 && i == f.turn) out.write(" |");
    for (int m = f.steps[i].begin; m < f.steps[i].end; ++m) {
      if (f.steps[i].has_loop() && !f.external[f.members[m]]) continue;
      const plans::address at = Plan::layout.of[f.members[m]];
      out.write(" ");
      out.write(Plan::schedule.nodes[f.members[m]].op->name);
      out.write(at.base == plans::gradient_base ? "@g" : "@");
      out.write_number(at.offset);
    }
  }
  return out;
}();

// ---- Forward pass only. Unless stated otherwise, tensors take 64 bytes: 16 numbers, or fewer numbers rounded up.
constexpr auto x = input<"x", 16>;
constexpr auto square_of_16 = input<"x", 4, 4>;

// softmax works in place. transpose does not work in place, but takes the memory that exp has released.
using in_place = forward_of<softmax(softmax(exp(x)))>;
static_assert(drawn<in_place> == " exp@0 softmax@0, softmax@0" && peak<in_place> == 64);
using not_in_place = forward_of<transpose<1, 0>(transpose<1, 0>(exp(square_of_16)))>;
static_assert(drawn<not_in_place> == " exp@0, transpose@64, transpose@0" && peak<not_in_place> == 128);
// A smaller value takes the lowest hole that holds it. Here this is the hole of 128 bytes that softmax leaves after the
// sum.
using hole = forward_of<transpose(reshape<4, 4>(sum<0>(softmax(input<"x", 2, 16>))))>;
static_assert(drawn<hole> == " softmax@0, sum@128, transpose@0" && peak<hole> == 192);
// The values of the fullest plan step lie in the order in which they are computed. The places of all other values
// follow from this. Here the fullest plan step is the fourth, with p, q, their product and the sum of p. Then p dies,
// and the sum of q goes to offset 0, because q above this hole dies earlier than the sum. Then q dies, and its memory
// forms one hole of 192 bytes with the rest of p's memory.
constexpr auto p = softmax(input<"p", 1, 32>);
constexpr auto q = softmax(input<"q", 1, 32>);
constexpr auto pq = matmul(transpose(p), q);  // {32, 32}: 4096 bytes, and no workspace
using upward = forward_of<outputs(pq, sum(p), sum(q), softmax(input<"y", 48>))>;
static_assert(drawn<upward> == " softmax@0, softmax@128, matmul@256, sum@4352, sum@0, softmax@64");
static_assert(peak<upward> == 4416);
// Here the fullest plan step is the last, with the product, both sums, and 256 bytes of softmax. Places are found
// backward from there. p was computed first and goes to the top, because no other value stays as long. Then q is placed
// next to p. Together they lie where the 256 bytes of softmax are afterwards.
using downward = forward_of<outputs(pq, sum(q), sum(p), softmax(input<"y", 64>))>;
static_assert(drawn<downward> == " softmax@4352, softmax@4224, matmul@0, sum@4096, sum@4160, softmax@4224");
static_assert(peak<downward> == 4480);
// An operation does not work in place while its argument is still needed. The last reader of the argument takes over
// the memory. This also holds for fused loops.
constexpr auto gated = [](auto v) { return exp(v) * softmax(exp(v)); };
using still_needed = forward_of<gated(x)>;
static_assert(drawn<still_needed> == " exp@0 softmax@64, mul@0" && peak<still_needed> == 128);
using rounded_up = forward_of<gated(input<"x", 3>)>;
static_assert(drawn<rounded_up> == " exp@0 softmax@64, mul@0" && peak<rounded_up> == 128);
using in_double = forward_of<gated(x), real<double>>;
static_assert(drawn<in_double> == " exp@0 softmax@128, mul@0" && peak<in_double> == 256);
// An operation does not work in place over a result of the program, because the user reads the result afterwards.
using kept = forward_of<outputs(softmax(exp(x)), exp(x))>;
static_assert(drawn<kept> == " exp@0 softmax@64" && peak<kept> == 128);
// An operation does not work in place if it reads an element more than once.
using repeated_row = forward_of<exp(x) + exp(input<"x2", 16, 16>)>;
static_assert(peak<repeated_row> == 64 + 1024);

// The workspace of a product lies behind the living values during its plan step.
template <costs::product P, int Bytes>
constexpr std::int64_t scratch = plans::aligned(blocking_of(P, Bytes).needed_workspace.numbers(1) * Bytes);
using one_product = forward_of<matmul(input<"a", 4, 8>, input<"b", 8, 3>)>;
static_assert(one_product::layout.workspace[0] == 64);
static_assert(peak<one_product> == 64 + scratch<costs::product{4, 3, 8}, 4>);
static_assert(peak<forward_of<matmul(input<"a", 4, 8>, input<"b", 8, 32>)>> ==
              4 * 32 * 4);  // products with whole panels need no workspace
static_assert(scratch<costs::product{4, 3, 8}, 4> > 0 && scratch<costs::product{4, 32, 8}, 4> == 0);

// A workspace is counted in numbers of the program's type, whatever type the result has. Here the result has 4 bytes
// for each number, and the program may compute in doubles.
template <class Real>
using ranks_in = forward_of<make<ranks_op>(input<"x", 32>), cairn::real<Real>>;
static_assert(peak<ranks_in<float>> == 32 * 4 + 32 * 4 && peak<ranks_in<double>> == 32 * 4 + 32 * 8);

// ---- Training steps.
constexpr auto w = param<"w", 16>;
constexpr auto b = param<"b", 16>;

// The only fused loop of the backward pass writes the gradient over relu, which it reads last. Therefore relu is
// computed in the place of the gradient, and still counts as stored. The arena holds only the loss.
constexpr auto y = softmax(x);
using slope = step_of<sum(relu(w + y))>;
static_assert(drawn<slope> == " softmax@g0, relu@g0 sum@0, | mul@g0" && peak<slope> == 64 && stored<slope> == 64);
// With a segment, the boundary lies in the place of the gradient. relu never leaves the fused loop that sums it.
using boundary = step_of<sum(ckpt<"s">(nn::relu, w + x))>;
static_assert(drawn<boundary> == " add@g0 sum@0, | mul@g0" && peak<boundary> == 64 && stored<boundary> == 64);
// If the arguments are leaves, relu is recomputed by the fused loop that reads it.
using computed_again = step_of<sum(relu(w + x))>;
static_assert(drawn<computed_again> == " sum@0, | mul@g0" && peak<computed_again> == 64 && stored<computed_again> == 0);

// There are two softmaxes s and t of h = w + x. At the turn, s is at 0 (over h), t is at 64, and the loss is at 128.
// Then g = 1 is written in the place of the gradient, and each slope is written over the slope before.
using two_softmaxes = step_of<sum(softmax(softmax(w + x)))>;
static_assert(drawn<two_softmaxes> ==
              " add@0 softmax@0, softmax@64, sum@128, | expand@g0 softmax_slope@g0, softmax_slope@g0");
static_assert(peak<two_softmaxes> == 192 && stored<two_softmaxes> == 128);

// One weight is used twice: u = a w and v = u w. The two gradients of w are added in the place of the gradient, and the
// first of them is computed there. In the fullest plan step, four things are alive, in this order: u, the loss, the
// gradient of v, and the workspace of a product. Afterwards u is dead, and the gradient of u goes to 0. The next
// product adds to the first gradient as it stores. Going backward from the fullest plan step, v is older than the loss
// next to the hole, so v goes to the top.
constexpr auto a = input<"a", 3, 3>;
constexpr auto times_w = [](auto v) { return matmul(v, param<"w", 3, 3>); };
using twice = step_of<sum(a | times_w | times_w)>;
constexpr std::int64_t working = scratch<costs::product{3, 3, 3}, 4>;
constexpr formula twice_by_hand = [] {
  formula out;
  out.write(" matmul@0, matmul@");
  out.write_number(128 + working);
  out.write(", sum@64, | expand@128, matmul@g0, matmul@0, add@g0");
  return out;
}();
static_assert(drawn<twice> == std::string_view(twice_by_hand.text, twice_by_hand.length));
static_assert(stored<twice> == 36 && peak<twice> == 192 + working);

// Two parameters with the same gradient. The gradient is computed in the place of the first, and copied to the second
// at the end of a training step.
using common_gradient = step_of<sum(relu(w + b + y))>;
static_assert(drawn<common_gradient> == " softmax@g0, relu@g0 sum@0, | mul@g0" &&
              common_gradient::addresses.copy_count == 1);
static_assert(common_gradient::addresses.copies[0].to.offset == 64);
// A gradient that is a constant is copied as well, from the place of constants.
using unit = step_of<param<"w"> + input<"s">>;
static_assert(unit::addresses.copy_count == 1 &&
              unit::layout.of[unit::addresses.copies[0].value].base == plans::constant_base);

// Parameters and gradients form two blocks of the same layout. Each tensor begins on a cache line of its own. Frozen
// parameters come last and have no gradient.
using blocks = step_of<sum((frozen<"f", 16> + x) * w + param<"c", 3, 1> * param<"s">)>;
static_assert(detail::memory_in<blocks>.parameter_bytes == 4 * 64);
static_assert(detail::memory_in<blocks>.gradient_bytes == 3 * 64);
static_assert(detail::memory_in<blocks>.total_bytes() == peak<blocks> + 7 * 64);
static_assert(blocks::addresses.leaf_offset[blocks::graph.find(graphs::role::parameter, "f")] == 3 * 64);
static_assert(detail::memory_in<step_of<sum(w + b), freeze<"w">>>.gradient_bytes == 64);
static_assert(detail::memory_in<step_of<sum(w), real<double>>>.parameter_bytes == 16 * 8);
static_assert(detail::memory_in<forward_of<w + x>>.gradient_bytes == 0);

// ---- Segments lower the peak if their interiors outweigh their boundaries. Here a block has 256 bytes of interior and
// 128 bytes of boundary. `plain` stores the same 256 bytes, because it also recomputes gelu.
constexpr auto feed_forward = nn::linear<"fc1", 16> | nn::gelu | nn::linear<"fc2", 8>;
constexpr auto blocks_of = [](auto) { return ckpt<"s">(nn::residual(feed_forward)); };
constexpr auto deep = sum(input<"x", 4, 8> | nn::linear<"in", 8> | repeat<16, "b">(blocks_of));
static_assert(stored<step_of<deep, plain>> - stored<step_of<deep>> == 16 * 256);
static_assert(2 * peak<step_of<deep>> < peak<step_of<deep, plain>>);

// A dense block with a segment for each layer stores only the channels that each layer adds. The bytes grow linearly
// with the depth, because the concatenations are not copied.
template <int Layer>
constexpr auto name_of = fixed_string{"layer"} + cairn::detail::digits<Layer>;
template <int Depth, int Layer = 0>
constexpr auto dense(auto... made) {
  if constexpr (Layer == Depth) {
    return concatenate<-1>(made...);
  } else {
    constexpr auto layer_of = [](auto... all) {
      constexpr auto unit =
          nn::batch_norm<"norm"> | nn::relu | nn::conv2d_without_bias<"conv", 2, 3, nn::window{.padding = 1}>;
      if constexpr (sizeof...(all) == 1) return (all, ...) | block<name_of<Layer>>(unit);
      else return concatenate<-1>(all...) | block<name_of<Layer>>(unit);
    };
    return dense<Depth, Layer + 1>(made..., ckpt<name_of<Layer>>(layer_of, made...));
  }
}
template <int Depth>
constexpr std::int64_t dense_bytes = stored<step_of<mean(square(dense<Depth>(input<"x", 2, 4, 4, 4>)))>>;
static_assert(dense_bytes<3> - dense_bytes<2> == 2 * 4 * 4 * 2 * sizeof(float));
static_assert(dense_bytes<6> - dense_bytes<3> == 3 * (dense_bytes<3> - dense_bytes<2>));

// Logits over a large vocabulary exist once, because their gradient is written over them. This also holds with a tied
// head, with threads, with ignored labels and with label smoothing. Next to the logits there are only workspace and a
// few numbers for each row.
template <auto Loss, class... Options>
constexpr double in_logits = static_cast<double>(peak<step_of<Loss, Options...>>) / (512 * 50000 * 4);
constexpr auto tokens = indices<"tokens", 50000, 512>;
constexpr auto token_or_none = indices<"token or none", 50001, 512>;
constexpr auto of_tokens = tokens | nn::embedding<"wte", 64>;
constexpr auto over_vocabulary = param<"h", 512, 64> | nn::linear<"head", 50000>;
static_assert(in_logits<cross_entropy(over_vocabulary, tokens)> < 1.01);
static_assert(in_logits<cross_entropy(over_vocabulary, tokens), threads<2>> < 1.02);
static_assert(in_logits<cross_entropy<nn::cross_entropy_options{.label_smoothing = 0.1}>(over_vocabulary, tokens)> <
              1.01);
static_assert(in_logits<cross_entropy<nn::cross_entropy_options{.ignore_index = 50000, .label_smoothing = 0.1}>(
                  over_vocabulary, token_or_none)> < 1.01);
// The gradient of a tied table is the sum of two gradients of the same size. These two are not in memory together with
// the logits.
static_assert(in_logits<cross_entropy(of_tokens | nn::tied_linear<"/wte.weight", 50000>, tokens)> < 1.01);

// A head that computes its logits in blocks needs no more than a block. Its gradients lie where the program hands them
// out, so they need no memory of their own. Each further thread has the gradient of the logits of a chunk.
template <std::int64_t Workspace, nn::pass Pass = nn::pass::forward>
constexpr auto in_blocks =
    nn::linear_cross_entropy<"head", 50000,
                             nn::linear_cross_entropy_options{.weight_gradient_in = Pass, .workspace = Workspace}>(
        param<"h", 512, 64>, tokens);
static_assert(peak<step_of<in_blocks<8_MiB>>> < 8_MiB + 512 * 1024);
static_assert(peak<step_of<in_blocks<8_MiB>, threads<4>>> < 8_MiB + 2304 * 1024);
static_assert(peak<step_of<in_blocks<32_MiB>>> < 32_MiB + 1024 * 1024);
static_assert(peak<step_of<in_blocks<8_MiB, nn::pass::backward>>> < 8_MiB + 512 * 1024);

// Attention never stores its scores. Scores would take four times the bytes for twice as many tokens.
template <int T>
constexpr double of_attention =
    static_cast<double>(peak<step_of<mean(square(input<"x", 1, T, 64> | nn::self_attention<"attn", 4, nn::causal>))>>);
static_assert(of_attention<512> < 2.1 * of_attention<256> && of_attention<1024> < 2.1 * of_attention<512>);

}  // namespace
