// rejects: cairn \[unknown-name\]: wrt<\.\.\.> names inputs, and this is a parameter
// rejects: fact::parameter<cairn::fixed_string<10>\{"fc\.weight"\}>
#include "cairn/misuse/table.hpp"
#include "cairn/check/model.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;

constexpr auto loss = mean(input<"images", 4, 8> | nn::linear<"fc", 2>);

#ifdef CAIRN_REJECT
using also = wrt<"fc.weight">;
#else
using also = wrt<"images">;
#endif
static_assert(detail::checked<loss, also>());
