// rejects: cairn \[kind-mismatch\]: the array has other elements than the input that it is bound to; .* double in gradcheck and with real<double>
// rejects: fact::input<cairn::fixed_string<2>\{"x"\}>, cairn::fact::expected<double>, cairn::fact::got<float>
#include "cairn/misuse/table.hpp"
#include "cairn/gradcheck.hpp"
#include "cairn/op/loss.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
using number = float;
#else
using number = double;
#endif

constexpr auto loss = sum(input<"x", 4> * param<"w", 4>);

int main() {
  const number x[4] = {1, 2, 3, 4};
  return gradcheck<loss, wrt<"x">>(seed{1}, bind<"x">(x)).relative > 1e-6;
}
