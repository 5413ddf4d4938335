// How models are composed, as types: `|`, layer, block, repeat, ckpt, and the names of parameters.
#include "cairn/nn/activation.hpp"
#include "cairn/nn/linear.hpp"
#include "cairn/op/concatenate.hpp"
#include "cairn/op/gather.hpp"
#include "cairn/op/loss.hpp"
#include "cairn/search/sequential.hpp"

#include "plan.hpp"

using namespace cairn;
using namespace cairn::test;

namespace {

constexpr auto x = input<"x", 4, 8>;
constexpr auto f = nn::linear<"f", 8>;
constexpr auto g = nn::relu;
constexpr auto h = nn::linear<"h", 3>;

constexpr shape of(an_expression auto e) { return e.shape; }
template <class A, class B>
constexpr bool same(A, B) {
  return std::same_as<A, B>;
}

/// The number of stages of a flat chain, which may be applied to an expression. It is -1 for all other types.
template <class>
constexpr int length = -1;
template <class... L>
constexpr int length<lang::chain_of<L...>> = sizeof...(L);
template <lang::chain_traits Last, class X, class Layers>
constexpr int length<lang::chained<Last, X, Layers>> = length<Layers>;
template <class Opaque>
constexpr int length<lang::chain<Opaque>> = length<lang::revealed<Opaque>>;
template <class Opaque>
constexpr int length<lang::renamed<Opaque>> = length<lang::revealed<Opaque>>;
constexpr int length_of(auto e) { return length<decltype(e)>; }

// `|` is associative and flat. Its result is one sequence of layers, or one chain on an expression.
static_assert(length_of(f | g | h) == 3 && length_of(x | f | g | h) == 3);
static_assert(same(f | g | h, f | (g | h)) && same((f | g) | (h | g), f | g | h | g));
static_assert(same(x | f | g | h, x | (f | g | h)) && same(x | f | g | h, (x | f) | (g | h)));
static_assert(of(x | f | g | h) == shape{4, 3} && of((f | g | h)(x)) == shape{4, 3});
static_assert(same((f | g)(x), x | f | g));

// A function object without captures is a layer. To compose two function objects, one of them needs layer().
constexpr auto twice = [](auto v) { return v + v; };
static_assert(length_of(x | twice | twice) == 2 && length_of(layer(twice) | twice) == 2);
static_assert(length_of(twice | layer(twice) | g) == 3 && same(layer(twice)(x), x + x));
static_assert(of(x + f(x)) == shape{4, 8});  // x + x | f would be (x + x) | f, and compilers warn about it

// repeat is one node of the type if its bodies are equal and keep the shape. Otherwise it is a flat sequence.
template <class>
constexpr int iterations = 0;
template <int N, fixed_string Name, class L, class... X>
constexpr int iterations<lang::call<lang::repeat_mark<N, Name>, L, X...>> = N;
template <int I, class E>
constexpr int iterations<lang::pick<I, E>> = iterations<E>;
template <class Opaque>
constexpr int iterations<lang::renamed<Opaque>> = iterations<lang::revealed<Opaque>>;
constexpr int iterations_of(auto e) { return iterations<decltype(e)>; }
static_assert(iterations_of(repeat<12, "b">([](auto) { return nn::linear<"fc", 8>; })(x)) == 12);
static_assert(iterations_of(repeat<12, "b">([](auto) { return ckpt<"s">(nn::residual(f | g)); })(x)) == 12);
constexpr auto widening = repeat<3, "b">([](auto i) { return nn::linear<"fc", 8 * (i + 1)>; })(x);
static_assert(iterations_of(widening) == 0 && length_of(widening) == 3 && of(widening) == shape{4, 24});
constexpr auto narrowing =
    repeat<3, "b">([](auto) { return nn::linear<"fc", 5>; })(x);  // one body, but it maps {4, 8} to {4, 5}
static_assert(length_of(narrowing) == 3 && of(narrowing) == shape{4, 5});
static_assert(length_of(x | f | repeat<3, "b">([](auto) { return f; }) | h) == 3);  // repeat is one stage of the chain

// Chains that are longer than the folds that clang accepts. They are composed first, or applied to a value one by one.
// There is also a long repeat.
template <int Length>
constexpr auto chain_of(auto first, auto next) {
  if constexpr (Length == 0) return first;
  else return chain_of<Length - 1>(first | next, next);
}
constexpr auto squash = layer([](auto v) { return tanh(v); });
static_assert(operations<sum(x | chain_of<299>(squash, squash))>("tanh") == 300);
static_assert(operations<sum(chain_of<300>(x, squash))>("tanh") == 300);
static_assert(operations<sum(x | repeat<300, "b">([](auto) { return squash; }))>("tanh") == 300);

/// Returns true if the model has parameters with these names, in the order of their first occurrence.
template <auto Model>
constexpr bool has_parameters(auto... names) {
  constexpr const auto& graph = forward_of<Model>::graph;
  const std::array<std::string_view, sizeof...(names)> expected{names...};
  std::size_t n = 0;
  for (int i = 0; i < graph.leaf_count; ++i) {
    if (graph.nodes[graph.leaves[i].node].op->what != graphs::role::parameter) continue;
    if (n == expected.size() || graph.name(graph.leaves[i]) != expected[n]) return false;
    ++n;
  }
  return n == expected.size();
}
template <auto Model>
constexpr bool has_segments(auto... names) {
  constexpr auto segments = detail::segments_in<step_of<sum(Model)>>;
  const std::array<std::string_view, sizeof...(names)> expected{names...};
  bool equal = segments.size() == expected.size();
  for (std::size_t i = 0; equal && i < expected.size(); ++i) equal = segments[i].path == expected[i];
  return equal;
}

// block and repeat prefix the names of parameters but not the names of inputs. ckpt prefixes no names. '/' makes a name
// absolute.
static_assert(has_parameters < x | f | h > ("f.weight", "f.bias", "h.weight", "h.bias"));
static_assert(has_parameters < x |
              block<"enc">(block<"in">(f) | h) > ("enc.in.f.weight", "enc.in.f.bias", "enc.h.weight", "enc.h.bias"));
static_assert(has_parameters < x | repeat<2, "block">([](auto) {
                                     return block<"ff">(nn::linear_without_bias<"fc1", 8>);
                                   }) > ("block.0.ff.fc1.weight", "block.1.ff.fc1.weight"));
static_assert(has_parameters<repeat<2, "b">([](auto i) { return nn::linear_without_bias<"fc", 8 + i>; })(x)>(
    "b.0.fc.weight", "b.1.fc.weight"));
constexpr auto deep = forward_of < x | repeat<12, "b">([](auto) { return f; }) > ::graph;
static_assert(deep.find(graphs::role::parameter, "b.11.f.weight") != graphs::none && deep.leaf_count == 1 + 12 * 2);
constexpr auto tied = [](auto v) { return matmul(v, param<"/w", 8, 8>); };
static_assert(has_parameters < x | block<"a">(tied) | block<"b">(block<"c">(tied)) | tied > ("w"));
static_assert(has_parameters < x | block<"a">(nn::linear_without_bias<"/embed", 8>) > ("embed.weight"));
static_assert(has_parameters < x | block<"a">([](auto v) { return v + param<"w", 8>; }) |
              block<"b">([](auto v) { return v * param<"w", 8>; }) > ("a.w", "b.w"));
static_assert(forward_of < x |
              block<"a">([](auto v) { return v + input<"mask", 8>; }) > ::graph.find(graphs::role::input, "mask") !=
                  graphs::none);
static_assert(has_parameters < x | block<"a">(ckpt<"s">(f)) > ("a.f.weight", "a.f.bias"));
static_assert(has_segments < x | block<"a">(ckpt<"s">(f)) > ("a.s") && has_segments<x | f>());
static_assert(has_segments < x | repeat<2, "b">([](auto) { return ckpt<"s">(f); }) > ("b.0.s", "b.1.s"));
static_assert(has_segments < x | ckpt<"outer">(block<"b">(ckpt<"inner">(f))) > ("outer", "b.inner"));

// The forms of ckpt: f applied to arguments, a checkpointed layer, and a segment that reads only parameters.
constexpr auto product = [](auto a, auto b) { return a * b; };
constexpr auto scale = [] { return square(param<"scale", 8>); };
static_assert(same(ckpt<"s">(f, x), ckpt<"s">(f)(x)) && of(ckpt<"s">(product, x, x + x)) == shape{4, 8});
static_assert(of(x | f | ckpt<"s">(g | h) | g) == shape{4, 3} && length_of(f | ckpt<"s">(g | h) | g) == 3);
static_assert(of(ckpt<"s">(scale)) == shape{8} && has_parameters<ckpt<"s">(scale)>("scale"));
static_assert(same(ckpt<"s">(ckpt<"t">(f))(x), ckpt<"s">(ckpt<"t">(f), x)));
static_assert(!same(ckpt<"s">(f, x), ckpt<"t">(f, x)));
// block has the same forms, without the segment.
static_assert(same(block<"b">(f, x), block<"b">(f)(x)) && of(block<"b">(product, x, x + x)) == shape{4, 8});
static_assert(of(block<"b">(scale)) == shape{8} && has_parameters<block<"b">(scale)>("b.scale"));
static_assert(has_parameters<block<"b">(f, x)>("b.f.weight", "b.f.bias") && has_segments<block<"b">(f, x)>());
static_assert(!same(block<"b">(f, x), block<"c">(f, x)));

// A tuple of results. There is one segment, and each result is an expression with a shape of its own.
constexpr auto cell = [](auto v, auto state) {
  const auto next = tanh(v + state);
  return std::tuple{sum<-1>(next), next};
};
constexpr auto both = ckpt<"cell">(cell, x, square(x));
static_assert(std::tuple_size_v<decltype(both)> == 2);
static_assert(of(std::get<0>(both)) == shape{4} && of(std::get<1>(both)) == shape{4, 8});
constexpr auto joined = [] {
  auto [rows, state] = ckpt<"cell">(cell, x, square(x));
  return sum(rows) + sum(state);
}();
static_assert(of(joined) == shape{} && operations<joined>("tanh") == 1);
constexpr auto outer = [](auto v) {
  auto [rows, state] = ckpt<"inner">(cell, v, v * v);
  return rows + sum<-1>(state);
};
static_assert(of(ckpt<"outer">(outer, x)) == shape{4} && of(block<"outer">(outer, x)) == shape{4});
constexpr auto unmarked = block<"cell">(cell, x, square(x));
static_assert(of(std::get<0>(unmarked)) == shape{4} && of(std::get<1>(unmarked)) == shape{4, 8});

// repeat carries as many values as it is given. It is one node of the type if its bodies are equal and keep all shapes.
constexpr auto gated = [](auto v, auto state) {
  const auto next = tanh((v | nn::linear_without_bias<"v", 8>)+(state | nn::linear_without_bias<"state", 8>));
  return std::tuple{next * v, next};
};
constexpr auto stacked = repeat<96, "layer">([](auto) { return ckpt<"cell">(gated); }, x, square(x));
constexpr auto last = sum(std::get<0>(stacked) * std::get<1>(stacked));
static_assert(iterations_of(std::get<0>(stacked)) == 96 && iterations_of(std::get<1>(stacked)) == 96);
static_assert(of(std::get<0>(stacked)) == shape{4, 8} && of(std::get<1>(stacked)) == shape{4, 8});
static_assert(operations<last>("tanh") == 96 && operations<last>("matmul") == 2 * 96);
constexpr auto once = block<"b">(ckpt<"cell">(gated), x, square(x));
static_assert(std::get<0>(stacked).traits.height == std::get<0>(once).traits.height);
constexpr auto both_of = [](auto v) {
  const auto [a, b] = repeat<2, "layer">([](auto) { return ckpt<"cell">(gated); }, v, square(v));
  return a + b;
};
static_assert(has_parameters<both_of(x)>("layer.0.v.weight", "layer.0.state.weight", "layer.1.v.weight",
                                         "layer.1.state.weight"));
static_assert(has_segments<both_of(x)>("layer.0.cell", "layer.1.cell"));
static_assert(has_segments<block<"b">(both_of, x)>("b.layer.0.cell", "b.layer.1.cell"));
// If the bodies depend on the index, they are calls in sequence and may change the shapes. A body that swaps its
// arguments is called in sequence, too.
constexpr auto indexed = repeat<3, "layer">(
    [](auto i) {
      return [](auto v, auto state) {
        return std::pair{v | nn::linear<"fc", 8 + decltype(i)::value>, concatenate<-1>(state, state)};
      };
    },
    x, x);
static_assert(iterations_of(std::get<0>(indexed)) == 0);
static_assert(of(std::get<0>(indexed)) == shape{4, 10} && of(std::get<1>(indexed)) == shape{4, 64});
constexpr auto swapped =
    repeat<3, "layer">([](auto) { return [](auto a, auto b) { return std::tuple{b, a}; }; }, x, input<"z", 5>);
static_assert(of(std::get<0>(swapped)) == shape{5} && of(std::get<1>(swapped)) == shape{4, 8});
// Indices can also be carried, here together with the table that they reorder.
constexpr auto look = [](auto at, auto table) { return std::tuple{flip<0>(at), gather<0>(table, at)}; };
constexpr auto moved = repeat<4, "t">([](auto) { return look; }, indices<"at", 8, 8>, input<"table", 8, 3>);
static_assert(of(std::get<1>(moved)) == shape{8, 3} && iterations_of(std::get<1>(moved)) == 4);
// With one value, repeat is equal to what `|` makes. As a layer, it can be called with several values.
static_assert(same(repeat<3, "b">([](auto) { return f; })(x), repeat<3, "b">([](auto) { return f; }, x)));
constexpr auto stack_of_two = repeat<2, "layer">([](auto) { return gated; });
static_assert(same(stack_of_two(x, x), repeat<2, "layer">([](auto) { return gated; }, x, x)));
static_assert(has_segments<sum(std::get<0>(ckpt<"stack">(stack_of_two, x, x)))>("stack"));

// A program may have several results. Labels and frozen parameters are leaves like others.
constexpr auto classes = labels<"classes", 3, 4>;
constexpr auto logits = x | f | g | h;
constexpr auto loss = cross_entropy(logits, classes);
constexpr auto results = outputs(loss, accuracy(logits, classes), logits);
static_assert(step_of<results>::graph.output_count == 3 && step_of<loss>::graph.output_count == 1);
static_assert(step_of<results>::graph.outputs[2] != step_of<results>::graph.outputs[0]);
static_assert(operations<results>() == operations<loss>() + 1);  // the logits are the same values
static_assert(!step_of<sum(x + frozen<"w", 8>)>::model::chosen.trained[1] &&
              step_of<sum(x + param<"w", 8>)>::model::chosen.trained[1]);
static_assert(!step_of<sum(x + param<"a.w", 8>), freeze<"a">>::model::chosen.trained[1]);  // "a" is the name of a block
static_assert(step_of<sum(x + param<"ab.w", 8>), freeze<"a">>::model::chosen.trained[1]);

// Expressions, layers and outputs are empty and structural types. They cost nothing and can be template arguments.
template <class T>
constexpr bool weightless = std::is_empty_v<T> && std::is_trivially_copyable_v<T> && std::is_trivial_v<T>;
static_assert(weightless<decltype(x)> && weightless<decltype(x + x)> && weightless<decltype(classes)>);
static_assert(weightless<decltype(loss)> && weightless<decltype(results)> && weightless<decltype(joined)>);
static_assert(weightless<decltype(f)> && weightless<decltype(f | g)> && weightless<decltype(ckpt<"s">(f))>);
static_assert(sizeof(loss) == 1 && sizeof(widening) == 1 && sizeof(f | g | h) == 1);

// The depth of the recursion in lowering. It grows with arguments and bodies, but not with the stages of a chain.
static_assert(x.traits.height == 1 && (x + x).traits.height == 2 && ((x + x) + x).traits.height == 3);
static_assert(block<"b">(twice)(x + x).traits.height == 4 && block<"b">(f)(x).traits.height == 2 + f(x).traits.height);
static_assert((x | twice).traits.height == (x | twice | twice | twice).traits.height);

// Each step uses a value twice and costs one operation. Neither names nor capacities grow with the number of paths
// through the expression.
template <int Steps>
constexpr auto doubled(auto y) {
  if constexpr (Steps == 0) return y;
  else return doubled<Steps - 1>(y + y);
}
static_assert(operations<sum(doubled<40>(x + param<"w", 8>))>() == 42);
static_assert(doubled<399>(x).traits.height == lang::max_height &&
              operations<sum(doubled<300>(doubled<96>(x)))>() == 397);

// Results of calls do not grow either, if each is computed from all results of the call before.
constexpr auto mixed = [](auto a, auto b) { return std::tuple{a + b, a * b}; };
template <int Steps>
constexpr auto unrolled(auto a, auto b) {
  if constexpr (Steps == 0) return a + b;
  else return std::apply([](auto... next) { return unrolled<Steps - 1>(next...); }, ckpt<"cell">(mixed, a, b));
}
static_assert(operations<sum(unrolled<24>(x, param<"w", 8>))>() == 2 * 24 + 2);
constexpr auto recurrent = [](auto a) { return unrolled<24>(a, param<"w", 8>); };
static_assert(operations<sum(block<"net">(recurrent)(x))>() == 2 * 24 + 2);  // in a body as well

// Each step reads the results of the two steps before, so that the number of paths grows like the Fibonacci numbers.
template <int Steps>
constexpr auto fibonacci(auto a, auto b) {
  if constexpr (Steps == 0) return b;
  else return fibonacci<Steps - 1>(b, ckpt<"s">([](auto l, auto r) { return l * r; }, a, b));
}
static_assert(operations<sum(fibonacci<40>(x, x + param<"w", 8>))>() == 42);

// A body may return a std::pair or a std::tuple.
constexpr auto as_pair = [](auto a) { return std::pair{tanh(a), mean(a)}; };
constexpr auto as_results = [](auto a) { return std::tuple{tanh(a), mean(a)}; };
static_assert(std::tuple_size_v<decltype(ckpt<"s">(as_pair, x))> == 2);
static_assert([] {
  const auto [a, b] = block<"b">(as_pair)(x);
  const auto [c, d] = block<"b">(as_results)(x);
  return a.shape == c.shape && b.shape == d.shape && b.shape.rank == 0;
}());

// A body may ask for the shape of an argument that it takes by value.
constexpr auto by_shape = [](auto v) {
  if constexpr (v.shape.rank == 2) return reshape<v.shape.count()>(v);
  else return v * constant<v.shape[0]>;
};
static_assert((param<"m", 3, 4> | layer(by_shape)).shape == shape{12} &&
              (param<"v", 3> | layer(by_shape)).shape == shape{3});

// The options of ckpt_sequential may stand in any order.
constexpr auto stages = std::make_tuple(nn::linear<"a", 8>, nn::tag<"t"> | nn::tanh, nn::linear<"b", 8>);
static_assert(std::same_as<decltype(ckpt_sequential<2, save<"t">, by_bytes, allow_useless>(stages)),
                           decltype(ckpt_sequential<2, by_bytes, save<"t">, allow_useless>(stages))>);

// A power is one operation. Some powers are the operations square and sqrt.
constexpr auto w = param<"w", 8>;
static_assert(operations<sum(pow(w, 8_c))>() == 1 + 1 && operations<sum(pow(w, -7.5_c))>() == 1 + 1);
static_assert(std::same_as<decltype(pow(w, 2_c)), decltype(square(w))>);
static_assert(std::same_as<decltype(pow(w, 0.5_c)), decltype(sqrt(w))> && pow(w, -1_c).shape == w.shape);

// A number alone does not say how a parameter is initialized.
template <class Start>
concept made_of_a_number = requires { Start{1.0}; };
constexpr bool can_be_meant(initial start) {
  return detail::first_refused(start.settings()) == start.settings().size();
}
static_assert(can_be_meant(initial::constant(-3e38)) && can_be_meant(initial::normal(3e38)) &&
              can_be_meant(initial::constant(-std::numeric_limits<double>::infinity())) &&
              !can_be_meant(initial::constant(-1e300)) && !can_be_meant(initial::normal(1e300)) &&
              !can_be_meant(initial::constant(std::numeric_limits<double>::quiet_NaN())));
// A fan in is a whole number from 1 on. PyTorch's kaiming_uniform_ takes a slope in the same place.
template <class Number>
concept a_fan_in = requires(Number n) { initial::kaiming(n); };
static_assert(a_fan_in<int> && a_fan_in<std::int64_t> && !a_fan_in<double>);
static_assert(can_be_meant(initial::kaiming(3)) && !can_be_meant(initial::kaiming(0)));
static_assert(!made_of_a_number<initial> && initial{} == initial::constant(0) &&
              initial{.fill = 2} == initial::constant(2));
static_assert(initial::kaiming(6) == initial::uniform(1) && initial::xavier(2, 4) == initial::uniform(1));
// The fans of a weight {out, in, ...} are counted from its extents.
template <initial Start, initial Same, std::int64_t... Extents>
constexpr bool starts_as =
    std::same_as<decltype(param_from<"w", Start, Extents...>), decltype(param_from<"w", Same, Extents...>)>;
static_assert(starts_as<initial::kaiming(), initial::kaiming(12), 5, 4, 3> &&
              starts_as<initial::xavier(), initial::xavier(12, 15), 5, 4, 3> &&
              starts_as<initial::kaiming_normal(), initial::normal(0.5), 3, 8> &&
              starts_as<initial::xavier_normal(), initial::normal(0.5), 2, 6> &&
              starts_as<initial::zeros(), initial{}, 2, 6>);
static_assert(std::same_as<decltype(param<"w", 2, 6>), decltype(param_from<"w", initial::unspecified(), 2, 6>)>);

}  // namespace
