// rejects: cairn \[zero-grad-parameter\]: no gradient of the loss reaches this parameter.*name it in freeze<\.\.\.> or remove it
// rejects: fact::parameter<cairn::fixed_string<2>\{"w"\}>
#include "cairn/misuse/table.hpp"
#include "cairn/check/model.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr auto gate = detach(param<"w", 4>);
#else
constexpr auto gate = frozen<"w", 4>;
#endif

constexpr auto loss = sum(param<"v", 4> * gate);
static_assert(detail::checked<loss>());
