// rejects: cairn \[view-of-temporary\]: the result is a view of memory that goes with this temporary
// rejects: given<cairn::tensor_view<float, 2(ul)?> ?>
#include "cairn/embedded.hpp"

using namespace cairn;

constexpr auto logits = input<"x", 8, 16> | nn::linear<"fc", 4>;
constexpr auto loss = mean(square(logits));

inline float predicted(program<loss>& step, const float (&images)[8][16]) {
#ifdef CAIRN_REJECT
  auto seen = predictor<logits>{step}(bind<"x">(images));
#else
  predictor<logits> predict{step};
  auto seen = predict(bind<"x">(images));
#endif
  return seen(0, 0) + predictor<loss>{step}(bind<"x">(images));
}
