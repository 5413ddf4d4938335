#include "contestant.hpp"

using namespace cairn;

namespace {

template <int T>
constexpr auto q = param<"q", 1, T, 8, 64>;
template <int T>
constexpr auto k = param<"k", 1, T, 8, 64>;
template <int T>
constexpr auto v = param<"v", 1, T, 8, 64>;

/// The parameters are the first so many tokens of all.
template <auto Y, class... Options>
void run(const contestant::arguments& given) {
  using attending_program = program<mean(square(Y)), threads<2>, Options...>;
  attending_program step;
  given.load(step);
  contestant::serve<attending_program>([&] { return step.value_and_grad(); });
}
template <int T>
void run_length(const contestant::arguments& given) {
  constexpr auto full = nn::attention(q<T>, k<T>, v<T>);
  constexpr auto causal = nn::attention(q<T>, k<T>, v<T>, nn::causal);
  const std::string length = std::to_string(T);
  if (given.form == "full-" + length) run<full>(given);
  if (given.form == "causal-" + length) run<causal>(given);
  if (given.form == "bf16-full-" + length) run<full, mixed<bf16>>(given);
  if (given.form == "bf16-causal-" + length) run<causal, mixed<bf16>>(given);
}

}  // namespace

int main(int count, char** words) {
  const contestant::arguments given(count, words);
  run_length<128>(given);
  run_length<256>(given);
  run_length<512>(given);
  run_length<1024>(given);
  run_length<2048>(given);
  run_length<4096>(given);
}
