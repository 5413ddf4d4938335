// The program reports this mistake.
//
// One number is its own mean. The layer turns every input into its bias, no gradient reaches the layers before it, and
// the running variance, by which predictions are divided, goes to zero. PyTorch throws in this case, too. Make the
// batch larger, or take `layer_norm` or `group_norm`. Images of several pixels may come one at a time, because a
// feature has a number in each pixel. A predictor takes the running statistics, so a predictor may have one row.

#include "cairn/check/model.hpp"
#include "cairn/nn/activation.hpp"
#include "cairn/nn/batch_norm.hpp"
#include "cairn/nn/convolution.hpp"

using namespace cairn;

// case: one-row-batch-norm
// says: a batch_norm over one number per feature.*make the batch larger
// shows: fact::state<cairn::fixed_string<\d+>\{"block\.bn2\.running_mean"\}>, cairn::fact::given<float ?\[1\]\[1\]\[1\]\[6\]>
// The batch is one image, which becomes one pixel.
constexpr int batch = 1;  // wrong
constexpr int batch = 2;  // right
constexpr auto halved = nn::window{.stride = 2, .padding = 1};
constexpr auto down = nn::conv2d<"c1", 4, 3, halved> | nn::batch_norm<"bn1"> | nn::conv2d<"c2", 6, 3, halved> |
                      nn::batch_norm<"bn2">;
constexpr auto loss = sum(square(input<"images", batch, 4, 4, 3> | block<"block">(down | nn::relu)));
static_assert(detail::checked<loss>());

// case: one-row-batch-norm-synchronized
// says: a batch_norm over one number per feature.*make the batch larger
// shows: fact::state<cairn::fixed_string<\d+>\{"bn\.running_mean"\}>
// With shards, such a norm has a row of each shard.
constexpr nn::batch_norm_options together{.statistics = nn::batch_statistics::synchronized};
constexpr auto loss = sum(square(input<"x", 1, 4> * param<"w", 4> | nn::batch_norm<"bn", together>));
static_assert(detail::checked<loss>());             // wrong
static_assert(detail::checked<loss, shards<2>>());  // right
