// The predictor reports this mistake.
//
// Nothing is random in a predictor, and this operation draws numbers. Only an operation of your own can have this
// mistake. The operations of the library say what they are in a predictor. Dropout, for example, is its argument there.
// Return from `stands_for(false)` the number of the argument that the operation is in a predictor.

#include "cairn/check/model.hpp"

using namespace cairn;

// shared: the predictor's checks
// here
constexpr bool trains = false;
static_assert(lang::report_of<decltype(detail::problem_of_program<y, trains>())>{}.shown);

// case: random-in-predictor
// says: nothing is random in a predictor.*stands_for\(false\)
// shows: fact::key<cairn::fixed_string<\d+>\{"n"\}>
namespace own {
struct noise_op : op {
  static constexpr fixed_string name = "noise";
  using rule = misuse::equal_shapes;
  static constexpr kind argument_kind(int i) { return i == 1 ? kind::key : kind::real; }
  static constexpr shape result(const shape& x, const shape&) { return x; }
  static constexpr std::int64_t flops(const shape& x, const shape&) { return x.count(); }
  static constexpr int stands_for(bool) { return -1; }                          // wrong
  static constexpr int stands_for(bool training) { return training ? -1 : 0; }  // right
};
}  // namespace own
constexpr auto y = make<own::noise_op>(param<"p", 4>, lang::random_key_leaf<"n">{});
