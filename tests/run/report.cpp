#include "cairn/report.hpp"

#include <array>
#include <boost/test/unit_test.hpp>
#include <cairn/cairn.hpp>
#include <cstring>
#include <sstream>

using namespace cairn;

namespace {

/// Figures without a model behind them.
struct with_segments {
  static constexpr memory_plan memory() { return {1536, 4096, 8192, 8192}; }
  static constexpr flop_counts flops() { return {1'000'000, 2'000'000, 500'000}; }
  static constexpr auto segments() {
    return std::array{
        segment_plan{"block.8.ff", 128, 1024, 3, 1000},  segment_plan{"block.8.ff.in", 64, 512, 1, 500},
        segment_plan{"block.9.ff", 128, 1024, 3, 1000},  segment_plan{"block.9.ff.in", 64, 512, 2, 500},
        segment_plan{"block.10.ff", 128, 1024, 3, 1000}, segment_plan{"block.10.gg", 128, 1024, 3, 1000}};
  }
};
struct without_segments : with_segments {
  static constexpr memory_plan memory() { return {3072, 16384, 8192, 8192}; }
  static constexpr flop_counts flops() { return {1'000'000, 2'000'000, 1'000}; }
};

/// A step that writes given bytes at given places.
struct writer {
  struct write {
    std::size_t at;
    unsigned char value;
  };
  std::array<std::byte, 256> bytes;
  std::vector<write> writes;

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

BOOST_AUTO_TEST_CASE(segments_that_differ_in_numbers_only_share_a_line) {
  std::ostringstream out;
  report::segment_table<with_segments>(out);
  BOOST_TEST(out.str() == R"(segment                            boundary   not stored     recomputed
------------------------------------------------------------------------------------
block.8.ff ... block.10.ff   3 x      128 B     1.00 KiB   3 operations   1.00 kFLOP
block.8.ff.in                          64 B        512 B    1 operation     500 FLOP
block.9.ff.in                          64 B        512 B   2 operations     500 FLOP
block.10.gg                           128 B     1.00 KiB   3 operations   1.00 kFLOP
)");
}

BOOST_AUTO_TEST_CASE(a_step_checkpointed_beside_plain) {
  std::ostringstream out;
  report::step_table<with_segments, without_segments>(out, report::touched{4096, 16320});
  BOOST_TEST(out.str() == R"(a step                        ckpt        plain   ckpt / plain
--------------------------------------------------------------
stored for backward       1.50 KiB     3.00 KiB           50 %
peak: the arena           4.00 KiB     16.0 KiB           25 %
  predicted, in bytes        4,096       16,384           25 %
  touched, in bytes          4,096       16,320           25 %
parameters                8.00 KiB     8.00 KiB          100 %
gradients                 8.00 KiB     8.00 KiB          100 %
memory in all             20.0 KiB     32.0 KiB           62 %
forward                 1.00 MFLOP   1.00 MFLOP          100 %
backward                2.00 MFLOP   2.00 MFLOP          100 %
recomputed               500 kFLOP   1.00 kFLOP
work in all             3.50 MFLOP   3.00 MFLOP          117 %
)");
}

BOOST_AUTO_TEST_CASE(touched_lines_are_counted_once_and_whole) {
  BOOST_TEST(touched_by({}) == 0);
  BOOST_TEST(touched_by({{0, 1}, {63, 1}}) == 64);
  BOOST_TEST(touched_by({{63, 1}, {64, 1}, {255, 1}}) == 192);
}

BOOST_AUTO_TEST_CASE(no_written_value_hides_behind_a_pattern) {
  for (int value = 0; value < 256; ++value) {
    BOOST_TEST(touched_by({{100, static_cast<unsigned char>(value)}}) == 64);
  }
}

BOOST_AUTO_TEST_CASE(a_step_stays_in_its_arena_and_fills_it) {
  check_touched<program<loss>>();
  check_touched<program<loss, plain>>();
}

BOOST_AUTO_TEST_SUITE_END()
