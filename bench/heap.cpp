// A malloc that counts the live bytes and their peak. It is preloaded into every contestant of a scenario, so that C++
// and Python are measured in the same way. glibc's own functions do the work. A block counts as many bytes as it can
// hold.
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <malloc.h>

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
void __libc_free(void*);
}

namespace {

std::atomic<long> live, peak;

void* counted(void* block) {
  if (!block) return block;
  const long size = static_cast<long>(malloc_usable_size(block));
  const long now = live.fetch_add(size, std::memory_order_relaxed) + size;
  long most = peak.load(std::memory_order_relaxed);
  while (now > most && !peak.compare_exchange_weak(most, now, std::memory_order_relaxed)) {
  }
  return block;
}

void forget(void* block) {
  if (block) live.fetch_sub(static_cast<long>(malloc_usable_size(block)), std::memory_order_relaxed);
}

}  // namespace

extern "C" {

long heap_live() { return live; }
long heap_peak() { return peak; }
void heap_peak_reset() { peak = live.load(); }

void* malloc(std::size_t n) { return counted(__libc_malloc(n)); }
void* calloc(std::size_t n, std::size_t each) { return counted(__libc_calloc(n, each)); }
void* realloc(void* block, std::size_t n) {
  const std::size_t before = block ? malloc_usable_size(block) : 0;
  void* const moved = __libc_realloc(block, n);
  if (moved || n == 0) live.fetch_sub(static_cast<long>(before), std::memory_order_relaxed);
  return counted(moved);
}
void* memalign(std::size_t alignment, std::size_t n) { return counted(__libc_memalign(alignment, n)); }
void* aligned_alloc(std::size_t alignment, std::size_t n) { return memalign(alignment, n); }
void* valloc(std::size_t n) { return memalign(4096, n); }
int posix_memalign(void** block, std::size_t alignment, std::size_t n) {
  void* const made = memalign(alignment, n);
  if (!made) return ENOMEM;
  *block = made;
  return 0;
}
void free(void* block) {
  forget(block);
  __libc_free(block);
}
}
