#include "contestant.hpp"

using namespace cairn;

namespace {

constexpr auto feed_forward = nn::residual(nn::linear<"fc1", 1024> | nn::gelu | nn::linear<"fc2", 256>);
constexpr auto model = repeat<8, "block">([](auto) { return ckpt<"ff">(feed_forward); });
constexpr auto loss = mean(square(input<"x", 2048, 256> | model));

}  // namespace

int main(int count, char** arguments) {
  contestant::train<loss, adamw_options{.lr = 1e-3}>(
      count, arguments, [](const contestant::arguments& given, auto steps_of) {
        const auto x = given.tensor<float>("x", 2048 * 256);
        steps_of(bind<"x">(x));
      });
}
