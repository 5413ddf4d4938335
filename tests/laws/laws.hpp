// What holds for every model: checkpointed and plain agree bit for bit, a step touches exactly what is planned, and no
// two values that live at once share a byte.
#pragma once

#include <bit>
#include <boost/test/unit_test.hpp>
#include <cairn/report.hpp>
#include <cstring>
#include <vector>

#include "../models.hpp"
#include "../overlap.hpp"

using namespace cairn;

struct batch {
  std::vector<float> x;
  std::vector<std::int32_t> y;

  explicit batch(std::uint64_t number) : x(8 * 12), y(8) {
    random_sequence draw(seed{7}, number);
    for (float& value : x) value = 4 * uniform(draw()) - 2;
    for (std::int32_t& label : y) label = static_cast<std::int32_t>(draw.below(5));
  }
};

/// The loss among a program's results.
auto first(auto result) {
  if constexpr (requires { std::get<0>(result); }) return std::get<0>(result);
  else return result;
}

template <class Real>
bool same_bits(std::span<const Real> a, std::span<const Real> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

/// All that a program keeps from step to step: what is trained, and states behind it.
std::span<const float> kept_by(auto& step) {
  return {step.parameters().data(), static_cast<std::size_t>(step.memory().parameter_bytes) / sizeof(float)};
}

/// What segments may keep that plain makes again: their boundaries and their results.
template <auto Model>
constexpr std::int64_t kept_for_segments = [] {
  using plan = test::step_of<Model>;
  std::int64_t bytes = 0;
  for (const segment_plan& s : detail::segments_of<plan>()) bytes += s.boundary_bytes;
  for (int v = 0; v < plan::schedule.turn; ++v) {
    const ir::node& n = plan::schedule.nodes[v];
    if (n.visible < plan::graph.segments[n.segment].depth) bytes += n.op->bytes;
  }
  return bytes;
}();

/// Three steps of training, so that differences would grow.
template <auto Model>
void checkpointed_equals_plain() {
  program<Model> checkpointed;
  program<Model, plain> stored;
  checkpointed.init(seed{1});
  stored.init(seed{1});
  sgd first_optimizer{checkpointed, {.lr = 0.1, .momentum = 0.9}};
  sgd second_optimizer{stored, {.lr = 0.1, .momentum = 0.9}};
  for (std::uint64_t step = 0; step < 3; ++step) {
    const batch b(step);
    const float one = first(checkpointed.value_and_grad(bind<"x">(b.x), bind<"y">(b.y)));
    const float two = first(stored.value_and_grad(bind<"x">(b.x), bind<"y">(b.y)));
    BOOST_TEST(std::bit_cast<std::uint32_t>(one) == std::bit_cast<std::uint32_t>(two));
    BOOST_TEST(same_bits<float>(checkpointed.gradients(), stored.gradients()));
    first_optimizer.update();
    second_optimizer.update();
  }
  BOOST_TEST(same_bits(kept_by(checkpointed), kept_by(stored)));
  BOOST_TEST(checkpointed.memory().stored_bytes <= stored.memory().stored_bytes + kept_for_segments<Model>);
}

/// What a step really touches of its arena.
template <auto Model, class... Options>
std::int64_t touched_bytes() {
  program<Model, Options...> step;
  step.init(seed{1});
  const batch b(0);
  return report::touched_bytes(step, bind<"x">(b.x), bind<"y">(b.y));
}

template <auto Model>
void laws() {
  static_assert(test::lawful<Model>());
  checkpointed_equals_plain<Model>();
  BOOST_TEST(touched_bytes<Model>() == program<Model>::memory().peak_bytes);
  BOOST_TEST((touched_bytes<Model, plain>()) == (program<Model, plain>::memory().peak_bytes));
}
