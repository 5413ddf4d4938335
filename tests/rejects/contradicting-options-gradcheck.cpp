// rejects: cairn \[contradicting-options\]: mixed<bf16> rounds what is computed in floats, .* gradcheck is in double; leave mixed out
// rejects: fact::given<double>
#include "cairn/misuse/table.hpp"
#include "cairn/gradcheck.hpp"
#include "cairn/op/reduce.hpp"

using namespace cairn;

constexpr auto loss = sum(param<"w", 4> * param<"v", 4>);

int main() {
#ifdef CAIRN_REJECT
  return gradcheck<loss, mixed<bf16>>(seed{1}).relative > gradient_tolerance;
#else
  return gradcheck<loss>(seed{1}).relative > gradient_tolerance;
#endif
}
