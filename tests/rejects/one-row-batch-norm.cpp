// PROSE

#include "cairn/check/model.hpp"
#include "cairn/nn/activation.hpp"
#include "cairn/nn/batch_norm.hpp"
#include "cairn/nn/convolution.hpp"

using namespace cairn;

// case: one-row-batch-norm
// says: a batch_norm over one number per feature.*make the batch larger
// shows: fact::state<cairn::fixed_string<\d+>\{"block\.bn2\.running_mean"\}>, cairn::fact::given<float ?\[1\]\[1\]\[1\]\[6\]>
// A batch of one image, down to one pixel.
constexpr int batch = 1;  // wrong
constexpr int batch = 2;  // right
constexpr auto halved = nn::window{.stride = 2, .padding = 1};
constexpr auto down = nn::conv2d<"c1", 4, 3, halved> | nn::batch_norm<"bn1"> | nn::conv2d<"c2", 6, 3, halved> |
                      nn::batch_norm<"bn2">;
constexpr auto loss = sum(square(input<"images", batch, 4, 4, 3> | block<"block">(down | nn::relu)));
static_assert(detail::checked<loss>());
