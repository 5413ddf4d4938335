// Threads change no bit of a step, and a step with threads touches what its plan says.
#include "laws.hpp"

#include <omp.h>

namespace {

constexpr int rows = 251, features = 187;
constexpr auto images = input<"images", rows, features>;

// Products shared by rows and by columns, one for each of some matrices, loops over rows and over one row, sums over
// rows, over columns and over all: each with work for three threads, and with a tail.
constexpr auto attend = [](auto h) {
  const auto heads = transpose<1, 0, 2>(reshape<rows, 5, 64>(h));
  const auto scores = softmax(matmul(heads, transpose(tanh(heads))) * 0.125_c);
  return reshape<rows, 320>(transpose<1, 0, 2>(matmul(scores, heads)));
};
constexpr auto wide = param<"wide", 99, 6007>;
constexpr auto model = nn::linear<"in", 320> | ckpt<"s">(nn::gelu | nn::linear<"mid", 320> | nn::tanh | layer(attend)) |
                       nn::linear<"out", 1009>;
constexpr auto h = images | model;
constexpr auto loss = mean(square(h)) + mean(square(sum<-1>(exp(h), keepdim) / sum<0>(square(h) + 1_c))) +
                      mean(square(tanh(wide))) + sum(square(mean<-1>(wide)));

template <class Step>
Step trained() {
  Step step;
  step.init(seed{3});
  std::vector<float> x(rows * features);
  random_sequence draw(seed{5}, 0);
  for (float& value : x) value = 2 * uniform(draw()) - 1;
  adamw optimizer{step, {.lr = 1e-2}};
  for (int i = 0; i < 2; ++i) {
    static_cast<void>(step.value_and_grad(bind<"images">(x)));
    optimizer.update();
  }
  return step;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(laws_of_threads)

BOOST_AUTO_TEST_CASE(bits_do_not_depend_on_their_number) {
  using one = program<loss>;
  using three = program<loss, threads<3>>;
  auto alone = trained<one>();
  for (int at_hand = 1; at_hand <= 4; ++at_hand) {
    omp_set_num_threads(at_hand);
    auto together = trained<three>();
    BOOST_TEST(same_bits<float>(alone.gradients(), together.gradients()));
    BOOST_TEST(same_bits<float>(alone.parameters(), together.parameters()));
  }
}

template <auto Loss>
void touches_what_is_planned() {
  omp_set_num_threads(3);
  program<Loss, threads<3>> step;
  step.init(seed{3});
  const std::vector<float> x(rows * features, 0.5F);
  BOOST_TEST(report::touched_bytes(step, bind<"images">(x)) == step.memory().peak_bytes);
}
BOOST_AUTO_TEST_CASE(planned_is_touched) {
  constexpr auto product = sum(images | nn::linear<"in", 320>);
  static_assert(program<product, threads<3>>::memory().peak_bytes > program<product>::memory().peak_bytes,
                "each thread has scratch of its own");
  touches_what_is_planned<product>();
  touches_what_is_planned<loss>();
}

// Without work for a second thread there is no scratch for it.
BOOST_AUTO_TEST_CASE(a_small_step_has_one_thread) {
  constexpr auto small = models::one;
  static_assert(program<small, threads<64>>::memory().peak_bytes == program<small>::memory().peak_bytes);
}

BOOST_AUTO_TEST_SUITE_END()
