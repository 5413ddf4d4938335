// rejects: cairn \[no-update\]: no update<\.\.\.> is for this parameter; add one without names, or freeze it
// rejects: fact::parameter<cairn::fixed_string<2>\{"b"\}>
#include "cairn/misuse/table.hpp"
#include "cairn/check/model.hpp"
#include "cairn/train/rules.hpp"

using namespace cairn;

constexpr auto loss = sum(square(input<"x", 4> * param<"w", 4> + param<"b", 4>));

#ifdef CAIRN_REJECT
static_assert(detail::checked<loss, update<sgd_options{}, "w">>());
#else
static_assert(detail::checked<loss, update<sgd_options{}, "w">, freeze<"b">>());
#endif
