// The predictor reports this mistake.
//
// Nothing is random in a predictor, and this operation draws numbers. Dropout is its argument in a predictor. Arrays such
// as `random_normal` have no such argument. Write `in_training(a, b)` with a `b` that draws nothing. In an operation of
// your own, return from `stands_for(false)` the number of the argument that the operation is in a predictor.

#include "cairn/check/model.hpp"
#include "cairn/lang/state.hpp"
#include "cairn/op/elementwise.hpp"
#include "cairn/op/random_numbers.hpp"

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

// case: random-in-predictor-numbers
// says: nothing is random in a predictor.*write in_training\(a, b\)
// shows: fact::key<cairn::fixed_string<\d+>\{"eps"\}>
constexpr auto mean = param<"p", 4>;
constexpr auto drawn = mean + random_normal<"eps", 4>;
constexpr auto y = exp(drawn);                     // wrong
constexpr auto y = exp(in_training(drawn, mean));  // right
