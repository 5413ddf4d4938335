// rejects: cairn \[shape-mismatch\]: these labels can name a class for which there is no logit
// rejects: fact::input<cairn::fixed_string<2>\{"y"\}>
// rejects: expected<cairn::fact::classes<10>>|expected<cairn::fact::classes<10> >
#include "cairn/core/misuse.hpp"
#include "cairn/check/model.hpp"
#include "cairn/expr/loss.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr int width = 11;
#else
constexpr int width = 10;
#endif

constexpr auto loss = cross_entropy(param<"w", 4, 10>, labels<"y", width, 4>);
static_assert(detail::checked<loss>());
