// Prints cairn's answers, which oracles.py compares with the answers of other programs. Each line has the sort of an
// answer, the question and the answer. There are three sorts. The first sort are the placements that search/nested.hpp
// finds for chains and knapsacks with known answers. The second sort are the bytes and the work of README's network in
// each of its placements. The third sort are the bytes and the work of the models of PyTorch's tests of its memory
// budget. These models are planned once with segments around what PyTorch recomputes, and once with the segments that
// fit<...> places.
#include "model.hpp"

using namespace cairn::plans::search;

namespace {

template <class List>
void print_list(const List& found) {
  for (int i = 0; i < found.count; ++i)
    std::printf(" %lld:%lld", static_cast<long long>(found.bytes[i]), static_cast<long long>(found.flops[i]));
  std::puts("");
}

/// A chain of equal blocks. A block takes one byte for its result, one for its gradient and one for what it stores. It
/// takes two bytes while its backward pass runs, and costs one operation.
template <int Length>
constexpr auto unit_chain = [] {
  block_chain<Length> c;
  for (int i = 0; i <= Length; ++i) {
    block_costs& b = c.of[i];
    b.stored_bytes_in_segment = b.unstored_peak = b.peak_in_segment.forward = 1;
    b.peak_in_segment.backward = b.peak_as_last = 2;
    b.result_flops = b.reading_flops = b.both_flops = 1;
    c.gradient_bytes[i] = 1;
    for (int j = i + 1; j <= Length; ++j) c.crossing_bytes[i][j] = 1;
  }
  return c;
}();

/// Independent blocks. Each is either stored, which takes its bytes, or recomputed, which takes its time. The bytes are
/// multiplied by 100, because the chain needs one byte to compute anything.
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
    b.stored_bytes = b.stored_bytes_in_segment = 100 * k.bytes[i];
    b.peak_as_last = 1;
    b.result_flops = b.reading_flops = b.both_flops = k.time[i];
  }
  return c;
}();

/// Prints the placements from lists that are long enough for each number of bytes, and from the lists of fit<...>.
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
  print_list(*outer_placements_of<knapsack_chain<Number>>.after_stored[0]);
}
template <std::int64_t Bytes>
void ask_readme() {
  using step = program<loss, plain, fit<Bytes>>;
  std::printf("readme %lld %lld %lld\n", static_cast<long long>(Bytes),
              static_cast<long long>(step::memory().stored_bytes), static_cast<long long>(step::flops().recomputed));
}

/// The models of PyTorch's tests of its memory budget. Their matrices have `unit` rows and columns, where PyTorch's
/// have 512. Kept has a bit for each product that is stored. All other products are recomputed.
constexpr int unit = 64;
template <int Rows, int Columns, fixed_string Name = "x">
constexpr auto matrix = param<Name, Rows * unit, Columns * unit>;
template <bool Kept, fixed_string Name>
constexpr auto part(auto layer, auto argument) {
  if constexpr (Kept) return block<Name>(layer, argument);
  else return ckpt<Name, allow_useless>(layer, argument);
}

constexpr auto of_cosine = layer([](auto h) { return matmul(cos(h), matrix<1, 1, "w">); });
template <unsigned>
constexpr auto cheap = sum(matrix<1, 1> | block<"a">(of_cosine));

/// Five products, of which the first ones are stored.
template <unsigned Kept>
constexpr auto even = [] {
  constexpr auto first = [](auto) { return of_cosine; };
  constexpr auto last = block<"last">(layer([](auto h) { return cos(h | of_cosine); }));
  constexpr int kept = std::popcount(Kept);
  constexpr auto x = matrix<1, 1>;
  if constexpr (kept == 5) return sum(x | repeat<4, "kept">(first) | last);
  else if constexpr (kept == 4) return sum(x | repeat<4, "kept">(first) | ckpt<"rest", allow_useless>(last));
  else if constexpr (kept == 0) return sum(x | ckpt<"rest">(repeat<4, "again">(first) | last));
  else return sum(x | repeat<kept, "kept">(first) | ckpt<"rest">(repeat<4 - kept, "again">(first) | last));
}();

/// The columns of both factors of independent products. The first factor is a square matrix.
template <int Count>
struct columns {
  int inner[Count], outer[Count];
};
template <columns Of, unsigned Kept>
constexpr auto products = []<int... I>(std::integer_sequence<int, I...>) {
  return (part < (Kept >> I & 1) != 0,
          fixed_string("p") + cairn::detail::digits < I >>
              ([](auto x) { return sum(cos(matmul(x, matrix<Of.inner[I], Of.outer[I], "w">))); },
               matrix<Of.inner[I], Of.inner[I], fixed_string("x") + cairn::detail::digits<I>>)+...);
}(std::make_integer_sequence<int, static_cast<int>(std::size(Of.inner))>{});
template <unsigned Kept>
constexpr auto uneven = products<columns<4>{{1, 1, 1, 1}, {11, 3, 4, 2}}, Kept>;
template <unsigned Kept>
constexpr auto uneven2 = products<columns<5>{{1, 1, 1, 1, 1}, {3, 5, 11, 17, 14}}, Kept>;
template <unsigned Kept>
constexpr auto cheaper = products<columns<2>{{1, 2}, {4, 2}}, Kept>;
template <unsigned Kept>
constexpr auto cheaper2 = products<columns<3>{{4, 6, 2}, {4, 2, 6}}, Kept>;

/// Attention, and a product that reads its result. One segment has both, so the policies say which of them is stored.
template <int Tokens, int Width, unsigned Kept>
constexpr auto attention_then_product = [] {
  constexpr auto attend = block<"a">([](auto x) {
    const auto one = reshape<1, Tokens * unit, 1, Width * unit>(x);
    return tag<"a">(reshape<Tokens * unit, Width * unit>(nn::attention(one, one, one)));
  });
  constexpr auto multiply = block<"p">([](auto h) { return cos(tag<"p">(matmul(h, matrix<Width, Width, "w">))); });
  constexpr auto both = attend | multiply;
  constexpr auto x = matrix<Tokens, Width>;
  if constexpr (Kept == 3) return sum(x | both);
  else if constexpr (Kept == 2) return sum(x | ckpt<"s", save<"p">>(both));
  else if constexpr (Kept == 1) return sum(x | ckpt<"s", save<"a">>(both));
  else return sum(x | ckpt<"s">(both));
}();

/// Prints the bytes that a plan stores, the operations of the products that it recomputes, and its arena.
template <class Plan>
void print_plan(const char* how, const char* name, unsigned kept) {
  constexpr memory_plan memory = cairn::detail::memory_in<Plan>;
  const auto& s = Plan::schedule;
  std::int64_t again = 0;
  for (int v = 0; v < s.node_count; ++v) again += s.op(v).contraction ? s.work_of(v).recomputed : 0;
  std::printf("%s %s %u %lld %lld %lld\n", how, name, kept, static_cast<long long>(memory.stored_bytes),
              static_cast<long long>(again), static_cast<long long>(memory.peak_bytes));
}
template <auto Loss>
void ask_fit(const char* name) {
  using unplaced = cairn::detail::compiled_of<Loss, true>;
  constexpr const auto& points = frontier<Loss>;
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (print_plan<typename fitted<typename unplaced::model, 0, 1, points[I].peak_bytes>::type>("budget", name, 0), ...);
  }(std::make_index_sequence<points.size()>{});
}

/// Prints a plan for each choice of stored products, and each placement that fit<...> chooses among.
template <int Products>
void ask_budget(const char* name, auto model) {
  constexpr unsigned all = (1U << Products) - 1;
  ask_fit<model(std::integral_constant<unsigned, all>{})>(name);
  [&]<unsigned... Kept>(std::integer_sequence<unsigned, Kept...>) {
    (print_plan<cairn::detail::compiled_of<model(std::integral_constant<unsigned, Kept>{}), true>>("kept", name, Kept),
     ...);
  }(std::make_integer_sequence<unsigned, all + 1>{});
}

}  // namespace

int main() {
  ask_chain<2>(), ask_chain<3>(), ask_chain<4>(), ask_chain<6>(), ask_chain<8>(), ask_chain<10>();
  ask_chain<12>(), ask_chain<16>(), ask_chain<24>(), ask_chain<32>(), ask_chain<48>();
  [&]<int... I>(std::integer_sequence<int, I...>) { (ask_knapsack<I>(), ...); }(std::make_integer_sequence<int, 20>{});
  ask_budget<1>("cheap", [](auto kept) { return cheap<kept>; });
  ask_budget<5>("even", [](auto kept) { return even<kept>; });
  ask_budget<4>("uneven", [](auto kept) { return uneven<kept>; });
  ask_budget<5>("uneven2", [](auto kept) { return uneven2<kept>; });
  ask_budget<2>("cheaper", [](auto kept) { return cheaper<kept>; });
  ask_budget<3>("cheaper2", [](auto kept) { return cheaper2<kept>; });
  ask_budget<2>("attention1x1", [](auto kept) { return attention_then_product<1, 1, kept>; });
  ask_budget<2>("attention1x3", [](auto kept) { return attention_then_product<1, 3, kept>; });
  ask_budget<2>("attention2x1", [](auto kept) { return attention_then_product<2, 1, kept>; });
  constexpr const auto& points = frontier<loss, plain>;
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (ask_readme<points[I].peak_bytes>(), ...);
  }(std::make_index_sequence<points.size()>{});
}
