// rejects: cairn \[shape-mismatch\]: extents must be equal but along the joined axis, which all must have
// rejects: fact::in<cairn::fixed_string<14>\{"block\.0\.dense"\}>
// rejects: operation<cairn::fixed_string<30>\{"concatenate\(argument 0, more\)"\}, float ?\[8\]\[16\], float ?\[4\]\[16\]>
// rejects: axes<-1>
#include "cairn/misuse/table.hpp"
#include "cairn/lang/checkpoint.hpp"
#include "cairn/op/concatenate.hpp"
#include "cairn/op/loss.hpp"
#include "cairn/nn/activation.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr int rows = 4;
#else
constexpr int rows = 8;
#endif

constexpr auto dense = layer([](auto h) { return concatenate<-1>(h, param<"more", rows, 16>); });
constexpr auto unit = ckpt<"dense">(dense | nn::gelu | nn::linear<"down", 16>);
constexpr auto model = repeat<12, "block">([](auto) { return unit; }) | nn::linear<"head", 4>;
constexpr auto loss = cross_entropy(input<"x", 8, 16> | model, labels<"y", 4, 8>);
static_assert(an_expression<decltype(loss)>);
