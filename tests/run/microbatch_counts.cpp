// Losses with a count of their own in programs that divide their batch. The count is that of the whole batch, whatever
// the parts hold.
#include "divided.hpp"

namespace {

using namespace divided;

constexpr int none_of_them = classes;  // the label of a row that is ignored
using ignoring = nn::cross_entropy_options;
template <int Rows>
using rows_of = std::integral_constant<int, Rows>;

/// Each model is a function of the number of its rows, so that there is one for a part and one for the whole batch.
template <int Rows>
constexpr auto logits = input<"x", Rows, features> | nn::linear<"fc1", 7> | nn::tanh | nn::linear<"fc2", classes>;
template <int Rows>
constexpr auto labels_of = labels<"y", classes + 1, Rows>;
constexpr auto by_class = generated<classes>([](int i) { return 0.25 + i; });

constexpr auto ignored = []<int R>(rows_of<R>) {
  return cross_entropy<ignoring{.ignore_index = none_of_them}>(logits<R>, labels_of<R>);
};
constexpr auto ignored_and_smoothed = []<int R>(rows_of<R>) {
  return cross_entropy<ignoring{.ignore_index = none_of_them, .label_smoothing = 0.1}>(logits<R>, labels_of<R>);
};
constexpr auto weighted_by_class = []<int R>(rows_of<R>) {
  return cross_entropy<ignoring{.ignore_index = none_of_them}>(logits<R>, labels_of<R>, by_class);
};
constexpr auto weighted_by_row = []<int R>(rows_of<R>) {
  return cross_entropy<ignoring{.ignore_index = none_of_them}>(logits<R>, labels_of<R>, 1_c, input<"m", R>);
};
constexpr auto weighted_twice = []<int R>(rows_of<R>) {
  return cross_entropy<ignoring{.ignore_index = none_of_them, .label_smoothing = 0.2}>(logits<R>, labels_of<R>,
                                                                                       by_class, input<"m", R>);
};
constexpr auto counted_by_the_user = []<int R>(rows_of<R>) {
  const auto m = input<"m", R>;
  return sum(m * mean<-1>(square(logits<R>))) / over_parts(sum(m)) +
         0.5_c * sum(m * mean<-1>(abs(logits<R>))) / over_parts(2_c * sum(square(m)));
};

/// The rows of a batch, of which part 0 has one that counts, part 1 has none, and part p has p.
template <class Real>
struct uneven_batch : batch<Real> {
  std::vector<Real> m;

  uneven_batch(int parts, int number) : batch<Real>(parts, number), m(this->y.size()) {
    for (std::size_t i = 0; i < m.size(); ++i) {
      const int part = static_cast<int>(i) / rows, row = static_cast<int>(i) % rows;
      const int counted = part == 0 ? 1 : part == 1 ? 0 : std::min(part, rows);
      if (row >= counted) this->y[i] = none_of_them;
      m[i] = row < counted ? static_cast<Real>(1 + (part * 5 + row) % 7) / 4 : Real{0};
    }
  }
  std::span<const Real> m_of(int part) const { return std::span(m).subspan(std::size_t(part * rows), rows); }
};

template <class Real>
constexpr double tolerance = std::same_as<Real, float> ? 1e-6 : 1e-12;

template <class Real>
void check_near(const std::vector<Real>& a, const std::vector<Real>& b) {
  double largest = 0, off = 0;
  BOOST_REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::abs(static_cast<double>(b[i])));
    off = std::max(off, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
  }
  BOOST_TEST(largest > 0);
  BOOST_TEST(off <= tolerance<Real> * largest, "off by " << off << " of " << largest);
}

/// Calls `use` with the arrays that a model reads, cut from a batch by the functions of_x, of_y and of_m.
template <auto Model>
auto with_arrays(auto of_x, auto of_y, auto of_m, auto use) {
  using plan = detail::compiled_of<Model(rows_of<rows>{}), true>;
  constexpr bool reads_y = plan::graph.find(graphs::role::input, "y") != graphs::none;
  constexpr bool reads_m = plan::graph.find(graphs::role::input, "m") != graphs::none;
  if constexpr (!reads_y) return use(bind<"x">(of_x), bind<"m">(of_m));
  else if constexpr (reads_m) return use(bind<"x">(of_x), bind<"y">(of_y), bind<"m">(of_m));
  else return use(bind<"x">(of_x), bind<"y">(of_y));
}

/// Compares a program that divides its batch with a program of the whole batch.
template <auto Model, int Parts, class Real, class... Division>
void equals_the_whole() {
  program<Model(rows_of<rows * Parts>{}), real<Real>> whole;
  program<Model(rows_of<rows>{}), real<Real>, Division...> divided;
  whole.init(seed{3});
  divided.init(seed{3});
  const uneven_batch<Real> b(Parts, 0);
  with_arrays<Model>(b.x, b.y, b.m, [&](const auto&... in) {
    const double expected = static_cast<double>(whole.value_and_grad(in...));
    const double seen = static_cast<double>(divided.value_and_grad(in...));
    BOOST_TEST(std::abs(seen - expected) <= tolerance<Real> * std::abs(expected));
  });
  check_near(gradients_of(divided), gradients_of(whole));
  const std::vector<Real> of_arrays = gradients_of(divided);
  if constexpr (!std::disjunction_v<std::is_same<Division, microbatch<up_to<9>>>...>) {
    divided.value_and_grad([&](int part) {
      return with_arrays<Model>(b.x_of(part), b.y_of(part), b.m_of(part), [](auto... in) { return inputs(in...); });
    });
    BOOST_TEST(same_bits(of_arrays, gradients_of(divided)));
  }
}
template <auto Model>
void equals_the_whole() {
  equals_the_whole<Model, 3, float, microbatch<3>>();
  equals_the_whole<Model, 4, double, microbatch<4>>();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(counts_of_a_batch)

BOOST_AUTO_TEST_CASE(rows_that_are_ignored) {
  equals_the_whole<ignored>();
  equals_the_whole<ignored, 2, double, microbatch<2>>();
  equals_the_whole<ignored, 8, float, microbatch<8>>();
  equals_the_whole<ignored, 8, double, shards<4>, microbatch<2>>();
  equals_the_whole<ignored, 4, float, shards<4>>();
  equals_the_whole<ignored, 5, float, microbatch<up_to<9>>>();
  equals_the_whole<ignored_and_smoothed>();
}
BOOST_AUTO_TEST_CASE(rows_with_weights) {
  equals_the_whole<weighted_by_class>();
  equals_the_whole<weighted_by_row>();
  equals_the_whole<weighted_twice>();
}
BOOST_AUTO_TEST_CASE(counts_of_the_user) {
  equals_the_whole<counted_by_the_user>();
  equals_the_whole<counted_by_the_user, 8, double, microbatch<8>>();
}

// The reference is a loss that divides by a count which the caller gives.
BOOST_AUTO_TEST_CASE(a_count_has_the_bits_of_one_that_is_given) {
  constexpr auto m = input<"m", rows>;
  constexpr auto sum_of_losses = sum(m * mean<-1>(square(logits<rows>)));
  constexpr int parts_of_batch = 5;
  constexpr auto given = sum_of_losses / input<"count">;
  written_out<given, 1, parts_of_batch, parts_of_batch> apart;
  program<sum_of_losses / over_parts(sum(m)), microbatch<parts_of_batch>> divided;
  apart.one.init(seed{3});
  divided.init(seed{3});
  for (int step = 0; step < 2; ++step) {
    const uneven_batch<float> b(parts_of_batch, step);
    double total = 0;
    for (const float one : b.m) total += static_cast<double>(one);
    const std::array<float, 1> count{static_cast<float>(total / parts_of_batch)};
    const float loss = apart.value_and_grad(
        [&](int part, auto use) { use(bind<"x">(b.x_of(part)), bind<"m">(b.m_of(part)), bind<"count">(count)); });
    BOOST_TEST(same_bits(loss, divided.value_and_grad(bind<"x">(b.x), bind<"m">(b.m))));
    BOOST_TEST(same_bits(gradients_of(apart.one), gradients_of(divided)));
  }
}

// An input of which only the count is computed, of which the arena must have room, and which is more than bf16 can hold.
BOOST_AUTO_TEST_CASE(a_count_of_an_input_that_nothing_else_reads) {
  constexpr auto m = input<"m", 301>;
  constexpr auto own = sum(mean<-1>(square(logits<rows>)));
  constexpr auto counted = own / over_parts(sum(reshape<7, 43>(m) * softmax(zeros<7, 43>) * 43_c));
  program<counted, microbatch<2>> divided;
  program<counted, microbatch<2>, mixed<bf16>> rounded;
  program<own / 301_c, microbatch<2>> expected;
  static_assert(divided.memory().peak_bytes > expected.memory().peak_bytes);
  divided.init(seed{3});
  rounded.init(seed{3});
  expected.init(seed{3});
  const batch<float> b(2, 0);
  std::vector<float> ones(602, 1.0F);
  const float loss = expected.value_and_grad(bind<"x">(b.x));
  BOOST_TEST(divided.value_and_grad(bind<"x">(b.x), bind<"m">(ones)) == loss, boost::test_tools::tolerance(1e-6F));
  BOOST_TEST(rounded.value_and_grad(bind<"x">(b.x), bind<"m">(ones)) == loss, boost::test_tools::tolerance(0.02F));
  check_near(gradients_of(divided), gradients_of(expected));
  // Two programs that differ by their counts alone have the same bits if the counts are equal.
  program<own / over_parts(sum(m)), microbatch<2>, mixed<bf16>> plainly;
  program<own / over_parts(301_c * mean(m)), microbatch<2>, mixed<bf16>> given;
  plainly.init(seed{3});
  given.init(seed{3});
  BOOST_TEST(plainly.value_and_grad(bind<"x">(b.x), bind<"m">(ones)) ==
             given.value_and_grad(bind<"x">(b.x), bind<"m">(ones)));
}

BOOST_AUTO_TEST_CASE(a_callback_is_called_in_order_and_once_more_for_counts) {
  const uneven_batch<float> b(4, 0);
  std::vector<int> calls;
  const auto in_order = [&](int part) {
    calls.push_back(part);
    return inputs(bind<"x">(b.x_of(part)), bind<"y">(b.y_of(part)));
  };
  program<cross_entropy(logits<rows>, y), shards<2>, microbatch<2>> without;
  program<ignored(rows_of<rows>{}), shards<2>, microbatch<2>> counted;
  without.init(seed{3});
  counted.init(seed{3});
  BOOST_CHECK_THROW(without.value_and_grad(in_order), label_error);
  BOOST_TEST(calls == (std::vector{0}));
  calls.clear();
  static_cast<void>(counted.value_and_grad(in_order));
  BOOST_TEST(calls == (std::vector{0, 1, 2, 3, 0, 1, 2, 3}));
}

/// Labels are counted before the first microbatch runs. So a callback gives the same arrays twice, which a debug build
/// checks.
BOOST_AUTO_TEST_CASE(a_callback_that_gives_other_arrays_the_second_time) {
  using trained = program<ignored(rows_of<rows>{}), shards<2>, microbatch<2>, update<adamw_options{}>>;
  const uneven_batch<float> b(4, 0), other(4, 1);
  trained step;
  step.init(seed{3});
  const std::vector<float> before(step.parameters().begin(), step.parameters().end());
  for (int changed = 0; changed < 4; ++changed) {
    int calls = 0;
    const auto changing = [&](int part) {
      const bool is_second = calls++ >= 4;
      return inputs(bind<"x">((is_second && part == changed ? other : b).x_of(part)), bind<"y">(b.y_of(part)));
    };
    if constexpr (detail::is_debug_build) {
      BOOST_CHECK_EXCEPTION(step.train(changing), program_error, [](const program_error& e) {
        return std::string_view(e.what()).starts_with("cairn: the callback gave other arrays");
      });
      BOOST_TEST(std::ranges::equal(step.parameters(), before));
      BOOST_TEST((step.steps() == 0 && step.random().step == 0U));
    }
  }
  step.train([&](int part) { return inputs(bind<"x">(b.x_of(part)), bind<"y">(b.y_of(part))); });
  BOOST_TEST(step.steps() == 1);
  // The check takes no bytes of the stack for each microbatch.
  using many = detail::compiled_of<ignored(rows_of<rows>{}), true, shards<2>, microbatch<up_to<1'000'000>>>;
  static_assert(sizeof(detail::divided_step<many, true>) < 1024);
}

BOOST_AUTO_TEST_CASE(a_batch_that_is_not_divided_has_the_mean_of_one_part) {
  program<counted_by_the_user(rows_of<rows>{})> counted;
  constexpr auto m = input<"m", rows>;
  program<sum(m * mean<-1>(square(logits<rows>))) / sum(m) +
          0.5_c * sum(m * mean<-1>(abs(logits<rows>))) / (2_c * sum(square(m)))>
      plainly;
  counted.init(seed{3});
  plainly.init(seed{3});
  const uneven_batch<float> b(1, 0);
  BOOST_TEST(counted.value_and_grad(bind<"x">(b.x), bind<"m">(b.m)) ==
             plainly.value_and_grad(bind<"x">(b.x), bind<"m">(b.m)));
  BOOST_TEST(same_bits(gradients_of(counted), gradients_of(plainly)));
}

/// A count that a kernel would store as bf16 is read as a float.
BOOST_AUTO_TEST_CASE(a_count_in_a_model_of_bf16) {
  constexpr auto u = input<"u", 8, 8>;
  constexpr auto count = reshape<>(slice<0, 3, 4>(reshape<64>(matmul(u, u))));
  constexpr auto loss = sum(square(param<"a", 4>)) / over_parts(count);
  std::vector<float> ones(2 * 64, 1.0F);  // the product has the number 8 everywhere
  program<loss, mixed<bf16>, microbatch<2>> step;
  step.set(bind<"a">(std::array{1.0F, 2.0F, 3.0F, 4.0F}));
  BOOST_TEST(step.value_and_grad(bind<"u">(ones)) == 30.0F / 8.0F);
}

BOOST_AUTO_TEST_SUITE_END()
