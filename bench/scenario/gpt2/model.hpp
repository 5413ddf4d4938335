#pragma once

#include "../../../examples/gpt2.hpp"
#include "contestant.hpp"

using namespace cairn;

namespace {

constexpr int batch = 4, length = 64;
constexpr auto loss = gpt2::loss<gpt2::tokens, batch, length>;

constexpr adamw_options by_adamw{.lr = 1e-4};
constexpr auto feed = [](const contestant::arguments& given, auto steps_of) {
  const auto text = given.tensor<std::int32_t>("text", batch * length);
  const auto next = given.tensor<std::int32_t>("next", batch * length);
  steps_of(bind<"text">(text), bind<"next">(next));
};

}  // namespace
