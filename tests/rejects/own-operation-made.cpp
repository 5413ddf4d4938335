// rejects: cairn \[wrong-arguments\]: an operation derives from op and has a static result\(x\.\.\.\), of as many shapes
// rejects: operation<cairn::fixed_string<9>\{"reversed"\}, float ?\[5\], float ?\[5\]>
#include "cairn/misuse/table.hpp"
#include "cairn/check/model.hpp"
#include "cairn/op/reduce.hpp"

namespace own {
using namespace cairn;

struct reversed_op : op {
  static constexpr fixed_string name = "reversed";
  static constexpr shape result(const shape& x) { return x; }
#ifdef CAIRN_REJECT
  static constexpr auto vjp(auto g, auto, auto x) { return gradients(make<reversed_op>(g, x)); }
#else
  static constexpr auto vjp(auto g, auto, auto) { return gradients(make<reversed_op>(g)); }
#endif
};
}  // namespace own

using namespace cairn;

constexpr auto loss = sum(make<own::reversed_op>(param<"w", 5>));
static_assert(detail::checked<loss>());
