// xtensor around a program. The data are .npy files, as NumPy writes them. Before each step, xtensor mirrors and shifts
// images and adds noise. The program reads the memory of xtensor. xtensor reads results and parameters in the memory of
// the program, for a confusion matrix and for the pixel with the largest weights.
#include <algorithm>
#include <array>
#include <cairn/cairn.hpp>
#include <cairn/data/idx.hpp>
#include <cairn/xtensor.hpp>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <xtensor/xfixed.hpp>
#include <xtensor/xmanipulation.hpp>
#include <xtensor/xnoalias.hpp>
#include <xtensor/xnpy.hpp>
#include <xtensor/xrandom.hpp>
#include <xtensor/xsort.hpp>
#include <xtensor/xtensor.hpp>
#include <xtensor/xview.hpp>

using namespace cairn;

namespace {

constexpr int batch = 64, test_batch = 100;
template <int B>
constexpr auto images = input<"images", B, 28, 28>;
constexpr auto hidden = ckpt<"hidden">(nn::linear<"fc1", 256> | nn::gelu | nn::linear<"fc2", 64> | nn::gelu);
template <int B>
constexpr auto logits = reshape<B, 784>(images<B>) | hidden | nn::linear<"head", 10>;
constexpr auto loss = cross_entropy(logits<batch>, labels<"classes", 10, batch>);
using train_step = program<loss, update<adamw_options{.lr = 1e-3}>>;

struct labelled {
  xt::xtensor<float, 3> images;  // {examples, 28, 28}
  xt::xtensor<std::int32_t, 1> classes;
};

/// Writes the first examples of a data set to two .npy files. numpy.load reads these files, too.
void write(const std::filesystem::path& folder, const data::dataset& set, std::size_t examples) {
  std::filesystem::create_directories(folder);
  xt::dump_npy(folder / "images.npy", xt::adapt(set.images.data(), std::array<std::size_t, 3>{examples, 28, 28}));
  xt::dump_npy(folder / "classes.npy", xt::adapt(set.labels.data(), std::array<std::size_t, 1>{examples}));
}
labelled read(const std::filesystem::path& folder) {
  return {xt::load_npy<float>(folder / "images.npy"), xt::load_npy<std::int32_t>(folder / "classes.npy")};
}

struct drawn_batch {
  xt::xtensor_fixed<float, xt::xshape<batch, 28, 28>> images;
  xt::xtensor_fixed<std::int32_t, xt::xshape<batch>> classes;
};

/// Draws a batch. Two images of five are mirrored. All images are shifted by up to two pixels, and get noise.
void draw(const labelled& set, drawn_batch& to) {
  const auto rest = [](int by) { return xt::range(std::max(0, by), 28 + std::min(0, by)); };
  const xt::xtensor<std::size_t, 1> picked = xt::random::randint<std::size_t>({batch}, 0, set.classes.size());
  const xt::xtensor<int, 2> change = xt::random::randint<int>({batch, 3}, -2, 3);
  to.images.fill(set.images(0, 0, 0));  // black, as the corner of an image is
  for (std::size_t i = 0; i < batch; ++i) {
    xt::xtensor<float, 2> image = xt::view(set.images, picked(i), xt::all(), xt::all());
    const int mirrored = change(i, 0), down = change(i, 1), right = change(i, 2);
    if (mirrored < 0) image = xt::flip(image, 1);
    xt::noalias(xt::view(to.images, i, rest(down), rest(right))) = xt::view(image, rest(-down), rest(-right));
    to.classes(i) = set.classes(picked(i));
  }
  to.images += 0.2F * xt::random::randn<float>({batch, 28, 28});
}

/// Counts how often images of class i (a row) are taken for class j (a column).
auto confusions(train_step& step, const labelled& set) {
  xt::xtensor_fixed<int, xt::xshape<10, 10>> counts = xt::zeros<int>({10, 10});
  predictor<argmax<-1>(logits<test_batch>)> predict{step};
  for (std::size_t first = 0; first + test_batch <= set.classes.size(); first += test_batch) {
    auto rows = xt::range(first, first + test_batch);  // these images lie side by side, so they can be bound
    const auto guessed = as_xtensor(predict(bind<"images">(xt::view(set.images, rows, xt::all(), xt::all()))));
    for (std::size_t i = 0; i < test_batch; ++i) ++counts(set.classes(first + i), guessed(i));
  }
  return counts;
}

}  // namespace

int main() {
  const auto folder = std::filesystem::temp_directory_path() / "cairn-arrays";
  const auto fashion = data::fashion_mnist();
  write(folder / "train", fashion.train, 10000);
  write(folder / "test", fashion.test, 2000);

  const labelled train = read(folder / "train"), test = read(folder / "test");
  train_step step;
  step.init(seed{1});
  xt::random::seed(1);
  drawn_batch drawn;
  for (int i = 1; i <= 600; ++i) {
    draw(train, drawn);
    const float l = step.train(bind<"images">(drawn.images), bind<"classes">(drawn.classes));
    if (i % 200 == 0) std::printf("step %d  loss %.3f\n", i, double{l});
  }

  const auto counts = confusions(step, test);
  std::printf("\nrows: what an image shows; columns: what it is taken for\n");
  constexpr const char* name[] = {"top",    "trouser", "pullover", "dress", "coat",
                                  "sandal", "shirt",   "sneaker",  "bag",   "boot"};
  int right = 0;
  for (std::size_t i = 0; i < 10; ++i) {
    std::printf("%8s ", name[i]);
    for (std::size_t j = 0; j < 10; ++j) std::printf("%5d", counts(i, j));
    std::printf("  %3.0f %%\n", 100.0 * counts(i, i) / xt::sum(xt::view(counts, i, xt::all()))());
    right += counts(i, i);
  }
  std::printf("accuracy %.1f %%\n", 100.0 * right / xt::sum(counts)());

  const xt::xtensor<float, 1> weight_of_pixel = xt::sum(xt::abs(as_xtensor(step.param<"fc1.weight">())), 0);
  const std::size_t most = xt::argmax(weight_of_pixel)();
  std::printf("the pixel with the largest weights is in row %zu, column %zu\n", most / 28, most % 28);
  std::filesystem::remove_all(folder);
}
