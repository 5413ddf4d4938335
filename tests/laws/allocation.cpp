// A step allocates nothing: counted in operator new, and in malloc underneath it.
#include "../models.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdlib>
#include <new>
#include <vector>

namespace {
long allocations = 0;
}

// glibc's own names, behind which malloc can be replaced. Under sanitizers malloc is theirs.
#if !defined(__SANITIZE_ADDRESS__)
extern "C" {
void* __libc_malloc(std::size_t size);
void* malloc(std::size_t size) {
  ++allocations;
  return __libc_malloc(size);
}
}
#endif

void* operator new(std::size_t size) {
  ++allocations;
  if (void* at = std::malloc(size)) return at;
  throw std::bad_alloc();
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  ++allocations;
  const auto unit = static_cast<std::size_t>(alignment);
  if (void* at = std::aligned_alloc(unit, (size + unit - 1) / unit * unit)) return at;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* at) noexcept { std::free(at); }
[[gnu::noinline]] void operator delete(void* at, std::size_t) noexcept { std::free(at); }
[[gnu::noinline]] void operator delete(void* at, std::align_val_t) noexcept { std::free(at); }
[[gnu::noinline]] void operator delete(void* at, std::size_t, std::align_val_t) noexcept { std::free(at); }

BOOST_AUTO_TEST_SUITE(allocation)

BOOST_AUTO_TEST_CASE(allocations_are_counted) {
  const long before = allocations;
  std::vector<int> some(100);
  BOOST_TEST(allocations > before);
  BOOST_TEST(some.size() == 100U);
#if !defined(__SANITIZE_ADDRESS__)
  const long between = allocations;
  void* volatile at = std::malloc(100);
  BOOST_TEST(allocations == between + 1);
  std::free(at);
#endif
}

template <auto Model>
void allocates_nothing() {
  using namespace cairn;
  program<Model> step;
  step.init(seed{1});
  adamw optimizer{step, {.lr = 1e-3}};
  const std::vector<float> x(8 * 12, 0.5F);
  const std::vector<std::int32_t> y(8, 2);
  static_cast<void>(step.value_and_grad(bind<"x">(x), bind<"y">(y)));
  const long before = allocations;
  static_cast<void>(step.value_and_grad(bind<"x">(x), bind<"y">(y)));
  optimizer.update();
  BOOST_TEST(allocations == before);
}

BOOST_AUTO_TEST_CASE(a_step_allocates_nothing) {
  allocates_nothing<models::three_deep>();
  allocates_nothing<models::attention>();
  allocates_nothing<models::two_results>();
  allocates_nothing<models::with_outputs>();
}

BOOST_AUTO_TEST_CASE(an_epoch_of_shuffled_batches_allocates_nothing) {
  using namespace cairn;
  data::dataset set{.images = std::vector<float>(100 * 12, 0.25F),
                    .labels = std::vector<std::int32_t>(100, 3),
                    .features = 12,
                    .classes = 5};
  program<models::one> step;
  step.init(seed{1});
  sgd optimizer{step, {.lr = 1e-3}};
  auto batches = data::batches<8>(set, seed{1}, 0);
  const long before = allocations;
  for (auto [x, y] : batches) {
    static_cast<void>(step.value_and_grad(bind<"x">(x), bind<"y">(y)));
    optimizer.update();
  }
  BOOST_TEST(allocations == before);
}

BOOST_AUTO_TEST_SUITE_END()
