// The record of a block of memory, which predictors and optimizers ask for the status of the parameters.
#pragma once

#include "cairn/base/refuse.hpp"
#include "cairn/base/text.hpp"
#include "cairn/run/kept_tensor.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <utility>

namespace cairn {

/// Alignment of a program's memory, in bytes. 64 is the size of a cache line and of the widest register.
inline constexpr std::size_t memory_alignment = 64;

namespace detail {

/// The status of a program's parameters. Predictors and optimizers that share the parameters must know this status.
/// - `not_known_written`: there may be parameters that were never written.
/// - `written`: all parameters were written.
/// - `half_updated`: an exception left a training step or `init` while it wrote parameters.
/// - `ownerless`: the program was destroyed or assigned over.
enum class parameter_status : std::uint8_t { not_known_written, written, half_updated, ownerless };

/// Throws program_error if parameters are half updated or have no owner.
inline void check_status(parameter_status status) {
  if (status == parameter_status::half_updated)
    refuse(program_error(
        "cairn: an exception left a step or init of this program, or of a program that shares its memory, "
        "while it wrote parameters: some are written, others are not; call init(seed{1}), or load a file"));
  if (status == parameter_status::ownerless)
    refuse(
        program_error("cairn: the program of this predictor or optimizer, or the program whose memory it shares, was "
                      "destroyed or assigned over; make another one of a program that lives"));
}

/// Throws program_error because a moment of another program stands in the place of parameters. `before` says what is
/// refused.
[[noreturn, gnu::cold, gnu::noinline]] inline void refuse_exchanged_elsewhere(std::string_view moment,
                                                                              std::string_view before) {
  refuse(program_error(text_of({"cairn: the moment '", moment,
                                "' of a program that shares this memory stands in the place of parameters; call "
                                "exchange(\"",
                                moment, "\") of that program once more ", before})));
}

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

/// Calls visit(parameter, moment) with the indices of each parameter and of its moment of this name.
inline void for_each_exchanged(std::span<const kept_tensor> tensors, std::string_view moment, auto visit) {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (moment.empty() || tensors[i].moment != moment) continue;
    std::size_t parameter = 0;
    while (!tensors[parameter].is_leaf() || tensors[parameter].name != tensors[i].name) ++parameter;
    visit(parameter, i);
  }
}

/// Exchanges the bytes of a parameter with those of its moment.
inline void swap_bytes(std::byte* parameter, std::byte* moment, std::size_t bytes) {
  std::swap_ranges(parameter, parameter + bytes, moment);
}

class memory_record;

/// A program as a member of a family of programs that share memory. run/family.hpp defines the functions, in a class
/// that is compiled only if a program shares memory. memory_record says what the functions do.
class family_member {
 public:
  memory_record* lender = nullptr;  ///< null for the root

  virtual ~family_member() = default;
  virtual void link(memory_record& own, memory_record* lent) = 0;
  virtual memory_record& root() const = 0;
  virtual void note_update(bool begins, bool was_half_updated) = 0;
  virtual bool reads_half_updated() const = 0;
  virtual void note_written() = 0;
  virtual void note_all_set(const earlier_values* before) = 0;
  virtual memory_record* find_exchange(bool is_own, std::string_view moment) const = 0;
  virtual std::size_t common_bytes(std::span<const std::byte> memory, bool with_arena) const = 0;
  virtual void leave() = 0;
};

/// The record of a block of memory. A record counts the holders of the block, and tells them the status of the
/// parameters. The record and the allocated bytes behind it are freed when neither the owner nor a share is left. A
/// predictor on another thread therefore never reads freed memory.
///
/// The record of a program that shares memory holds a share in the record of its lender.
class alignas(memory_alignment) memory_record {
 public:
  /// Allocates a record with `size` bytes behind it.
  static memory_record* with_bytes(std::size_t size) {
    return new (::operator new(sizeof(memory_record) + size, std::align_val_t{memory_alignment})) memory_record();
  }
  memory_record() = default;
  memory_record(const memory_record&) = delete;
  memory_record& operator=(const memory_record&) = delete;
  std::byte* bytes() { return reinterpret_cast<std::byte*>(this + 1); }

  /// Makes the program a member of the family of `lender`, or of a family of its own if `lender` is null.
  /// The member's type is a parameter, so that programs that share nothing compile no pointer to it.
  template <class Member>
  void join(std::unique_ptr<Member> made, memory_record* lender, bool shares_position) {
    made->lender = lender;
    made->link(*this, lender);
    if (lender != nullptr) lender->retain();
    member_.store(made.release(), std::memory_order_release);
    shares_position_ = shares_position;
  }
  bool is_in_family() const { return member() != nullptr; }

  [[gnu::noinline]] parameter_status status() const {
    if (is_ownerless()) return parameter_status::ownerless;
    if (half_updated_ || (is_in_family() && member()->reads_half_updated())) return parameter_status::half_updated;
    return status_.load(std::memory_order_acquire);
  }
  /// Notes that a training step or `init` begins to write parameters, or has written all of them. If another program
  /// has left parameters of this program half updated, and they were not set since, `status` says so, too.
  [[gnu::noinline]] void set_half_updated(bool now) {
    const bool before = half_updated_.exchange(now);
    if (is_in_family()) member()->note_update(now, before);
  }
  /// Notes that all parameters of the program were written. The same holds for each program of the family that has no
  /// other parameters.
  [[gnu::noinline]] void note_written() {
    note_own_written();
    if (is_in_family()) member()->note_written();
  }
  /// Notes that the program set all its parameters and states. `before` knows which parameters have kept their values.
  /// If it is null, none has. Other programs may have moments of the other parameters. These moments are set to zero.
  [[gnu::noinline]] void note_all_set(const earlier_values* before) {
    note_written();
    set_half_updated(false);
    exchanged_ = {};
    if (is_in_family()) member()->note_all_set(before);
  }

  /// The name of the moment of this program that has changed places with the parameters. It is empty if no moment has.
  std::string_view& exchanged() { return exchanged_; }
  /// Returns this program or another one that has exchanged a moment, if this program has the same moments and can
  /// therefore exchange them back. Otherwise returns null.
  memory_record* own_exchange() { return find_exchange(true, {}); }
  /// Returns a program whose moment stands in the place of a parameter or state of this program, if this program does
  /// not have the same moments. Otherwise returns null. If `moment` is given, only parameters count of which this
  /// program has such a moment.
  memory_record* foreign_exchange(std::string_view moment = {}) { return find_exchange(false, moment); }

  bool has_lender() const { return member() != nullptr && member()->lender != nullptr; }
  /// Returns true if the record has a lender and the program of the lender was destroyed or assigned over.
  bool has_lost_lender() const { return has_lender() && member()->lender->is_ownerless(); }
  /// Notes that a callback runs in a training step, for all programs of the family.
  void set_in_callback(bool now) { root().in_callback_ = now; }
  bool in_callback() const { return root().in_callback_; }
  /// Returns true if the program must not be used now.
  [[gnu::noinline]] bool refuses_use() const { return has_lost_lender() || in_callback(); }
  [[gnu::noinline]] training_position& position() {
    return shares_position_ ? member()->lender->position() : position_;
  }
  /// Returns how many bytes `memory` shares with parameters, states, moments and gradients of the family. With
  /// `with_arena`, bytes of its arena count, too.
  [[gnu::noinline]] std::size_t family_bytes(std::span<const std::byte> memory, bool with_arena) const {
    return is_in_family() ? member()->common_bytes(memory, with_arena) : 0;
  }

  /// Releases the block in the name of its owner. From now on, shares see that the parameters have no owner.
  void release_by_owner() {
    if (is_in_family()) member()->leave();
    status_.store(parameter_status::ownerless, std::memory_order_release);
    release();
  }
  void retain() { holders_.fetch_add(1, std::memory_order_relaxed); }
  /// Returns true if there is a share.
  bool has_shares() const { return holders_.load(std::memory_order_acquire) > 1; }
  [[gnu::noinline]] void release() {
    if (holders_.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
    family_member* const own = member();
    memory_record* const lender = own != nullptr ? own->lender : nullptr;
    delete own;
    this->~memory_record();
    ::operator delete(this, std::align_val_t{memory_alignment});
    if (lender != nullptr) lender->release();
  }

 private:
  template <class>
  friend class family_entry;
  family_member* member() const { return member_.load(std::memory_order_acquire); }
  const memory_record& root() const { return is_in_family() ? member()->root() : *this; }
  memory_record& root() { return const_cast<memory_record&>(std::as_const(*this).root()); }
  bool is_ownerless() const {
    return status_.load(std::memory_order_acquire) == parameter_status::ownerless || has_lost_lender();
  }
  /// Sets the status to `written`, unless the program has lost its owner.
  void note_own_written() {
    parameter_status now = parameter_status::not_known_written;
    status_.compare_exchange_strong(now, parameter_status::written, std::memory_order_acq_rel);
  }
  memory_record* find_exchange(bool is_own, std::string_view moment) {
    if (is_in_family()) return member()->find_exchange(is_own, moment);
    return is_own && !exchanged_.empty() ? this : nullptr;
  }

  std::atomic<family_member*> member_ = nullptr;
  training_position position_;
  std::string_view exchanged_;
  std::atomic<int> holders_{1};  // the owner is the first holder
  std::atomic<parameter_status> status_{parameter_status::not_known_written};
  std::atomic<bool> half_updated_ = false;
  bool shares_position_ = false, in_callback_ = false;
};
static_assert(sizeof(memory_record) == memory_alignment);

}  // namespace detail
}  // namespace cairn
