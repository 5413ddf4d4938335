// Lets programs that share memory know of one another. Programs that share memory are a family. The root of the family
// is the program that has no lender.
#pragma once

#include "cairn/run/kept_tensor.hpp"
#include "cairn/run/record.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace cairn::detail {

/// The entry of one program in the list of its family. The facts that are not atomic are constant after `link`. The
/// addresses stay valid if a program is moved, because its memory stays in its place. `Real` is the type of the real
/// numbers of the family.
template <class Real>
class family_entry final : public family_member {
 public:
  std::span<const kept_tensor> tensors;
  std::vector<std::byte*> addresses;      ///< by kept tensor
  std::span<std::byte> gradients, arena;  ///< memory of training steps

  /// Links the entry into the list of the lender's family. If there is no lender, the entry is the root of a new
  /// family. A program that has no parameters and states of its own takes over the lender's knowledge of whether they
  /// were written.
  void link(memory_record& own, memory_record* lent) override {
    const guard lock;
    record_ = &own;
    root_ = this;
    if (lent == nullptr) return;
    const family_entry& there = entry_of(*lent);
    root_ = there.root_;
    next_ = std::exchange(root_->next_, this);
    set_at_ = there.set_at_.load();
    const parameter_status status = lent->status_;
    if (lies_in(there) && status != parameter_status::ownerless) own.status_ = status;
  }
  ~family_entry() override {
    const guard lock;
    for (family_entry* one = root_; one != nullptr; one = one->next_) {
      if (one->next_ == this) one->next_ = next_;
    }
  }
  memory_record& root() const override { return *root_->record_; }

  void note_update(bool begins, bool was_half_updated) override {
    if (begins) failed_at_ = ++root_->now_;
    root_->half_updated_ += begins - was_half_updated;
  }
  bool reads_half_updated() const override {
    if (root_->half_updated_ == 0) return false;
    const guard lock;
    for (const family_entry* one = root_; one != nullptr; one = one->next_) {
      if (one->record_->half_updated_ && set_at_ < one->failed_at_ && one->trains_one_of(*this)) return true;
    }
    return false;
  }
  void note_written() override {
    const guard lock;
    for_each_other([&](family_entry& other) {
      if (other.lies_in(*this)) other.record_->note_own_written();
    });
  }
  void note_all_set(const earlier_values* before) override {
    const guard lock;
    set_at_ = ++root_->now_;
    for_each_other([&](family_entry& other) { other.follow(*this, before); });
  }
  memory_record* find_exchange(bool is_own, std::string_view moment) const override {
    const guard lock;
    for (const family_entry* one = root_; one != nullptr; one = one->next_) {
      const std::string_view exchanged = one->record_->exchanged_;
      bool found = false;
      one->for_each_pair(exchanged, [&](std::byte* parameter, auto...) {
        if (moment.empty()) found = found || has(parameter);
        else for_each_pair(moment, [&](std::byte* mine, auto...) { found = found || mine == parameter; });
      });
      if (found && has_moments_of(*one, exchanged) == is_own) return one->record_;
    }
    return nullptr;
  }
  std::size_t common_bytes(std::span<const std::byte> memory, bool with_arena) const override {
    const guard lock;
    std::size_t most = 0;
    const auto look = [&](std::span<const std::byte> used) {
      most = std::max(most, detail::common_bytes(memory, used));
    };
    for (const family_entry* one = root_; one != nullptr; one = one->next_) {
      one->for_each([&](const kept_tensor& tensor, std::byte* at) { look({at, tensor.bytes(sizeof(Real))}); });
      look(one->gradients);
      if (with_arena) look(one->arena);
    }
    return most;
  }
  /// Another program may have to know that parameters are exchanged or half updated. If no other program has the
  /// exchanged moments, they end with this program, so the parameters are put back.
  void leave() override {
    const std::string_view moment = std::exchange(record_->exchanged_, {});
    const bool was_half_updated = record_->half_updated_;
    bool goes_on = moment.empty();
    if (goes_on && !was_half_updated) return;
    const guard lock;
    for_each_other([&](family_entry& other) {
      if (other.record_->is_ownerless()) return;
      if (was_half_updated && other.set_at_ < failed_at_ && trains_one_of(other)) other.record_->set_half_updated(true);
      if (goes_on || !other.has_moments_of(*this, moment)) return;
      other.record_->exchanged_ = moment;
      goes_on = true;
    });
    if (was_half_updated) record_->set_half_updated(false);
    if (!goes_on) for_each_pair(moment, swap_bytes);
  }

 private:
  /// Guards the lists of all families of this type. It is locked when programs begin or cease to share memory, and by
  /// calls that concern other programs. Predictions lock it only if a step was left by an exception.
  struct guard {
    static inline std::atomic_flag is_locked;
    guard() {
      while (is_locked.test_and_set(std::memory_order_acquire)) is_locked.wait(true, std::memory_order_relaxed);
    }
    guard(const guard&) = delete;
    guard& operator=(const guard&) = delete;
    ~guard() {
      is_locked.clear(std::memory_order_release);
      is_locked.notify_one();
    }
  };

  static family_entry& entry_of(const memory_record& record) { return static_cast<family_entry&>(*record.member()); }
  /// Calls visit(entry) for each other program of the family.
  void for_each_other(auto visit) const {
    for (family_entry* one = root_; one != nullptr; one = one->next_) {
      if (one != this) visit(*one);
    }
  }
  /// Calls visit(tensor, address) for each kept tensor.
  void for_each(auto visit) const {
    for (std::size_t i = 0; i < tensors.size(); ++i) visit(tensors[i], addresses[i]);
  }
  /// Calls visit(parameter, moment, bytes) for each parameter with a moment of this name.
  void for_each_pair(std::string_view moment, auto visit) const {
    for_each_exchanged(tensors, moment, [&](std::size_t parameter, std::size_t i) {
      visit(addresses[parameter], addresses[i], tensors[i].bytes(sizeof(Real)));
    });
  }
  bool has(const std::byte* at) const {
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (addresses[i] == at) return true;
    }
    return false;
  }
  /// Returns true if `other` has all parameters and states of this program. If `trained` is true, only parameters that
  /// this program trains count.
  bool lies_in(const family_entry& other, bool trained = false) const {
    bool all = true;
    for_each([&](const kept_tensor& one, const std::byte* at) {
      if (one.is_leaf() && (one.is_trained || !trained)) all = all && other.has(at);
    });
    return all;
  }
  /// Returns true if `other` has a parameter that this program trains.
  bool trains_one_of(const family_entry& other) const {
    bool any = false;
    for_each([&](const kept_tensor& one, const std::byte* at) {
      any = any || (one.is_leaf() && one.is_trained && other.has(at));
    });
    return any;
  }
  /// Returns true if the moments of this name are the same ones in both programs.
  bool has_moments_of(const family_entry& other, std::string_view moment) const {
    std::ptrdiff_t more = 0;
    bool all = true;
    other.for_each_pair(moment, [&](std::byte*, std::byte* at, std::size_t) { ++more, all = all && has(at); });
    for_each_pair(moment, [&](auto...) { --more; });
    return all && more == 0;
  }
  /// Follows another program, `from`, which has set all its parameters. See memory_record::note_all_set.
  void follow(const family_entry& from, const earlier_values* before) {
    const bool all_trained = lies_in(from, true) && trains_one_of(from);
    if (lies_in(from)) set_at_ = from.set_at_.load();
    const bool begins_anew = all_trained && record_->half_updated_;
    if (begins_anew) record_->set_half_updated(false);
    bool any_new = begins_anew;
    for_each([&](const kept_tensor& one, std::byte* at) {
      if (!one.is_leaf() || !one.is_trained || !from.has(at)) return;
      if (!begins_anew && before != nullptr && before->are_kept(at)) return;
      any_new = true;
      for_each([&](const kept_tensor& moment, std::byte* to) {
        if (!moment.is_leaf() && moment.name == one.name && !from.has(to))
          std::fill_n(to, moment.bytes(sizeof(Real)), std::byte{});
      });
    });
    if (any_new && all_trained && &record_->position() != &from.record_->position()) record_->position().steps = 0;
    bool is_exchanged_anew = false;
    for_each_pair(record_->exchanged_, [&](auto* parameter, auto...) { is_exchanged_anew |= from.has(parameter); });
    if (is_exchanged_anew) record_->exchanged_ = {};
  }

  memory_record* record_ = nullptr;
  family_entry* root_ = nullptr;
  family_entry* next_ = nullptr;            // the list begins at the root
  std::atomic<std::int64_t> failed_at_{0};  // when a step last began to update parameters
  std::atomic<std::int64_t> set_at_{0};     // when all parameters were last set
  std::atomic<std::int64_t> now_{0};        // of the root: counts both events in the family
  std::atomic<int> half_updated_{0};        // of the root: programs of the family that are half updated
};

}  // namespace cairn::detail
