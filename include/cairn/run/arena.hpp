// The memory of a program: a block that the program allocates, or memory of the caller. Predictors and optimizers hold
// shares in this memory. A program can also share the memory of another program, which is then its lender.
#pragma once

#include "cairn/base/philox.hpp"
#include "cairn/base/refuse.hpp"
#include "cairn/base/text.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <stdexcept>
#include <string_view>
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
        program_error("cairn: an exception left a step of this program, or of a program that shares its memory, while "
                      "it updated parameters: some are updated, others are not; call init(seed{1}), or load a file"));
  if (status == parameter_status::ownerless)
    refuse(
        program_error("cairn: the program of this predictor or optimizer was destroyed or assigned over; make "
                      "another one of a program that lives"));
}

/// How far the training of a program has come:
/// - `random`: which random numbers the next training step draws,
/// - `steps`: how many training steps changed the parameters,
/// - `exchanged`: the name of the moment that has changed places with the parameters. It is empty if no moment has.
/// - `gradient_norm`: the norm of all gradients of the last training step, if the program computes the norm.
struct training_position {
  random_state random;
  std::int64_t steps = 0;
  std::string_view exchanged = {};
  double gradient_norm = 0;
};

/// Says what a program shares with its lender, in addition to memory.
struct shared_with_lender {
  bool position;        ///< true if both programs have one training_position
  bool all_parameters;  ///< true if the program has no parameters and states of its own
};

/// The record of a block of memory. A record counts the holders of the block, and tells them the status of the
/// parameters. The record and the allocated bytes behind it are freed when neither the owner nor a share is left. A
/// predictor on another thread therefore never reads freed memory.
///
/// The record of a program that shares memory holds a share in the record of its lender. Both programs see one status.
/// There is one exception: the program knows by itself whether its own parameters were written.
class alignas(memory_alignment) memory_record {
 public:
  /// Allocates a record with `size` bytes behind it.
  static memory_record* with_bytes(std::size_t size, auto... lender) {
    return new (::operator new(sizeof(memory_record) + size, std::align_val_t{memory_alignment}))
        memory_record(lender...);
  }
  memory_record() = default;
  memory_record(memory_record* lender, shared_with_lender shared)
      : lender_(lender),
        status_(shared.all_parameters ? parameter_status::written : parameter_status::not_known_written),
        shares_position_(shared.position) {
    lender->retain();
  }
  memory_record(const memory_record&) = delete;
  memory_record& operator=(const memory_record&) = delete;
  std::byte* bytes() { return reinterpret_cast<std::byte*>(this + 1); }

  [[gnu::noinline]] parameter_status status() const {
    const parameter_status own = status_.load(std::memory_order_acquire);
    if (lender_ == nullptr || own == parameter_status::ownerless) return own;
    const parameter_status lent = lender_->status();
    return lent > parameter_status::written ? lent : std::min(own, lent);
  }
  /// Sets the status for all programs that share these parameters. Parameters without an owner stay so.
  [[gnu::noinline]] void set_status(parameter_status status) {
    if (lender_ != nullptr && status != parameter_status::ownerless) lender_->set_status(status);
    if (lender_ != nullptr && status == parameter_status::half_updated) return;
    parameter_status now = status_.load(std::memory_order_relaxed);
    while (now != parameter_status::ownerless &&
           !status_.compare_exchange_weak(now, status, std::memory_order_acq_rel)) {
    }
  }
  /// Notes that a parameter was written. `is_lent` is true if the parameter lies in the memory of the lender. If
  /// parameters are half updated, the status stays `half_updated`.
  [[gnu::noinline]] void note_write(bool is_lent) {
    if (is_lent) return lender_->note_write(false);
    parameter_status expected = parameter_status::not_known_written;
    status_.compare_exchange_strong(expected, parameter_status::written, std::memory_order_acq_rel);
  }
  /// Returns true if the record has a lender and the program of the lender was destroyed or assigned over.
  bool has_lender() const { return lender_ != nullptr; }
  bool has_lost_lender() const { return lender_ != nullptr && lender_->status() == parameter_status::ownerless; }
  /// Notes that a callback runs in a training step, for all programs that share this memory.
  void set_in_callback(bool now) {
    if (lender_ != nullptr) lender_->set_in_callback(now);
    else in_callback_ = now;
  }
  bool in_callback() const { return lender_ != nullptr ? lender_->in_callback() : in_callback_; }
  /// Returns true if the program must not be used now.
  [[gnu::noinline]] bool refuses_use() const { return has_lost_lender() || in_callback(); }
  [[gnu::noinline]] training_position& position() { return shares_position_ ? lender_->position() : position_; }
  /// Releases the block in the name of its owner. From now on, shares see that the parameters have no owner.
  void release_by_owner() {
    set_status(parameter_status::ownerless);
    release();
  }
  void retain() { holders_.fetch_add(1, std::memory_order_relaxed); }
  [[gnu::noinline]] void release() {
    if (holders_.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
    memory_record* const lender = lender_;
    this->~memory_record();
    ::operator delete(this, std::align_val_t{memory_alignment});
    if (lender != nullptr) lender->release();
  }

 private:
  memory_record* const lender_ = nullptr;
  training_position position_;
  std::atomic<int> holders_{1};  // the owner is the first holder
  std::atomic<parameter_status> status_{parameter_status::not_known_written};
  bool shares_position_ = false, in_callback_ = false;
};
static_assert(sizeof(memory_record) == memory_alignment);

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
/// Returns true if the address lies in the memory.
inline bool contains(std::span<const std::byte> memory, const std::byte* at) {
  return common_bytes(memory, {at, 1}) > 0;
}
/// Throws memory_error if `bytes`, the number of bytes that the caller's memory shares with memory in use, is not 0.
inline void refuse_shared_bytes(std::size_t bytes) {
  if (bytes > 0) refuse(memory_error("bytes of memory that the program or predictor already uses", 0, bytes));
}

/// A block of zeroed, aligned bytes. The block allocates and owns the bytes, or the bytes are the caller's. A block
/// that was moved from has no bytes.
class memory_block {
 public:
  explicit memory_block(std::size_t size)
      : record_(detail::memory_record::with_bytes(size)), at_(record_->bytes()), size_(size) {
    std::fill_n(at_, size, std::byte{});
  }
  /// Allocates `size` bytes for a program that shares the memory of another program. If the lender's memory has no
  /// record, allocates one. Throws program_error if the lender was moved from or has lost its own lender.
  memory_block(std::size_t size, memory_block& lender, detail::shared_with_lender shared)
      : record_(detail::memory_record::with_bytes(size, lender.checked_record(), shared)),
        at_(record_->bytes()),
        size_(size) {
    std::fill_n(at_, size, std::byte{});
  }
  /// Takes the first `size` bytes of the caller's memory, which must outlive the block. Throws memory_error if the
  /// memory is too small or not aligned. In this case no byte of the memory is changed.
  memory_block(std::span<std::byte> given, std::size_t size) : at_(size == 0 ? no_bytes : given.data()), size_(size) {
    detail::check_memory(given, size);
    std::fill_n(at_, size, std::byte{});
  }
  memory_block(memory_block&& other) noexcept
      : record_(std::exchange(other.record_, nullptr)),
        at_(std::exchange(other.at_, nullptr)),
        size_(other.size_),
        status_(other.status_),
        position_(other.position_) {}
  memory_block& operator=(memory_block other) noexcept {
    std::swap(record_, other.record_);
    std::swap(at_, other.at_);
    std::swap(size_, other.size_);
    std::swap(status_, other.status_);
    std::swap(position_, other.position_);
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
  detail::memory_share share(bool may_allocate) { return detail::memory_share(record(may_allocate)); }

  // The functions below are called in many places, and seldom, so each is compiled once.

  /// Sets the status, for the owner and for all shares.
  [[gnu::noinline]] void set_status(detail::parameter_status status) {
    if (record_ != nullptr) record_->set_status(status);
    else status_ = status;
  }
  /// Notes that a number of the parameter at `at` was written. If parameters are half updated, the status stays
  /// `half_updated`.
  void note_write(const std::byte* at) {
    if (record_ != nullptr) record_->note_write(record_->has_lender() && !contains(bytes(), at));
    else if (status_ == detail::parameter_status::not_known_written) status_ = detail::parameter_status::written;
  }
  bool is_written() const { return status() == detail::parameter_status::written; }

  /// Notes that a callback runs in a training step. Until it ends, `check` throws for all programs that share the
  /// memory.
  void set_in_callback(bool now) {
    if (record_ != nullptr) record_->set_in_callback(now);
    else in_callback_ = now;
  }
  /// Throws program_error if the block was moved from, if it has lost its lender, or while a callback runs.
  void check() const {
    if (at_ == nullptr || (record_ != nullptr ? record_->refuses_use() : in_callback_)) refuse_use();
  }
  /// Throws program_error if parameters are half updated. The owner never sees the status `ownerless` of its own block.
  void check_status() const { detail::check_status(status()); }
  std::byte* data() const { return at_; }
  std::span<const std::byte> bytes() const { return {at_, size_}; }
  detail::training_position& position() { return record_ != nullptr ? record_->position() : position_; }
  const detail::training_position& position() const { return const_cast<memory_block&>(*this).position(); }

 private:
  alignas(memory_alignment) static inline std::byte no_bytes[memory_alignment] = {};

  [[noreturn, gnu::cold, gnu::noinline]] void refuse_use() const {
    if (at_ == nullptr) refuse(program_error("cairn: this program or predictor was moved from, and has no memory"));
    if (record_ == nullptr || !record_->has_lost_lender())
      refuse(program_error(
          "cairn: a callback gives the arrays of a microbatch, and cannot use the program whose step calls "
          "it, or a program that shares its memory"));
    refuse(
        program_error("cairn: the program whose memory this program shares was destroyed or assigned over; make "
                      "another one that shares the memory of a program that lives"));
  }
  detail::parameter_status status() const { return record_ != nullptr ? record_->status() : status_; }
  /// Returns the record. If there is none, allocates it if `may_allocate` is true, and else returns null.
  detail::memory_record* record(bool may_allocate) {
    std::atomic_ref record(record_);
    detail::memory_record* there = record.load(std::memory_order_acquire);
    if (there == nullptr && may_allocate) {
      detail::memory_record* const made = detail::memory_record::with_bytes(0);
      made->set_status(status_);
      made->position() = position_;
      if (record.compare_exchange_strong(there, made, std::memory_order_acq_rel)) there = made;
      else made->release();
    }
    return there;
  }
  detail::memory_record* checked_record() {
    check();
    return record(true);
  }

  // The record lies in front of the bytes if the block allocated them. For the caller's memory, `record_` is null until
  // the first share allocates a record.
  detail::memory_record* record_ = nullptr;
  std::byte* at_;
  std::size_t size_;
  // The status and the position of a block without a record. A record has its own.
  detail::parameter_status status_ = detail::parameter_status::not_known_written;
  detail::training_position position_;
  bool in_callback_ = false;
};
}  // namespace detail

}  // namespace cairn
