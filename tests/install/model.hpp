// A model in a header, which two source files include.
#pragma once

#include <cairn/cairn.hpp>

inline constexpr auto points = cairn::input<"points", 8, 3>;
inline constexpr auto classes = cairn::labels<"classes", 4, 8>;

inline constexpr auto wide =
    cairn::nn::linear<"wide", 16> | cairn::layer([](auto x) { return x * sigmoid(x); });
inline constexpr auto blocks = cairn::repeat<2, "block">(
    [](auto) { return cairn::ckpt<"ff">(cairn::nn::residual(wide | cairn::nn::linear<"narrow", 5>)); });
inline constexpr auto model = cairn::nn::linear<"in", 5> | blocks | cairn::nn::linear<"out", 4>;
inline constexpr auto loss = cairn::cross_entropy(points | model, classes);

using train_step = cairn::program<loss>;

/// The losses before and after one step of gradient descent. The parameters are drawn from a fixed seed.
struct losses {
  float before, after;
  bool operator==(const losses&) const = default;
};

inline losses trained(train_step& step) {
  const float x[8][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {1, 1, 1},
                         {2, 0, 1}, {1, 2, 0}, {0, 1, 2}, {2, 2, 1}};
  const std::int32_t y[8] = {0, 1, 2, 3, 0, 1, 2, 3};
  step.init(cairn::seed{7});
  cairn::sgd optimizer{step, {.lr = 0.1}};
  const float before = step.value_and_grad(cairn::bind<"points">(x), cairn::bind<"classes">(y));
  optimizer.update();
  return {before, step.value_and_grad(cairn::bind<"points">(x), cairn::bind<"classes">(y))};
}

/// In second.cpp: trains a program of its own.
losses trained_there();
/// In second.cpp: trains a program that the caller made.
losses trained_there(train_step& step);
/// In second.cpp: the value of its own model.
float bent_there();
