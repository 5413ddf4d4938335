// A group of processes that train one program together, as far as a program knows it. cairn/mpi.hpp has such a group
// for MPI. In tests, threads stand for processes.
#pragma once

#include "cairn/base/compiler.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace cairn::detail {

/// Two messages of equal length: one to a partner, and one from this partner.
struct transfer {
  int partner;  ///< rank of the other process
  const std::byte* sent;
  std::byte* received;
  std::int64_t bytes;
};

/// The transfers of one program. Their addresses stay the same, so they are prepared once and started in every training
/// step.
class transfer_list {
 public:
  virtual ~transfer_list() = default;
  /// Starts transfer number `index`. The partner starts its own transfer of this number.
  virtual void start(int index) = 0;
  /// Returns true if both messages of a transfer that was started have arrived. The function never waits.
  virtual bool is_done(int index) = 0;
};

/// A request to stop that a process has received, for example as a signal.
enum class stop_request : std::uint8_t {
  absent,
  after_step,          ///< the run ends after a training step
  at_once_if_waiting,  ///< the run ends after a training step, or at once if the request came while the process waited
};

/// Facts that the training steps of a process and its training loop tell each other.
struct group_notes {
  std::int64_t step = 0;      ///< number of the last training step that began, for messages
  double seconds_waited = 0;  ///< how long training steps have waited for other processes
  /// Returns the request that this process has received. Null if nothing notes requests.
  stop_request (*received)() = nullptr;
  bool asks_to_stop = false;      ///< this process asks all processes to stop, for another reason than a request
  bool is_asked_to_stop = false;  ///< a process asked to stop, and a training step has told all processes so

  /// Returns true if this process asks all processes to stop.
  bool asks() const { return asks_to_stop || (received != nullptr && received() != stop_request::absent); }
  /// Returns true if a wait that is open must end at once.
  bool must_not_wait() const { return received != nullptr && received() == stop_request::at_once_if_waiting; }
};

/// A group of processes. Each has a rank from 0 to size() - 1, and runs the same program.
class process_group {
 public:
  using transfer = detail::transfer;
  using transfer_list = detail::transfer_list;

  virtual ~process_group() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// How many seconds a process waits for another one without any progress, before all processes end.
  virtual double patience() const = 0;
  /// Prepares the transfers of a program, which must end before the group does.
  virtual std::unique_ptr<transfer_list> prepare(std::span<const transfer> transfers) = 0;
  /// Returns a time in seconds. A process that waits calls this function again and again, so the function may let other
  /// threads run. It also answers `late_ranks` of other processes.
  virtual double now() = 0;
  /// Asks the other processes whether they wait, too. Returns the ranks of those that do not answer within a second.
  /// Afterwards all processes must end.
  virtual std::vector<int> late_ranks() = 0;
  /// Prints the text and ends all processes.
  [[noreturn]] virtual void end_all(std::string_view text) = 0;

  /// Returns the number of the next program that is made of the group. All processes make the same programs in the same
  /// order, so a program has the same number in all of them.
  int number_program() { return programs_++; }
  group_notes& notes() { return notes_; }

 private:
  int programs_ = 0;
  group_notes notes_;
};

}  // namespace cairn::detail
