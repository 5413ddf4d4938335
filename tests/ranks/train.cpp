// A training run of several processes, for tests/tools/ranks.py: train MODEL FILE [WORD VALUE]...
//
// The run trains a model, `float`, `bf16` or `synchronized`, and saves it. The file must have the same bits for any
// number of processes and threads. The model `synchronized` needs 8 processes. In addition, the run counts what it
// sends, and compares the counts with the figures of the program.
//
// word      value
// from      a file from which the run goes on
// steps     how many training steps there are in the end
// patience  seconds
// alone     1: makes a program of one process
// moments   `parts`: each process keeps a part of the moments
// begin     who initializes MPI: `single` for a program without threads, or `thread` in another thread
// fault     what goes wrong in the last process: `model`, `throw`, `throw-outside`, `nan`, `set` or `sleep`
//
// A file that cannot be written must not change the run, so the run first tries that.
#include <algorithm>
#include <bit>
#include <cairn/cairn.hpp>
#include <cairn/file/saving.hpp>
#include <cairn/mpi.hpp>
#include <cstdio>
#include <limits>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

/// The bytes of each persistent request that sends, and what was started so far.
std::map<MPI_Request, int> bytes_of_request;
cairn::traffic_plan sent;

}  // namespace

// The functions of MPI that cairn sends with. MPI lets programs replace them, and has them under a second name.
extern "C" int MPI_Send_init(const void* from, int count, MPI_Datatype type, int to, int tag, MPI_Comm among,
                             MPI_Request* made) {
  const int code = PMPI_Send_init(from, count, type, to, tag, among, made);
  int size = 0;
  PMPI_Type_size(type, &size);
  bytes_of_request[*made] = count * size;
  return code;
}
extern "C" int MPI_Startall(int count, MPI_Request requests[]) {
  for (int i = 0; i < count; ++i) {
    const auto found = bytes_of_request.find(requests[i]);
    if (found == bytes_of_request.end()) continue;
    ++sent.messages;
    sent.bytes += found->second;
  }
  return PMPI_Startall(count, requests);
}

namespace {

using namespace cairn;

constexpr int rows = 4, features = 40, wide = 301, classes = 5, parts = 16;
constexpr auto inner = nn::linear<"fc", wide> | nn::gelu | nn::dropout<"drop", 0.25>;
constexpr auto blocks = repeat<3, "block">([](auto) { return ckpt<"ff">(nn::residual(inner)); });
/// The loss and the accuracy of `Rows` rows, if a batch norm takes its statistics in this way.
template <int Rows, nn::batch_statistics Statistics>
constexpr auto loss = [] {
  constexpr auto norm = nn::batch_norm<"bn", nn::batch_norm_options{.statistics = Statistics}>;
  constexpr auto y = labels<"y", classes, Rows>;
  constexpr auto logits =
      input<"x", Rows, features> | nn::linear<"in", wide> | norm | blocks | nn::linear<"out", classes>;
  return outputs(cross_entropy<nn::cross_entropy_options{.ignore_index = 0}>(logits, y), accuracy(logits, y));
}();

template <auto Loss, class... More>
using trainer_of =
    program<Loss, update<adamw_options{.lr = 0.01}>, clip<0.5>, shards<8>, check_finite, threads<2>, More...>;
template <class... More>
using trainer = trainer_of<loss<rows, nn::batch_statistics::local>, microbatch<2>, More...>;
using in_float = trainer<>;
using in_bf16 = trainer<mixed<bf16, stochastic_rounding>>;
using in_float_in_parts = trainer<sharded_moments>;
using in_bf16_in_parts = trainer<mixed<bf16, stochastic_rounding>, sharded_moments>;
/// A shard has no microbatches here, but as many rows.
template <class... More>
using synchronized = trainer_of<loss<2 * rows, nn::batch_statistics::synchronized>, More...>;

template <class Trainer>
constexpr int rows_of = rows;
template <class... More>
constexpr int rows_of<synchronized<More...>> = 2 * rows;

struct batch {
  std::vector<float> x = std::vector<float>(parts * rows * features);
  std::vector<std::int32_t> y = std::vector<std::int32_t>(parts * rows);
  explicit batch(std::int64_t number) {
    random_sequence draw(seed{11}, static_cast<std::uint64_t>(number));
    for (float& value : x) value = 3 * uniform(draw()) - 1;
    for (std::int32_t& label : y) label = static_cast<std::int32_t>(draw.below(classes));
  }
};

using words = std::map<std::string, std::string>;

template <class Trainer>
void train(Trainer& step, int rank, int size, words given) {
  const bool is_faulty = rank == size - 1;
  const std::string fault = is_faulty ? given["fault"] : "";
  step.init(seed{42});
  if (given.contains("from")) step.load(given["from"]);
  const int steps = given.contains("steps") ? std::stoi(given["steps"]) : 6;
  bool is_first = true;
  int tensors = 0;
  // A view of the parameters of `step` would keep its training steps from leaving messages under way.
  const auto alone = std::make_unique<Trainer>();
  alone->for_each_parameter([&](std::string_view, auto) { ++tensors; });
  alone->for_each_gradient([&](std::string_view, auto) { tensors += 2; });
  while (step.steps() < steps) {
    batch b(step.steps());
    sent = {};
    if (step.steps() == 2) {
      if (fault == "throw-outside") throw std::runtime_error("a disk is full");
      if (fault == "sleep") sleep(60);
      if (fault == "set") step.template param<"bn.running_mean">()(7) += 1;
      if (fault == "nan") b.x.back() = std::numeric_limits<float>::quiet_NaN();
    }
    // Even steps give arrays of the whole batch, and odd steps a callback.
    const auto [l, right] =
        step.steps() % 2 == 0 ? step.train(bind<"x">(b.x), bind<"y">(b.y)) : step.train([&](int part) {
          if (fault == "throw" && part == parts - 1) throw std::runtime_error("a file is damaged");
          constexpr int each = rows_of<Trainer>;
          const auto at = static_cast<std::size_t>(part * each);
          return inputs(bind<"x">(std::span(b.x).subspan(at * features, each * features)),
                        bind<"y">(std::span(b.y).subspan(at, each)));
        });
    traffic_plan planned = Trainer::traffic(size);
    if (is_first) {
      // The first step compares a hash of each tensor, and of the position of the training.
      planned.messages += std::countr_zero(static_cast<unsigned>(size));
      planned.bytes += std::countr_zero(static_cast<unsigned>(size)) * 8 * (tensors + 1);
    }
    is_first = false;
    if (sent.bytes != planned.bytes || sent.messages != planned.messages)
      throw std::logic_error("sent " + std::to_string(sent.bytes) + " bytes in " + std::to_string(sent.messages) +
                             " messages, planned " + std::to_string(planned.bytes) + " in " +
                             std::to_string(planned.messages));
    if (rank == 0) {
      std::printf("step %d: loss %.9g, accuracy %.9g\n", static_cast<int>(step.steps()), static_cast<double>(l),
                  static_cast<double>(right));
      std::fflush(stdout);
    }
  }
  bool has_thrown = false;
  try {
    step.save("no/such/folder");
  } catch (const file::write_error&) {
    has_thrown = true;
  }
  if (!has_thrown) throw std::logic_error("a file was written in a folder that does not exist");
  step.save(given["file"]);
  if (rank == 0) {
    std::puts("saved");
    std::fflush(stdout);
  }
}
/// Sends messages of this process to itself that are longer than MPI could count if `most` bytes were the limit.
void send_long_messages() {
  constexpr int most = 1000;
  for (const int bytes : {1, most, most + 1, 2 * most, 1000 * most + 3}) {
    std::vector<char> sent(static_cast<std::size_t>(bytes)), received(sent.size() + 1);
    for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<char>(1 + i % 100);
    const detail::message_of_bytes message(bytes, most);
    if (message.code != MPI_SUCCESS || message.count > most) throw std::logic_error("a message is too long");
    MPI_Sendrecv(sent.data(), message.count, message.type, 0, 1, received.data(), message.count, message.type, 0, 1,
                 MPI_COMM_SELF, MPI_STATUS_IGNORE);
    if (!std::equal(sent.begin(), sent.end(), received.begin()) || received.back() != 0)
      throw std::logic_error("a long message does not arrive");
  }
}

template <class Trainer>
void train(mpi::ranks& all, const words& given) {
  Trainer step{all};
  train(step, all.rank(), all.size(), given);
}
template <class Whole, class InParts>
void train(mpi::ranks& all, words given) {
  if (given["moments"] == "parts") train<InParts>(all, given);
  else train<Whole>(all, given);
}

}  // namespace

int main(int count, char** arguments) {
  words given{{"model", arguments[1]}, {"file", arguments[2]}};
  for (int i = 3; i + 1 < count; i += 2) given[arguments[i]] = arguments[i + 1];
  try {
    if (given.contains("alone")) {
      in_float in_floats;
      in_bf16 in_halves;
      if (given["model"] == "float") train(in_floats, 0, 1, given);
      else train(in_halves, 0, 1, given);
      return 0;
    }
    const double patience = given.contains("patience") ? std::stod(given["patience"]) : 60;
    if (given["begin"] == "single") MPI_Init(&count, &arguments);
    if (given["begin"] == "thread") {
      int level = 0;
      MPI_Init_thread(&count, &arguments, MPI_THREAD_FUNNELED, &level);
      std::string wrong;
      std::thread([&] {
        try {
          mpi::ranks{count, arguments};
        } catch (const std::exception& error) {
          wrong = error.what();
        }
      }).join();
      throw std::runtime_error(wrong);
    }
    mpi::ranks all{count, arguments, {.patience = patience}};
    send_long_messages();
    const bool differs = given["fault"] == "model" && all.rank() == all.size() - 1;
    if (given["model"] == "synchronized") train<synchronized<>, synchronized<sharded_moments>>(all, given);
    else if ((given["model"] == "float") != differs) train<in_float, in_float_in_parts>(all, given);
    else train<in_bf16, in_bf16_in_parts>(all, given);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 3;
  }
}
