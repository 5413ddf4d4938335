#include "contestant.hpp"

using namespace cairn;

namespace {

// These segments free nothing, because the slope of relu is computed from its result. The scenario measures what the
// segments cost.
constexpr auto hidden1 = ckpt<"hidden1", allow_useless>(nn::linear<"fc1", 512> | nn::relu);
constexpr auto hidden2 = ckpt<"hidden2", allow_useless>(nn::linear<"fc2", 512> | nn::relu);
constexpr auto model = hidden1 | hidden2 | nn::linear<"head", 10>;
constexpr auto loss = cross_entropy(input<"images", 128, 784> | model, labels<"classes", 10, 128>);

}  // namespace

int main(int count, char** arguments) {
  constexpr adamw_options rule{.lr = 1e-3, .weight_decay = 0};
  contestant::train<loss, rule>(count, arguments, [](const contestant::arguments& given, auto steps_of) {
    const auto images = given.tensor<float>("images", 128 * 784);
    const auto classes = given.tensor<std::int32_t>("classes", 128);
    steps_of(bind<"images">(images), bind<"classes">(classes));
  });
}
