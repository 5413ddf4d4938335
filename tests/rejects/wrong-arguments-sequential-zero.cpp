// rejects: cairn \[wrong-arguments\]: ckpt_sequential<N> makes N segments of these layers; N is at least 1 and at most
// rejects: fact::in<cairn::fixed_string<6>\{"block"\}>.*fact::segments<0>.*fact::layers<3>
#include "cairn/misuse/table.hpp"
#include "cairn/search/sequential.hpp"
#include "cairn/op/loss.hpp"
#include "cairn/nn/activation.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;
namespace hana = boost::hana;

constexpr auto layers = hana::make_tuple(nn::linear<"up", 32>, nn::relu, nn::linear<"down", 16>);
#ifdef CAIRN_REJECT
constexpr auto chain = block<"block">(ckpt_sequential<0, by_bytes>(layers));
#else
constexpr auto chain = block<"block">(ckpt_sequential<1, by_bytes>(layers));
#endif
constexpr auto loss = cross_entropy(input<"x", 8, 16> | chain | nn::linear<"head", 4>, labels<"y", 4, 8>);
static_assert(an_expression<decltype(loss)>);
