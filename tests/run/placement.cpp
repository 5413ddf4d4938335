// Compares placement by budget with all possible placements. For chains of at most six blocks, all ways to nest
// segments are listed. Segments of a single block may save their contractions. Each placement is accounted event by
// event, and is planned.
#include <boost/test/unit_test.hpp>
#include <cairn/cairn.hpp>
#include <memory>
#include <utility>
#include <vector>

using namespace cairn;

namespace {

struct figures {
  std::int64_t bytes, flops;
  auto operator<=>(const figures&) const = default;
};
std::ostream& operator<<(std::ostream& out, const figures& f) {
  return out << f.bytes << " bytes, " << f.flops << " flops";
}

/// Returns the placements that no other placement beats, ordered by bytes.
std::vector<figures> pareto_front(std::vector<figures> all) {
  std::ranges::sort(all);
  std::vector<figures> found;
  for (const figures& f : all) {
    if (found.empty() || f.flops < found.back().flops) found.push_back(f);
  }
  return found;
}

/// Segments in sequence over blocks [begin, end), with the segments inside them. A segment of a single block may save
/// its contractions.
struct range;
using ranges = std::vector<range>;
struct range {
  int begin, end;
  ranges inside;
  bool saves = false;
};

/// Returns all segments that blocks [begin, end) may have. Inside a segment over all of these blocks, the same segment
/// does not occur again.
template <int Count>
std::vector<ranges> placements(const plans::search::block_chain<Count>& c, int begin, int end,
                               int all_from = plans::none) {
  if (begin == end) return {ranges{}};
  std::vector<ranges> found = placements(c, begin + 1, end, all_from);
  for (int to = begin + 1; to <= end && !c.of[to - 1].between_regions; ++to) {
    if (begin == all_from && to == end) continue;
    ranges firsts;
    for (const ranges& inside : placements(c, begin, to, begin)) firsts.push_back({begin, to, inside});
    if (to == begin + 1 && c.of[begin].saving.stored_bytes != plans::none) firsts.push_back({begin, to, {}, true});
    const std::vector<ranges> behind = placements(c, to, end, all_from);
    for (const range& first : firsts) {
      for (const ranges& later : behind) {
        found.push_back({first});
        found.back().insert(found.back().end(), later.begin(), later.end());
      }
    }
  }
  return found;
}

/// Computes the bytes and work of a placement from the costs of a chain. It goes through the events of the forward pass
/// and of the backward pass in their order.
template <int Count>
class accounted {
  const plans::search::block_chain<Count>& c;
  figures total{};

  /// A block outside of segments, or a segment.
  struct item {
    int begin, end;
    const range* segment = nullptr;
    std::int64_t before = 0;     ///< bytes in memory before this item
    bool after_segment = false;  ///< the item stands behind a segment, and outside of all segments
    bool is_unheld = false;      ///< nothing holds the results of the segment for its backward pass

    bool saves() const { return segment != nullptr && segment->saves; }
  };
  static std::vector<item> items(const ranges& segments, int begin, int end) {
    std::vector<item> all;
    for (const range& s : segments) {
      for (; begin < s.begin; ++begin) all.push_back({begin, begin + 1});
      all.push_back({s.begin, s.end, &s});
      begin = s.end;
    }
    for (; begin < end; ++begin) all.push_back({begin, begin + 1});
    return all;
  }
  void use(std::int64_t bytes) { total.bytes = std::max(total.bytes, bytes); }
  /// Returns the bytes of the segment before a kept block that this block is the last to read in the forward pass.
  std::int64_t released_by(const item* before, const item& i) const {
    return before == nullptr || before->segment == nullptr ? 0 : c.freed_after_forward[before->begin][i.begin];
  }
  /// Adds the backward pass of a segment. `i.before` is the number of bytes in memory before it.
  void backward_of(const item& i) {
    if (i.saves()) {
      const auto& saving = c.of[i.begin].saving;
      use(i.before + saving.peak.backward);
      total.flops += saving.flops;
    } else {
      use(i.before + c.of[i.end - 1].peak_before_recomputation);
      computed_again(i.segment->inside, i.begin, i.end, i.before, i.is_unheld);
    }
  }
  /// Adds the backward pass of blocks [begin, end) of a segment, which recomputes them. The last block is not
  /// recomputed before its own backward pass. Therefore it makes no difference whether a segment of this block alone
  /// saves values.
  void computed_again(const ranges& segments, int begin, int end, std::int64_t bytes, bool is_unheld = false) {
    const std::int64_t gradient = c.gradient_bytes[end];
    std::vector<item> all = items(segments, begin, end);
    const item* before = nullptr;
    for (item& i : all) {
      const plans::search::block_costs& b = c.of[i.begin];
      const bool last = i.end == end;
      if (last && i.saves()) i.segment = nullptr;
      const std::int64_t released = released_by(std::exchange(before, &i), i);
      i.before = bytes;
      if (i.segment == nullptr) {
        use(bytes +
            (last ? (is_unheld ? b.peak_as_last_unheld : b.peak_as_last) : gradient + b.peak_in_segment.forward));
        total.flops += last ? b.reading_flops : b.both_flops;
        if (!last) i.before = bytes -= released;
        bytes += b.stored_bytes_in_segment;
      } else if (i.saves()) {
        use(bytes + gradient + b.saving.peak.forward);
        total.flops += b.result_flops;
        bytes += b.saving.stored_bytes;
      } else if (!last) {
        for (int passed = i.begin; passed < i.end; ++passed) {
          use(bytes + gradient + c.crossing_bytes[i.begin][passed] + c.of[passed].unstored_peak);
          total.flops += c.of[passed].result_flops;
        }
        bytes += c.crossing_bytes[i.begin][i.end];
      }
    }
    for (auto i = all.rbegin(); i != all.rend(); ++i) {
      if (i->segment == nullptr) {
        if (i->end != end) use(i->before + c.of[i->begin].peak_in_segment.backward);
      } else if (i->end != end) {
        backward_of(*i);
      } else {
        computed_again(i->segment->inside, i->begin, i->end, i->before);
      }
    }
  }

 public:
  accounted(const plans::search::block_chain<Count>& costs, const ranges& segments) : c(costs) {
    std::int64_t bytes = 0;
    bool after_segment = false;
    item* before = nullptr;
    std::vector<item> all = items(segments, 0, Count);
    for (item& i : all) {
      const plans::search::block_costs& b = c.of[i.begin];
      const std::int64_t released = released_by(before, i);
      // The estimate for a segment with segments inside does not use that the results are freed.
      if (released > 0 && i.segment == nullptr) before->is_unheld = before->segment->inside.empty();
      before = &i;
      i.after_segment = after_segment;
      after_segment = i.segment != nullptr;
      if (i.segment != nullptr && !i.after_segment) {
        bytes += c.held_only_by_segment[i.begin];
        total.flops -= c.flops_saved_by_segment[i.begin];
      }
      i.before = bytes;
      if (i.saves()) {
        use(bytes + c.bytes_read_between[i.begin] + b.saving.peak.forward);
        bytes += b.saving.stored_bytes;
      } else if (i.segment != nullptr) {
        for (int passed = i.begin; passed < i.end; ++passed)
          use(bytes + c.held_bytes[i.begin][passed] + c.bytes_read_between[passed] + c.of[passed].unstored_peak);
        bytes += c.held_bytes[i.begin][i.end];
      } else {
        use(bytes + (i.after_segment ? b.peak_after_segment : b.peak_in_program).forward);
        total.flops += b.always_recomputed_flops;
        i.before = bytes -= released;
        bytes += b.stored_bytes;
      }
    }
    for (auto i = all.rbegin(); i != all.rend(); ++i) {
      const plans::search::block_costs& b = c.of[i->begin];
      if (i->segment != nullptr) backward_of(*i);
      else use(i->before + (i->after_segment ? b.peak_after_segment : b.peak_in_program).backward);
    }
  }
  figures operator()() const { return total; }
};

/// A chain of different blocks. Some values skip blocks, and one item may stand between blocks without being a block.
template <int Count, unsigned Number>
constexpr auto random_chain = [] {
  std::uint32_t state = Number * 2654435761U + Count;
  const auto draw = [&](int most) {
    state = state * 1664525U + 1013904223U;
    return static_cast<std::int64_t>((state >> 16) % static_cast<unsigned>(most + 1));
  };
  plans::search::block_chain<Count> c;
  const std::int64_t between_regions = draw(2 * Count);
  for (int b = 0; b < Count; ++b) {
    plans::search::block_costs& of = c.of[b];
    for (int i = b + 1; i < Count; i += 1 + static_cast<int>(draw(2))) {  // a value that block i is the last to read
      const std::int64_t bytes = 1 + draw(20), held = draw(2) > 0 ? bytes : 0, released = draw(1) * held;
      for (int from = 0; from <= b; ++from) {
        for (int j = b + 1; j <= i; ++j) c.crossing_bytes[from][j] += bytes;
        for (int j = b + 1; j <= i; ++j) c.held_bytes[from][j] += held;
        c.freed_after_forward[from][i] += released;
      }
      of.result_bytes += bytes;
    }
    of.stored_bytes_in_segment = of.result_bytes + draw(40);
    of.stored_bytes = draw(60);
    of.unstored_peak = of.result_bytes + draw(90);
    of.peak_in_program = {of.stored_bytes + draw(20), of.stored_bytes + draw(50)};
    of.peak_after_segment = {of.peak_in_program.forward - draw(5), of.peak_in_program.backward - draw(5)};
    of.peak_in_segment = {of.stored_bytes_in_segment + draw(20), of.stored_bytes_in_segment + draw(50)};
    of.peak_before_recomputation = draw(60);
    of.peak_as_last = of.stored_bytes_in_segment + draw(50);
    of.peak_as_last_unheld = of.peak_as_last - draw(40);
    of.result_flops = 1 + draw(100);
    of.reading_flops = draw(100);
    of.both_flops = of.result_flops + draw(100);
    of.always_recomputed_flops = draw(10);
    of.between_regions = b == between_regions;
    if (draw(2) > 0 && !of.between_regions) {
      const std::int64_t kept = of.result_bytes + draw(40);
      of.saving = {kept, draw(60), {kept + draw(60), kept + draw(60)}};
    }
    c.flops_saved_by_segment[b] = draw(5);
    c.held_only_by_segment[b] = draw(static_cast<int>(c.held_bytes[0][b]));
    c.bytes_read_between[b] = draw(30);
    c.gradient_bytes[b] = draw(60);
  }
  return c;
}();

template <const auto& Chain>
std::vector<figures> placements_of() {
  const auto& found = *plans::search::outer_placements_of<Chain>.after_stored[0];
  std::vector<figures> all;
  for (int i = 0; i < found.count; ++i) all.push_back({found.bytes[i], found.flops[i]});
  return all;
}

template <const auto& Chain>
void equals_all_placements() {
  std::vector<figures> all;
  for (const ranges& segments : placements(Chain, 0, Chain.count)) all.push_back(accounted(Chain, segments)());
  BOOST_TEST(placements_of<Chain>() == pareto_front(all), boost::test_tools::per_element());
}
template <int Count, unsigned... Number>
void equal_all_placements(std::integer_sequence<unsigned, Number...>) {
  (equals_all_placements<random_chain<Count, Number>>(), ...);
}

/// Makes plans of a model with any segments, at run time.
template <auto Loss>
class planner {
  using unplaced = detail::compiled_of<Loss, true>;
  using all = plans::search::candidates<typename unplaced::model, 0, 1>;
  static constexpr const auto& g = unplaced::graph;
  static constexpr const auto& d = unplaced::gradient;
  static constexpr int regions = static_cast<int>(std::size(all::blocks.of_region));
  static constexpr int capacity = std::remove_cvref_t<decltype(d)>::capacity;
  template <std::int64_t Bytes>
  using budgeted = plans::search::fitted<typename unplaced::model, 0, 1, Bytes>;
  static constexpr graphs::sizes size{.nodes = 4 * capacity, .arguments = 10 * capacity};

 public:
  static constexpr const auto& chain = all::chain;
  static constexpr std::int64_t forward_flops = detail::flops_in<unplaced>.forward;
  static constexpr int most_segments = 2 * chain.count, most_nested = chain.count + 1;

 private:
  using placement = plans::placement<regions, most_segments, most_nested>;
  struct by_block {
    int of[chain.count + 1] = {}, segments = 0;
  };
  static void number(const ranges& segments, int around, placement& out, by_block& blocks) {
    for (const range& s : segments) {
      const int here = ++blocks.segments;
      out.parent[here] = around;
      out.stores_contractions[here] = s.saves;
      std::fill(blocks.of + s.begin, blocks.of + s.end, here);
      number(s.inside, here, out, blocks);
    }
  }

 public:
  /// Plans with the passes of plan/compile.hpp and returns the bytes that live at the same time. An arena has these
  /// bytes, and possibly holes. The results of the passes are on the heap, because they are too large for the stack.
  static figures figures_of(const ranges& segments) {
    placement placed;
    by_block blocks;
    number(segments, 0, placed, blocks);
    for (int r = 1; r < regions; ++r) {
      if (all::blocks.is_block[r]) placed.of[r] = blocks.of[all::blocks.of_region[r]];
    }
    const auto on_heap = [](auto make) { return std::make_unique<decltype(make())>(make()); };
    const auto in = on_heap([&] { return plans::find_segments(g, d, 0, placed); });
    const graphs::sizes needed = plans::schedule_size(d, *in, unplaced::model::order);
    BOOST_REQUIRE(needed.nodes <= size.nodes && needed.arguments <= size.arguments);
    const auto needs = on_heap([&] { return plans::find_needs(g, d, *in, unplaced::needs.cheap); });
    const auto order = on_heap([&] { return plans::order_backward(g, d, *in, *needs); });
    const auto s = on_heap([&] { return plans::rematerialize<size>(g, d, *in, *needs, *order, unplaced::model::order); });
    const auto readers = on_heap([&] { return plans::find_readers(*s); });
    const auto groups = on_heap([&] { return plans::fuse(*s, *readers); });
    const auto steps = on_heap([&] { return plans::mark_external(*s, *readers, *groups); });
    const auto loops = on_heap([&] { return plans::write_loops(*s, *steps); });
    const auto live = on_heap([&] { return plans::liveness(*s, *steps, *loops); });
    constexpr auto bases = unplaced::model::bases_of_results;
    const auto addresses = on_heap([&] { return plans::find_fixed_addresses<bases>(g, *s, *steps, *loops, *live); });
    const auto slots =
        on_heap([&] { return plans::share_slots<2 * size.nodes>(*s, *steps, *loops, *live, *addresses, 1); });
    std::int64_t flops = 0;
    for (const auto& again : s->recomputed) flops += again.flops;
    return {slots->live_bytes, flops};
  }
  /// Returns the programs that fit<...> makes for the points of the frontier. A program has at most the bytes and the
  /// work of its point. The least bytes are the bytes of the first point.
  static std::vector<figures> fitted() {
    constexpr const auto& points = frontier<Loss>;
    std::vector<figures> all;
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      const auto add = [&](const frontier_point& asked, const frontier_point& taken) {
        BOOST_TEST(taken.peak_bytes <= asked.peak_bytes);
        BOOST_TEST(taken.recomputed_flops <= asked.recomputed_flops);
        all.push_back({taken.peak_bytes, taken.recomputed_flops});
      };
      (add(points[I], plans::search::figures_of<typename budgeted<points[I].peak_bytes>::type>), ...);
    }(std::make_index_sequence<points.size()>{});
    BOOST_TEST(budgeted<1>::least_bytes() == points[0].peak_bytes);
    return all;
  }
};

/// Bounds for the difference between planned and accounted figures. Planned bytes are at most `most_bytes` thousandths
/// and at least `least_bytes` hundredths of the accounted bytes. Planned work is at most the accounted work plus
/// `more_work` thousandths of a forward pass. In at most `most_differ` hundredths of the placements, the work differs
/// by more than two hundredths, and never by more than a forward pass. For each placement, fit<...> finds one that has
/// at most three hundredths more bytes, and no more work except for `more_work` thousandths.
struct bounds {
  int least_bytes, most_differ, most_bytes = 1005, more_work = 0;
};
/// In models as small as these, the workspace of products is a large part of the bytes, and the width of registers
/// decides it. The bounds were read off with registers of 64 bytes. With narrower registers, some placements miss them
/// by up to a third in bytes and by three hundredths in work.
const boost::unit_test::precondition where_read_off([](auto) { return kernels::lanes<float>::width == 16; });
template <auto Loss>
void holds_for_all_placements(const bounds& is) {
  using planning = planner<Loss>;
  const std::vector<figures> fitted = planning::fitted();
  std::int64_t all = 0, saving = 0, differ = 0;
  for (const ranges& segments : placements(planning::chain, 0, planning::chain.count)) {
    const figures planned = planning::figures_of(segments), by_costs = accounted(planning::chain, segments)();
    const auto little = [&](std::int64_t flops) { return 1000 * flops <= is.more_work * planning::forward_flops; };
    const bool is_near_estimate = 1000 * planned.bytes <= is.most_bytes * by_costs.bytes &&
                                  100 * planned.bytes >= is.least_bytes * by_costs.bytes &&
                                  little(planned.flops - by_costs.flops) &&
                                  by_costs.flops - planned.flops <= planning::forward_flops;
    const auto does_as_well = [&](const figures& c) {
      return little(c.flops - planned.flops) && 100 * c.bytes <= 103 * planned.bytes;
    };
    if (!is_near_estimate) BOOST_ERROR("planned are " << planned << ", accounted " << by_costs);
    if (std::ranges::none_of(fitted, does_as_well)) BOOST_ERROR("fit<...> never does as well as " << planned);
    differ += 100 * std::abs(planned.flops - by_costs.flops) > 2 * planned.flops;
    saving += std::ranges::any_of(segments, &range::saves);
    ++all;
  }
  BOOST_TEST(all > 100);
  BOOST_TEST(saving > all / 20);
  BOOST_TEST(100 * differ <= is.most_differ * all, differ << " of " << all);
}

constexpr auto x = input<"x", 32, 64>;
template <auto Logits>
constexpr auto classified = cross_entropy(Logits, labels<"y", 10, 32>);

constexpr auto chain_of_widths =
    classified<(x | nn::linear<"l1", 64> | nn::gelu | nn::linear<"l2", 128> | nn::gelu | nn::linear<"l3", 32> |
                nn::gelu | nn::linear<"l4", 96> | nn::gelu | nn::linear<"out", 10>)>;
template <int Width>
constexpr auto mlp = nn::residual(nn::linear<"fc1", Width> | nn::gelu | nn::linear<"fc2", 64>);
template <int Width>
constexpr auto normed =
    nn::residual(nn::layer_norm<"ln"> | nn::linear<"fc1", Width> | nn::gelu | nn::linear<"fc2", 64> | nn::tanh);
constexpr auto residuals = classified<(x | block<"a">(mlp<96>) | block<"b">(mlp<32>) | block<"c">(mlp<128>) |
                                       block<"d">(mlp<64>) | nn::linear<"out", 10>)>;
constexpr auto norms = classified<(x | block<"a">(normed<96>) | block<"b">(nn::linear<"z", 64> | nn::relu) |
                                   block<"c">(normed<128>) | block<"d">(normed<64>) | nn::linear<"out", 10>)>;
template <int Width>
constexpr auto wider = layer([](auto h) { return concatenate<-1>(h, h | nn::linear<"fc", Width> | nn::gelu); });
template <int Width>
constexpr auto layer_of = nn::linear<"fc", Width> | nn::gelu;
constexpr auto down = x | block<"a">(layer_of<128>);
constexpr auto u_shaped =
    classified<(concatenate<-1>(down | block<"b">(layer_of<32>) | block<"c">(layer_of<48>), down) |
                block<"d">(layer_of<96>) | nn::linear<"out", 10>)>;
constexpr auto added = classified<(((down | block<"b">(layer_of<32>) | block<"c">(layer_of<128>)) + down) |
                                   block<"d">(layer_of<96>) | nn::linear<"out", 10>)>;
constexpr auto dense = classified<(x | block<"a">(wider<32>) | block<"b">(wider<64>) | block<"c">(wider<16>) |
                                   block<"d">(wider<48>) | nn::linear<"out", 10>)>;
constexpr auto skips = [] {
  const auto a = x | block<"a">(nn::linear<"fc", 96> | nn::tanh);
  const auto b = a | block<"b">(nn::linear<"fc", 32> | nn::gelu);
  const auto c = b | block<"c">(nn::linear<"fc", 96> | nn::gelu);
  const auto d = (a + c) | block<"d">(nn::linear<"fc", 32> | nn::tanh);
  return classified<((b * d) | nn::linear<"out", 10>)>;
}();
template <int Width>
constexpr auto joined_with = [](auto h, auto beside) { return concatenate<-1>(h, beside) | layer_of<Width>; };
constexpr auto joined_inside =
    classified<(block<"d">(joined_with<96>, down | block<"b">(layer_of<32>) | block<"c">(layer_of<48>), down) |
                nn::linear<"out", 10>)>;
template <int Width>
constexpr auto added_to = [](auto h, auto beside) { return (h | layer_of<Width>)+beside; };
constexpr auto added_inside =
    classified<(block<"d">(added_to<128>, down | block<"b">(layer_of<32>) | block<"c">(layer_of<48>), down) |
                nn::linear<"out", 10>)>;
template <int Channels, int Stride>
constexpr auto convolved = layer([](auto h) {
  return relu(h | nn::conv2d<"conv", Channels, 3, nn::window{.stride = Stride, .padding = 1}> | nn::batch_norm<"bn">);
});
constexpr auto images =
    cross_entropy(input<"x", 4, 8, 8, 3> | block<"a">(convolved<8, 1>) | block<"b">(convolved<12, 1>) |
                      block<"c">(convolved<16, 2>) | nn::flatten | nn::linear<"out", 10>,
                  labels<"y", 10, 4>);
constexpr auto unet = [] {
  const auto a = input<"x", 4, 8, 8, 3> | block<"a">(convolved<8, 1>);
  const auto b = a | block<"b">(convolved<16, 2>);
  const auto c = b | block<"c">(convolved<16, 1>);
  const auto d = concatenate<-1>(upsample2d<2>(c), a) | block<"d">(convolved<8, 1>);
  return cross_entropy(d | nn::flatten | nn::linear<"out", 10>, labels<"y", 10, 4>);
}();
// Layers that read values of two layers before, and values that are computed between layers. There are too many blocks
// for all placements.
constexpr auto times = [](auto h, auto before) { return tanh(h | nn::linear<"fc", 64>) * before; };
constexpr auto multiplied = [] {
  const auto a = x | block<"a">(layer_of<64>);
  const auto b = a | block<"b">(layer_of<64>);
  const auto c = block<"c">(times, b, a);
  const auto d = block<"d">(times, c, b);
  const auto e = block<"e">(times, d, c);
  return classified<(block<"f">(times, e, d) | nn::linear<"out", 10>)>;
}();
constexpr auto sums_between = [] {
  const auto a = x | block<"a">(layer_of<64>);
  const auto b = a | block<"b">(layer_of<64>);
  const auto c = (a + b) | block<"c">(layer_of<64>);
  const auto d = (b + c) | block<"d">(layer_of<64>);
  const auto e = (c * d) | block<"e">(nn::linear<"fc", 64> | nn::tanh);
  return classified<((d + e) | nn::linear<"out", 10>)>;
}();
constexpr auto marked = classified<(x | block<"a">(mlp<96>) | ckpt<"b">(block<"b">(mlp<128>)) | block<"c">(mlp<32>) |
                                    block<"d">(normed<64>) | nn::linear<"out", 10>)>;
}  // namespace

BOOST_AUTO_TEST_SUITE(placement)

// Both sides have the same points.
BOOST_AUTO_TEST_CASE(no_other_placement_beats_the_frontier) {
  [&]<int... Count>(std::integer_sequence<int, Count...>) {
    (equal_all_placements<Count + 1>(std::make_integer_sequence<unsigned, 11 - Count>{}), ...);
  }(std::make_integer_sequence<int, 6>{});
}

// In a chain, bytes are accounted with an error of at most one hundredth. If norms rewrite values in place, up to five
// hundredths fewer bytes are needed. For convolutions and the statistics behind them, more bytes and more work are
// accounted than needed, in nested segments that save values.
BOOST_AUTO_TEST_CASE(plans_have_the_accounted_bytes_and_work, *where_read_off) {
  holds_for_all_placements<chain_of_widths>({99, 0});
  holds_for_all_placements<residuals>({99, 0});
  holds_for_all_placements<norms>({95, 0});
  holds_for_all_placements<images>({94, 28, 1005, 4});
  holds_for_all_placements<marked>({99, 0});
}
// Concatenations, and layers that read a layer further back than the layer before. If nested segments read a value,
// less work is recomputed than accounted, because only the reads outside of all segments are exact.
BOOST_AUTO_TEST_CASE(plans_with_values_that_skip_blocks, *where_read_off) {
  holds_for_all_placements<dense>({99, 0});
  holds_for_all_placements<u_shaped>({85, 6});
  holds_for_all_placements<added>({82, 7, 1005, 5});
  holds_for_all_placements<skips>({76, 39, 1005, 2});
  holds_for_all_placements<unet>({93, 18, 1005, 5});
}
// The values skip layers inside a block. The block may be in a segment, which holds the values that it reads, or
// outside. Each case has its own list.
BOOST_AUTO_TEST_CASE(plans_with_values_that_skip_layers_of_a_block, *where_read_off) {
  holds_for_all_placements<joined_inside>({75, 17});
  holds_for_all_placements<added_inside>({60, 16, 1150, 6});
}
// This also holds for many layers, for which there are too many placements to list.
BOOST_AUTO_TEST_CASE(fit_reaches_the_points_of_the_frontier) {
  BOOST_TEST(planner<multiplied>::fitted().size() > 2);
  BOOST_TEST(planner<sums_between>::fitted().size() > 2);
  // With narrow registers, plans of this model take fewer bytes than accounted.
  BOOST_TEST(planner<norms>::fitted().size() > 2);
}

BOOST_AUTO_TEST_SUITE_END()
