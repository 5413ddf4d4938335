// rejects: cairn \[no-kernel\]: no compute\(operation, signature<Real, Arguments\.\.\.>
// rejects: operation<cairn::fixed_string<9>\{"reversed"\}, float ?\[5\]>
#include "cairn/misuse/table.hpp"
#include "cairn/run/program.hpp"

namespace own {
using namespace cairn;

struct reversed_op : op {
  static constexpr fixed_string name = "reversed";
  using rule = rule::at_least_two_axes;
  static constexpr shape result(const shape& x) { return x; }
  static constexpr auto vjp(auto g, auto, auto) { return gradients(make<reversed_op>(g)); }
};
#ifndef CAIRN_REJECT
template <class Real, class X>
void compute(reversed_op, signature<Real, X>, void* const* operands) {
  const Real* const in = static_cast<const Real*>(operands[1]);
  std::reverse_copy(in, in + X::shape.count(), static_cast<Real*>(operands[0]));
}
#endif
}  // namespace own

using namespace cairn;

using step = program<sum(make<own::reversed_op>(param<"w", 5>))>;
float run(step& s) { return s.value_and_grad(); }
