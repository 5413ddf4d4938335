// rejects: cairn \[unknown-name\]: the model has nothing of this name
// rejects: fact::input<cairn::fixed_string<6>\{"image"\}>
// rejects: fact::nearest<cairn::fixed_string<7>\{"images"\}>
#include "cairn/misuse/table.hpp"
#include "cairn/check/model.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;

constexpr auto loss = mean(input<"mask", 4, 2> * (input<"images", 4, 8> | nn::linear<"fc", 2>));

#ifdef CAIRN_REJECT
using also = wrt<"mask", "image">;
#else
using also = wrt<"mask", "images">;
#endif
static_assert(detail::checked<loss, also>());
