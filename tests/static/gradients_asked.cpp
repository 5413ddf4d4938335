// The gradients that a program is asked for. Nothing else is computed, recomputed or stored for them.
#include "cairn/lang/gradient.hpp"
#include "cairn/nn/activation.hpp"
#include "cairn/nn/linear.hpp"
#include "cairn/op/loss.hpp"
#include "cairn/op/matmul.hpp"

#include "../overlap.hpp"

using namespace cairn;
using namespace cairn::test;

namespace {

constexpr std::int64_t row = 8 * sizeof(float);
constexpr auto x = input<"x", 8>;
constexpr auto of_input = [](auto v) { return tanh(sqrt(v * param<"lower", 8>)); };
constexpr auto of_lower = [](auto v) { return exp(v * param<"upper", 8>); };
constexpr auto lower = ckpt<"1", allow_useless>(of_input, x);
constexpr auto loss = sum(ckpt<"2", allow_useless>(of_lower, lower));

// ---- Two losses read the same segment. Values that both losses need are recomputed once.
constexpr auto squares = mean(square(ckpt<"2">(of_lower, lower)));
static_assert(recomputed<step_of<outputs(loss + 0.1_c * squares, loss, squares)>>("2") ==
              recomputed<step_of<squares>>("2"));

// ---- wrt. Each segment ends in a value that the backward pass reads, so only the result of the first segment is
// stored.
using trained = step_of<loss>;
using all = step_of<loss, wrt<"x">>;
static_assert(stored<all> == row && recomputed<all>("1") == 2 && recomputed<all>("2") == 2);
static_assert(runs_of<all>("mul").backward == runs_of<trained>("mul").backward + 1);  // the gradient of x
static_assert(detail::memory_in<all>.gradient_bytes == 3 * 64 && detail::memory_in<all>.parameter_bytes == 2 * 64);
static_assert(all::addresses.trained_bytes == 2 * 64 &&
              all::addresses.gradient_offset[all::graph.find(graphs::role::input, "x")] == 128);
static_assert(judged<all>() == fault::none);
// No parameter is trained. The products that compute the gradients of parameters are left out, and everything else
// stays.
using input_only = step_of<loss, freeze<"lower", "upper">, wrt<"x">>;
static_assert(std::same_as<detail::problem_in<input_only>, lang::sound> && judged<input_only>() == fault::none);
static_assert(stored<input_only> == row && recomputed<input_only>("1") == 2 && recomputed<input_only>("2") == 2);
static_assert(runs_of<input_only>("mul").backward == runs_of<all>("mul").backward - 2);
static_assert(detail::memory_in<input_only>.gradient_bytes == 64 && input_only::addresses.trained_bytes == 0);
// The gradient of an input that enters late. Values before this input are neither stored nor recomputed.
constexpr auto late =
    sum(ckpt<"2">([](auto v, auto u) { return exp(v * param<"upper", 8> * u); }, lower, input<"u", 8>));
using late_input = step_of<late, freeze<"lower", "upper">, wrt<"u">>;
static_assert(recomputed<late_input>("1") == 0 && recomputed<late_input>("2") == 3 && stored<late_input> == row);
static_assert(!late_input::gradient.reached[1] && runs_of<late_input>("sqrt") == runs{1, 0});
// For the gradient of its input, the backward pass of a linear layer reads only the weights. Nothing is stored, and
// nothing is recomputed.
constexpr auto mapped = sum(input<"rows", 4, 8> | nn::linear<"a", 8> | nn::linear<"b", 3>);
using saliency = step_of<mapped, freeze<"a", "b">, wrt<"rows">>;
static_assert(stored<saliency> == 0 && detail::flops_in<saliency>.recomputed == 0);
static_assert(runs_of<saliency>("matmul") == runs{2, 2} &&
              runs_of<step_of<mapped, wrt<"rows">>>("matmul") == runs{2, 4});
static_assert(runs_of<step_of<mapped>>("matmul") == runs{2, 3});

// ---- cotangent. For a linear map nothing is stored, and only the products of the gradients are computed.
constexpr auto map = input<"rows", 4, 8> | nn::linear<"a", 8>;
using pulled = step_of<map, cotangent<"v">>;
static_assert(std::same_as<detail::problem_in<pulled>, lang::sound> && judged<pulled>() == fault::none);
static_assert(stored<pulled> == 0 && gradient_of<pulled>("a.weight") == "matmul(v, rows)");
static_assert(pulled::graph.find(graphs::role::input, "v") == pulled::graph.leaf_count - 1);

// ---- accumulate_gradients. The gradient that a training step adds needs no memory of its own if one fused loop can
// compute and add it.
static_assert(lawful<mapped, accumulate_gradients>() &&
              peak<step_of<mapped, accumulate_gradients>> == peak<step_of<mapped>>);
static_assert(runs_of<step_of<mapped, accumulate_gradients>>("add").backward == 4);  // one add for each parameter
static_assert(lawful<map, accumulate_gradients, cotangent<"v">>() &&
              lawful<sum(param<"w", 8> + param<"b", 8>), accumulate_gradients>());
using mapped_more = step_of<map, accumulate_gradients, cotangent<"v">>;
static_assert(gradient_of<mapped_more>("a.weight") == "add(gradient so far, matmul(v, rows))");
static_assert(gradient_of<step_of<param<"w", 8>, accumulate_gradients, cotangent<"v">>>("w") ==
              "add(gradient so far, v)");
static_assert(lawful<param<"w", 8>, accumulate_gradients, cotangent<"v">>());
static_assert(lawful<grad(loss, param<"upper", 8>), accumulate_gradients, cotangent<"v">, wrt<"x">>());
// Without accumulation, values of the backward pass may use the memory of a gradient before the gradient is computed.
// With accumulation, this memory holds the accumulated gradient.
static_assert(lawful<loss, accumulate_gradients>() && lawful<loss, accumulate_gradients, wrt<"x">>());
static_assert(stored<step_of<loss, accumulate_gradients>> == stored<trained>);
static_assert(peak<trained> == 64 && peak<step_of<loss, accumulate_gradients>> == 2 * 64);
static_assert(step_of<outputs(sum(param<"v", 8>), param<"w", 8>), accumulate_gradients>::gradient.gradient[1] ==
              graphs::none);
// A parameter that is used twice. The second gradient is added to the sum of the accumulated gradient and the first
// gradient, in the place of the sum.
constexpr auto by_w = layer([](auto v) { return matmul(tanh(v), param<"w", 8, 8>); });
constexpr auto twice = sum(input<"rows", 4, 8> | by_w | by_w);
static_assert(gradient_of<step_of<twice, accumulate_gradients>>("w") ==
              "add(add(gradient so far, matmul(tanh(matmul(tanh(rows), w)), expand(reshape(constant)))), "
              "matmul(tanh(rows), mul(matmul(expand(reshape(constant)), w), "
              "tanh_slope(matmul(tanh(rows), w)))))");
static_assert(lawful<twice, accumulate_gradients>());
// A product with several blocks of depth keeps partial sums in its result. The result therefore needs memory of its
// own, apart from the gradient.
constexpr auto deep = sum(input<"rows", 4096, 8> | nn::linear<"a", 8> | nn::tanh | nn::linear<"b", 8>);
static_assert(lawful<deep, accumulate_gradients>() &&
              peak<step_of<deep, accumulate_gradients>> == peak<step_of<deep>> + 8 * row);

}  // namespace
