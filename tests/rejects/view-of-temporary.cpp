// The call that returns the view reports this mistake: `value_and_grad`, `train`, a predictor, `param`, `grad`,
// `moment`, `cache`, `parameters`, `gradients` or `arena`. `bind` reports it for an array or a list that is a temporary.
//
// A tensor comes out as a view of the memory of its program or predictor. A temporary program or predictor is destroyed
// at the end of its statement, and its memory with it. Give the program or predictor a name. Reading the view within
// the same statement would be right, but the compiler cannot distinguish that, so both are refused. A scalar comes out
// as a number, which a temporary may return.

#include "cairn/embedded.hpp"

using namespace cairn;

// case: view-of-temporary
// says: the result is a view of memory that goes with this temporary
// shows: given<cairn::static_view<float, 
constexpr auto logits = input<"x", 8, 16> | nn::linear<"fc", 4>;
constexpr auto loss = mean(square(logits));

inline float predicted(program<loss>& step, const float (&images)[8][16]) {
  auto seen = predictor<logits>{step}(bind<"x">(images));  // wrong
  predictor<logits> predict{step};                         // right
  auto seen = predict(bind<"x">(images));                  // right
  return seen(0, 0) + predictor<loss>{step}(bind<"x">(images));
}

// case: view-of-temporary-parameter
// shows: cairn \[view-of-temporary\]
using train_step = program<mean(square(input<"x", 8, 16> | nn::linear<"fc", 4>))>;
train_step loaded();

inline float first() {
  return loaded().param<"fc.weight">()(0, 0);  // wrong
  train_step step = loaded();                  // right
  return step.param<"fc.weight">()(0, 0);      // right
}

// case: view-of-temporary-step
// shows: cairn \[view-of-temporary\]
constexpr auto logits = input<"x", 8, 16> | nn::linear<"fc", 4>;
using train_step = program<outputs(mean(square(logits)), logits)>;
train_step loaded();

inline float first(const float (&images)[8][16]) {
  const auto [loss, seen] = loaded().value_and_grad(bind<"x">(images));  // wrong
  train_step step = loaded();                                            // right
  const auto [loss, seen] = step.value_and_grad(bind<"x">(images));      // right
  return loss + seen(0, 0);
}

// case: view-of-temporary-array
// says: the result is a view of memory that goes with this temporary
// shows: fact::input<(cairn::)?fixed_string<2>\{"x"\}>
using array = float[2][3];
constexpr auto y = input<"x", 2, 3> * input<"y", 2, 3>;

inline float of_bound(predictor<mean(y)>& predict, const float (&more)[2][3]) {
  auto x = bind<"x">(array{{1, 2, 3}, {4, 5, 6}});  // wrong
  const array numbers{{1, 2, 3}, {4, 5, 6}};        // right
  auto x = bind<"x">(numbers);                      // right
  return predict(x, bind<"y">(more));
}
