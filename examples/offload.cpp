// A scan that stores its snapshots in a file. The scan runs 4096 steps of heat in a plate. The program computes the
// gradient with respect to the conductivity at each point of the plate. The file stores the state before every 64th
// step. The arena stores only what the reversal of 64 steps needs.
#include <cairn/cairn.hpp>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <sys/mman.h>
#include <system_error>
#include <unistd.h>
#include <vector>

using namespace cairn;

namespace {

constexpr int side = 64, steps = 4096;
constexpr auto heat = [](auto warm, auto conducts) {
  const auto around = roll<0, 1>(warm) + roll<0, -1>(warm) + roll<1, 1>(warm) + roll<1, -1>(warm);
  return warm + conducts * (around - 4_c * warm);
};
template <class Policy>
constexpr auto end = scan<steps, "step", Policy>(heat, carried(input<"begin", side, side>),
                                                 0.2_c * sigmoid(param<"conducts", side, side>));
template <class Policy>
constexpr auto loss = mean(square(end<Policy> - input<"measured", side, side>));

using in_file = program<loss<two_level<64, 8, snapshots::elsewhere>>, budget<512_KiB>>;
using in_arena = program<loss<two_level<64, 8>>>;
using all_stored = program<loss<store_all>>;

/// A temporary file that is mapped into memory. The file is deleted with the object.
class mapped_file {
 public:
  explicit mapped_file(std::size_t size) : size_(size), file_(std::tmpfile()) {
    const bool sized = file_ != nullptr && ftruncate(fileno(file_.get()), static_cast<off_t>(size)) == 0;
    at_ = sized ? mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file_.get()), 0) : MAP_FAILED;
    if (at_ == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "a temporary file");
  }
  mapped_file(const mapped_file&) = delete;
  mapped_file& operator=(const mapped_file&) = delete;
  ~mapped_file() { munmap(at_, size_); }
  std::span<std::byte> bytes() const { return {static_cast<std::byte*>(at_), size_}; }

 private:
  struct closing {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::size_t size_;
  std::unique_ptr<std::FILE, closing> file_;
  void* at_;
};

/// Returns the gradient of one training step from seed 1.
template <class Step>
std::vector<float> gradient_of(Step& step, const std::vector<float>& begin, const std::vector<float>& measured) {
  step.init(seed{1});
  step.value_and_grad(bind<"begin">(begin), bind<"measured">(measured));
  const std::span<const float> all = step.gradients();
  return {all.begin(), all.end()};
}

}  // namespace

int main() {
  const mapped_file file(in_file::memory().elsewhere_bytes);
  in_file step;
  step.keep_snapshots_in(file.bytes());

  std::vector<float> begin(side * side), measured(side * side, 0.25F);
  for (std::size_t i = 0; i < begin.size(); ++i) begin[i] = i % side < side / 2 ? 1.0F : 0.0F;

  std::printf("arena           %9lld bytes\n", static_cast<long long>(step.memory().peak_bytes));
  std::printf("file            %9lld bytes\n", static_cast<long long>(step.memory().elsewhere_bytes));
  std::printf("all steps kept  %9lld bytes\n", static_cast<long long>(all_stored::memory().peak_bytes));
  std::printf("evaluations     %9lld for %d steps\n", static_cast<long long>(step.loops().evaluations), steps);

  in_arena beside;
  const bool same = gradient_of(step, begin, measured) == gradient_of(beside, begin, measured);
  std::printf("the gradient has %s bits as without a file\n", same ? "the same" : "OTHER");

  float first = 0, last = 0;
  for (int i = 0; i < 3; ++i) {
    last = step.value_and_grad(bind<"begin">(begin), bind<"measured">(measured));
    if (i == 0) first = last;
    std::printf("step %d  loss %.7f\n", i + 1, static_cast<double>(last));
    const std::span<const float> gradients = step.gradients();
    const std::span<float> parameters = step.parameters();
    for (std::size_t p = 0; p < parameters.size(); ++p) parameters[p] -= 3000 * gradients[p];
  }
  return same && last < first ? 0 : 1;
}
