// rejects: cairn \[shape-mismatch\]: the operation does not take these shapes; it has no `rule` that says which
// rejects: operation<cairn::fixed_string<12>\{"reversed\(w\)"\}, float ?\[5\]>
#include "cairn/misuse/table.hpp"
#include "cairn/lang/apply.hpp"
#include "cairn/lang/leaf.hpp"

namespace own {
using namespace cairn;

struct reversed_op : op {
  static constexpr fixed_string name = "reversed";
  static constexpr shape result(const shape& x) { return x.rank == 2 ? x : no_shape; }
};
}  // namespace own

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr auto y = make<own::reversed_op>(param<"w", 5>);
#else
constexpr auto y = make<own::reversed_op>(param<"w", 5, 1>);
#endif
static_assert(an_expression<decltype(y)>);
