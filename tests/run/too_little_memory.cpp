// What a program does if the system has no more memory: after `load` has thrown, nothing has changed, and after `init`
// has thrown, the program refuses its use. The test ends each call at each of its allocations.
#include <boost/test/unit_test.hpp>
#include <cairn/cairn.hpp>
#include <cairn/file/saving.hpp>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

#include "run/folder.hpp"

namespace {
/// Allocations that succeed before the others fail. If the number is negative, all succeed.
thread_local long allocations_left = -1;
}  // namespace

void* operator new(std::size_t size) {
  if (allocations_left == 0) throw std::bad_alloc();
  if (allocations_left > 0) --allocations_left;
  if (void* const at = std::malloc(size)) return at;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* at) noexcept { std::free(at); }
[[gnu::noinline]] void operator delete(void* at, std::size_t) noexcept { std::free(at); }

namespace {

using namespace cairn;

/// Calls `call` with room for 0, 1, 2 ... allocations, until it needs no more. Calls after(has_thrown) after each call.
/// Returns the number of calls that threw.
long end_at_each_allocation(auto call, auto after) {
  for (long count = 0;; ++count) {
    bool has_thrown = false;
    allocations_left = count;
    try {
      call();
    } catch (const std::bad_alloc&) {
      has_thrown = true;
    }
    allocations_left = -1;
    after(has_thrown);
    if (!has_thrown) return count;
  }
}
template <class Program>
std::vector<float> all_numbers(Program& step) {
  std::vector<float> all;
  step.for_each_parameter(
      [&](std::string_view, auto view) { all.insert(all.end(), view.data(), view.data() + view.size()); });
  return all;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(too_little_memory)

BOOST_AUTO_TEST_CASE(a_load_without_memory_changes_nothing) {
  constexpr auto model = input<"x", 2, 3> | nn::linear<"fc1", 4> | nn::relu | nn::linear<"fc2", 5>;
  using trained = program<mean(square(model)), update<adamw_options{}>>;
  const folder here;
  const std::string whole = (here.path / "whole.safetensors").string();
  const std::string others = (here.path / "others.safetensors").string();
  const selection transposed{.names = {{.name = "fc*.weight", .transposed = true}}};
  trained step;
  step.init(seed{1});
  step.save(whole);
  step.save(others, transposed);
  const std::vector<float> saved = all_numbers(step);
  step.init(seed{2});
  const std::vector<float> before = all_numbers(step);
  const auto check = [&](auto load) {
    step.init(seed{2});
    const long count = end_at_each_allocation(
        load, [&](bool has_thrown) { BOOST_TEST(all_numbers(step) == (has_thrown ? before : saved)); });
    BOOST_TEST(count > 10);
  };
  check([&] { step.load(whole); });
  check([&] { step.load(whole, partly{}); });
  check([&] { step.load(others, transposed); });
}

BOOST_AUTO_TEST_CASE(a_program_that_is_half_drawn_refuses_its_use) {
  constexpr auto loss = mean(param<"first", 3>) + mean(param_from<"wide", initial::orthogonal(), 2, 3>) +
                        mean(param_from<"tall", initial::orthogonal(), 3, 2>);
  const folder here;
  program<loss, update<sgd_options{}>> step;
  predictor<loss> predict{step};
  const auto check = [&](bool has_thrown) {
    if (has_thrown) {
      BOOST_CHECK_THROW(step.train(), program_error);
      BOOST_CHECK_THROW(step.save(here.path / "half.safetensors"), program_error);
      BOOST_CHECK_THROW(predict(), program_error);
    } else {
      static_cast<void>(step.train());
      static_cast<void>(predict());
    }
  };
  BOOST_TEST(end_at_each_allocation([&] { step.init(seed{1}); }, check) == 3);
  // The parameters were drawn before.
  BOOST_TEST(end_at_each_allocation([&] { step.init(seed{2}); }, check) == 3);
}

BOOST_AUTO_TEST_SUITE_END()
