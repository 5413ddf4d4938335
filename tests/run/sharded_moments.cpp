// The option sharded_moments: processes keep parts of the moments, and compute the same bits as a program that has all
// moments. The processes are threads here.
#include <cairn/file/saving.hpp>

#include "divided.hpp"
#include "folder.hpp"
#include "thread_processes.hpp"

namespace own {

using namespace cairn;

/// Passes gradients on, and throws if one of them is above 100.
struct strict_op : elementwise_op {
  static constexpr fixed_string name = "strict";
  static constexpr auto vjp(auto g, auto, auto) { return gradients(g); }
};
template <class V>
V lanewise(strict_op, V x) {
  for (std::size_t i = 0; i < sizeof(V) / sizeof(float); ++i) {
    float each;
    std::memcpy(&each, reinterpret_cast<const std::byte*>(&x) + i * sizeof each, sizeof each);
    if (each > 100) throw std::runtime_error("a gradient is too large");
  }
  return x;
}
struct strict_rule {
  double lr = 1e-3;
  static constexpr std::array<std::string_view, 1> moments{"sum"};
  constexpr std::array<double, 1> numbers(double rate, std::int64_t) const { return {rate}; }
  static constexpr auto next(auto p, auto g, auto rate, auto sum) {
    return std::tuple{p - rate * make<strict_op>(g), sum + g};
  }
};

}  // namespace own

namespace {

using namespace divided;
using namespace thread_processes;

constexpr nn::batch_norm_options local{.statistics = nn::batch_statistics::local};
/// The gradients have two buckets if Width is 264, and less than a bucket if Width is 7. There are a parameter with a
/// single number, parameters of equal shapes, and parameters whose last axis has one element.
template <int Width>
constexpr auto everything =
    cross_entropy<nn::cross_entropy_options{.ignore_index = 0}>(
        (x + param<"column", rows, 1>)*param<"number"> | nn::linear<"fc1", Width> | nn::batch_norm<"bn", local> |
            ckpt<"segment">(nn::residual(nn::linear<"fc2", Width> | nn::gelu | nn::dropout<"d", 0.25>)) |
            nn::linear<"fc3", classes>,
        y) +
    0.1_c * sum(square(param<"w", 25, 40 * Width>));

/// The results of a training run, and the file that it saves. The parameters are in the file. A view of them would keep
/// training steps from leaving messages under way.
template <class Real>
struct run_results {
  std::vector<Real> losses;
  double norm = 0;
  std::string saved;
};
/// Trains up to step number `steps`, and saves the program.
template <class Program>
auto trained(Program& step, int steps, int parts, const std::string& path) {
  using real = typename Program::real_type;
  run_results<real> out;
  while (step.steps() < steps) {
    const batch<real> b(parts, int(step.steps()));
    out.losses.push_back(step.train({.lr = 0.01}, bind<"x">(b.x), bind<"y">(b.y)));
  }
  out.norm = step.gradient_norm();
  step.save(path);
  out.saved = read_bytes(path);
  return out;
}
template <class Real>
bool same(const run_results<Real>& a, const run_results<Real>& b) {
  return same_bits(a.losses, b.losses) && same_bits(a.norm, b.norm) && a.saved == b.saved;
}
void check(bool is_right, const char* otherwise) {
  if (!is_right) throw std::logic_error(otherwise);
}

/// Compares a program that has all moments with programs that have parts of them.
template <int Width, int M, class... Options>
void compare(std::initializer_list<int> sizes) {
  using whole = program<everything<Width>, shards<8>, Options...>;
  using in_parts = program<everything<Width>, shards<8>, Options..., sharded_moments>;
  using real = typename whole::real_type;
  const folder here;
  const auto path_of = [&](const std::string& name) { return (here.path / name).string(); };
  whole step;
  step.init(seed{3});
  const auto first = trained(step, 2, 8 * M, path_of("half")), second = trained(step, 4, 8 * M, path_of("full"));
  BOOST_TEST(std::isfinite(second.losses.back()));
  in_parts alone;
  alone.init(seed{3});
  BOOST_TEST(same(trained(alone, 2, 8 * M, path_of("alone")), first));
  BOOST_TEST(same(trained(alone, 4, 8 * M, path_of("alone")), second));
  for (const int size : sizes) {
    const std::string end = in_processes(size, [&](thread_process& group) {
      in_parts shared{group};
      shared.init(seed{3});
      check(same(trained(shared, 2, 8 * M, path_of("shared")), first), "other bits");
      shared.init(seed{4});
      shared.load(path_of("half"));  // of a program that has all moments
      check(same(trained(shared, 4, 8 * M, path_of("shared")), second), "other bits after loading");
      const batch<real> b(8 * M, 4);
      const traffic_plan before = group.sent;
      shared.train(bind<"x">(b.x), bind<"y">(b.y));
      check(group.sent.bytes - before.bytes == in_parts::traffic(size).bytes, "other bytes");
      check(group.sent.messages - before.messages == in_parts::traffic(size).messages, "other messages");
    });
    BOOST_TEST(end == "");
  }
}

using large = program<everything<264>, shards<8>, update<adamw_options{}>>;
using large_in_parts = program<everything<264>, shards<8>, update<adamw_options{}>, sharded_moments>;

// ---- Bytes.
// In a single process, the option changes nothing.
static_assert(large_in_parts::memory().total_bytes() == large::memory().total_bytes());
static_assert(large_in_parts::memory(1).total_bytes() == large::memory(1).total_bytes());
// Of two moments, each of 8 processes keeps an eighth, and at most the last 8 * 64 bytes of the block of gradients.
constexpr std::int64_t eighth = large::memory().moment_bytes / 8;
static_assert(large_in_parts::memory(8).moment_bytes >= eighth);
static_assert(large_in_parts::memory(8).moment_bytes <= eighth + 2 * 8 * 64);
static_assert(large::memory(8).total_bytes() - large_in_parts::memory(8).total_bytes() ==
              large::memory(8).moment_bytes - large_in_parts::memory(8).moment_bytes);
// Parameters are sent instead of gradients. The norms of 2 * 8 blocks go whole, in 3 rounds.
static_assert(large_in_parts::traffic(8).gradient_bytes + large_in_parts::traffic(8).parameter_bytes ==
              large::traffic(8).gradient_bytes);
static_assert(large_in_parts::traffic(8).bytes == large::traffic(8).bytes + 3 * 16 * 8);
static_assert(large_in_parts::traffic(8).messages == large::traffic(8).messages + 3);
// Parameters that are bf16 have half the bytes.
using in_halves =
    program<everything<264>, shards<8>, update<adamw_options{}>, mixed<bf16, stochastic_rounding>, sharded_moments>;
constexpr std::int64_t in_no_bucket = in_halves::traffic(4).gradient_bytes - 2 * in_halves::traffic(4).parameter_bytes;
static_assert(in_no_bucket >= 0 && in_no_bucket < 2 * 8 * 64);

}  // namespace

BOOST_AUTO_TEST_SUITE(parts_of_moments)

BOOST_AUTO_TEST_CASE(adamw_with_two_buckets) { compare<264, 1, update<adamw_options{}>>({2, 8}); }
BOOST_AUTO_TEST_CASE(adamw_with_clipping_and_checks) {
  compare<7, 1, update<adamw_options{}>, clip<0.5>, check_finite>({2, 4, 8});
}
BOOST_AUTO_TEST_CASE(momentum_with_microbatches_and_doubles) {
  compare<7, 2, update<sgd_options{.momentum = 0.9}>, microbatch<2>, real<double>>({2, 4});
}
BOOST_AUTO_TEST_CASE(parameters_that_are_bf16) {
  compare<264, 1, update<adamw_options{}>, clip<0.5>, mixed<bf16, stochastic_rounding>>({4});
}
BOOST_AUTO_TEST_CASE(rules_with_different_moments_and_frozen_parameters) {
  compare<7, 1, update<averaged{adamw_options{}, 0.9}>, update<sgd_options{}, "*.bias">, freeze<"fc2.weight">,
          clip_value<0.1>>({4});
}

BOOST_AUTO_TEST_CASE(the_norm_of_the_gradients_is_that_of_all_numbers) {
  large step;
  step.init(seed{3});
  const batch<float> b(8, 0);
  step.train(bind<"x">(b.x), bind<"y">(b.y));
  double squares = 0;
  for (const float g : step.gradients()) squares += double(g) * double(g);
  BOOST_TEST(step.gradient_norm() == std::sqrt(squares), boost::test_tools::tolerance(1e-13));
}

BOOST_AUTO_TEST_CASE(moments_change_places_with_parameters) {
  constexpr averaged rule{adamw_options{}, 0.9};
  const folder here;
  const std::string path = here.path / "exchanged", shared_path = here.path / "shared";
  program<everything<7>, shards<8>, update<rule>> step;
  step.init(seed{3});
  trained(step, 3, 8, path);
  const auto parameters = parameters_of(step);
  step.exchange("average");
  const auto averages = parameters_of(step);
  step.save(path);
  const std::string end = in_processes(4, [&](process_group& group) {
    program<everything<7>, shards<8>, update<rule>, sharded_moments> shared{group};
    shared.init(seed{3});
    trained(shared, 3, 8, shared_path);
    shared.exchange("average");
    check(same_bits(parameters_of(shared), averages), "other averages");
    shared.save(shared_path);
    check(read_bytes(shared_path) == read_bytes(path), "another file");
    shared.init(seed{4});
    shared.load(path);
    check(same_bits(parameters_of(shared), averages), "other averages after loading");
    shared.exchange("average");
    check(same_bits(parameters_of(shared), parameters), "other parameters");
  });
  BOOST_TEST(end == "");
}

// A file without moments sets them to zero.
BOOST_AUTO_TEST_CASE(moments_that_a_file_lacks_are_zero) {
  const folder here;
  const std::string path = here.path / "plain", whole_path = here.path / "whole", shared_path = here.path / "shared";
  program<everything<7>, shards<8>, update<sgd_options{}>> plain;
  plain.init(seed{5});
  plain.save(path);
  constexpr auto use = [](auto& step, const std::string& from, const std::string& to) {
    step.init(seed{3});
    trained(step, 2, 8, to);
    step.load(from);
    return trained(step, 2, 8, to);
  };
  program<everything<7>, shards<8>, update<adamw_options{}>> whole;
  const auto expected = use(whole, path, whole_path);
  const std::string end = in_processes(2, [&](process_group& group) {
    program<everything<7>, shards<8>, update<adamw_options{}>, sharded_moments> shared{group};
    check(same(use(shared, path, shared_path), expected), "other bits");
  });
  BOOST_TEST(end == "");
}

// The root of zero has no finite gradient. The gradient of one column is then not finite, in the slice of one process.
BOOST_AUTO_TEST_CASE(a_gradient_that_is_not_finite_is_thrown_in_all_processes) {
  constexpr int width = 4096;
  constexpr auto loss = mean(sqrt(sum<0>(square(input<"v", 1, width> * param<"w", 1, width>))));
  using checked = program<loss, shards<4>, update<adamw_options{}>, check_finite, sharded_moments>;
  std::vector<float> v(4 * width, 1.0F);
  v[2 * width + 3000] = 0;
  const auto error_of = [&](checked& step) {
    step.init(seed{3});
    const auto before = parameters_of(step);
    try {
      step.train(bind<"v">(v));
    } catch (const gradient_error& error) {
      check(same_bits(parameters_of(step), before), "the parameters have changed");
      check(step.steps() == 0, "the step counts");
      const std::vector<float> good(4 * width, 1.0F);
      step.train(bind<"v">(good));  // all processes can go on
      return std::string(error.what());
    }
    return std::string();
  };
  checked alone;
  const std::string expected = error_of(alone);
  BOOST_TEST(expected.starts_with("cairn: gradient of 'w': number 3000 is "));
  for (const int size : {2, 4}) {
    const std::string end = in_processes(size, [&](process_group& group) {
      checked step{group};
      check(error_of(step) == expected, "another error");
    });
    BOOST_TEST(end == "");
  }
}

// A process uses the bytes that memory(R) tells, and no more. Each cache line of its moments is written.
BOOST_AUTO_TEST_CASE(a_process_writes_the_bytes_of_its_moments) {
  for (const int size : {2, 8}) {
    const memory_plan plan = large_in_parts::memory(size);
    const auto used = std::size_t(plan.total_bytes());
    const std::string end = in_processes(size, [=](process_group& group) {
      constexpr std::size_t behind = 4096;
      std::vector<std::byte> room(used + behind + 64);
      std::byte* const first = room.data() + (64 - reinterpret_cast<std::uintptr_t>(room.data()) % 64) % 64;
      const std::span memory(first, used), rest(first + used, behind);
      std::ranges::fill(rest, std::byte{0x5a});
      large_in_parts step{group, memory};
      step.init(seed{1});
      const batch<float> b(8, 0);
      step.train(bind<"x">(b.x), bind<"y">(b.y));
      check(std::ranges::all_of(rest, [](std::byte one) { return one == std::byte{0x5a}; }),
            "bytes behind are written");
      const auto moments = memory.subspan(std::size_t(plan.parameter_bytes), std::size_t(plan.moment_bytes));
      std::size_t zero = 0;
      for (std::size_t at = 0; at < moments.size(); at += 64)
        zero += std::ranges::all_of(moments.subspan(at, 64), [](std::byte one) { return one == std::byte{}; });
      check(zero == 0, "a cache line of moments is unused");
    });
    BOOST_TEST(end == "");
  }
}

// The processes collect all moments, although the first process cannot write them.
BOOST_AUTO_TEST_CASE(a_file_that_cannot_be_written_is_an_exception_of_all_processes) {
  const folder here;
  const std::string path = here.path / "saved";
  std::array<int, 4> thrown{};
  const std::string end = in_processes(4, [&](process_group& group) {
    program<everything<7>, shards<8>, update<adamw_options{}>, sharded_moments> step{group};
    step.init(seed{3});
    const auto saved = trained(step, 2, 8, path);
    try {
      step.save((here.path / "no" / "folder").string());
    } catch (const file::write_error&) {
      thrown[std::size_t(group.rank())] = 1;
    }
    try {
      step.save(path, selection{.except = {"no name"}});
    } catch (const mismatch_error&) {
      thrown[std::size_t(group.rank())] += 1;
    }
    step.save(here.path / "weights", selection{});
    check(same(trained(step, 2, 8, path), {{}, saved.norm, saved.saved}), "the program has changed");
  });
  BOOST_TEST(end == "");
  BOOST_TEST((thrown == std::array{2, 2, 2, 2}));
  const file::reader weights(here.path / "weights");  // has no moments
  for (const file::tensor& one : weights.tensors()) BOOST_TEST(!one.name.starts_with("optimizer."), one.name);
}

BOOST_AUTO_TEST_CASE(an_update_that_throws_in_a_process_ends_all) {
  constexpr int width = 256;
  using strict =
      program<sum(input<"x", 1, width> * param<"w", 1, width>), update<own::strict_rule{}>, shards<4>, sharded_moments>;
  const std::string end = in_processes(2, [](process_group& group) {
    strict step{group};
    step.init(seed{1});
    std::vector<float> numbers(4 * width, 0.01F);
    step.train(bind<"x">(numbers));
    numbers[10] = 1000;  // of the slice that one process updates
    step.train(bind<"x">(numbers));
  });
  BOOST_TEST(end.ends_with(" of 2: a gradient is too large"));
}
BOOST_AUTO_TEST_CASE(processes_exchange_moments_together) {
  using averaging = program<everything<7>, update<averaged{adamw_options{}, 0.9}>, shards<2>, sharded_moments>;
  const std::string end = in_processes(2, [](process_group& group) {
    averaging step{group};
    step.init(seed{1});
    const batch<float> b(2, 0);
    if (group.rank() == 0) step.exchange("average");
    step.train({.lr = 0.01}, bind<"x">(b.x), bind<"y">(b.y));
  });
  BOOST_TEST(end.find("which function of which program they call") != std::string::npos);
}
BOOST_AUTO_TEST_CASE(programs_cannot_share_memory_with_parts_of_moments) {
  using beside = program<sum(x | nn::linear<"fc1", 7>)>;
  const std::string end = in_processes(2, [](process_group& group) {
    program<everything<7>, shards<8>, update<adamw_options{}>, sharded_moments> step{group};
    beside other{step};
  });
  BOOST_TEST(end.starts_with("thrown: cairn: this program shares the memory of a program of several processes"));
}
BOOST_AUTO_TEST_CASE(processes_with_and_without_the_option_end) {
  const std::string end = in_processes(2, [](process_group& group) {
    if (group.rank() == 0) large{group};
    else large_in_parts{group};
  });
  BOOST_TEST(end.find("differ in their models, their options") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
