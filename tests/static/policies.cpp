// The values that policies store in a segment, and the operations that the segment then recomputes. All numbers are
// counted by hand.
#include "cairn/nn/activation.hpp"
#include "cairn/nn/linear.hpp"
#include "cairn/op/matmul.hpp"

#include "plan.hpp"

using namespace cairn;
using namespace cairn::test;

namespace {

constexpr std::int64_t row = 8 * 4 * sizeof(float);  // the bytes of all values here
constexpr auto h = input<"x", 8, 4> | nn::linear<"in", 4>;
// The backward pass reads the arguments of gelu, of the products and of tanh, and the result of softmax.
constexpr auto f =
    nn::linear<"a", 4> | nn::gelu | nn::tag<"bent"> | nn::softmax | nn::tag<"shares"> | nn::linear<"b", 4> | nn::tanh;
template <class... Policy>
using kept_by = step_of<sum(ckpt<"s", allow_useless, Policy...>(f)(h))>;
struct counts {
  int stored;  ///< the number of stored values
  int recomputed;
  friend constexpr bool operator==(const counts&, const counts&) = default;
};
template <class Step>
constexpr counts counts_of{static_cast<int>(stored<Step> / row), recomputed<Step>("s")};

// The plain program stores h, the arguments of gelu and tanh, and softmax.
static_assert(stored<step_of<sum(ckpt<"s">(f)(h)), plain>> == 4 * row);
// A segment without a policy stores h. It recomputes two products with their biases, gelu and softmax.
static_assert(counts_of<kept_by<>> == counts{1, 6});
static_assert(counts_of<kept_by<save_nothing>> == counts{1, 6});
// If a policy stores a value, the operations that only led to this value are no longer recomputed. A value that is
// never read is not stored, even if the policy allows it. If "shares" is stored, "bent" is never read. The argument of
// gelu is recomputed for the slope of gelu.
static_assert(counts_of<kept_by<save<"bent">>> == counts{2, 5});
static_assert(counts_of<kept_by<save<"shares">>> == counts{2, 4});
static_assert(counts_of<kept_by<save<"bent", "shares">>> == counts{2, 4});
static_assert(counts_of<kept_by<save<"bent">, save<"shares">>> == counts{2, 4});
static_assert(counts_of<kept_by<save_all_but<"bent">>> == counts{4, 0});    // the result of gelu is never read
static_assert(counts_of<kept_by<save_all_but<"shares">>> == counts{4, 1});  // softmax is recomputed from "bent"
static_assert(counts_of<kept_by<save_all_but<"bent", "shares">>> == counts{3, 2});
static_assert(counts_of<kept_by<save_matmuls>> == counts{3, 4});
static_assert(counts_of<kept_by<save_unbatched_matmuls>> == counts{3, 4});
static_assert(counts_of<kept_by<save_matmuls, save<"shares">>> == counts{4, 2});  // the biases are recomputed
static_assert(counts_of<kept_by<save_everything>> == counts{4, 0});

// Predicates that the user writes.
struct keeps_softmax {
  constexpr bool operator()(const saveable& v) const { return v.operation == "softmax" && v.shape == shape(8, 4); }
};
struct keeps_what_is_dear {
  constexpr bool operator()(const saveable& v) const { return v.flops > 100 && !keeps_softmax{}(v); }
};
static_assert(counts_of<kept_by<keeps_softmax>> == counts_of<kept_by<save<"shares">>>);
static_assert(counts_of<kept_by<keeps_what_is_dear>> == counts_of<kept_by<save_matmuls>>);

// A tag marks the value behind a view. A tag on a boundary is allowed, and stores a value that is stored anyway.
constexpr auto through_views = [](auto v) { return tag<"t">(reshape<4, 8>(softmax(reshape<4, 8>(softmax(v))))); };
// h and the second softmax are stored. The first softmax is recomputed, and so is exp outside of the segment.
static_assert(counts_of<step_of<sum(square(exp(ckpt<"s", allow_useless, save<"t">>(through_views, h))))>> ==
              counts{2, 1});
constexpr auto of_boundary = [](auto v) { return softmax(softmax(tag<"t">(v))); };
static_assert(counts_of<step_of<sum(ckpt<"s", save<"t">>(of_boundary, h))>> == counts{1, 2});
static_assert(counts_of<step_of<sum(square(tag<"elsewhere">(h)))>>.stored == 1);

// Batched products occur in attention. The size of their results grows with the square of the sequence length.
constexpr auto attend = [](auto v) {
  const auto t = reshape<2, 4, 4>(v | nn::linear<"q", 4>);
  return reshape<8, 4>(matmul(softmax(matmul(t, transpose(t))), t));
};
template <class... Policy>
using attention = step_of<sum(ckpt<"s", allow_useless, Policy...>(attend, h))>;
static_assert(runs_of<attention<>>("matmul").forward == 4);
static_assert(recomputed<attention<>>("s") - recomputed<attention<save_unbatched_matmuls>>("s") == 1);
// The result of the last product is never read.
static_assert(recomputed<attention<>>("s") - recomputed<attention<save_matmuls>>("s") == 2);

// Nested segments. The policy of the inner segment stores values only during the recomputation of the outer segment. It
// stores nothing in the forward pass of the program.
constexpr auto inner = [](auto v) { return softmax(tag<"t">(softmax(v))); };
template <class Outer, class Inner>
using nested = step_of<sum(ckpt<"o", allow_useless, Outer>(
    [](auto v) { return softmax(ckpt<"s", allow_useless, Inner>(inner, softmax(v))); })(h))>;
template <class Outer, class Inner>
constexpr counts both_of{static_cast<int>(stored<nested<Outer, Inner>> / row),
                         recomputed<nested<Outer, Inner>>("o") + recomputed<nested<Outer, Inner>>("s")};
// The outer segment recomputes four operations. The inner segment recomputes one softmax a second time.
static_assert(both_of<save_nothing, save_nothing> == counts{1, 5});
static_assert(both_of<save_nothing, save<"t">> == counts{1, 4});
// The policy of the outer segment may store a value of the inner segment. Then neither segment recomputes this value.
static_assert(both_of<save<"t">, save_nothing> == counts{2, 3});
static_assert(both_of<save<"t">, save<"t">> == counts{2, 3});
static_assert(both_of<save_everything, save_nothing> == counts{4, 0});

// A segment is useless if it frees fewer bytes than its policy stores. A segment with the policy save_everything is not
// reported, because the user asked for this.
static_assert(std::same_as<detail::problem_in<kept_by<save_everything>>, lang::sound>);
using said = step_of<sum(ckpt<"s", save_everything>(f)(h))>;
static_assert(std::same_as<detail::problem_in<said>, lang::sound> && counts_of<said> == counts{4, 0});
using too_much =
    step_of<sum(ckpt<"s", save<"bent">>(nn::linear<"a", 4> | nn::softmax | nn::tag<"bent"> | nn::linear<"b", 4>)(h))>;
static_assert(!std::same_as<detail::problem_in<too_much>, lang::sound>);

}  // namespace
