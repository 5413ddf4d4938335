#include "contestant.hpp"

using namespace cairn;

namespace {

template <class Policy>
constexpr auto loss = mean(square(param<"x", 32, 64, 256> | nn::lstm<"lstm", 256, nn::recurrent_options{}, Policy>));

template <class Policy>
void run(const contestant::arguments& given) {
  using trained = program<loss<Policy>, threads<2>>;
  trained step;
  given.load(step);
  contestant::serve<trained>([&] { return step.value_and_grad(); });
}

}  // namespace

int main(int count, char** arguments) {
  const contestant::arguments given(count, arguments);
  given.ckpt ? run<segment_every<16>>(given) : run<store_all>(given);
}
