// Messages between training steps, by which the processes of a group agree. All processes call these functions in the
// same order. The functions wait, and allocate memory.
#pragma once

#include "cairn/base/refuse.hpp"
#include "cairn/base/text.hpp"
#include "cairn/run/exchange.hpp"

#include <cstring>
#include <exception>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace cairn::detail {

/// The processes of a group, as far as they agree on something between training steps. `Group` is process_group, or
/// void in a program without shards, which has one process and compiles nothing of the exchange. The pointer is null if
/// there is one process.
template <class Group>
class agreement {
 public:
  /// `about` stands in the message of a wait that takes too long.
  agreement(Group* group, std::string about) : group_(group), about_(std::move(about)) {}

  bool is_alone() const { return group_ == nullptr; }
  int rank() const {
    if constexpr (can_share) return is_alone() ? 0 : group_->rank();
    else return 0;
  }
  int size() const {
    if constexpr (can_share) return is_alone() ? 1 : group_->size();
    else return 1;
  }

  /// Returns the values of all processes, by their ranks.
  template <class T>
    requires std::is_trivially_copyable_v<T>
  std::vector<T> all_of(const T& own) const {
    std::vector<T> all(static_cast<std::size_t>(size()));
    std::memset(static_cast<void*>(all.data()), 0, all.size() * sizeof(T));
    std::memcpy(static_cast<void*>(&all[static_cast<std::size_t>(rank())]), &own, sizeof(T));
    join_bits(all.data(), all.size() * sizeof(T));
    return all;
  }
  /// Gives all processes the bitwise or of their bytes at `data`. Where all processes but one have zeros, the result is
  /// what this one process has.
  void join_bits(void* data, std::size_t bytes) const {
    if constexpr (can_share) {
      if (is_alone() || bytes == 0) return;
      exchange<Group> all(*group_, {});
      all.add(static_cast<std::int64_t>(bytes), or_bits, about_);
      all.prepare();
      const shared_call call{"between training steps", about_, "which function they call together, or in its data"};
      all.agree(hash64_of(about_, bytes), call);
      const auto& shared = all[all.count() - 1];
      std::memcpy(shared.own, data, bytes);
      all.launch(all.count() - 1);
      all.finish(true);
      std::memcpy(data, shared.own, bytes);
    }
  }
  /// Calls `use` in rank 0. If it throws, all processes throw.
  void in_first(auto use) const {
    together([&] {
      if (rank() == 0) use();
    });
  }
  /// Returns in all processes the text of rank 0.
  std::string text_of_first(std::string text) const {
    if (rank() > 0) text.clear();
    text.resize(all_of(text.size())[0]);  // appends zeros in the other processes
    join_bits(text.data(), text.size());
    return text;
  }
  /// Calls `use` in each process. If `use` throws in some processes, all processes throw. A process in which `use`
  /// threw throws this exception again. The others throw program_error with the message of the first process in which
  /// `use` threw.
  void together(auto use) const {
    if constexpr (can_share) {
      if (!is_alone()) return together_with_others(use);
    }
    use();
  }

 private:
  static constexpr bool can_share = !std::is_void_v<Group>;

  void together_with_others(auto& use) const {
#ifdef __cpp_exceptions
    std::string message;
    std::exception_ptr thrown;
    try {
      use();
    } catch (const std::exception& error) {
      thrown = std::current_exception();
      message = text_of({own_name(), ": ", without_cairn(error.what())});
    } catch (...) {
      thrown = std::current_exception();
      message = text_of({own_name(), ": an exception that is no std::exception"});
    }
    const auto lengths = all_of(message.size());
    for (std::size_t first = 0; first < lengths.size(); ++first) {
      if (lengths[first] == 0) continue;
      if (first != static_cast<std::size_t>(rank())) message.assign(lengths[first], '\0');
      join_bits(message.data(), message.size());
      if (thrown) std::rethrow_exception(thrown);
      refuse(program_error(message));
    }
#else
    use();
#endif
  }
  std::string own_name() const { return text_of({"cairn: rank ", text_of(rank()), " of ", text_of(size())}); }
  static std::string_view without_cairn(std::string_view message) {
    if (message.starts_with("cairn: ")) message.remove_prefix(7);
    return message;
  }
  static void or_bits(std::byte* own, const std::byte* received, std::int64_t bytes, bool) {
    for (std::int64_t i = 0; i < bytes; ++i) own[i] |= received[i];
  }

  Group* group_;
  std::string about_;
};

}  // namespace cairn::detail
