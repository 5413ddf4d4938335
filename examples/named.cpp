// Parameters and gradients by name and by pattern, with Boost.Hana. The maps from names to views have constant keys
// and shapes, which the compiler knows. A pattern therefore selects parameters at compile time, the compiler checks
// the shapes, and no name is looked up at run time. The program initializes a small language model as GPT-2 is
// initialized, clips the gradients of one block, copies the encoder into a classifier, and saves the norms.
#include <boost/hana.hpp>
#include <cairn/cairn.hpp>
#include <cairn/file/safetensors.hpp>
#include <cairn/named.hpp>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <numbers>
#include <string>
#include <string_view>
#include <vector>

namespace hana = boost::hana;
using namespace cairn;

namespace {

// The models: two programs share a body, and each has its own head.

constexpr auto mixing = layer([](auto x) {  // x is {batch, time, width}; one head
  constexpr int width = x.shape[-1];
  const auto q = nn::linear<"q", width>(x);
  const auto k = nn::linear<"k", width>(x);
  const auto scores = matmul(q, transpose(k)) / sqrt(constant<width>) + causal_mask<x.shape[1]>;
  return nn::linear<"out", width>(matmul(softmax(scores), nn::linear<"v", width>(x)));
});
constexpr auto mlp = nn::linear<"fc1", 64> | nn::gelu | nn::linear<"fc2", 16>;
constexpr auto encoder = block<"encoder">(repeat<2, "block">([](auto) {
  return ckpt<"all">(nn::residual(nn::layer_norm<"ln1"> | block<"attention">(mixing)) |
                     nn::residual(nn::layer_norm<"ln2"> | mlp));
}));
template <int B>
constexpr auto encoded = gather<0>(param<"/embed.weight", 40, 16>, indices<"text", 40, B, 12>) | encoder;

constexpr auto next_token = cross_entropy(encoded<8> | nn::linear<"vocabulary", 40>, labels<"next", 40, 8, 12>);
constexpr auto sentiment = cross_entropy(mean<1>(encoded<4>) | nn::linear<"head", 2>, labels<"sentiment", 2, 4>);

// Patterns: * stands for any number of characters, including none.

constexpr bool fits(std::string_view name, std::string_view pattern) {
  if (pattern.empty()) return name.empty();
  if (pattern[0] == '*') return fits(name, pattern.substr(1)) || (!name.empty() && fits(name.substr(1), pattern));
  return !name.empty() && name[0] == pattern[0] && fits(name.substr(1), pattern.substr(1));
}
static_assert(fits("encoder.block.0.fc1.bias", "*.bias") && !fits("bias.weight", "*.bias"));

/// Calls visit(name, view) for each entry of a map whose name fits the pattern. Returns the number of these entries.
template <fixed_string Pattern>
int for_each_named(auto map, auto visit) {
  int count = 0;
  hana::for_each(map, hana::fuse([&](auto name, auto view) {
                   if constexpr (fits(decltype(name)::c_str(), Pattern)) {
                     visit(name, view);
                     ++count;
                   }
                 }));
  return count;
}

// The functions that use patterns.

/// Returns a number as torch.nn.init.trunc_normal_ draws it: a normal number with mean 0, which is drawn again if it
/// is more than two deviations away from 0.
double truncated_normal(random_sequence& random, double deviation) {
  for (;;) {
    const double radius = std::sqrt(-2 * std::log(1 - double{uniform(random())}));
    const double number = radius * std::cos(2 * std::numbers::pi * double{uniform(random())});
    if (std::abs(number) < 2) return deviation * number;
  }
}
void initialize(auto parameters) {
  random_sequence random(seed{7}, 0);
  const auto draw = [&](double deviation) {
    return [&random, deviation](auto, auto view) {
      for (float& number : view) number = static_cast<float>(truncated_normal(random, deviation));
    };
  };
  const int weights = for_each_named<"*.weight">(parameters, draw(0.02));
  // The weights at the end of a residual branch are divided by the square root of the number of branches. The gains of
  // norms are 1.
  for_each_named<"*.out.weight">(parameters, draw(0.02 / 2));
  for_each_named<"*.fc2.weight">(parameters, draw(0.02 / 2));
  const int norms = for_each_named<"*.ln*.weight">(parameters, [](auto, auto view) { view.fill(1); });
  const int biases = for_each_named<"*.bias">(parameters, [](auto, auto view) { view.fill(0); });
  std::printf("initialized %d weights, %d of them gains of norms, and %d biases\n", weights, norms, biases);
}

/// Clips the gradients of one block by their common norm. Returns the norm.
template <fixed_string Pattern>
double clip_named(auto gradients, double most) {
  double squares = 0;
  for_each_named<Pattern>(gradients, [&](auto, auto view) {
    for (const float g : view) squares += double{g} * double{g};
  });
  const double norm = std::sqrt(squares), factor = std::min(1.0, most / norm);
  for_each_named<Pattern>(gradients, [&](auto, auto view) {
    for (float& g : view) g *= static_cast<float>(factor);
  });
  return norm;
}

/// Copies all tensors of `to` whose names fit the pattern. A tensor must have the same shape in both maps. If a tensor
/// is missing in `from`, the call does not compile.
template <fixed_string Pattern>
int copy_named(auto from, auto to) {
  return for_each_named<Pattern>(to, [&](auto name, auto view) {
    const auto source = hana::at_key(from, name);
    static_assert(decltype(source)::extents == decltype(view)::extents);
    std::copy(source.begin(), source.end(), view.begin());
  });
}

/// Saves all tensors whose names fit the pattern, to a file that PyTorch can read.
template <fixed_string Pattern>
void save_named(auto parameters, const std::string& path) {
  std::vector<file::tensor> tensors;
  for_each_named<Pattern>(parameters, [&](auto name, auto view) {
    constexpr shape extents = decltype(view)::extents;
    tensors.push_back({name.c_str(),
                       file::dtype::f32,
                       {extents.extent, extents.extent + extents.rank},
                       std::as_bytes(std::span(view.data(), view.size()))});
  });
  file::write(path, tensors, {{"format", "pt"}});
}

}  // namespace

int main() {
  program<next_token> step;
  step.init(seed{1});
  const auto parameters = named_parameters(step);
  initialize(parameters);

  std::vector<std::int32_t> text(8 * 12), next(8 * 12);
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<std::int32_t>(i * i % 40), next[i] = text[i] / 2;
  adamw optimizer{step, {.lr = 3e-3}};
  for (int i = 0; i <= 100; ++i) {
    const float loss = step.value_and_grad(bind<"text">(text), bind<"next">(next));
    const double norm = clip_named<"encoder.block.1.*">(named_gradients(step), 0.1);
    optimizer.update();
    if (i % 50 == 0) std::printf("step %3d  loss %.3f  gradients of block 1 had norm %.3f\n", i, double{loss}, norm);
  }

  program<sentiment> classifier;
  classifier.init(seed{2});
  const int copied = copy_named<"encoder.*">(parameters, named_parameters(classifier));
  const auto weight = hana::at_key(named_parameters(classifier), BOOST_HANA_STRING("encoder.block.0.fc1.weight"));
  std::printf("copied %d tensors; encoder.block.0.fc1.weight(0, 0) is %.4f\n", copied, double{weight(0, 0)});
  if (weight(0, 0) != parameters[BOOST_HANA_STRING("encoder.block.0.fc1.weight")](0, 0)) return 1;

  const std::string path = std::filesystem::temp_directory_path() / "norms.safetensors";
  save_named<"*.ln*">(parameters, path);
  const file::reader saved(path);
  for (const file::tensor& one : saved.tensors())
    std::printf("saved %-28s %s {%lld}\n", one.name.c_str(), std::string(file::detail::name_of(one.type)).c_str(),
                static_cast<long long>(one.shape[0]));
  return saved.tensors().size() == 8 ? 0 : 1;
}
