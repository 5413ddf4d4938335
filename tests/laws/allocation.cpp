// A step allocates nothing: counted in operator new, and in all that C has underneath it.
#include "../models.hpp"

#include <boost/test/unit_test.hpp>

#include <cerrno>
#include <cstdlib>
#include <new>
#include <vector>

namespace {
long allocations = 0;
}

// glibc's own names, behind which its functions can be replaced.
extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* at, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);

void* malloc(std::size_t size) {
  ++allocations;
  return __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) {
  ++allocations;
  return __libc_calloc(count, size);
}
void* realloc(void* at, std::size_t size) {
  ++allocations;
  return __libc_realloc(at, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  ++allocations;
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** at, std::size_t alignment, std::size_t size) {
  ++allocations;
  *at = __libc_memalign(alignment, size);
  return *at != nullptr ? 0 : ENOMEM;
}
}

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

/// What a call adds to the count.
template <class Call>
long counted(Call call) {
  const long before = allocations;
  call();
  return allocations - before;
}

BOOST_AUTO_TEST_CASE(allocations_are_counted) {
  void* volatile at = nullptr;  // or compilers would see that nobody reads it
  BOOST_TEST(counted([&] { at = std::malloc(100); }) == 1);
  BOOST_TEST(counted([&] { at = std::realloc(at, 200); }) == 1);
  std::free(at);
  BOOST_TEST(counted([&] { at = std::calloc(10, 10); }) == 1);
  std::free(at);
  BOOST_TEST(counted([&] { at = std::aligned_alloc(64, 128); }) == 1);
  std::free(at);
  void* aligned = nullptr;
  BOOST_TEST(counted([&] { static_cast<void>(posix_memalign(&aligned, 64, 128)); }) == 1);
  std::free(aligned);
  BOOST_TEST(counted([&] { at = new std::vector<int>(100); }) > 2);
  delete static_cast<std::vector<int>*>(at);
}

template <auto Model>
void allocates_nothing() {
  using namespace cairn;
  program<Model> step;
  step.init(seed{1});
  adamw optimizer{step, {.lr = 1e-3}};
  predictor<Model> value{step};
  const std::vector<float> x(8 * 12, 0.5F);
  const std::vector<std::int32_t> y(8, 2);
  const auto once = [&] {
    static_cast<void>(step.value_and_grad(bind<"x">(x), bind<"y">(y)));
    optimizer.update();
    static_cast<void>(value(bind<"x">(x), bind<"y">(y)));
  };
  once();
  BOOST_TEST(counted(once) == 0);
}

BOOST_AUTO_TEST_CASE(a_step_and_a_prediction_allocate_nothing) {
  allocates_nothing<models::three_deep>();
  allocates_nothing<models::attention>();
  allocates_nothing<models::two_results>();
  allocates_nothing<models::with_outputs>();
  allocates_nothing<models::dropped_in_nested>();
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
  BOOST_TEST(counted([&] {
               for (auto [x, y] : batches) {
                 static_cast<void>(step.value_and_grad(bind<"x">(x), bind<"y">(y)));
                 optimizer.update();
               }
             }) == 0);
}

BOOST_AUTO_TEST_SUITE_END()
