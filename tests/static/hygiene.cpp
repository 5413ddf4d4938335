// Bodies see only their own arguments. The computations of nested bodies are written out as formulas.
#include "cairn/nn/activation.hpp"
#include "cairn/nn/linear.hpp"
#include "cairn/op/loss.hpp"

#include "plan.hpp"

using namespace cairn;
using namespace cairn::test;

namespace {

constexpr auto x = input<"x", 8>;
constexpr auto y = input<"y", 8>;
constexpr auto w = param<"/w", 8>;  // the same parameter in every block

// A body inside itself. The arguments of the two bodies must stay different. If both placeholders had one type, the
// tanh of the inner body would be taken for the tanh of the outer body, or would read the gelu before it.
constexpr auto f = [](auto v) { return gelu(v) * tanh(v); };
static_assert(written<f(x)> == "mul(gelu(x), tanh(x))" && operations<f(x)>() == 3);
static_assert(written<block<"a">(f)(x)> == "mul(gelu(x), tanh(x))" && operations<block<"a">(f)(x)>() == 3);

constexpr auto of_gelu = [](auto v) { return block<"in">(f)(gelu(v)) * tanh(v); };
static_assert(written<block<"out">(of_gelu)(x)> == "mul(mul(gelu(gelu(x)), tanh(gelu(x))), tanh(x))");
static_assert(operations<block<"out">(of_gelu)(x)>() == 6);

constexpr auto f_of_f = [](auto v) { return block<"a">(f)(block<"a">(f)(v)); };
constexpr auto f_of_f_of_x = "mul(gelu(mul(gelu(x), tanh(x))), tanh(mul(gelu(x), tanh(x))))";
static_assert(written<block<"out">(f_of_f)(x)> == f_of_f_of_x && operations<block<"out">(f_of_f)(x)>() == 6);
static_assert(written<f_of_f(x)> == f_of_f_of_x && operations<f_of_f(x)>() == 6);
static_assert(written < x | block<"a">(f) | block<"b">(f) > == f_of_f_of_x);
static_assert(written<ckpt<"s">(f_of_f, x)> == f_of_f_of_x && operations<ckpt<"s">(f_of_f, x)>() == 6);
static_assert(written < x | repeat<2, "r">([](auto) { return layer(f); }) > == f_of_f_of_x);

// One function object inside its own body, at three levels.
struct nested {
  constexpr auto operator()(an_expression auto v) const {
    if constexpr (v.traits.level < 3) return tanh(v) * block<"in">(nested{})(gelu(v));
    else return v;
  }
};
static_assert(written<block<"out">(nested{})(x)> == "mul(tanh(x), mul(tanh(gelu(x)), gelu(gelu(x))))");
static_assert(operations<block<"out">(nested{})(x)>() == 6);

// If all arguments of an inner call come from the top level, the inner call has the level of the outer call. Here it
// even has the body of the outer call, so that the first arguments of both bodies are placeholders of one type. The
// tanh of each placeholder must still be a value of its own.
struct overloaded {
  constexpr auto operator()(an_expression auto a) const { return tanh(a); }
  constexpr auto operator()(an_expression auto a, an_expression auto b) const {
    return tanh(a) - block<"in">(overloaded{})(w) * b;
  }
};
static_assert(written<block<"out">(overloaded{})(x, y)> == "sub(tanh(x), mul(tanh(w), y))");
static_assert(operations<block<"out">(overloaded{})(x, y)>() == 4);
static_assert(written<block<"out">([](auto v) { return v * block<"in">(f)(w); })(x)> ==
              "mul(x, mul(gelu(w), tanh(w)))");
static_assert(written<ckpt<"s">([](auto v) { return v * ckpt<"t">([] { return tanh(w); }); }, x)> == "mul(x, tanh(w))");

// Arguments keep their order through every call, also where all shapes are equal.
constexpr auto minus = [](auto a, auto b) { return a - b; };
constexpr auto swapped = [](auto a, auto b) { return block<"m">(minus)(b, a); };
constexpr auto swapped_twice = [](auto a, auto b) { return block<"s">(swapped)(b, a); };
static_assert(written<block<"m">(minus)(x, y)> == "sub(x, y)" && written<block<"s">(swapped)(x, y)> == "sub(y, x)");
static_assert(written<block<"t">(swapped_twice)(x, y)> == "sub(x, y)");
static_assert(written<ckpt<"t">(swapped_twice, y, x)> == "sub(y, x)");
constexpr auto side_by_side = [](auto a, auto b) { return block<"l">(minus)(a, b) * block<"r">(minus)(b, a); };
static_assert(written<block<"o">(side_by_side)(x, y)> == "mul(sub(x, y), sub(y, x))");
static_assert(written<block<"o">(side_by_side)(x + y, tanh(y))> ==
              "mul(sub(add(x, y), tanh(y)), sub(tanh(y), add(x, y)))");

// Arguments of different levels: one argument comes from the top level and one from the body.
constexpr auto mixed = [](auto a) { return block<"m">(minus)(w, a) * block<"m">(minus)(a, w); };
static_assert(written<block<"o">(mixed)(x)> == "mul(sub(w, x), sub(x, w))");

// The results of a call keep their order.
constexpr auto two = [](auto a, auto b) { return std::tuple{tanh(b), gelu(a)}; };
constexpr auto of_two = [](auto a, auto b) {
  auto [t, g] = block<"in">(two)(b, a);
  return g - t;
};
static_assert(written<block<"out">(of_two)(x, y)> == "sub(gelu(y), tanh(x))" &&
              operations<block<"out">(of_two)(x, y)>() == 3);

// Equal expressions in one scope are one value. A call opens a scope of its own. Two equal calls are one call.
static_assert(operations<tanh(x) + tanh(x)>() == 2 && operations<tanh(x) + tanh(y)>() == 3);
static_assert(operations<f(x) + f(x)>() == 4 && operations<block<"a">(f)(x) + block<"a">(f)(x)>() == 4);
static_assert(operations<block<"a">(f)(x) + block<"b">(f)(x)>() == 7);
static_assert(operations<block<"a">(f)(x) + f(x)>() == 7);
static_assert(operations<(x | nn::tanh | nn::exp) + (x | nn::tanh | nn::gelu)>() == 4);  // chains share equal values
constexpr auto twelve = repeat<12, "r">([](auto) { return nn::tanh; })(x);
static_assert(operations<twelve * twelve>() == 13);  // the value is shared, and inside it there are twelve scopes
static_assert(operations<block<"o">([](auto v) { return exp(v) + block<"i">(nn::exp)(v) + exp(v); })(x)>() == 4);
static_assert(forward_of<x * x + x>::graph.leaf_count == 1);

// A gradient rule is a body as well. Its arguments are the arguments, the result and the cotangent of its operation.
static_assert(gradient_of<step_of<sum(w)>>("w") == "expand(reshape(constant))");
static_assert(gradient_of<step_of<sum(w / x)>>("w") == "div(expand(reshape(constant)), x)");
static_assert(gradient_of<step_of<sum(x / w)>>("w") == "div(neg(mul(expand(reshape(constant)), div(x, w))), w)");
static_assert(gradient_of<step_of<sum(w - tanh(w))>>("w") ==
              "add(expand(reshape(constant)), mul(neg(expand(reshape(constant))), tanh_slope(w)))");
static_assert(gradient_of<step_of<sum(block<"o">(minus)(x, block<"i">(nn::exp)(w)))>>("w") ==
              "mul(neg(expand(reshape(constant))), exp(w))");

// A placeholder that leaves its body is a mistake, even if the value that is computed from it is unused. Here decltype
// lets the placeholder leave.
template <class Misuse, class E>
constexpr bool is_mistake = false;
template <class Misuse, class Owner, class Path, class... Facts>
constexpr bool is_mistake<Misuse, lang::poison<Misuse, Owner, Path, Facts...>> = true;
constexpr bool captures(an_expression auto e) {
  return lang::wrong<decltype(e)> && is_mistake<misuse::captured_value, decltype(e)>;
}

template <class Smuggled>
struct smuggler {
  constexpr auto operator()(an_expression auto v) const { return v + Smuggled{}; }
};
template <class Smuggled>
struct replacer {
  constexpr auto operator()(an_expression auto) const { return Smuggled{}; }
};
constexpr auto checked = [](auto v) {
  using own = decltype(v);
  static_assert(captures(block<"in">(smuggler<own>{})(gelu(v))));
  static_assert(captures(block<"in">(smuggler<own>{})(v)));
  static_assert(captures(lang::call_form<lang::block_mark<"in">, smuggler<own>>::of(w)));  // both of level 1
  static_assert(captures(block<"in">(replacer<own>{})(gelu(v))));
  static_assert(captures(ckpt<"in">(smuggler<own>{}, v)) && captures(ckpt<"in">(replacer<own>{})(v)));
  static_assert(captures(v | layer(smuggler<own>{})) && captures(v | block<"in">(smuggler<own>{})));
  static_assert(captures(block<"in">(smuggler<decltype(tanh(v))>{})(v)));
  // A mistake travels through all values that are computed from it.
  static_assert(captures(tanh(block<"in">(smuggler<own>{})(v)) + v));
  static_assert(!lang::wrong<decltype(block<"in">(smuggler<decltype(w)>{})(v))>);  // a parameter is no placeholder
  return v;
};
static_assert(written<tanh(block<"out">(checked)(x))> == "tanh(x)");
constexpr auto deeper = [](auto v) {
  using own = decltype(v);
  return block<"mid">([](auto u) {
    static_assert(captures(block<"in">(smuggler<own>{})(u)));
    return u;
  })(gelu(v));
};
static_assert(written<block<"out">(deeper)(x)> == "gelu(x)");

// A value that is computed only from inputs may be used in a body without being an argument. A segment, which would
// recompute the value, must take it as an argument.
constexpr auto masked = layer([](auto v) { return v + (input<"mask", 4, 8> - 1_c) * 1000_c; });
constexpr auto stretched = layer([](auto v) {
  const auto mask = exp(input<"mask", 4, 8>);
  return ckpt<"s">([](auto a, auto m) { return tanh(a) * m; }, v, mask);
});
constexpr auto twice_masked = input<"v", 4, 8> | repeat<2, "b">([](auto) { return masked; }) | stretched;
static_assert(an_expression<decltype(twice_masked)> && !lang::wrong<decltype(twice_masked)>);
static_assert(twice_masked.traits.recomputes_outside_value &&
              !(input<"v", 4, 8> | nn::tanh).traits.recomputes_outside_value);

// Functions of the library call the library's functions, also if the user's namespace has functions of the same names.
namespace rival {
template <an_expression X>
constexpr X mean(X v) {
  return v;
}
template <an_expression X>
constexpr X square(X v) {
  return v;
}
struct loss_of {
  constexpr auto operator()(auto a, auto b) const { return mse(a, b); }
};
}  // namespace rival
static_assert(block<"own">(rival::loss_of{}, x, y).shape == shape{} &&
              operations<block<"own">(rival::loss_of{}, x, y)>() == operations<mse(x, y)>());

}  // namespace
