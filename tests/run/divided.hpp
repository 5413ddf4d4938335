// The common part of the tests of microbatch<N> and shards<L>: batches that can be cut, and a training step of a divided
// batch that is written out with a program of one part.
#pragma once

#include <algorithm>
#include <array>
#include <boost/test/unit_test.hpp>
#include <cairn/cairn.hpp>
#include <cmath>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace divided {

using namespace cairn;

/// The rows of one part, the features of a row, and its classes.
constexpr int rows = 6, features = 5, classes = 4;
constexpr auto x = input<"x", rows, features>;
constexpr auto y = labels<"y", classes, rows>;

/// The arrays of a batch of several parts.
template <class Real>
struct batch {
  std::vector<Real> x;
  std::vector<std::int32_t> y;

  batch(int parts, int number) : x(std::size_t(parts * rows * features)), y(std::size_t(parts * rows)) {
    random_sequence draw(seed{11}, static_cast<std::uint64_t>(number));
    for (Real& value : x) value = Real{3} * static_cast<Real>(uniform(draw())) - Real{1};
    for (std::int32_t& label : y) label = static_cast<std::int32_t>(draw.below(classes));
  }
  /// The arrays of part number `part`, as flat spans.
  std::span<const Real> x_of(int part) const {
    return std::span(x).subspan(std::size_t(part * rows * features), rows * features);
  }
  std::span<const std::int32_t> y_of(int part) const { return std::span(y).subspan(std::size_t(part * rows), rows); }
};

/// The bits of numbers, so that a test can compare NaN and the signs of zeros.
template <class Real>
bool same_bits(std::span<const Real> a, std::span<const Real> b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
}
template <class Real>
bool same_bits(const std::vector<Real>& a, const std::vector<Real>& b) {
  return same_bits(std::span<const Real>(a), std::span<const Real>(b));
}
inline bool same_bits(auto a, decltype(a) b) { return std::memcmp(&a, &b, sizeof a) == 0; }

/// All parameters and states of a program, one behind another.
template <class Program>
std::vector<typename Program::real_type> parameters_of(Program& step) {
  std::vector<typename Program::real_type> all;
  step.for_each_parameter([&](std::string_view, auto view) {
    for (const auto number : view) all.push_back(static_cast<typename Program::real_type>(number));
  });
  return all;
}
/// All gradients of a program, one behind another.
template <class Program>
std::vector<typename Program::real_type> gradients_of(Program& step) {
  return {step.gradients().begin(), step.gradients().end()};
}

/// The numbers of the states and frozen parameters of a program, by name.
template <class Program>
using states = std::map<std::string, std::vector<typename Program::real_type>, std::less<>>;
template <class Program>
states<Program> states_of(Program& step) {
  states<Program> all;
  std::vector<std::string> trained;
  step.for_each_gradient([&](std::string_view name, auto) { trained.emplace_back(name); });
  step.for_each_parameter([&](std::string_view name, auto view) {
    if constexpr (std::same_as<std::remove_cvref_t<decltype(*view.begin())>, typename Program::real_type>) {
      if (std::ranges::find(trained, name) == trained.end()) all.emplace(name, std::vector(view.begin(), view.end()));
    }
  });
  return all;
}
template <class Program>
void set_states(Program& step, const states<Program>& given) {
  step.for_each_parameter([&](std::string_view name, auto view) {
    const auto found = given.find(name);
    if constexpr (std::same_as<std::remove_cvref_t<decltype(*view.begin())>, typename Program::real_type>) {
      if (found != given.end()) std::ranges::copy(found->second, view.begin());
    }
  });
}

/// A training step of a divided batch, without its update, written out. Each part is a step of a program of the part
/// that sums its gradients. `Most` is the number of microbatches that numbers the draws of a shard.
template <auto Loss, int Shards, int Microbatches, int Most, class... Options>
struct written_out {
  static constexpr double share = 1.0 / (Shards * Microbatches);
  using part_program = program<outputs(constant<share>* Loss, Loss), accumulate_gradients, Options...>;
  using real = typename part_program::real_type;

  part_program one;
  std::uint32_t steps = 0;

  /// How the states of shards are joined.
  shard_join join = shard_join::mean;

  struct sums {
    real loss = 0;
    std::vector<real> gradients;
    states<part_program> after;
  };
  /// Runs one training step. `bound_to(part, use)` calls `use` with the arrays of a part. Returns the loss. Afterwards
  /// `one` has the gradients of the batch.
  real value_and_grad(auto bound_to) {
    const states<part_program> before = states_of(one);
    sums all = sum_of(0, Shards, before, bound_to);
    if (Shards > 1 && join == shard_join::mean) {
      for (auto& [name, numbers] : all.after)
        for (real& number : numbers) number /= Shards;
    }
    std::ranges::copy(all.gradients, one.gradients().begin());
    set_states(one, all.after);
    ++steps;
    return all.loss;
  }

 private:
  sums sum_of(int first, int count, const states<part_program>& before, auto& bound_to) {
    if (count == 1) return sum_of_shard(first, before, bound_to);
    sums a = sum_of(first, count / 2, before, bound_to);
    const sums b = sum_of(first + count / 2, count / 2, before, bound_to);
    a.loss += b.loss;
    for (std::size_t i = 0; i < b.gradients.size(); ++i) a.gradients[i] += b.gradients[i];
    for (auto& [name, numbers] : a.after) {
      const std::vector<real>& later = b.after.find(name)->second;
      for (std::size_t i = 0; i < numbers.size(); ++i)
        numbers[i] = join == shard_join::mean      ? numbers[i] + later[i]
                     : join == shard_join::maximum ? std::max(numbers[i], later[i])
                                                   : later[i];
    }
    return a;
  }
  sums sum_of_shard(int shard, const states<part_program>& before, auto& bound_to) {
    set_states(one, before);
    one.zero_grad();
    sums made;
    double loss = 0;
    for (int i = 0; i < Microbatches; ++i) {
      one.random().step = (steps * Shards + static_cast<std::uint32_t>(shard)) * Most + static_cast<std::uint32_t>(i);
      bound_to(shard * Microbatches + i, [&](const auto&... in) { loss += std::get<1>(one.value_and_grad(in...)); });
    }
    made.loss = static_cast<real>(loss / (Shards * Microbatches));
    made.gradients = gradients_of(one);
    made.after = states_of(one);
    return made;
  }
};

}  // namespace divided
