// cairn's side of a scenario: programs that train in the forms that scenario.py asks for.
#pragma once

#include "cairn/cairn.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <type_traits>

#include "serve.hpp"

namespace contestant {

template <class Program>
void serve(auto step, std::int64_t bytes = 0, const char* note = "") {
  serve(step, {Program::memory().peak_bytes, Program::flops().total(), bytes, Program::memory().gradient_bytes, note});
}

/// Trains a program by an update rule, either in the step or by an optimizer outside of the program. `feed(given,
/// steps_of)` calls steps_of(bind<...>...) with a batch.
template <class Program, auto Rule>
void train_program(const arguments& given, auto feed, const char* note = "") {
  Program step;
  given.load(step);
  feed(given, [&](const auto&... bound) {
    if constexpr (Program::updates_parameters) {
      serve<Program>([&] { return step.train(bound...); }, 0, note);
    } else {
      cairn::rule_optimizer optimizer{step, Rule};
      const auto trained = [&] {
        const float loss = step.value_and_grad(bound...);
        optimizer.update();
        return loss;
      };
      serve<Program>(trained, 0, note);
    }
  });
}

/// Trains with segments or, with the option plain, without them.
template <auto Loss, auto Rule, class... Options>
void train_either(const arguments& given, auto feed) {
  using cairn::plain, cairn::program, cairn::threads;
  given.ckpt ? train_program<program<Loss, Options..., threads<2>>, Rule>(given, feed)
             : train_program<program<Loss, Options..., plain, threads<2>>, Rule>(given, feed);
}
/// Trains in one of three ways: with the update in the step, the same with mixed<bf16>, or with an optimizer outside.
template <auto Loss, auto Rule>
void train(int count, char** words, auto feed) {
  using cairn::bf16, cairn::mixed, cairn::update;
  const arguments given(count, words);
  if (given.beside) train_either<Loss, Rule>(given, feed);
  else if (given.rounded) train_either<Loss, Rule, update<Rule>, mixed<bf16>>(given, feed);
  else train_either<Loss, Rule, update<Rule>>(given, feed);
}

/// Trains without segments, or with the segments that fit<...> places. The budget of fit<...> is a percentage of the
/// arena without segments. If no placement fits into this budget, the budget is the least possible arena.
template <auto Loss, auto Rule>
void train_within(int count, char** words, auto feed) {
  using cairn::fit, cairn::plain, cairn::program, cairn::threads, cairn::update;
  const arguments given(count, words);
  using whole = program<Loss, update<Rule>, plain, threads<2>>;
  if (given.form == "plain") train_program<whole, Rule>(given, feed);
  const auto within = [&]<int Percent>(std::integral_constant<int, Percent>) {
    constexpr std::int64_t wanted = whole::memory().peak_bytes * Percent / 100;
    constexpr std::int64_t least = cairn::frontier<Loss, update<Rule>, plain, threads<2>>.front().peak_bytes;
    if (given.form == std::to_string(Percent))
      train_program<program<Loss, update<Rule>, plain, fit<std::max(wanted, least)>, threads<2>>, Rule>(
          given, feed, wanted < least ? "the least possible" : "");
  };
  within(std::integral_constant<int, 75>{});
  within(std::integral_constant<int, 50>{});
  within(std::integral_constant<int, 35>{});
  within(std::integral_constant<int, 25>{});
}

}  // namespace contestant
