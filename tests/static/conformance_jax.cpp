// The numbers that tests of jax.checkpoint count, counted here. The tests are RematTest and Remat3Test in JAX's
// tests/api_test.py, and the headings below are their names. docs/conformance.md says for each test where the numbers
// differ, and why.
#include "cairn/lang/gradient.hpp"
#include "cairn/nn/activation.hpp"
#include "cairn/op/matmul.hpp"

#include "plan.hpp"

using namespace cairn;
using namespace cairn::test;

namespace own {

// Operations that a user adds. JAX's tests count the operations in their gradients.
struct sin_op;
struct cos_op;
template <an_expression X>
constexpr made<sin_op, X> sin(X) {
  return {};
}
template <an_expression X>
constexpr made<cos_op, X> cos(X) {
  return {};
}
struct sin_op : elementwise_op {
  static constexpr fixed_string name = "sin";
  static constexpr auto vjp(auto g, auto, auto x) { return gradients(g * tag<"cos">(cos(x))); }
};
struct cos_op : elementwise_op {
  static constexpr fixed_string name = "cos";
  static constexpr auto vjp(auto g, auto, auto x) { return gradients(-(g * sin(x))); }
};
/// x + 1, with a gradient that reads the result.
struct add_one_op : elementwise_op {
  static constexpr fixed_string name = "add_one";
  static constexpr auto vjp(auto g, auto y, auto) { return gradients(g * y); }
};
template <an_expression X>
constexpr made<add_one_op, X> add_one(X) {
  return {};
}

}  // namespace own
using own::add_one, own::cos, own::sin;

namespace {

constexpr std::int64_t row = 4 * 4 * sizeof(float);  // the bytes of all values here except losses
template <class Step>
constexpr std::int64_t residuals = stored<Step> % row == 0 ? stored<Step> / row : -1;
// A value that a kernel computes, so that a segment has to store it. A segment does not have to store leaves. The
// gradient rule of transpose reads nothing.
constexpr auto h = transpose(param<"w", 4, 4>);
template <auto F, class... Policy>
using segmented = step_of<sum(ckpt<"s", allow_useless, Policy...>(F, h))>;

// ---- remat_basic. The last sin is not recomputed, because no gradient reads it.
constexpr auto sin_of_sin = [](auto v) { return sin(sin(v)); };
static_assert(runs_of<segmented<sin_of_sin>>("sin") == runs{2, 1});
static_assert(runs_of<segmented<sin_of_sin>>("cos") == runs{0, 2});

// ---- no_redundant_flops. Values that need no gradient have no cos. JAX counts one sin, because it drops the value of
// the function. A training step returns this value.
using of_a_constant = step_of<sum(ckpt<"s">([](auto x, auto y) { return sin(x) * y; }, exp(constant<2>), h))>;
static_assert(runs_of<of_a_constant>("sin") == runs{1, 1} && runs_of<of_a_constant>("cos") == runs{});
using of_an_input = step_of<sum(ckpt<"s">([](auto x, auto y) { return sin(x) * y; }, exp(input<"x", 4, 4>), h))>;
static_assert(runs_of<of_an_input>("sin") == runs{1, 1} && runs_of<of_an_input>("cos") == runs{});

// ---- eval_counter: 2 here, and 3 in JAX. Here the inner result is available from the outer recomputation.
constexpr auto twice = [](auto v) { return add_one(add_one(v)); };
constexpr auto nested = [](auto v) { return add_one(ckpt<"f">([](auto u) { return add_one(u); }, v)); };
static_assert(runs_of<segmented<twice>>("add_one") == runs{2, 2});
static_assert(runs_of<segmented<nested>>("add_one") == runs{2, 2});

// ---- custom_policy. In JAX, the forward pass also computes the cosines, and "save anything" stores them. Here the
// backward pass computes the cosines from stored values.
constexpr auto bent = [](auto v) { return tag<"sin">(sin(square(tag<"sin">(sin(v))))); };
template <class... Policy>
constexpr bool makes(int sines, int squares, int kept) {
  using step = segmented<bent, Policy...>;
  return runs_of<step>("sin") == runs{2, sines} && runs_of<step>("cos") == runs{0, 2} &&
         recomputed<step>("s") == sines + squares && residuals<step> == kept;
}
static_assert(makes<save_everything>(0, 0, 3));
static_assert(makes<>(1, 1, 1) && makes<save_nothing>(1, 1, 1));
static_assert(makes<save<"sin">>(0, 1, 2));

// ---- custom_policy_save_cos, custom_vjp_with_checkpoint_name_in_fwd. Values that only gradients compute cannot be
// stored. A policy that asks for such a value fits nothing and is a mistake, and a tag in a gradient rule is not a tag
// of the model.
struct keeps_sin {
  constexpr bool operator()(const saveable& v) const { return v.operation == "sin"; }
};
struct keeps_cos {
  constexpr bool operator()(const saveable& v) const { return v.operation == "cos"; }
};
static_assert(std::same_as<detail::problem_in<segmented<sin_of_sin, keeps_sin>>, lang::sound>);
static_assert(runs_of<segmented<sin_of_sin, keeps_sin>>("sin") == runs{2, 0});
static_assert(!std::same_as<detail::problem_in<segmented<sin_of_sin, keeps_cos>>, lang::sound>);
static_assert(!std::same_as<detail::problem_in<segmented<sin_of_sin, save<"cos">>>, lang::sound>);
constexpr auto slope = grad(sum(sin_of_sin(param<"w", 4, 4>)), param<"w", 4, 4>);
static_assert(runs_of<forward_of<slope>>("sin") == runs{1, 0} && runs_of<forward_of<slope>>("cos") == runs{2, 0});

// ---- checkpoint_dots and its variants: 2 and 6, or 9 if batched products are recomputed.
constexpr auto dots = [](auto v) {
  const auto dot_and_sin = [](auto u) { return sin(matmul(u, u)); };
  return dot_and_sin(dot_and_sin(dot_and_sin(v)));
};
template <auto H, class Policy>
using dotted = step_of<sum(ckpt<"s", Policy>(dots, H))>;
template <class Step>
constexpr bool dots_are(int sines, int products) {
  return runs_of<Step>("sin") == runs{3, sines} && runs_of<Step>("matmul") == runs{3, products} &&
         runs_of<Step>("cos") == runs{0, 3};
}
constexpr auto batches = transpose(param<"w", 3, 2, 2>);
static_assert(dots_are<dotted<h, save_matmuls>>(2, 6) && dots_are<dotted<h, save_unbatched_matmuls>>(2, 6));
static_assert(dots_are<dotted<batches, save_matmuls>>(2, 6) && dots_are<dotted<batches, save_unbatched_matmuls>>(2, 9));

// ---- checkpoint_dots_inside_scan and _outside_scan: 2 or 3 sines for each body in JAX. If the body is the segment,
// the value that is carried from body to body is a boundary. The last sin is unused, and x needs no gradient.
constexpr auto body = layer([](auto v) {
  const auto dot_and_sin = [](auto u) { return sin(matmul(u, param<"/w", 4, 4>)); };
  return dot_and_sin(dot_and_sin(dot_and_sin(v)));
});
constexpr auto scanned(auto layer) { return sum(input<"x", 4, 4> | layer); }
using inside = step_of<scanned(repeat<2, "b">([](auto) { return ckpt<"s", save_matmuls>(body); }))>;
using outside = step_of<scanned(ckpt<"s", save_matmuls>(repeat<2, "b">([](auto) { return body; })))>;
static_assert(runs_of<inside>("sin") == runs{6, 2 * 2} && runs_of<outside>("sin") == runs{6, 2 * 3 - 1});
static_assert(runs_of<inside>("cos") == runs{0, 2 * 3} && runs_of<outside>("cos") == runs{0, 2 * 3});
static_assert(runs_of<inside>("matmul") == runs{6, 2 * 6 - 1} && runs_of<outside>("matmul") == runs{6, 2 * 6 - 1});
static_assert(residuals<inside> == 2 * 3 + 1 && residuals<outside> == 2 * 3);

// ---- constants_not_hoisted: 0, 0, 1.
static_assert(residuals<segmented<[](auto v) { return reshape<16>(transpose(v)); }>> == 0);
static_assert(residuals<segmented<[](auto v) { return 0_c * v; }>> == 0);
static_assert(residuals<segmented<[](auto v) { return 0_c * sin(v); }>> == 1);

// ---- name_denylist, name_allowlist. There are four factors, and three of them have names. JAX's list of names that
// are not stored also excludes values without a name. Ours does not exclude them.
template <fixed_string Name>
constexpr auto factor = softmax(frozen<Name, 4, 4>);
constexpr auto factors = [](auto x) {
  return x * tag<"y">(factor<"1">) * tag<"z">(factor<"2">) * tag<"w">(factor<"3">) * factor<"4">;
};
template <class... Policy>
constexpr std::int64_t factors_kept = residuals<segmented<factors, Policy...>>;
static_assert(factors_kept<> == 0 && factors_kept<save<"w">> == 1 && factors_kept<save<"z", "w">> == 2);
static_assert(factors_kept<save<"y", "z", "w">> == 3 && factors_kept<save<"y">, save<"z">, save<"w">> == 3);
static_assert(factors_kept<save_everything> == 4 && factors_kept<save_all_but<"w">> == 3);
static_assert(factors_kept<save_all_but<"z", "w">> == 2 && factors_kept<save_all_but<"y", "z", "w">> == 1);

// ---- name_saveable_input: the boundary and the named value are stored.
constexpr auto square_of_square = [](auto v) {
  const auto s = tag<"foo">(matmul(v, v));
  return matmul(s, s);
};
static_assert(residuals<segmented<square_of_square, save<"foo">>> == 2 && residuals<segmented<square_of_square>> == 1);
static_assert(recomputed<segmented<square_of_square, save<"foo">>>("s") == 0);

// ---- of_jit_residual_forwarding. The value is read in two blocks and stored once.
constexpr auto in_two_blocks = [](auto x) {
  const auto y = tag<"y">(factor<"1">);
  const auto times = layer([](auto a, auto b) { return a * b; });
  return block<"b">(times)(block<"a">(times)(x, y), y);
};
static_assert(residuals<segmented<in_two_blocks, save<"y">>> == 1);

// ---- output_to_residual_forwarding, of_jit_output_to_residual_forwarding. A stored value that is also a result is
// stored once, as the result.
constexpr auto named = [](auto v) { return tag<"y">(sin(v)); };
constexpr auto of_named = ckpt<"s", allow_useless, save<"y">>(block<"b">(layer(named)))(h);
using forwarded = step_of<outputs(sum(square(of_named)), of_named)>;
static_assert(residuals<forwarded> == 1 && runs_of<forwarded>("sin") == runs{1, 0});
constexpr auto read_twice = [] {
  const auto [y, squared] = ckpt<"s", save<"y">>(
      [](auto v) {
        const auto y = block<"b">(layer(named))(v);
        return std::tuple{y, y * y};
      },
      h);
  return sum(square(y) + squared);
}();
static_assert(residuals<step_of<read_twice>> == 2 && runs_of<step_of<read_twice>>("sin") == runs{1, 0});

// ---- eqn_dce, checkpoint_dropvars. An unused result is not computed, and neither are the operations that lead to it.
constexpr auto one_is_read = [] {
  const auto [s, c] = ckpt<"s">([](auto v, auto u) { return std::tuple{sin(v), cos(u)}; }, h, softmax(h));
  return sum(s);
}();
using one_read = step_of<one_is_read>;
static_assert(runs_of<one_read>("cos") == runs{0, 1} && runs_of<one_read>("softmax") == runs{});
static_assert(residuals<one_read> == 1 && recomputed<one_read>("s") == 0);
// ---- dce_input_to_output_forwarding. A value that passes through the segment is the argument itself.
constexpr auto passed = [] {
  const auto [x, y] = ckpt<"s">([](auto u, auto v) { return std::tuple{u, v * v}; }, h, sin(h));
  return sum(x * y);
}();
static_assert(step_of<passed>::addresses.copy_count == 0 && runs_of<step_of<passed>>("mul").forward == 2);

}  // namespace
