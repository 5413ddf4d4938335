#include "cairn/train/optimizer.hpp"

#include <algorithm>
#include <boost/mpl/list.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <stdexcept>
#include <string_view>
#include <vector>

using cairn::adamw, cairn::rule_optimizer, cairn::sgd;

namespace {

/// A program with parameters of 13, 7 and 5 numbers and padding between them. No width of a register divides the total.
template <class Real>
struct fake_program {
  using real_type = Real;
  static constexpr std::size_t size = 37;
  std::vector<Real> p = std::vector<Real>(size), g = std::vector<Real>(size);

  static bool padding(std::size_t i) { return (i >= 13 && i < 16) || (i >= 23 && i < 32); }
  fake_program() {
    for (std::size_t i = 0; i < size; ++i)
      p[i] = padding(i) ? 0 : static_cast<Real>(std::sin(1.0 + static_cast<double>(i)));
  }
  /// Gradients of all magnitudes, which differ in each training step.
  void differentiate(int step) {
    for (std::size_t i = 0; i < size; ++i) {
      const auto x = static_cast<double>(i);
      g[i] = padding(i) ? 0 : static_cast<Real>(std::cos(x * step) * std::pow(10, x / 8 - 3));
    }
  }
  std::span<Real> parameters() { return p; }
  std::span<Real> gradients() { return g; }
};

/// One number under PyTorch's SGD (torch/optim/sgd.py), in double.
struct torch_sgd {
  double lr, momentum = 0, weight_decay = 0;
  bool nesterov = false;
  double buffer = 0;
  int t = 0;

  double operator()(double param, double grad) {
    grad += weight_decay * param;
    if (momentum != 0) {
      buffer = t++ == 0 ? grad : momentum * buffer + grad;
      grad = nesterov ? grad + momentum * buffer : buffer;
    }
    return param - lr * grad;
  }
};

/// One number under PyTorch's AdamW (torch/optim/adamw.py), in double.
struct torch_adamw {
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 1e-2;
  double exp_avg = 0, exp_avg_sq = 0;
  int t = 0;

  double operator()(double param, double grad) {
    ++t;
    param *= 1 - lr * weight_decay;
    exp_avg = beta1 * exp_avg + (1 - beta1) * grad;
    exp_avg_sq = beta2 * exp_avg_sq + (1 - beta2) * grad * grad;
    const double step_size = lr / (1 - std::pow(beta1, t));
    const double denom = std::sqrt(exp_avg_sq) / std::sqrt(1 - std::pow(beta2, t)) + eps;
    return param - step_size * exp_avg / denom;
  }
};

/// One number under PyTorch's RMSprop (torch/optim/rmsprop.py), in double.
struct torch_rmsprop {
  double lr = 1e-2, alpha = 0.99, eps = 1e-8, momentum = 0, weight_decay = 0;
  bool centered = false;
  double square_avg = 0, grad_avg = 0, buffer = 0;

  double operator()(double param, double grad) {
    grad += weight_decay * param;
    square_avg = alpha * square_avg + (1 - alpha) * grad * grad;
    grad_avg += (1 - alpha) * (grad - grad_avg);
    buffer = momentum * buffer + grad / (std::sqrt(square_avg - (centered ? grad_avg * grad_avg : 0)) + eps);
    return param - lr * buffer;
  }
};

/// One number under the Lion of the authors' code, lion_pytorch.py, in double.
struct lion_pytorch {
  double lr = 1e-4, beta1 = 0.9, beta2 = 0.99, weight_decay = 0;
  double exp_avg = 0;

  double operator()(double param, double grad) {
    param *= 1 - lr * weight_decay;
    const double update = exp_avg * beta1 + grad * (1 - beta1);
    exp_avg = exp_avg * beta2 + grad * (1 - beta2);
    return param - lr * static_cast<double>((update > 0) - (update < 0));
  }
};

/// Runs both optimizers. `rates[t]` is the learning rate of training step t.
template <class Real, class Optimizer, class Oracle>
void compare(fake_program<Real>& program, Optimizer& optimizer, Oracle oracle,
             const std::vector<double>& rates) {
  std::vector<Oracle> oracles(program.size, oracle);
  std::vector<double> expected(program.p.begin(), program.p.end());
  for (int step = 0; const double rate : rates) {
    program.differentiate(++step);
    optimizer.lr(rate);
    optimizer.update();
    for (std::size_t i = 0; i < program.size; ++i) {
      oracles[i].lr = rate;
      expected[i] = oracles[i](expected[i], static_cast<double>(program.g[i]));
      if (program.padding(i)) {
        BOOST_TEST(program.p[i] == Real{0});
      } else {
        const double bound = 8 * static_cast<double>(std::numeric_limits<Real>::epsilon());
        BOOST_TEST(std::abs(program.p[i] - expected[i]) <= bound * step * (1 + std::abs(expected[i])));
      }
    }
  }
}

const std::vector<double> constant(6, 0.1), falling{1e-2, 5e-3, 1e-3, 0};
using reals = boost::mpl::list<float, double>;

}  // namespace

BOOST_AUTO_TEST_SUITE(optimizer_suite)

BOOST_AUTO_TEST_CASE_TEMPLATE(sgd_as_pytorch, Real, reals) {
  fake_program<Real> program;
  sgd optimizer{program, {.lr = 0.1f}};
  compare(program, optimizer, torch_sgd{.lr = 0.1}, constant);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(sgd_with_momentum_as_pytorch, Real, reals) {
  fake_program<Real> program;
  sgd optimizer{program, {.lr = 0.1, .momentum = 0.9, .weight_decay = 0.05}};
  compare(program, optimizer, torch_sgd{.lr = 0.1, .momentum = 0.9, .weight_decay = 0.05}, constant);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(sgd_with_nesterov_momentum_as_pytorch, Real, reals) {
  fake_program<Real> program;
  sgd optimizer{program, {.lr = 1e-2f, .momentum = 0.9, .weight_decay = 0.05, .nesterov = true}};
  compare(program, optimizer, torch_sgd{.lr = 0.1, .momentum = 0.9, .weight_decay = 0.05, .nesterov = true},
          falling);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(adamw_as_pytorch, Real, reals) {
  fake_program<Real> program;
  adamw optimizer{program};
  BOOST_TEST(optimizer.lr() == 1e-3);
  compare(program, optimizer, torch_adamw{}, constant);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(adamw_with_options_as_pytorch, Real, reals) {
  fake_program<Real> program;
  adamw optimizer{program, {.lr = 5e-4f, .beta1 = .8, .beta2 = .99, .epsilon = 1e-3, .weight_decay = 0.1}};
  compare(program, optimizer, torch_adamw{.beta1 = .8, .beta2 = .99, .eps = 1e-3, .weight_decay = 0.1},
          falling);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(rmsprop_as_pytorch, Real, reals) {
  const auto check = [](cairn::rmsprop_options options, torch_rmsprop oracle, std::size_t moments) {
    fake_program<Real> program;
    rule_optimizer optimizer{program, options};
    compare(program, optimizer, oracle, constant);
    for (std::size_t k = 0; k < 3; ++k) BOOST_TEST(optimizer.moment(k).empty() == (k >= moments));
  };
  BOOST_TEST(cairn::rmsprop_options{}.lr == 1e-2);
  check({}, {}, 1);
  check({.alpha = 0.9, .epsilon = 1e-3, .weight_decay = 0.1}, {.alpha = 0.9, .eps = 1e-3, .weight_decay = 0.1}, 1);
  check({.momentum = 0.9}, {.momentum = 0.9}, 2);
  check({.alpha = 0.9, .momentum = 0.5, .centered = true, .weight_decay = 0.1},
        {.alpha = 0.9, .momentum = 0.5, .weight_decay = 0.1, .centered = true}, 3);
  check({.alpha = 0.5, .centered = true}, {.alpha = 0.5, .centered = true}, 3);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(lion_as_by_its_authors, Real, reals) {
  fake_program<Real> program, other;
  rule_optimizer optimizer{program, cairn::lion_options{}};
  BOOST_TEST(optimizer.lr() == 1e-4);
  compare(program, optimizer, lion_pytorch{}, constant);
  rule_optimizer changed{other, cairn::lion_options{.beta1 = 0.5, .beta2 = 0.75, .weight_decay = 0.1}};
  compare(other, changed, lion_pytorch{.beta1 = 0.5, .beta2 = 0.75, .weight_decay = 0.1}, falling);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(moments_can_be_read_and_set, Real, reals) {
  fake_program<Real> first, second;
  adamw adam{first}, other_adam{second};
  sgd descent{first, {.momentum = 0.9}}, other_descent{second, {.momentum = 0.9}}, plain{first};
  const auto run = [](int step, auto& program, auto&... optimizer) {
    program.differentiate(step);
    (optimizer.update(), ...);
  };
  for (int step : {1, 2, 3}) run(step, first, adam, descent);
  BOOST_TEST(adam.steps() == 3);
  BOOST_TEST(plain.velocity().empty());
  second.p = first.p;
  std::ranges::copy(adam.mean(), other_adam.mean().begin());
  std::ranges::copy(adam.square(), other_adam.square().begin());
  other_adam.steps(3);
  std::ranges::copy(descent.velocity(), other_descent.velocity().begin());
  for (int step : {4, 5}) {
    run(step, first, adam, descent);
    run(step, second, other_adam, other_descent);
  }
  BOOST_TEST(first.p == second.p, boost::test_tools::per_element());
}

// The largest and the smallest gradients, in every order and with both signs, at learning rates of all magnitudes.
BOOST_AUTO_TEST_CASE_TEMPLATE(finite_gradients_leave_all_numbers_finite, Real, reals) {
  using limits = std::numeric_limits<Real>;
  const std::vector<Real> extreme{
      limits::max(),      -limits::max(),    std::sqrt(limits::max()) * 10, 1, 0, -limits::denorm_min(),
      limits::min() * 10, -limits::max() / 3};
  const auto check = [&](auto rule) {
    for (const double rate : {0.0, 1e-3, 1e3}) {
      fake_program<Real> program;
      rule_optimizer optimizer{program, rule};
      optimizer.lr(rate);
      for (std::size_t step = 0; step < 40; ++step) {
        for (std::size_t i = 0; i < program.size; ++i)
          program.g[i] = program.padding(i) ? 0 : extreme[(i * i + step * (i % 5 + step / 10)) % extreme.size()];
        optimizer.update();
        const auto finite = [](Real x) { return std::isfinite(x); };
        BOOST_REQUIRE(std::ranges::all_of(program.p, finite));
        for (std::size_t k = 0; k < rule.moments.size(); ++k)
          BOOST_REQUIRE(std::ranges::all_of(optimizer.moment(k), finite));
      }
    }
  };
  check(cairn::sgd_options{});
  check(cairn::sgd_options{.weight_decay = 0.1});
  check(cairn::sgd_options{.momentum = 0.9, .weight_decay = 0.1});
  check(cairn::sgd_options{.momentum = 0.99, .nesterov = true});
  check(cairn::adamw_options{});
  check(cairn::adamw_options{.beta1 = 0, .beta2 = 0, .epsilon = 0});
  check(cairn::adamw_options{.beta1 = 0.999, .beta2 = 0.1, .epsilon = 0, .weight_decay = 1});
  check(cairn::adamw_options{.beta2 = 0, .epsilon = 0, .weight_decay = 1});
  check(cairn::rmsprop_options{});
  check(cairn::rmsprop_options{.alpha = 0, .epsilon = 0, .momentum = 1, .weight_decay = 1});
  check(cairn::rmsprop_options{.alpha = 0.1, .epsilon = 0, .momentum = 0.9, .centered = true});
  check(cairn::rmsprop_options{.alpha = 0.999, .epsilon = 0, .centered = true, .weight_decay = 0.1});
  check(cairn::lion_options{.weight_decay = 0.1});
  check(cairn::lion_options{.beta1 = 0, .beta2 = 0});
  check(cairn::lion_options{.beta1 = 0.999, .beta2 = 0.9, .weight_decay = 1});
  check(cairn::averaged{cairn::adamw_options{}, 0.9});
  check(cairn::averaged{cairn::sgd_options{.momentum = 0.9}, 0.9});
}
// A huge gradient changes the parameter by the learning rate. PyTorch does the same as long as the squares are finite.
// Afterwards the mean of squares decays.
BOOST_AUTO_TEST_CASE_TEMPLATE(huge_gradients_change_parameters_by_the_rate, Real, reals) {
  for (const double huge : {1e18, 1e20, static_cast<double>(std::numeric_limits<Real>::max())}) {
    fake_program<Real> program;
    adamw optimizer{program, {.lr = 0.1, .weight_decay = 0}};
    std::ranges::fill(program.p, Real{1});
    const auto after = [&](double gradient) {
      std::ranges::fill(program.g, static_cast<Real>(gradient));
      optimizer.update();
      return program.p[12];
    };
    const auto near = boost::test_tools::tolerance(static_cast<Real>(1e-6));
    BOOST_TEST(after(huge) == Real(0.9), near);  // PyTorch 2.15's results for 1e20, in float and in double
    BOOST_TEST(after(1) == Real(0.832994223), near);
    BOOST_TEST(after(1) == Real(0.781198502), near);
  }
}
BOOST_AUTO_TEST_CASE_TEMPLATE(infinite_gradients_are_not_treated_as_large_ones, Real, reals) {
  const auto check = [](auto rule) {
    for (const Real bad : {std::numeric_limits<Real>::infinity(), -std::numeric_limits<Real>::infinity(),
                           std::numeric_limits<Real>::quiet_NaN()}) {
      fake_program<Real> program;
      rule_optimizer optimizer{program, rule};
      program.differentiate(1);
      program.g[12] = bad;
      optimizer.update();
      for (std::size_t i = 0; i < program.size; ++i) BOOST_TEST(std::isnan(program.p[i]) == (i == 12));
    }
  };
  check(cairn::sgd_options{});
  check(cairn::sgd_options{.momentum = 0.9, .nesterov = true});
  check(cairn::adamw_options{});
  check(cairn::rmsprop_options{});
  check(cairn::rmsprop_options{.momentum = 0.9});
  check(cairn::rmsprop_options{.centered = true});
  check(cairn::lion_options{});
  check(cairn::averaged{cairn::adamw_options{}, 0.9});
}

BOOST_AUTO_TEST_CASE(meaningless_settings_are_refused) {
  fake_program<float> program;
  const auto refuses = [&](auto rule, std::string_view text) {
    BOOST_CHECK_EXCEPTION((rule_optimizer{program, rule}), std::invalid_argument,
                          [&](const auto& e) { return e.what() == text; });
  };
  refuses(cairn::adamw_options{.beta1 = 1}, "cairn: adamw_options.beta1: expected 0 or more, below 1, got 1");
  refuses(cairn::adamw_options{.beta2 = 1}, "cairn: adamw_options.beta2: expected 0 or more, below 1, got 1");
  refuses(cairn::adamw_options{.beta1 = -0.5}, "cairn: adamw_options.beta1: expected 0 or more, below 1, got -0.5");
  refuses(cairn::adamw_options{.epsilon = -1}, "cairn: adamw_options.epsilon: expected 0 or more, finite in float, got -1");
  refuses(cairn::adamw_options{.lr = -1}, "cairn: adamw_options.lr: expected 0 or more, finite in float, got -1");
  refuses(cairn::adamw_options{.weight_decay = -1},
          "cairn: adamw_options.weight_decay: expected 0 or more, finite in float, got -1");
  refuses(cairn::sgd_options{.momentum = -0.5}, "cairn: sgd_options.momentum: expected 0 to 1, got -0.5");
  refuses(cairn::sgd_options{.momentum = 90}, "cairn: sgd_options.momentum: expected 0 to 1, got 90");
  refuses(cairn::sgd_options{.weight_decay = -1},
          "cairn: sgd_options.weight_decay: expected 0 or more, finite in float, got -1");
  refuses(cairn::sgd_options{.nesterov = true}, "cairn: sgd_options.nesterov: expected false without momentum, got 1");
  refuses(cairn::rmsprop_options{.alpha = 1}, "cairn: rmsprop_options.alpha: expected 0 or more, below 1, got 1");
  refuses(cairn::rmsprop_options{.momentum = 2}, "cairn: rmsprop_options.momentum: expected from 0 to 1, got 2");
  refuses(cairn::rmsprop_options{.epsilon = -1}, "cairn: rmsprop_options.epsilon: expected 0 or more, finite in float, got -1");
  refuses(cairn::lion_options{.beta2 = 1}, "cairn: lion_options.beta2: expected 0 or more, below 1, got 1");
  refuses(cairn::lion_options{.weight_decay = -1},
          "cairn: lion_options.weight_decay: expected 0 or more, finite in float, got -1");
  refuses(cairn::averaged{cairn::sgd_options{}, 1},
          "cairn: averaged<cairn::sgd_options>.decay: expected 0 or more, below 1, got 1");
  refuses(cairn::averaged{cairn::adamw_options{.beta2 = 2}},
          "cairn: averaged<cairn::adamw_options>.beta2: expected 0 or more, below 1, got 2");

  adamw optimizer{program, {.lr = 0.25}};
  for (const double rate : {-0.5, std::nan(""), HUGE_VAL}) BOOST_CHECK_THROW(optimizer.lr(rate), std::invalid_argument);
  BOOST_CHECK_THROW(optimizer.steps(-1), std::invalid_argument);
  BOOST_CHECK_THROW(optimizer.steps(std::numeric_limits<std::int64_t>::max()), std::invalid_argument);
  BOOST_CHECK_THROW(optimizer.lr(1e39), std::invalid_argument);
  BOOST_TEST(optimizer.lr() == 0.25);
  BOOST_TEST(optimizer.steps() == 0);
  optimizer.lr(0);
}

BOOST_AUTO_TEST_SUITE_END()
