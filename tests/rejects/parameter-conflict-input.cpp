// rejects: cairn \[parameter-conflict\]: one name stands for two different leaves
// rejects: fact::input<cairn::fixed_string<\d+>\{"x"\}>.*given<float ?\[8\]\[4\]>.*given<int ?\[8\]>
#include "cairn/misuse/table.hpp"
#include "cairn/check/model.hpp"
#include "cairn/op/loss.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr auto classes = labels<"x", 10, 8>;
#else
constexpr auto classes = labels<"y", 10, 8>;
#endif

constexpr auto loss = cross_entropy(input<"x", 8, 4> | nn::linear<"fc", 10>, classes);
static_assert(detail::checked<loss>());
