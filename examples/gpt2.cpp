// Trains GPT-2 with 124 million parameters on the bytes of a text, or on GPT-2's own tokens. Each of the 12 blocks is a
// segment. The program prints the bytes of a training step with segments and without, and the time of each step.
#include "gpt2.hpp"

#include <algorithm>
#include <array>
#include <cairn/cairn.hpp>
#include <cairn/data/npy.hpp>
#include <cairn/data/text.hpp>
#include <cairn/data/windows.hpp>
#include <cairn/file/saving.hpp>
#include <cairn/report/tables.hpp>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer.hpp"

using namespace cairn;

namespace {

constexpr int batch = 4, length = 64;
#ifdef _OPENMP
using on_cores = threads<4>;
#else
using on_cores = threads<1>;
#endif
template <int Vocabulary, class... Options>
using step_of = program<gpt2::loss<Vocabulary, batch, length>, update<adamw_options{.lr = 3e-4}>, on_cores, Options...>;

constexpr std::string_view help = R"(gpt2 [arguments]: trains GPT-2 with 124 million parameters
  --data FILE   a text, whose bytes are the tokens (bible.txt); or GPT-2's tokens as an array of NumPy, FILE.npy:
                numpy.save("FILE.npy", numpy.uint16(tiktoken.get_encoding("gpt2").encode(text)))
  --tokenizer FILE   turns the text into GPT-2's tokens, by Hugging Face's tokenizer.json
  --plain       trains without segments
  --load FILE   starts with the weights of Hugging Face's model.safetensors, or of the files of a
                model.safetensors.index.json; only for GPT-2's tokens
  --block NAME  the block of this file that is the model; GPT2LMHeadModel.save_pretrained calls it transformer
  --steps N     number of training steps (40)
)";

struct arguments {
  std::string data = "bible.txt", tokenizer = {}, weights = {}, block = {};
  bool plain = false, wants_help = false;
  int steps = 40;

  arguments(int argc, char** argv) {
    const std::span all(argv, static_cast<std::size_t>(argc));
    for (std::size_t i = 1; i < all.size(); ++i) {
      const std::string_view name = all[i];
      const auto value = [&] {
        if (i + 1 == all.size()) throw std::invalid_argument("expected a value after " + std::string(name));
        return std::string(all[++i]);
      };
      if (name == "--help" || name == "-h") wants_help = true;
      else if (name == "--plain") plain = true;
      else if (name == "--data") data = value();
      else if (name == "--tokenizer") tokenizer = value();
      else if (name == "--load") weights = value();
      else if (name == "--block") block = value();
      else if (name == "--steps") steps = number(value());
      else throw std::invalid_argument("unknown argument " + std::string(name) + "; --help lists the arguments");
    }
  }

 private:
  static int number(const std::string& text) {
    int n = 0;
    const char* const end = text.data() + text.size();
    if (std::from_chars(text.data(), end, n).ptr != end || n < 1)
      throw std::invalid_argument("expected a number of steps, got " + text);
    return n;
  }
};

template <class Step>
void train(const arguments& given, std::span<const std::int32_t> tokens) {
  Step step;
  step.init(seed{1});
  // Hugging Face's file also has masks, which cairn does not need. With `only`, the file may have more than the program.
  if (!given.weights.empty()) {
    const selection all{.only = {"*"}, .names = {{.name = "", .in_file = given.block}}};
    std::printf("loaded %zu tensors\n", step.load(given.weights, all).loaded.size());
  }
  std::vector<double> milliseconds;
  for (std::int64_t epoch = 0; std::ssize(milliseconds) < given.steps; ++epoch) {
    for (auto [x, y, begins] : data::windows<batch, length>(tokens, seed{1}, epoch)) {
      const auto start = std::chrono::steady_clock::now();
      const float loss = step.train(bind<"text">(x), bind<"next">(y));
      const std::chrono::duration<double, std::milli> passed = std::chrono::steady_clock::now() - start;
      milliseconds.push_back(passed.count());
      const auto done = std::ssize(milliseconds);
      if (done == 1 || done % 10 == 0 || done == given.steps)
        std::printf("step %3td  loss %.3f  %.0f ms\n", done, static_cast<double>(loss), milliseconds.back());
      std::fflush(stdout);
      if (done == given.steps) break;
    }
  }
  const auto middle = milliseconds.begin() + given.steps / 2;
  std::ranges::nth_element(milliseconds, middle);
  std::printf("median of a step: %.0f ms\n", *middle);
}

template <int Vocabulary>
void run(const arguments& given, std::span<const std::int32_t> tokens) {
  using step = step_of<Vocabulary>;
  using plain_step = step_of<Vocabulary, plain>;
  report::step_table<step, plain_step>(std::cout);
  std::cout << std::flush;
  given.plain ? train<plain_step>(given, tokens) : train<step>(given, tokens);
}

}  // namespace

int main(int argc, char** argv) try {
  const arguments given(argc, argv);
  if (given.wants_help) {
    std::cout << help;
  } else if (given.data.ends_with(".npy")) {
    run<gpt2::tokens>(given, data::read_npy<std::int32_t>(given.data).values);
  } else if (const auto bytes = data::read_bytes(given.data).tokens; !given.tokenizer.empty()) {
    const examples::tokenizer encoding(given.tokenizer);
    if (encoding.size() > gpt2::tokens) throw std::invalid_argument(given.tokenizer + " is not the tokenizer of GPT-2");
    run<gpt2::tokens>(given, encoding.encode(std::string(bytes.begin(), bytes.end())));
  } else {
    if (!given.weights.empty())
      throw std::invalid_argument("--load is for GPT-2's tokens: give --tokenizer FILE, or --data FILE.npy");
    run<256>(given, bytes);
  }
  return 0;
} catch (const std::exception& e) {
  std::cerr << "gpt2: " << e.what() << '\n';
  return 1;
}
