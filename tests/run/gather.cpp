// With sharded_moments, a training step may end while parameters are under way between the processes. No function of
// the program, no view and no predictor may see this. The processes are threads here, and messages are held back.
#include <cairn/file/saving.hpp>
#include <memory>

#include "divided.hpp"
#include "folder.hpp"
#include "thread_processes.hpp"

namespace own {

using namespace cairn;

thread_local thread_processes::thread_process* begins_forward = nullptr;

/// Returns its argument, and releases the messages that the process of this thread holds back.
struct releasing_op : elementwise_op {
  static constexpr fixed_string name = "releasing";
  static constexpr auto vjp(auto g, auto, auto) { return gradients(g); }
};
template <class V>
V lanewise(releasing_op, V x) {
  if (begins_forward != nullptr) std::exchange(begins_forward, nullptr)->release();
  return x;
}

}  // namespace own

namespace {

using namespace divided;
using namespace thread_processes;

/// The parameters are in one bucket.
constexpr auto logits =
    softmax(make<own::releasing_op>(x)) | nn::linear<"fc1", 40> | nn::relu | nn::linear<"fc2", classes>;
constexpr auto loss =
    cross_entropy<nn::cross_entropy_options{.ignore_index = 0}>(logits, y) + 0.1_c * sum(square(param<"w", 30>));
using trainer = program<loss, shards<4>, update<averaged{adamw_options{}, 0.9}>, sharded_moments>;
using numbers = std::vector<float>;

float train(trainer& step, int number) {
  const batch<float> b(4, number);
  return step.train({.lr = 0.01}, bind<"x">(b.x), bind<"y">(b.y));
}
void check(bool is_right, const char* otherwise) {
  if (!is_right) throw std::logic_error(otherwise);
}
numbers numbers_in(auto view) { return numbers(view.begin(), view.end()); }

/// Calls use(step) after a training step, in a program alone and in processes. In the processes, the last message is
/// under way when the step ends, and arrives as soon as the process waits. Returns an empty text if all get the same.
std::string used_after_step(auto use) {
  trainer alone;
  alone.init(seed{3});
  train(alone, 0);
  const auto expected = use(alone);
  for (const int size : {2, 4}) {
    const std::string end = in_processes(
        size,
        [&](thread_process& group) {
          trainer step{group};
          step.init(seed{3});
          group.hold(1);
          train(step, 0);
          group.release_in_wait();
          check(use(step) == expected, "other numbers");
        },
        10);
    if (!end.empty()) return end;
  }
  return "";
}
/// Does the same, and compares all parameters after the call. In addition, training goes on.
std::string parameters_after(auto use) {
  return used_after_step([&](trainer& step) {
    use(step);
    numbers all = parameters_of(step);
    all.push_back(train(step, 1));
    const numbers after = parameters_of(step);
    all.insert(all.end(), after.begin(), after.end());
    return all;
  });
}
/// Trains one step in processes while the result of use(step) exists. The last `held` messages of the step do not arrive
/// before the step ends. Returns the text with which all processes end if the step waits for these messages, or an empty
/// text.
std::string trained_with_held_message(auto use, int held = 1, int size = 2) {
  return in_processes(
      size,
      [&](thread_process& group) {
        trainer step{group};
        step.init(seed{3});
        [[maybe_unused]] const auto kept = use(step);
        group.hold(held);
        train(step, 0);
        group.release();
      },
      1);
}
constexpr std::string_view waits = " in step 1, updated bucket 1 of 1 (fc1.weight ...)";

}  // namespace

BOOST_AUTO_TEST_SUITE(gather_of_parameters)

// The forward pass of the next step begins before the parameters of the last one have arrived.
BOOST_AUTO_TEST_CASE(parameters_travel_during_the_next_forward_pass) {
  trainer alone;
  alone.init(seed{3});
  numbers expected;
  for (int i = 0; i < 4; ++i) expected.push_back(train(alone, i));
  for (const int size : {2, 4}) {
    const std::string end = in_processes(
        size,
        [&](thread_process& group) {
          trainer step{group};
          step.init(seed{3});
          numbers losses;
          for (int i = 0; i < 4; ++i) {
            own::begins_forward = i > 0 ? &group : nullptr;
            if (i == 0) group.hold(1);
            losses.push_back(train(step, i));
            check(own::begins_forward == nullptr, "no forward pass");
            if (i > 0) group.hold(1);
          }
          group.release();
          check(same_bits(losses, expected), "other losses");
          check(parameters_of(step) == parameters_of(alone), "other parameters");
        },
        5);
    BOOST_TEST(end == "");
  }
}

// A process that returns from a step has started all its messages. Only last messages are under way.
BOOST_AUTO_TEST_CASE(only_last_messages_are_under_way) {
  const auto nothing = [](trainer&) { return 0; };
  BOOST_TEST(trained_with_held_message(nothing, 1, 2) == "");
  BOOST_TEST(trained_with_held_message(nothing, 1, 4) == "");
  BOOST_TEST(trained_with_held_message(nothing, 2, 4).find(waits) != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_step_waits_if_there_are_views_or_predictors) {
  const auto has_waited = [](auto use) { return trained_with_held_message(use).find(waits) != std::string::npos; };
  BOOST_TEST(has_waited([](trainer& step) { return step.param<"fc2.bias">(); }));
  BOOST_TEST(has_waited([](trainer& step) { return std::as_const(step).param<"fc2.bias">(); }));
  BOOST_TEST(has_waited([](trainer& step) { return step.parameters(); }));
  BOOST_TEST(has_waited([](trainer& step) { return std::as_const(step).parameters(); }));
  BOOST_TEST(has_waited([](trainer& step) {
    step.for_each_parameter([](std::string_view, auto) {});
    return 0;
  }));
  BOOST_TEST(has_waited([](trainer& step) { return std::make_unique<predictor<logits>>(step); }));
  BOOST_TEST(has_waited([](trainer& step) {
    alignas(64) static thread_local std::byte memory[predictor<logits>::memory().peak_bytes];
    return std::make_unique<predictor<logits>>(step, std::span(memory));
  }));
  // A predictor that has ended reads nothing.
  BOOST_TEST(!has_waited([](trainer& step) {
    predictor<logits>{step};
    return 0;
  }));
}
BOOST_AUTO_TEST_CASE(a_step_waits_in_memory_of_the_caller) {
  const std::string end = in_processes(
      2,
      [](thread_process& group) {
        const auto bytes = std::size_t(trainer::memory(2).total_bytes());
        std::vector<std::byte> room(bytes + 64);
        void* first = room.data();
        std::size_t rest = room.size();
        std::align(64, bytes, first, rest);
        trainer step{group, std::span(static_cast<std::byte*>(first), bytes)};
        step.init(seed{3});
        group.hold(1);
        train(step, 0);
        group.release();
      },
      1);
  BOOST_TEST(end.find(waits) != std::string::npos);
}

BOOST_AUTO_TEST_CASE(functions_that_read_parameters_wait) {
  BOOST_TEST(used_after_step([](trainer& step) { return numbers_in(step.param<"fc1.weight">()); }) == "");
  BOOST_TEST(used_after_step([](trainer& step) { return numbers_in(std::as_const(step).param<"fc1.weight">()); }) ==
             "");
  BOOST_TEST(used_after_step([](trainer& step) { return numbers_in(step.parameters()); }) == "");
  BOOST_TEST(used_after_step([](trainer& step) { return numbers_in(std::as_const(step).parameters()); }) == "");
  BOOST_TEST(used_after_step([](trainer& step) { return parameters_of(step); }) == "");
  BOOST_TEST(used_after_step([](trainer& step) {
               predictor<logits> predict{step};
               return numbers_in(predict(bind<"x">(batch<float>(1, 7).x)));
             }) == "");
  BOOST_TEST(used_after_step([](trainer& step) { return train(step, 1); }) == "");
}
BOOST_AUTO_TEST_CASE(functions_that_write_parameters_wait) {
  BOOST_TEST(parameters_after([](trainer& step) { step.init(seed{4}); }) == "");
  BOOST_TEST(parameters_after([](trainer& step) { step.set(bind<"w">(numbers(30, 0.5F))); }) == "");
  BOOST_TEST(parameters_after([](trainer& step) { step.set(bind<"fc1.weight">(numbers(40 * features, 0.5F))); }) == "");
  BOOST_TEST(used_after_step([](trainer& step) {
               step.exchange("average");
               return parameters_of(step);
             }) == "");
}
// The first process alone runs single plan steps. Afterwards it restores its parameters, so no message may arrive in
// between, when other processes poll.
BOOST_AUTO_TEST_CASE(single_plan_steps_run_after_parameters_have_arrived) {
  BOOST_TEST(parameters_after([](trainer& step) {
               auto* const group = static_cast<thread_process*>(step.processes());
               if (group == nullptr || group->rank() > 0) return;
               const auto use = [group](auto run) {
                 run(0);
                 group->release();
                 std::this_thread::sleep_for(std::chrono::milliseconds(50));
               };
               const batch<float> b(4, 7);
               step.step_by_step(use, bind<"x">(b.x), bind<"y">(b.y));
             }) == "");
}
BOOST_AUTO_TEST_CASE(files_have_parameters_that_have_arrived) {
  const folder here;
  BOOST_TEST(used_after_step([&](trainer& step) {
               step.save((here.path / "saved").string());
               return read_bytes(here.path / "saved");
             }) == "");
  trainer other;
  other.init(seed{5});
  other.save((here.path / "other").string());
  BOOST_TEST(parameters_after([&](trainer& step) { step.load((here.path / "other").string()); }) == "");
  BOOST_TEST(parameters_after([&](trainer& step) { step.load((here.path / "other").string(), partly{"fc1"}); }) == "");
}
BOOST_AUTO_TEST_CASE(programs_move_and_end_after_their_parameters_have_arrived) {
  BOOST_TEST(used_after_step([](trainer& step) {
               trainer moved = std::move(step);
               return parameters_of(moved);
             }) == "");
  BOOST_TEST(used_after_step([](trainer& step) {
               step = trainer();
               step.init(seed{3});
               return parameters_of(step);
             }) == "");
  BOOST_TEST(used_after_step([](trainer&) { return 0; }) == "");
}

// A library of messages may serve a single thread.
BOOST_AUTO_TEST_CASE(plan_steps_wait_for_all_buckets_of_their_parameters) {
  // The parameters have two buckets. Nothing is counted, because counts make the process wait before the forward pass.
  constexpr int wide = 600;
  constexpr auto deep = cross_entropy(
      x | nn::linear<"fc1", wide> | nn::gelu | nn::linear<"fc2", wide> | nn::gelu | nn::linear<"fc3", classes>, y);
  using two_buckets = program<deep, shards<2>, update<adamw_options{}>, sharded_moments>;
  static_assert(two_buckets::memory().gradient_bytes > plans::bucket_bytes);
  const auto train_twice = [](auto& step, auto between) {
    step.init(seed{3});
    numbers losses;
    for (int number = 0; number < 2; ++number) {
      const batch<float> b(2, number);
      losses.push_back(step.train({.lr = 0.01}, bind<"x">(b.x), bind<"y">(b.y)));
      between();
    }
    return losses;
  };
  two_buckets alone;
  const numbers expected = train_twice(alone, [] {});
  BOOST_TEST(in_processes(2, [&](thread_process& group) {
               two_buckets step{group};
               group.hold(1);
               // A plan step that does not wait reads its parameters before they arrive.
               check(train_twice(step, [&] { group.release_in_wait(); }) == expected, "other losses");
             }) == "");
}
BOOST_AUTO_TEST_CASE(another_thread_reads_parameters_after_they_have_arrived) {
  BOOST_TEST(in_processes(2, [](thread_process& group) {
               trainer step{group};
               step.init(seed{3});
               group.hold(1);
               train(step, 0);
               group.release();
               const auto text_in_thread = [&] {
                 std::string text;
                 std::thread([&] {
                   try {
                     predictor<logits>{step};
                   } catch (const program_error& error) {
                     text = error.what();
                   }
                 }).join();
                 return text;
               };
               check(text_in_thread().find("a training step of another thread") != std::string::npos, "a thread waits");
               // A call that is refused changes nothing.
               bool is_refused = false;
               std::thread([&] {
                 try {
                   step.init(seed{4});
                 } catch (const program_error&) {
                   is_refused = true;
                 }
               }).join();
               check(is_refused && step.steps() == 1 && step.random().from.value == 3, "init has begun");
               static_cast<void>(step.parameters());
               check(text_in_thread().empty(), "a thread may not read");
               // Several threads may read.
               const auto read = [&step] { static_cast<void>(std::as_const(step).param<"w">()); };
               std::thread one(read), other(read);
               one.join();
               other.join();
             }) == "");
}

BOOST_AUTO_TEST_SUITE_END()
