// Counts calls of operator new and of the functions of C that allocate memory.
#include "counted.hpp"

#include <cerrno>
#include <cstdlib>
#include <new>

namespace {
thread_local long allocated = 0;
}  // namespace
long allocations() { return allocated; }

// The names by which glibc offers its own functions, so that the usual names can be replaced.
extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* at, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);

void* malloc(std::size_t size) {
  ++allocated;
  return __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) {
  ++allocated;
  return __libc_calloc(count, size);
}
void* realloc(void* at, std::size_t size) {
  ++allocated;
  return __libc_realloc(at, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  ++allocated;
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** at, std::size_t alignment, std::size_t size) {
  ++allocated;
  *at = __libc_memalign(alignment, size);
  return *at != nullptr ? 0 : ENOMEM;
}
}

void* operator new(std::size_t size) {
  ++allocated;
  if (void* at = std::malloc(size)) return at;
  throw std::bad_alloc();
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  ++allocated;
  const auto unit = static_cast<std::size_t>(alignment);
  if (void* at = std::aligned_alloc(unit, (size + unit - 1) / unit * unit)) return at;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* at) noexcept { std::free(at); }
[[gnu::noinline]] void operator delete(void* at, std::size_t) noexcept { std::free(at); }
[[gnu::noinline]] void operator delete(void* at, std::align_val_t) noexcept { std::free(at); }
[[gnu::noinline]] void operator delete(void* at, std::size_t, std::align_val_t) noexcept { std::free(at); }
