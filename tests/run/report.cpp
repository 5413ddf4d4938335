#include "cairn/report/dot.hpp"
#include "cairn/report/dump.hpp"
#include "cairn/report/frontier.hpp"
#include "cairn/report/residuals.hpp"
#include "cairn/report/summary.hpp"
#include "cairn/report/tables.hpp"
#include "cairn/report/timeline.hpp"

#include <array>
#include <boost/test/unit_test.hpp>
#include <cairn/cairn.hpp>
#include <cstring>
#include <sstream>

#include "run/comma_locale.hpp"

using namespace cairn;

namespace {

/// Figures without a model.
struct with_segments {
  static constexpr memory_plan memory() { return {1536, 4096, 8192, 8192}; }
  static constexpr flop_counts flops() { return {1'000'000, 2'000'000, 500'000}; }
  static constexpr loop_counts loops() { return {}; }
  static constexpr int row_groups() { return 1; }
  static constexpr peak_plan peak() { return {4096, 16384, "block.9.ff", true}; }
  static constexpr auto segments() {
    return std::array{segment_plan{"block.8.ff", 128, 1024, 3, 1000},  segment_plan{"block.8.ff.in", 64, 512, 1, 500},
                      segment_plan{"block.9.ff", 128, 1024, 3, 1000},  segment_plan{"block.9.ff.in", 64, 512, 2, 500},
                      segment_plan{"block.10.ff", 128, 1024, 3, 1000}, segment_plan{"block.10.gg", 128, 1024, 3, 1000}};
  }
};
struct without_segments : with_segments {
  static constexpr memory_plan memory() { return {3072, 16384, 8192, 8192}; }
  static constexpr flop_counts flops() { return {1'000'000, 2'000'000, 1'000}; }
  static constexpr loop_counts loops() { return {2000, 3, 4}; }
};

/// A training step that writes the given bytes at the given offsets.
struct writer {
  struct write {
    std::size_t at;
    unsigned char value;
  };
  std::array<std::byte, 256> bytes;
  std::vector<write> writes;

  static constexpr bool updates_parameters = false;
  std::span<std::byte> arena() { return bytes; }
  float value_and_grad(int) {
    for (const write& w : writes) bytes[w.at] = std::byte{w.value};
    return 0;
  }
};

std::int64_t touched_by(std::vector<writer::write> writes) {
  writer w{{}, std::move(writes)};
  return report::touched_bytes(w, 0);
}

constexpr auto model = input<"x", 8, 6> | nn::linear<"in", 16> | repeat<3, "block">([](auto) {
                         return ckpt<"ff", allow_useless>(nn::residual(nn::linear<"fc", 16> | nn::gelu));
                       });
constexpr auto loss = mean(square(model));

constexpr auto inner = block<"a">(ckpt<"inner", allow_useless>(nn::linear<"fc", 16> | nn::gelu));
constexpr auto outer = ckpt<"outer", allow_useless>(inner | nn::dropout<"d", 0.5> | nn::linear<"out", 16>);
constexpr auto first_layer = input<"x", 8, 6> | nn::linear<"in", 16> | nn::tag<"first">;
constexpr auto nested = cross_entropy(first_layer | outer, labels<"y", 16, 8>);

/// Returns how often a text occurs in another text.
int count_of(std::string_view text, std::string_view in) {
  int n = 0;
  for (std::size_t at = in.find(text); at != in.npos; at = in.find(text, at + 1)) ++n;
  return n;
}

/// Checks that the figures of single values and plan steps add up to the figures of the plan.
template <class Step>
void check_account() {
  const report::account a = report::account_of<Step>();
  std::int64_t stored = 0, again = 0, told = 0, done = 0, done_again = 0;
  for (const report::value& v : a.values) {
    if (v.stored) stored += v.bytes;
    if (v.recomputes != graphs::none) again += v.flops;
  }
  for (const report::step& s : a.steps) {
    done += s.flops;
    done_again += s.recomputed_flops;
  }
  for (const auto& part : report::detail::residuals_by_segment(a)) {
    for (const auto& r : part.stored) told += part.count * r.count * r.bytes;
  }
  BOOST_TEST(stored == Step::memory().stored_bytes);
  BOOST_TEST(told == Step::memory().stored_bytes);
  BOOST_TEST(again == Step::flops().recomputed);
  BOOST_TEST(done_again == Step::flops().recomputed);
  BOOST_TEST(done == Step::flops().total());
  BOOST_TEST(report::detail::most_live(a) <= Step::memory().peak_bytes);
}

template <class Step>
void check_touched() {
  Step step;
  step.init(seed{1});
  const std::vector<float> parameters(step.parameters().begin(), step.parameters().end());
  std::array<float, 48> x{};
  x.fill(0.5F);
  const float expected = step.value_and_grad(bind<"x">(x));
  const std::vector<float> gradients(step.gradients().begin(), step.gradients().end());

  const std::int64_t touched = report::touched_bytes(step, bind<"x">(x));
  BOOST_TEST(touched <= Step::memory().peak_bytes);
  BOOST_TEST(touched >= Step::memory().peak_bytes * 9 / 10);
  BOOST_TEST(std::ranges::equal(step.parameters(), parameters));
  BOOST_TEST(std::ranges::equal(step.gradients(), gradients));
  BOOST_TEST(step.value_and_grad(bind<"x">(x)) == expected);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(report_suite)

BOOST_AUTO_TEST_CASE(units) {
  BOOST_TEST(report::bytes(0) == "0 B");
  BOOST_TEST(report::bytes(1023) == "1023 B");
  BOOST_TEST(report::bytes(1024) == "1.00 KiB");
  BOOST_TEST(report::bytes(3'145'728) == "3.00 MiB");
  BOOST_TEST(report::bytes(17'632'320) == "16.8 MiB");
  BOOST_TEST(report::bytes(std::int64_t{200} << 40) == "200 TiB");
  BOOST_TEST(report::bytes(std::int64_t{5000} << 40) == "5000 TiB");
  BOOST_TEST(report::flops(67'371'008) == "67.4 MFLOP");
  BOOST_TEST(report::flops(999) == "999 FLOP");
  BOOST_TEST(report::flops(9'995'000) == "10.0 MFLOP");
}

BOOST_AUTO_TEST_CASE(a_summary_has_layers_parameters_and_rules) {
  constexpr auto block_of = [](auto) {
    return ckpt<"ff">(
        nn::residual(nn::layer_norm<"norm"> | nn::linear<"fc1", 1024> | nn::gelu | nn::linear<"fc2", 64>));
  };
  constexpr auto words = indices<"words", 50, 4, 8>;
  constexpr auto trunk = words | nn::embedding<"wte", 64> | repeat<12, "block">(block_of);
  constexpr auto largest = state<"seen.largest", initial{}>;
  constexpr auto of_logits = [](auto logits) { return cross_entropy(logits, indices<"next", 50, 4, 8>); };
  constexpr auto value = of_logits(trunk * param<"scale", 64> | nn::tied_linear<"/wte.weight", 50>);
  constexpr auto tracked = updated(value, largest, maximum(largest, value));
  std::ostringstream out;
  report::summary<program<tracked, update<adamw_options{.weight_decay = 0.1}>,
                          update<sgd_options{.lr = 0.01, .momentum = 0.9}, "*.bias">, freeze<"block.0.fc1">>>(out);
  BOOST_TEST(out.str() == R"(layer                 shape            numbers      bytes   trained
-------------------------------------------------------------------
wte                   {4, 8, 64}
  weight              {50, 64}           3,200   12.5 KiB    rule 1
block.*.norm   12 x   {4, 8, 64}
  weight              {64}                  64      256 B    rule 1
  bias                {64}                  64      256 B    rule 2
block.0.fc1           {4, 8, 1024}
  weight              {1024, 64}        65,536    256 KiB    frozen
  bias                {1024}             1,024   4.00 KiB    frozen
block.*.fc2    12 x   {4, 8, 64}
  weight              {64, 1024}        65,536    256 KiB    rule 1
  bias                {64}                  64      256 B    rule 2
block.*.fc1    11 x   {4, 8, 1024}
  weight              {1024, 64}        65,536    256 KiB    rule 1
  bias                {1024}             1,024   4.00 KiB    rule 2
scale                 {64}                  64      256 B    rule 1
seen                  {}
  largest             {}                     1        4 B     state
trained                              1,524,160   5.81 MiB
frozen                                  66,560    260 KiB
state                                        1        4 B
in all                               1,590,721   6.07 MiB
rule 1: adamw_options lr 0.001, beta1 0.9, beta2 0.999, epsilon 1e-08, weight_decay 0.1
rule 2: sgd_options lr 0.01, momentum 0.9, weight_decay 0, nesterov 0
)");
  std::istringstream lines(out.str());
  for (std::string line; std::getline(lines, line);) BOOST_TEST(line.size() <= 100U);

  std::ostringstream beside;
  report::summary<program<loss, freeze<"in">>>(beside);
  BOOST_TEST(beside.str() == R"(layer              shape      numbers      bytes   trained
----------------------------------------------------------
in                 {8, 16}
  weight           {16, 6}         96      384 B    frozen
  bias             {16}            16       64 B    frozen
block.*.fc   3 x   {8, 16}
  weight           {16, 16}       256   1.00 KiB       yes
  bias             {16}            16       64 B       yes
trained                           816   3.19 KiB
frozen                            112      448 B
in all                            928   3.62 KiB
)");
}

BOOST_AUTO_TEST_CASE(equal_segments_share_a_line) {
  std::ostringstream out;
  report::segment_table<with_segments>(out);
  BOOST_TEST(out.str() == R"(segment                            boundary   not stored           recomputed
-----------------------------------------------------------------------------
block.8.ff ... block.10.ff   3 x      128 B     1.00 KiB   3 ops   1.00 kFLOP
block.8.ff.in                          64 B        512 B    1 op     500 FLOP
block.9.ff.in                          64 B        512 B   2 ops     500 FLOP
block.10.gg                           128 B     1.00 KiB   3 ops   1.00 kFLOP
)");
}

BOOST_AUTO_TEST_CASE(a_program_without_segments_says_so) {
  std::ostringstream out;
  report::segment_table<program<sum(param<"w", 8>)>>(out);
  BOOST_TEST(out.str() == "no segments\n");
}

BOOST_AUTO_TEST_CASE(segments_placed_by_fit_do_not_count_as_marked) {
  constexpr auto layer = nn::linear<"a", 128> | nn::tanh | nn::linear<"b", 16> | nn::tanh;
  constexpr auto unmarked = mean(square(input<"x", 64, 16> | block<"first">(layer) | block<"second">(layer)));
  constexpr std::int64_t least = frontier<unmarked>.front().peak_bytes;
  static_assert(!program<unmarked, fit<least>>::segments().empty());
  std::ostringstream free, limited;
  report::frontier<unmarked>(free);
  report::frontier<unmarked, fit<least>>(limited);
  BOOST_TEST(count_of("by fit", free.str()) > 1);
  BOOST_TEST(limited.str() == free.str());
  BOOST_TEST(count_of("as marked", free.str()) == 0);
}

BOOST_AUTO_TEST_CASE(groups_of_rows_that_fit_chooses_are_reported) {
  constexpr auto model =
      mean(square(input<"x", 512, 16> | repeat<3, "block">([](auto) {
                    return nn::residual(nn::tiled<up_to<4>>(nn::linear<"a", 128> | nn::tanh | nn::linear<"b", 16>));
                  })));
  using smallest = program<model, fit<frontier<model>.front().peak_bytes>>;
  static_assert(smallest::row_groups() == 4);
  std::ostringstream segments, step, places;
  report::segment_table<smallest>(segments);
  report::step_table<smallest, program<model, plain>>(step);
  report::frontier<model>(places);
  BOOST_TEST(segments.str().ends_with("\ntiled layers run on 4 groups of rows\n"));
  BOOST_TEST(count_of("groups of rows                 4            1\n", step.str()) == 1);
  BOOST_TEST(places.str().starts_with("segments      groups "));
  BOOST_TEST(count_of("by fit             4 ", places.str()) > 0);
}

BOOST_AUTO_TEST_CASE(a_model_without_layers_has_nothing_to_place) {
  std::ostringstream out;
  report::frontier<sum(square(param<"w", 8>))>(out);
  BOOST_TEST(out.str() == "nothing to place: no layers that are applied by |, repeat or block\n");
}

BOOST_AUTO_TEST_CASE(table_of_a_step_with_and_without_segments) {
  std::ostringstream out;
  const report::timed times[]{{1, 12.345, 10}, {16, 1.26, 1.5}};
  report::step_table<with_segments, without_segments>(out, report::touched{4096, 16320}, times);
  BOOST_TEST(out.str() == R"(a step                    segments        plain   of plain
----------------------------------------------------------
stored for backward       1.50 KiB     3.00 KiB       50 %
peak: the arena           4.00 KiB     16.0 KiB       25 %
  predicted, in bytes        4,096       16,384       25 %
  touched, in bytes          4,096       16,320       25 %
parameters                8.00 KiB     8.00 KiB      100 %
gradients                 8.00 KiB     8.00 KiB      100 %
memory in all             20.0 KiB     32.0 KiB       62 %
forward                 1.00 MFLOP   1.00 MFLOP      100 %
backward                2.00 MFLOP   2.00 MFLOP      100 %
recomputed               500 kFLOP   1.00 kFLOP
steps of loops                   0        2,000        0 %
work in all             3.50 MFLOP   3.00 MFLOP      117 %
time on 1 thread           12.3 ms      10.0 ms      123 %
time on 16 threads          1.3 ms       1.5 ms       84 %
the arena is fullest in the backward pass, in segment block.9.ff
)");
}

BOOST_AUTO_TEST_CASE(a_peak_above_plain_is_reported) {
  constexpr nn::window around{.padding = 1};
  constexpr auto branch = nn::batch_norm<"bn"> | nn::relu | nn::conv2d<"conv", 16, 3, around>;
  constexpr auto images = input<"x", 2, 8, 8, 3> | nn::conv2d<"in", 16, 3, around>;
  constexpr auto one = mean(square(images | block<"a">(ckpt<"res">(nn::residual(branch | block<"b">(branch))))));
  constexpr peak_plan p = program<one>::peak();
  static_assert(p.peak_bytes == program<one>::memory().peak_bytes);
  static_assert(p.plain_peak_bytes == program<one, plain>::memory().peak_bytes);
  static_assert(p.is_above_plain() && p.in_backward && p.segment == "a.res");
  static_assert(program<one>::memory().stored_bytes < program<one, plain>::memory().stored_bytes);
  static_assert(!program<one, plain>::peak().is_above_plain() && program<one, plain>::peak().segment.empty());
  std::ostringstream out;
  report::step_table<program<one>, program<one, plain>>(out);
  const std::string raised =
      "the arena is fullest in the backward pass, in segment a.res\n"
      "segments make the arena larger: " +
      report::bytes(p.peak_bytes) + ", and " + report::bytes(p.plain_peak_bytes) + " without them\n";
  BOOST_TEST(out.str().ends_with(raised));
}

BOOST_AUTO_TEST_CASE(a_peak_outside_of_segments_is_reported) {
  constexpr auto wide = nn::linear<"wide", 512> | nn::tanh;
  constexpr auto ff = ckpt<"ff">(nn::linear<"fc1", 16> | nn::tanh | nn::linear<"fc2", 8> | nn::tanh);
  constexpr auto headed = mean(square(input<"x", 16, 8> | block<"a">(ff) | block<"b">(ff) | wide));
  static_assert(program<headed>::peak().segment.empty() && !program<headed>::peak().is_above_plain());
  std::ostringstream out;
  report::peak_lines(out, program<headed>::peak());
  BOOST_TEST(out.str().ends_with("ward pass, outside of segments\n"));
}

BOOST_AUTO_TEST_CASE(touched_lines_are_counted_once_and_whole) {
  BOOST_TEST(touched_by({}) == 0);
  BOOST_TEST(touched_by({{0, 1}, {63, 1}}) == 64);
  BOOST_TEST(touched_by({{63, 1}, {64, 1}, {255, 1}}) == 192);
}

BOOST_AUTO_TEST_CASE(every_written_value_is_noticed) {
  for (int value = 0; value < 256; ++value) {
    BOOST_TEST(touched_by({{100, static_cast<unsigned char>(value)}}) == 64);
  }
}

BOOST_AUTO_TEST_CASE(a_step_stays_in_its_arena_and_fills_it) {
  check_touched<program<loss>>();
  check_touched<program<loss, plain>>();
}

BOOST_AUTO_TEST_CASE(accounts_add_up_to_the_plan) {
  check_account<program<loss>>();
  check_account<program<loss, plain>>();
  check_account<program<nested>>();
  check_account<program<nested, plain, real<double>>>();
}

BOOST_AUTO_TEST_CASE(shared_parameters) {
  constexpr auto cell = nn::linear<"cell", 16> | nn::tanh;
  constexpr auto h = input<"x", 8, 16> | nn::linear<"in", 16> | cell | ckpt<"s", allow_useless>(shared(cell));
  constexpr auto tied = mean(matmul(h, transpose(param<"/in.weight", 16, 16>)) * param<"scale">);
  std::ostringstream out;
  report::residuals<program<tied + mean(square(grad(tied, h)))>>(out);
  const std::string text = out.str();
  BOOST_TEST(text.substr(text.rfind("\n\n") + 1) == R"(
shared        read by
----------------------
in.weight     2 matmul
cell.weight   2 matmul
cell.bias     2 add
)");
}

BOOST_AUTO_TEST_CASE(accumulated_gradients_store_the_same_values) {
  std::ostringstream once, accumulated;
  report::residuals<program<nested>>(once);
  report::residuals<program<nested, accumulate_gradients>>(accumulated);
  BOOST_TEST(accumulated.str() == once.str());
}

BOOST_AUTO_TEST_CASE(stored_and_recomputed_values) {
  std::ostringstream out;
  report::residuals<program<loss>>(out << '\n');
  report::residuals<program<nested>>(out << '\n');
  BOOST_TEST(out.str() == R"(
stored for                                  from                read by
---------------------------------------------------------------------------------------------------------------------------------
outside of segments         add   {8, 16}   block.2.fc          mul                                                         512 B
block.0.ff ... block.2.ff   add   {8, 16}   in ... block.1.fc   matmul recomputed, gradient of block.*.fc.weight   3 x      512 B
in all                                                                                                                   2.00 KiB

segment                           recomputed                         of forward
-------------------------------------------------------------------------------
block.0.ff ... block.2.ff   3 x   matmul, add   2 ops   4.22 kFLOP         27 %
in all                                          6 ops   12.7 kFLOP         82 %

stored for                                    from   read by
-------------------------------------------------------------------------------------------------------------
outside of segments   add           {8, 16}   out    softmax_error                                      512 B
outer                 add "first"   {8, 16}   in     matmul recomputed, gradient of a.fc.weight         512 B
in all                                                                                               1.00 KiB

segment      recomputed                                   of forward
--------------------------------------------------------------------
outer        dropout                  1 op     128 FLOP          1 %
a.inner      2 matmul, 2 add, gelu   5 ops   8.58 kFLOP         78 %
in all                               6 ops   8.70 kFLOP         79 %
)");
}

BOOST_AUTO_TEST_CASE(conversions_are_left_out_between_a_value_and_its_readers) {
  constexpr auto hidden = input<"x", 8, 6> | nn::linear<"in", 16> | nn::tanh;
  constexpr auto scores = hidden | nn::linear_without_bias<"fc", 16>;
  std::ostringstream out;
  report::residuals<program<cross_entropy(scores, labels<"y", 16, 8>), mixed<bf16>>>(out << '\n');
  BOOST_TEST(out.str() == R"(
stored for                                    from   read by
-------------------------------------------------------------------------------------------
outside of segments   add      {8, 16} bf16   in     tanh recomputed, tanh_slope      256 B
                      matmul   {8, 16} bf16   fc     softmax_error                    256 B
in all                                                                                512 B

segment                  recomputed                              of forward
---------------------------------------------------------------------------
outside of segments      tanh, 2 conversion   3 ops   432 FLOP          6 %
in all                                        3 ops   432 FLOP          6 %
)");
}

BOOST_AUTO_TEST_CASE(values_stored_as_bf16_are_reported) {
  static constexpr auto loss = sum(input<"x", 8, 6> | nn::linear<"in", 16> | nn::tanh);
  const auto written = []<class... Option>(std::type_identity<std::tuple<Option...>>) {
    std::ostringstream dumped, drawn;
    dump::all<loss, Option...>(dumped);
    report::dot<program<loss, Option...>>(drawn);
    return std::array{dumped.str(), drawn.str()};
  };
  for (const std::string& text : written(std::type_identity<std::tuple<mixed<bf16>>>{}))
    BOOST_TEST(text.find("bf16") != std::string::npos);
  for (const std::string& text : written(std::type_identity<std::tuple<>>{}))
    BOOST_TEST(text.find("bf16") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(pieces_have_the_readers_of_their_concatenation) {
  constexpr auto left = nn::linear<"left", 3>(input<"x", 8, 16>);
  constexpr auto right = nn::linear<"right", 5>(input<"x", 8, 16>);
  std::ostringstream out;
  report::residuals<program<sum(tanh(concatenate<-1>(left, right) * param<"scale", 8>))>>(out << '\n');
  BOOST_TEST(out.str() == R"(
stored for                           from    read by
---------------------------------------------------------------------------
outside of segments   add   {8, 3}   left    mul recomputed, mul       96 B
                      add   {8, 5}   right   mul recomputed, mul      160 B
in all                                                                256 B

segment                  recomputed                    of forward
-----------------------------------------------------------------
outside of segments      mul          1 op   64 FLOP          3 %
in all                                1 op   64 FLOP          3 %
)");
}

BOOST_AUTO_TEST_CASE(different_numbers_in_texts_become_stars) {
  using range = report::detail::text_range;
  BOOST_TEST((range{"block.2.fc1", "block.2.fc1"}.shown() == "block.2.fc1"));
  BOOST_TEST((range{"block.9.fc1, x", "block.10.fc1, x"}.shown() == "block.*.fc1, x"));
  BOOST_TEST((range{"1.a.12", "1.a.1"}.shown() == "1.a.*"));
  BOOST_TEST((range{"in", "block.1.fc"}.shown() == "in ... block.1.fc"));
}

BOOST_AUTO_TEST_CASE(a_graph_has_each_segment_and_each_stored_value_once) {
  std::ostringstream out;
  report::dot<program<nested>>(out);
  const std::string text = out.str();
  for (const char* once : {"label=<outer>", "label=<a.inner>", "label=<x {8, 6}>", "a.fc.weight {16, 16}", "\"first\""})
    BOOST_TEST(count_of(once, text) == 1, once);
  const std::size_t outer = text.find("label=<outer>"), inner = text.find("label=<a.inner>");
  BOOST_TEST(count_of("subgraph cluster", text) == 2);
  BOOST_TEST(outer < inner);
  BOOST_TEST(text.substr(outer, inner - outer).find("  }\n") == std::string::npos);  // "}" would end the outer segment
  BOOST_TEST(count_of("stored, 512 B", text) == 2);
  BOOST_TEST(count_of("recomputed, 2 times", text) == 2);
  BOOST_TEST(count_of("recomputed", text) == 4);
  BOOST_TEST(count_of("penwidth=2.5", text) == 1);  // one boundary, with which both segments begin
  BOOST_TEST(count_of("{", text) - count_of("}", text) == 0);
}

BOOST_AUTO_TEST_CASE(a_dump_has_each_pass_and_each_value) {
  std::ostringstream out;
  dump::all<nested>(out);
  const std::string text = out.str();
  for (const char* part : {"outer", "a.inner", "a.fc.weight", "matmul"}) BOOST_TEST(count_of(part, text) > 0, part);
}

BOOST_AUTO_TEST_CASE(a_timeline_has_the_plans_peaks) {
  using step = program<loss>;
  using stored = program<loss, plain>;
  static_assert(detail::compiled_of<loss, true>::slots.live_bytes == step::memory().peak_bytes);  // no holes
  static_assert(detail::compiled_of<loss, true, plain>::slots.live_bytes == stored::memory().peak_bytes);
  std::ostringstream out;
  report::timeline<step, stored>(out);
  const std::string text = out.str();
  const auto told = [](const auto& m, std::int64_t flops) {
    return "<title>" + report::detail::grouped(m.peak_bytes) + " bytes live at most, " +
           report::detail::grouped(flops) + " operations</title>";
  };
  BOOST_TEST(count_of(told(step::memory(), step::flops().total()), text) == 1);
  BOOST_TEST(count_of(told(stored::memory(), stored::flops().total()), text) == 1);
  // Both curves reach the dashed lines of their peaks, and nothing is higher.
  for (const std::string kind : {"plain", "ckpt"}) {
    const std::size_t line = text.find("class='" + kind + " peak'"), curve = text.find("<path class='" + kind);
    const std::string before = text.substr(0, line), path = text.substr(curve, text.find("</path>", curve) - curve);
    const std::size_t begin = before.rfind("y1='") + 4;
    const double peak = std::stod(before.substr(begin));
    double highest = 1000;
    for (std::size_t at = path.find('V'); at != path.npos; at = path.find('V', at + 1)) {
      highest = std::min(highest, std::stod(path.substr(at + 1)));
    }
    BOOST_TEST(highest == peak, kind);
  }
  BOOST_TEST(count_of("<title>block.1.ff</title>", text) == 2);  // in the forward pass and in the backward pass
  BOOST_TEST(count_of("class='again'", text) == 3);
}
BOOST_AUTO_TEST_CASE(a_timeline_shows_the_recomputation_of_a_scan) {
  constexpr auto body = [](auto h) { return tanh(h | nn::linear<"in", 6>); };
  using looped = program<sum(scan<8, "step", segment_every<4>>(body, carried(input<"x", 4, 6>)))>;
  std::int64_t again = 0;
  for (const report::step& s : report::account_of<looped>().steps) again += s.recomputed_flops;
  BOOST_TEST(again == looped::flops().recomputed);
  std::ostringstream out;
  report::timeline<looped, looped>(out);
  BOOST_TEST(count_of("class='again'", out.str()) == 1);
}
BOOST_AUTO_TEST_CASE(a_timeline_counts_gradients_that_only_one_program_stores) {
  using updating = program<loss, update<adamw_options{}>>;
  static_assert(updating::memory().gradient_bytes == 0);
  std::ostringstream out;
  report::timeline<updating, program<loss>>(out, {.first = "in it", .second = "A & B"});
  const std::string text = out.str();
  const memory_plan m = program<loss>::memory();
  BOOST_TEST(count_of(report::detail::grouped(m.peak_bytes + m.gradient_bytes) + " bytes live at most", text) == 1);
  BOOST_TEST(count_of(report::detail::grouped(updating::memory().peak_bytes) + " bytes live at most", text) == 1);
  BOOST_TEST(count_of(">in it: at most", text) == 1);
  BOOST_TEST(count_of(">A &amp; B: at most", text) == 1);
}

/// Returns all reports of a program as text, written to streams with the global locale.
std::string all_reports() {
  using step = program<loss>;
  using stored = program<loss, plain>;
  std::ostringstream out;
  report::segment_table<step>(out);
  report::step_table<step, stored>(out);
  report::residuals<step>(out);
  report::dot<step>(out);
  dump::all<loss>(out);
  report::timeline<step, stored>(out);
  report::frontier<loss>(out);
  report::frontier_picture<loss>(out);
  return out.str();
}
BOOST_AUTO_TEST_CASE(numbers_have_points_in_any_locale) {
  const std::string before = all_reports();
  const comma_locale commas;
  std::ostringstream out;
  out << 1000.5;
  BOOST_REQUIRE(out.str() == "1.000,5");
  BOOST_TEST((all_reports() == before));
}

BOOST_AUTO_TEST_SUITE_END()
