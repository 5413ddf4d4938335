// rejects: cairn \[shape-mismatch\]: indices may lie outside of what they index
// rejects: operation<cairn::fixed_string<14>\{"cross_entropy"\}, int ?\[32\]>, cairn::fact::bound<256>
#include "cairn/misuse/table.hpp"
#include "cairn/op/loss.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr nn::cross_entropy_options how{.ignore_index = 254};
#else
constexpr nn::cross_entropy_options how{.ignore_index = 255};
#endif

constexpr auto loss = cross_entropy<how>(input<"logits", 32, 10>, labels<"classes", 256, 32>);
static_assert(an_expression<decltype(loss)>);
