// The memory of a program: a block that the program allocates, or memory of the caller. Predictors and optimizers hold
// shares in this memory. A program can also share the memory of another program, which is then its lender.
#pragma once

#include "cairn/run/record.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace cairn {

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

[[noreturn, gnu::cold, gnu::noinline]] inline void refuse_in_callback() {
  refuse(
      program_error("cairn: a callback gives the arrays of a microbatch, and cannot use or move the program whose "
                    "step calls it, or a program that shares its memory"));
}

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

  /// Returns the status of the parameters. Writes through views are not known. Throws program_error if the program was
  /// destroyed or assigned over, or is half updated.
  parameter_status check() const {
    if (record_ == nullptr) return parameter_status::not_known_written;
    const parameter_status status = record_->status();
    check_status(status);
    return status;
  }
  /// Throws program_error if parameters must not change now: because a callback runs in a training step, or because a
  /// moment of another program stands in the place of parameters.
  void check_trains() const {
    if (record_ != nullptr && record_->in_callback()) refuse_in_callback();
    memory_record* const by = record_ != nullptr ? record_->foreign_exchange() : nullptr;
    if (by != nullptr) refuse_exchanged_elsewhere(by->exchanged(), "before training goes on");
  }

 private:
  memory_record* record_ = nullptr;
};

/// Throws memory_error if `bytes`, the number of bytes that the caller's memory shares with memory in use, is not 0.
inline void refuse_shared_bytes(std::size_t bytes) {
  if (bytes > 0) refuse(memory_error("bytes of memory that the program or predictor already uses", 0, bytes));
}

/// A block of zeroed, aligned bytes. The block allocates and owns the bytes, or the bytes are the caller's. A block
/// that was moved from has no bytes.
class memory_block {
 public:
  explicit memory_block(std::size_t size)
      : record_(memory_record::with_bytes(size)), at_(record_->bytes()), size_(size) {
    std::fill_n(at_, size, std::byte{});
  }
  /// Takes the first `size` bytes of the caller's memory, which must outlive the block. Throws memory_error if the
  /// memory is too small or not aligned. In this case no byte of the memory is changed.
  memory_block(std::span<std::byte> given, std::size_t size) : at_(size == 0 ? no_bytes : given.data()), size_(size) {
    check_memory(given, size);
    std::fill_n(at_, size, std::byte{});
  }
  /// Moves throw program_error while a callback runs in a training step, because the step goes on with this memory.
  memory_block(memory_block&& other) : at_(nullptr), size_(0) { *this = std::move(other); }
  memory_block& operator=(memory_block&& other) {
    if (is_in_callback() || other.is_in_callback()) refuse_in_callback();
    if (this == &other) return *this;
    if (record_ != nullptr) record_->release_by_owner();
    record_ = std::exchange(other.record_, nullptr);
    at_ = std::exchange(other.at_, nullptr);
    size_ = other.size_;
    facts_ = other.facts_;
    return *this;
  }
  ~memory_block() {
    if (record_ != nullptr) record_->release_by_owner();
  }

  /// Returns true if the block has a record. A block that allocated its bytes has a record from the beginning.
  bool has_record() const { return record_now() != nullptr; }
  /// Returns a share. Memory of the caller has no record at first. The record is allocated when the first share is
  /// made with `may_allocate`. If there is no record and `may_allocate` is false, the share is empty and sees no
  /// status. Several threads may make shares at once.
  memory_share share(bool may_allocate) { return memory_share(record(may_allocate)); }
  /// Returns true if there is a share, for example of a predictor, that is not empty.
  bool has_shares() const {
    const memory_record* const record = record_now();
    return record != nullptr && record->has_shares();
  }

  // The functions below are called in many places, and seldom, so each is compiled once.

  /// Makes the program a member of the family of `lender`, or of a family of its own if `lender` is null. If there is
  /// no record, allocates one. See memory_record::join.
  template <class Member>
  void join(std::unique_ptr<Member> made, memory_block* lender, bool shares_position) {
    record(true)->join(std::move(made), lender != nullptr ? lender->record(true) : nullptr, shares_position);
  }
  bool is_in_family() const {
    const memory_record* const record = record_now();
    return record != nullptr && record->is_in_family();
  }
  /// Returns how many bytes `memory` shares with the memory of programs that share this memory. See
  /// memory_record::family_bytes.
  std::size_t family_bytes(std::span<const std::byte> memory, bool with_arena) const {
    memory_record* const record = record_now();
    return record != nullptr ? record->family_bytes(memory, with_arena) : 0;
  }

  /// Notes that a training step or `init` begins to write parameters, or has written all of them.
  void set_half_updated(bool now) {
    if (memory_record* const record = record_now()) record->set_half_updated(now);
    else facts_.half_updated = now;
  }
  /// Notes that all parameters were written. If they are half updated, they stay so. See memory_record::note_written.
  [[gnu::noinline]] void note_written() {
    if (memory_record* const record = record_now()) record->note_written();
    else facts_.status = parameter_status::written;
  }
  /// Notes that all parameters and states were set. See memory_record::note_all_set.
  [[gnu::noinline]] void note_all_set(const earlier_values* before = nullptr) {
    if (memory_record* const record = record_now()) return record->note_all_set(before);
    facts_.status = parameter_status::written;
    facts_.half_updated = false;
    facts_.exchanged = {};
  }
  parameter_status status() const {
    if (const memory_record* const record = record_now()) return record->status();
    return facts_.half_updated ? parameter_status::half_updated : facts_.status;
  }

  /// Returns the name of the moment that has changed places with the parameters, in the record of the program that
  /// exchanged it: this program, or another one that has the same moments. The name is empty if no moment has.
  [[gnu::noinline]] std::string_view& own_exchanged() {
    memory_record* const record = record_now();
    if (record == nullptr) return facts_.exchanged;
    memory_record* const by = record->own_exchange();
    return by != nullptr ? by->exchanged() : record->exchanged();
  }
  /// Throws program_error if a moment that this program does not have stands in the place of one of its parameters or
  /// states. The text `before` says what is refused. See memory_record::foreign_exchange.
  [[gnu::noinline]] void check_not_exchanged(std::string_view before, std::string_view moment = {}) {
    memory_record* const record = record_now();
    memory_record* const by = record != nullptr ? record->foreign_exchange(moment) : nullptr;
    if (by != nullptr) refuse_exchanged_elsewhere(by->exchanged(), before);
  }

  /// Notes that a callback runs in a training step. Until it ends, `check` throws for all programs that share the
  /// memory.
  void set_in_callback(bool now) {
    if (memory_record* const record = record_now()) record->set_in_callback(now);
    else facts_.in_callback = now;
  }
  /// Throws program_error if the block was moved from, if it has lost its lender, or while a callback runs.
  void check() const {
    const memory_record* const record = record_now();
    if (at_ == nullptr || (record != nullptr ? record->refuses_use() : facts_.in_callback)) refuse_use();
  }
  std::byte* data() const { return at_; }
  std::span<const std::byte> bytes() const { return {at_, size_}; }
  training_position& position() {
    memory_record* const record = record_now();
    return record != nullptr ? record->position() : facts_.position;
  }
  const training_position& position() const { return const_cast<memory_block&>(*this).position(); }

 private:
  alignas(memory_alignment) static inline std::byte no_bytes[memory_alignment] = {};

  /// The facts about the program that a block without a record keeps. A record has its own.
  struct facts {
    parameter_status status = parameter_status::not_known_written;
    bool half_updated = false, in_callback = false;
    training_position position;
    std::string_view exchanged;
  };

  bool is_in_callback() const {
    const memory_record* const record = record_now();
    return record != nullptr ? record->in_callback() : facts_.in_callback;
  }
  [[noreturn, gnu::cold, gnu::noinline]] void refuse_use() const {
    if (at_ == nullptr) refuse(program_error("cairn: this program or predictor was moved from, and has no memory"));
    if (record_now() == nullptr || !record_now()->has_lost_lender()) refuse_in_callback();
    refuse(
        program_error("cairn: the program whose memory this program shares was destroyed or assigned over; make "
                      "another one that shares the memory of a program that lives"));
  }
  /// Returns the record, or null if there is none yet. Another thread may make the first share at the same time.
  memory_record* record_now() const {
    return std::atomic_ref(const_cast<memory_record*&>(record_)).load(std::memory_order_acquire);
  }
  /// Returns the record. If there is none, allocates it if `may_allocate` is true, and else returns null.
  memory_record* record(bool may_allocate) {
    std::atomic_ref record(record_);
    memory_record* there = record.load(std::memory_order_acquire);
    if (there == nullptr && may_allocate) {
      memory_record* const made = memory_record::with_bytes(0);
      if (facts_.status == parameter_status::written) made->note_written();
      made->set_half_updated(facts_.half_updated);
      made->position() = facts_.position;
      made->exchanged() = facts_.exchanged;
      if (record.compare_exchange_strong(there, made, std::memory_order_acq_rel)) there = made;
      else made->release();
    }
    return there;
  }

  // The record lies in front of the bytes if the block allocated them. For the caller's memory, `record_` is null until
  // the first share allocates a record.
  memory_record* record_ = nullptr;
  std::byte* at_;
  std::size_t size_;
  facts facts_;
};
}  // namespace detail

}  // namespace cairn
