// rejects: cairn \[loss-not-scalar\]: the first output of a program is differentiated and must be a scalar
// rejects: got<float.*\[4\]>
#include "cairn/misuse/table.hpp"
#include "cairn/op/reduce.hpp"
#include "cairn/gradcheck.hpp"

using namespace cairn;

constexpr auto products = input<"x", 4> * param<"w", 4>;
#ifdef CAIRN_REJECT
constexpr auto loss = products;
#else
constexpr auto loss = sum(products);
#endif

int main() {
  const double x[4] = {1, 2, 3, 4};
  return gradcheck<loss>(seed{1}, bind<"x">(x)).relative > 1e-6;
}
