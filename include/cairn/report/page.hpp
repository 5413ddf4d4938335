// Writes a profile as a page for a browser: `report::page(out, p)`. The page is one file and loads nothing.
#pragma once

#include "cairn/base/macros_aside.hpp"
#include "cairn/report/json.hpp"
#include "cairn/report/page_script.hpp"
#include "cairn/report/page_style.hpp"
#include "cairn/report/profiled.hpp"
#include "cairn/report/stream.hpp"

#include <locale>
#include <ostream>

namespace cairn::report {

namespace detail {
/// Writes the data for the page's script as JSON. A row is an object, and all rows of a table have the same entries.
struct page_writer {
  std::ostream& out;
  const profiled& p;

  struct entry {
    const char* name;
    std::string value;
    entry(const char* n, std::string_view text) : name(n), value(json_text(text)) {}
    entry(const char* n, const char* text) : entry(n, std::string_view(text)) {}
    entry(const char* n, const std::string& text) : entry(n, std::string_view(text)) {}
    entry(const char* n, std::integral auto whole) : name(n), value(std::to_string(whole)) {}
    entry(const char* n, double number) : name(n), value(json_number(number)) {}
  };
  void object(std::initializer_list<entry> entries) {
    for (const entry& e : entries) out << (&e == entries.begin() ? "{\"" : ",\"") << e.name << "\":" << e.value;
    out << '}';
  }
  /// Writes a table with `count` rows. `row(i)` writes the object of row i.
  void table(const char* name, std::size_t count, auto row) {
    out << ",\n\"" << name << "\":[";
    for (std::size_t i = 0; i < count; ++i) {
      out << (i > 0 ? ",\n" : "\n");
      row(i);
    }
    out << ']';
  }

  void share(std::string_view name, const profiled_share& s, int count = 0) {
    object({{"name", name},
            {"count", count},
            {"seconds", s.seconds},
            {"flops", s.flops},
            {"bytes", s.bytes},
            {"least", s.least}});
  }
  void step(const profiled_step& s, int segment) {
    object({{"name", s.operations},
            {"origin", s.origin},
            {"part", static_cast<int>(s.what)},
            {"segment", segment},
            {"flops", s.flops},
            {"again", s.recomputed_flops},
            {"read", s.read},
            {"written", s.written},
            {"live", s.live},
            {"seconds", s.seconds},
            {"least", s.least},
            {"by", s.by_memory ? "memory" : "arithmetic"}});
  }
  void segment(std::size_t i, const phase_shares& s) {
    const segment_plan plan = i > 0 ? p.plan.plans[i - 1] : segment_plan{"outside of segments", 0, 0, 0, 0};
    const segment_entry& at = p.plan.segments[i];
    object({{"name", plan.path},
            {"parent", at.parent},
            {"depth", at.depth},
            {"forward", s[0].seconds},
            {"again", s[1].seconds},
            {"backward", s[2].seconds},
            {"boundary", plan.boundary_bytes},
            {"freed", plan.interior_bytes},
            {"operations", plan.recomputed_operations},
            {"flops", s[1].flops}});
  }
  void held(const holding& h, const std::vector<std::string>& layers) {
    const auto row = [&](std::string_view name, const std::string& origin, const std::string& extents, int what,
                         int segment) {
      object({{"name", name},
              {"origin", origin},
              {"extents", extents},
              {"part", what},
              {"segment", segment},
              {"from", h.from},
              {"to", h.to},
              {"offset", h.offset},
              {"bytes", h.bytes}});
    };
    const auto& by = p.plan.steps[static_cast<std::size_t>(h.from)];
    if (h.value < 0) return row("scratch", "of the step", "", 3, by.segment);
    const value& v = p.plan[h.value];
    std::ostringstream extents;
    extents.imbue(std::locale::classic());
    extents << extents_of{v.extents, v.type};
    row(v.operation, origin_of(p.plan, layers, h.value), extents.str(), static_cast<int>(phase_of(p.plan, h.value)),
        v.segment);
  }

  void data() {
    const auto phases = by_phase(p);
    const auto operations = by_operation(p);
    const auto segments = by_segment(p);
    const auto holdings = holdings_of(p.plan);
    const auto layers = layers_of(p.plan);
    const memory_plan& m = p.plan.memory;
    out << "{\"figures\":";
    object({{"rounds", p.rounds},
            {"threads", p.threads},
            {"turn", p.plan.step_turn},
            {"peak", m.peak_bytes},
            {"stored", m.stored_bytes},
            {"parameters", m.parameter_bytes},
            {"gradients", m.gradient_bytes},
            {"moment_bytes", m.moment_bytes},
            {"division_bytes", m.division_bytes},
            {"all", m.total_bytes()},
            {"flops", p.limits.flops},
            {"memory", p.limits.moved.back().rate},
            {"cache", p.limits.moved.front().rate}});
    table("parts", phases.size(), [&](std::size_t i) { share(phase_names[i], phases[i]); });
    table("operations", operations.size(),
          [&](std::size_t i) { share(operations[i].name, operations[i], operations[i].count); });
    table("segments", segments.size(), [&](std::size_t i) { segment(i, segments[i]); });
    table("steps", p.steps.size(), [&](std::size_t i) { step(p.steps[i], p.plan.steps[i].segment); });
    table("held", holdings.size(), [&](std::size_t i) { held(holdings[i], layers); });
    out << "}\n";
  }
};
}  // namespace detail

/// Writes the page. It shows the arena over the time of a training step: which values lie where, and how long. The
/// figures of parts, segments, operations and plan steps are tables that can be sorted.
inline void page(std::ostream& out, const profiled& p) {
  const detail::plain_numbers guard(out);
  out << detail::page_head << detail::page_style << detail::page_body;
  detail::page_writer{out, p}.data();
  out << "</script>\n" << detail::page_script << "</body>\n</html>\n";
}

}  // namespace cairn::report

#include "cairn/base/macros_back.hpp"
