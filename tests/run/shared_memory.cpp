// Programs that share memory. A step of either program has the bits that it has in a program of its own to which
// parameters, states, moments and counts were copied.
#include "cairn/cairn.hpp"
#include "cairn/file/saving.hpp"

#include <algorithm>
#include <array>
#include <boost/test/unit_test.hpp>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "run/folder.hpp"

using namespace cairn;

namespace own {
/// Returns its argument. It throws after a given number of calls.
struct fragile_op : elementwise_op {
  static constexpr fixed_string name = "fragile";
  static constexpr auto vjp(auto g, auto, auto) { return gradients(g); }
  static inline int calls_left = 1'000'000;
};
template <class V>
V lanewise(fragile_op, V x) {
  if (--fragile_op::calls_left < 0) throw std::runtime_error("called too often");
  return x;
}
}  // namespace own

namespace {

template <int B>
constexpr auto x = input<"x", B, 6>;
constexpr auto model =
    nn::linear<"fc1", 16> | nn::batch_norm<"bn"> | nn::dropout<"drop", 0.2> | nn::tanh | nn::linear<"fc2", 3>;
template <int B>
constexpr auto logits = x<B> | model;
template <int B>
constexpr auto loss = cross_entropy(logits<B>, labels<"y", 3, B>);

const std::vector<float> numbers = [] {
  std::vector<float> all(8 * 6);
  for (std::size_t k = 0; k < all.size(); ++k) all[k] = static_cast<float>((k * 37) % 11) - 5;
  return all;
}();
const std::vector<std::int32_t> classes{0, 1, 2, 2, 1, 0, 0, 2};

template <class Number = float>
std::vector<Number> first_numbers(int count) {
  return {numbers.begin(), numbers.begin() + count};
}
/// Runs a training step of a program of `loss<B>`.
template <int B, class Program>
auto run(Program& step) {
  using real = typename Program::real_type;
  return detail::one_step(step, bind<"x">(first_numbers<real>(B * 6)), bind<"y">(std::span(classes).first(B)));
}

/// Copies parameters, states, moments and counts.
void copy(auto& from, auto& to) {
  const folder place;
  from.save(place.path / "run");
  to.load(place.path / "run");
}
/// Returns the bytes of the file that a program saves.
std::string saved(auto& step) {
  const folder place;
  step.save(place.path / "run");
  return read_bytes(place.path / "run");
}

/// Alternates steps of two programs that share memory. Compares each loss, and what is saved after each step, with two
/// programs that share nothing and between which everything is copied. `after` is called with the program that ran.
template <class Long, class Short>
void check_alternating(auto between, auto after) {
  static_assert(Short::template own_memory<Long>().total_bytes() == 0);
  Long longest, long_twin;
  Short shorter{longest}, short_twin;
  BOOST_TEST(shorter.arena().data() == longest.arena().data());
  shorter.init(seed{3});
  long_twin.init(seed{3});
  copy(long_twin, short_twin);
  for (const bool is_long : {true, false, false, true, true, false, true, false}) {
    if (is_long) {
      copy(short_twin, long_twin);
      between(short_twin, long_twin);
      BOOST_TEST(run<8>(longest) == run<8>(long_twin));
      after(longest, long_twin);
      copy(long_twin, short_twin);
      between(long_twin, short_twin);
    } else {
      BOOST_TEST(run<4>(shorter) == run<4>(short_twin));
      after(shorter, short_twin);
    }
    BOOST_TEST(longest.steps() == short_twin.steps());
    BOOST_TEST(longest.random().step == short_twin.random().step);
    BOOST_TEST((saved(longest) == saved(short_twin)));
    BOOST_TEST((saved(shorter) == saved(short_twin)));
  }
}
template <class... Options>
void check_alternating() {
  check_alternating<program<loss<8>, Options...>, program<loss<4>, Options...>>([](auto&, auto&) {},
                                                                                [](auto&, auto&) {});
}

using trainer = program<loss<8>, update<adamw_options{}>>;
using shorter_trainer = program<loss<4>, update<adamw_options{}>>;

/// Checks that all calls of a program, and of a predictor of it, throw a program_error with this text.
void check_refuses(auto& step, auto& predict, std::string_view text, std::string_view text_of_predictor) {
  const auto refused = [=](const program_error& e) { return e.what() == text; };
  BOOST_CHECK_EXCEPTION(run<4>(step), program_error, refused);
  BOOST_CHECK_EXCEPTION(step.init(seed{1}), program_error, refused);
  BOOST_CHECK_EXCEPTION(step.parameters(), program_error, refused);
  BOOST_CHECK_EXCEPTION((step.template param<"fc2.bias">()), program_error, refused);
  BOOST_CHECK_EXCEPTION((step.template moment<"fc2.bias", "exp_avg">()), program_error, refused);
  BOOST_CHECK_EXCEPTION(step.arena(), program_error, refused);
  BOOST_CHECK_EXCEPTION(step.steps(), program_error, refused);
  BOOST_CHECK_EXCEPTION(step.random(), program_error, refused);
  BOOST_CHECK_EXCEPTION(step.save("never"), program_error, refused);
  BOOST_CHECK_EXCEPTION(predict(bind<"x">(first_numbers(6))), program_error,
                        [=](const program_error& e) { return e.what() == text_of_predictor; });
}
constexpr std::string_view lost =
    "cairn: the program whose memory this program shares was destroyed or assigned over; make another one that shares "
    "the memory of a program that lives";
constexpr std::string_view lost_by_predictor =
    "cairn: the program of this predictor or optimizer, or the program whose memory it shares, was destroyed or "
    "assigned over; make another one of a program that lives";

}  // namespace

BOOST_AUTO_TEST_SUITE(shared_memory)

BOOST_AUTO_TEST_CASE(steps_alternate_with_the_bits_of_one_program) {
  check_alternating<update<adamw_options{}>>();
  check_alternating<update<averaged{sgd_options{.momentum = 0.9}, 0.9}>, clip<0.1>>();
  check_alternating<update<adamw_options{}>, real<double>>();
  check_alternating<update<adamw_options{}>, mixed<bf16>>();
  check_alternating<update<adamw_options{}>, mixed<bf16, stochastic_rounding>>();
  check_alternating<update<adamw_options{}>, freeze<"fc1">>();
}

// An optimizer next to one of the programs serves both, because they also share their gradients.
BOOST_AUTO_TEST_CASE(one_optimizer_serves_both_programs) {
  std::optional<adamw<float>> optimizer, twin;
  const auto update_by = [](std::optional<adamw<float>>& by, auto& of, auto& step) {
    if (!by) by.emplace(of);
    static_cast<void>(step);
    by->update();
  };
  program<loss<8>> longest, long_twin;
  program<loss<4>> shorter{longest}, short_twin;
  BOOST_TEST(shorter.gradients().data() == longest.gradients().data());
  BOOST_TEST(shorter.parameters().data() == longest.parameters().data());
  longest.init(seed{3});
  long_twin.init(seed{3});
  for (const bool is_long : {true, false, false, true, false}) {
    if (is_long) {
      BOOST_TEST(run<8>(longest) == run<8>(long_twin));
    } else {
      copy(long_twin, short_twin);
      BOOST_TEST(run<4>(shorter) == run<4>(short_twin));
      copy(short_twin, long_twin);
      std::ranges::copy(short_twin.gradients(), long_twin.gradients().begin());
    }
    update_by(optimizer, shorter, longest);
    update_by(twin, long_twin, long_twin);
    BOOST_TEST((saved(longest) == saved(long_twin)));
  }
}

BOOST_AUTO_TEST_CASE(gradients_of_both_programs_are_summed) {
  check_alternating<program<loss<8>, accumulate_gradients>, program<loss<4>, accumulate_gradients>>(
      [](auto& from, auto& to) { std::ranges::copy(from.gradients(), to.gradients().begin()); },
      [](auto& step, auto& twin) { BOOST_TEST(std::ranges::equal(step.gradients(), twin.gradients())); });
}

// The gradients of inputs lie behind those of parameters, and have other shapes in the two programs. So they are not
// summed in one block.
BOOST_AUTO_TEST_CASE(gradients_of_inputs) {
  program<loss<8>, wrt<"x">> longest, long_twin;
  program<loss<4>, wrt<"x">> shorter{longest}, short_twin;
  longest.init(seed{3});
  long_twin.init(seed{3});
  copy(long_twin, short_twin);
  BOOST_TEST(run<4>(shorter) == run<4>(short_twin));
  BOOST_TEST(std::ranges::equal(shorter.grad<"x">(), short_twin.grad<"x">()));
  copy(short_twin, long_twin);
  BOOST_TEST(run<8>(longest) == run<8>(long_twin));
  BOOST_TEST(std::ranges::equal(longest.grad<"x">(), long_twin.grad<"x">()));

  using summing = program<loss<8>, wrt<"x">, accumulate_gradients>;
  using summing_too = program<loss<4>, wrt<"x">, accumulate_gradients>;
  static_assert(summing_too::own_memory<summing>().total_bytes() == summing_too::memory().gradient_bytes);
  summing sums;
  summing_too apart{sums};
  BOOST_TEST(apart.gradients().data() != sums.gradients().data());
}

// --- Programs that train different parameters.

template <int B>
constexpr auto generated_pictures =
    input<"noise", B, 4> | block<"g">(nn::linear<"fc1", 8> | nn::relu | nn::linear<"fc2", 6>);
constexpr auto judge = block<"d">(nn::linear<"fc1", 8> | nn::relu | nn::linear<"fc2", 1>);
template <int B>
constexpr auto discriminator_loss =
    mean(softplus(-(x<B> | judge))) + mean(softplus(generated_pictures<B> | shared(judge)));
template <int B>
constexpr auto generator_loss = mean(softplus(-(generated_pictures<B> | judge)));

template <class Rule>
struct gan {
  using discriminator = program<discriminator_loss<8>, freeze<"g">, update<Rule{}>>;
  using generator = program<generator_loss<8>, freeze<"d">, update<Rule{}>>;
};

void copy_parameters(auto& from, auto& to) {
  from.for_each_parameter([&](std::string_view name, auto view) {
    to.for_each_parameter([&](std::string_view other, auto there) {
      if (name == other) std::copy_n(view.data(), view.size(), there.data());
    });
  });
}

BOOST_AUTO_TEST_CASE(two_programs_of_a_gan) {
  using d_type = gan<adamw_options>::discriminator;
  using g_type = gan<adamw_options>::generator;
  d_type d, d_twin;
  g_type g{d}, g_twin;
  static_assert(g_type::own_memory<d_type>().total_bytes() == g_type::memory().moment_bytes);
  static_assert(g_type::own_memory<d_type>().moment_bytes == g_type::memory().moment_bytes);
  d.init(seed{5});
  g.init(seed{5});  // draws the same numbers again, and sets the seed of the generator's own random numbers
  d_twin.init(seed{5});
  g_twin.init(seed{5});
  const auto noise = first_numbers(8 * 4);
  for (int i = 0; i < 6; ++i) {
    copy_parameters(g_twin, d_twin);
    BOOST_TEST(d.train(bind<"x">(numbers), bind<"noise">(noise)) ==
               d_twin.train(bind<"x">(numbers), bind<"noise">(noise)));
    copy_parameters(d_twin, g_twin);
    for (int k = 0; k < i % 3; ++k) BOOST_TEST(g.train(bind<"noise">(noise)) == g_twin.train(bind<"noise">(noise)));
    BOOST_TEST((saved(g) == saved(g_twin)));
  }
  BOOST_TEST(d.steps() == 6);
  BOOST_TEST(g.steps() == 6);
  copy_parameters(g_twin, d_twin);
  BOOST_TEST((saved(d) == saved(d_twin)));
}

// The parameters of the generator lie next to one another in the discriminator's memory, but those of a program that
// trains one layer of each do not.
BOOST_AUTO_TEST_CASE(parameters_that_do_not_lie_next_to_one_another) {
  gan<sgd_options>::discriminator d;
  program<generator_loss<8>, freeze<"d.fc1">, freeze<"g.fc2">> both{d};
  both.init(seed{5});
  BOOST_CHECK_EXCEPTION(both.parameters(), program_error, [](const program_error& e) {
    return e.what() == std::string_view(
                           "cairn: the parameters of this program do not lie next to one another, because it shares "
                           "them with a program that trains others; give it update<...>, or use for_each_parameter");
  });
  BOOST_CHECK_THROW(adamw{both}, program_error);
  const auto noise = first_numbers(8 * 4);
  program<generator_loss<8>, freeze<"d.fc1">, freeze<"g.fc2">> twin;
  twin.init(seed{5});
  BOOST_TEST(both.value_and_grad(bind<"noise">(noise)) == twin.value_and_grad(bind<"noise">(noise)));
  BOOST_TEST(std::ranges::equal(both.gradients(), twin.gradients()));
  BOOST_TEST(both.gradients().size_bytes() > 0);
}

// Programs of two tasks train one trunk. Each has moments and counts of its own, as two optimizers of PyTorch have.
BOOST_AUTO_TEST_CASE(programs_that_train_some_parameters_in_common) {
  constexpr auto trunk = x<8> | nn::linear<"trunk", 8> | nn::tanh;
  constexpr auto first_loss = mean(square(trunk | nn::linear<"first", 2>));
  constexpr auto second_loss = mean(square(trunk | nn::linear<"second", 1>));
  using first_type = program<first_loss, update<adamw_options{}>>;
  using second_type = program<second_loss, update<adamw_options{}>>;
  first_type first, first_twin;
  second_type second{first}, second_twin;
  constexpr memory_plan own = second_type::own_memory<first_type>();
  static_assert(own.parameter_bytes == 128 && own.moment_bytes == second_type::memory().moment_bytes);
  static_assert(own.total_bytes() == own.parameter_bytes + own.moment_bytes);
  first.init(seed{1});
  // The head of the second program was not initialized.
  BOOST_CHECK_THROW(second.train(bind<"x">(numbers)), program_error);
  predictor<second_loss> predict{second};
  second.init(seed{1});
  static_cast<void>(predict(bind<"x">(numbers)));
  first_twin.init(seed{1});
  second_twin.init(seed{1});
  for (int i = 0; i < 4; ++i) {
    BOOST_TEST(first.train(bind<"x">(numbers)) == first_twin.train(bind<"x">(numbers)));
    copy_parameters(first_twin, second_twin);
    BOOST_TEST(second.train(bind<"x">(numbers)) == second_twin.train(bind<"x">(numbers)));
    copy_parameters(second_twin, first_twin);
  }
  BOOST_TEST(first.steps() == 4);
  BOOST_TEST((saved(second) == saved(second_twin)));
}

// One rule keeps a moment that the other rule does not keep. That moment belongs to one program.
BOOST_AUTO_TEST_CASE(a_moment_of_one_program) {
  using averaging = program<loss<4>, update<averaged{adamw_options{}, 0.9}>>;
  static_assert(averaging::own_memory<trainer>().moment_bytes == shorter_trainer::memory().moment_bytes / 2);
  trainer longest;
  averaging shorter{longest};
  longest.init(seed{1});
  for (int i = 0; i < 2; ++i) run<4>(shorter);
  run<8>(longest);
  BOOST_TEST(shorter.steps() == 3);
  BOOST_TEST((shorter.moment<"fc2.bias", "exp_avg">().data() == longest.moment<"fc2.bias", "exp_avg">().data()));
  const float average = shorter.moment<"fc2.bias", "average">()(1), now = longest.param<"fc2.bias">()(1);
  BOOST_TEST(average != now);
  shorter.exchange("average");
  BOOST_TEST(longest.param<"fc2.bias">()(1) == average);
  BOOST_CHECK_THROW(run<8>(longest), program_error);
  shorter.exchange("average");
  BOOST_TEST(longest.param<"fc2.bias">()(1) == now);
  run<8>(longest);
}

BOOST_AUTO_TEST_CASE(an_exchange_is_seen_by_both_programs) {
  using rule = update<averaged{adamw_options{}, 0.9}>;
  program<loss<8>, rule> longest;
  program<loss<4>, rule> shorter{longest};
  shorter.init(seed{1});
  run<8>(longest);
  longest.exchange("average");
  BOOST_CHECK_THROW(run<4>(shorter), program_error);
  const std::string during = saved(longest);
  BOOST_TEST((saved(shorter) == during));
  shorter.exchange("average");
  run<8>(longest);
  run<4>(shorter);
}

// --- Exchanged moments of programs that train different parameters.

constexpr auto averaging_rule = averaged{adamw_options{}, 0.9};
using averaging_discriminator = program<discriminator_loss<8>, freeze<"g">, update<averaging_rule>>;
using averaging_generator = program<generator_loss<8>, freeze<"d">, update<averaging_rule>>;

bool names_other_program(const program_error& e) {
  return std::string_view(e.what()).starts_with(
      "cairn: the moment 'average' of a program that shares this memory stands in the place of parameters; call "
      "exchange(\"average\") of that program once more");
}

BOOST_AUTO_TEST_CASE(an_exchange_is_seen_by_a_program_that_trains_others) {
  const folder place;
  averaging_discriminator d;
  averaging_generator g{d};
  d.init(seed{5});
  g.init(seed{5});
  const auto noise = first_numbers(8 * 4);
  const auto train_d = [&] { return d.train(bind<"x">(numbers), bind<"noise">(noise)); };
  const auto train_g = [&] { return g.train(bind<"noise">(noise)); };
  train_d();
  train_g();
  g.save(place.path / "g");
  const std::string before = saved(g);
  d.exchange("average");
  BOOST_CHECK_EXCEPTION(train_g(), program_error, names_other_program);
  BOOST_CHECK_EXCEPTION(g.save(place.path / "never"), program_error, names_other_program);
  BOOST_CHECK_EXCEPTION(g.load(place.path / "g"), program_error, names_other_program);
  BOOST_CHECK_EXCEPTION(g.init(seed{5}), program_error, names_other_program);
  g.exchange("average");  // of other parameters
  BOOST_CHECK_THROW(train_d(), program_error);
  g.exchange("average");
  d.exchange("average");
  BOOST_TEST((saved(g) == before));
  train_g();
  g.exchange("average");
  BOOST_CHECK_EXCEPTION(train_d(), program_error, names_other_program);
  g.exchange("average");
  train_d();
}

BOOST_AUTO_TEST_CASE(two_programs_do_not_exchange_one_parameter) {
  constexpr auto trunk = x<8> | nn::linear<"trunk", 8> | nn::tanh;
  constexpr auto rule = averaging_rule;
  program<mean(square(trunk | nn::linear<"first", 2>)), update<rule>> first;
  program<mean(square(trunk | nn::linear<"second", 1>)), update<rule>> second{first};
  first.init(seed{1});
  second.init(seed{1});
  first.train(bind<"x">(numbers));
  second.train(bind<"x">(numbers));
  const std::string before = saved(first);
  first.exchange("average");
  BOOST_CHECK_EXCEPTION(second.exchange("average"), program_error, names_other_program);
  first.exchange("average");
  second.exchange("average");
  BOOST_CHECK_EXCEPTION(first.exchange("average"), program_error, names_other_program);
  second.exchange("average");
  BOOST_TEST((saved(first) == before));
  // Both programs have an average of their own, and share the moments of AdamW.
  trainer plain;
  program<loss<4>, update<rule>> a{plain}, b{plain};
  plain.init(seed{1});
  run<4>(a);
  run<4>(b);
  const std::string of_plain = saved(plain);
  a.exchange("average");
  BOOST_CHECK_EXCEPTION(b.exchange("average"), program_error, names_other_program);
  BOOST_CHECK_EXCEPTION(run<4>(b), program_error, names_other_program);
  BOOST_CHECK_EXCEPTION(run<8>(plain), program_error, names_other_program);
  a.exchange("average");
  BOOST_TEST((saved(plain) == of_plain));
}

// The averages end with the program that keeps them. So its end puts the parameters back.
BOOST_AUTO_TEST_CASE(the_end_of_a_program_puts_parameters_back) {
  averaging_discriminator d;
  d.init(seed{5});
  std::string before;
  {
    averaging_generator g{d};
    g.init(seed{5});
    g.train(bind<"noise">(first_numbers(8 * 4)));
    before = saved(d);
    g.exchange("average");
    BOOST_CHECK_THROW(d.save("never"), program_error);
  }
  BOOST_TEST((saved(d) == before));
  trainer plain;
  {
    program<loss<4>, update<averaging_rule>> averaging{plain};
    averaging.init(seed{1});
    run<4>(averaging);
    before = saved(plain);
    averaging.exchange("average");
  }
  BOOST_TEST((saved(plain) == before));
  run<8>(plain);
  program<loss<8>, update<averaging_rule>> longest;
  {
    // Here the lender keeps the averages, too.
    program<loss<4>, update<averaging_rule>> shorter{longest};
    shorter.init(seed{1});
    run<4>(shorter);
    shorter.exchange("average");
  }
  BOOST_CHECK_THROW(run<8>(longest), program_error);
  longest.exchange("average");
  run<8>(longest);
}

BOOST_AUTO_TEST_CASE(an_optimizer_does_not_train_exchanged_parameters) {
  program<loss<8>> longest;
  program<loss<4>, update<averaging_rule>> shorter{longest};
  longest.init(seed{1});
  adamw optimizer{longest};
  run<4>(shorter);
  run<8>(longest);
  const std::string before = saved(longest);
  shorter.exchange("average");
  BOOST_CHECK_EXCEPTION(optimizer.update(), program_error, names_other_program);
  shorter.exchange("average");
  BOOST_TEST((saved(longest) == before));
  optimizer.update();
}

// The file of a program has only moments of that program. So it could not put the parameters back.
BOOST_AUTO_TEST_CASE(a_file_has_the_moment_that_is_exchanged) {
  const folder place;
  trainer longest;
  program<loss<4>, update<averaging_rule>> shorter{longest};
  shorter.init(seed{1});
  run<4>(shorter);
  const std::string before = saved(longest);
  shorter.exchange("average");
  BOOST_CHECK_EXCEPTION(longest.save(place.path / "never"), program_error, names_other_program);
  shorter.save(place.path / "during");
  shorter.exchange("average");
  shorter.load(place.path / "during");
  BOOST_CHECK_THROW(run<8>(longest), program_error);
  shorter.exchange("average");
  BOOST_TEST((saved(longest) == before));
  longest.save(place.path / "after");
  longest.load(place.path / "after");
  run<8>(longest);
}

// --- A program counts as initialized if its own parameters were set.

constexpr auto short_net = x<8> | nn::linear<"trunk", 8>;
constexpr auto long_net = short_net | nn::tanh | nn::linear<"head", 4> | nn::tanh | nn::linear<"last", 2>;
using long_trainer = program<mean(square(long_net)), update<adamw_options{}>>;
using trunk_trainer = program<mean(square(short_net)), update<adamw_options{}>>;

bool is_unwritten(const program_error& e) {
  return std::string_view(e.what()).starts_with("cairn: some or all parameters were neither initialized nor written");
}

BOOST_AUTO_TEST_CASE(initialization_counts_for_the_parameters_that_were_set) {
  const folder place;
  {
    trunk_trainer alone;
    alone.init(seed{2});
    alone.save(place.path / "trunk");
  }
  const auto check = [](auto set_trunk) {
    long_trainer whole;
    trunk_trainer trunk{whole};
    program<mean(square(x<8> | nn::linear<"trunk", 8> | nn::linear<"other", 2>)), update<adamw_options{}>> sibling{
        whole};
    predictor<long_net> predict{whole};
    predictor<short_net> predict_trunk{whole};
    set_trunk(trunk);
    trunk.train(bind<"x">(numbers));
    static_cast<void>(predict_trunk(bind<"x">(numbers)));
    BOOST_CHECK_EXCEPTION(whole.train(bind<"x">(numbers)), program_error, is_unwritten);
    BOOST_CHECK_EXCEPTION(whole.save("never"), program_error, is_unwritten);
    BOOST_CHECK_EXCEPTION(predict(bind<"x">(numbers)), program_error, is_unwritten);
    BOOST_CHECK_EXCEPTION(sibling.train(bind<"x">(numbers)), program_error, is_unwritten);
    for (const bool is_first : {true, false}) {
      BOOST_CHECK_EXCEPTION(whole.train(bind<"x">(numbers)), program_error, is_unwritten);
      if (is_first) whole.param<"head.weight">().fill(1), whole.param<"head.bias">().fill(0);
      else whole.param<"last.weight">().fill(1), whole.param<"last.bias">().fill(0);
    }
    whole.train(bind<"x">(numbers));
    static_cast<void>(predict(bind<"x">(numbers)));
    sibling.init(seed{1});
    sibling.train(bind<"x">(numbers));
  };
  check([](auto& step) { step.init(seed{1}); });
  check([&](auto& step) { step.load(place.path / "trunk"); });
  check([&](auto& step) { step.load(place.path / "trunk", partly{"trunk"}); });
}

BOOST_AUTO_TEST_CASE(half_updated_parameters_stay_so_until_all_were_set) {
  constexpr auto fragile = layer([](auto v) { return make<own::fragile_op>(v); });
  constexpr auto segment = ckpt<"s", allow_useless>(nn::linear<"first", 1> | fragile | nn::linear<"mid", 4>);
  constexpr auto start = param<"start", 1, 4>;
  using rule = update<sgd_options{.lr = 0.1}>;
  const auto break_step = [](auto& step) {
    own::fragile_op::calls_left = 1;
    BOOST_CHECK_THROW(step.train(), std::runtime_error);
    own::fragile_op::calls_left = 1'000'000;
  };
  program<mean(square(start | segment | nn::tanh | nn::linear<"last", 2>)), rule> whole;
  program<mean(square(start | nn::linear<"last", 2>)), rule> part{whole};
  whole.init(seed{1});
  break_step(whole);
  BOOST_CHECK_THROW(whole.train(), program_error);
  BOOST_CHECK_THROW(part.train(), program_error);
  part.init(seed{1});
  part.train();
  BOOST_CHECK_THROW(whole.train(), program_error);
  BOOST_CHECK_THROW(whole.save("never"), program_error);
  whole.init(seed{1});
  whole.train();
  // All parameters that the step of the part updates were set, so the parameters of the whole program are sound.
  program<mean(square(start | nn::linear<"first", 1> | nn::linear<"mid", 4> | nn::linear<"last", 2>)), rule> sound;
  {
    program<mean(square(start | segment)), rule> fragile_part{sound};
    sound.init(seed{1});
    break_step(fragile_part);
    BOOST_CHECK_THROW(sound.train(), program_error);
    fragile_part.init(seed{1});
    sound.train();
    break_step(fragile_part);
  }
  BOOST_CHECK_THROW(sound.train(), program_error);  // although the program whose step failed has ended
}

// --- Moments follow values that are set anew.

BOOST_AUTO_TEST_CASE(moments_of_other_programs_begin_anew) {
  const folder place;
  using d_type = gan<adamw_options>::discriminator;
  using g_type = gan<adamw_options>::generator;
  d_type d;
  g_type g{d};
  d.init(seed{5});
  g.init(seed{5});
  const auto noise = first_numbers(8 * 4);
  const auto train = [&] {
    d.train(bind<"x">(numbers), bind<"noise">(noise));
    g.train(bind<"noise">(noise));
  };
  train();
  d.save(place.path / "d");
  g.save(place.path / "g");
  const auto moment = [&] { return g.moment<"g.fc2.bias", "exp_avg">()(1); };
  const float before = moment();
  BOOST_TEST(before != 0);
  // The files of both programs have the same parameters. So the second file leaves the moments of the first.
  train();
  d.load(place.path / "d");
  BOOST_TEST(moment() == 0);
  BOOST_TEST(g.steps() == 0);
  g.load(place.path / "g");
  BOOST_TEST(moment() == before);
  BOOST_TEST(g.steps() == 1);
  BOOST_TEST(d.steps() == 1);
  BOOST_TEST((saved(d) == read_bytes(place.path / "d")));
  BOOST_TEST((saved(g) == read_bytes(place.path / "g")));
  d.init(seed{6});
  BOOST_TEST(moment() == 0);
  BOOST_TEST(g.steps() == 0);
  // A program without moments sets parameters of which its lender has moments.
  trainer longest;
  program<loss<4>> plain{longest};
  longest.init(seed{1});
  run<8>(longest);
  plain.init(seed{1});
  BOOST_TEST((longest.moment<"fc2.bias", "exp_avg">()(1) == 0));
  BOOST_TEST(longest.steps() == 0);
}

BOOST_AUTO_TEST_CASE(memory_of_the_caller_is_not_that_of_another_program) {
  using d_type = gan<adamw_options>::discriminator;
  using g_type = gan<adamw_options>::generator;
  alignas(memory_alignment) static std::byte memory[d_type::memory().total_bytes() + (1 << 16)];
  d_type d{memory};
  g_type g{d};
  d.init(seed{5});
  using generated = predictor<generated_pictures<8>>;
  constexpr std::size_t needed = static_cast<std::size_t>(generated::memory().peak_bytes);
  // In front of the arena of the discriminator lie gradients or moments. The generator does not have them.
  for (std::size_t at = 0; at < d_type::memory().total_bytes(); at += memory_alignment) {
    const std::span<std::byte> given = std::span(memory).subspan(at, needed);
    bool by_lender = false, by_sharer = false;
    try {
      generated of_lender{d, given};
    } catch (const memory_error&) {
      by_lender = true;
    }
    try {
      generated of_sharer{g, given};
    } catch (const memory_error&) {
      by_sharer = true;
    }
    BOOST_TEST(by_lender == by_sharer);
  }
  const auto moment = g.moment<"g.fc2.bias", "exp_avg">();
  BOOST_CHECK_THROW((generated{d, std::span(reinterpret_cast<std::byte*>(moment.data()), needed)}), memory_error);
}

// --- Files, and programs that do not train.

BOOST_AUTO_TEST_CASE(a_file_of_one_program_loads_in_the_other) {
  const folder place;
  trainer longest;
  shorter_trainer shorter{longest}, apart;
  shorter.init(seed{1});
  for (int i = 0; i < 3; ++i) run<8>(longest);
  shorter.save(place.path / "run");
  apart.load(place.path / "run");
  run<8>(longest);
  BOOST_TEST((saved(longest) != saved(apart)));
  shorter.load(place.path / "run");
  BOOST_TEST(longest.steps() == 3);
  BOOST_TEST((saved(longest) == saved(apart)));
  BOOST_TEST(run<4>(shorter) == run<4>(apart));
  trainer part;
  shorter_trainer of_part{part};
  of_part.load(place.path / "run", partly{"fc1"});
  BOOST_CHECK_THROW(run<8>(part), program_error);  // the other parameters were never written
  of_part.load(place.path / "run", partly{});
  BOOST_CHECK_NO_THROW(run<8>(part));
}

BOOST_AUTO_TEST_CASE(single_plan_steps_change_nothing) {
  trainer longest;
  shorter_trainer shorter{longest};
  longest.init(seed{1});
  run<8>(longest);
  const std::string before = saved(longest);
  shorter.step_by_step(
      [](auto run_step) {
        for (int i = 0; i < 5; ++i) run_step(i);
      },
      bind<"x">(first_numbers(24)), bind<"y">(std::span(classes).first(4)));
  BOOST_TEST((saved(longest) == before));
}

BOOST_AUTO_TEST_CASE(a_result_of_one_program_is_no_input_of_the_other) {
  trainer longest;
  shorter_trainer shorter{longest};
  longest.init(seed{1});
  const auto* const result = reinterpret_cast<const float*>(longest.arena().data());
  BOOST_CHECK_THROW(
      shorter.train(bind<"x">(std::span<const float, 24>(result, 24)), bind<"y">(std::span(classes).first(4))),
      extent_error);
}

// --- Whether parameters were written.

BOOST_AUTO_TEST_CASE(parameters_are_written_by_either_program) {
  const auto check = [](auto write) {
    trainer longest;
    shorter_trainer shorter{longest};
    predictor<logits<1>> predict{shorter};
    BOOST_CHECK_THROW(run<8>(longest), program_error);
    BOOST_CHECK_THROW(run<4>(shorter), program_error);
    BOOST_CHECK_THROW(predict(bind<"x">(first_numbers(6))), program_error);
    write(longest, shorter);
    run<8>(longest);
    run<4>(shorter);
    predict(bind<"x">(first_numbers(6)));
  };
  check([](auto& step, auto&) { step.init(seed{1}); });
  check([](auto&, auto& step) { step.init(seed{1}); });
  const auto fill = [](auto& step) {
    step.for_each_parameter([](std::string_view, auto view) { std::ranges::fill(view, 1); });
  };
  check([&](auto& step, auto&) { fill(step); });
  check([&](auto&, auto& step) { fill(step); });
  // A program that set all its parameters knows that they are written, even if they are -0.
  const auto set_negative_zeros = []<class Step>(Step& step) {
    const std::vector<float> zeros(1000, -0.0F);
    const auto set = [&]<fixed_string... Name>() {
      step.set(bind<Name>(std::span(zeros).first(step.template param<Name>().size()))...);
    };
    set.template operator()<"fc1.weight", "fc1.bias", "bn.weight", "bn.bias", "bn.running_mean", "bn.running_var",
                            "fc2.weight", "fc2.bias">();
  };
  check([&](auto& step, auto&) { set_negative_zeros(step); });
  check([&](auto&, auto& step) { set_negative_zeros(step); });
}

// --- Faults.

BOOST_AUTO_TEST_CASE(a_step_that_throws_stops_both_programs) {
  constexpr auto fragile = layer([](auto v) { return make<own::fragile_op>(v); });
  constexpr auto segment = ckpt<"s", allow_useless>(nn::linear<"first", 1> | fragile | nn::linear<"mid", 4>);
  constexpr auto safe = nn::linear<"first", 1> | nn::linear<"mid", 4>;
  constexpr auto last = nn::tanh | nn::linear<"last", 2>;
  constexpr auto start = param<"start", 1, 4>;
  using rule = update<sgd_options{.lr = 0.1}>;
  const auto check = [](auto& breaks, auto& other) {
    predictor<mean(param<"start", 1, 4>)> predict{other};
    const auto refused = [](const program_error& e) {
      return std::string_view(e.what()).starts_with("cairn: an exception left a step or init of this program, or of");
    };
    breaks.init(seed{1});
    other.train();
    own::fragile_op::calls_left = 1;
    BOOST_CHECK_THROW(breaks.train(), std::runtime_error);
    own::fragile_op::calls_left = 1'000'000;
    BOOST_CHECK_EXCEPTION(other.train(), program_error, refused);
    BOOST_CHECK_EXCEPTION(breaks.train(), program_error, refused);
    BOOST_CHECK_EXCEPTION(predict(), program_error, refused);
    BOOST_CHECK_EXCEPTION(other.save("never"), program_error, refused);
    other.init(seed{1});
    static_cast<void>(predict());
    other.train();
    breaks.init(seed{1});
    breaks.train();
  };
  program<mean(square(start | segment | last)), rule> lender;
  program<mean(square(start | last)), rule> sharer{lender};
  check(lender, sharer);
  program<mean(square(start | safe | last)), rule> safe_lender;
  program<mean(square(start | segment | last)), rule> fragile_sharer{safe_lender};
  check(fragile_sharer, safe_lender);
}

// --- Lifetimes.

BOOST_AUTO_TEST_CASE(a_program_that_outlives_its_lender_throws) {
  const auto ends = [](auto end) {
    auto longest = std::make_unique<trainer>();
    longest->init(seed{3});
    shorter_trainer shorter{*longest};
    predictor<logits<1>> predict{shorter};
    program<loss<2>, update<adamw_options{}>> shortest{shorter};
    predictor<logits<1>> of_shortest{shortest};
    run<4>(shorter);
    end(longest);
    check_refuses(shorter, predict, lost, lost_by_predictor);
    BOOST_CHECK_THROW(run<2>(shortest), program_error);
    BOOST_CHECK_THROW(of_shortest(bind<"x">(first_numbers(6))), program_error);
    BOOST_CHECK_THROW((program<loss<2>, update<adamw_options{}>>{shorter}), program_error);
    trainer another;
    another.init(seed{3});
    shorter = shorter_trainer{another};
    run<4>(shorter);
    BOOST_TEST(another.steps() == 1);
    BOOST_CHECK_THROW(run<2>(shortest), program_error);
  };
  ends([](auto& step) { step.reset(); });
  ends([](auto& step) { *step = trainer(); });
  ends([](auto& step) { const trainer moved = std::move(*step); });
}

BOOST_AUTO_TEST_CASE(a_program_follows_its_lender) {
  trainer longest, twin;
  shorter_trainer shorter{longest};
  predictor<logits<1>> predict{shorter};
  longest.init(seed{3});
  twin.init(seed{3});
  run<8>(longest);
  run<8>(twin);
  trainer moved = std::move(longest);
  BOOST_CHECK_THROW((shorter_trainer{longest}), program_error);
  shorter_trainer moved_too = std::move(shorter);
  shorter_trainer alone;
  copy(twin, alone);
  BOOST_TEST(run<4>(moved_too) == run<4>(alone));
  BOOST_TEST(moved.steps() == 2);
  BOOST_CHECK_NO_THROW(predict(bind<"x">(first_numbers(6))));
  copy(alone, twin);
  BOOST_TEST(run<8>(moved) == run<8>(twin));
  BOOST_CHECK_EXCEPTION(run<4>(shorter), program_error, [](const program_error& e) {
    return e.what() == std::string_view("cairn: this program or predictor was moved from, and has no memory");
  });
}

BOOST_AUTO_TEST_CASE(a_sharing_program_may_end_before_its_lender) {
  trainer longest;
  longest.init(seed{3});
  std::optional<shorter_trainer> shorter(std::in_place, longest);
  std::optional<program<loss<2>, update<adamw_options{}>>> shortest(std::in_place, *shorter);
  predictor<logits<1>> predict{*shorter}, of_longest{longest};
  run<4>(*shorter);
  shorter.reset();
  run<8>(longest);
  BOOST_TEST(longest.steps() == 2);
  of_longest(bind<"x">(first_numbers(6)));
  BOOST_CHECK_THROW(predict(bind<"x">(first_numbers(6))), program_error);
  BOOST_CHECK_THROW(run<2>(*shortest), program_error);
}

BOOST_AUTO_TEST_CASE(several_programs_share_one) {
  trainer longest, twin;
  shorter_trainer a{longest}, b{longest};
  program<loss<2>, update<adamw_options{}>> c{a};
  c.init(seed{3});
  twin.init(seed{3});
  run<4>(a);
  run<4>(b);
  run<2>(c);
  run<8>(longest);
  for (const std::int64_t steps : {a.steps(), b.steps(), c.steps(), longest.steps()}) BOOST_TEST(steps == 4);
  BOOST_TEST((saved(a) == saved(c)));
  c.steps(10);
  BOOST_TEST(longest.steps() == 10);
}

BOOST_AUTO_TEST_CASE(a_lender_in_memory_of_the_caller) {
  alignas(memory_alignment) static std::byte memory[trainer::memory().total_bytes()];
  std::optional<trainer> longest(std::in_place, memory);
  trainer twin;
  longest->init(seed{3});
  twin.init(seed{3});
  run<8>(*longest);
  run<8>(twin);
  shorter_trainer shorter{*longest}, alone;
  predictor<logits<1>> predict{shorter};
  BOOST_TEST(shorter.steps() == 1);
  copy(twin, alone);
  BOOST_TEST(run<4>(shorter) == run<4>(alone));
  BOOST_TEST(longest->steps() == 2);
  trainer moved = std::move(*longest);
  longest.reset();
  copy(alone, twin);
  BOOST_TEST(run<8>(moved) == run<8>(twin));
  BOOST_TEST(shorter.steps() == 3);
  moved = trainer();
  check_refuses(shorter, predict, lost, lost_by_predictor);
}

BOOST_AUTO_TEST_CASE(a_sharing_program_in_memory_of_the_caller) {
  using d_type = gan<adamw_options>::discriminator;
  using g_type = gan<adamw_options>::generator;
  constexpr auto size = static_cast<std::size_t>(g_type::own_memory<d_type>().total_bytes());
  alignas(memory_alignment) static std::byte lent[d_type::memory().total_bytes()], own[size];
  const auto noise = first_numbers(8 * 4);
  for (const bool lender_has_record : {true, false}) {
    std::optional<d_type> d;
    if (lender_has_record) d.emplace();
    else d.emplace(lent);
    d_type d_twin;
    g_type g{*d, own}, g_twin{d_twin};
    const auto moment = g.moment<"g.fc2.bias", "exp_avg">();
    BOOST_TEST((reinterpret_cast<std::byte*>(moment.data()) >= own && moment.size() > 0));
    for (auto* step : {&*d, &d_twin}) step->init(seed{5});
    for (auto* step : {&g, &g_twin}) step->init(seed{5});
    g_type moved = std::move(g);
    predictor<generated_pictures<1>> predict{moved};
    for (int i = 0; i < 2; ++i) {
      BOOST_TEST(d->train(bind<"x">(numbers), bind<"noise">(noise)) ==
                 d_twin.train(bind<"x">(numbers), bind<"noise">(noise)));
      BOOST_TEST(moved.train(bind<"noise">(noise)) == g_twin.train(bind<"noise">(noise)));
      BOOST_TEST((saved(*d) == saved(d_twin)));
      BOOST_TEST((saved(moved) == saved(g_twin)));
    }
    BOOST_CHECK_THROW((g_type{*d, std::span(own).first(size - 64)}), memory_error);
    BOOST_CHECK_THROW((g_type{*d, std::span(own).subspan(1)}), memory_error);
    BOOST_CHECK_THROW((g_type{*d, d->arena()}), memory_error);
    BOOST_CHECK_THROW((g_type{*d, own}), memory_error);  // there are the moments of the first generator
    BOOST_TEST((saved(moved) == saved(g_twin)));
    d.reset();
    BOOST_CHECK_THROW(moved.train(bind<"noise">(noise)), program_error);
    BOOST_CHECK_THROW(predict(bind<"noise">(first_numbers(4))), program_error);
  }
  trainer longest;
  shorter_trainer shorter{longest, std::span<std::byte>()};  // needs no memory of its own
  shorter.init(seed{1});
  run<4>(shorter);
}

// A lender is destroyed while predictors of a sharing program run in other threads. They must not read freed memory.
BOOST_AUTO_TEST_CASE(a_lender_may_end_while_predictors_run) {
  std::atomic<int> begun = 0, threw = 0;
  auto longest = std::make_unique<program<loss<8>>>();
  longest->init(seed{3});
  auto shorter = std::make_unique<program<loss<4>>>(*longest);
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([&] {
        predictor<logits<1>> predict{*shorter};
        ++begun;
        try {
          for (;;) predict(bind<"x">(std::span(numbers).first(6)));
        } catch (const program_error&) {
          ++threw;
        }
      });
    }
    while (begun < 3) std::this_thread::yield();
    longest.reset();
    shorter.reset();
  }
  BOOST_TEST(threw == 3);
}

/// Programs with rules of different moments count their steps by themselves, so that AdamW corrects its bias.
BOOST_AUTO_TEST_CASE(rules_of_different_moments_share_no_count) {
  constexpr auto loss = mean(square(param<"w", 4> - input<"t", 4>));
  program<loss, update<sgd_options{.lr = 0}>> lender;
  program<loss, update<adamw_options{.lr = 0.1}>> borrower{lender};
  lender.init(seed{1});
  borrower.init(seed{1});
  const std::array<float, 4> target{};
  for (int i = 0; i < 100; ++i) lender.train(bind<"t">(target));
  program<loss, update<adamw_options{.lr = 0.1}>> alone;
  alone.init(seed{1});
  borrower.train(bind<"t">(target));
  alone.train(bind<"t">(target));
  BOOST_TEST((lender.steps() == 100 && borrower.steps() == 1));
  for (int i = 0; i < 4; ++i) BOOST_TEST(borrower.param<"w">()(i) == alone.param<"w">()(i));
}

/// Gradients that are summed over steps are not in a block that another program overwrites.
BOOST_AUTO_TEST_CASE(summed_gradients_are_not_overwritten) {
  constexpr auto loss = mean(square(param<"w", 4> - input<"t", 4>));
  program<loss, accumulate_gradients> lender;
  program<loss, microbatch<2>> borrower{lender};
  lender.init(seed{1});
  lender.zero_grad();
  const std::array<float, 4> target{};
  lender.value_and_grad(bind<"t">(target));
  const float once = lender.grad<"w">()(0);
  borrower.value_and_grad(bind<"t">(std::array<float, 8>{}));
  lender.value_and_grad(bind<"t">(target));
  BOOST_TEST(lender.grad<"w">()(0) == 2 * once);
}

BOOST_AUTO_TEST_SUITE_END()
