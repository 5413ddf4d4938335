// rejects: cairn \[unknown-option\]: this is no option of a program; options are real<
// rejects: fact::given<double>
#include "cairn/misuse/table.hpp"
#include "cairn/check/model.hpp"

using namespace cairn;

constexpr auto loss = sum(input<"x", 4> * param<"w", 4>);

#ifdef CAIRN_REJECT
using element = double;
#else
using element = real<double>;
#endif
static_assert(detail::checked<loss, element, plain>());
