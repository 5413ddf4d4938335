// The README's network in the processes of MPI: ranks FOLDER FORM STEPS. ranks.py compiles this program, with the rows
// of a shard as ROWS and the number of shards as SHARDS, and starts it. FORM is one of
// - `hash`: prints a hash of the parameters after the training steps;
// - `time`: prints the seconds of each training step, and the seconds of a processor;
// - `parts`: prints the same for a program with sharded_moments;
// - `viewed`: prints the same as `parts`, with a view of the parameters, for which each training step waits;
// - `alone`: prints the same as `time` for a program without shards, with the rows of one shard;
// - `record`: prints when the fastest training step computed, waited and exchanged, as JSON;
// - `reduce`: prints the seconds in which all buckets are summed by the tree of cairn, and by MPI_Iallreduce.
// The first process prints. With `record`, all processes do.
#include <algorithm>
#include <cairn/cairn.hpp>
#include <cairn/mpi.hpp>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include "serve.hpp"

using namespace cairn;

namespace {

constexpr auto feed_forward = nn::linear<"fc1", 1024> | nn::gelu | nn::linear<"fc2", 256>;
constexpr auto blocks = repeat<8, "block">([](auto) { return ckpt<"ff">(nn::residual(feed_forward)); });
constexpr auto model = nn::linear<"embed", 256> | blocks | nn::linear<"head", 10>;
constexpr auto loss = cross_entropy(input<"images", ROWS, 784> | model, labels<"classes", 10, ROWS>);
using divided = program<loss, update<adamw_options{.lr = 1e-5}>, shards<SHARDS>>;
using in_parts = program<loss, update<adamw_options{.lr = 1e-5}>, shards<SHARDS>, sharded_moments>;
using undivided = program<loss, update<adamw_options{.lr = 1e-5}>>;

/// Passes everything to a group, and notes when transfers start and end, and when a process begins to wait.
class recorder final : public detail::process_group {
 public:
  struct event {
    int index;
    double start, end;
  };
  explicit recorder(detail::process_group& group) : group_(group) {}

  std::vector<event> events;
  std::vector<std::int64_t> bytes;  ///< by transfer
  double wait = 0;                  ///< when the process began to wait; 0 if it has not waited yet

  int rank() const override { return group_.rank(); }
  int size() const override { return group_.size(); }
  double patience() const override { return group_.patience(); }
  double now() override {
    const double time = group_.now();
    if (wait == 0) wait = time;
    return time;
  }
  std::vector<int> late_ranks() override { return group_.late_ranks(); }
  [[noreturn]] void end_all(std::string_view text) override {
    group_.end_all(text);
    std::abort();  // g++ 12 forgets that the function above does not return
  }
  std::unique_ptr<transfer_list> prepare(std::span<const transfer> transfers) override {
    for (const transfer& one : transfers) bytes.push_back(one.bytes);
    return std::make_unique<list>(*this, group_.prepare(transfers));
  }

 private:
  class list final : public transfer_list {
   public:
    list(recorder& of, std::unique_ptr<transfer_list> all) : of_(of), all_(std::move(all)) {}
    void start(int index) override {
      of_.events.push_back({index, MPI_Wtime(), 0});
      all_->start(index);
    }
    bool is_done(int index) override {
      const bool done = all_->is_done(index);
      if (done) std::ranges::find(of_.events, index, &event::index)->end = MPI_Wtime();
      return done;
    }

   private:
    recorder& of_;
    std::unique_ptr<transfer_list> all_;
  };
  detail::process_group& group_;
};

struct arrays {
  std::vector<float> images;
  std::vector<std::int32_t> classes;
  arrays(const contestant::arguments& given, std::size_t rows)
      : images(given.tensor<float>("images", rows * 784)), classes(given.tensor<std::int32_t>("classes", rows)) {}
};

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}
double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
/// `clock` is MPI_Wtime if there are several processes, because SimGrid then has a clock of its own.
void print_times(auto& step, const arrays& batch, int steps, bool prints, double (*clock)()) {
  for (int i = 0; i < steps; ++i) {
    const double begin = clock(), used = processor_seconds();
    step.train(bind<"images">(batch.images), bind<"classes">(batch.classes));
    if (prints) std::printf("%.6f %.6f\n", clock() - begin, processor_seconds() - used);
  }
}

void print_hash(divided& step, const arrays& batch, int steps, bool prints) {
  float last = 0;
  for (int i = 0; i < steps; ++i) last = step.train(bind<"images">(batch.images), bind<"classes">(batch.classes));
  const auto bytes = std::as_bytes(step.parameters());
  const auto hash = detail::hash64_of({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, 0);
  if (prints) std::printf("%016llx %.9g\n", static_cast<unsigned long long>(hash), static_cast<double>(last));
}

void print_record(divided& step, recorder& all, const arrays& batch, int steps) {
  std::vector<recorder::event> best;
  double begin = 0, wait = 0, end = 1e300;
  for (int i = 0; i < steps; ++i) {
    all.events.clear();
    all.wait = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    const double at = MPI_Wtime();
    step.train(bind<"images">(batch.images), bind<"classes">(batch.classes));
    const double after = MPI_Wtime();
    // The processes keep the same step.
    double taken = after - at, most = 0;
    MPI_Allreduce(&taken, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (i > 0 && most < end - begin) {
      best = all.events;
      begin = at, wait = all.wait, end = at + most;
    }
  }
  std::string out = "{\"rank\": " + std::to_string(all.rank()) + ", \"wait\": " + std::to_string(wait - begin) +
                    ", \"end\": " + std::to_string(end - begin) + ", \"transfers\": [";
  for (const auto& one : best) {
    out += (&one == best.data() ? "[" : ", [") + std::to_string(one.index) + ", " +
           std::to_string(all.bytes[static_cast<std::size_t>(one.index)]) + ", " + std::to_string(one.start - begin) +
           ", " + std::to_string(one.end - begin) + "]";
  }
  out += "]}";
  // mpirun mixes the lines of several processes, so one of them prints all.
  if (all.rank() > 0) {
    MPI_Send(out.data(), static_cast<int>(out.size()), MPI_CHAR, 0, 0, MPI_COMM_WORLD);
    return;
  }
  std::printf("%s\n", out.c_str());
  for (int from = 1; from < all.size(); ++from) {
    MPI_Status status;
    int size = 0;
    MPI_Probe(from, 0, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_CHAR, &size);
    out.resize(static_cast<std::size_t>(size));
    MPI_Recv(out.data(), size, MPI_CHAR, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    std::printf("%s\n", out.c_str());
  }
}

void print_reductions(mpi::ranks& all, int steps) {
  constexpr std::size_t bucket = plans::bucket_bytes / sizeof(float);
  const auto bytes = static_cast<std::size_t>(divided::memory().gradient_bytes);
  const std::size_t count = bytes / plans::bucket_bytes;
  std::vector<float> own(count * bucket, 1), received(own.size());
  detail::exchange<detail::process_group> exchange(all, {});
  const int first = exchange.count();
  const auto join = [](std::byte* to, const std::byte* from, std::int64_t size, bool) {
    detail::add_numbers(reinterpret_cast<float*>(to), reinterpret_cast<const float*>(from),
                        size / static_cast<std::int64_t>(sizeof(float)), 1);
  };
  for (std::size_t i = 0; i < count; ++i) {
    exchange.add({reinterpret_cast<std::byte*>(own.data() + i * bucket),
                  reinterpret_cast<std::byte*>(received.data() + i * bucket), plans::bucket_bytes, true, join, 0, ""});
  }
  exchange.prepare();
  std::vector<MPI_Request> requests(count);
  for (int i = 0; i < steps; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    for (std::size_t b = 0; b < count; ++b) exchange.launch(first + static_cast<int>(b));
    exchange.finish();
    MPI_Barrier(MPI_COMM_WORLD);
    const double middle = MPI_Wtime();
    for (std::size_t b = 0; b < count; ++b) {
      MPI_Iallreduce(MPI_IN_PLACE, own.data() + b * bucket, static_cast<int>(bucket), MPI_FLOAT, MPI_SUM,
                     MPI_COMM_WORLD, &requests[b]);
    }
    MPI_Waitall(static_cast<int>(count), requests.data(), MPI_STATUSES_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    if (all.rank() == 0) std::printf("%.6f %.6f\n", middle - begin, MPI_Wtime() - middle);
  }
}

}  // namespace

int main(int count, char** words) {
  const int steps = std::stoi(words[3]);
  const contestant::arguments given(3, words);
  if (given.form == "alone") {
    undivided step;
    given.load(step);
    print_times(step, arrays(given, ROWS), steps, true, wall_seconds);
    return 0;
  }
  mpi::ranks all{count, words};
  if (given.form == "reduce") {
    print_reductions(all, steps);
    return 0;
  }
  const arrays batch(given, ROWS * SHARDS);
  if (given.form == "parts" || given.form == "viewed") {
    in_parts step{all};
    step.init(seed{1});  // given.load would make views
    if (given.form == "viewed") static_cast<void>(step.parameters());
    print_times(step, batch, steps, all.rank() == 0, MPI_Wtime);
    return 0;
  }
  recorder recorded(all);
  divided step = given.form == "record" ? divided{recorded} : divided{all};
  given.load(step);
  if (given.form == "record") print_record(step, recorded, batch, steps);
  else if (given.form == "time") print_times(step, batch, steps, all.rank() == 0, MPI_Wtime);
  else print_hash(step, batch, steps, all.rank() == 0);
}
