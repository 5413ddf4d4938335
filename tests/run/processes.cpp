// Several processes share the shards of a program. The processes are threads here.
#include <bit>

#include "divided.hpp"
#include "thread_processes.hpp"

namespace {

using namespace divided;
using namespace thread_processes;

constexpr nn::batch_norm_options local{.statistics = nn::batch_statistics::local};
/// The weights have more than a bucket of gradients, and the counts are not whole numbers.
template <int Width>
constexpr auto everything =
    cross_entropy<nn::cross_entropy_options{.ignore_index = 0}>(
        x | nn::linear<"fc1", Width> | nn::batch_norm<"bn", local> |
            ckpt<"segment">(nn::residual(nn::linear<"fc2", Width> | nn::gelu | nn::dropout<"d", 0.25>)) |
            nn::linear<"fc3", classes>,
        y, generated<classes>([](int i) { return 0.3 + i; })) +
    0.1_c * sum(square(param<"w", 25, 40 * Width>));

/// Returns how many parameters, states and moments a program keeps.
template <class Program>
std::int64_t count_kept(Program& step) {
  std::int64_t count = 0;
  step.for_each_parameter([&](std::string_view, auto) { ++count; });
  const int moments = Program::has_moment("exp_avg") + Program::has_moment("exp_avg_sq");
  step.for_each_gradient([&](std::string_view, auto) { count += moments; });
  return count;
}

/// The results of a training run.
template <class Program>
struct run_results {
  std::vector<typename Program::real_type> losses, parameters, gradients;
  std::uint32_t next_draw = 0;
};
/// Trains three steps. Even ranks give the whole batch, and odd ranks a callback.
template <class Program>
run_results<Program> trained(Program& step, int rank, int shards_of_rank, int microbatches) {
  using real = typename Program::real_type;
  run_results<Program> out;
  step.init(seed{3});
  for (int number = 0; number < 3; ++number) {
    const batch<real> b(8 * microbatches, number);
    if (rank % 2 == 0) {
      out.losses.push_back(step.train({.lr = 0.01}, bind<"x">(b.x), bind<"y">(b.y)));
    } else {
      const int first = rank * shards_of_rank * microbatches;
      out.losses.push_back(step.train({.lr = 0.01}, [&](int part) {
        if (part < first || part >= first + shards_of_rank * microbatches)
          throw std::logic_error("called for a microbatch of another process");
        return inputs(bind<"x">(b.x_of(part)), bind<"y">(b.y_of(part)));
      }));
    }
  }
  out.parameters = parameters_of(step);
  out.gradients = gradients_of(step);
  out.next_draw = step.random().step;
  return out;
}
template <class Program, int M>
void compare(std::initializer_list<int> sizes) {
  Program alone;
  const run_results<Program> expected = trained(alone, 0, 8, M);
  BOOST_TEST(std::isfinite(expected.losses.back()));
  for (const int size : sizes) {
    std::vector<run_results<Program>> found{std::size_t(size)};
    std::vector<traffic_plan> sent{std::size_t(size)};
    const std::string end = in_processes(size, [&](thread_process& group) {
      Program step{group};
      const auto at = std::size_t(group.rank());
      const traffic_plan before = group.sent;
      found[at] = trained(step, group.rank(), 8 / size, M);
      // The first step behind `init` compares a hash of each tensor, and of the position of the training.
      const int rounds = std::countr_zero(unsigned(size));
      const std::int64_t compared = rounds * 8 * (count_kept(step) + 1);
      sent[at] = {group.sent.bytes - before.bytes - compared, group.sent.messages - before.messages - rounds};
    });
    BOOST_TEST(end == "");
    for (std::size_t i = 0; i < found.size(); ++i) {
      BOOST_TEST(same_bits(found[i].losses, expected.losses));
      BOOST_TEST(same_bits(found[i].parameters, expected.parameters));
      BOOST_TEST(same_bits(found[i].gradients, expected.gradients));
      BOOST_TEST(found[i].next_draw == expected.next_draw);
      BOOST_TEST(sent[i].bytes == 3 * Program::traffic(size).bytes);
      BOOST_TEST(sent[i].messages == 3 * Program::traffic(size).messages);
    }
  }
}

using small = program<everything<7>, shards<8>, update<adamw_options{}>, clip<0.5>, check_finite>;
using large = program<everything<264>, shards<8>, update<adamw_options{}>, clip<0.5>>;

using compiled_large = detail::compiled_of<everything<264>, true, shards<8>, update<adamw_options{}>, clip<0.5>>;

// ---- Bytes.
constexpr memory_plan all_of_small = small::memory();
static_assert(small::memory(1).total_bytes() == all_of_small.total_bytes());
// A process needs a block for each level of its own tree, and as many bytes for sums that it receives, because no bucket
// is cut here.
constexpr std::int64_t block = (all_of_small.division_bytes - 2 * 64) / 3;
static_assert(small::memory(2).division_bytes == all_of_small.division_bytes);
static_assert(small::memory(4).division_bytes == all_of_small.division_bytes - block);
static_assert(small::memory(8).division_bytes == all_of_small.division_bytes - 2 * block);
static_assert(small::traffic(1).messages == 0 && small::traffic(1).bytes == 0);
// Two buckets are halved. The rest of the gradients with the states, the outputs, the counts and the settings go whole.
static_assert(large::traffic(8).messages == 3 * (2 * 2 + 4));
static_assert(large::traffic(2).gradient_bytes <= large::memory().gradient_bytes + 8 * 64);
static_assert(large::traffic(8).gradient_bytes <= 2 * 7 * large::memory().gradient_bytes / 8 + 3 * 8 * 64);

}  // namespace

BOOST_AUTO_TEST_SUITE(shards_of_several_processes)

BOOST_AUTO_TEST_CASE(any_number_of_processes_computes_the_same_bits) {
  compare<small, 1>({1, 2, 4, 8});
  compare<program<everything<7>, shards<8>, microbatch<2>, update<sgd_options{}>, real<double>>, 2>({2, 4, 8});
}
BOOST_AUTO_TEST_CASE(buckets_that_are_halved_have_the_same_bits) { compare<large, 1>({2, 4}); }

BOOST_AUTO_TEST_CASE(states_are_joined_as_the_model_says) {
  constexpr auto loss_of = []<shard_join Join>() {
    constexpr auto seen = input<"v">;
    return updated<Join>(square(param<"a"> - seen), state<"s", initial{}>, seen);
  };
  const auto check = [&]<shard_join Join>(float expected) {
    using shared = program<loss_of.template operator()<Join>(), shards<4>>;
    for (const int size : {1, 2, 4}) {
      const std::string end = in_processes(size, [&](process_group& group) {
        shared step{group};
        step.init(seed{1});
        step.value_and_grad(bind<"v">(std::array{-0.0F, 0.0F, 3.0F, 2.0F}));
        if (!same_bits(step.template param<"s">()(), expected)) throw std::logic_error("another state");
      });
      BOOST_TEST(end == "");
    }
  };
  check.operator()<shard_join::mean>(1.25F);
  check.operator()<shard_join::maximum>(3.0F);
  check.operator()<shard_join::last>(2.0F);
}

BOOST_AUTO_TEST_CASE(other_numbers_of_processes_are_refused) {
  for (const int size : {3, 6, 16}) {
    const std::string end = in_processes(size, [](process_group& group) { small{group}; });
    BOOST_TEST(end == "thrown: cairn: processes that share the shards of shards<8>: expected 1, 2, 4 or 8, got " +
                          std::to_string(size));
  }
  BOOST_CHECK_THROW(small::traffic(3), std::invalid_argument);
  BOOST_CHECK_THROW(small::memory(0), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(programs_that_share_memory_cannot_divide_batches_among_processes) {
  const std::string end = in_processes(2, [](process_group& group) {
    small step{group};
    program<sum(x | nn::linear<"fc1", 7>)> undivided{step};
    program<everything<7>, shards<2>, update<adamw_options{}>, clip<0.5>>{step};
  });
  BOOST_TEST(
      end.starts_with("thrown: cairn: this program divides its batch, and shares the memory of a program of several"));
}

BOOST_AUTO_TEST_CASE(a_process_uses_the_bytes_of_its_memory_and_no_others) {
  for (const int size : {1, 2, 4, 8}) {
    const auto bytes = std::size_t(large::memory(size).total_bytes());
    const std::string end = in_processes(size, [=](process_group& group) {
      constexpr std::size_t behind = 4096;
      std::vector<std::byte> room(bytes + behind + 64);
      const std::span given(room.data() + (64 - reinterpret_cast<std::uintptr_t>(room.data()) % 64) % 64,
                            bytes + behind);
      std::ranges::fill(given, std::byte{0x5a});
      large step{group, given};
      step.init(seed{1});
      // What no training step writes keeps the bytes that the arena and the sums have here.
      const auto lasting = std::size_t(large::memory().parameter_bytes + large::memory().moment_bytes);
      std::ranges::fill(given.first(bytes).subspan(lasting), std::byte{0x5a});
      const batch<float> b(8, 0);
      step.train(bind<"x">(b.x), bind<"y">(b.y));
      std::size_t untouched = 0;
      for (std::size_t line = lasting; line + 64 <= bytes; line += 64) {
        untouched += std::ranges::all_of(given.subspan(line, 64), [](std::byte one) { return one == std::byte{0x5a}; });
      }
      if (untouched != 0) throw std::logic_error(std::to_string(untouched) + " cache lines are untouched");
      if (std::ranges::any_of(given.subspan(bytes), [](std::byte one) { return one != std::byte{0x5a}; }))
        throw std::logic_error("bytes behind the memory are touched");
    });
    BOOST_TEST(end == "");
  }
}

// A program of four processes needs less memory than one of a single process. What lies behind it is free.
BOOST_AUTO_TEST_CASE(memory_behind_a_program_of_several_processes_is_free) {
  using beside = program<sum(x | nn::linear<"fc1", 7>)>;
  constexpr auto used = (std::size_t(small::memory(4).total_bytes()) + 63) / 64 * 64;
  constexpr auto more = std::size_t(beside::own_memory<small>().total_bytes());
  const std::string end = in_processes(4, [](process_group& group) {
    std::vector<std::byte> room(used + more + 64);
    std::byte* const first = room.data() + (64 - reinterpret_cast<std::uintptr_t>(room.data()) % 64) % 64;
    small step{group, std::span(first, used)};
    beside other{step, std::span(first + used, more)};
  });
  BOOST_TEST(end == "");
}

BOOST_AUTO_TEST_CASE(processes_that_differ_end) {
  std::string end = in_processes(2, [](process_group& group) {
    if (group.rank() == 0) small{group};
    else program<everything<8>, shards<8>, update<adamw_options{}>, clip<0.5>, check_finite>{group};
  });
  BOOST_TEST(end.find("differ in their models, their options, or how they are compiled: their hashes are ") !=
             std::string::npos);
  end = in_processes(2, [](process_group& group) {
    if (group.rank() == 0) small{group};
    else program<everything<7>, shards<8>, update<adamw_options{.beta2 = 0.9}>, clip<0.5>, check_finite>{group};
  });
  BOOST_TEST(end.find("differ in their models") != std::string::npos);
  end = in_processes(2, [](process_group& group) {
    small step{group};
    step.init(seed{group.rank() == 0 ? 1U : 2U});
    const batch<float> b(8, 0);
    step.train(bind<"x">(b.x), bind<"y">(b.y));
  });
  BOOST_TEST(end.find("differ in seed, ") != std::string::npos);
  // The learning rate of the rule is not the same as a learning rate of 0.
  end = in_processes(2, [](process_group& group) {
    small step{group};
    step.init(seed{1});
    const batch<float> b(8, 0);
    if (group.rank() == 0) step.train(bind<"x">(b.x), bind<"y">(b.y));
    else step.train({.lr = 0.0}, bind<"x">(b.x), bind<"y">(b.y));
  });
  BOOST_TEST(end.find("learning rate") != std::string::npos);
  // Two programs of equal types take turns in different orders.
  end = in_processes(2, [](process_group& group) {
    small first{group}, second{group};
    first.init(seed{1});
    second.init(seed{1});
    const batch<float> b(8, 0);
    (group.rank() == 0 ? first : second).train(bind<"x">(b.x), bind<"y">(b.y));
  });
  BOOST_TEST(end.find("which function of which program they call") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(an_exception_in_a_process_ends_all) {
  const std::string end = in_processes(4, [](process_group& group) {
    small step{group};
    step.init(seed{1});
    batch<float> b(8, 0);
    if (group.rank() == 2) b.y[3] = 77;
    step.train(bind<"x">(b.x), bind<"y">(b.y));
  });
  BOOST_TEST(end.starts_with("rank 2 of 4: input 'y': index number 3 is 77"));
}
BOOST_AUTO_TEST_CASE(a_loss_that_is_not_finite_is_thrown_in_all_processes) {
  std::array<int, 4> thrown{};
  const std::string end = in_processes(4, [&](process_group& group) {
    small step{group};
    step.init(seed{1});
    batch<float> b(8, 0);
    const auto before = parameters_of(step);
    if (group.rank() == 3) b.x.back() = std::numeric_limits<float>::quiet_NaN();
    try {
      step.train(bind<"x">(b.x), bind<"y">(b.y));
    } catch (const loss_error&) {
      thrown[std::size_t(group.rank())] = same_bits(parameters_of(step), before) ? 1 : 2;
    }
    const batch<float> next(8, 1);  // all processes can go on
    step.train(bind<"x">(next.x), bind<"y">(next.y));
  });
  BOOST_TEST(end == "");
  BOOST_TEST((thrown == std::array{1, 1, 1, 1}));
}
BOOST_AUTO_TEST_CASE(a_process_that_waits_too_long_says_for_whom) {
  const std::string end = in_processes(
      2,
      [](process_group& group) {
        large step{group};
        step.init(seed{1});
        const batch<float> b(8, 0);
        step.train(bind<"x">(b.x), bind<"y">(b.y));
        if (group.rank() == 0) step.train(bind<"x">(b.x), bind<"y">(b.y));
      },
      1);
  BOOST_TEST(end.starts_with("rank 0 has waited 1 s for rank 1 in step 2, "));
  BOOST_TEST(end.ends_with("; rank 1 is late"));
}

BOOST_AUTO_TEST_SUITE_END()
