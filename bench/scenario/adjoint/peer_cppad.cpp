// CppAD. The tape is recorded once, because nothing branches. A step replays the tape and reverses it.
#include <cppad/cppad.hpp>

#include "burgers.hpp"

int main(int count, char** words) {
  const contestant::arguments given(count, words);
  const auto parameters = burgers::start(given);
  const long before = contestant::heap("heap_live");
  std::vector<CppAD::AD<double>> taped(parameters.begin(), parameters.end());
  CppAD::Independent(taped);
  const std::vector<CppAD::AD<double>> result{burgers::loss(taped)};
  CppAD::ADFun<double> tape(taped, result);
  const std::vector<double> one{1};
  const auto step = [&] {
    const double value = tape.Forward(0, parameters)[0];
    return value + burgers::slope(tape.Reverse(1, one), parameters);
  };
  contestant::serve(step, {contestant::heap("heap_live") - before});
}
