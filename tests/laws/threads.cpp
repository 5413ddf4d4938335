// The number of threads changes no bit of a training step, and a training step with threads touches the bytes that its
// plan says.
#ifdef _OPENMP
#include <omp.h>

#include "../models/parts.hpp"
#include "laws.hpp"

namespace {

constexpr int rows = 251, features = 187, classes = 1009;
constexpr auto images = input<"images", rows, features>;

// One model has every kind of work that threads share. Products are split by rows and by columns, and there are batched
// products. Fused loops run over rows and over one row. Sums run over rows, over columns and over all numbers. Softmax
// runs over rows, over columns and over matrices. There is dropout, and there are concatenations and slices of several
// rows and of one row. Each kind has enough work for three threads, and a tail that does not divide evenly.
constexpr auto attend = [](auto h) {
  const auto heads = transpose<1, 0, 2>(reshape<rows, 5, 64>(h));
  const auto scores = softmax(matmul(heads, transpose(tanh(heads))) * 0.125_c);
  return reshape<rows, 320>(transpose<1, 0, 2>(matmul(scores, heads)));
};
constexpr auto wide = param<"wide", 99, 6007>;
constexpr auto model = nn::linear<"in", 320> | ckpt<"s">(nn::gelu | nn::linear<"mid", 320> | nn::tanh | layer(attend)) |
                       nn::linear<"out", 1009> | nn::dropout<"drop", 0.1>;
constexpr auto h = images | model;
constexpr auto joined =
    concatenate<1>(slice<1, 3>(wide), tanh(concatenate<0>(slice<0, 1>(wide), slice<0, 0, 1>(wide))));
constexpr auto loss = mean(square(h)) + mean(square(sum<-1>(exp(h), keepdim) / sum<0>(square(h) + 1_c))) +
                      mean(square(tanh(wide))) + sum(square(mean<-1>(wide))) + sum(square(softmax<0>(h * 0.5_c))) +
                      mean(square(log_softmax<1>(reshape<3, 33, 6007>(wide)))) + mean(square(joined));

// Losses and their gradients, which threads share by rows. They are computed in double, because rounding to float would
// hide a change in the order of a sum.
constexpr auto logits = input<"scores", rows, classes> + param<"bias", classes>;
constexpr auto answers = labels<"answers", classes, rows>;
constexpr auto classified = outputs(cross_entropy(logits, answers), accuracy(logits, answers));

// Gathers of rows and of columns; scatter-adds, which are the gradients of gathers; extrema over rows, over columns and
// over all numbers; and the positions of extrema.
constexpr auto rows_there = gather<0>(tanh(param<"table", classes, 1203>), answers);
constexpr auto columns_there = gather<1>(logits, answers);
constexpr auto at_the_largest = one_hot(argmax<-1>(logits)) + one_hot(argmin<0>(transpose(logits)));
constexpr auto ordered = mean(square(rows_there)) + mean(square(columns_there)) + mean(logits * at_the_largest) +
                         mean(square(max<-1>(logits))) + mean(square(min<0>(logits))) + max(square(logits));

// Rows of a large table that most indices leave out; norms of rows, which are followed by fused loops; and rotary
// embeddings.
constexpr auto tokens = answers | nn::embedding<"tokens", 960, nn::embedding_options{.padding_idx = 3}>;
constexpr auto turned = nn::rotary(reshape<rows, 10, 96>(tokens | nn::layer_norm<"ln">), answers);
constexpr auto normed =
    mean(square(reshape<rows, 960>(turned) * (tokens | nn::rms_norm<"rms">))) + cross_entropy(logits, answers);

// Convolutions over all channels and over single channels, with strides and transposed, together with pools, batch
// norms and concatenations.
constexpr auto photos = input<"photos", 6, 33, 31, 13>;
constexpr auto first_seen =
    photos | nn::conv2d<"c1", 40, 3, nn::window{.padding = 1}> | nn::batch_norm<"n1"> | nn::relu;
constexpr auto next_seen = first_seen | nn::conv2d<"each", 40, 5, nn::window{.padding = 2, .groups = 40}> | nn::tanh;
constexpr auto both_seen = concatenate<-1>(first_seen, next_seen) | nn::batch_norm<"n2"> | nn::relu |
                           ckpt<"c">(nn::conv2d<"c2", 48, 3, nn::window{.stride = 2, .padding = 1}> | nn::tanh) |
                           nn::max_pool2d<2> | nn::conv_transpose2d<"up", 24, 2, nn::window{.stride = 2}>;
constexpr auto seen =
    mean(square(both_seen)) + mean(square(nn::conv2d<"c3", 5, 3>(concatenate<-1>(photos, first_seen))));

// Causal attention with fewer heads than threads. In causal attention, later queries read more keys than earlier ones.
constexpr auto looked =
    mean(square(input<"tokens", 1, 290, 40> |
                nn::self_attention<"attn", 4, nn::attention_options{.causal = true, .key_heads = 2, .dropout = 0.1}>));

// Heads that compute their logits in blocks of rows, whose classes threads share. The logits of the first block of rows
// are in the gradient of the weight. With the widest registers, the other head computes the logits of its blocks twice.
constexpr auto words = labels<"words", 12007, rows>;
constexpr auto headed =
    nn::linear_cross_entropy<"head", 1009, nn::linear_cross_entropy_options{.workspace = 1_MiB}>(images, answers) +
    nn::linear_cross_entropy<"other", 12007,
                             nn::linear_cross_entropy_options{.weight_gradient_in = nn::pass::backward,
                                                              .workspace = 2750 * 1024}>(images | nn::linear<"in", 99>,
                                                                                         words);

/// Limits the number of threads that training steps get from now on.
void allow_threads(int most) { omp_set_num_threads(most); }

template <class Real>
std::vector<Real> numbers(std::size_t n) {
  std::vector<Real> values(n);
  random_sequence draw(seed{5}, 0);
  for (Real& value : values) value = 2 * uniform(draw()) - 1;
  return values;
}

/// Runs two training steps and returns the results of the last.
auto trained(auto& step, const auto&... inputs) {
  step.init(seed{3});
  adamw optimizer{step, {.lr = 1e-2}};
  static_cast<void>(step.value_and_grad(inputs...));
  optimizer.update();
  const auto results = step.value_and_grad(inputs...);
  optimizer.update();
  return results;
}

template <auto Model, class Real, class... Options>
void same_for_any_number_of_threads(const auto&... inputs) {
  program<Model, real<Real>, Options...> alone;
  const auto results = trained(alone, inputs...);
  for (int at_hand = 1; at_hand <= 4; ++at_hand) {
    allow_threads(at_hand);
    program<Model, real<Real>, threads<3>, Options...> together;
    BOOST_TEST((trained(together, inputs...) == results));
    BOOST_TEST(same_bits<Real>(alone.gradients(), together.gradients()));
    BOOST_TEST(same_bits<Real>(alone.parameters(), together.parameters()));
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(laws_of_threads)

BOOST_AUTO_TEST_CASE(bits_do_not_depend_on_the_number_of_threads) {
  same_for_any_number_of_threads<loss, float>(bind<"images">(numbers<float>(rows * features)));
}

BOOST_AUTO_TEST_CASE(bits_of_convolutions_do_not_depend_on_the_number_of_threads) {
  same_for_any_number_of_threads<seen, double>(bind<"photos">(numbers<double>(6 * 33 * 31 * 13)));
}

BOOST_AUTO_TEST_CASE(bits_of_attention_do_not_depend_on_the_number_of_threads) {
  same_for_any_number_of_threads<looked, double>(bind<"tokens">(numbers<double>(290 * 40)));
}

BOOST_AUTO_TEST_CASE(bits_of_heads_without_logits_do_not_depend_on_the_number_of_threads) {
  std::vector<std::int32_t> at(rows);
  for (std::size_t row = 0; row < rows; ++row) at[row] = static_cast<std::int32_t>(row * row % classes);
  same_for_any_number_of_threads<headed, double>(bind<"images">(numbers<double>(rows * features)), bind<"answers">(at),
                                                 bind<"words">(at));
}

BOOST_AUTO_TEST_CASE(bits_of_linear_systems_do_not_depend_on_the_number_of_threads) {
  constexpr auto a = input<"a", 61, 17, 17>;
  constexpr auto b = input<"b", 61, 17, 5>;
  constexpr auto scaled = a * param<"scale", 17>;
  constexpr auto covariance = matmul(scaled, transpose(scaled)) + one_hot(arange<17>);
  constexpr auto systems = mean(square(solve(scaled, b))) + mean(square(matmul(cholesky(covariance), b)));
  same_for_any_number_of_threads<systems, float>(bind<"a">(numbers<float>(61 * 17 * 17)),
                                                 bind<"b">(numbers<float>(61 * 17 * 5)));
}

BOOST_AUTO_TEST_CASE(bits_in_mixed_precision_do_not_depend_on_the_number_of_threads) {
  same_for_any_number_of_threads<seen, float, mixed<bf16>>(bind<"photos">(numbers<float>(6 * 33 * 31 * 13)));
  same_for_any_number_of_threads<looked, float, mixed<bf16>>(bind<"tokens">(numbers<float>(290 * 40)));
  same_for_any_number_of_threads<loss, float, mixed<bf16>>(bind<"images">(numbers<float>(rows * features)));
  std::vector<std::int32_t> at(rows);
  for (std::size_t row = 0; row < rows; ++row) at[row] = static_cast<std::int32_t>(row * row % 89);
  const auto scores = numbers<float>(rows * classes);
  same_for_any_number_of_threads<ordered, float, mixed<bf16>>(bind<"scores">(scores), bind<"answers">(at));
  same_for_any_number_of_threads<normed, float, mixed<bf16>>(bind<"scores">(scores), bind<"answers">(at));
}

// The training step rounds the parameters stochastically.
BOOST_AUTO_TEST_CASE(stochastic_rounding_does_not_depend_on_the_number_of_threads) {
  const auto after = [&]<class... Options>(std::type_identity<std::tuple<Options...>>) {
    program<seen, mixed<bf16, stochastic_rounding>, update<adamw_options{.lr = 1e-2}>, Options...> step;
    step.init(seed{3});
    for (int i = 0; i < 2; ++i) static_cast<void>(step.train(bind<"photos">(numbers<float>(6 * 33 * 31 * 13))));
    std::vector<std::uint16_t> bits;
    for (const bf16 x : step.parameters()) bits.push_back(x.bits);
    return bits;
  };
  const auto alone = after(std::type_identity<std::tuple<>>{});
  for (int at_hand = 1; at_hand <= 4; ++at_hand) {
    allow_threads(at_hand);
    BOOST_TEST((after(std::type_identity<std::tuple<threads<3>>>{}) == alone));
  }
}

BOOST_AUTO_TEST_CASE(bits_of_losses_do_not_depend_on_the_number_of_threads) {
  auto scores = numbers<double>(rows * classes);
  std::vector<std::int32_t> right(rows);
  for (std::size_t row = 0; row < rows; ++row) {
    right[row] = static_cast<std::int32_t>(37 * row % classes);
    // Two rows of three are classified rightly.
    if (row % 3 > 0) scores[row * classes + 37 * row % classes] = 9;
  }
  same_for_any_number_of_threads<classified, double>(bind<"scores">(scores), bind<"answers">(right));
}

BOOST_AUTO_TEST_CASE(bits_of_gathers_do_not_depend_on_the_number_of_threads) {
  std::vector<std::int32_t> at(rows);
  for (std::size_t row = 0; row < rows; ++row) at[row] = static_cast<std::int32_t>(row * row % 89);
  same_for_any_number_of_threads<ordered, double>(bind<"scores">(numbers<double>(rows * classes)), bind<"answers">(at));
  same_for_any_number_of_threads<normed, double>(bind<"scores">(numbers<double>(rows * classes)), bind<"answers">(at));
}

template <auto Loss>
void touches_what_is_planned(const auto& inputs) {
  allow_threads(3);
  program<Loss, threads<3>> step;
  step.init(seed{3});
  BOOST_TEST(report::touched_bytes(step, inputs) == step.memory().peak_bytes);
}
BOOST_AUTO_TEST_CASE(planned_bytes_are_touched) {
  constexpr auto product = sum(images | nn::linear<"in", 320>);
  static_assert(program<product, threads<3>>::memory().peak_bytes > program<product>::memory().peak_bytes,
                "each thread has scratch of its own");
  const std::vector<float> x(rows * features, 0.5F);
  touches_what_is_planned<product>(bind<"images">(x));
  touches_what_is_planned<loss>(bind<"images">(x));
  touches_what_is_planned<seen>(bind<"photos">(numbers<float>(6 * 33 * 31 * 13)));
}

// A small training step has no work for a second thread. Its arena has no workspace for a second thread either.
BOOST_AUTO_TEST_CASE(a_small_step_plans_for_one_thread) {
  constexpr auto small = models::one;
  static_assert(program<small, threads<64>>::memory().peak_bytes == program<small>::memory().peak_bytes);
}

BOOST_AUTO_TEST_SUITE_END()

#endif
