// Optimizers that are separate from the program that they train. An optimizer changes all parameters by an update rule,
// in one pass over the flat arrays of the program's parameters and gradients.
#pragma once

#include "cairn/base/type_name.hpp"
#include "cairn/kernel/simd.hpp"
#include "cairn/kernel/threads.hpp"
#include "cairn/kernel/update.hpp"
#include "cairn/lang/mistake.hpp"
#include "cairn/run/stand_in.hpp"
#include "cairn/train/rules.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace cairn {

namespace detail {

/// Calls body(i) for each whole SIMD register of n numbers, where i is the index of its first number, and body(i,
/// count) for the rest. The threads divide the registers among themselves.
template <class Real, class Body>
void for_each_register(std::size_t n, int threads, Body body) {
  constexpr std::size_t width = kernels::lanes<Real>::width;
  constexpr std::int64_t moved = 6;  // arrays read or written; moving one number counts as 40 operations
  const auto count = static_cast<std::int64_t>(n);
  const int parts = std::min(cairn::parts_of(40 * moved * count, threads), kernels::threads_at_hand(threads));
  kernels::in_parts(parts, [=](int part) {
    const costs::range own = costs::share(count, width, part, parts);
    std::size_t i = static_cast<std::size_t>(own.begin);
    const std::size_t end = static_cast<std::size_t>(own.end);
    for (; i + width <= end; i += width) body(i);
    if (i < end) body(i, static_cast<int>(end - i));
  });
}

/// Holds for a program with gradients of type Real. After a reported mistake it holds as well, so that one mistake does
/// not cause a second error. Two types stand in for a program then: the program that was built from the mistake, and
/// the compiler's own substitute, which is no class.
template <class Program, class Real>
concept has_gradients_of = !std::is_class_v<Program> || requires(Program& program) {
  std::span<const Real>(program.gradients());
} || std::same_as<decltype(Program::memory().peak_bytes), unknown_number>;

/// Returns the flat array of a program's parameters if they are numbers of type Real. Returns an empty span otherwise,
/// as after a mistake.
template <class Real, class Program>
std::span<Real> parameters_of(Program& program) {
  if constexpr (requires { std::span<Real>(program.parameters()); }) return program.parameters();
  else return {};
}
template <class Program>
constexpr int threads_of() {
  if constexpr (requires { Program::threads; }) return Program::threads;
  else return 1;
}
template <class Real, class Program>
/// Returns the flat array of a program's gradients if they are numbers of type Real. Returns an empty span after a
/// mistake, and for a program that updates its own parameters.
std::span<const Real> gradients_of(Program& program) {
  if constexpr (requires { requires Program::updates_parameters; }) return {};
  else if constexpr (requires { std::span<const Real>(program.gradients()); }) return program.gradients();
  else return {};
}
template <class Real, class Program>
constexpr auto problem_of_training() {
  if constexpr (requires { requires Program::updates_parameters; })
    return mistake<misuse::updates_itself, top_scope, fact::operation<"optimizer", Real>>{};
  else if constexpr (requires { requires std::same_as<typename Program::parameter_type, bf16>; })
    return mistake<misuse::rounded_beside, top_scope, fact::given<typename Program::parameter_type>>{};
  else if constexpr (has_gradients_of<Program, Real>) return sound{};
  else return mistake<misuse::no_program_to_train, top_scope, fact::operation<"optimizer", Real>>{};
}

/// The arrays that an optimizer reads and writes. After a move, the source has no parameters.
template <class Real>
struct trained_blocks {
  std::span<Real> parameters;
  std::span<const Real> gradients;
  memory_share memory;

  /// `may_allocate` has the meaning that it has in memory_block::share.
  template <class Program>
  trained_blocks(Program& program, bool may_allocate)
      : parameters(parameters_of<Real>(program)), gradients(gradients_of<Real>(program)) {
    if constexpr (requires { program.memory_.share(may_allocate); }) memory = program.memory_.share(may_allocate);
  }
  trained_blocks(const trained_blocks&) = default;
  trained_blocks(trained_blocks&& other) noexcept
      : parameters(std::exchange(other.parameters, {})), gradients(other.gradients), memory(std::move(other.memory)) {}
  trained_blocks& operator=(trained_blocks other) noexcept {
    parameters = other.parameters;
    gradients = other.gradients;
    memory = std::move(other.memory);
    return *this;
  }
};

template <class Program>
struct real_of {
  using type = float;
};
template <class Program>
  requires requires { typename Program::real_type; }
struct real_of<Program> {
  using type = typename Program::real_type;
};

template <class Number>
using not_options = mistake<misuse::options_in_braces, top_scope, fact::given<Number>>;

}  // namespace detail

/// Changes a program's parameters by its gradients, according to an update rule (op/update.hpp).
///
///   rule_optimizer lions{step, lion{}};
///
/// If the program is moved, the optimizer follows it. After the program was destroyed or assigned over, `update` throws
/// program_error. There is one exception: if the rule has no moments, the optimizer allocates nothing, so it does not
/// notice the end of a program that lies in the caller's memory. The constructor throws std::invalid_argument if a
/// setting of the rule has a value that is not allowed.
template <class Real, class Rule>
class rule_optimizer {
 public:
  template <class Program>
  explicit rule_optimizer(Program& program, Rule rule = {})
      : of_(program, lang::moments_of(rule) > 0), rule_(rule), threads_(detail::threads_of<Program>()) {
    static_assert(lang::report_of<decltype(detail::problem_of_training<Real, Program>())>{}.shown);
    detail::check_settings(detail::type_name<Rule>(), lang::settings_of(rule));
    for (int k = 0; k < lang::moments_of(rule); ++k)
      moments_[static_cast<std::size_t>(k)].resize(of_.parameters.size());
  }
  template <class Program, class Number>
    requires std::is_arithmetic_v<Number>
  rule_optimizer(Program& program, Number) : rule_optimizer(program) {
    static_assert(lang::report_of<detail::not_options<Number>>{}.shown);
  }

  rule_optimizer(const rule_optimizer&) = default;
  rule_optimizer(rule_optimizer&&) noexcept = default;
  rule_optimizer& operator=(rule_optimizer other) noexcept {  // self-assignment is allowed, too
    std::swap(of_, other.of_);
    std::swap(moments_, other.moments_);
    std::swap(rule_, other.rule_);
    std::swap(threads_, other.threads_);
    std::swap(steps_, other.steps_);
    return *this;
  }

  /// Returns the learning rate.
  double lr() const { return rule_.lr; }
  /// Sets the learning rate. Throws std::invalid_argument if the rate is negative or not finite.
  void lr(double rate) {
    detail::check_settings(detail::type_name<Rule>(), std::array{setting::not_negative("lr", rate)});
    rule_.lr = rate;
  }

  /// The moments of the rule and the number of steps that they have seen, to be saved and to be restored. A moment has
  /// one number for each number of the program's parameters(). Moments are in the order of Rule::moments. A moment that
  /// the rule's options do not ask for is empty.
  std::span<Real> moment(std::size_t k) { return moments_[k]; }
  std::int64_t steps() const { return steps_; }
  void steps(std::int64_t taken) {
    detail::check_settings("optimizer", std::array{setting::step_count("steps", taken)});
    steps_ = taken;
  }

  /// Changes the parameters by one step of the rule. Allocates nothing. Throws program_error if the program was
  /// destroyed or assigned over, or if a moment of a program that shares its memory stands in the place of parameters.
  /// Also throws program_error while a callback runs in a training step of the program. Then nothing has changed.
  void update() {
    of_.memory.check();
    of_.memory.check_trains();
    const kernels::default_float_mode mode;
    const auto numbers = rule_.numbers(rule_.lr, ++steps_);
    constexpr std::size_t most = Rule::moments.size();
    [&]<std::size_t... Count>(std::index_sequence<Count...>) {
      (void)((lang::moments_of(rule_) == static_cast<int>(Count) && (update_with<Count>(numbers), true)) || ...);
    }(std::make_index_sequence<most + 1>{});
  }

 private:
  using lanes = kernels::lanes<Real>;

  template <std::size_t Moments, class Numbers>
  void update_with(const Numbers& numbers) noexcept {
    if constexpr (lang::computes_next_values<Rule, static_cast<int>(Moments)>) {
      [&]<std::size_t... N, std::size_t... M>(std::index_sequence<N...>, std::index_sequence<M...>) {
        const std::array<lanes, sizeof...(N)> number{lanes::fill(static_cast<Real>(numbers[N]))...};
        const std::array<Real*, Moments> moment{moments_[M].data()...};
        Real* const parameter = of_.parameters.data();
        const Real* const gradient = of_.gradients.data();
        detail::for_each_register<Real>(of_.parameters.size(), threads_, [=](std::size_t i, auto... count) {
          const auto next = kernels::updated_by<Rule, Moments>(lanes::load(parameter + i, count...),
                                                               lanes::load(gradient + i, count...), number[N]...,
                                                               lanes::load(moment[M] + i, count...)...);
          next[0].store(parameter + i, count...);
          (next[M + 1].store(moment[M] + i, count...), ...);
        });
      }(std::make_index_sequence<std::tuple_size_v<Numbers>>{}, std::make_index_sequence<Moments>{});
    }
  }

  detail::trained_blocks<Real> of_;
  std::vector<Real> moments_[Rule::moments.size() + 1];
  Rule rule_;
  int threads_;
  std::int64_t steps_ = 0;
};

/// Reports a type that is no update rule. The class then stands in for an optimizer, so that the code that uses it
/// compiles without further errors.
template <class Real, class Rule>
  requires(!std::same_as<decltype(lang::problem_of_rule_beside<Rule>()), lang::sound>)
class rule_optimizer<Real, Rule> {
 public:
  explicit rule_optimizer(const auto&, Rule = {}) {
    static_assert(lang::report_of<decltype(lang::problem_of_rule_beside<Rule>())>{}.shown);
  }
  double lr() const { return 0; }
  void lr(double) {}
  std::span<Real> moment(std::size_t) { return {}; }
  std::int64_t steps() const { return 0; }
  void steps(std::int64_t) {}
  void update() noexcept {}
};

template <class Program, class Rule>
  requires(!std::is_arithmetic_v<Rule>)
rule_optimizer(Program&, Rule) -> rule_optimizer<typename detail::real_of<Program>::type, Rule>;

template <class Program, class Number>
  requires std::is_arithmetic_v<Number>
rule_optimizer(Program&, Number) -> rule_optimizer<typename detail::real_of<Program>::type, sgd_options>;

/// Stochastic gradient descent with the semantics of torch.optim.SGD.
template <class Real>
class sgd : public rule_optimizer<Real, sgd_options> {
 public:
  using rule_optimizer<Real, sgd_options>::rule_optimizer;
  /// The momentum buffer; empty if the option `momentum` is 0.
  std::span<Real> velocity() { return this->moment(0); }
};
template <class Program>
sgd(Program&, sgd_options = {}) -> sgd<typename detail::real_of<Program>::type>;
template <class Program, class Number>
  requires std::is_arithmetic_v<Number>
sgd(Program&, Number) -> sgd<typename detail::real_of<Program>::type>;

/// Adam with decoupled weight decay, with the semantics of torch.optim.AdamW.
template <class Real>
class adamw : public rule_optimizer<Real, adamw_options> {
 public:
  using rule_optimizer<Real, adamw_options>::rule_optimizer;
  /// The running mean of the gradients (`mean`) and of their squares (`square`).
  std::span<Real> mean() { return this->moment(0); }
  std::span<Real> square() { return this->moment(1); }
};
template <class Program>
adamw(Program&, adamw_options = {}) -> adamw<typename detail::real_of<Program>::type>;
template <class Program, class Number>
  requires std::is_arithmetic_v<Number>
adamw(Program&, Number) -> adamw<typename detail::real_of<Program>::type>;

}  // namespace cairn
