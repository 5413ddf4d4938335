// Looks into a training step of the README's model. Without running the training step, the program shows which values
// it stores and why, its graph, and its memory over time. A profile shows the time of the plan steps when they run.
#include <CLI/CLI.hpp>
#include <cairn/cairn.hpp>
#include <cairn/report/dot.hpp>
#include <cairn/report/frontier.hpp>
#include <cairn/report/page.hpp>
#include <cairn/report/profile.hpp>
#include <cairn/report/residuals.hpp>
#include <cairn/report/timeline.hpp>
#include <cairn/report/trace.hpp>
#include <iostream>
#include <vector>

using namespace cairn;

constexpr auto feed_forward = nn::linear<"fc1", 1024> | nn::gelu | nn::linear<"fc2", 256>;
constexpr auto blocks = repeat<8, "block">([](auto) { return ckpt<"ff">(nn::residual(feed_forward)); });
constexpr auto model = nn::linear<"embed", 256> | blocks | nn::linear<"head", 10>;
constexpr auto loss = cross_entropy(input<"images", 128, 784> | model, labels<"classes", 10, 128>);
using train_step = program<loss>;

report::profiled measured() {
  train_step step;
  step.init(seed{1});
  const std::vector<float> x(128 * 784, 0.5F);
  const std::vector<std::int32_t> y(128, 3);
  return report::profile(step, bind<"images">(x), bind<"classes">(y));
}

int main(int argc, char** argv) {
  CLI::App app("Looks into a training step of the README's model.", "reports");
  app.require_subcommand(1);
  app.add_subcommand("residuals", "the values that it stores or recomputes for the backward pass")->callback([] {
    report::residuals<train_step>(std::cout);
  });
  app.add_subcommand("dot", "the forward pass as a graph: | dot -Tsvg > graph.svg")->callback([] {
    report::dot<train_step>(std::cout);
  });
  app.add_subcommand("timeline", "the memory of a step, as an SVG image: > timeline.svg")->callback([] {
    report::timeline<train_step, program<loss, plain>>(std::cout);
  });
  app.add_subcommand("updates", "the same, with the optimizer in the step and outside: > updates.svg")->callback([] {
    using updating = program<loss, update<adamw_options{}>>;
    report::timeline<updating, train_step>(std::cout, {.first = "optimizer in the step", .second = "beside it"});
  });
  app.add_subcommand("frontier", "the recomputation that less memory costs")->callback([] {
    report::frontier<loss, plain>(std::cout);
  });
  app.add_subcommand("placement", "the same, as an SVG image: > placement.svg")->callback([] {
    report::frontier_picture<loss, plain>(std::cout);
  });
  app.add_subcommand("profile", "the time of each part, operation, segment and kernel")->callback([] {
    report::profile_table(std::cout, measured());
  });
  app.add_subcommand("page", "the same as a page for a browser: > profile.html")->callback([] {
    report::page(std::cout, measured());
  });
  app.add_subcommand("trace", "the same for ui.perfetto.dev: > profile.json")->callback([] {
    report::trace(std::cout, measured());
  });
  CLI11_PARSE(app, argc, argv);
}
