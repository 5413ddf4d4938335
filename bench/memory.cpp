// The planned memory of residual nets, by depth. The figures come from the plans alone, and nothing is trained. The
// blocks are the blocks of the README's network. There are four forms. In the plain form there are no segments. In the
// second form each block is a segment. In the third form about sqrt(n) segments have about sqrt(n) blocks each (Chen et
// al., Training Deep Nets with Sublinear Memory Cost, 2016). In the fourth form each block of these segments is a
// segment inside them.
//
// The program prints a table. If its argument is the name of a file, it also writes a plot into this file, as SVG.
#include <array>
#include <cairn/check/model.hpp>
#include <cairn/lang/checkpoint.hpp>
#include <cairn/nn/activation.hpp>
#include <cairn/nn/linear.hpp>
#include <cairn/op/loss.hpp>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <string>
#include <utility>

using namespace cairn;

namespace {

constexpr auto feed_forward = nn::linear<"fc1", 1024> | nn::gelu | nn::linear<"fc2", 256>;
constexpr auto residual = nn::residual(feed_forward);

/// Models with N blocks, in G groups.
template <int N, int G>
constexpr auto flat = repeat<N, "block">([](auto) { return ckpt<"ff">(residual); });
template <int N, int G>
constexpr auto grouped =
    repeat<G, "group">([](auto) { return ckpt<"blocks">(repeat<N / G, "block">([](auto) { return residual; })); });
template <int N, int G>
constexpr auto nested = repeat<G, "group">(
    [](auto) { return ckpt<"blocks">(repeat<N / G, "block">([](auto) { return ckpt<"ff">(residual); })); });

template <auto Blocks>
constexpr auto loss = cross_entropy(
    input<"images", 128, 784> | nn::linear<"embed", 256> | Blocks | nn::linear<"head", 10>, labels<"classes", 10, 128>);

/// Returns the greatest sum of bytes that are alive at once. Each value is rounded up to whole cache lines, as in the
/// arena. No arena can be smaller. The planned arena is larger if its free pieces are too small to be used.
template <class Compiled>
constexpr std::int64_t live_bytes() {
  constexpr const auto& s = Compiled::schedule;
  constexpr const auto& f = Compiled::steps;
  constexpr const auto& l = Compiled::loops;
  constexpr const auto& live = Compiled::ranges;
  constexpr const auto& p = Compiled::addresses;
  const auto bytes = [&](int v) { return plans::aligned(s.result(v).bytes); };
  bool alive[std::size(s.nodes)] = {};
  std::int64_t sum = 0, most = 0;
  const auto end = [&](int v) {
    sum -= alive[v] ? bytes(v) : 0;
    return std::exchange(alive[v], false);
  };
  for (int i = 0; i < f.step_count; ++i) {
    for (int m = f.steps[i].begin; m < f.steps[i].end; ++m) {
      const int w = f.members[m];
      if (!f.external[w] || p.outside_arena[w]) continue;
      plans::for_each_overwritable(s, f, l, live, p, i, w, end);
      alive[w] = true;
      sum += bytes(w);
    }
    most = std::max(most, sum + plans::aligned(plans::workspace_of(s, f.steps[i], 1)));
    plans::for_each_read(s, f, l, i, [&](int v) {
      if (live.last[v] == i) end(v);
    });
  }
  return most;
}

struct figures {
  std::int64_t live, planned, flops;
};
template <auto Loss, class... Options>
constexpr figures figures_of() {
  using compiled = detail::compiled_of<Loss, true, Options...>;
  return {live_bytes<compiled>(), detail::memory_in<compiled>.peak_bytes, detail::flops_in<compiled>.total()};
}

constexpr std::array forms{"plain", "each block", "sqrt(n) groups", "both, nested"};
constexpr std::array legend{"plain: no segments", "each block is a segment", "about √n segments of √n blocks",
                            "both, one inside the other"};
struct depth {
  int blocks;
  std::array<figures, forms.size()> of;
};
template <int N, int G>
constexpr figures plain_of = figures_of<loss<flat<N, G>>, plain>();
template <int N, int G>
constexpr figures flat_of = figures_of<loss<flat<N, G>>>();
template <int N, int G>
constexpr figures grouped_of = figures_of<loss<grouped<N, G>>>();
template <int N, int G>
constexpr figures nested_of = figures_of<loss<nested<N, G>>>();
template <int N, int G>
constexpr depth at{N, {plain_of<N, G>, flat_of<N, G>, grouped_of<N, G>, nested_of<N, G>}};

constexpr std::array depths{at<1, 1>, at<2, 2>, at<4, 2>, at<8, 4>, at<16, 4>, at<32, 8>, at<64, 8>};

double mib(std::int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }
double percent(std::int64_t part, std::int64_t whole) {
  return 100 * static_cast<double>(part) / static_cast<double>(whole);
}

void print_table() {
  std::printf("%6s  %-16s%10s%14s%8s%12s%8s\n", "blocks", "segments", "live MiB", "planned MiB", "above", "of plain",
              "work");
  for (const depth& d : depths) {
    for (std::size_t i = 0; i < forms.size(); ++i) {
      const figures &f = d.of[i], &p = d.of[0];
      std::printf("%6d  %-16s%10.2f%14.2f%6.1f %%%10.0f %%%6.0f %%\n", d.blocks, forms[i], mib(f.live), mib(f.planned),
                  percent(f.planned, f.live) - 100, percent(f.planned, p.planned), percent(f.flops, p.flops));
    }
  }
}

/// Draws the plot. Both axes are logarithmic to base 2. If a line rises by one square per square, memory grows in
/// proportion to depth. The lines show the planned arenas, and the dots show the bytes that are alive at once.
struct plot {
  static constexpr double left = 76, right = 692, top = 72, bottom = 392, most = 128;
  std::ofstream& out;

  static double x(double blocks) { return left + (right - left) * std::log2(blocks) / 6; }
  static double y(double size) { return bottom - (bottom - top) * std::log2(size) / std::log2(most); }

  void text(double at_x, double at_y, const char* kind, const auto& what) {
    out << "<text x='" << at_x << "' y='" << at_y << "' class='" << kind << "'>" << what << "</text>\n";
  }
  void line(double x1, double y1, double x2, double y2, const std::string& kind) {
    out << "<line x1='" << x1 << "' y1='" << y1 << "' x2='" << x2 << "' y2='" << y2 << "' class='" << kind << "'/>\n";
  }
  void dot(double at_x, double at_y, const std::string& kind) {
    out << "<circle cx='" << at_x << "' cy='" << at_y << "' r='4' class='" << kind << "'/>\n";
  }
  void grid() {
    for (int size = 1; size <= static_cast<int>(most); size *= 2) {
      line(left, y(size), right, y(size), "grid");
      text(left - 8, y(size) + 4, "end", size);
    }
    for (const depth& d : depths) {
      line(x(d.blocks), top, x(d.blocks), bottom, "grid");
      text(x(d.blocks), bottom + 20, "middle", d.blocks);
    }
    text(24, 30, "title", "Memory of a training step, by depth");
    text(24, 50, "start", "Lines: the planned arena. Dots: the most bytes that live at once; no arena can be smaller.");
    text((left + right) / 2, bottom + 46, "middle", "residual blocks (each 256 to 1024 to 256 wide, batch of 128)");
    out << "<text transform='translate(30 " << (top + bottom) / 2
        << ") rotate(-90)' class='middle'>arena, in MiB</text>\n";
  }
  void curve(std::size_t form) {
    const std::string kind = "form" + std::to_string(form);
    out << "<polyline class='" << kind << "' points='";
    for (const depth& d : depths) out << x(d.blocks) << ',' << y(mib(d.of[form].planned)) << ' ';
    out << "'/>\n";
    for (const depth& d : depths) dot(x(d.blocks), y(mib(d.of[form].live)), kind);
    const double row = top + 28 + 22 * static_cast<double>(form);
    line(left + 20, row, left + 60, row, kind);
    dot(left + 40, row, kind);
    text(left + 70, row + 4, "start", legend[form]);
  }
  void draw() {
    out << R"(<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 720 456' font-family='sans-serif' font-size='13'>
<style>
  .paper { fill: #ffffff } text { fill: #24292f } .grid { stroke: #e2e5e9 }
  .title { font-size: 17px; font-weight: bold } .middle { text-anchor: middle } .end { text-anchor: end }
  [class^=form] { stroke-width: 2.5 } polyline { fill: none } circle { fill: #ffffff }
  .form0 { stroke: #7a808a } .form1 { stroke: #2878d0 } .form2 { stroke: #d9730d } .form3 { stroke: #12966a }
  polyline.form2, line.form2 { stroke-dasharray: 8 4 }
</style>
<rect width='720' height='456' class='paper'/>
)";
    grid();
    out << "<rect x='" << left + 8 << "' y='" << top + 8 << "' width='282' height='100' class='paper'/>\n";
    for (std::size_t form = 0; form < forms.size(); ++form) curve(form);
    out << "</svg>\n";
  }
};

}  // namespace

int main(int count, char** arguments) {
  print_table();
  if (count < 2) return 0;
  std::ofstream file(arguments[1]);
  plot{file}.draw();
  if (file.flush()) std::printf("plot: %s\n", arguments[1]);
  return file ? 0 : 1;
}
