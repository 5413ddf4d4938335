// rejects: cairn \[wrong-arguments\]: ckpt_sequential<N> takes the layers of a chain in one tuple; write
// rejects: operation<cairn::fixed_string<16>\{"ckpt_sequential"\}, cairn::fact::layer, cairn::fact::layer
#include "cairn/misuse/table.hpp"
#include "cairn/search/sequential.hpp"
#include "cairn/op/loss.hpp"
#include "cairn/nn/activation.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;
namespace hana = boost::hana;

constexpr auto first = nn::linear<"up", 32> | nn::relu;
constexpr auto second = nn::linear<"down", 16>;
#ifdef CAIRN_REJECT
constexpr auto chain = ckpt_sequential<2>(first, second);
#else
constexpr auto chain = ckpt_sequential<2>(hana::make_tuple(first, second));
#endif
constexpr auto loss = cross_entropy(input<"x", 8, 16> | chain | nn::linear<"head", 4>, labels<"y", 4, 8>);
static_assert(an_expression<decltype(loss)>);
