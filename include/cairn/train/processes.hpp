// Training in several processes that share the shards of a program: each process evaluates a part of a validation, and
// all processes take the same decisions.
#pragma once

#include "cairn/base/decimal.hpp"
#include "cairn/run/agreement.hpp"
#include "cairn/train/stop.hpp"

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

namespace cairn::train {

namespace detail {
using cairn::detail::agreement, cairn::detail::text_of;

/// Returns the group of processes that share the shards of a program. Returns a null pointer if there is one process,
/// and a null pointer to void if the program has no shards.
template <class Program>
auto* group_of(const Program& program) {
  if constexpr (requires { program.processes(); }) return program.processes();
  else return static_cast<void*>(nullptr);
}

/// The processes that run one training loop. Rank 0 alone writes and shows something.
template <class Group>
class team : public agreement<Group> {
 public:
  explicit team(Group* group) : agreement<Group>(group, "the training loop"), group_(group) {}

  /// While an object of this class lives, signals are requests to stop. Several processes take SIGUSR1 as such a
  /// request, too, and each training step tells all processes whether one of them was asked.
  class listening {
   public:
    explicit listening(team& of) : signals_(!of.is_alone()), group_(of.group_) {
      if constexpr (can_share) {
        if (group_ == nullptr) return;
        cairn::detail::group_notes& notes = group_->notes();
        of.waited_before_ = notes.seconds_waited;
        received_before_ = notes.received;
        if (received_before_ == nullptr) notes.asks_to_stop = notes.is_asked_to_stop = false;
        notes.received = [] {
          using cairn::detail::stop_request;
          const int number = stop_requests::received();
          if (number == 0) return stop_request::absent;
          return number == SIGTERM ? stop_request::at_once_if_waiting : stop_request::after_step;
        };
      }
    }
    listening(const listening&) = delete;
    ~listening() {
      if constexpr (can_share) {
        if (group_ != nullptr) group_->notes().received = received_before_;
      }
    }

   private:
    stop_requests signals_;
    Group* group_;
    cairn::detail::stop_request (*received_before_)() = nullptr;  // of a training loop around this one
  };

  /// Returns true if the run must end after this training step. All processes return the same.
  bool must_stop() const {
    if constexpr (can_share) {
      if (!this->is_alone()) return group_->notes().is_asked_to_stop;
    }
    return stop_requests::received() != 0;
  }

  /// Calls `use` in rank 0, without waiting. If there are other processes and `use` throws, rank 0 asks all processes
  /// to stop, and the next call of `raise_failure` throws.
  void try_in_first(auto use) {
    if (this->rank() > 0) return;
#ifdef __cpp_exceptions
    if constexpr (can_share) {
      if (!this->is_alone()) {
        try {
          return use();
        } catch (...) {
          failure_ = std::current_exception();
          group_->notes().asks_to_stop = true;
          return;
        }
      }
    }
#endif
    use();
  }
  /// Throws in all processes if `try_in_first` has failed.
  void raise_failure() {
    this->in_first([&] {
      if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
    });
  }

  /// Throws program_error in all processes if the texts of two of them differ.
  void check_equal(std::string_view text, std::string_view what) const {
    const std::vector<std::uint64_t> all = this->all_of(cairn::detail::hash64_of(text));
    for (std::size_t other = 1; other < all.size(); ++other) {
      if (all[other] == all[0]) continue;
      refuse(program_error(
          text_of({"cairn: ranks 0 and ", text_of(static_cast<std::int64_t>(other)), " differ in ", what})));
    }
  }

  /// Ends an epoch. Returns the result that rank 0 has. If `shows` is true, rank 0 prints which process was the
  /// slowest. The other processes waited for the process that itself waited least.
  double end_epoch(double result, bool shows) {
    if constexpr (can_share) {
      if (!this->is_alone()) return end_epoch_of_all(result, shows);
    }
    return result;
  }

 private:
  static constexpr bool can_share = !std::is_void_v<Group>;

  struct end_of_epoch {
    double result, waited;
    std::uint64_t asks;  // not 0 if the process asks all processes to stop
  };
  double end_epoch_of_all(double result, bool shows) {
    auto& notes = group_->notes();
    const std::vector<end_of_epoch> all =
        this->all_of(end_of_epoch{result, notes.seconds_waited - waited_before_, notes.asks()});
    waited_before_ = notes.seconds_waited;
    std::size_t slowest = 0;
    double waited = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i].waited < all[slowest].waited) slowest = i;
      waited += all[i].waited;
      if (all[i].asks != 0) notes.is_asked_to_stop = true;
    }
    const double longer =
        (waited - static_cast<double>(all.size()) * all[slowest].waited) / static_cast<double>(all.size() - 1);
    if (shows)
      std::fprintf(stderr, "the slowest process was rank %d: each of the others waited %s s longer, on average\n",
                   static_cast<int>(slowest), cairn::detail::with_places(longer, 1).c_str());
    return all[0].result;
  }

  Group* group_;
  double waited_before_ = 0;    // seconds that this process had waited when the last epoch ended
  std::exception_ptr failure_;  // what `try_in_first` has thrown
};
}  // namespace detail

/// Returns the sum of value(batch) over all batches, added in double from the first batch to the last:
/// `train::sum_over(step, data::batches<100>(set.test), [&](const auto& batch) { return number_right(batch); })`.
///
/// If several processes share the shards of the program, each process evaluates a part of the batches. All processes
/// call the function, and all get the same sum, which has the same bits for any number of processes. The values must
/// therefore not depend on one another. If `value` throws in a process, all processes throw.
///
/// `batches` is a range with size(), for example data::batches.
template <class Program, class Batches, class Value>
double sum_over(const Program& program, Batches&& batches, Value value) {
  const detail::agreement all(detail::group_of(program), "the values of batches");
  std::vector<double> values(static_cast<std::size_t>(batches.size()));
  all.together([&] {
    std::size_t number = 0;
    for (auto at = batches.begin(); at != batches.end(); ++at, ++number) {
      if (number % static_cast<std::size_t>(all.size()) == static_cast<std::size_t>(all.rank()))
        values[number] = static_cast<double>(value(*at));
    }
  });
  all.join_bits(values.data(), values.size() * sizeof(double));
  double sum = 0;
  for (const double each : values) sum += each;
  return sum;
}

}  // namespace cairn::train
