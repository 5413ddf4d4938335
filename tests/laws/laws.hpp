// The laws, which hold for every model.
// - A program with segments and the same program with `plain` agree bit for bit.
// - A training step touches exactly the bytes that are planned, and allocates no memory.
// - Two values that live at the same time share no byte.
// - The counts of recomputed operations and of recomputed work add up.
// - A program that divides its batch and a program that sums gradients over training steps agree bit for bit.
// - The optimizer in the training step and the optimizer next to it compute the same bits.
// - Gradients agree with finite differences.
#pragma once

#include <algorithm>
#include <bit>
#include <boost/test/unit_test.hpp>
#include <cairn/cairn.hpp>
#include <cairn/report/tables.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

#include "../overlap.hpp"
#include "counted.hpp"

using namespace cairn;

/// The inputs of a program: real numbers and indices, of any shape.
template <class Plan>
struct batch {
  using real = typename Plan::real;
  static constexpr const auto& g = Plan::graph;
  std::vector<real> numbers[g.leaf_count + 1];            ///< indexed by leaf
  std::vector<std::int32_t> positions[g.leaf_count + 1];  ///< indexed by leaf

  explicit batch(std::uint64_t number) {
    for (int i = 0; i < g.leaf_count; ++i) {
      const graphs::result_info& read = g.leaf_op(i).results[0];
      if (g.leaf_op(i).what != graphs::role::input) continue;
      random_sequence draw(seed{7 + static_cast<std::uint64_t>(i)}, number);
      const auto count = static_cast<std::size_t>(read.count);
      if (kind_of(read.element.type) == kind::real) numbers[i].resize(count);
      else positions[i].resize(count);
      for (real& value : numbers[i]) value = 4 * uniform(draw()) - 2;
      for (std::int32_t& p : positions[i])
        p = static_cast<std::int32_t>(draw.below(static_cast<std::uint32_t>(read.element.bound)));
    }
  }
  /// Calls use(bind<...>(array)...) with all inputs.
  auto bound_to(auto use) const {
    static constexpr auto inputs = [] {
      std::array<int, static_cast<std::size_t>(g.leaf_count) + 1> all{};
      for (int i = 0; i < g.leaf_count; ++i) {
        if (g.leaf_op(i).what == graphs::role::input) all[static_cast<std::size_t>(all.back()++)] = i;
      }
      return all;
    }();
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return use(bind<detail::leaf_name<Plan, inputs[I]>>(array_of<inputs[I]>())...);
    }(std::make_index_sequence<static_cast<std::size_t>(inputs.back())>{});
  }

 private:
  template <int Leaf>
  const auto& array_of() const {
    if constexpr (kind_of(g.leaf_op(Leaf).results[0].element.type) == kind::real) return numbers[Leaf];
    else return positions[Leaf];
  }
};

/// Returns the loss, which is the first result of a program.
auto first(auto result) {
  if constexpr (requires { std::get<0>(result); }) return std::get<0>(result);
  else return result;
}

/// Returns true if a number is finite, or if all numbers of a view are finite.
bool is_finite(const auto& result) {
  if constexpr (requires { result.begin(); })
    return std::ranges::all_of(result, [](auto x) { return std::isfinite(x); });
  else return std::isfinite(result);
}

template <class Real>
bool same_bits(std::span<const Real> a, std::span<const Real> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}
/// Compares the results of two programs bit for bit. A result is a number, a view, or a tuple of numbers and views.
template <class Result>
bool same_results(const Result& a, const Result& b) {
  if constexpr (std::is_arithmetic_v<Result>) {
    return std::memcmp(&a, &b, sizeof a) == 0;
  } else if constexpr (requires { a.data(); }) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof *a.data()) == 0;
  } else {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return (same_results(std::get<I>(a), std::get<I>(b)) && ...);
    }(std::make_index_sequence<std::tuple_size_v<Result>>{});
  }
}

/// All numbers that a program keeps from one training step to the next: first the trained parameters, then states, then
/// moments.
std::span<const float> kept_by(auto& step) {
  const memory_plan m = step.memory();
  return {reinterpret_cast<const float*>(step.parameters().data()),
          static_cast<std::size_t>(m.parameter_bytes + m.moment_bytes) / sizeof(float)};
}

/// All gradients of a training step. The gradients of inputs stand after the gradients of parameters.
std::span<const float> gradients_of(auto& step) {
  return {step.gradients().data(), static_cast<std::size_t>(step.memory().gradient_bytes) / sizeof(float)};
}

/// The bytes that segments may store and that `plain` may recompute: the boundaries and results of segments, and the
/// values that policies save.
template <class Plan>
constexpr std::int64_t kept_for_segments = [] {
  constexpr const auto& s = Plan::schedule;
  std::int64_t bytes = 0;
  for (const segment_plan& segment : detail::segments_in<Plan>) bytes += segment.boundary_bytes;
  for (int v = 0; v < s.turn; ++v) {
    const int origin = s.origin[v];
    if (Plan::segments.stored_by_segment[origin] ||
        Plan::segments.shared_depth[origin] < Plan::segments.depth_of(origin))
      bytes += s.result(v).bytes;
  }
  return bytes;
}();

/// Counts the values in the interior of segments that are stored until the turn although nothing allows it.
template <class Plan>
constexpr int kept_inside = [] {
  constexpr const auto& s = Plan::schedule;
  bool result[s.node_count + 1] = {};
  for (int i = 0; i < s.output_count; ++i) result[s.root(s.outputs[i])] = true;
  int count = 0;
  for (int v = 0; v < s.turn; ++v) {
    const graphs::node& n = s.nodes[v];
    const int origin = s.origin[v];
    const bool inside = Plan::segments.shared_depth[origin] >= Plan::segments.depth_of(origin) && s.segment[v] != 0;
    count += s.stored[v] && inside && !Plan::segments.stored_by_segment[origin] && !result[v] && !test::is_leaf(n) &&
             !test::is_view(n);
  }
  return count;
}();

/// Calls a constexpr function at run time. Compilers evaluate a plain call of a constexpr function themselves, some of
/// them several times. For functions that take quadratic time, this evaluation would take longer than the rest of the
/// compilation.
template <class Result>
Result at_run_time(Result (*called)()) {
  Result (*volatile hidden)() = called;
  return hidden();
}

/// Returns true if the counts of recomputed operations and of recomputed work add up, inside and outside of segments.
template <class Plan>
constexpr bool adds_up() {
  int operations = 0, in_segments = Plan::schedule.recomputed[0].operations;
  std::int64_t flops = 0;
  for (int v = 0; v < Plan::schedule.node_count; ++v) {
    const graphs::node& n = Plan::schedule.nodes[v];
    // A scan has a sum of its own for the work that it recomputes.
    if (Plan::schedule.recomputes[v] == graphs::none && n.result_index == 0) flops += n.op->recomputed;
    if (Plan::schedule.recomputes[v] == graphs::none || n.result_index > 0 || test::is_view(n)) continue;
    ++operations;
    flops += Plan::schedule.nodes[v].op->flops;
  }
  for (const segment_plan& s : detail::segments_in<Plan>) in_segments += s.recomputed_operations;
  return operations == in_segments && flops == detail::flops_in<Plan>.recomputed;
}

/// Returns true if, in a program that rounds values, every kernel gets numbers of the types that it takes.
template <class Plan>
constexpr bool kernels_get_their_types() {
  constexpr const auto& g = Plan::gradient;
  for (int v = 0; v < g.node_count; ++v) {
    const graphs::operation& op = g.op(v);
    if (op.bf16_handling != graphs::rounding::reads_bf16 && op.bf16_handling != graphs::rounding::reads_float) continue;
    for (int i = 0; i < op.argument_count; ++i) {
      // A constant takes the place of a gradient that a scan does not have.
      if (graphs::is_constant(g.op(g.argument(v, i)).what)) continue;
      const element_type given = g.result(g.argument(v, i)).element;
      const bool wanted = op.reads_bf16(i);
      if (std::is_same_v<typename Plan::real, float> && (given.type == dtype::bf16) != wanted) return false;
    }
  }
  return true;
}

/// Runs a training step. If the program updates its parameters itself, the training step changes them.
template <class Program>
auto stepped(Program& step, const auto&... in) {
  if constexpr (Program::updates_parameters) return step.train({.lr = 0.01}, in...);
  else return step.value_and_grad(in...);
}
/// The optimizer of a program that does not update its parameters itself. For other programs, it does nothing.
template <class Program>
struct beside {
  explicit beside(Program&) {}
  void update() {}
};
template <class Program>
  requires(!Program::updates_parameters)
struct beside<Program> {
  adamw<typename Program::real_type> optimizer;
  explicit beside(Program& step) : optimizer(step, {.lr = 0.01}) {}
  void update() { optimizer.update(); }
};

/// The program that a checkpointed program is compared with. Its segments are plain blocks, and no segments are placed.
template <class Option>
struct plainly {
  using type = Option;
};
template <std::int64_t Bytes>
struct plainly<fit<Bytes>> {
  using type = plain;
};
template <auto Model, class... Options>
using plain_program = program<Model, plain, typename plainly<Options>::type...>;
template <auto Model, class... Options>
using plain_step = test::step_of<Model, plain, typename plainly<Options>::type...>;

/// Compares a program of `Model` with a plain program of `Reference`. Compares three training steps, because small
/// differences would grow from step to step.
template <auto Model, auto Reference, class... Options>
void checkpointed_equals_plain() {
  program<Model, Options...> checkpointed;
  plain_program<Reference, Options...> stored;
  checkpointed.init(seed{1});
  stored.init(seed{1});
  beside first_optimizer{checkpointed};
  beside second_optimizer{stored};
  for (std::uint64_t step = 0; step < 3; ++step) {
    const batch<test::step_of<Model, Options...>> b(step);
    const auto one = b.bound_to([&](const auto&... in) { return stepped(checkpointed, in...); });
    const auto two = b.bound_to([&](const auto&... in) { return stepped(stored, in...); });
    BOOST_TEST(is_finite(first(one)));
    BOOST_TEST(same_results(one, two));
    if constexpr (!program<Model, Options...>::updates_parameters)
      BOOST_TEST(same_bits(gradients_of(checkpointed), gradients_of(stored)));
    first_optimizer.update();
    second_optimizer.update();
  }
  BOOST_TEST(same_bits(kept_by(checkpointed), kept_by(stored)));
}

/// Compares a program that has the optimizer in its training step with a program that has the optimizer next to it.
/// Losses, results, parameters and states have the same bits. Moments are not compared. The rate of the rule is 0.01.
template <auto Model, auto Rule, class... Options>
void same_in_step_and_beside() {
  program<Model, Options...> apart;
  program<Model, update<Rule>, Options...> inside;
  apart.init(seed{1});
  inside.init(seed{1});
  rule_optimizer optimizer{apart, Rule};
  for (std::uint64_t step = 0; step < 3; ++step) {
    const batch<test::step_of<Model, Options...>> b(step);
    const auto one = b.bound_to([&](const auto&... in) { return stepped(apart, in...); });
    const auto two = b.bound_to([&](const auto&... in) { return stepped(inside, in...); });
    BOOST_TEST(same_results(one, two));
    optimizer.update();
    const auto parameters = static_cast<std::size_t>(apart.memory().parameter_bytes) / sizeof(float);
    BOOST_TEST(same_bits(kept_by(apart), kept_by(inside).first(parameters)));
  }
}
template <auto Model, class... Options>
void same_in_step_and_beside() {
  same_in_step_and_beside<Model, adamw_options{.lr = 0.01}, Options...>();
}

/// Returns the bytes of the arena that a training step really touches.
template <auto Model, class... Options>
std::int64_t touched_bytes() {
  program<Model, Options...> step;
  step.init(seed{1});
  const batch<test::step_of<Model, Options...>> b(0);
  return b.bound_to([&](const auto&... in) { return report::touched_bytes(step, in...); });
}

/// Returns the loss of a model, which is its first output.
template <class Loss, class... Others>
constexpr Loss loss_in(lang::output_list<Loss, Others...>) {
  return {};
}
template <auto Model>
inline constexpr auto loss_of = loss_in(decltype(lang::as_outputs(Model)){});

/// Compares a program that divides its batch into two parts with a program that sums the gradients of two training
/// steps. Losses, gradients, parameters and states have the same bits. The divided program touches the bytes that are
/// planned for one part.
template <auto Model, class... Options>
void same_in_parts() {
  constexpr auto loss = loss_of<Model>;
  using plan = test::step_of<loss, microbatch<2>, update<adamw_options{.lr = 0.01}>, Options...>;
  program<outputs(0.5_c * loss, loss), accumulate_gradients, Options...> apart;
  program<loss, microbatch<2>, update<adamw_options{.lr = 0.01}>, Options...> divided;
  apart.init(seed{1});
  divided.init(seed{1});
  beside optimizer{apart};
  const auto trained = [&](const batch<plan>(&parts)[2]) {
    return divided.train(
        {.lr = 0.01}, [&](int part) { return parts[part].bound_to([](const auto&... in) { return inputs(in...); }); });
  };
  for (std::uint64_t step = 0; step < 3; ++step) {
    const batch<plan> parts[]{batch<plan>(2 * step), batch<plan>(2 * step + 1)};
    typename plan::real sum = 0;
    apart.zero_grad();
    for (const batch<plan>& part : parts)
      sum += std::get<1>(part.bound_to([&](const auto&... in) { return apart.value_and_grad(in...); }));
    BOOST_TEST(is_finite(sum));
    BOOST_TEST(same_results(sum / 2, trained(parts)));
    BOOST_TEST(same_bits(gradients_of(apart), gradients_of(divided)));
    optimizer.update();
    const auto parameters = static_cast<std::size_t>(apart.memory().parameter_bytes) / sizeof(float);
    BOOST_TEST(same_bits(kept_by(apart), kept_by(divided).first(parameters)));
  }
  BOOST_TEST((at_run_time(test::judged<plan>) == test::fault::none));
  const batch<plan> part(0);
  const std::int64_t touched = report::touched_bytes(
      divided, [&](int) { return part.bound_to([](const auto&... in) { return inputs(in...); }); });
  const std::int64_t covered = at_run_time(test::covered<plan>);
  if constexpr (detail::loops_in<plan>.evaluations > 0) BOOST_TEST(touched <= covered);
  else BOOST_TEST(touched == covered);
}

/// Checks the laws that hold for every model, including models with scans. A scan may have workspace that it does not
/// use, for the gradient of a state. `Reference` is the model itself, or the same model with the number of groups that
/// `fit` chose for the layers in nn::tiled<up_to<N>>.
template <auto Model, auto Reference, class... Options>
void laws_next_to() {
  using checkpointed = test::step_of<Model, Options...>;
  using stored = plain_step<Reference, Options...>;
  BOOST_TEST((at_run_time(test::judged<checkpointed>) == test::fault::none));
  BOOST_TEST((at_run_time(test::judged<stored>) == test::fault::none));
  BOOST_TEST((at_run_time(adds_up<checkpointed>) && at_run_time(adds_up<stored>)));
  BOOST_TEST(kept_inside<checkpointed> == 0);
  BOOST_TEST((at_run_time(kernels_get_their_types<checkpointed>)));
  constexpr flop_counts work = detail::flops_in<checkpointed>, least = detail::flops_in<stored>;
  BOOST_TEST(work.forward == least.forward);
  BOOST_TEST(work.backward == least.backward);
  BOOST_TEST(test::stored<checkpointed> <= test::stored<stored> + kept_for_segments<checkpointed>);
  checkpointed_equals_plain<Model, Reference, Options...>();
  BOOST_TEST((touched_bytes<Model, Options...>()) <= at_run_time(test::covered<checkpointed>));
}
template <auto Model, class... Options>
void laws_of_loops() {
  laws_next_to<Model, Model, Options...>();
}
/// Checks the laws that hold for random models, and for every model in which scans use all of their workspace. The
/// packing of the arena may leave holes.
template <auto Model, class... Options>
void laws_of_any() {
  laws_of_loops<Model, Options...>();
  using checkpointed = test::step_of<Model, Options...>;
  using stored = plain_step<Model, Options...>;
  BOOST_TEST((touched_bytes<Model, Options...>()) == at_run_time(test::covered<checkpointed>));
  BOOST_TEST((touched_bytes<Model, plain, typename plainly<Options>::type...>()) == at_run_time(test::covered<stored>));
}
/// Checks the laws, and in addition that a training step touches every byte of the arena. With the macro EVERY_LAW, which
/// tests/tools/matrix.py defines, also compares other ways to train the model without options. Each of them compiles the
/// model once more.
template <auto Model, class... Options>
void laws() {
  laws_of_any<Model, Options...>();
  using checkpointed = test::step_of<Model, Options...>;
  using stored = plain_step<Model, Options...>;
  BOOST_TEST(at_run_time(test::covered<checkpointed>) == test::peak<checkpointed>);
  BOOST_TEST(at_run_time(test::covered<stored>) == test::peak<stored>);
#ifdef EVERY_LAW
  if constexpr (sizeof...(Options) == 0) {
    same_in_step_and_beside<Model>();
    // A loss that divides by a count of the whole batch is no mean of the losses of two training steps.
    if constexpr (plans::number_of_counts(test::step_of<loss_of<Model>, microbatch<2>>::graph) == 0)
      same_in_parts<Model>();
  }
#endif
}

/// Compares the gradient along one direction with difference quotients, in double. The starting values are moved away
/// from zeros, because some functions, for example relu, have kinks there. Three step lengths are tried, because a
/// short enough step avoids a kink and a long enough step avoids rounding errors; one of the three must agree.
template <auto Model, class... Options>
void follows_differences() {
  using plan = test::step_of<Model, real<double>, Options...>;
  constexpr const auto& g = plan::graph;
  program<Model, real<double>, Options...> step;
  const batch<plan> drawn_first(0);
  batch<plan> b = drawn_first;
  std::vector<double> direction;
  std::vector<double*> numbers;
  std::vector<const double*> gradients;
  step.for_each_trained([&](std::size_t i) {
    numbers.push_back(&step.parameters()[i]);
    gradients.push_back(&step.gradients()[i]);
  });
  step.for_each_gradient([&](std::string_view name, auto gradient) {
    const int leaf = g.find(graphs::role::input, name);
    for (std::size_t i = 0; leaf != graphs::none && i < gradient.size(); ++i) {
      numbers.push_back(&b.numbers[leaf][i]);
      gradients.push_back(gradient.data() + i);
    }
  });
  random_sequence draw(seed{5}, 0);
  const auto drawn = [&] { return 2 * static_cast<double>(uniform(draw())) - 1; };
  for (std::size_t i = 0; i < numbers.size(); ++i) direction.push_back(drawn());
  const auto loss = [&](double length) {
    step.init(seed{1});
    for (int i = 0; i < g.leaf_count; ++i) std::ranges::copy(drawn_first.numbers[i], b.numbers[i].begin());
    draw = random_sequence(seed{5}, 1);
    for (std::size_t i = 0; i < numbers.size(); ++i) *numbers[i] += 0.1 * drawn() + length * direction[i];
    const auto result = first(b.bound_to([&](const auto&... in) { return step.value_and_grad(in...); }));
    if constexpr (g.cotangent == graphs::none) {
      return result;
    } else {
      constexpr int given = g.find(graphs::role::input, "v");
      return std::inner_product(result.begin(), result.end(), b.numbers[given].begin(), 0.0);
    }
  };
  double slope = 0, squares = 0, least = std::numeric_limits<double>::infinity();
  BOOST_TEST(std::isfinite(loss(0)));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    slope += direction[i] * *gradients[i];
    squares += *gradients[i] * *gradients[i];
  }
  for (const double length : {1e-4, 1e-5, 1e-6}) {
    least = std::min(least, std::abs((loss(length) - loss(-length)) / (2 * length) - slope));
  }
  BOOST_TEST(least < 1e-6 * std::max(std::sqrt(squares), 1e-3), "off by " << least << ", gradient along it " << slope);
}

/// Checks that a training step, an update and a prediction allocate no memory after the first of each.
template <auto Model, class... Options>
void allocates_nothing() {
  program<Model, Options...> step;
  step.init(seed{1});
  beside optimizer{step};
  predictor<Model> value{step};
  const batch<test::step_of<Model, Options...>> b(0);
  const batch<test::forward_of<Model>> read(0);
  const auto once = [&] {
    b.bound_to([&](const auto&... in) { static_cast<void>(stepped(step, in...)); });
    optimizer.update();
    read.bound_to([&](const auto&... in) { static_cast<void>(value(in...)); });
  };
  once();
  BOOST_TEST(counted(once) == 0);
}
