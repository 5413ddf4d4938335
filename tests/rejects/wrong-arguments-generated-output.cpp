// rejects: cairn \[wrong-arguments\]: generated<2, 3>\(f\) takes a function that captures nothing
// rejects: fact::extents<8>
#include "cairn/core/misuse.hpp"
#include "cairn/check/model.hpp"
#include "cairn/expr/generated.hpp"
#include "cairn/expr/outputs.hpp"
#include "cairn/expr/reduce.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr auto weights = generated<8>([](auto) {});
#else
constexpr auto weights = generated<8>([](auto i) { return i; });
#endif
constexpr auto loss = mean(square(param<"w", 8>));
static_assert(detail::checked<outputs(loss, weights)>());
