// A training step of a divided batch in which a part fails updates nothing. The next step goes on as if the failed step
// had not been. The file also tests the memory and the files of programs that divide their batch.
#include <cairn/file/saving.hpp>

#include "divided.hpp"
#include "folder.hpp"

namespace {

using namespace divided;

constexpr auto hidden = x | nn::linear<"fc1", 7> |
                        nn::batch_norm<"bn", nn::batch_norm_options{.statistics = nn::batch_statistics::local}> |
                        nn::dropout<"d", 0.25> | nn::tanh;
constexpr auto loss = cross_entropy(hidden | nn::linear<"fc2", classes>, y);
using trained = program<loss, microbatch<4>, update<adamw_options{.lr = 0.01}>, check_finite>;

/// The memory of a program, and all that a training step leaves in it or in the program.
template <class Program>
struct observed {
  std::vector<float> memory = std::vector<float>(std::size_t(Program::memory().total_bytes()) / 4 + 16);
  std::span<std::byte> bytes = aligned();
  Program step{bytes};

  std::span<std::byte> aligned() {
    const auto all = std::as_writable_bytes(std::span(memory));
    const auto at = reinterpret_cast<std::uintptr_t>(all.data());
    return all.subspan((64 - at % 64) % 64, std::size_t(Program::memory().total_bytes()));
  }
  /// Parameters, states and moments.
  std::vector<std::byte> kept() const {
    const memory_plan m = Program::memory();
    return {bytes.begin(), bytes.begin() + m.parameter_bytes + m.moment_bytes};
  }
};

const auto arrays = [](const auto& b, auto use) { return use(bind<"x">(b.x), bind<"y">(b.y)); };
const auto callback = [](const auto& b, auto use) {
  return use([&b](int part) { return inputs(bind<"x">(b.x_of(part)), bind<"y">(b.y_of(part))); });
};

/// Checks that `fail(step)` throws, and that the program then goes on with the bits of one that did not fail.
template <class Program, class Exception>
void leaves_no_trace(auto fail) {
  observed<Program> failing, other;
  failing.step.init(seed{3});
  other.step.init(seed{3});
  constexpr int parts_of_batch = 4;
  const batch<float> first(parts_of_batch, 0), second(parts_of_batch, 1);
  const auto train = [](auto& step, const batch<float>& b) {
    return arrays(b, [&](const auto&... in) { return detail::one_step(step, in...); });
  };
  train(failing.step, first);
  train(other.step, first);
  const std::vector<std::byte> before = failing.kept();
  for (int i = 0; i < 2; ++i) {
    BOOST_CHECK_THROW(fail(failing.step), Exception);
    BOOST_TEST((before == failing.kept()));
    BOOST_TEST(failing.step.random().step == other.step.random().step);
    BOOST_TEST(failing.step.steps() == other.step.steps());
  }
  const float a = train(failing.step, second);
  BOOST_TEST(same_bits(a, train(other.step, second)));
  BOOST_TEST((failing.kept() == other.kept()));
  BOOST_TEST(failing.step.random().step == other.step.random().step);
}
template <class Program, class Exception>
void leaves_no_trace_of(const batch<float>& b) {
  leaves_no_trace<Program, Exception>(
      [&](auto& step) { arrays(b, [&](const auto&... in) { return detail::one_step(step, in...); }); });
  leaves_no_trace<Program, Exception>(
      [&](auto& step) { callback(b, [&](const auto&... in) { return detail::one_step(step, in...); }); });
}
template <class Exception>
void leaves_no_trace_anywhere(const batch<float>& b) {
  leaves_no_trace_of<trained, Exception>(b);
  leaves_no_trace_of<program<loss, shards<2>, microbatch<2>, update<adamw_options{}>, clip<1.0>, check_finite>,
                     Exception>(b);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(faults_of_microbatches)

BOOST_AUTO_TEST_CASE(a_loss_that_is_not_finite_in_one_part) {
  batch<float> b(4, 2);
  b.x[std::size_t(2 * rows * features + 3)] = std::numeric_limits<float>::quiet_NaN();
  leaves_no_trace_anywhere<loss_error>(b);
}
BOOST_AUTO_TEST_CASE(a_label_that_is_none_in_one_part) {
  batch<float> b(4, 2);
  b.y[std::size_t(3 * rows + 2)] = classes;
  leaves_no_trace_anywhere<label_error>(b);
  // The arrays of a whole batch are checked before anything runs. The index in the message is that of the whole array.
  observed<program<loss, microbatch<4>>> step;
  step.step.init(seed{3});
  const std::vector<std::byte> before(step.bytes.begin(), step.bytes.end());
  try {
    step.step.value_and_grad(bind<"x">(b.x), bind<"y">(b.y));
    BOOST_ERROR("no exception");
  } catch (const label_error& error) {
    BOOST_TEST(error.index == std::size_t(3 * rows + 2));
    BOOST_TEST(error.actual == classes);
  }
  BOOST_TEST((before == std::vector<std::byte>(step.bytes.begin(), step.bytes.end())));
}
BOOST_AUTO_TEST_CASE(an_array_of_a_callback_is_named_with_its_microbatch) {
  batch<float> b(4, 2);
  program<loss, microbatch<4>> step;
  step.init(seed{3});
  const auto message = [&](std::size_t rows_of_x) {
    try {
      step.value_and_grad([&](int part) {
        return inputs(bind<"x">(std::span(b.x_of(part)).first(part == 2 ? rows_of_x * features : rows * features)),
                      bind<"y">(b.y_of(part)));
      });
    } catch (const std::logic_error& error) {
      return std::string(error.what());
    }
    return std::string("no exception");
  };
  BOOST_TEST(message(rows - 1) == "cairn: microbatch 2: input 'x': expected {6, 5}, got {25}");
  b.y[std::size_t(3 * rows + 2)] = classes;
  BOOST_TEST(message(rows) == "cairn: microbatch 3: input 'y': index number 2 is 4, expected 0 to 3");
}
BOOST_AUTO_TEST_CASE(a_gradient_that_is_not_finite_in_one_part) {
  // The square root of 0 has an infinite slope. All inputs of part 2 are zeros.
  constexpr auto rooted = mean(sqrt(sum<-1>(square(x * param<"w", features>)))) + 0_c * loss + 0_c * mean(as_real(y));
  batch<float> b(4, 2);
  std::fill_n(b.x.begin() + 2 * rows * features, rows * features, 0.0F);
  leaves_no_trace_of<program<rooted, microbatch<4>, update<adamw_options{}>, check_finite>, gradient_error>(b);
  leaves_no_trace_of<program<rooted, shards<4>, update<adamw_options{}>, clip<1.0>, check_finite>, gradient_error>(b);
}
BOOST_AUTO_TEST_CASE(a_callback_that_throws) {
  const batch<float> b(4, 2);
  for (const int last : {0, 3}) {
    leaves_no_trace<trained, std::runtime_error>([&](auto& step) {
      step.train([&](int part) {
        if (part == last) throw std::runtime_error("no more rows");
        return inputs(bind<"x">(b.x_of(part)), bind<"y">(b.y_of(part)));
      });
    });
  }
}
BOOST_AUTO_TEST_CASE(an_optimizer_in_a_callback) {
  const batch<float> b(4, 2);
  program<loss, microbatch<4>> step;
  step.init(seed{1});
  adamw optimizer{step};
  const auto updates = [&](int part) {
    if (part == 2) optimizer.update();
    return inputs(bind<"x">(b.x_of(part)), bind<"y">(b.y_of(part)));
  };
  BOOST_CHECK_EXCEPTION(static_cast<void>(step.value_and_grad(updates)), program_error, [](const program_error& e) {
    return std::string_view(e.what()).starts_with("cairn: a callback gives the arrays of a microbatch, and cannot use");
  });
  BOOST_TEST(optimizer.steps() == 0);
  BOOST_CHECK_NO_THROW(optimizer.update());
}
BOOST_AUTO_TEST_CASE(arrays_of_the_wrong_extent) {
  const batch<float> b(4, 2), larger(5, 2), smaller(3, 2);
  const auto fails = [](auto call) { leaves_no_trace<trained, extent_error>(call); };
  fails([&](auto& step) { step.train(bind<"x">(larger.x), bind<"y">(larger.y)); });
  fails([&](auto& step) { step.train(bind<"x">(b.x), bind<"y">(smaller.y)); });
  fails([&](auto& step) { step.train(bind<"x">(b.x_of(0)), bind<"y">(b.y_of(0))); });
  fails([&](auto& step) {
    step.train([&](int part) {
      return inputs(bind<"x">(std::span(b.x_of(part)).first(part == 2 ? 29 : 30)), bind<"y">(b.y_of(part)));
    });
  });
  using varied = program<loss, microbatch<up_to<4>>, update<adamw_options{}>>;
  const auto varied_fails = [](auto call) { leaves_no_trace<varied, extent_error>(call); };
  varied_fails([&](auto& step) { step.train(bind<"x">(larger.x), bind<"y">(larger.y)); });
  varied_fails([&](auto& step) { step.train(bind<"x">(b.x), bind<"y">(smaller.y)); });
  varied_fails([&](auto& step) { step.train(bind<"x">(std::span(b.x).first(31)), bind<"y">(b.y)); });
  for (const int count : {0, -1, 5}) {
    leaves_no_trace<varied, std::invalid_argument>([&](auto& step) {
      step.train(parts{count}, [&](int part) { return inputs(bind<"x">(b.x_of(part)), bind<"y">(b.y_of(part))); });
    });
  }
}
BOOST_AUTO_TEST_CASE(arrays_in_the_memory_of_the_program) {
  // The gradients of shards that wait, and the second copy of the states, belong to the memory that a step writes.
  using sharded = program<loss, shards<2>, update<adamw_options{}>>;
  observed<sharded> own;
  own.step.init(seed{3});
  const batch<float> b(2, 0);
  const memory_plan m = sharded::memory();
  BOOST_TEST(m.division_bytes > 0);
  const auto kept = static_cast<std::size_t>(m.parameter_bytes + m.moment_bytes);
  for (const std::size_t at : {kept, kept + std::size_t(m.gradient_bytes), own.bytes.size() - 240}) {
    const auto inside = own.bytes.subspan(at, 120);
    const std::span<const float> numbers(reinterpret_cast<const float*>(inside.data()), 30);
    BOOST_CHECK_THROW(own.step.train([&](int part) {
      return inputs(bind<"x">(part == 1 ? numbers : b.x_of(part)), bind<"y">(b.y_of(part)));
    }),
                      extent_error);
  }
  own.step.train(bind<"x">(b.x), bind<"y">(b.y));
}

BOOST_AUTO_TEST_CASE(memory_of_the_caller_moved_and_temporary_programs) {
  const batch<float> b(4, 0);
  trained usual;
  usual.init(seed{3});
  const float expected = usual.train(bind<"x">(b.x), bind<"y">(b.y));
  observed<trained> given;
  given.step.init(seed{3});
  BOOST_TEST(same_bits(expected, given.step.train(bind<"x">(b.x), bind<"y">(b.y))));
  BOOST_TEST(same_bits(parameters_of(usual), parameters_of(given.step)));
  BOOST_CHECK_THROW(trained(given.bytes.first(given.bytes.size() - 64)), memory_error);
  trained moved = std::move(given.step);
  BOOST_CHECK_THROW(given.step.train(bind<"x">(b.x), bind<"y">(b.y)), program_error);
  BOOST_TEST(same_bits(usual.train(bind<"x">(b.x), bind<"y">(b.y)), moved.train(bind<"x">(b.x), bind<"y">(b.y))));
  BOOST_TEST(same_bits(parameters_of(usual), parameters_of(moved)));
  const auto made = [] {
    trained step;
    step.init(seed{3});
    return step;
  };
  BOOST_TEST(same_bits(expected, made().train(bind<"x">(b.x), bind<"y">(b.y))));
  trained unwritten;
  BOOST_CHECK_THROW(unwritten.train(bind<"x">(b.x), bind<"y">(b.y)), program_error);
}

BOOST_AUTO_TEST_CASE(a_saved_run_goes_on_with_the_same_bits) {
  const folder here;
  const std::string path = here.path / "step.safetensors";
  trained whole;
  whole.init(seed{3});
  for (int i = 0; i < 2; ++i) whole.train(bind<"x">(batch<float>(4, i).x), bind<"y">(batch<float>(4, i).y));
  whole.save(path);
  trained resumed;
  resumed.load(path);
  BOOST_TEST(resumed.random().step == 8U);
  BOOST_TEST(resumed.steps() == 2);
  // A file does not say how a batch is divided.
  program<loss, update<adamw_options{.lr = 0.01}>> undivided;
  program<loss, shards<4>, update<adamw_options{.lr = 0.01}>> sharded;
  undivided.load(path);
  sharded.load(path);
  BOOST_TEST(undivided.random().step == 8U);
  BOOST_TEST(same_bits(parameters_of(undivided), parameters_of(whole)));
  BOOST_TEST(same_bits(parameters_of(sharded), parameters_of(whole)));
  const batch<float> b(4, 2);
  const float next = whole.train(bind<"x">(b.x), bind<"y">(b.y));
  BOOST_TEST(same_bits(next, resumed.train(bind<"x">(b.x), bind<"y">(b.y))));
  BOOST_TEST(same_bits(parameters_of(whole), parameters_of(resumed)));
  sharded.train(bind<"x">(b.x), bind<"y">(b.y));
  BOOST_TEST(sharded.random().step == 12U);
  const batch<float> small(1, 2);
  undivided.train(bind<"x">(small.x), bind<"y">(small.y));
  BOOST_TEST(undivided.random().step == 9U);
  undivided.save(path);
  whole.load(path);
  BOOST_TEST(whole.random().step == 9U);
}

/// A callback must not use the program whose step calls it, because the step is half done.
BOOST_AUTO_TEST_CASE(a_callback_that_uses_its_program) {
  trained step;
  step.init(seed{1});
  const batch<float> b(4, 0);
  predictor<hidden> predict{step};
  program<loss, shards<2>, microbatch<2>, update<adamw_options{.lr = 0.01}>> sharing{step};
  const auto refuses = [&](auto use) {
    const auto state = step.random();
    BOOST_CHECK_THROW(step.train([&](int part) {
      if (part == 2) use();
      return inputs(bind<"x">(b.x_of(part)), bind<"y">(b.y_of(part)));
    }),
                      program_error);
    BOOST_TEST((step.steps() == 0 && step.random().step == state.step));
  };
  refuses([&] { step.train(bind<"x">(b.x), bind<"y">(b.y)); });
  refuses([&] { sharing.train(bind<"x">(b.x), bind<"y">(b.y)); });
  refuses([&] { step.init(seed{2}); });
  refuses([&] { step.param<"bn.running_mean">(); });
  refuses([&] { predictor<hidden>{step}; });
  refuses([&] { const trained moved = std::move(step); });
  refuses([&] { const auto moved = std::move(sharing); });
  trained other;
  refuses([&] { step = std::move(other); });
  refuses([&] { other = std::move(step); });
  other.init(seed{1});  // still has its memory
  observed<trained> given;
  given.step.init(seed{1});
  BOOST_CHECK_THROW(given.step.train([&](int part) {
    const trained moved = std::move(given.step);
    return inputs(bind<"x">(b.x_of(part)), bind<"y">(b.y_of(part)));
  }),
                    program_error);
  given.step.train(bind<"x">(b.x), bind<"y">(b.y));
  // a predictor that exists reads the parameters and states of before the step
  const std::vector<float> whole(predict(bind<"x">(b.x_of(0))).begin(), predict(bind<"x">(b.x_of(0))).end());
  step.train([&](int part) {
    const auto now = predict(bind<"x">(b.x_of(0)));
    BOOST_TEST(same_bits(whole, std::vector<float>(now.begin(), now.end())));
    return inputs(bind<"x">(b.x_of(part)), bind<"y">(b.y_of(part)));
  });
  BOOST_TEST(step.steps() == 1);
}

/// Arrays whose extents are part of their type must all hold the same number of microbatches.
BOOST_AUTO_TEST_CASE(static_arrays_of_different_numbers_of_parts) {
  program<loss, microbatch<up_to<4>>> step;
  step.init(seed{1});
  const batch<float> b(4, 0);
  std::array<float, 3 * rows * features> three{};
  std::array<std::int32_t, 4 * rows> four{};
  BOOST_CHECK_THROW(step.value_and_grad(bind<"y">(b.y), bind<"x">(three)), extent_error);
  BOOST_CHECK_THROW(step.value_and_grad(bind<"x">(three), bind<"y">(b.y)), extent_error);
  BOOST_CHECK_THROW(step.value_and_grad(bind<"x">(three), bind<"y">(four)), extent_error);
  BOOST_CHECK_THROW(step.value_and_grad(bind<"y">(four), bind<"x">(three)), extent_error);
  BOOST_CHECK_NO_THROW(step.value_and_grad(bind<"x">(b.x), bind<"y">(four)));
}

BOOST_AUTO_TEST_SUITE_END()
