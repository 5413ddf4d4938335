// The record of a block of memory, and what programs that share memory know of one another. Programs that share memory
// are a family. The root of the family is the program that has no lender.
#pragma once

#include "cairn/base/refuse.hpp"
#include "cairn/base/text.hpp"
#include "cairn/run/kept_tensor.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace cairn {

/// Alignment of a program's memory, in bytes. 64 is the size of a cache line and of the widest register.
inline constexpr std::size_t memory_alignment = 64;

namespace detail {

/// The status of a program's parameters. Predictors and optimizers that share the parameters must know this status.
/// - `not_known_written`: no parameter is known to have been written.
/// - `partly_written`: another program wrote parameters, but did not have all parameters of this program.
/// - `written`: `init`, `set`, `load` or a training step wrote parameters.
/// - `half_updated`: an exception left a training step while the step updated parameters.
/// - `ownerless`: the program was destroyed or assigned over.
enum class parameter_status : std::uint8_t { not_known_written, partly_written, written, half_updated, ownerless };

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

/// Calls visit(parameter, moment, bytes) with the addresses of each parameter and of its moment of this name.
inline void for_each_exchanged(std::span<const kept_tensor> tensors, auto address_of, std::size_t real_bytes,
                               std::string_view moment, auto visit) {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (moment.empty() || tensors[i].moment != moment) continue;
    std::size_t parameter = 0;
    while (!tensors[parameter].is_leaf() || tensors[parameter].name != tensors[i].name) ++parameter;
    visit(address_of(parameter), address_of(i), tensors[i].bytes(real_bytes));
  }
}

class memory_record;

/// An entry in the list of a family, with the facts about one program that the other programs need. The facts that are
/// not atomic are constant after `join`. The addresses are those of memory, which stays where it is if a program is
/// moved.
struct family_member {
  memory_record* record;
  memory_record* lender;  ///< null for the root
  family_member* root;
  std::span<const kept_tensor> tensors;
  std::size_t real_bytes;
  std::vector<std::byte*> addresses;       ///< by kept tensor
  std::span<std::byte> gradients, arena;   ///< memory of training steps
  family_member* next = nullptr;           ///< the list begins at the root, and is guarded by `families`
  std::atomic<std::int64_t> failed_at{0};  ///< when a step last began to update parameters
  std::atomic<std::int64_t> set_at{0};     ///< when all parameters were last set
  std::atomic<std::int64_t> now{0};        ///< of the root: counts both events in the family
  std::atomic<int> half_updated{0};        ///< of the root: programs of the family that are half updated

  bool has(const std::byte* at) const { return std::ranges::find(addresses, at) != addresses.end(); }
  /// Calls visit(tensor, address) for each kept tensor.
  void for_each(auto visit) const {
    for (std::size_t i = 0; i < tensors.size(); ++i) visit(tensors[i], addresses[i]);
  }
  void for_each_exchanged(std::string_view moment, auto visit) const {
    detail::for_each_exchanged(tensors, [this](std::size_t i) { return addresses[i]; }, real_bytes, moment, visit);
  }
  /// Returns true if `other` has all parameters and states of this program. If `trained` is true, only parameters that
  /// this program trains count.
  bool lies_in(const family_member& other, bool trained = false) const {
    bool all = true;
    for_each([&](const kept_tensor& one, const std::byte* at) {
      if (one.is_leaf() && (one.is_trained || !trained)) all = all && other.has(at);
    });
    return all;
  }
  /// Returns true if the moments of this name are the same ones in both programs.
  bool has_moments_of(const family_member& other, std::string_view moment) const {
    std::ptrdiff_t more = 0;
    bool all = true;
    other.for_each_exchanged(moment, [&](std::byte*, std::byte* at, std::size_t) { ++more, all = all && has(at); });
    for_each_exchanged(moment, [&](auto...) { --more; });
    return all && more == 0;
  }
  /// Returns true if `other` has a parameter that this program trains.
  bool trains_one_of(const family_member& other) const {
    bool any = false;
    for_each([&](const kept_tensor& one, const std::byte* at) {
      any = any || (one.is_leaf() && one.is_trained && other.has(at));
    });
    return any;
  }
};

/// Guards the lists of all families. It is locked when programs begin or cease to share memory, and by calls that
/// concern other programs, but not by predictions.
inline std::mutex families;

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

  /// Makes the program a member of the family of `lender`, or of a family of its own if `lender` is null. If the
  /// program has no parameters and states of its own, its parameters are as much written as the lender's.
  [[gnu::noinline]] void join(std::unique_ptr<family_member> made, memory_record* lender, bool shares_position) {
    const std::lock_guard lock(families);
    made->record = this;
    made->lender = lender;
    made->root = made.get();
    if (lender != nullptr) {
      family_member& there = *lender->member();
      lender->retain();
      shares_position_ = shares_position;
      made->root = there.root;
      made->next = std::exchange(there.root->next, made.get());
      made->set_at = there.set_at.load();
      const parameter_status status = lender->status_;
      if (made->lies_in(there) && status != parameter_status::ownerless) status_ = status;
    }
    member_.store(made.release(), std::memory_order_release);
  }
  bool is_in_family() const { return member() != nullptr; }

  [[gnu::noinline]] parameter_status status() const {
    if (is_ownerless()) return parameter_status::ownerless;
    if (half_updated_ || reads_half_updated()) return parameter_status::half_updated;
    return status_.load(std::memory_order_acquire);
  }
  /// Notes that a training step begins to update parameters, or has updated all of them.
  [[gnu::noinline]] void set_half_updated(bool now) {
    family_member* const own = member();
    if (own != nullptr && now) own->failed_at = ++own->root->now;
    const bool before = half_updated_.exchange(now);
    if (own != nullptr) own->root->half_updated += now - before;
  }
  /// Notes that the program wrote parameters. A program of the family that has no other parameters counts as written,
  /// too.
  [[gnu::noinline]] void note_written() {
    raise_status(parameter_status::written);
    if (family_member* const own = member()) {
      const std::lock_guard lock(families);
      for_each_other([&](family_member& other) {
        other.record->raise_status(other.lies_in(*own) ? parameter_status::written : parameter_status::partly_written);
      });
    }
  }
  /// Notes that the program set all its parameters and states. `same` has the addresses of parameters that have kept
  /// their values. Other programs may have moments of the other parameters. These moments are set to zero.
  [[gnu::noinline]] void note_all_set(std::span<const std::byte* const> same) {
    note_written();
    set_half_updated(false);
    exchanged_ = {};
    if (family_member* const own = member()) {
      const std::lock_guard lock(families);
      own->set_at = ++own->root->now;
      for_each_other([&](family_member& other) { other.record->follow(*own, same); });
    }
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
    if (member() == nullptr) return 0;
    const std::lock_guard lock(families);
    std::size_t most = 0;
    for (const family_member* one = member()->root; one != nullptr; one = one->next) {
      one->for_each([&](const kept_tensor& tensor, std::byte* at) {
        most = std::max(most, common_bytes(memory, {at, tensor.bytes(one->real_bytes)}));
      });
      most = std::max(most, common_bytes(memory, one->gradients));
      if (with_arena) most = std::max(most, common_bytes(memory, one->arena));
    }
    return most;
  }

  /// Releases the block in the name of its owner. From now on, shares see that the parameters have no owner.
  void release_by_owner() {
    if (member() != nullptr) leave();
    status_.store(parameter_status::ownerless, std::memory_order_release);
    release();
  }
  void retain() { holders_.fetch_add(1, std::memory_order_relaxed); }
  [[gnu::noinline]] void release() {
    if (holders_.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
    const std::unique_ptr<family_member> own(member());
    if (own != nullptr) {
      const std::lock_guard lock(families);
      for (family_member* one = own->root; one != nullptr; one = one->next) {
        if (one->next == own.get()) one->next = own->next;
      }
    }
    this->~memory_record();
    ::operator delete(this, std::align_val_t{memory_alignment});
    if (own != nullptr && own->lender != nullptr) own->lender->release();
  }

 private:
  family_member* member() const { return member_.load(std::memory_order_acquire); }
  const memory_record& root() const { return member() != nullptr ? *member()->root->record : *this; }
  memory_record& root() { return const_cast<memory_record&>(std::as_const(*this).root()); }
  bool is_ownerless() const {
    return status_.load(std::memory_order_acquire) == parameter_status::ownerless || has_lost_lender();
  }
  /// Calls visit(member) for each other program of the family.
  void for_each_other(auto visit) {
    for (family_member* one = member()->root; one != nullptr; one = one->next) {
      if (one != member()) visit(*one);
    }
  }
  /// Raises the status up to `written`.
  void raise_status(parameter_status to) {
    parameter_status now = status_.load(std::memory_order_relaxed);
    while (now < to && !status_.compare_exchange_weak(now, to, std::memory_order_acq_rel)) {
    }
  }
  /// Returns true if a step of another program left parameters of this program half updated, and they were not set
  /// since.
  bool reads_half_updated() const {
    const family_member* const own = member();
    if (own == nullptr || own->root->half_updated == 0) return false;
    const std::lock_guard lock(families);
    for (const family_member* one = own->root; one != nullptr; one = one->next) {
      if (one->record->half_updated_ && own->set_at < one->failed_at && one->trains_one_of(*own)) return true;
    }
    return false;
  }
  /// Follows another program, `from`, which has set all its parameters.
  void follow(const family_member& from, std::span<const std::byte* const> same) {
    family_member& own = *member();
    const bool all_trained = own.lies_in(from, true) && own.trains_one_of(from);
    if (own.lies_in(from)) own.set_at = from.set_at.load();
    const bool begins_anew = all_trained && half_updated_;
    if (begins_anew) set_half_updated(false);
    bool any_new = begins_anew;
    own.for_each([&](const kept_tensor& one, std::byte* at) {
      if (!one.is_leaf() || !one.is_trained || !from.has(at)) return;
      if (!begins_anew && std::ranges::find(same, at) != same.end()) return;
      any_new = true;
      own.for_each([&](const kept_tensor& moment, std::byte* to) {
        if (!moment.is_leaf() && moment.name == one.name && !from.has(to))
          std::fill_n(to, moment.bytes(own.real_bytes), std::byte{});
      });
    });
    if (any_new && all_trained && &position() != &from.record->position()) position().steps = 0;
    bool is_exchanged_anew = false;
    own.for_each_exchanged(exchanged_, [&](auto* parameter, auto...) { is_exchanged_anew |= from.has(parameter); });
    if (is_exchanged_anew) exchanged_ = {};
  }
  [[gnu::noinline]] memory_record* find_exchange(bool is_own, std::string_view moment) {
    const family_member* const own = member();
    if (own == nullptr) return is_own && !exchanged_.empty() ? this : nullptr;
    const std::lock_guard lock(families);
    for (const family_member* one = own->root; one != nullptr; one = one->next) {
      const std::string_view exchanged = one->record->exchanged_;
      bool found = false;
      one->for_each_exchanged(exchanged, [&](std::byte* parameter, auto...) {
        if (moment.empty()) found = found || own->has(parameter);
        else own->for_each_exchanged(moment, [&](std::byte* mine, auto...) { found = found || mine == parameter; });
      });
      if (found && own->has_moments_of(*one, exchanged) == is_own) return one->record;
    }
    return nullptr;
  }
  /// Ends the program's part in its family. Another program may have to know that parameters are exchanged or half
  /// updated. If no other program has the exchanged moments, they end with this program, so the parameters are put
  /// back.
  [[gnu::noinline]] void leave() {
    const std::string_view moment = std::exchange(exchanged_, {});
    const bool was_half_updated = half_updated_;
    if (moment.empty() && !was_half_updated) return;
    const family_member& own = *member();
    bool goes_on = false;
    {
      const std::lock_guard lock(families);
      for_each_other([&](family_member& other) {
        if (other.record->is_ownerless()) return;
        if (was_half_updated && other.set_at < own.failed_at && own.trains_one_of(other))
          other.record->set_half_updated(true);
        if (moment.empty() || goes_on) return;
        goes_on = other.has_moments_of(own, moment);
        if (goes_on) other.record->exchanged_ = moment;
      });
    }
    if (was_half_updated) set_half_updated(false);
    if (moment.empty() || goes_on) return;
    own.for_each_exchanged(moment, [](std::byte* parameter, std::byte* at, std::size_t bytes) {
      std::swap_ranges(parameter, parameter + bytes, at);
    });
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
