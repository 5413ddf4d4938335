// Tables that lowering uses while it walks the types of a model. They are discarded when the graph is complete.
#pragma once

#include "cairn/base/address.hpp"
#include "cairn/base/none.hpp"

#include <cstddef>

namespace cairn::graphs {

using detail::none;

/// The address of id_of<T> identifies type T in constant evaluation.
template <class T>
inline constexpr char id_of{};

/// A stack that grows. Constant evaluation of std::vector would take ten times as long.
template <class T>
class stack {
 public:
  constexpr stack() = default;
  stack(const stack&) = delete;
  constexpr ~stack() { delete[] items_; }

  constexpr int count() const { return count_; }
  constexpr T& operator[](int i) { return items_[i]; }
  constexpr const T& operator[](int i) const { return items_[i]; }
  constexpr std::size_t size() const { return static_cast<std::size_t>(count_); }
  constexpr const T* begin() const { return items_; }
  constexpr void push(const T& item) {
    if (count_ == room_) grow();
    items_[count_++] = item;
  }
  constexpr void shrink(int count) { count_ = count; }
  /// Makes `count` items, of which the earlier ones stay, and returns the first.
  constexpr T* resize(int count) {
    while (room_ < count) grow();
    count_ = count;
    return items_;
  }
  /// Adds `count` items and returns the first of them.
  constexpr T* extend(int count) {
    const int before = count_;
    return resize(before + count) + before;
  }

 private:
  constexpr void grow() {
    room_ = 2 * room_ + 64;
    T* more = new T[static_cast<std::size_t>(room_)]{};
    for (int i = 0; i < count_; ++i) more[i] = items_[i];
    delete[] items_;
    items_ = more;
  }
  T* items_ = nullptr;
  int count_ = 0, room_ = 0;
};

/// A hash table from expression types to the values that they were lowered to, in the innermost open scope. Addresses
/// cannot be hashed in constant evaluation, so each entry has a key: the height of the type, or the value to which a
/// stage of a chain was applied. Entries with the same key are in the same chain.
class memo {
 public:
  constexpr int find(const char* type, int key) const {
    const entry* const all = entries_.begin();
    for (int i = heads_[key % chains]; i > begin_; i = all[i - 1].next) {
      if (all[i - 1].key == key && detail::same_address(all[i - 1].type, type)) return all[i - 1].value;
    }
    return none;
  }
  constexpr int add(const char* type, int key, int value) {
    entries_.push({type, key, value, heads_[key % chains]});
    heads_[key % chains] = entries_.count();
    return value;
  }
  /// Opens a scope, which does not see the entries of outer scopes. Returns what close() needs to discard the scope.
  constexpr int open() {
    const int before = begin_;
    begin_ = entries_.count();
    return before;
  }
  constexpr void close(int before) {
    const entry* const all = entries_.begin();
    for (int i = entries_.count(); i-- > begin_;) heads_[all[i].key % chains] = all[i].next;
    entries_.shrink(begin_);
    begin_ = before;
  }

 private:
  struct entry {
    const char* type;
    int key, value, next;
  };
  static constexpr int chains = 64;
  stack<entry> entries_;
  int heads_[chains] = {};  // one more than the index of the chain's newest entry
  int begin_ = 0;
};

}  // namespace cairn::graphs
