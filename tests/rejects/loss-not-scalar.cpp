// The program reports this mistake.
//
// A program differentiates its first output, which must be one number. Reduce it with `mean` or `sum`. An output of
// another shape needs a gradient of its own shape from you, by the option `cotangent<"name">`.

#include "cairn/check/model.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;

// case: loss-not-scalar
// says: .*must be a scalar; reduce it with mean or sum
// shows: got<float ?\[4\]>
constexpr auto squares = square(param<"w", 4>);
constexpr auto loss = squares;                         // wrong
constexpr auto loss = outputs(sum(squares), squares);  // right
static_assert(detail::checked<loss>());

// case: loss-not-scalar-grad
// says: grad takes a scalar first, then what it is differentiated by
// shows: operation<cairn::fixed_string<5>\{"grad"\}, float ?\[8\]\[4\], float ?\[8\]\[3\]>
constexpr auto x = input<"x", 8, 3>;
constexpr auto y = x | nn::linear<"fc", 4>;
constexpr auto slope = grad(y, x);       // wrong
constexpr auto slope = grad(sum(y), x);  // right
static_assert(an_expression<decltype(slope)>);

// case: loss-not-scalar-gradcheck
// says: the first output of a program is differentiated and must be a scalar
// shows: got<float.*\[4\]>
#include "cairn/gradcheck.hpp"
constexpr auto products = input<"x", 4> * param<"w", 4>;
constexpr auto loss = products;       // wrong
constexpr auto loss = sum(products);  // right

int main() {
  const double x[4] = {1, 2, 3, 4};
  return gradcheck<loss>(seed{1}, bind<"x">(x)).relative > 1e-6;
}
