// rejects: cairn \[wrong-arguments\]: generated<2, 3>\(f\) takes a function that captures nothing
// rejects: fact::extents<8>
#include "cairn/misuse/table.hpp"
#include "cairn/check/model.hpp"
#include "cairn/lang/generated.hpp"
#include "cairn/lang/outputs.hpp"
#include "cairn/op/reduce.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr auto weights = generated<8>([](auto) {});
#else
constexpr auto weights = generated<8>([](auto i) { return i; });
#endif
constexpr auto loss = mean(square(param<"w", 8>));
static_assert(detail::checked<outputs(loss, weights)>());
