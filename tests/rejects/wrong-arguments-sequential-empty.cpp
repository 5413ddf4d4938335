// rejects: cairn \[wrong-arguments\]: ckpt_sequential<N> makes N segments of these layers; N is at least 1 and at most
// rejects: fact::segments<1>.*fact::layers<0>
#include "cairn/misuse/table.hpp"
#include "cairn/search/sequential.hpp"
#include "cairn/op/loss.hpp"
#include "cairn/nn/activation.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;
namespace hana = boost::hana;

#ifdef CAIRN_REJECT
constexpr auto chain = ckpt_sequential<1>(hana::make_tuple());
#else
constexpr auto chain = ckpt_sequential<1>(hana::make_tuple(nn::relu));
#endif
constexpr auto loss = cross_entropy(input<"x", 8, 16> | chain | nn::linear<"head", 4>, labels<"y", 4, 8>);
static_assert(an_expression<decltype(loss)>);
