// rejects: (use of|call to) deleted function
// rejects: windows
#include "cairn/data/text.hpp"
#include "cairn/data/windows.hpp"

namespace data = cairn::data;

inline long first_of_all(const data::vocabulary& known) {
  long sum = 0;
#ifdef CAIRN_REJECT
  for (auto [x, y, begins] : data::windows<2, 3>(known.encode("some text, long enough"))) sum += x(0, 0);
#else
  const auto tokens = known.encode("some text, long enough");
  for (auto [x, y, begins] : data::windows<2, 3>(tokens)) sum += x(0, 0);
#endif
  return sum;
}
