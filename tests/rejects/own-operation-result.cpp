// rejects: cairn \[wrong-arguments\]: an operation derives from op and has a static result\(x\.\.\.\), of as many shapes
// rejects: operation<cairn::fixed_string<9>\{"reversed"\}, float ?\[5\]>
#include "cairn/misuse/table.hpp"
#include "cairn/lang/apply.hpp"
#include "cairn/lang/leaf.hpp"

namespace own {
using namespace cairn;

struct reversed_op : op {
  static constexpr fixed_string name = "reversed";
#ifdef CAIRN_REJECT
  static constexpr shape results(const shape& x) { return x; }
#else
  static constexpr shape result(const shape& x) { return x; }
#endif
};
}  // namespace own

using namespace cairn;

constexpr auto y = make<own::reversed_op>(param<"w", 5>);
static_assert(an_expression<decltype(y)>);
