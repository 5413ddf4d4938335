// The plan of operations that a user adds. It shows which operations share a plan step, and which results are not
// written to memory.
#include "../models/own.hpp"

#include "plan.hpp"

using namespace cairn;
using namespace cairn::test;

namespace {

constexpr auto x = input<"x", 8, 12>;
constexpr auto p = param<"p", 8, 12>;
template <int I>
constexpr auto result(auto made) {
  return std::get<I>(made);
}

/// Returns true if this result of the only operation with this name is written to memory.
template <class Plan>
constexpr bool writes(std::string_view name, int number = 0) {
  int n = 0;
  bool written = false;
  for (int v = 0; v < Plan::schedule.node_count; ++v) {
    if (Plan::schedule.op(v).name != name || Plan::schedule.nodes[v].result_index != number) continue;
    ++n;
    written |= Plan::steps.external[v];
  }
  return n == 1 ? written : throw "not one";
}

template <class Plan>
constexpr std::int64_t peak_of = Plan::layout.peak_bytes;

// ---- Elementwise operations are parts of fused loops. Kernels are plan steps.
static_assert(steps_of<tanh(own::log1pexp(x) * 2_c)> == "[log1pexp mul tanh]");
static_assert(steps_of<result<0>(own::sine_cosine(x)) * result<1>(own::sine_cosine(x))> == "[sine_cosine mul]");
static_assert(steps_of<tanh(own::running_sum(exp(x)))> == "[exp] running_sum [tanh]");

// ---- A kernel takes a number of threads, a launch, or neither. A parameter of another type is not taken for one.
struct threaded_op {};
template <class Arguments>
void compute(threaded_op, Arguments, void* const*, int threads);
struct launched_op {};
template <class Arguments>
void compute(launched_op, Arguments, void* const*, const kernels::launch&);
struct scaled_op {};
template <class Arguments>
void compute(scaled_op, Arguments, void* const*, double scale);
template <class Op, class Fourth>
constexpr bool takes = cairn::detail::kernel_takes<Op, int, cairn::detail::only_as<Fourth>>;
static_assert(takes<threaded_op, int> && !takes<threaded_op, kernels::launch>);
static_assert(!takes<launched_op, int> && takes<launched_op, kernels::launch>);
static_assert(!takes<scaled_op, int> && !takes<scaled_op, kernels::launch>);

// ---- A kernel that computes tiles hands them to the first fused loop that reads them. The result of the kernel then
// has no memory.
constexpr auto fused = tanh(result<0>(own::normalized(x)) + 1_c);
static_assert(steps_of<fused> == "[normalized add tanh]");
static_assert(!writes<forward_of<fused>>("normalized"));
static_assert(steps_of<result<0>(own::normalized(softmax(x))) * 2_c> == "softmax [normalized mul]");
static_assert(steps_of<softmax(result<0>(own::normalized(x)))> == "normalized softmax");
static_assert(steps_of<result<0>(own::normalized(exp(x))) * 2_c> == "[exp normalized] [mul]");
static_assert(steps_of<x + result<1>(own::normalized(x))> == "normalized [add]");

// Each thread has a workspace of its own. It is one row, rounded up to whole registers.
constexpr auto wide = tanh(result<0>(own::normalized(input<"x", 1030, 515>)));
static_assert(peak_of<forward_of<wide, threads<3>>> == peak_of<forward_of<wide>> + 2 * 528 * 4);
static_assert(peak_of<forward_of<wide>> == (1030 * 515 * 4 + 63) / 64 * 64 + 528 * 4);

// ---- Unused results are not written.
constexpr auto most = result<0>(own::largest(x));
constexpr auto at = result<1>(own::largest(x));
static_assert(writes<forward_of<most>>("largest", 0) && !writes<forward_of<most>>("largest", 1));
static_assert(!writes<forward_of<at>>("largest", 0) && writes<forward_of<at>>("largest", 1));
static_assert(peak_of<forward_of<most>> == 64 && peak_of<forward_of<at>> == 64);
static_assert(peak_of<forward_of<outputs(sum(most), at)>> == 128 + 64);
// The gradient reads one of two results. A training step stores the positions.
using trained = step_of<sum(square(result<0>(own::largest(p))))>;
static_assert(writes<trained>("largest", 1) && reads<trained>("largest"));
static_assert(stored<step_of<sum(result<0>(own::largest(p)))>> == 8 * 4);
// One kernel computes three gradients. The gradient of a frozen argument is unused.
constexpr auto i = labels<"i", 5, 8>;
template <auto B>
constexpr auto scores = sum(own::scored(p, B, sigmoid(p), i, i, i, as<std::uint8_t>(i)));
using of_two = step_of<scores<frozen<"v", 5, 12>>>;
using of_three = step_of<scores<param<"v", 5, 12>>>;
static_assert(runs_of<of_two>("scored_gradients") == runs{0, 1} && runs_of<of_three>("scored_gradients") == runs{0, 1});
static_assert(writes<of_two>("scored_gradients", 0) && !writes<of_two>("scored_gradients", 1) &&
              writes<of_two>("scored_gradients", 2));
static_assert(writes<of_three>("scored_gradients", 1));
// A predictor uses the running statistics. A training step of a program writes their new values.
constexpr auto centered = own::centered<"mean">(p);
static_assert(runs_of<forward_of<centered>>("centered") == runs{0, 0});
static_assert(writes<step_of<sum(square(centered))>>("centered", 1));

// ---- Maps are not computed. Fused loops read the argument of a map in place. Products read it in place if the rows
// are equally far apart.
static_assert(steps_of<tanh(own::flipped<1>(own::running_sum(x)) + x)> == "running_sum [add tanh]");
static_assert(steps_of<own::rolled<0, 3>(x) * own::rolled<1, -2>(x)> == "[mul]");
static_assert(steps_of<own::upsampled<1, 3>(x) * 2_c> == "[mul]");
static_assert(steps_of<matmul(own::flipped<0>(x), param<"w", 12, 12>)> == "matmul");
static_assert(steps_of<matmul(own::flipped<1>(x), param<"w", 12, 12>)> == "[flipped] matmul");
static_assert(steps_of<matmul(own::rolled<0, 3>(x), param<"w", 12, 12>)> == "[rolled] matmul");
static_assert(steps_of<softmax(own::upsampled<0, 2>(x))> == "[upsampled softmax]");
static_assert(steps_of<own::flipped<0>(own::flipped<0>(x)) * x> == "[flipped] [mul]");

// ---- Policies find the properties that an operation declares.
template <class... Policy>
using kept_by = step_of<[] {
  return sum(ckpt<"s", Policy...>([](auto h, auto j) { return square(own::scored(h, h, h, j, j, j, j)) | nn::tanh; },
                                  tanh(p), i));
}()>;
static_assert(runs_of<kept_by<>>("scored") == runs{1, 1});
static_assert(runs_of<kept_by<save_matmuls>>("scored") == runs{1, 0});

// ---- A type of two bytes is stored in two bytes. Its operations are fused like others.
constexpr auto half = tanh(as<own::half>(x) * 2_c);
static_assert(steps_of<as_real(half)> == "[as mul tanh as]");
static_assert(peak_of<forward_of<half>> == 2 * 8 * 12 && half.element.type == dtype::own);
static_assert(steps_of<as_real(transpose(half))> == "[as mul tanh] transpose [as]");
static_assert(steps_of<sum(as<double>(x))> == "[as] sum");

// ---- Misuse is found by the rules of the added operations and by the rules of the library.
template <class Op, class... A>
constexpr bool accepted(A... a) {
  constexpr auto no_mistake = []<class... E>(std::tuple<E...>) { return !(lang::wrong<E> || ...); };
  return no_mistake(std::tuple{lang::operation_form<Op>::of(a...)});
}
static_assert(accepted<own::picked_op>(x, labels<"l", 12, 8>));
static_assert(!accepted<own::picked_op>(x, labels<"l", 13, 8>) && !accepted<own::picked_op>(x, labels<"l", 12, 7>));
static_assert(!accepted<own::picked_op>(x, input<"l", 8>) && !accepted<own::picked_op>(x, as<std::int32_t>(most)));
static_assert(accepted<own::picked_op>(x, at) && !accepted<own::largest_op>(input<"s">));
static_assert(accepted<own::picked_op>(x, as<std::uint8_t>(at)));
static_assert(!accepted<own::picked_op>(input<"x", 8, 300>, as<std::uint8_t>(labels<"l", 300, 8>)));
static_assert(!accepted<own::centered_op>(x, param<"m", 12>) &&
              accepted<own::centered_op>(x, state<"m", initial{}, 12>));
static_assert(!accepted<lang::softmax_op<-1>>(half) && !accepted<lang::sum_op<3, false>>(half) &&
              accepted<lang::softmax_op<-1>>(as_real(half)));

}  // namespace
