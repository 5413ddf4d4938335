// Reads the arguments of the training programs.
#include "arguments.hpp"

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string_view>

namespace training {

namespace {

/// Returns a command line that a shell reads as the same arguments.
std::string in_shell(int argc, char** argv) {
  constexpr std::string_view special = " \t\"'`\\$&|;<>()*?[]{}#~!";
  std::string line;
  for (int i = 0; i < argc; ++i) {
    if (i > 0) line += ' ';
    for (const char* at = argv[i]; *at != '\0'; ++at) {
      if (special.find(*at) != special.npos) line += '\\';
      line += *at;
    }
  }
  return line;
}

/// Returns a validator that accepts a number if the number is the whole text and `good` accepts it. CLI11 alone would
/// turn a seed of -1 into a large number.
template <class Number>
CLI::Validator number(const std::string& expected, auto good) {
  return {[=](const std::string& text) {
            Number value{};
            const char* const end = text.data() + text.size();
            const auto read = std::from_chars(text.data(), end, value);
            const bool ok = read.ec == std::errc{} && read.ptr == end && good(value);
            return ok ? "" : "expected " + expected + ", got '" + text + "'";
          },
          ""};
}

}  // namespace

arguments read(int argc, char** argv, arguments given) {
  CLI::App app(given.about, given.name);
  app.add_option("--data", given.data, given.about_data)->type_name(given.data_is);
  app.add_option("--epochs", given.epochs, given.about_epochs)
      ->check(number<int>("1 to 1000", [](int n) { return n >= 1 && n <= 1000; }))
      ->type_name("N");
  app.add_option("--seed", given.seed, "seed of the parameters and of the order of the data")
      ->check(number<std::uint64_t>("0 to 2^64 - 1", [](std::uint64_t) { return true; }))
      ->type_name("N");
  app.add_option("--lr", given.lr, "learning rate at the start, which falls to 0 along a cosine")
      ->check(number<double>("a number above 0", [](double rate) { return rate > 0 && std::isfinite(rate); }))
      ->type_name("X");
  app.add_option("--threads", given.threads, "number of threads; the results do not depend on it")
      ->check(number<int>("1 to " + std::to_string(given.threads),
                          [most = given.threads](int n) { return n >= 1 && n <= most; }))
      ->type_name("N");
  app.add_option("--picture", given.picture, "SVG image of the memory of a training step")->type_name("FILE");
  const auto* const run =
      app.add_option("--run", given.run, "where to save weights, a log, and a profile of a step")->type_name("FOLDER");
  app.add_flag("--resume", given.resume, "continue the run in that folder")->needs(const_cast<CLI::Option*>(run));
  for (CLI::Option* option : app.get_options()) {
    if (option->get_name() != "--help" && option->get_name() != "--resume") option->capture_default_str();
  }
  if (given.writes)
    app.add_option("--prompt", given.prompt, "text to continue with the best weights in that folder, without training")
        ->needs(const_cast<CLI::Option*>(run))
        ->type_name("TEXT");
  app.failure_message(
      [&](const CLI::App*, const CLI::Error& e) { return given.name + ": " + std::string(e.what()) + '\n'; });
  try {
    app.parse(argc, argv);
  } catch (const CLI::Error& e) {
    std::exit(app.exit(e));
  }
  given.again = in_shell(argc, argv) + (given.resume ? "" : " --resume");
  return given;
}

}  // namespace training
