// rejects: cairn \[captured-value\]
// rejects: operation<cairn::fixed_string<8>\{"outputs"\}, float>
#include "cairn/core/misuse.hpp"
#include "cairn/check/model.hpp"
#include "cairn/expr/repeat.hpp"

using namespace cairn;

constexpr auto scaled = [](auto x) { return x * param<"w", 4>; };
constexpr auto y = block<"b">(scaled)(input<"x", 4>);

#ifdef CAIRN_REJECT
using placeholder = argument<1, 0, tensor_of<input_leaf<"x", 4>>, std::remove_const_t<decltype(scaled)>>;
constexpr auto loss = sum(scaled(placeholder{}));  // what the body computes, outside of it
#else
constexpr auto loss = sum(y);
#endif

static_assert(detail::checked<loss>());
