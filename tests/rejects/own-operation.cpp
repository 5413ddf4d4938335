// rejects: own \[shape-mismatch\]: one position for each row
// rejects: fact::operation<cairn::fixed_string<14>\{"picked\(x, at\)"\}, float ?\[8\]\[12\], int ?\[7\]>
#include "cairn/lang/leaf.hpp"

namespace own {
using namespace cairn;

struct one_position_per_row {
  template <class Silent, class... Facts>
  struct found : Silent {
    constexpr found() { static_assert(well_formed<Facts...>, "own [shape-mismatch]: one position for each row"); }
  };
};
struct picked_op : op {
  static constexpr fixed_string name = "picked";
  using rule = one_position_per_row;
  static constexpr kind argument_kind(int i) { return i == 1 ? kind::whole : kind::real; }
  static constexpr shape result(const shape& x, const shape& at) { return shape(x[0]) == at ? at : no_shape; }
};
template <an_expression X, an_expression At>
constexpr made<picked_op, X, At> picked(X, At) {
  return {};
}
}  // namespace own

#ifdef CAIRN_REJECT
constexpr int positions = 7;
#else
constexpr int positions = 8;
#endif

constexpr auto taken = own::picked(cairn::input<"x", 8, 12>, cairn::labels<"at", 12, positions>);
static_assert(cairn::an_expression<decltype(taken)>);
