// rejects: cairn \[wrong-arguments\]: generated<2, 3>\(f\) takes a function that captures nothing
#include "cairn/misuse/table.hpp"
#include "cairn/lang/block.hpp"
#include "cairn/op/elementwise.hpp"
#include "cairn/lang/generated.hpp"
#include "cairn/lang/checkpoint.hpp"

using namespace cairn;

constexpr auto mask = layer([](auto h) {
#ifdef CAIRN_REJECT
  const double low = -1e9;
  return h + generated<8, 8>([low](int i, int j) { return j <= i ? 0 : low; });
#else
  constexpr double low = -1e9;
  return h + generated<8, 8>([](int i, int j) { return j <= i ? 0 : low; });
#endif
});
constexpr auto y = input<"x", 8, 8> | ckpt<"s">(block<"b">(mask));
static_assert(an_expression<decltype(y)>);
