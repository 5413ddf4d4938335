// rejects: cairn \[no-kernel\]: this elementwise operation has no lanewise
// rejects: operation<cairn::fixed_string<9>\{"log1pexp"\}>
#include "cairn/misuse/table.hpp"
#include "cairn/run/program.hpp"

namespace own {
using namespace cairn;

struct log1pexp_op : elementwise_op {
  static constexpr fixed_string name = "log1pexp";
  static constexpr auto vjp(auto g, auto, auto x) { return gradients(g * sigmoid(x)); }
};
template <class V>
#ifdef CAIRN_REJECT
V on_lanes(log1pexp_op, V x) {
#else
V lanewise(log1pexp_op, V x) {
#endif
  return log(V::fill(1) + exp(x));
}
}  // namespace own

using namespace cairn;

using step = program<sum(make<own::log1pexp_op>(param<"p", 3, 5>))>;
float run(step& s) { return s.value_and_grad(); }
