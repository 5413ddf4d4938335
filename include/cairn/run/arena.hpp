// The memory of a program: a block that the program allocates, or memory of the caller. Predictors and optimizers hold
// shares in this memory.
#pragma once

#include "cairn/base/refuse.hpp"
#include "cairn/base/text.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <stdexcept>
#include <utility>

namespace cairn {

/// Alignment of a program's memory, in bytes. 64 is the size of a cache line and of the widest register.
inline constexpr std::size_t memory_alignment = 64;

/// Thrown if the memory given to a program is too small, not aligned, or in use.
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
/// Throws memory_error if the caller's memory has fewer than `size` bytes, or does not start at a multiple of 64.
inline void check_memory(std::span<std::byte> given, std::size_t size) {
  if (given.size() < size) refuse(memory_error("bytes of memory", size, given.size()));
  if (given.data() == nullptr && size > 0) refuse(memory_error("bytes of memory, whose address is null", size, 0));
  const auto remainder = reinterpret_cast<std::uintptr_t>(given.data()) % memory_alignment;
  if (remainder != 0) refuse(memory_error("bytes past a multiple of 64 in the address of memory", 0, remainder));
}

/// The status of a program's parameters. Predictors and optimizers that share the parameters must know this status.
/// - `not_known_written`: no parameter is known to have been written.
/// - `written`: `init`, `set`, `load` or a training step wrote parameters.
/// - `half_updated`: an exception left a training step while the step updated parameters.
/// - `ownerless`: the program was destroyed or assigned over.
enum class parameter_status : std::uint8_t { not_known_written, written, half_updated, ownerless };

/// Throws program_error if parameters are half updated or have no owner.
inline void check_status(parameter_status status) {
  if (status == parameter_status::half_updated)
    refuse(
        program_error("cairn: an exception left a step of this program while it updated parameters: some are "
                      "updated, others are not; call init(seed{1}), or load a file"));
  if (status == parameter_status::ownerless)
    refuse(
        program_error("cairn: the program of this predictor or optimizer was destroyed or assigned over; make "
                      "another one of a program that lives"));
}

/// The record of a block of memory. A record counts the holders of the block, and tells them the status of the
/// parameters. The record and the allocated bytes behind it are freed when neither the owner nor a share is left. A
/// predictor on another thread therefore never reads freed memory.
class alignas(memory_alignment) memory_record {
 public:
  /// Allocates a record with `size` bytes behind it.
  static memory_record* with_bytes(std::size_t size) {
    return new (::operator new(sizeof(memory_record) + size, std::align_val_t{memory_alignment})) memory_record;
  }
  std::byte* bytes() { return reinterpret_cast<std::byte*>(this + 1); }

  parameter_status status() const { return status_.load(std::memory_order_acquire); }
  void set_status(parameter_status status) { status_.store(status, std::memory_order_release); }
  /// Releases the block in the name of its owner. From now on, shares see that the parameters have no owner.
  void release_by_owner() {
    set_status(parameter_status::ownerless);
    release();
  }
  void retain() { holders_.fetch_add(1, std::memory_order_relaxed); }
  void release() {
    if (holders_.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
    this->~memory_record();
    ::operator delete(this, std::align_val_t{memory_alignment});
  }

 private:
  std::atomic<int> holders_{1};  // the owner is the first holder
  std::atomic<parameter_status> status_{parameter_status::not_known_written};
};

/// A share in the memory of a program. Predictors and optimizers hold shares. A share follows the memory when the
/// program is moved.
class memory_share {
 public:
  memory_share() = default;
  explicit memory_share(memory_record* record) : record_(record) {
    if (record_ != nullptr) record_->retain();
  }
  memory_share(const memory_share& other) : memory_share(other.record_) {}
  memory_share(memory_share&& other) noexcept : record_(std::exchange(other.record_, nullptr)) {}
  memory_share& operator=(memory_share other) noexcept {
    std::swap(record_, other.record_);
    return *this;
  }
  ~memory_share() {
    if (record_ != nullptr) record_->release();
  }

  /// Throws program_error if the program was destroyed or assigned over, or is half updated.
  void check() const {
    if (record_ != nullptr) check_status(record_->status());
  }
  /// Returns true if parameters are known to be written. Writes through views are not known.
  bool is_written() const { return record_ != nullptr && record_->status() == parameter_status::written; }

 private:
  memory_record* record_ = nullptr;
};

/// Returns how many bytes two parts of memory share.
inline std::size_t common_bytes(std::span<const std::byte> a, std::span<const std::byte> b) {
  const auto begin = [](std::span<const std::byte> s) { return reinterpret_cast<std::uintptr_t>(s.data()); };
  const auto first = std::max(begin(a), begin(b)), last = std::min(begin(a) + a.size(), begin(b) + b.size());
  return first < last ? last - first : 0;
}
/// Throws memory_error if `bytes`, the number of bytes that the caller's memory shares with memory in use, is not 0.
inline void refuse_shared_bytes(std::size_t bytes) {
  if (bytes > 0) refuse(memory_error("bytes of memory that the program or predictor already uses", 0, bytes));
}

/// A block of zeroed, aligned bytes. The block allocates and owns the bytes, or the bytes are the caller's. A block
/// that was moved from has no bytes.
class memory_block {
 public:
  explicit memory_block(std::size_t size) : record_(detail::memory_record::with_bytes(size)), at_(record_->bytes()) {
    std::fill_n(at_, size, std::byte{});
  }
  /// Takes the first `size` bytes of the caller's memory, which must outlive the block. Throws memory_error if the
  /// memory is too small or not aligned. In this case no byte of the memory is changed.
  memory_block(std::span<std::byte> given, std::size_t size) : at_(size == 0 ? no_bytes : given.data()) {
    detail::check_memory(given, size);
    std::fill_n(at_, size, std::byte{});
  }
  memory_block(memory_block&& other) noexcept
      : record_(std::exchange(other.record_, nullptr)),
        at_(std::exchange(other.at_, nullptr)),
        status_(other.status_) {}
  memory_block& operator=(memory_block other) noexcept {
    std::swap(record_, other.record_);
    std::swap(at_, other.at_);
    std::swap(status_, other.status_);
    return *this;
  }
  ~memory_block() {
    if (record_ != nullptr) record_->release_by_owner();
  }

  /// Returns true if the block has a record. A block that allocated its bytes has a record from the beginning.
  bool has_record() const { return record_ != nullptr; }
  /// Returns a share. Memory of the caller has no record at first. The record is allocated when the first share is
  /// made with `may_allocate`. If there is no record and `may_allocate` is false, the share is empty and sees no
  /// status. Several threads may make shares at once.
  detail::memory_share share(bool may_allocate) {
    std::atomic_ref record(record_);
    detail::memory_record* there = record.load(std::memory_order_acquire);
    if (there == nullptr && may_allocate) {
      detail::memory_record* const made = detail::memory_record::with_bytes(0);
      made->set_status(status_);
      if (record.compare_exchange_strong(there, made, std::memory_order_acq_rel)) there = made;
      else made->release();
    }
    return detail::memory_share(there);
  }

  /// Sets the status, for the owner and for all shares.
  void set_status(detail::parameter_status status) {
    status_ = status;
    if (record_ != nullptr) record_->set_status(status);
  }
  /// Notes that a parameter was written. If parameters are half updated, the status stays `half_updated`.
  void note_write() {
    if (status_ == detail::parameter_status::not_known_written) set_status(detail::parameter_status::written);
  }
  bool is_written() const { return status_ == detail::parameter_status::written; }

  /// Throws program_error if the block was moved from.
  void check() const {
    if (at_ == nullptr) refuse(program_error("cairn: this program or predictor was moved from, and has no memory"));
  }
  /// Throws program_error if parameters are half updated. The owner never sees the status `ownerless`.
  void check_status() const { detail::check_status(status_); }
  std::byte* data() const { return at_; }

 private:
  alignas(memory_alignment) static inline std::byte no_bytes[memory_alignment] = {};

  // The record lies in front of the bytes if the block allocated them. For the caller's memory, `record_` is null until
  // the first share allocates a record.
  detail::memory_record* record_ = nullptr;
  std::byte* at_;
  // The owner's copy of the status. If there is no record, it is the only one.
  detail::parameter_status status_ = detail::parameter_status::not_known_written;
};
}  // namespace detail

}  // namespace cairn
