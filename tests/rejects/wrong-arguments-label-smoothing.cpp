// rejects: cairn \[wrong-arguments\]: label_smoothing is a share that all classes have alike, from 0 to 1
// rejects: operation<cairn::fixed_string<14>\{"cross_entropy"\}, float ?\[8\]\[4\], int ?\[8\]>
// rejects: label_smoothing<1\.5
#include "cairn/misuse/table.hpp"
#include "cairn/op/loss.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr nn::cross_entropy_options how{.label_smoothing = 1.5};
#else
constexpr nn::cross_entropy_options how{.label_smoothing = 1};
#endif

constexpr auto loss = cross_entropy<how>(input<"x", 8, 4>, labels<"y", 4, 8>);
static_assert(an_expression<decltype(loss)>);
