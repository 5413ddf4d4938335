// Processes compare what they train, so that no process trains something else in silence, and they say which of them
// fails. The processes are threads here.
#include <cairn/file/saving.hpp>

#include "divided.hpp"
#include "folder.hpp"
#include "thread_processes.hpp"

namespace {

using namespace divided;
using namespace thread_processes;

constexpr nn::batch_norm_options local{.statistics = nn::batch_statistics::local};
template <double Rate = 0.25, int Ignored = 0, double Scale = 0.1, auto Start = initial::normal(0.5)>
constexpr auto loss_with =
    cross_entropy<nn::cross_entropy_options{.ignore_index = Ignored}>(
        x | nn::linear<"fc1", 7> | nn::batch_norm<"bn", local> | nn::dropout<"d", Rate> | nn::linear<"fc2", classes>,
        y) +
    constant<Scale> * sum(square(param_from<"w", Start, 3>));
/// A generated array is a function, and its elements are compared.
template <double First>
constexpr auto weighted = sum(generated<3>([](int i) { return First + i; }) * square(param<"w", 3>));
using trainer = program<loss_with<>, shards<8>, update<adamw_options{}>, clip<0.5>>;

/// Trains one step of batch number `number`.
float train(auto& step, int number = 0) {
  const batch<float> b(8, number);
  return step.train(bind<"x">(b.x), bind<"y">(b.y));
}

/// Trains two steps in two processes. In between, calls `use(step, rank)`.
std::string trained_around(auto use) {
  return in_processes(2, [&](process_group& group) {
    trainer step{group};
    step.init(seed{1});
    train(step);
    use(step, group.rank());
    train(step, 1);
  });
}

}  // namespace

BOOST_AUTO_TEST_SUITE(faults_of_several_processes)

BOOST_AUTO_TEST_CASE(what_one_process_alone_writes_is_noticed) {
  std::string end = trained_around([](trainer& step, int rank) {
    if (rank == 1) step.set(bind<"fc1.bias">(std::vector<float>(7, 1.0F)));
  });
  BOOST_TEST(end.find(" differ in 'fc1.bias': their hashes are ") != std::string::npos);
  end = trained_around([](trainer& step, int rank) {
    if (rank == 0) step.param<"bn.running_mean">()(3) += 1;
  });
  BOOST_TEST(end.find(" differ in 'bn.running_mean'") != std::string::npos);
  end = trained_around([](trainer& step, int rank) {
    if (rank == 0) step.moment<"fc2.weight", "exp_avg_sq">()(0, 0) += 1;
  });
  BOOST_TEST(end.find(" differ in the moment 'exp_avg_sq' of 'fc2.weight'") != std::string::npos);
  end = trained_around([](trainer& step, int rank) {
    if (rank == 1) step.parameters()[0] *= -1;
  });
  BOOST_TEST(end.find(" differ in '") != std::string::npos);
  end = trained_around([](trainer& step, int rank) {
    if (rank == 1)
      step.for_each_parameter([](std::string_view name, auto view) {
        if (name == "w") *view.begin() = 3;
      });
  });
  BOOST_TEST(end.find(" differ in 'w'") != std::string::npos);
}
BOOST_AUTO_TEST_CASE(a_file_that_one_process_alone_loads_is_noticed) {
  const folder files;
  const std::string path = (files.path / "run").string();
  trainer alone;
  alone.init(seed{1});
  alone.set(bind<"w">(std::array{1.0F, 2.0F, 3.0F}));
  alone.save(path);
  const std::string end = in_processes(2, [&](process_group& group) {
    trainer step{group};
    step.init(seed{1});
    if (group.rank() == 1) step.load(path);
    train(step);
  });
  BOOST_TEST(end.find(" differ in 'w'") != std::string::npos);
}
BOOST_AUTO_TEST_CASE(reading_or_writing_the_same_numbers_differs_in_nothing) {
  BOOST_TEST(trained_around([](trainer& step, int rank) {
               if (rank == 1) static_cast<void>(step.param<"fc1.weight">()(0, 0));
               step.set(bind<"w">(std::array{1.0F, -2.0F, 3.0F}));
             }) == "");
  // A NaN of other bits is the same number. The loss is then NaN in both.
  BOOST_TEST(trained_around([](trainer& step, int rank) {
               step.param<"w">()(1) = std::bit_cast<float>(rank == 0 ? 0x7fc00000U : 0xffc00001U);
             }) == "");
  // The signs of neighbours do not cancel out.
  BOOST_TEST(trained_around([](trainer& step, int rank) {
               if (rank == 0) step.set(bind<"w">(std::array{1.0F, 2.0F, 3.0F}));
               else step.set(bind<"w">(std::array{-1.0F, -2.0F, 3.0F}));
             }).find(" differ in 'w'") != std::string::npos);
}
BOOST_AUTO_TEST_CASE(a_view_that_is_written_later_is_noticed) {
  const auto write_late = [](auto then) {
    return in_processes(2, [&](process_group& group) {
      trainer step{group};
      step.init(seed{1});
      auto w = step.param<"w">();
      train(step);
      if (group.rank() == 1) w(2) += 1;
      then(step);
    });
  };
  const folder files;
  BOOST_TEST(write_late([&](trainer& step) { step.save((files.path / "run").string()); }).find(" differ in 'w'") !=
             std::string::npos);
  BOOST_TEST(!std::filesystem::exists((files.path / "run").string()));
  BOOST_TEST(write_late([&](trainer& step) { train(step); }) == "");
  BOOST_TEST(write_late([&](trainer& step) {
               const batch<float> b(8, 0);
               for (int i = 0; i < 1001; ++i) step.train({.lr = 0.0}, bind<"x">(b.x), bind<"y">(b.y));
             }).find(" differ in 'w'") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(other_numbers_in_a_model_are_noticed) {
  const auto differ = []<class One, class Other>(std::type_identity<One>, std::type_identity<Other>) {
    const std::string end = in_processes(2, [](process_group& group) {
      if (group.rank() == 0) One{group};
      else Other{group};
    });
    return end.find("differ in their models") != std::string::npos;
  };
  const auto differs = [&](auto other) { return differ(std::type_identity<trainer>{}, other); };
  const auto with = []<auto Loss>() {
    return std::type_identity<program<Loss, shards<8>, update<adamw_options{}>, clip<0.5>>>{};
  };
  BOOST_TEST(!differs(std::type_identity<trainer>{}));
  BOOST_TEST(differs(with.operator()<loss_with<0.5>>()));
  BOOST_TEST(differs(with.operator()<loss_with<0.25, 1>>()));
  BOOST_TEST(differs(with.operator()<loss_with<0.25, 0, 0.2>>()));
  BOOST_TEST(differs(with.operator()<loss_with<0.25, 0, 0.1, initial::normal(0.25)>>()));
  BOOST_TEST(
      differs(std::type_identity<program<loss_with<>, shards<8>, update<adamw_options{}>, clip<0.5>, check_finite>>{}));
  BOOST_TEST(differs(std::type_identity<program<loss_with<>, shards<8>, update<adamw_options{}>, clip_value<0.5>>>{}));
  BOOST_TEST(
      differs(std::type_identity<program<loss_with<>, shards<8>, update<adamw_options{.beta2 = 0.99}>, clip<0.5>>>{}));
  BOOST_TEST(differs(
      std::type_identity<program<loss_with<>, shards<8>, update<adamw_options{}>, clip<0.5>, freeze<"fc1">>>{}));
  BOOST_TEST(differ(std::type_identity<program<weighted<0.5>, shards<2>>>{},
                    std::type_identity<program<weighted<0.75>, shards<2>>>{}));
}

// One process can profile its program alone.
BOOST_AUTO_TEST_CASE(single_plan_steps_run_in_one_process) {
  const std::string end = trained_around([](trainer& step, int rank) {
    const batch<float> b(8, 0);
    int steps = 0;
    if (rank == 1) step.step_by_step([&](auto run) { run(0), ++steps; }, bind<"x">(b.x), bind<"y">(b.y));
    if (steps != rank) throw std::logic_error("no steps");
  });
  BOOST_TEST(end == "");
}

BOOST_AUTO_TEST_CASE(a_file_that_cannot_be_written_is_an_exception_of_all_processes) {
  const folder files;
  std::array<std::string, 4> thrown;
  const std::string path = (files.path / "none" / "run").string(), good = (files.path / "run").string();
  const std::string end = in_processes(4, [&](process_group& group) {
    trainer step{group};
    step.init(seed{1});
    train(step);
    try {
      step.save(path);
    } catch (const file::write_error& error) {
      thrown[std::size_t(group.rank())] = error.what() + std::to_string(error.reason);
    }
    train(step, 1);
    step.save(good);
    train(step, 2);
  });
  BOOST_TEST(end == "");
  BOOST_TEST(std::filesystem::exists(good));
  try {
    trainer alone;
    alone.init(seed{1});
    alone.save(path);
  } catch (const file::write_error& error) {
    BOOST_TEST(thrown[0].starts_with(error.what() + std::to_string(error.reason)));
  }
  for (const std::string& each : thrown) BOOST_TEST(each == thrown[0]);
}

BOOST_AUTO_TEST_CASE(a_fault_in_saving_keeps_its_type_and_its_text) {
  const file::format_error thrown("run", "one name", "two");
  const std::string text = detail::fault_in_saving([&] { refuse(thrown); });
  BOOST_CHECK_EXCEPTION(detail::throw_saved_fault(text), file::format_error,
                        [&](const file::format_error& again) { return std::string(again.what()) == thrown.what(); });
  BOOST_TEST(detail::fault_in_saving([] {}) == "");
  detail::throw_saved_fault("");
}

BOOST_AUTO_TEST_CASE(waits_say_who_is_late_and_where) {
  // Ranks 0, 1 and 2 wait for one another and for rank 3.
  std::string end = in_processes(
      4,
      [](process_group& group) {
        trainer step{group};
        step.init(seed{1});
        train(step);
        if (group.rank() != 3) train(step, 1);
      },
      1);
  BOOST_TEST(end.find(" in step 2, ") != std::string::npos);
  BOOST_TEST(end.ends_with("; rank 3 is late"));
  end = in_processes(
      2,
      [](process_group& group) {
        if (group.rank() == 1) trainer{group};
      },
      0.1);
  BOOST_TEST(end == "rank 1 has waited 1 s for rank 0 while a program is made, the hash of its plan; rank 0 is late");
  const folder files;
  end = in_processes(
      2,
      [&](process_group& group) {
        trainer step{group};
        step.init(seed{1});
        train(step);
        if (group.rank() == 1) step.save((files.path / "run").string());
      },
      0.1);
  BOOST_TEST(end == "rank 1 has waited 1 s for rank 0 in save, the call of save; rank 0 is late");
  end = trained_around([&](trainer& step, int rank) {
    if (rank == 1) step.save((files.path / "run").string());
  });
  BOOST_TEST(end.find("differ in ") != std::string::npos);
  BOOST_TEST(end.find("which function of which program they call") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
