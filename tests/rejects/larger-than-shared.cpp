// The program reports this mistake.
//
// A program shares the memory of another program, its lender, and needs more of it than the lender has. `peak_bytes` is
// the size of the program's arena, or `gradient_bytes` the size of its gradients. `shared_bytes` is what the lender has.
// Swap the two programs: let the program with the longest sequences or the largest batch lend its memory. Sizes do not
// always follow from the shapes alone, so look at `memory()` of both programs.

#include "cairn/cairn.hpp"

using namespace cairn;

// case: larger-than-shared
// says: this program needs a larger arena than the program whose memory it shares
// shows: peak_bytes<\d+L?>.*shared_bytes<\d+L?>
template <int B>
constexpr auto loss = mean(square(input<"x", B, 4> | nn::linear<"fc", 64> | nn::tanh));

inline void both() {
  program<loss<8>> longest;   // wrong
  program<loss<16>> longest;  // right
  program<loss<12>> shorter{longest};
}

// case: larger-than-shared-gradients
// says: this program keeps more bytes of gradients than the program whose memory it shares
// shows: gradient_bytes<\d+L?>.*shared_bytes<\d+L?>
template <int B>
constexpr auto loss = mean(square(input<"x", B, 4> | nn::linear<"fc", 64> | nn::tanh));

inline void both() {
  program<loss<16>> longest;            // wrong
  program<loss<16>, wrt<"x">> longest;  // right
  program<loss<12>, wrt<"x">> shorter{longest};
}
