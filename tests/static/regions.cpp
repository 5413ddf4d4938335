// Regions: lowering records the blocks, stages, repeats and segments of a model. The programs of one model share its
// graph and its gradient.
#include "cairn/lang/block.hpp"
#include "cairn/lang/checkpoint.hpp"
#include "cairn/lang/repeat.hpp"
#include "cairn/nn/activation.hpp"
#include "cairn/nn/linear.hpp"
#include "cairn/op/loss.hpp"

#include "plan.hpp"

using namespace cairn;
using namespace cairn::test;

namespace {

constexpr auto x = input<"x", 4, 8>;
constexpr auto layer = ckpt<"s">(nn::linear<"fc", 8> | nn::gelu);
constexpr auto model = x | block<"a">(nn::relu | layer) | repeat<2, "b">([](auto) { return layer; });
constexpr auto loss = mean<>(square(model));

/// The regions of a model as text, in the order in which they begin. A region stands in the parentheses of the region
/// that contains it.
template <class Plan>
constexpr formula regions = [] {
  constexpr const auto& g = Plan::graph;
  constexpr std::string_view names[]{"program", "block", "stage", "iteration", "segment"};
  formula out;
  int open[20] = {}, depth = 0;
  for (int r = 0; r < g.region_count; ++r) {
    while (depth > 0 && open[depth - 1] != g.regions[r].parent) {
      out.write(")");
      --depth;
    }
    out.write(r == 0 ? "" : " ");
    out.write(names[static_cast<int>(g.regions[r].what)]);
    out.write("(");
    open[depth++] = r;
  }
  while (depth-- > 0) out.write(")");
  return out;
}();
/// The kinds of the regions around the only value of an operation, the innermost first.
template <class Plan>
constexpr formula around(std::string_view operation) {
  constexpr const auto& g = Plan::graph;
  constexpr std::string_view names[]{"program", "block", "stage", "iteration", "segment"};
  formula out;
  for (int v = 0; v < g.node_count; ++v) {
    if (g.op(v).name != operation) continue;
    for (int r = g.nodes[v].region;; r = g.regions[r].parent) {
      out.write(names[static_cast<int>(g.regions[r].what)]);
      if (r == 0) return out;
      out.write(" in ");
    }
  }
  return out;
}

// A chain inside a chain is part of the same chain. A region that is called in a stage lies inside the stage.
using plan = step_of<loss>;
static_assert(regions<plan> ==
              "program( stage( block( stage() stage( segment( stage() stage()))))"
              " stage( iteration( stage( segment( stage() stage()))) iteration( stage( segment( stage() stage())))))");
static_assert(around<plan>("relu") == "stage in block in stage in program");
static_assert(around<plan>("square") == "program");

// A pass decides which regions are segments. All programs of a model share its graph and its gradient.
using plain_plan = step_of<loss, plain>;
static_assert(detail::segments_in<plan>.size() == 3 && detail::segments_in<plain_plan>.empty());
static_assert(std::same_as<plan::model, plain_plan::model> &&
              std::same_as<plan::model, step_of<loss, threads<2>>::model>);
static_assert(&plan::graph == &plain_plan::graph && &plan::gradient == &plain_plan::gradient);
static_assert(plan::segments.count == 4 && plain_plan::segments.count == 1);

}  // namespace
