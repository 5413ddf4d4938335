// rejects: cairn \[wrong-gradient\]: a vjp computes with its arguments, constants and generated arrays alone
#include "cairn/misuse/table.hpp"
#include "cairn/check/model.hpp"
#include "cairn/op/matmul.hpp"

namespace own {
using namespace cairn;

struct log1pexp_op : elementwise_op {
  static constexpr fixed_string name = "log1pexp";
#ifdef CAIRN_REJECT
  static constexpr auto vjp(auto g, auto, auto x) { return gradients(g * grad(sum(gelu(x)), x)); }
#else
  static constexpr auto vjp(auto g, auto, auto x) { return gradients(g * sigmoid(x)); }
#endif
};
}  // namespace own

using namespace cairn;

constexpr auto loss = sum(make<own::log1pexp_op>(param<"p", 3, 5>));
static_assert(detail::checked<loss>());
