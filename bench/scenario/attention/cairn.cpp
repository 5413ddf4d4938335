#include "contestant.hpp"

using namespace cairn;

namespace {

template <int T>
constexpr auto q = param<"q", 1, T, 8, 64>;
template <int T>
constexpr auto k = param<"k", 1, T, 8, 64>;
template <int T>
constexpr auto v = param<"v", 1, T, 8, 64>;

/// Runs the form with the value Y. Its parameters are the first tokens of the tensors in the files.
template <auto Y, class... Numbers>
void run_in(const contestant::arguments& given) {
  using attending_program = program<mean(square(Y)), threads<2>, Numbers...>;
  attending_program step;
  given.load(step);
  contestant::serve<attending_program>([&] { return step.value_and_grad(); });
}
template <auto Y>
void run(const contestant::arguments& given) {
  if (given.rounded) run_in<Y, mixed<bf16>>(given);
  else run_in<Y>(given);
}
/// A segment that contains only attention does not store less here, because the backward pass begins with its result.
template <int T, auto... Causal>
void run_length(const contestant::arguments& given, std::string form) {
  form += std::to_string(T);
  constexpr auto attend = [](auto... of_heads) { return nn::attention(of_heads..., Causal...); };
  const std::string_view asked = std::string_view(given.form).substr(given.rounded ? 5 : 0);
  if (asked == form) run<attend(q<T>, k<T>, v<T>)>(given);
  if (asked == form + "-ckpt") run<ckpt<"attention", allow_useless>(attend, q<T>, k<T>, v<T>)>(given);
}
template <int T>
void run_length(const contestant::arguments& given) {
  run_length<T>(given, "full-");
  run_length<T, nn::causal>(given, "causal-");
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
