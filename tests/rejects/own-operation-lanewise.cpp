// rejects: cairn \[no-kernel\]: this elementwise operation has no lanewise
// rejects: operation<cairn::fixed_string<9>\{"softplus"\}>
#include "cairn/core/misuse.hpp"
#include "cairn/exec/program.hpp"

namespace own {
using namespace cairn;

struct softplus_op : elementwise_op {
  static constexpr fixed_string name = "softplus";
  static constexpr auto vjp(auto g, auto, auto x) { return gradients(g * sigmoid(x)); }
};
template <class V>
#ifdef CAIRN_REJECT
V on_lanes(softplus_op, V x) {
#else
V lanewise(softplus_op, V x) {
#endif
  return log(V::fill(1) + exp(x));
}
}  // namespace own

using namespace cairn;

using step = program<sum(make<own::softplus_op>(param<"p", 3, 5>))>;
float run(step& s) { return s.value_and_grad(); }
