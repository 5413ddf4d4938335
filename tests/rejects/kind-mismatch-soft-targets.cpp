// rejects: cairn \[kind-mismatch\]: cross_entropy takes class indices alone; with probabilities as targets write -mean\(sum<-1>\(targets \* log_softmax\(logits\)\)\)
// rejects: operation<cairn::fixed_string<14>\{"cross_entropy"\}, float ?\[4\]\[10\], float ?\[4\]\[10\]>
#include "cairn/misuse/table.hpp"
#include "cairn/op/loss.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;

constexpr auto logits = input<"x", 4, 8> | nn::linear<"fc", 10>;
constexpr auto targets = input<"soft", 4, 10>;
#ifdef CAIRN_REJECT
constexpr auto loss = cross_entropy(logits, targets);
#else
constexpr auto loss = -mean(sum<-1>(targets * log_softmax(logits)));
#endif
static_assert(an_expression<decltype(loss)>);
