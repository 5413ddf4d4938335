// Memory of a program: a block of its own, or the caller's.
#pragma once

#include "cairn/core/refuse.hpp"
#include "cairn/core/text.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <stdexcept>
#include <utility>

namespace cairn {

/// Bytes to which the memory of a program is aligned: a cache line, and the widest register.
inline constexpr std::size_t memory_alignment = 64;

/// Memory given to a program that is too small, not aligned, or in use.
struct memory_error : std::invalid_argument {
  [[gnu::cold]] memory_error(std::string_view what, std::size_t wanted, std::size_t given)
      : std::invalid_argument(
            detail::text_of({"cairn: ", what, ": expected ", detail::text_of(static_cast<std::int64_t>(wanted)),
                             ", got ", detail::text_of(static_cast<std::int64_t>(given))})),
        expected(wanted),
        actual(given) {}
  std::size_t expected, actual;
};

namespace detail {
/// Throws memory_error where the caller's memory has fewer bytes, or does not start at a multiple of 64.
inline void check_memory(std::span<std::byte> given, std::size_t size) {
  if (given.size() < size) refuse(memory_error("bytes of memory", size, given.size()));
  const auto remainder = reinterpret_cast<std::uintptr_t>(given.data()) % memory_alignment;
  if (remainder != 0) refuse(memory_error("bytes past a multiple of 64 in the address of memory", 0, remainder));
}
/// Returns how many bytes two parts of memory share.
inline std::size_t common_bytes(std::span<const std::byte> a, std::span<const std::byte> b) {
  const auto begin = [](std::span<const std::byte> s) { return reinterpret_cast<std::uintptr_t>(s.data()); };
  const auto first = std::max(begin(a), begin(b)), last = std::min(begin(a) + a.size(), begin(b) + b.size());
  return first < last ? last - first : 0;
}
/// Throws memory_error where the caller's memory shares bytes with memory that a program or predictor uses.
inline void check_shared(std::size_t bytes) {
  if (bytes > 0) refuse(memory_error("bytes of memory that the program or predictor already uses", 0, bytes));
}
}  // namespace detail

/// Zeroed bytes, aligned: allocated and owned, or the caller's. What is moved from has none.
class memory_block {
 public:
  explicit memory_block(std::size_t size)
      : owned_(static_cast<std::byte*>(::operator new(size, std::align_val_t{memory_alignment}))), at_(owned_.get()) {
    std::fill_n(at_, size, std::byte{});
  }
  /// The first `size` bytes of memory that outlives this. Throws memory_error, and then touches nothing.
  memory_block(std::span<std::byte> given, std::size_t size) : at_(given.data()) {
    detail::check_memory(given, size);
    std::fill_n(at_, size, std::byte{});
  }
  memory_block(memory_block&& other) noexcept
      : owned_(std::move(other.owned_)), at_(std::exchange(other.at_, nullptr)) {}
  memory_block& operator=(memory_block&& other) noexcept {
    owned_ = std::move(other.owned_);
    at_ = std::exchange(other.at_, nullptr);
    return *this;
  }

  /// Throws program_error where it was moved from.
  void check() const {
    if (at_ == nullptr) refuse(program_error("cairn: this program or predictor was moved from, and has no memory"));
  }
  std::byte* data() const { return at_; }

 private:
  struct release {
    void operator()(std::byte* bytes) const { ::operator delete(bytes, std::align_val_t{memory_alignment}); }
  };
  std::unique_ptr<std::byte, release> owned_;
  std::byte* at_;
};

}  // namespace cairn
