// Scans with snapshots in memory that the caller gives.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cairn/cairn.hpp>
#include <cairn/gradcheck.hpp>
#include <cairn/report/account.hpp>
#include <cairn/report/dump.hpp>
#include <cairn/report/tables.hpp>
#include <cstring>
#include <sstream>
#include <vector>

using namespace cairn;

namespace {

constexpr int T = 23, P = 4, S = 3, rows = 6, width = 8;
constexpr std::int64_t state_bytes = rows * width * 4, outer = (T + P - 1) / P - 1;
constexpr auto xs = input<"xs", T, rows, width>;
constexpr auto cell = [](auto h, auto x) {
  const auto z = (h | nn::linear<"hidden", width>)+x;
  return std::tuple{tanh(z), square(z)};
};
template <class Policy>
constexpr auto loss = [] {
  const auto [h, zs] = scan<T, "step", Policy>(cell, carried(zeros<rows, width>), each(xs));
  return mean(square(h)) + mean(zs);
}();
using in_arena = two_level<P, S>;
using elsewhere = two_level<P, S, snapshots::elsewhere>;
using step_there = program<loss<elsewhere>>;
using step_here = program<loss<in_arena>>;

// The arena is smaller by the snapshots that lie elsewhere, and nothing else changes.
static_assert(step_there::memory().elsewhere_bytes == outer * state_bytes && step_here::memory().elsewhere_bytes == 0);
static_assert(step_here::memory().peak_bytes - step_there::memory().peak_bytes == outer * state_bytes);
static_assert(step_here::memory().stored_bytes - step_there::memory().stored_bytes == outer * state_bytes);
static_assert(step_here::memory().total_bytes() - step_there::memory().total_bytes() == outer * state_bytes);
static_assert(step_there::loops() == step_here::loops() && step_there::flops().total() == step_here::flops().total());
// Snapshots within a period are not stored at the turn.
static_assert(step_here::memory().stored_bytes == program<loss<two_level<P, 1>>>::memory().stored_bytes);
// If there is only one period, no snapshots lie elsewhere. A forward pass alone has no snapshots elsewhere either.
static_assert(program<loss<two_level<T, 2, snapshots::elsewhere>>>::memory().elsewhere_bytes == 0);
static_assert(predictor<loss<elsewhere>>::memory().elsewhere_bytes == 0);

/// Memory of the size that a program asks for. It is filled with other bytes before.
class given {
 public:
  explicit given(std::int64_t bytes) : size_(static_cast<std::size_t>(bytes)), at_(size_ + 64) {
    std::memset(at_.data(), 0x7f, size_ + 64);
  }
  std::span<std::byte> bytes() const { return {at_.data(), size_}; }
  /// Returns how many bytes were written, and checks that no byte behind the end was written.
  std::size_t written() const {
    std::size_t n = 0;
    for (std::size_t i = 0; i < size_; ++i) n += at_.data()[i] != std::byte{0x7f};
    for (std::size_t i = size_; i < size_ + 64; ++i) BOOST_TEST((at_.data()[i] == std::byte{0x7f}));
    return n;
  }

 private:
  std::size_t size_;
  cairn::detail::memory_block at_;
};

const std::vector<float> x(T* rows* width, 0.3F);

template <auto Loss, class... Options>
auto numbers_after(int steps, const auto&... inputs) {
  using step_type = program<Loss, Options...>;
  const given memory(step_type::memory().elsewhere_bytes);
  step_type step;
  step.keep_snapshots_in(memory.bytes());
  step.init(seed{1});
  std::vector<typename step_type::real_type> all;
  for (int i = 0; i < steps; ++i) all = {step.value_and_grad(inputs...)};
  step.for_each_gradient([&](std::string_view, auto g) { all.insert(all.end(), g.data(), g.data() + g.size()); });
  memory.written();
  return all;
}
template <class Policy, class... Options>
auto gradients_of(int steps = 1) {
  return numbers_after<loss<Policy>, Options...>(steps, bind<"xs">(x));
}

// Scans in sequence. One is in a segment. The other draws random numbers and has a state.
constexpr auto within = [](auto h) { return tanh((h | nn::linear<"in", width>) | nn::dropout<"drop", 0.2>); };
constexpr auto counting = [](auto h) {
  constexpr auto mass = state<"mass", initial::constant(0.5)>;
  return updated(sin(h * param<"scale", width>) + detach(mass), mass, 0.5_c * mass + mean(h));
};
template <class Policy>
constexpr auto loop_in_segment =
    ckpt<"all">([](auto h) { return tanh(scan<7, "first", Policy>(within, carried(h))); }, input<"h", rows, width>);
template <class Policy>
constexpr auto loops = mean(square(scan<9, "second", Policy>(counting, carried(loop_in_segment<Policy>))));

// Gradients that a predictor computes as values.
template <class Policy>
constexpr auto bent = scan<7, "step", Policy>([](auto h) { return sin(h) * 1.1_c; }, carried(input<"x", 5>));
template <class Policy>
constexpr auto slope = grad(sum(bent<Policy>), input<"x", 5>);

}  // namespace

BOOST_AUTO_TEST_SUITE(scan_elsewhere)

BOOST_AUTO_TEST_CASE(the_place_of_snapshots_changes_no_bit) {
  const auto expected = gradients_of<store_all>();
  BOOST_TEST((gradients_of<in_arena>() == expected));
  BOOST_TEST((gradients_of<elsewhere>() == expected));
  BOOST_TEST((gradients_of<elsewhere>(3) == expected));
  BOOST_TEST((gradients_of<elsewhere, plain>() == expected));
  BOOST_TEST((gradients_of<two_level<1, 1, snapshots::elsewhere>>() == expected));
  BOOST_TEST((gradients_of<two_level<T, 2, snapshots::elsewhere>>() == expected));
  BOOST_TEST((gradients_of<elsewhere, wrt<"xs">>() == gradients_of<store_all, wrt<"xs">>()));
}
BOOST_AUTO_TEST_CASE(scans_in_sequence_and_in_segments) {
  using there = two_level<3, 2, snapshots::elsewhere>;
  using here = two_level<3, 2>;
  static_assert(program<loops<there>>::memory().elsewhere_bytes == 2 * state_bytes + 2 * (state_bytes + 64));
  static_assert(program<loops<there>, plain>::memory().elsewhere_bytes == 2 * state_bytes + 2 * (state_bytes + 64));
  static_assert(program<loops<there>>::loops() == program<loops<here>>::loops());
  const std::vector<float> h(rows * width, 0.1F);
  const auto expected = numbers_after<loops<store_all>>(2, bind<"h">(h));
  BOOST_TEST((numbers_after<loops<here>>(2, bind<"h">(h)) == expected));
  BOOST_TEST((numbers_after<loops<there>>(2, bind<"h">(h)) == expected));
  BOOST_TEST((numbers_after<loops<there>, plain>(2, bind<"h">(h)) == expected));
}
BOOST_AUTO_TEST_CASE(all_that_is_planned_is_written) {
  const given memory(step_there::memory().elsewhere_bytes);
  step_there step;
  step.keep_snapshots_in(memory.bytes());
  step.init(seed{1});
  BOOST_TEST(memory.written() == 0);
  BOOST_TEST(report::touched_bytes(step, bind<"xs">(x)) == step.memory().peak_bytes);
  BOOST_TEST(memory.written() == outer * state_bytes);
}
BOOST_AUTO_TEST_CASE(a_step_without_memory_for_snapshots_is_refused) {
  const given memory(step_there::memory().elsewhere_bytes);
  const std::span bytes = memory.bytes();
  step_there step;
  step.init(seed{1});
  BOOST_CHECK_THROW(step.value_and_grad(bind<"xs">(x)), program_error);
  BOOST_TEST(step.random().step == 0);
  BOOST_CHECK_EXCEPTION(
      step.keep_snapshots_in(bytes.first(bytes.size() - 1)), memory_error,
      [&](const memory_error& e) { return e.expected == bytes.size() && e.actual == bytes.size() - 1; });
  BOOST_CHECK_EXCEPTION(step.keep_snapshots_in(std::span(bytes.data() + 4, bytes.size())), memory_error,
                        [](const memory_error& e) { return e.expected == 0 && e.actual == 4; });
  BOOST_CHECK_THROW(step.value_and_grad(bind<"xs">(x)), program_error);
  step.keep_snapshots_in(bytes);
  const float loss = step.value_and_grad(bind<"xs">(x));
  // The program keeps its memory if other memory is refused, and if the program moves.
  BOOST_CHECK_THROW(step.keep_snapshots_in({}), memory_error);
  step_there moved = std::move(step);
  moved.init(seed{1});
  BOOST_TEST(moved.value_and_grad(bind<"xs">(x)) == loss);
  BOOST_CHECK_THROW(step.keep_snapshots_in(bytes), program_error);
  // No memory is needed if no snapshots lie elsewhere.
  step_here in_memory;
  in_memory.keep_snapshots_in({});
  in_memory.init(seed{1});
  BOOST_TEST(in_memory.value_and_grad(bind<"xs">(x)) == loss);
}
BOOST_AUTO_TEST_CASE(memory_in_use_is_refused) {
  constexpr auto own = static_cast<std::size_t>(step_there::memory().total_bytes());
  const given memory(own + step_there::memory().elsewhere_bytes);
  step_there step{memory.bytes().first(own)};
  step.init(seed{1});
  const std::span parameters = std::as_writable_bytes(step.parameters());
  const std::vector before(parameters.begin(), parameters.end());
  const auto refuses = [&](std::size_t begin, std::size_t common) {
    BOOST_CHECK_EXCEPTION(step.keep_snapshots_in(memory.bytes().subspan(begin)), memory_error,
                          [&](const memory_error& e) { return e.expected == 0 && e.actual == common; });
  };
  BOOST_CHECK_THROW(step.keep_snapshots_in(memory.bytes()), memory_error);
  refuses(own - 64, 64);
  BOOST_TEST(std::ranges::equal(parameters, before));
  BOOST_CHECK_THROW(step.value_and_grad(bind<"xs">(x)), program_error);
  const std::span snapshots = memory.bytes().subspan(own);
  step.keep_snapshots_in(snapshots);
  step.keep_snapshots_in(snapshots);
  static_cast<void>(step.value_and_grad(bind<"xs">(x)));
  const std::span numbers(reinterpret_cast<float*>(snapshots.data()), std::size(x));
  BOOST_CHECK_THROW(static_cast<void>(step.value_and_grad(bind<"xs">(numbers))), extent_error);
}
BOOST_AUTO_TEST_CASE(memory_may_change_between_steps) {
  const given memory(step_there::memory().elsewhere_bytes), other(step_there::memory().elsewhere_bytes);
  step_there step;
  step.init(seed{1});
  step.keep_snapshots_in(memory.bytes());
  const float loss = step.value_and_grad(bind<"xs">(x));
  step.keep_snapshots_in(other.bytes());
  BOOST_TEST(step.value_and_grad(bind<"xs">(x)) == loss);
  BOOST_TEST(other.written() == memory.written());
}
BOOST_AUTO_TEST_CASE(gradients_follow_finite_differences) {
  const std::vector<double> x(T * rows * width, 0.3);
  BOOST_TEST((gradcheck<loss<elsewhere>>(seed{1}, bind<"xs">(x)).relative) < 1e-6);
}
BOOST_AUTO_TEST_CASE(a_predictor_of_gradients) {
  using policy = two_level<2, 1, snapshots::elsewhere>;
  program<sum(square(param<"x", 5>))> nothing;
  nothing.init(seed{1});
  predictor<slope<policy>> there{nothing};
  predictor<slope<store_all>> here{nothing};
  const given memory(there.memory().elsewhere_bytes);
  const std::vector<float> at{0.1F, -0.2F, 0.3F, 0.4F, 1.0F};
  BOOST_CHECK_THROW(there(bind<"x">(at)), program_error);
  there.keep_snapshots_in(memory.bytes());
  const auto slopes = there(bind<"x">(at)), expected = here(bind<"x">(at));
  BOOST_TEST(std::equal(slopes.data(), slopes.data() + 5, expected.data()));
  BOOST_TEST(memory.written() > 0);
}
BOOST_AUTO_TEST_CASE(reports_show_snapshots_elsewhere) {
  std::ostringstream text;
  dump::all<loss<elsewhere>>(text);
  BOOST_TEST(text.str().find("elsewhere + 0") != std::string::npos);
  BOOST_TEST(text.str().find(", 960 elsewhere") != std::string::npos);
  report::step_table<step_there, step_here>(text);
  BOOST_TEST(text.str().find("snapshots elsewhere") != std::string::npos);
  std::int64_t stored = 0;
  const report::account a = report::account_of<step_there>();
  for (const report::value& v : a.values) stored += v.stored ? v.bytes : 0;
  BOOST_TEST(stored == a.memory.stored_bytes);
}

BOOST_AUTO_TEST_SUITE_END()
