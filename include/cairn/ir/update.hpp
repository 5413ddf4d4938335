// Update rules in the graph: for each leaf the operation that updates it, built without its shape's types, so that one
// code serves parameters of all shapes.
#pragma once

#include "cairn/expr/update.hpp"
#include "cairn/ir/lower.hpp"

namespace cairn::ir {

/// In the count of a rule's operations.
template <int I>
struct lowering<rule_number<I>> {
  static constexpr void count(counter&) {}
};

/// What is known of a rule.
struct rule_facts {
  int moments = 0, numbers = 0;
  const std::string_view* moment_names = nullptr;
  int first_number = 0;  ///< among the numbers of all rules
  int operations = 0;    ///< by number of a parameter
  const lane_code* lanes = nullptr;
};

namespace detail {
using cairn::detail::clipping, cairn::detail::named_rule, cairn::detail::rule_list;

template <class Op, class Real, std::size_t... R, std::size_t... A>
constexpr const lane_code* lanes_of_rule(std::index_sequence<R...>, std::index_sequence<A...>) {
  constexpr auto real = [](std::size_t) { return dtype::real; };
  return &lanes_of<Op, Real, type_list<real(R)...>, real(A)...>;
}
template <class... E>
constexpr int operations_in(std::tuple<E...>*) {
  counter c;
  (lowering<E>::count(c), ...);
  return c.total.nodes;
}
template <auto Rule, class Real, clipping Clip>
constexpr rule_facts facts_of_rule() {
  using rule = std::remove_const_t<decltype(Rule)>;
  constexpr int moments = cairn::detail::moments_of(Rule), numbers = cairn::detail::numbers_of<rule>;
  using op = update_op<rule, moments, Clip>;
  constexpr int arguments = 2 + numbers + moments + (Clip != clipping::none);
  return {moments,
          numbers,
          rule::moments.data(),
          0,
          operations_in(static_cast<typename op::values*>(nullptr)),
          lanes_of_rule<op, Real>(std::make_index_sequence<moments + 1>{}, std::make_index_sequence<arguments>{})};
}
template <class Real, clipping Clip, class... Names, auto... Rule>
constexpr auto all_facts(rule_list<named_rule<Names, Rule>...>) {
  struct {
    rule_facts of[sizeof...(Rule) + 1];
    int numbers = 0, most_moments = 0;
  } out{{facts_of_rule<Rule, Real, Clip>()...}};
  for (rule_facts& rule : out.of) {
    rule.first_number = out.numbers;
    out.numbers += rule.numbers;
    out.most_moments = std::max(out.most_moments, rule.moments);
  }
  out.numbers += Clip != clipping::none;
  return out;
}
}  // namespace detail

/// The rules of a model; the last of their numbers is the limit of gradients, where these are clipped.
template <class Model>
inline constexpr auto rules_of =
    detail::all_facts<typename Model::real, Model::purpose::clip.how>(typename Model::purpose::updates{});

/// The operations by which a model's leaves are updated, whatever their shape of one code.
template <class Model>
struct update_operations {
  static constexpr const auto& g = Model::graph;
  static constexpr const auto& rules = rules_of<Model>;
  static constexpr bool clips = Model::purpose::clip.how != detail::clipping::none;

  static constexpr const rule_facts& rule(int leaf) { return rules.of[Model::rules.of[leaf]]; }
  static constexpr int arguments(int leaf) { return 2 + rule(leaf).numbers + rule(leaf).moments + clips; }

  struct results {
    result of[rules.most_moments + 1];
  };
  static constexpr auto made = [] {
    std::array<results, static_cast<std::size_t>(g.leaf_count) + 1> out{};
    for (int i = 0; i < g.leaf_count; ++i) {
      for (result& r : out[static_cast<std::size_t>(i)].of) r = *g.leaf_op(i).made;
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
      o.arguments = arguments(i);
      o.results = 1 + rule(i).moments;
      o.made = made[static_cast<std::size_t>(i)].of;
      o.flops = o.made->count * rule(i).operations;
      o.hash = hash_of(o.name);
      o.lanes = rule(i).lanes;
    }
    return out;
  }();
  static constexpr auto moments = [] {
    std::array<operation, static_cast<std::size_t>(g.leaf_count) + 1> out{};
    for (int i = 0; i < g.leaf_count; ++i) {
      out[static_cast<std::size_t>(i)] = g.leaf_op(i);
      out[static_cast<std::size_t>(i)].name = "moment";
      out[static_cast<std::size_t>(i)].what = role::earlier;
    }
    return out;
  }();
  static constexpr operation number = [] {
    operation o;
    o.name = "number of a rule";
    o.what = role::number;
    o.made = &leaf_result<typename Model::numbers, tensor<element_type{}>>;
    return o;
  }();
};

}  // namespace cairn::ir
