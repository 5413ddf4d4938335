// rejects: cairn \[kind-mismatch\]: arguments are real numbers \(float\) or indices \(int\)
// rejects: operation<cairn::fixed_string<8>\{"outputs"\}, int ?\[4\], float>
// rejects: takes<float>
#include "cairn/misuse/table.hpp"
#include "cairn/check/model.hpp"
#include "cairn/op/extremum.hpp"
#include "cairn/op/loss.hpp"

using namespace cairn;

constexpr auto classes = labels<"classes", 3, 4>;
constexpr auto logits = param<"w", 4, 3>;
constexpr auto loss = cross_entropy(logits, classes);

#ifdef CAIRN_REJECT
constexpr auto results = outputs(argmax<-1>(logits), loss);
#else
constexpr auto results = outputs(loss, argmax<-1>(logits));
#endif

static_assert(detail::checked<results>());
