// Prints the working memory and the time of GPT-2's head and its cross entropy: 1,024 rows of 768 features, and 50,257
// classes. The dense form stores the logits. The other forms compute them in blocks. All forms take turns. A time is
// processor time of one thread, because other programs that run meanwhile change it less than they change wall time.
#include <algorithm>
#include <cairn/cairn.hpp>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <utility>
#include <vector>

using namespace cairn;

namespace {

constexpr int rows = 1024, features = 768, classes = 50257;
constexpr auto h = param<"h", rows, features>;
constexpr auto y = labels<"y", classes, rows>;
constexpr auto dense = cross_entropy(h | nn::linear_without_bias<"head", classes>, y);
template <std::int64_t Workspace, nn::pass Pass = nn::pass::forward>
constexpr auto in_blocks =
    nn::linear_cross_entropy<"head", classes,
                             nn::linear_cross_entropy_options{.weight_gradient_in = Pass, .workspace = Workspace}>(h,
                                                                                                                   y);

double processor_seconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}
double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

struct row {
  std::string name;
  double mebibytes, with_adamw;
  std::vector<double> seconds, ratios;
};

/// Makes one training step and notes its time, and the ratio to the dense form in the same round. The first step is
/// not noted.
template <auto Loss>
double step(row& to, const std::vector<std::int32_t>& at, double of_dense) {
  static program<Loss> of_form;
  static bool is_first = true;
  if (is_first) of_form.init(seed{1});
  const auto mebi = [](const auto& plan) { return static_cast<double>(plan.peak_bytes) / (1 << 20); };
  to.mebibytes = mebi(of_form.memory());
  to.with_adamw = mebi(program<Loss, update<adamw_options{}>>::memory());
  const double start = processor_seconds();
  static_cast<void>(of_form.value_and_grad(bind<"y">(at)));
  const double taken = processor_seconds() - start;
  if (std::exchange(is_first, false)) return taken;
  to.seconds.push_back(taken);
  to.ratios.push_back(taken / (of_dense == 0 ? taken : of_dense));
  return taken;
}

}  // namespace

int main(int count, char** words) {
  const int rounds = count > 1 ? std::atoi(words[1]) : 5;
  std::vector<std::int32_t> at(rows);
  for (int i = 0; i < rows; ++i) at[static_cast<std::size_t>(i)] = i * 7919 % classes;
  std::vector<row> table{{"dense", 0, 0, {}, {}}};
  for (const char* megabytes : {"1", "8", "16", "32", "64"})
    table.push_back({std::string(megabytes) + " MiB", 0, 0, {}, {}});
  for (const char* megabytes : {"8", "32"})
    table.push_back({std::string(megabytes) + " MiB, weight gradient in backward", 0, 0, {}, {}});
  for (int round = 0; round <= rounds; ++round) {
    const double of_dense = step<dense>(table[0], at, 0);
    step<in_blocks<1_MiB>>(table[1], at, of_dense);
    step<in_blocks<8_MiB>>(table[2], at, of_dense);
    step<in_blocks<16_MiB>>(table[3], at, of_dense);
    step<in_blocks<32_MiB>>(table[4], at, of_dense);
    step<in_blocks<64_MiB>>(table[5], at, of_dense);
    step<in_blocks<8_MiB, nn::pass::backward>>(table[6], at, of_dense);
    step<in_blocks<32_MiB, nn::pass::backward>>(table[7], at, of_dense);
  }
  std::printf("%-30s %8s %12s %8s %8s\n", "logits in", "MiB", "with AdamW", "s", "ratio");
  for (const row& r : table)
    std::printf("%-30s %8.1f %12.1f %8.2f %8.2f\n", r.name.c_str(), r.mebibytes, r.with_adamw, median(r.seconds),
                median(r.ratios));
}
