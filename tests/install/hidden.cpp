// A program behind declarations that other libraries made before. Their names must not hide cairn's names. The test
// includes the declarations before this file.
#include <cairn/cairn.hpp>
#include <cairn/data/ahead.hpp>
#include <cairn/data/augment.hpp>
#include <cairn/data/cifar.hpp>
#include <cairn/data/csv.hpp>
#include <cairn/data/idx.hpp>
#include <cairn/data/npy.hpp>
#include <cairn/data/safetensors.hpp>
#include <cairn/file/saving.hpp>
#include <cairn/gradcheck.hpp>
#include <cairn/named.hpp>
#include <cairn/report/page.hpp>
#include <cairn/report/tables.hpp>
#include <cairn/train/loop.hpp>

namespace user {

constexpr auto body = cairn::nn::conv2d<"conv", 4, 3> | cairn::nn::batch_norm<"norm"> | cairn::nn::gelu |
                      cairn::nn::max_pool2d<2> | cairn::nn::flatten | cairn::nn::linear<"fc", 8> |
                      cairn::nn::dropout<"drop", 0.1>;
constexpr auto images = cairn::input<"images", 4, 6, 6, 1>;
constexpr auto features = cairn::reshape<2, 2, 8>(images | cairn::ckpt<"body">(body));
constexpr auto all = features | cairn::nn::lstm<"lstm", 8> | cairn::block<"mix">(cairn::nn::transformer_block<2>);
constexpr auto logits = cairn::reshape<4, 8>(all) | cairn::nn::linear<"head", 3>;
constexpr auto loss = cairn::cross_entropy(logits, cairn::labels<"y", 3, 4>);

float trained() {
  static cairn::program<loss, cairn::update<cairn::adamw_options{}>, cairn::clip<1.0>> step;
  step.init(cairn::seed{1});
  static const float x[4][6][6][1] = {};
  static const std::int32_t y[4] = {};
  return step.train(cairn::bind<"images">(x), cairn::bind<"y">(y));
}

}  // namespace user

int main() { return user::trained() > 0 ? 0 : 1; }
