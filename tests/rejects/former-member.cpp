// The program reports this mistake, in an operation of your own.
//
// Operations said by thirteen members how their kernel reads and makes tensors. Two functions say it now
// ([add an operation](add-an-operation.md)):
//
// | former member | now |
// |---|---|
// | `takes_rows(x...)` | `reads(i, x...).rows_from_loop` |
// | `reads_rows(i)` | `reads(i, x...).row_axes` |
// | `reads_pieces(i, x...)` | `reads(i, x...).in_pieces` |
// | `takes_bf16(i)`, `takes_weights(i)` | `reads(i, x...).numbers` |
// | `exact` | `reads(i, x...).decides_precision` |
// | `tiles(bytes, x...)` | `makes(r, bytes, x...).tiles` |
// | `gives_rows(x...)` | `makes(r, bytes, x...).one_for_each_row` |
// | `joins(x...)`, `overwrites(r)`, `summed` | fields of the same names of `makes(r, bytes, x...)` |
// | `makes_bf16(r, x...)` | `makes(r, bytes, x...).rounds` |
// | `sums(r)` | `makes(r, bytes, x...).is_statistic` |

#include "cairn/run/program.hpp"

using namespace cairn;

// case: own-operation-former-member
// says: an operation no longer has this member; declare reads\(i, x\.\.\.\)
// shows: operation<cairn::fixed_string<9>\{"reversed"\}, float ?\[5\]>
namespace own {
using namespace cairn;
struct reversed_op : op {
  static constexpr fixed_string name = "reversed";
  using rule = misuse::axes_exist;
  static constexpr int overwrites(int) { return -1; }                                   // wrong
  static constexpr making makes(int, int, const shape&) { return {.overwrites = -1}; }  // right
  static constexpr shape result(const shape& x) { return x; }
  static constexpr auto vjp(auto g, auto, auto) { return gradients(make<reversed_op>(g)); }
};
template <class Real, class X>
void compute(reversed_op, signature<Real, X>, void* const* operands) {
  const Real* const in = static_cast<const Real*>(operands[1]);
  std::reverse_copy(in, in + X::shape.count(), static_cast<Real*>(operands[0]));
}
}  // namespace own
using step = program<sum(make<own::reversed_op>(param<"w", 5>))>;
float run(step& s) { return s.value_and_grad(); }
