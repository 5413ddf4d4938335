// Shares the shards of programs among the processes of MPI: `mpi::ranks all{argc, argv}; program<loss, shards<8>>
// step{all};`. Only this header includes <mpi.h>. Compile with mpicxx, or with the options that `pkg-config ompi-c` or
// `pkg-config mpich` prints. docs/processes.md explains how to start several processes.
#pragma once

#include "cairn/base/macros_aside.hpp"
#include "cairn/run/processes.hpp"

#ifndef OMPI_SKIP_MPICXX
#define OMPI_SKIP_MPICXX  // the bindings for C++ are dead
#endif
#ifndef MPICH_SKIP_MPICXX
#define MPICH_SKIP_MPICXX
#endif
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mpi.h>
#include <sched.h>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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
  ranks(int& argument_count, char**& arguments, ranks_options options = {})
      : ranks(MPI_COMM_WORLD, options, initialize(argument_count, arguments)) {}
  /// Takes the processes of a communicator. The communicator is duplicated, and the destructor frees the duplicate.
  explicit ranks(MPI_Comm communicator, ranks_options options = {}) : ranks(communicator, options, false) {}
  ranks(const ranks&) = delete;
  ~ranks() override {
    if (std::uncaught_exceptions() > exceptions_before_ && !others_throw_too()) {
      char text[80];
      std::snprintf(text, sizeof text, "rank %d of %d: an exception left the scope of mpi::ranks", rank_, size_);
      end_all(text);
    }
    MPI_Comm_free(&communicator_);
    if (finalizes_) MPI_Finalize();
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

 private:
  double patience() const override { return options_.patience; }
  std::unique_ptr<detail::transfer_list> prepare(std::span<const detail::transfer> transfers) override {
    int *most = nullptr, is_known = 0;
    check(MPI_Comm_get_attr(communicator_, MPI_TAG_UB, static_cast<void*>(&most), &is_known));
    if (is_known != 0 && std::cmp_greater(transfers.size(), *most))
      end_all("the program exchanges more buckets of gradients than this MPI has tags");
    return std::make_unique<persistent>(*this, transfers);
  }
  double now() override {
    sched_yield();  // processes may share a core
    return MPI_Wtime();
  }
  [[noreturn]] void end_all(std::string_view text) override {
    std::fprintf(stderr, "cairn: %.*s\n", static_cast<int>(text.size()), text.data());
    std::fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, 1);  // for another communicator, MPICH 4.0 waits until all processes receive a message
    std::abort();
  }

  ranks(MPI_Comm communicator, ranks_options options, bool finalizes) : options_(options), finalizes_(finalizes) {
    check(MPI_Comm_dup(communicator, &communicator_));
    check(MPI_Comm_set_errhandler(communicator_, MPI_ERRORS_RETURN));
    check(MPI_Comm_rank(communicator_, &rank_));
    check(MPI_Comm_size(communicator_, &size_));
  }
  /// Initializes MPI and returns true, or returns false if MPI is initialized.
  static bool initialize(int& argument_count, char**& arguments) {
    int is_initialized = 0, level = 0;
    MPI_Initialized(&is_initialized);
    if (is_initialized == 0) MPI_Init_thread(&argument_count, &arguments, MPI_THREAD_FUNNELED, &level);
    return is_initialized == 0;
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

  /// Transfers as persistent requests: two for each, one that receives and one that sends.
  class persistent final : public detail::transfer_list {
   public:
    persistent(ranks& all, std::span<const detail::transfer> transfers)
        : all_(all), requests_(2 * transfers.size(), MPI_REQUEST_NULL), open_(transfers.size(), 0) {
      for (std::size_t i = 0; i < transfers.size(); ++i) {
        const auto& [partner, sent, received, bytes] = transfers[i];
        const auto count = static_cast<int>(bytes), tag = tag_of_end + 1 + static_cast<int>(i);
        all_.check(MPI_Recv_init(received, count, MPI_BYTE, partner, tag, all_.communicator_, &requests_[2 * i]));
        all_.check(MPI_Send_init(const_cast<std::byte*>(sent), count, MPI_BYTE, partner, tag, all_.communicator_,
                                 &requests_[2 * i + 1]));
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

  static constexpr int tag_of_end = 0;  // transfers have the tags behind it

  MPI_Comm communicator_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1;
  const ranks_options options_;
  const bool finalizes_;
  const int exceptions_before_ = std::uncaught_exceptions();
};

}  // namespace cairn::mpi

#include "cairn/base/macros_back.hpp"
