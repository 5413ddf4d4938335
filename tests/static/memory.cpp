// Where values lie, drawn on paper for small models, and how many bytes that makes.
#include "cairn/op/concatenate.hpp"
#include "cairn/op/loss.hpp"
#include "cairn/op/matmul.hpp"
#include "cairn/nn/activation.hpp"
#include "cairn/nn/attention.hpp"
#include "cairn/nn/batch_norm.hpp"
#include "cairn/nn/convolution.hpp"
#include "cairn/nn/embedding.hpp"
#include "cairn/nn/linear.hpp"

#include "plan.hpp"

using namespace cairn;
using namespace cairn::test;

/// Where each number would stand if they were sorted; nothing runs it.
struct ranks_op : op {
  static constexpr fixed_string name = "ranks";
  using rule = rule::axes_exist;
  static constexpr tensor_type result(const shape& x) { return {x, index_below(16)}; }
  static constexpr std::int64_t flops(const shape& x) { return x.count(); }
  static constexpr workspace scratch(int, const shape& x) { return {.each = x.count()}; }
};

namespace {

/// Where each step writes: "exp@0, softmax@64, | mul@g0 tanh@128". A step ends with a comma, `|` is the turn;
/// @g is a place in the block of gradients, @ one in the arena.
template <class Plan>
constexpr formula drawn = [] {
  constexpr const auto& f = Plan::steps;
  formula out;
  for (int i = 0; i < f.step_count; ++i) {
    if (i > 0) out.write(",");
    if (i > 0 && i == f.turn) out.write(" |");
    for (int m = f.steps[i].begin; m < f.steps[i].end; ++m) {
      if (f.steps[i].has_loop() && !f.external[f.members[m]]) continue;
      const plan::address at = Plan::layout.of[f.members[m]];
      out.write(" ");
      out.write(Plan::schedule.nodes[f.members[m]].op->name);
      out.write(at.base == plan::gradient_base ? "@g" : "@");
      out.write_number(at.offset);
    }
  }
  return out;
}();

// ---- Forward only. Tensors take 64 bytes if not said otherwise: 16 numbers, or fewer rounded up.
constexpr auto x = input<"x", 16>;
constexpr auto square_of_16 = input<"x", 4, 4>;

// softmax works in place; transpose does not, but takes the memory that exp gave back.
using in_place = forward_of<softmax(softmax(exp(x)))>;
static_assert(drawn<in_place> == " exp@0 softmax@0, softmax@0" && peak<in_place> == 64);
using not_in_place = forward_of<transpose<1, 0>(transpose<1, 0>(exp(square_of_16)))>;
static_assert(drawn<not_in_place> == " exp@0, transpose@64, transpose@0" && peak<not_in_place> == 128);
// A smaller value goes to the lowest hole that holds it: 128 bytes of softmax, dead after the sum.
using hole = forward_of<transpose(reshape<4, 4>(sum<0>(softmax(input<"x", 2, 16>))))>;
static_assert(drawn<hole> == " softmax@0, sum@128, transpose@0" && peak<hole> == 192);
// What is needed at the fullest step lies in the order of the steps that compute it; the rest follows from there. Here
// that is the fourth step, p, q, their product and the sum of p. Then p dies and the sum of q goes to the floor, for q
// above that hole dies earlier than the sum. q dies, its memory and the rest of p's are one hole of 192 bytes.
constexpr auto p = softmax(input<"p", 1, 32>);
constexpr auto q = softmax(input<"q", 1, 32>);
constexpr auto pq = matmul(transpose(p), q);  // {32, 32}: 4096 bytes, and no working space
using upward = forward_of<outputs(pq, sum(p), sum(q), softmax(input<"y", 48>))>;
static_assert(drawn<upward> == " softmax@0, softmax@128, matmul@256, sum@4352, sum@0, softmax@64");
static_assert(peak<upward> == 4416);
// Here it is the last: the product, both sums, 256 bytes. The way is backward, so p, computed first, goes to the
// ceiling, as nothing else stays as long; then q beside it. Together they lie where the 256 bytes are afterwards.
using downward = forward_of<outputs(pq, sum(q), sum(p), softmax(input<"y", 64>))>;
static_assert(drawn<downward> == " softmax@4352, softmax@4224, matmul@0, sum@4096, sum@4160, softmax@4224");
static_assert(peak<downward> == 4480);
// Not in place while the argument is still needed; the last reader takes it over. A loop does so as well.
constexpr auto gated = [](auto v) { return exp(v) * softmax(exp(v)); };
using still_needed = forward_of<gated(x)>;
static_assert(drawn<still_needed> == " exp@0 softmax@64, mul@0" && peak<still_needed> == 128);
using rounded_up = forward_of<gated(input<"x", 3>)>;
static_assert(drawn<rounded_up> == " exp@0 softmax@64, mul@0" && peak<rounded_up> == 128);
using in_double = forward_of<gated(x), real<double>>;
static_assert(drawn<in_double> == " exp@0 softmax@128, mul@0" && peak<in_double> == 256);
// Not in place over a result of the program, which the user reads afterwards.
using kept = forward_of<outputs(softmax(exp(x)), exp(x))>;
static_assert(drawn<kept> == " exp@0 softmax@64" && peak<kept> == 128);
// Not in place where an element is read more than once.
using repeated_row = forward_of<exp(x) + exp(input<"x2", 16, 16>)>;
static_assert(peak<repeated_row> == 64 + 1024);

// A product's working space stands behind what lives, for its step.
template <product P, int Bytes>
constexpr std::int64_t scratch = plan::aligned(blocking_of(P, Bytes).needed_workspace.numbers(1) * Bytes);
using one_product = forward_of<matmul(input<"a", 4, 8>, input<"b", 8, 3>)>;
static_assert(one_product::layout.workspace[0] == 64);
static_assert(peak<one_product> == 64 + scratch<product{4, 3, 8}, 4>);
static_assert(peak<forward_of<matmul(input<"a", 4, 8>, input<"b", 8, 32>)>> ==
              4 * 32 * 4);  // whole panels need none
static_assert(scratch<product{4, 3, 8}, 4> > 0 && scratch<product{4, 32, 8}, 4> == 0);

// It is counted in the program's numbers, whatever the result is made of: here of 4 bytes each, in a program of
// doubles.
template <class Real>
using ranks_in = forward_of<make<ranks_op>(input<"x", 32>), cairn::real<Real>>;
static_assert(peak<ranks_in<float>> == 32 * 4 + 32 * 4 && peak<ranks_in<double>> == 32 * 4 + 32 * 8);

// ---- Training steps.
constexpr auto w = param<"w", 16>;
constexpr auto b = param<"b", 16>;

// The one loop of backward writes the gradient where it belongs, over relu, which it reads last. So relu is
// computed there in the first place, and counts as stored all the same. The arena holds the loss alone.
constexpr auto y = softmax(x);
using slope = step_of<sum(relu(w + y))>;
static_assert(drawn<slope> == " softmax@g0, relu@g0 sum@0, | mul@g0" && peak<slope> == 64 && stored<slope> == 64);
// With a segment it is the boundary that waits there, and relu never leaves the loop that adds it up.
using boundary = step_of<sum(ckpt<"s">(nn::relu, w + x))>;
static_assert(drawn<boundary> == " add@g0 sum@0, | mul@g0" && peak<boundary> == 64 && stored<boundary> == 64);
// Of leaves relu is computed again, by the loop that reads it.
using computed_again = step_of<sum(relu(w + x))>;
static_assert(drawn<computed_again> == " sum@0, | mul@g0" && peak<computed_again> == 64 && stored<computed_again> == 0);

// Two softmaxes s, t of h = w + x: at the turn s at 0 (over h), t at 64, the loss at 128. Then g = 1 goes where the
// gradient belongs, and each slope over the one before.
using two_softmaxes = step_of<sum(softmax(softmax(w + x)))>;
static_assert(drawn<two_softmaxes> ==
              " add@0 softmax@0, softmax@64, sum@128, | expand@g0 softmax_slope@g0, softmax_slope@g0");
static_assert(peak<two_softmaxes> == 192 && stored<two_softmaxes> == 128);

// Twice the same weight, u = a w, v = u w: the two gradients of w are added where they belong, and the first is
// computed there, while there live u, the loss, the gradient of v and a product's working space, in this order: the
// fullest step. Then u is dead, and the gradient of u goes to 0; the product that follows adds to the first gradient as
// it stores. Backward from there v is older than the loss beside the hole: to the ceiling.
constexpr auto a = input<"a", 3, 3>;
constexpr auto times_w = [](auto v) { return matmul(v, param<"w", 3, 3>); };
using twice = step_of<sum(a | times_w | times_w)>;
constexpr std::int64_t working = scratch<product{3, 3, 3}, 4>;
constexpr formula twice_by_hand = [] {
  formula out;
  out.write(" matmul@0, matmul@");
  out.write_number(128 + working);
  out.write(", sum@64, | expand@128, matmul@g0, matmul@0, add@g0");
  return out;
}();
static_assert(drawn<twice> == std::string_view(twice_by_hand.text, twice_by_hand.length));
static_assert(stored<twice> == 36 && peak<twice> == 192 + working);

// One gradient for two parameters: computed at the first, copied to the second at the end of a step.
using common_gradient = step_of<sum(relu(w + b + y))>;
static_assert(drawn<common_gradient> == " softmax@g0, relu@g0 sum@0, | mul@g0" &&
              common_gradient::addresses.copy_count == 1);
static_assert(common_gradient::addresses.copies[0].to.offset == 64);
// A gradient that is a constant is copied as well, from where constants are.
using unit = step_of<param<"w"> + input<"s">>;
static_assert(unit::addresses.copy_count == 1 &&
              unit::layout.of[unit::addresses.copies[0].value].base == plan::constant_base);

// Parameters and their gradients: two blocks of one layout, each tensor on a line of its own. Frozen ones
// come last and have no gradient.
using blocks = step_of<sum((frozen<"f", 16> + x) * w + param<"c", 3, 1> * param<"s">)>;
static_assert(detail::memory_in<blocks>.parameter_bytes == 4 * 64);
static_assert(detail::memory_in<blocks>.gradient_bytes == 3 * 64);
static_assert(detail::memory_in<blocks>.total_bytes() == peak<blocks> + 7 * 64);
static_assert(blocks::addresses.leaf_offset[blocks::graph.find(graph::role::parameter, "f")] == 3 * 64);
static_assert(detail::memory_in<step_of<sum(w + b), freeze<"w">>>.gradient_bytes == 64);
static_assert(detail::memory_in<step_of<sum(w), real<double>>>.parameter_bytes == 16 * 8);
static_assert(detail::memory_in<forward_of<w + x>>.gradient_bytes == 0);

// ---- Checkpoints lower the peak where interiors outweigh boundaries: here 256 bytes a block that plain keeps too, for
// it computes gelu again, against 128.
constexpr auto feed_forward = nn::linear<"fc1", 16> | nn::gelu | nn::linear<"fc2", 8>;
constexpr auto blocks_of = [](auto) { return ckpt<"s">(nn::residual(feed_forward)); };
constexpr auto deep = sum(input<"x", 4, 8> | nn::linear<"in", 8> | repeat<16, "b">(blocks_of));
static_assert(stored<step_of<deep, plain>> - stored<step_of<deep>> == 16 * 256);
static_assert(2 * peak<step_of<deep>> < peak<step_of<deep, plain>>);

// A dense block with a segment a layer stores the channels that each adds: as deep as it is, no copy of what is joined.
template <int Layer>
constexpr auto name_of = fixed_string{"layer"} + digits<Layer>;
template <int Depth, int Layer = 0>
constexpr auto dense(auto... made) {
  if constexpr (Layer == Depth) {
    return concatenate<-1>(made...);
  } else {
    constexpr auto layer_of = [](auto... all) {
      constexpr auto unit = nn::batch_norm<"norm"> | nn::relu |
                            nn::conv2d_without_bias<"conv", 2, 3, nn::window{.padding = 1}>;
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

// Logits over a large vocabulary are there once, for their gradient is written over them: with a tied head, threads, labels
// that are ignored, and label smoothing. Beside them are scratch and a few numbers a row.
template <auto Loss, class... Options>
constexpr double in_logits = static_cast<double>(peak<step_of<Loss, Options...>>) / (512 * 50000 * 4);
constexpr auto tokens = indices<"tokens", 50000, 512>;
constexpr auto token_or_none = indices<"token or none", 50001, 512>;
constexpr auto of_tokens = tokens | nn::embedding<"wte", 64>;
constexpr auto over_vocabulary = param<"h", 512, 64> | nn::linear<"head", 50000>;
static_assert(in_logits<cross_entropy(over_vocabulary, tokens)> < 1.01);
static_assert(in_logits<cross_entropy(over_vocabulary, tokens), threads<2>> < 1.02);
static_assert(in_logits<cross_entropy<nn::cross_entropy_options{.label_smoothing = 0.1}>(over_vocabulary, tokens)> < 1.01);
static_assert(in_logits<cross_entropy<nn::cross_entropy_options{.ignore_index = 50000, .label_smoothing = 0.1}>(
                  over_vocabulary, token_or_none)> < 1.01);
// The gradient of a tied table is the sum of two of its size, which are not there beside the logits.
static_assert(in_logits<cross_entropy(of_tokens | nn::tied_linear<"/wte.weight", 50000>, tokens)> < 1.01);

// Attention never stores its scores, which grow fourfold where tokens are twice as many.
template <int T>
constexpr double of_attention =
    static_cast<double>(peak<step_of<mean(square(input<"x", 1, T, 64> | nn::self_attention<"attn", 4, nn::causal>))>>);
static_assert(of_attention<512> < 2.1 * of_attention<256> && of_attention<1024> < 2.1 * of_attention<512>);

}  // namespace
