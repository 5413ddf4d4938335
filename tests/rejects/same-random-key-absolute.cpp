// rejects: cairn \[same-random-key\]: two random operations have one name
// rejects: fact::key<cairn::fixed_string<2>\{"d"\}>
// rejects: given<float ?\[8\]\[3\]>
#include "cairn/misuse/table.hpp"
#include "cairn/check/model.hpp"
#include "cairn/nn/dropout.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;

// Weights can be shared between blocks; random numbers are not to be.
#ifdef CAIRN_REJECT
constexpr fixed_string name = "/d";
#else
constexpr fixed_string name = "d";
#endif

constexpr auto body = nn::linear<"/fc", 3> | nn::dropout<name>;
constexpr auto loss = sum(input<"x", 8, 3> | repeat<2, "block">([](auto) { return layer(body); }));
static_assert(detail::checked<loss>());
