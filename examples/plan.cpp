// Prints the result of each pass for a small model of two checkpointed blocks. docs/inside.md explains the output.
#include <CLI/CLI.hpp>
#include <cairn/cairn.hpp>
#include <cairn/report/dump.hpp>
#include <cairn/report/residuals.hpp>
#include <iostream>

using namespace cairn;

constexpr auto feed_forward = nn::linear<"fc1", 32> | nn::gelu | nn::linear<"fc2", 8>;
constexpr auto blocks = repeat<2, "block">([](auto) { return ckpt<"ff">(nn::residual(feed_forward)); });
constexpr auto logits = input<"x", 64, 8> | blocks | nn::linear<"head", 4>;
constexpr auto loss = cross_entropy(logits, labels<"y", 4, 64>);

int main(int argc, char** argv) {
  CLI::App app("Prints what each pass makes of a small model of two checkpointed blocks.", "plan");
  CLI11_PARSE(app, argc, argv);
  dump::all<loss>(std::cout);
  report::residuals<program<loss>>(std::cout << '\n');
}
