// What oracles.py asks others about: the placements that pass/nested.hpp finds for chains whose answers are known, and
// what README's network takes in each of them. A line an answer: its sort, what was asked, and `bytes:operations`.
#include "model.hpp"

using namespace cairn::pass;

namespace {

template <class List>
void print_list(const List& found) {
  for (int i = 0; i < found.count; ++i)
    std::printf(" %lld:%lld", static_cast<long long>(found.bytes[i]), static_cast<long long>(found.flops[i]));
  std::puts("");
}

/// Equal blocks: one byte each way and for what a block keeps, two while its backward runs, one operation.
template <int Length>
constexpr auto unit_chain = [] {
  block_chain<Length> c;
  for (int i = 0; i <= Length; ++i) {
    block_costs& b = c.of[i];
    b.kept_inside = b.passed = b.inside.forward = 1;
    b.inside.backward = b.alone = 2;
    b.result_flops = b.reading_flops = b.both_flops = 1;
    c.gradients[i] = 1;
    for (int j = i + 1; j <= Length; ++j) c.made[i][j] = 1;
  }
  return c;
}();

/// Blocks that have nothing to do with each other: each is kept, for its bytes, or computed again, for its time. Bytes
/// count a hundredfold, for a chain needs one byte to compute anything.
constexpr int items = 7;
struct knapsack {
  int bytes[items], time[items];
};
constexpr knapsack knapsack_of(int number) {
  unsigned state = 12345u + 7919u * static_cast<unsigned>(number);
  const auto draw = [&] { return static_cast<int>((state = state * 1664525u + 1013904223u) >> 16) % 9 + 1; };
  knapsack k{};
  for (int i = 0; i < items; ++i) {
    k.bytes[i] = draw();
    k.time[i] = draw();
  }
  return k;
}
template <int Number>
constexpr auto knapsack_chain = [] {
  constexpr knapsack k = knapsack_of(Number);
  block_chain<items> c;
  for (int i = 0; i < items; ++i) {
    block_costs& b = c.of[i];
    b.kept = b.kept_inside = 100 * k.bytes[i];
    b.alone = 1;
    b.result_flops = b.reading_flops = b.both_flops = k.time[i];
  }
  return c;
}();

/// With lists long enough for each number of bytes, and with those that fit<...> has.
template <int Length>
void ask_chain() {
  std::printf("chain %d", Length);
  print_list(placements_inside<unit_chain<Length>, 1, 129>.of(0, Length - 1));
  std::printf("fit %d", Length);
  print_list(*inner_placements<unit_chain<Length>>::of(0, Length - 1));
}
template <int Number>
void ask_knapsack() {
  constexpr knapsack k = knapsack_of(Number);
  std::printf("knapsack");
  for (int i = 0; i < items; ++i) std::printf(" %d/%d", k.bytes[i], k.time[i]);
  std::printf(" =");
  print_list(*outer_placements_of<knapsack_chain<Number>>.after_kept[0]);
}
template <std::int64_t Bytes>
void ask_readme() {
  using step = program<loss, plain, fit<Bytes>>;
  std::printf("readme %lld %lld %lld\n", static_cast<long long>(Bytes),
              static_cast<long long>(step::memory().stored_bytes), static_cast<long long>(step::flops().recomputed));
}

}  // namespace

int main() {
  ask_chain<2>(), ask_chain<3>(), ask_chain<4>(), ask_chain<6>(), ask_chain<8>(), ask_chain<10>();
  ask_chain<12>(), ask_chain<16>(), ask_chain<24>(), ask_chain<32>(), ask_chain<48>();
  [&]<int... I>(std::integer_sequence<int, I...>) { (ask_knapsack<I>(), ...); }(std::make_integer_sequence<int, 20>{});
  constexpr const auto& points = frontier<loss, plain>;
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (ask_readme<points[I].peak_bytes>(), ...);
  }(std::make_index_sequence<points.size()>{});
}
