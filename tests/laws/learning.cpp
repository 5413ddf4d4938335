// A model really learns. It is trained on real images, and compared with an untrained model and with a model that is
// trained on shuffled labels.
#include <boost/test/unit_test.hpp>
#include <cairn/cairn.hpp>
#include <cairn/data/idx.hpp>

#include <algorithm>

BOOST_AUTO_TEST_SUITE(learning)

namespace {

using namespace cairn;

constexpr auto network = nn::linear<"fc1", 64> |
                         ckpt<"hidden", allow_useless>(nn::gelu | nn::linear<"fc2", 32> | nn::gelu) |
                         nn::linear<"head", 10>;
template <int B>
constexpr auto logits = input<"images", B, 784> | network;
template <int B>
constexpr auto loss = cross_entropy(logits<B>, labels<"classes", 10, B>);
using train_step = program<loss<100>>;

const auto& images() {
  static const auto sets = data::fashion_mnist();
  return sets;
}

double test_accuracy(train_step& step) {
  predictor<accuracy(logits<100>, labels<"classes", 10, 100>)> rate{step};
  double sum = 0;
  for (auto [x, y] : data::batches<100>(images().test)) {
    sum += static_cast<double>(rate(bind<"images">(x), bind<"classes">(y)));
  }
  return sum / 100;
}

void train(train_step& step, const data::dataset& set, seed s) {
  step.init(s);
  adamw optimizer{step, {.lr = 2e-3}};
  for (auto [x, y] : data::batches<100>(set, s, 0)) {
    static_cast<void>(step.value_and_grad(bind<"images">(x), bind<"classes">(y)));
    optimizer.update();
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(an_untrained_model_is_near_chance) {
  train_step step;
  double mean = 0;
  for (std::uint64_t s = 0; s < 8; ++s) {
    step.init(seed{s});
    mean += test_accuracy(step) / 8;
  }
  BOOST_TEST(mean > 0.05);
  BOOST_TEST(mean < 0.15);
}

BOOST_AUTO_TEST_CASE(one_epoch_learns_most_and_repeats_exactly) {
  train_step step, again;
  train(step, images().train, seed{1});
  BOOST_TEST(test_accuracy(step) > 0.8);
  train(again, images().train, seed{1});
  BOOST_TEST(std::ranges::equal(step.parameters(), again.parameters()));
}

BOOST_AUTO_TEST_CASE(shuffled_labels_teach_nothing) {
  // One shuffle may happen to name a whole class rightly. The mean over several shuffles evens this out.
  train_step step;
  double mean = 0;
  for (std::uint64_t s = 0; s < 6; ++s) {
    data::dataset shuffled = images().train;
    random_sequence draw(seed{s}, 99);
    for (std::size_t i = shuffled.labels.size(); i > 1; --i) {
      std::swap(shuffled.labels[i - 1], shuffled.labels[draw.below(static_cast<std::uint32_t>(i))]);
    }
    train(step, shuffled, seed{s});
    mean += test_accuracy(step) / 6;
  }
  BOOST_TEST(mean < 0.2);
}

BOOST_AUTO_TEST_SUITE_END()
