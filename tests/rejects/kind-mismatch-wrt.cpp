// rejects: cairn \[kind-mismatch\]: indices have no gradient
// rejects: fact::input<cairn::fixed_string<8>\{"classes"\}>
// rejects: fact::given<int ?\[4\]>
#include "cairn/misuse/table.hpp"
#include "cairn/check/model.hpp"
#include "cairn/op/loss.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;

constexpr auto loss = cross_entropy(input<"x", 4, 8> | nn::linear<"fc", 3>, labels<"classes", 3, 4>);

#ifdef CAIRN_REJECT
using also = wrt<"classes">;
#else
using also = wrt<"x">;
#endif
static_assert(detail::checked<loss, also>());
