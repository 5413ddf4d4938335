// Update rules in the graph. Each leaf that is updated gets an operation, which does not depend on the type of the
// leaf's shape. Parameters of all shapes therefore share the same code. A rule of whole tensors gives a leaf the values
// of a small graph instead, which parameters of one shape share.
#pragma once

#include "cairn/graph/build.hpp"
#include "cairn/op/update.hpp"

namespace cairn::graphs {

/// Lowers the arguments of an update rule, which are bound in the outermost scope. They are not operations.
template <int I>
struct rule_argument {
  static constexpr void count(counter&) {}
  static constexpr void describe(operation& o) { o.what = role::input; }
  template <class Target>
  static constexpr int into(builder& b) {
    return b.bindings[I];
  }
};
template <int I>
struct lowering<lang::rule_number<I>> : rule_argument<I> {};
template <int I, class Tensor>
struct lowering<lang::rule_tensor<I, Tensor>> : rule_argument<I> {};

/// Facts about an update rule.
struct rule_facts {
  int moments = 0, numbers = 0;
  const std::string_view* moment_names = nullptr;
  int first_number = 0;  ///< index of the rule's first number among the numbers of all rules
  int operations = 0;    ///< floating-point operations for each number of a parameter
  const lane_code* lanes = nullptr;
};

namespace detail {
using lang::clipping, lang::named_rule, lang::rule_list;

template <class Op, class Real, dtype Parameter, std::size_t... R, std::size_t... A>
constexpr const lane_code* lanes_of_rule(std::index_sequence<R...>, std::index_sequence<A...>) {
  constexpr auto type = [](std::size_t i) {
    constexpr std::size_t drawn = sizeof...(A) - (Parameter == dtype::bf16 ? lang::stochastic_argument_count : 0);
    return i == 0 ? Parameter : i < drawn ? dtype::real : dtype::i32;
  };
  return &lanes_of<Op, Real, type_list<type(R)...>, type(A)...>;
}
template <class... E>
constexpr int operations_in(std::tuple<E...>*) {
  counter c;
  (lowering<E>::count(c), ...);
  return c.total.nodes;
}
template <auto Rule, class Numbers, clipping Clip>
  requires(lang::reads_whole_tensors<std::remove_const_t<decltype(Rule)>>)
constexpr rule_facts facts_of_rule() {
  using rule = std::remove_const_t<decltype(Rule)>;
  return {.moments = lang::moments_of(Rule), .numbers = lang::numbers_of<rule>, .moment_names = rule::moments.data()};
}
template <auto Rule, class Numbers, clipping Clip>
constexpr rule_facts facts_of_rule() {
  using real = cairn::detail::real_type_of<Numbers>;
  constexpr bool rounds = cairn::detail::rounds_parameters<Numbers>;
  using rule = std::remove_const_t<decltype(Rule)>;
  constexpr int moments = lang::moments_of(Rule), numbers = lang::numbers_of<rule>;
  using op = lang::update_op<rule, moments, Clip, rounds>;
  constexpr int arguments =
      2 + numbers + moments + (Clip != clipping::off) + (rounds ? lang::stochastic_argument_count : 0);
  return {moments,
          numbers,
          rule::moments.data(),
          0,
          operations_in(static_cast<typename op::values*>(nullptr)),
          lanes_of_rule<op, real, rounds ? dtype::bf16 : dtype::real>(std::make_index_sequence<moments + 1>{},
                                                                      std::make_index_sequence<arguments>{})};
}
template <class Numbers, clipping Clip, class... Names, auto... Rule>
constexpr auto all_facts(rule_list<named_rule<Names, Rule>...>) {
  struct {
    rule_facts all[sizeof...(Rule) + 1];
    int numbers = 0, most_moments = 0;
  } out{{facts_of_rule<Rule, Numbers, Clip>()...}};
  for (rule_facts& rule : out.all) {
    rule.first_number = out.numbers;
    out.numbers += rule.numbers;
    out.most_moments = std::max(out.most_moments, rule.moments);
  }
  out.numbers += Clip != clipping::off;
  return out;
}
}  // namespace detail

/// Writes the positions of an array in row-major order, of any shape. Positions are the 32 bits of a whole number, so
/// from 2^31 on they are negative, and all positions below 2^32 are different.
inline void write_positions(double* elements, std::int64_t position, int count) {
  for (int i = 0; i < count; ++i) elements[i] = static_cast<double>(static_cast<std::int32_t>(position + i));
}
inline constexpr generator row_major_positions{&write_positions};

/// The update rules of a model. If gradients are clipped, the last of the rules' numbers is the limit.
template <class Model>
inline constexpr auto rules_of =
    detail::all_facts<typename Model::numbers, Model::purpose::clip.how>(typename Model::purpose::updates{});

/// Returns rule number I of a list.
template <int I, class... Names, auto... Rule>
constexpr auto rule_number_of(lang::rule_list<lang::named_rule<Names, Rule>...>) {
  return std::get<I>(std::tuple{Rule...});
}
template <class... Names, auto... Rule>
constexpr bool any_reads_whole_tensors(lang::rule_list<lang::named_rule<Names, Rule>...>) {
  return (lang::reads_whole_tensors<std::remove_const_t<decltype(Rule)>> || ...);
}

/// What a rule of whole tensors computes for a parameter: the nodes of a graph. The first nodes are the arguments of
/// the rule.
struct whole_rule {
  const node* nodes;
  const int* arguments;
  int node_count, argument_count, moment_count;
  const int* results;        ///< by result of the rule: its node
  const operation* last;     ///< by result of the rule: the operation that computes it
  const operation* moments;  ///< the leaves of the moments
};
/// The graph of a rule of whole tensors for a parameter of shape S. Parameters of one shape share it.
template <class Rule, int Moments, lang::clipping Clip, shape S, class Real>
struct whole_update {
  using arguments = lang::whole_arguments<Rule, Moments, Clip, S>;
  using target = graphs::target<Real, 0, true>;

  template <class... E>
  static constexpr auto built(std::tuple<E...>*) {
    constexpr sizes size = [](sizes s) {
      s.nodes += arguments::count;
      s.updates += Moments + 1;
      return s;
    }(size_of<target, E...>());
    graph<size> g;
    builder b;
    b.write_to(g);
    [&]<int... I>(std::integer_sequence<int, I...>) {
      (b.bindings.push(b.append_leaf(&leaf_operation<typename arguments::template nth<I>, Real>)), ...);
    }(std::make_integer_sequence<int, arguments::count>{});
    ((g.outputs[g.output_count++] = lowering<E>::template into<target>(b)), ...);
    finish(g, b);
    return g;
  }
  static constexpr auto g = built(static_cast<decltype(arguments::values())*>(nullptr));
  static constexpr auto last = [] {
    std::array<operation, static_cast<std::size_t>(Moments) + 1> out{};
    for (std::size_t r = 0; r < out.size(); ++r) {
      out[r] = g.op(g.outputs[r]);
      out[r].updates = true;
    }
    return out;
  }();
  static constexpr auto moments = [] {
    std::array<operation, static_cast<std::size_t>(Moments) + 1> out{};
    for (int k = 0; k < Moments; ++k) {
      operation& o = out[static_cast<std::size_t>(k)];
      o.name = "moment";
      o.what = role::accumulated;
      o.results = g.op(arguments::moments_begin + k).results;
    }
    return out;
  }();
  static constexpr whole_rule facts{g.nodes, g.arguments, g.node_count, g.argument_count,
                                    Moments, g.outputs,   last.data(),  moments.data()};
};
/// Returns what a rule of whole tensors computes for a leaf. Returns null if the leaf has another rule, or a rule that
/// does not fit; the checks of the model report the latter.
template <class Model, int Leaf>
constexpr const whole_rule* whole_rule_of() {
  if constexpr (Model::rules.of[Leaf] != none) {
    constexpr auto rule = rule_number_of<Model::rules.of[Leaf]>(typename Model::purpose::updates{});
    using type = std::remove_const_t<decltype(rule)>;
    if constexpr (lang::reads_whole_tensors<type>) {
      constexpr shape extents = Model::graph.leaf_op(Leaf).results[0].extents;
      constexpr int moments = lang::moments_of(rule, extents);
      constexpr auto clip = Model::purpose::clip.how;
      if constexpr (lang::fits_whole_rule<type, moments, clip, extents>())
        return &whole_update<type, moments, clip, extents, typename Model::real>::facts;
    }
  }
  return nullptr;
}

/// The operations that update a model's leaves. Leaves of all shapes share the same code.
template <class Model>
struct update_operations {
  static constexpr const auto& g = Model::graph;
  static constexpr const auto& rules = rules_of<Model>;
  static constexpr bool clips = Model::purpose::clip.how != lang::clipping::off;

  static constexpr const rule_facts& rule(int leaf) { return rules.all[Model::rules.of[leaf]]; }
  static constexpr bool rounds = cairn::detail::rounds_parameters<typename Model::numbers>;
  static constexpr int arguments(int leaf) {
    return 2 + rule(leaf).numbers + rule(leaf).moments + clips + (rounds ? lang::stochastic_argument_count : 0);
  }

  /// By leaf: what its rule computes, if it is a rule of whole tensors; otherwise null.
  static constexpr auto whole = []<int... Leaf>(std::integer_sequence<int, Leaf...>) {
    std::array<const whole_rule*, static_cast<std::size_t>(g.leaf_count) + 1> out{};
    if constexpr (any_reads_whole_tensors(typename Model::purpose::updates{}))
      ((out[Leaf] = whole_rule_of<Model, Leaf>()), ...);
    return out;
  }(std::make_integer_sequence<int, g.leaf_count>{});
  static constexpr const whole_rule* whole_rule_of_leaf(int leaf) { return whole[static_cast<std::size_t>(leaf)]; }
  static constexpr bool is_whole(int leaf) { return !cairn::detail::same_address(whole_rule_of_leaf(leaf), nullptr); }
  static constexpr int most_whole_nodes = [] {
    int most = 0;
    for (int i = 0; i < g.leaf_count; ++i) most = std::max(most, is_whole(i) ? whole_rule_of_leaf(i)->node_count : 0);
    return most;
  }();

  struct leaf_results {
    result_info all[rules.most_moments + 1];
  };
  static constexpr auto updated_results = [] {
    std::array<leaf_results, static_cast<std::size_t>(g.leaf_count) + 1> out{};
    for (int i = 0; i < g.leaf_count; ++i) {
      for (result_info& r : out[static_cast<std::size_t>(i)].all) r = g.leaf_op(i).results[0].as_float();
      out[static_cast<std::size_t>(i)].all[0] = g.leaf_op(i).results[0];
    }
    return out;
  }();
  static constexpr auto updates = [] {
    std::array<operation, static_cast<std::size_t>(g.leaf_count) + 1> out{};
    for (int i = 0; i < g.leaf_count; ++i) {
      if (Model::rules.of[i] == none) continue;
      operation& o = out[static_cast<std::size_t>(i)];
      o.name = "update";
      o.what = role::elementwise;
      o.updates = true;
      o.argument_count = arguments(i);
      o.result_count = 1 + rule(i).moments;
      o.results = updated_results[static_cast<std::size_t>(i)].all;
      o.flops = o.results[0].count * rule(i).operations;
      o.hash = cairn::detail::hash_of(o.name);
      o.lanes = rule(i).lanes;
    }
    return out;
  }();
  static constexpr auto moments = [] {
    std::array<operation, static_cast<std::size_t>(g.leaf_count) + 1> out{};
    for (int i = 0; i < g.leaf_count; ++i) {
      out[static_cast<std::size_t>(i)] = g.leaf_op(i);
      out[static_cast<std::size_t>(i)].name = "moment";
      out[static_cast<std::size_t>(i)].what = role::accumulated;
      out[static_cast<std::size_t>(i)].results = &g.leaf_op(i).results[0].as_float();
    }
    return out;
  }();
  // Stochastic rounding of a parameter reads the positions of its numbers, and the words of a key.
  static constexpr auto positions = [] {
    std::array<result_info, static_cast<std::size_t>(g.leaf_count) + 1> out{};
    for (int i = 0; i < g.leaf_count; ++i) {
      const result_info& parameter = g.leaf_op(i).results[0];
      out[static_cast<std::size_t>(i)] =
          describe_result({parameter.extents, index_below(0)}, sizeof(std::int32_t), *parameter.same_shape);
    }
    return out;
  }();
  static_assert(
      !rounds ||
          [] {
            for (int i = 0; i < g.leaf_count; ++i) {
              if (Model::rules.of[i] != none && g.leaf_op(i).results[0].count > std::int64_t{1} << 32) return false;
            }
            return true;
          }(),
      "stochastic rounding draws for at most 2^32 elements of a parameter");
  static constexpr auto position_operations = [] {
    std::array<operation, static_cast<std::size_t>(g.leaf_count) + 1> out{};
    for (int i = 0; i < g.leaf_count; ++i) {
      operation& o = out[static_cast<std::size_t>(i)];
      o.name = "positions";
      o.what = role::generated;
      o.results = &positions[static_cast<std::size_t>(i)];
      o.generate = &row_major_positions;
    }
    return out;
  }();
  static constexpr result_info key_word_result =
      describe_result({{}, {dtype::i32}}, sizeof(std::int32_t), the_shape<shape{}>);
  static constexpr operation key_word = [] {
    operation o;
    o.name = "word of a key";
    o.what = role::number;
    o.results = &key_word_result;
    return o;
  }();
  static constexpr operation rule_number = [] {
    operation o;
    o.name = "number of a rule";
    o.what = role::number;
    o.results = &leaf_result<typename Model::numbers, lang::tensor<element_type{}>>;
    return o;
  }();
};

}  // namespace cairn::graphs
