// The guarantees of a training step to its caller. The step does not depend on modes of the processor, and restores
// them. It passes on the exceptions of added operations. It can run on threads and in a forked process.
// tests/laws/threads.cpp compares bits for different numbers of threads.
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <cairn/embedded.hpp>
#include <cairn/testing/value_runner.hpp>
#include <cfenv>
#include <chrono>
#include <cstring>
#include <limits>
#include <signal.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace cairn;

namespace own {
/// Returns its argument. It throws in call number `last_call`, and records whether the processor rounds up.
struct fuse_op : elementwise_op {
  static constexpr fixed_string name = "fuse";
  static constexpr auto vjp(auto g, auto, auto) { return gradients(g); }
  static inline std::atomic<int> calls = 0, last_call = -1;
  static inline std::atomic<bool> called_on_another_thread = false, rounds_up = false;
  static inline const std::thread::id first_thread = std::this_thread::get_id();
};
template <class V>
V lanewise(fuse_op, V x) {
  if (std::this_thread::get_id() != fuse_op::first_thread) fuse_op::called_on_another_thread = true;
  const volatile float one = 1, little = 1e-30F;
  fuse_op::rounds_up = one + little > 1;
  if (fuse_op::calls++ == fuse_op::last_call) throw std::runtime_error("the fuse blew");
  return x;
}
constexpr auto fuse = layer([](auto x) { return make<fuse_op>(x); });
}  // namespace own

namespace {

#ifdef _OPENMP
constexpr int most_threads = 3;
#else
[[maybe_unused]] constexpr int most_threads = 1;
#endif

// Each row has one number that is not 0, so that all of x w is subnormal. The product and its gradient have work for
// two threads, and so has an optimizer.
constexpr int rows = 96, features = 192, width = 256;
constexpr auto x = input<"x", rows, features>;
constexpr auto tiny = ckpt<"s", allow_useless>(
    layer([](auto x) { return matmul(x, param<"w", features, width>) * 1e30_c; }) | nn::tanh, x);
constexpr auto loss = mean(square(tiny)) * 1e18_c;

std::vector<float> one_of_each_row() {
  std::vector<float> numbers(rows * features);
  for (std::size_t i = 0; i < rows; ++i) numbers[i * features + i] = 1e-20F * (1 + static_cast<float>(i) / 77);
  return numbers;
}
const std::vector<float> numbers = one_of_each_row();

template <class Program>
void start(Program& step) {
  step.init(seed{1});
  for (float& w : step.parameters()) w *= 0x1p-63F;  // no rounding mode changes this
}
/// Returns the bits of the loss, of gradients and of parameters after two training steps with an optimizer next to the
/// program.
template <int Threads, class... Options>
std::vector<float> trained() {
  program<loss, threads<Threads>, Options...> step;
  start(step);
  adamw optimizer{step, {.lr = 1e-20}};
  std::vector<float> seen;
  for (int i = 0; i < 2; ++i) {
    seen.push_back(step.value_and_grad(bind<"x">(numbers)));
    optimizer.update();
  }
  seen.insert(seen.end(), step.gradients().begin(), step.gradients().end());
  seen.insert(seen.end(), step.parameters().begin(), step.parameters().end());
  return seen;
}
/// Returns the same bits for an optimizer in the training step, for a predictor, and for initial parameters.
template <int Threads>
std::vector<float> trained_inside() {
  program<loss, threads<Threads>, update<adamw_options{.lr = 1e-20}>, clip<1e-3>> step;
  step.init(seed{2});
  std::vector<float> seen(step.parameters().begin(), step.parameters().end());
  start(step);
  seen.push_back(step.train(bind<"x">(numbers)));
  seen.insert(seen.end(), step.parameters().begin(), step.parameters().end());
  predictor<tiny, threads<Threads>> predict{step};
  const auto predicted = predict(bind<"x">(numbers));
  seen.insert(seen.end(), predicted.begin(), predicted.end());
  return seen;
}
bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

/// Returns some products. Each rounding mode rounds one of them differently.
std::vector<float> products() {
  std::vector<float> all;
  for (const float a : {1.1F, -1.1F, 1.3F, -1.3F, 1.7F, 1e-20F}) {
    const volatile float one = a, another = a * 1.1F;
    all.push_back(one * another);
  }
  return all;
}

#if defined(__SSE__)
constexpr std::uint64_t flush_to_zero = 0x8040;
std::uint64_t control() { return _mm_getcsr() & 0xffc0; }
void set_control(std::uint64_t bits) { _mm_setcsr(static_cast<unsigned>(bits)); }
#elif defined(__aarch64__)
constexpr std::uint64_t flush_to_zero = 1 << 24;
std::uint64_t control() {
  std::uint64_t bits;
  asm volatile("mrs %0, fpcr" : "=r"(bits));
  return bits;
}
void set_control(std::uint64_t bits) { asm volatile("msr fpcr, %0" : : "r"(bits)); }
#endif

/// Calls use(set) for each mode of the processor. set() sets the mode for its thread.
void for_each_mode(auto use) {
  for (const int rounding : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) use([=] { std::fesetround(rounding); });
  use([] { set_control(control() | flush_to_zero); });
}
struct mode_as_before {
  std::uint64_t before = control();
  ~mode_as_before() { set_control(before); }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(threads_and_modes)

BOOST_AUTO_TEST_CASE(a_step_does_not_depend_on_the_mode_of_its_thread) {
  const auto beside = trained<1>(), plainly = trained<1, plain>(), inside = trained_inside<1>();
  BOOST_TEST(same_bits(beside, plainly));
  BOOST_TEST(beside[0] > 0.0F);
  const auto rounded_to_nearest = products();
  for_each_mode([&](auto set) {
    const mode_as_before guard;
    set();
    const std::uint64_t mode = control();
    const bool differs = !same_bits(products(), rounded_to_nearest);
    const bool same = same_bits(trained<1>(), beside) && same_bits(trained_inside<1>(), inside);
    const bool stays = control() == mode;
    set_control(guard.before);
    BOOST_TEST(differs);
    BOOST_TEST(same);
    BOOST_TEST(stays);
  });
}

// A callback may leave another mode behind. Sums of shards are then computed in the default mode all the same.
BOOST_AUTO_TEST_CASE(a_step_does_not_depend_on_the_mode_that_a_callback_leaves) {
  constexpr auto loss = sum(param<"w", 4> * input<"x", 4>);
  const std::vector<float> small(4, 3e-39F);  // gradients are subnormal numbers
  const auto gradient_after = [&](auto set) {
    const mode_as_before guard;
    program<loss, shards<2>> step;
    step.init(seed{1});
    step.value_and_grad([&](int) {
      set();
      return inputs(bind<"x">(small));
    });
    return step.template grad<"w">()(0);
  };
  const float expected = gradient_after([] {});
  BOOST_TEST(expected > 0.0F);
  for_each_mode([&](auto set) { BOOST_TEST(gradient_after(set) == expected); });
}

// The function that benchmarks run.
BOOST_AUTO_TEST_CASE(a_value_runner_does_not_depend_on_the_mode_of_its_thread) {
  detail::value_runner<detail::compiled_of<make<own::fuse_op>(param<"w", 4>), false>> run(seed{1});
  const mode_as_before guard;
  std::fesetround(FE_UPWARD);
  own::fuse_op::rounds_up = true;
  run();
  set_control(guard.before);
  BOOST_TEST(!own::fuse_op::rounds_up);
}

// The operation is called in the forward pass, and again in the backward pass. When the backward pass calls it, `head`
// has already been updated.
constexpr auto fused = input<"x", 4, 200> | ckpt<"s">(nn::linear<"fc", 128> | own::fuse | nn::linear<"mid", 32>) |
                       nn::tanh | nn::linear<"head", 2>;
constexpr auto fused_loss = mean(square(fused));
const std::vector<float> fused_numbers(4 * 200, 0.25F);

/// Runs a training step in which the operation throws in the backward pass.
void blow(auto run) {
  own::fuse_op::calls = 0;
  run();
  own::fuse_op::last_call = own::fuse_op::calls - 1;
  own::fuse_op::calls = 0;
  BOOST_CHECK_EXCEPTION(run(), std::runtime_error,
                        [](const std::runtime_error& e) { return std::string(e.what()) == "the fuse blew"; });
  own::fuse_op::last_call = -1;
}

/// Checks a program that allocates its memory, and a program in memory of the caller. For the latter, the first
/// predictor may be made only after the exception.
enum class share_made { before, after };
template <bool Allocates>
void check_that_half_updates_are_refused(share_made first) {
  using step_type = program<fused_loss, update<sgd_options{.lr = 0.1}>>;
  alignas(memory_alignment) static std::byte bytes[step_type::memory().total_bytes()];
  auto step = Allocates ? step_type() : step_type(bytes);
  step_type twin;
  std::vector<predictor<fused>> predictors;
  if (first == share_made::before) predictors.emplace_back(step);
  const auto run = [&] { return step.train(bind<"x">(fused_numbers)); };
  const auto parameters = [&] { return std::vector(step.parameters().begin(), step.parameters().end()); };
  const auto refused = [](const program_error& e) {
    return std::string(e.what()) ==
           "cairn: an exception left a step or init of this program, or of a program that shares its memory, while it "
           "wrote parameters: some are written, others are not; call init(seed{1}), or load a file";
  };
  const auto check_predictors = [&] {
    for (auto& predict : predictors) BOOST_CHECK_EXCEPTION(predict(bind<"x">(fused_numbers)), program_error, refused);
  };
  step.init(seed{1});
  std::vector<float> before;
  blow([&] {
    before = parameters();
    run();
  });
  BOOST_TEST(!same_bits(parameters(), before));  // so that there is something to refuse
  BOOST_TEST(step.steps() == 1);
  BOOST_CHECK_EXCEPTION(run(), program_error, refused);
  predictors.emplace_back(step);
  check_predictors();
  step_type moved = std::move(step);
  BOOST_CHECK_EXCEPTION(moved.train(bind<"x">(fused_numbers)), program_error, refused);
  check_predictors();
  step = std::move(moved);
  step.init(seed{1});
  twin.init(seed{1});
  for (auto& predict : predictors) BOOST_CHECK_NO_THROW(predict(bind<"x">(fused_numbers)));
  BOOST_TEST(run() == twin.train(bind<"x">(fused_numbers)));
  BOOST_TEST(run() == twin.train(bind<"x">(fused_numbers)));
}
BOOST_AUTO_TEST_CASE(a_half_updated_program_refuses_calls) {
  check_that_half_updates_are_refused<true>(share_made::before);
  check_that_half_updates_are_refused<false>(share_made::before);
  check_that_half_updates_are_refused<false>(share_made::after);
}

BOOST_AUTO_TEST_CASE(a_predictor_with_half_updated_caches_refuses_calls) {
  constexpr auto total = cache<"total", 4>;
  constexpr auto largest = cache<"largest", 4>;
  constexpr auto sum = total + input<"row", 4>;
  constexpr auto totals = updated(softmax(sum) | own::fuse, total, sum);
  using caching = predictor<updated(totals, largest, maximum(largest, totals))>;
  program<mean(square(param<"w", 4>))> nothing;
  nothing.init(seed{1});
  caching predict{nothing};
  const std::vector<float> ones(4, 1);
  const auto run = [&] { predict(bind<"row">(ones)); };
  blow(run);
  BOOST_TEST(predict.cache<"total">()(0) == 2);  // so that there is something to refuse
  BOOST_TEST(predict.cache<"largest">()(0) == 0.25F);
  const auto refused = [](const program_error& e) {
    return std::string(e.what()) ==
           "cairn: an exception left a call of this predictor while it updated caches: some are updated, others are "
           "not; call reset()";
  };
  BOOST_CHECK_EXCEPTION(run(), program_error, refused);
  predict.reset<"total">();
  BOOST_CHECK_EXCEPTION(run(), program_error, refused);
  predict.reset();
  run();
  BOOST_TEST(predict.cache<"total">()(0) == 1);
  BOOST_TEST(predict.cache<"largest">()(0) == 0.25F);
}

BOOST_AUTO_TEST_CASE(an_exception_before_updates_changes_no_parameter) {
  program<fused_loss, update<sgd_options{.lr = 0.1}>, clip<1.0>> clipped, twin;
  clipped.init(seed{1});
  twin.init(seed{1});
  std::vector<float> before;
  blow([&] {
    before.assign(clipped.parameters().begin(), clipped.parameters().end());
    clipped.train(bind<"x">(fused_numbers));
  });
  BOOST_TEST(same_bits({clipped.parameters().begin(), clipped.parameters().end()}, before));
  twin.train(bind<"x">(fused_numbers));
  BOOST_TEST(clipped.train(bind<"x">(fused_numbers)) == twin.train(bind<"x">(fused_numbers)));

  program<fused_loss> beside;
  beside.init(seed{1});
  const float expected = beside.value_and_grad(bind<"x">(fused_numbers));
  blow([&] { static_cast<void>(beside.value_and_grad(bind<"x">(fused_numbers))); });
  BOOST_TEST(beside.value_and_grad(bind<"x">(fused_numbers)) == expected);
}

#ifdef _OPENMP
/// Lets OpenMP use this number of threads, also on a machine with fewer cores.
struct threads_lent {
  int before = omp_get_max_threads();
  threads_lent() { omp_set_num_threads(most_threads); }
  ~threads_lent() { omp_set_num_threads(before); }
};
/// Calls set() in the threads of a training step for which `wanted` is true.
void on_threads(auto wanted, auto set) {
#pragma omp parallel num_threads(most_threads)
  if (wanted(omp_get_thread_num())) set();
}

BOOST_AUTO_TEST_CASE(a_step_does_not_depend_on_the_mode_of_any_other_thread) {
  const threads_lent lent;
  const auto beside = trained<1>(), inside = trained_inside<1>();
  BOOST_TEST(same_bits(trained<most_threads>(), beside));
  for_each_mode([&](auto set) {
    for (const bool is_caller : {true, false}) {
      const std::uint64_t before = control();
      on_threads([=](int thread) { return (thread == 0) == is_caller; }, set);
      const bool same = same_bits(trained<most_threads>(), beside) && same_bits(trained_inside<most_threads>(), inside);
      on_threads([](int) { return true; }, [=] { set_control(before); });
      BOOST_TEST(same);
    }
  });
}

// A loss with work for two threads.
constexpr auto wide = mean(square(make<own::fuse_op>(param<"w", 512, 200>)));

BOOST_AUTO_TEST_CASE(exceptions_of_all_threads_reach_the_caller) {
  const threads_lent lent;
  program<wide, threads<most_threads>> step;
  step.init(seed{1});
  const float expected = step.value_and_grad();
  BOOST_TEST(own::fuse_op::called_on_another_thread.exchange(false));
  for (const int call : {0, 1000, 3000}) {
    own::fuse_op::calls = 0;
    own::fuse_op::last_call = call;
    BOOST_CHECK_THROW(step.value_and_grad(), std::runtime_error);
    own::fuse_op::last_call = -1;
  }
  BOOST_TEST(step.value_and_grad() == expected);
}

// In the child process, libgomp would wait for threads that exist only in the parent.
BOOST_AUTO_TEST_CASE(a_forked_process_has_the_same_bits_on_one_thread) {
  const threads_lent lent;
  const auto expected = trained<most_threads>();
  const pid_t child = fork();
  if (child == 0) _exit(same_bits(trained<most_threads>(), expected) ? 0 : 1);
  int status = 0;
  pid_t ended = 0;
  for (int i = 0; i < 6000 && ended == 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    ended = waitpid(child, &status, WNOHANG);
  }
  BOOST_TEST(ended == child);
  if (ended != child) {
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
  }
  BOOST_TEST(status == 0);
  BOOST_TEST(same_bits(trained<most_threads>(), expected));
}
#endif

BOOST_AUTO_TEST_SUITE_END()
