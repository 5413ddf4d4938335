// rejects: cairn \[captured-value\]
// rejects: operation<cairn::fixed_string<8>\{"outputs"\}, float>
#include "cairn/misuse/table.hpp"
#include "cairn/check/model.hpp"
#include "cairn/lang/repeat.hpp"

using namespace cairn;

constexpr auto scaled = [](auto x) { return x * param<"w">; };
constexpr auto y = block<"b">(scaled)(input<"x">);

#ifdef CAIRN_REJECT
using placeholder = argument<1, 0, tensor_of<input_leaf<"x">>, std::remove_const_t<decltype(scaled)>>;
constexpr auto loss = scaled(placeholder{});  // what the body computes, outside of it
#else
constexpr auto loss = y;
#endif

static_assert(detail::checked<loss>());
