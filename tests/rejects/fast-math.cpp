// The first of cairn's headers that is included reports this mistake.
//
// With these options a compiler assumes that no number is infinite or NaN, or adds numbers in another order. Then
// `sin`, `log` and attention return wrong finite numbers, `check_finite` and the checks of losses and gradients find
// nothing, and `ckpt` and plain differ. Compile without these options:
//
// - `-ffast-math`, `-Ofast` and `-funsafe-math-optimizations`,
// - `-ffinite-math-only`, `-freciprocal-math`, `-fno-signed-zeros`, and `-fassociative-math` where it has an effect,
// - pragmas of clang that do the same before the include.
//
// With clang's `-fno-honor-nans` or `-fno-honor-infinities`, or with `-ffinite-math-only` or `-Ofast` in g++'s pragma
// `optimize`, a program compiles, but stops at its start with a message. Other parts in this pragma are not seen.
//
// `-fno-math-errno`, `-fno-trapping-math`, `-frounding-math` and all values of `-ffp-contract` make no result worse.
// The sentence stands where an `#include` names its file, because a file that does not exist stops both compilers at
// once.

#include <cairn/cairn.hpp>

using namespace cairn;

constexpr auto loss = mean(log(input<"x", 8> * param<"w", 8>));
using train_step = program<loss>;

// case: fast-math
// says: numbers (and checks )?would be wrong
// options: -ffast-math
// options: -Ofast -Wno-deprecated-ofast
// options: -ffinite-math-only
// options: -funsafe-math-optimizations
// options: -freciprocal-math
// options: -fassociative-math -fno-signed-zeros -fno-trapping-math
// g++ -std=c++20 -O3 -march=native -ffast-math -Iinclude model.cpp  // wrong
// g++ -std=c++20 -O3 -march=native -Iinclude model.cpp              // right
