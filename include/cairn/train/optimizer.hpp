// Optimizers: one pass over a program's flat blocks of parameters and gradients.
#pragma once

#include "cairn/exec/stand_in.hpp"
#include "cairn/expr/mistake.hpp"
#include "cairn/kernel/simd.hpp"
#include "cairn/kernel/threads.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace cairn {

namespace detail {

/// Calls body(i) for each whole register of n numbers, and body(i, count) for the rest; threads share them.
template <class Real, class Body>
void for_each_register(std::size_t n, int threads, Body body) {
  constexpr std::size_t width = kernel::lanes<Real>::width;
  constexpr std::int64_t moved = 6;  // arrays that are read or written, of which each number costs as 40 operations
  const auto count = static_cast<std::int64_t>(n);
  const int parts = std::min(cairn::parts_of(40 * moved * count, threads), kernel::threads_at_hand(threads));
  kernel::in_parts(parts, [=](int part) {
    const range own = share(count, width, part, parts);
    std::size_t i = static_cast<std::size_t>(own.begin);
    const std::size_t end = static_cast<std::size_t>(own.end);
    for (; i + width <= end; i += width) body(i);
    if (i < end) body(i, static_cast<int>(end - i));
  });
}

/// What trains: a program, also one that stands in for a mistake. The compilers' own stand-ins are numbers.
template <class Program, class Real>
concept trained_in = !std::is_class_v<Program> || requires(Program& program) {
  std::span<const Real>(program.gradients());
} || std::same_as<decltype(Program::memory().peak_bytes), unknown>;

/// A program's flat blocks, if they are of Real numbers; nothing after a mistake.
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
std::span<const Real> gradients_of(Program& program) {
  if constexpr (requires { std::span<const Real>(program.gradients()); }) return program.gradients();
  else return {};
}
template <class Real, class Program>
constexpr auto problem_of_training() {
  if constexpr (trained_in<Program, Real>) return sound{};
  else return mistake<no_program_to_train, top_scope, fact::operation<"optimizer", Real>>{};
}

/// What an optimizer reads and writes; one that was moved from, nothing.
template <class Real>
struct trained_blocks {
  std::span<Real> parameters;
  std::span<const Real> gradients;

  template <class Program>
  explicit trained_blocks(Program& program)
      : parameters(parameters_of<Real>(program)), gradients(gradients_of<Real>(program)) {}
  trained_blocks(const trained_blocks&) = default;
  trained_blocks(trained_blocks&& other) noexcept
      : parameters(std::exchange(other.parameters, {})), gradients(other.gradients) {}
  trained_blocks& operator=(trained_blocks other) noexcept {
    parameters = other.parameters;
    gradients = other.gradients;
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
using not_options = mistake<options_in_braces, top_scope, fact::given<Number>>;

}  // namespace detail

struct sgd_options {
  double lr = 1e-3;
  double momentum = 0;
  double weight_decay = 0;  // as an L2 penalty: added to the gradient
  bool nesterov = false;
};

/// Stochastic gradient descent with momentum, as torch.optim.SGD. The program must outlive it.
template <class Real>
class sgd {
 public:
  template <class Program>
  explicit sgd(Program& program, sgd_options options = {})
      : of_(program),
        velocity_(options.momentum == 0 ? 0 : of_.parameters.size()),
        options_(options),
        threads_(detail::threads_of<Program>()) {
    static_assert(report_of<decltype(detail::problem_of_training<Real, Program>())>{}.shown);
  }
  template <class Program, class Number>
    requires std::is_arithmetic_v<Number>
  sgd(Program& program, Number) : sgd(program) {
    static_assert(report_of<detail::not_options<Number>>{}.shown);
  }

  double lr() const { return options_.lr; }
  void lr(double rate) { options_.lr = rate; }

  /// The momentum of each number of the program's parameters(), to keep and to set; empty where the option is 0.
  std::span<Real> velocity() { return velocity_; }

  /// Changes the parameters by one step along the gradients; allocates nothing.
  void update() noexcept {
    const auto rate = fill(-options_.lr), momentum = fill(options_.momentum);
    const auto decay = fill(options_.weight_decay);
    detail::for_each_register<Real>(of_.parameters.size(), threads_, [&](std::size_t i, auto... count) {
      const auto p = lanes::load(&of_.parameters[i], count...);
      auto step = fused(decay, p, lanes::load(&of_.gradients[i], count...));
      if (!velocity_.empty()) {
        const auto v = fused(momentum, lanes::load(&velocity_[i], count...), step);
        v.store(&velocity_[i], count...);
        step = options_.nesterov ? fused(momentum, v, step) : v;
      }
      fused(rate, step, p).store(&of_.parameters[i], count...);
    });
  }

 private:
  using lanes = kernel::lanes<Real>;
  static lanes fill(double x) { return lanes::fill(static_cast<Real>(x)); }

  detail::trained_blocks<Real> of_;
  std::vector<Real> velocity_;
  sgd_options options_;
  int threads_;
};

template <class Program>
sgd(Program&, sgd_options = {}) -> sgd<typename detail::real_of<Program>::type>;
template <class Program, class Number>
  requires std::is_arithmetic_v<Number>
sgd(Program&, Number) -> sgd<typename detail::real_of<Program>::type>;

struct adamw_options {
  double lr = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 1e-2;  // decoupled: shrinks the parameter itself
};

/// Adam with decoupled weight decay, as torch.optim.AdamW. The program must outlive it.
/// Loshchilov, Hutter: Decoupled weight decay regularization (ICLR 2019).
template <class Real>
class adamw {
 public:
  template <class Program>
  explicit adamw(Program& program, adamw_options options = {})
      : of_(program),
        mean_(of_.parameters.size()),
        square_(of_.parameters.size()),
        options_(options),
        threads_(detail::threads_of<Program>()) {
    static_assert(report_of<decltype(detail::problem_of_training<Real, Program>())>{}.shown);
  }
  template <class Program, class Number>
    requires std::is_arithmetic_v<Number>
  adamw(Program& program, Number) : adamw(program) {
    static_assert(report_of<detail::not_options<Number>>{}.shown);
  }

  double lr() const { return options_.lr; }
  void lr(double rate) { options_.lr = rate; }

  /// The means of gradients and of their squares, of each number of the program's parameters(), and how many steps they
  /// are of: to keep and to set.
  std::span<Real> mean() { return mean_; }
  std::span<Real> square() { return square_; }
  std::int64_t steps() const { return steps_; }
  void steps(std::int64_t taken) { steps_ = taken; }

  /// Changes the parameters by one step along the gradients; allocates nothing.
  void update() noexcept {
    ++steps_;
    const auto& [lr, beta1, beta2, epsilon, decay] = options_;
    const auto n = static_cast<double>(steps_);
    const double unbias1 = 1 / (1 - std::pow(beta1, n)), unbias2 = 1 / (1 - std::pow(beta2, n));
    const auto rate = fill(-lr * unbias1), keep = fill(1 - lr * decay);
    const auto old1 = fill(beta1), new1 = fill(1 - beta1);
    const auto old2 = fill(beta2), new2 = fill(1 - beta2);
    const auto scale = fill(std::sqrt(unbias2)), least = fill(epsilon);
    detail::for_each_register<Real>(of_.parameters.size(), threads_, [&](std::size_t i, auto... count) {
      const auto g = lanes::load(&of_.gradients[i], count...);
      const auto m = fused(old1, lanes::load(&mean_[i], count...), new1 * g);
      const auto s = fused(old2, lanes::load(&square_[i], count...), new2 * g * g);
      const auto p = lanes::load(&of_.parameters[i], count...);
      m.store(&mean_[i], count...);
      s.store(&square_[i], count...);
      fused(rate, m / fused(sqrt(s), scale, least), keep * p).store(&of_.parameters[i], count...);
    });
  }

 private:
  using lanes = kernel::lanes<Real>;
  static lanes fill(double x) { return lanes::fill(static_cast<Real>(x)); }

  detail::trained_blocks<Real> of_;
  std::vector<Real> mean_, square_;
  adamw_options options_;
  int threads_;
  std::int64_t steps_ = 0;
};

template <class Program>
adamw(Program&, adamw_options = {}) -> adamw<typename detail::real_of<Program>::type>;
template <class Program, class Number>
  requires std::is_arithmetic_v<Number>
adamw(Program&, Number) -> adamw<typename detail::real_of<Program>::type>;

}  // namespace cairn
