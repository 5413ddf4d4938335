// ADOL-C. The tape is recorded once, because nothing branches. A step replays the tape and reverses it. All of the tape
// lies in memory.
#include <adolc/adolc.h>

#include "burgers.hpp"

int main(int count, char** words) {
  const contestant::arguments given(count, words);
  const auto parameters = burgers::start(given);
  const int n = static_cast<int>(parameters.size());
  const long before = contestant::heap("heap_live");
  // The numbers of entries of the buffers for operations, locations, constants and stored values. Entries that do not
  // fit go to files.
  trace_on(0, 0, 1U << 25, 1U << 26, 1U << 22, 1U << 25, 0);
  std::vector<adouble> taped(parameters.size());
  for (std::size_t i = 0; i < taped.size(); ++i) taped[i] <<= parameters[i];
  double value = 0;
  burgers::loss(taped) >>= value;
  trace_off();
  std::vector<double> gradient(parameters.size());
  const auto step = [&] {
    const double one = 1;
    zos_forward(0, 1, n, 1, parameters.data(), &value);
    fos_reverse(0, 1, n, const_cast<double*>(&one), gradient.data());
    return value + burgers::slope(gradient, parameters);
  };
  contestant::serve(step, {contestant::heap("heap_live") - before});
}
