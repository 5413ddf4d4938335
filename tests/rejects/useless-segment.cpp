// rejects: cairn \[useless-segment\]: this segment frees no more bytes than the boundaries and results
// rejects: fact::segment<cairn::fixed_string<\d+>\{"block\.0\.act"\}>.*frees<128L?>.*keeps<256L?>
#include "cairn/misuse/table.hpp"
#include "cairn/check/model.hpp"
#include "cairn/nn/activation.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr auto act = ckpt<"act">(layer([](auto v) { return sqrt(exp(v)); }));
#else
constexpr auto act = ckpt<"act", allow_useless>(layer([](auto v) { return sqrt(exp(v)); }));
#endif
constexpr auto blocks = repeat<12, "block">([](auto) { return nn::linear<"fc", 4> | act; });
constexpr auto h = input<"x", 8, 4> | blocks;
static_assert(detail::checked<sum(square(sigmoid(h)))>());
