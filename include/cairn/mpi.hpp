// Shares the shards of programs among the processes of MPI: `mpi::ranks all{argc, argv}; program<loss, shards<8>>
// step{all};`. Only this header includes <mpi.h>. Compile with mpicxx, or with the options that `pkg-config ompi-c` or
// `pkg-config mpich` prints. docs/processes.md explains how to start several processes.
#pragma once

#include "cairn/base/macros_aside.hpp"
#include "cairn/base/setting.hpp"
#include "cairn/kernel/threads.hpp"
#include "cairn/run/processes.hpp"

#ifndef OMPI_SKIP_MPICXX
#define OMPI_SKIP_MPICXX  // the bindings for C++ are dead
#endif
#ifndef MPICH_SKIP_MPICXX
#define MPICH_SKIP_MPICXX
#endif
#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <limits>
#include <mpi.h>
#include <sched.h>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unistd.h>
#include <utility>
#include <vector>

namespace cairn::detail {

/// A message of any number of bytes, in the form in which MPI takes it. MPI counts in int, so a message of more than
/// `most` bytes is one element of a type of its own: blocks of `most` bytes, and the bytes behind them.
struct message_of_bytes {
  MPI_Datatype type = MPI_BYTE;
  int count, code = MPI_SUCCESS;

  explicit message_of_bytes(std::int64_t bytes, int most = std::numeric_limits<int>::max()) : count(0) {
    if (bytes <= most) {
      count = static_cast<int>(bytes);
      return;
    }
    const auto blocks = static_cast<int>(bytes / most), rest = static_cast<int>(bytes % most);
    MPI_Datatype block = MPI_DATATYPE_NULL;
    const MPI_Aint places[] = {0, static_cast<MPI_Aint>(blocks) * most};
    const int counts[] = {blocks, rest};
    count = 1;
    code = MPI_Type_contiguous(most, MPI_BYTE, &block);
    const MPI_Datatype types[] = {block, MPI_BYTE};
    if (code == MPI_SUCCESS) code = MPI_Type_create_struct(2, counts, places, types, &type);
    if (code == MPI_SUCCESS) code = MPI_Type_commit(&type);
    if (block != MPI_DATATYPE_NULL) MPI_Type_free(&block);
  }
  message_of_bytes(const message_of_bytes&) = delete;
  /// Frees the type. Requests that were made with it still have it.
  ~message_of_bytes() {
    if (type != MPI_BYTE) MPI_Type_free(&type);
  }
};
}  // namespace cairn::detail

namespace cairn::mpi {

/// Options of ranks.
struct ranks_options {
  /// How many seconds a process waits for another one without any progress, before all processes end. Until the first
  /// training step has ended, the time is ten times as long.
  double patience = 60;
};

/// The processes of a communicator of MPI. Programs that are made of it must end before it does.
///
/// If an exception leaves the scope of this object in one process and not in all, all processes end, because
/// the other processes would wait for this one.
class ranks final : public detail::process_group {
 public:
  /// Takes all processes. Initializes MPI if MPI is not initialized. In this case, the destructor finalizes MPI.
  ///
  /// Throws std::invalid_argument if `.patience` is not above 0. Throws std::runtime_error in three cases:
  /// - Several processes were started and MPI did not join them. The program is then linked with another MPI than the
  ///   MPI of its starter.
  /// - MPI was initialized for programs without threads, and this program is compiled with OpenMP.
  /// - This thread may not call MPI.
  ranks(int& argument_count, char**& arguments, ranks_options options = {})
      : ranks(MPI_COMM_WORLD, options, initialize(argument_count, arguments, options)) {
    if (size_ == 1) check_is_alone();
  }
  /// Takes the processes of a communicator. The communicator is duplicated, and the destructor frees the duplicate.
  /// Throws the same exceptions, except for processes that MPI did not join.
  explicit ranks(MPI_Comm communicator, ranks_options options = {}) : ranks(communicator, checked(options), false) {}
  ranks(const ranks&) = delete;
  ~ranks() override {
    if (std::uncaught_exceptions() > exceptions_before_ && !others_throw_too()) {
      char text[80];
      std::snprintf(text, sizeof text, "rank %d of %d: an exception left the scope of mpi::ranks", rank_, size_);
      end_all(text);
    }
    leave();
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

 private:
  double patience() const override { return options_.patience; }
  std::unique_ptr<detail::transfer_list> prepare(std::span<const detail::transfer> transfers) override {
    int *most = nullptr, is_known = 0;
    check(MPI_Comm_get_attr(communicator_, MPI_TAG_UB, static_cast<void*>(&most), &is_known));
    if (is_known != 0 && std::cmp_greater(transfers.size() + first_tag, *most))
      end_all("the program exchanges more buckets of gradients than this MPI has tags");
    return std::make_unique<persistent>(*this, transfers);
  }
  double now() override {
    sched_yield();  // processes may share a core
    const double time = MPI_Wtime();
    if (time >= next_look_) {
      next_look_ = time + 0.1;
      if (is_told_by(MPI_ANY_SOURCE)) tell_waiting();
    }
    return time;
  }
  std::vector<int> late_ranks() override {
    tell_waiting();
    std::vector<int> late;
    const double begin = MPI_Wtime();
    do {
      sched_yield();
      late.clear();
      for (int other = 0; other < size_; ++other) {
        if (other != rank_ && !is_told_by(other)) late.push_back(other);
      }
    } while (!late.empty() && MPI_Wtime() - begin < 1);
    return late;
  }
  [[noreturn]] void end_all(std::string_view text) override {
    std::fprintf(stderr, "cairn: %.*s\n", static_cast<int>(text.size()), text.data());
    std::fflush(stderr);
    usleep(100'000);               // MPICH's starter does not always pass on what was written just before the end
    MPI_Abort(MPI_COMM_WORLD, 1);  // for another communicator, MPICH 4.0 waits until all processes receive a message
    std::abort();
  }

  ranks(MPI_Comm communicator, ranks_options options, bool finalizes) : options_(options), finalizes_(finalizes) {
    check(MPI_Comm_dup(communicator, &communicator_));
    check(MPI_Comm_set_errhandler(communicator_, MPI_ERRORS_RETURN));
    check(MPI_Comm_rank(communicator_, &rank_));
    check(MPI_Comm_size(communicator_, &size_));
    int level = MPI_THREAD_SINGLE, is_main = 0;
    check(MPI_Query_thread(&level));
    check(MPI_Is_thread_main(&is_main));
#ifdef SMPI_H
    is_main = 1;  // SimGrid's processes are threads of one process, of which it calls only one the main thread
#endif
    if (const char* const wrong = problem_of_threads(level, is_main != 0)) {
      leave();
      refuse(std::runtime_error(wrong));
    }
  }
  static ranks_options checked(ranks_options options) {
    const setting patience("patience", options.patience, options.patience > 0, "a number above 0");
    detail::check_settings("mpi::ranks_options", std::array{patience});
    return options;
  }
  /// Initializes MPI and returns true, or returns false if MPI is initialized.
  static bool initialize(int& argument_count, char**& arguments, ranks_options options) {
    checked(options);
    int is_initialized = 0, level = 0;
    if (MPI_Initialized(&is_initialized) != MPI_SUCCESS ||
        (is_initialized == 0 &&
         MPI_Init_thread(&argument_count, &arguments, MPI_THREAD_FUNNELED, &level) != MPI_SUCCESS))
      refuse(std::runtime_error("cairn: MPI_Init_thread failed"));
    return is_initialized == 0;
  }
  /// Returns what is wrong if this thread cannot call MPI at this thread level, or null.
  static const char* problem_of_threads(int level, bool is_main) {
    if (level < MPI_THREAD_FUNNELED && kernels::threads_exist)
      return "cairn: MPI was initialized for programs without threads, and this program is compiled with OpenMP; call "
             "MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level) instead of MPI_Init";
    if (level < MPI_THREAD_SERIALIZED && !is_main)
      return "cairn: mpi::ranks is made by a thread that may not call MPI; make it and train in the thread that "
             "initialized MPI, or initialize MPI with MPI_THREAD_SERIALIZED";
    return nullptr;
  }
  /// Throws std::runtime_error if several processes were started. A starter of MPI sets one of the first three
  /// variables. The variable of Slurm counts only without them, because Slurm may have started the starter.
  static void check_is_alone() {
    const char* variable = nullptr;
    for (const char* const one : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS", "SLURM_STEP_NUM_TASKS"}) {
      if (std::getenv(one) == nullptr) continue;
      variable = one;
      break;
    }
    const int started = variable != nullptr ? std::atoi(std::getenv(variable)) : 1;
    if (started <= 1) return;
    refuse(std::runtime_error(detail::text_of(
        {"cairn: ", detail::text_of(started), " processes were started (", variable,
         "), and MPI joined only this one, so each would train alone; start them with the mpirun of the MPI that the "
         "program is linked with, or with srun --mpi=pmix (`srun --mpi=list` has the names); if they are to train "
         "alone, unset ",
         variable})));
  }
  /// Frees the communicator, and finalizes MPI if this object initialized it.
  void leave() {
    check(MPI_Comm_free(&communicator_));
    if (finalizes_ && MPI_Finalize() != MPI_SUCCESS) {
      std::fputs("cairn: MPI_Finalize failed\n", stderr);
      std::abort();
    }
  }
  void check(int code) {
    if (code == MPI_SUCCESS) return;
    char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    MPI_Error_string(code, text, &length);
    end_all(text);
  }

  /// Returns true if an exception leaves the scope of this object in all processes. Waits at most a second.
  bool others_throw_too() {
    std::vector<MPI_Request> requests;
    for (int other = 0; other < size_; ++other) {
      if (other == rank_) continue;
      requests.resize(requests.size() + 2);
      MPI_Irecv(nullptr, 0, MPI_BYTE, other, tag_of_end, communicator_, &requests.back());
      MPI_Isend(nullptr, 0, MPI_BYTE, other, tag_of_end, communicator_, &*(requests.end() - 2));
    }
    const double begin = now();
    int all = 0;
    while (all == 0 && now() - begin < 1)
      MPI_Testall(static_cast<int>(requests.size()), requests.data(), &all, MPI_STATUSES_IGNORE);
    return all != 0;
  }

  /// Tells all other processes that this one waits, and thereby asks them whether they do.
  void tell_waiting() {
    if (std::exchange(has_told_, true)) return;
    for (int other = 0; other < size_; ++other) {
      if (other == rank_) continue;
      MPI_Request request;
      check(MPI_Isend(nullptr, 0, MPI_BYTE, other, tag_of_wait, communicator_, &request));
      check(MPI_Request_free(&request));
    }
  }
  bool is_told_by(int rank) {
    int is_told = 0;
    check(MPI_Iprobe(rank, tag_of_wait, communicator_, &is_told, MPI_STATUS_IGNORE));
    return is_told != 0;
  }

  /// Transfers as persistent requests: two for each, one that receives and one that sends.
  class persistent final : public detail::transfer_list {
   public:
    persistent(ranks& all, std::span<const detail::transfer> transfers)
        : all_(all), requests_(2 * transfers.size(), MPI_REQUEST_NULL), open_(transfers.size(), 0) {
      for (std::size_t i = 0; i < transfers.size(); ++i) {
        const auto& [partner, sent, received, bytes] = transfers[i];
        const int tag = first_tag + static_cast<int>(i);
        const detail::message_of_bytes message(bytes);
        all_.check(message.code);
        all_.check(
            MPI_Recv_init(received, message.count, message.type, partner, tag, all_.communicator_, &requests_[2 * i]));
        all_.check(MPI_Send_init(const_cast<std::byte*>(sent), message.count, message.type, partner, tag,
                                 all_.communicator_, &requests_[2 * i + 1]));
      }
    }
    ~persistent() override {
      for (MPI_Request& one : requests_) {
        if (one != MPI_REQUEST_NULL) MPI_Request_free(&one);
      }
    }
    void start(int index) override {
      open_[static_cast<std::size_t>(index)] = 2;
      all_.check(MPI_Startall(2, requests_of(index)));
    }
    bool is_done(int index) override {
      int& open = open_[static_cast<std::size_t>(index)];
      int ended = 0, which[2];
      all_.check(MPI_Testsome(2, requests_of(index), &ended, which, MPI_STATUSES_IGNORE));
      if (ended != MPI_UNDEFINED) open -= ended;
      return open == 0;
    }

   private:
    MPI_Request* requests_of(int index) { return requests_.data() + 2 * index; }

    ranks& all_;
    std::vector<MPI_Request> requests_;
    std::vector<int> open_;  // by transfer: how many of its messages are under way
  };

  static constexpr int tag_of_end = 0, tag_of_wait = 1, first_tag = 2;  // transfers have the tags from first_tag on

  MPI_Comm communicator_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1;
  const ranks_options options_;
  const bool finalizes_;
  bool has_told_ = false;
  double next_look_ = 0;  // when `now` looks next whether other processes ask which ones wait
  const int exceptions_before_ = std::uncaught_exceptions();
};

}  // namespace cairn::mpi

#include "cairn/base/macros_back.hpp"
