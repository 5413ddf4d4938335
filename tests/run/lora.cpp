// Adapters of linear layers: what they compute, what is trained, and how files name their parameters.
#include <cairn/file/saving.hpp>
#include <set>

#include "folder.hpp"
#include "gradients.hpp"
#include "torch_values.hpp"

namespace {

constexpr auto x = input<"x", 6, 4>;
constexpr auto plain_model = nn::linear<"q", 5> | nn::tanh | nn::linear_without_bias<"v", 3>;
constexpr auto adapted_model =
    nn::lora<2, 16>(nn::linear<"q", 5>) | nn::tanh | nn::lora<1, 0.5>(nn::linear_without_bias<"v", 3>);

std::vector<double> numbers() {
  std::vector<double> out(6 * 4);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = filled("x", i);
  return out;
}

BOOST_AUTO_TEST_CASE(values_and_gradients_are_those_of_peft) {
  agrees<param<"x", 2, 3, 4> | nn::lora<2, 16>(nn::linear<"q", 5>)>("lora");
}

// B starts as zeros, so the gradient of A is zero in this test. The values of PyTorch have another B.
BOOST_AUTO_TEST_CASE(gradients_are_right) {
  constexpr auto y = param<"x", 6, 4> | adapted_model;
  constexpr auto loss = weighted(y);
  check<loss>();
  constexpr auto up = param<"/q.lora_B.default.weight", 5, 2>;
  constexpr auto down = param<"/q.lora_A.default.weight", 2, 4>;
  check<loss + sum(square(grad(loss, up))) + sum(square(grad(loss, down) + down)) +
        sum(square(grad(loss, param<"x", 6, 4>)))>();
}

BOOST_AUTO_TEST_CASE(only_adapters_are_trained_and_they_start_as_nothing) {
  constexpr auto of_blocks = [](auto model) {
    return mean(square(x | block<"net">(ckpt<"segment">(model | nn::linear<"out", 4>)) |
                       repeat<2, "again">([=](auto) { return ckpt<"segment">(model | nn::linear<"out", 4>); })));
  };
  constexpr auto loss = of_blocks(adapted_model);
  program<loss, real<double>> step;
  program<of_blocks(plain_model), real<double>> plain;
  step.init(seed{1});
  plain.init(seed{2});
  // Each base gets the parameters of the plain layer.
  int bases = 0;
  step.for_each_parameter([&]<class View>(std::string_view name, View view) {
    std::string plain_name(name);
    if (const auto at = plain_name.find(".base_layer"); at != plain_name.npos) plain_name.erase(at, 11);
    plain.for_each_parameter([&]<class Source>(std::string_view other, Source source) {
      if constexpr (std::same_as<View, Source>) {
        if (plain_name != other) return;
        std::ranges::copy(source, view.begin());
        ++bases;
      }
    });
  });
  BOOST_TEST(bases == 3 * 5);
  const std::vector<double> images = numbers();
  BOOST_TEST(step.value_and_grad(bind<"x">(images)) == plain.value_and_grad(bind<"x">(images)));

  std::set<std::string> trained;
  step.for_each_gradient([&](std::string_view name, auto) {
    if (name.starts_with("net.")) trained.insert(std::string(name));
  });
  const std::set<std::string> expected{"net.out.bias",
                                       "net.out.weight",
                                       "net.q.lora_A.default.weight",
                                       "net.q.lora_B.default.weight",
                                       "net.v.lora_A.default.weight",
                                       "net.v.lora_B.default.weight"};
  BOOST_TEST(trained == expected, boost::test_tools::per_element());
  const double before = step.value_and_grad(bind<"x">(images));
  sgd descent{step, {.lr = 0.1}};
  for (int i = 0; i < 5; ++i) {
    descent.update();
    static_cast<void>(step.value_and_grad(bind<"x">(images)));
  }
  BOOST_TEST(step.value_and_grad(bind<"x">(images)) < 0.9 * before);
  const auto base = step.param<"net.q.base_layer.weight">(), same = plain.param<"net.q.weight">();
  BOOST_TEST(std::ranges::equal(base, same));
  BOOST_TEST(std::ranges::count(step.param<"net.q.lora_B.default.weight">(), 0.0) == 0);
}

BOOST_AUTO_TEST_CASE(adapters_start_as_in_peft) {
  program<mean(input<"x", 2, 64> | nn::lora<32, 1>(nn::linear<"q", 64, initial::constant(3)>))> step;
  step.init(seed{1});
  double most = 0;
  for (const float a : step.param<"q.lora_A.default.weight">()) most = std::max<double>(most, std::abs(a));
  BOOST_TEST(most <= 1 / 8.0);
  BOOST_TEST(most > 0.98 / 8);
  BOOST_TEST(std::ranges::count(step.param<"q.lora_B.default.weight">(), 0.0F) == 64 * 32);
  BOOST_TEST(std::ranges::count(step.param<"q.base_layer.weight">(), 3.0F) == 64 * 64);
  BOOST_TEST(std::ranges::count(step.param<"q.base_layer.bias">(), 0.0F) == 64);
}

// A base is loaded from a file of the model without adapters. A file of the adapted model has PEFT's names.
BOOST_AUTO_TEST_CASE(files_have_the_names_of_peft) {
  const folder files;
  const std::string plain_file = (files.path / "plain.safetensors").string();
  const std::string tuned_file = (files.path / "tuned.safetensors").string();
  constexpr auto loss = mean(square(x | adapted_model));
  program<mean(square(x | plain_model)), real<double>> plain;
  program<loss, real<double>> step, again;
  plain.init(seed{1});
  plain.save(plain_file);
  step.init(seed{2});
  const file::renamed bases{.name = "*.base_layer.*", .in_file = "*.*"};
  BOOST_TEST(step.load(plain_file, selection{.except = {"*.lora_*"}, .names = {bases}}).loaded.size() == 3U);
  const std::vector<double> images = numbers();
  BOOST_TEST(step.value_and_grad(bind<"x">(images)) == plain.value_and_grad(bind<"x">(images)));
  sgd{step, {.lr = 0.1}}.update();
  step.save(tuned_file);
  const std::string bytes = read_bytes(tuned_file);
  for (const char* name : {"\"q.base_layer.weight\"", "\"q.base_layer.bias\"", "\"q.lora_A.default.weight\"",
                           "\"q.lora_B.default.weight\"", "\"v.base_layer.weight\""})
    BOOST_TEST(bytes.find(name) != bytes.npos, name);
  again.load(tuned_file);
  BOOST_TEST(again.value_and_grad(bind<"x">(images)) == step.value_and_grad(bind<"x">(images)));
}

}  // namespace
