// The messages of these cases have no id of the library, so docs/misuse.md does not list them.

// case: older-standard
// shows: cairn needs C\+\+20: compile with -std=c\+\+20
// options: -std=c++17
#include <cairn/cairn.hpp>
// g++ -O3 -march=native -Iinclude model.cpp             // wrong
// g++ -std=c++20 -O3 -march=native -Iinclude model.cpp  // right
using namespace cairn;
constexpr auto loss = mean(log(input<"x", 8> * param<"w", 8>));
using train_step = program<loss>;

// case: no-mdspan
// shows: cairn needs std::mdspan here, which this standard library lacks: clang has it with -std=c\+\+23
// options: -std=c++20
#include <cairn/mdspan.hpp>   // wrong
#include <cairn/xtensor.hpp>  // right

// case: outlived-tokens
// shows: (use of|call to) deleted function
// shows: windows
#include "cairn/data/text.hpp"
#include "cairn/data/windows.hpp"
namespace data = cairn::data;

inline long first_of_all(const data::vocabulary& known) {
  long sum = 0;
  for (auto [x, y, begins] : data::windows<2, 3>(known.encode("some text, long enough"))) sum += x(0, 0);  // wrong
  const auto tokens = known.encode("some text, long enough");                                              // right
  for (auto [x, y, begins] : data::windows<2, 3>(tokens)) sum += x(0, 0);                                  // right
  return sum;
}

// case: own-operation
// shows: own \[shape-mismatch\]: one position for each row
// shows: fact::operation<cairn::fixed_string<14>\{"picked\(x, at\)"\}, float ?\[8\]\[12\], int ?\[7\]>
#include "cairn/lang/leaf.hpp"
namespace own {
using namespace cairn;
struct one_position_per_row {
  template <class Silent, class... Facts>
  struct found : Silent {
    constexpr found() { static_assert(well_formed<Facts...>, "own [shape-mismatch]: one position for each row"); }
  };
};
struct picked_op : op {
  static constexpr fixed_string name = "picked";
  using rule = one_position_per_row;
  static constexpr kind argument_kind(int i) { return i == 1 ? kind::whole : kind::real; }
  static constexpr shape result(const shape& x, const shape& at) { return shape(x[0]) == at ? at : no_shape; }
};
template <an_expression X, an_expression At>
constexpr made<picked_op, X, At> picked(X, At) {
  return {};
}
}  // namespace own
constexpr int positions = 7;  // wrong
constexpr int positions = 8;  // right
constexpr auto taken = own::picked(cairn::input<"x", 8, 12>, cairn::labels<"at", 12, positions>);
static_assert(cairn::an_expression<decltype(taken)>);
