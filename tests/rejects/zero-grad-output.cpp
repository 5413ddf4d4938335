// rejects: cairn \[zero-grad-output\]: no gradient of the loss reaches any parameter
// rejects: fact::operation<cairn::fixed_string<7>\{"detach"\}>
#include "cairn/misuse/table.hpp"
#include "cairn/check/model.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;

constexpr auto y = input<"x", 4, 8> | nn::linear<"fc", 2>;

#ifdef CAIRN_REJECT
constexpr auto loss = mean(square(detach(y)));
#else
constexpr auto loss = mean(y * detach(y));
#endif

static_assert(detail::checked<loss>());
