// rejects: cairn \[unknown-name\]: nothing in this segment has the tag that its policy names
// rejects: "sequential.1"
// rejects: "gone"
#include "cairn/misuse/table.hpp"
#include "cairn/check/model.hpp"
#include "cairn/op/loss.hpp"
#include "cairn/search/sequential.hpp"
#include "cairn/nn/activation.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr fixed_string second = "gone";
#else
constexpr fixed_string second = "there";
#endif
constexpr auto layers = hana::make_tuple(nn::linear<"a", 16> | nn::softmax | nn::tag<"here"> | nn::softmax,
                                         nn::softmax | nn::tag<"there"> | nn::softmax, nn::linear<"b", 4>);
constexpr auto chain = ckpt_sequential<3, save<"here", second>>(layers);
constexpr auto loss = cross_entropy(input<"x", 8, 4> | chain, labels<"y", 4, 8>);
static_assert(detail::checked<loss>());
