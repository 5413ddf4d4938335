// Optimizers: one pass over a program's flat blocks of parameters and gradients.
#pragma once

#include "cairn/kernel/simd.hpp"
#include "cairn/kernel/threads.hpp"

#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

namespace cairn {

namespace detail {

/// Calls body(i) for each whole register of n numbers, and body(i, count) for the rest; threads share them.
template <class Real, class Body>
void for_each_register(std::size_t n, int threads, Body body) {
  constexpr std::size_t width = kernel::lanes<Real>::width;
  constexpr std::int64_t moved = 6;  // arrays that are read or written, of which each number costs as 40 operations
  const auto count = static_cast<std::int64_t>(n);
  const int parts = std::min(parts_of(40 * moved * count, threads), kernel::threads_at_hand(threads));
  kernel::in_parts(parts, [=](int part) {
    const range own = share(count, width, part, parts);
    std::size_t i = static_cast<std::size_t>(own.begin);
    const std::size_t end = static_cast<std::size_t>(own.end);
    for (; i + width <= end; i += width) body(i);
    if (i < end) body(i, static_cast<int>(end - i));
  });
}

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
      : parameters_(program.parameters()),
        gradients_(program.gradients()),
        velocity_(options.momentum == 0 ? 0 : parameters_.size()),
        options_(options),
        threads_(Program::threads) {}

  double lr() const { return options_.lr; }
  void lr(double rate) { options_.lr = rate; }

  /// Changes the parameters by one step along the gradients; allocates nothing.
  void update() noexcept {
    const auto rate = fill(-options_.lr), momentum = fill(options_.momentum);
    const auto decay = fill(options_.weight_decay);
    detail::for_each_register<Real>(parameters_.size(), threads_, [&](std::size_t i, auto... count) {
      const auto p = lanes::load(&parameters_[i], count...);
      auto step = fused(decay, p, lanes::load(&gradients_[i], count...));
      if (!velocity_.empty()) {
        const auto v = fused(momentum, lanes::load(&velocity_[i], count...), step);
        v.store(&velocity_[i], count...);
        step = options_.nesterov ? fused(momentum, v, step) : v;
      }
      fused(rate, step, p).store(&parameters_[i], count...);
    });
  }

 private:
  using lanes = kernel::lanes<Real>;
  static lanes fill(double x) { return lanes::fill(static_cast<Real>(x)); }

  std::span<Real> parameters_;
  std::span<const Real> gradients_;
  std::vector<Real> velocity_;
  sgd_options options_;
  int threads_;
};

template <class Program>
sgd(Program&, sgd_options = {}) -> sgd<typename Program::real_type>;

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
      : parameters_(program.parameters()),
        gradients_(program.gradients()),
        mean_(parameters_.size()),
        square_(parameters_.size()),
        options_(options),
        threads_(Program::threads) {}

  double lr() const { return options_.lr; }
  void lr(double rate) { options_.lr = rate; }

  /// Changes the parameters by one step along the gradients; allocates nothing.
  void update() noexcept {
    ++steps_;
    const auto& [lr, beta1, beta2, epsilon, decay] = options_;
    const double unbias1 = 1 / (1 - std::pow(beta1, steps_)), unbias2 = 1 / (1 - std::pow(beta2, steps_));
    const auto rate = fill(-lr * unbias1), keep = fill(1 - lr * decay);
    const auto old1 = fill(beta1), new1 = fill(1 - beta1);
    const auto old2 = fill(beta2), new2 = fill(1 - beta2);
    const auto scale = fill(std::sqrt(unbias2)), least = fill(epsilon);
    detail::for_each_register<Real>(parameters_.size(), threads_, [&](std::size_t i, auto... count) {
      const auto g = lanes::load(&gradients_[i], count...);
      const auto m = fused(old1, lanes::load(&mean_[i], count...), new1 * g);
      const auto s = fused(old2, lanes::load(&square_[i], count...), new2 * g * g);
      const auto p = lanes::load(&parameters_[i], count...);
      m.store(&mean_[i], count...);
      s.store(&square_[i], count...);
      fused(rate, m / fused(sqrt(s), scale, least), keep * p).store(&parameters_[i], count...);
    });
  }

 private:
  using lanes = kernel::lanes<Real>;
  static lanes fill(double x) { return lanes::fill(static_cast<Real>(x)); }

  std::span<Real> parameters_;
  std::span<const Real> gradients_;
  std::vector<Real> mean_, square_;
  adamw_options options_;
  int threads_;
  double steps_ = 0;
};

template <class Program>
adamw(Program&, adamw_options = {}) -> adamw<typename Program::real_type>;

}  // namespace cairn
