// rejects: cairn \[wrong-arguments\]: the policy of scan<T, "name", Policy> is store_all, segment_every<P>, revolve<S>, two_level<P, S> or fit<Bytes>
// rejects: fact::in<cairn::fixed_string<5>\{"step"\}>
#include "cairn/misuse/table.hpp"
#include "cairn/op/elementwise.hpp"
#include "cairn/lang/scan.hpp"

using namespace cairn;

constexpr auto body = [](auto h) { return tanh(h * param<"w", 5>); };
#ifdef CAIRN_REJECT
[[maybe_unused]] constexpr auto h = scan<10, "step", save_nothing>(body, carried(input<"h0", 4, 5>));
#else
[[maybe_unused]] constexpr auto h = scan<10, "step", store_all>(body, carried(input<"h0", 4, 5>));
#endif
