// Checks of the segments of a whole program, and of their policies. Each check returns `sound` or a mistake.
#pragma once

#include "cairn/check/figures.hpp"
#include "cairn/check/names.hpp"

namespace cairn::detail {

/// Rejects a policy that fits nothing in its segment.
struct policies_fit {
  template <class Compiled>
  static constexpr auto of() {
    constexpr const auto& g = Compiled::graph;
    constexpr graphs::misfit wrong = g.wrong.policy;
    if constexpr (wrong.region == 0) {
      return sound{};
    } else {
      using where = about<fact::segment, region_name<Compiled, wrong.region>>;
      if constexpr (wrong.name_length == 0) {
        return mistake<misuse::idle_policy, top_scope, where, fact::policy<wrong.policy>>{};
      } else {
        constexpr auto wanted = text_of_name<[] { return g.name(g.wrong.policy); }>;
        constexpr int known = nearest(g.tag_count, wanted, [=](int i) {
          const std::string_view name = g.name(g.tags[i]);
          // the tag exists, but outside of the segment
          return name == std::string_view(wanted) ? std::string_view{} : name;
        });
        if constexpr (known == graphs::none)
          return mistake<misuse::unknown_tag, top_scope, where, about<fact::tag, wanted>>{};
        else
          return mistake<misuse::unknown_tag, top_scope, where, about<fact::tag, wanted>,
                         about<fact::nearest, tag_name<Compiled, known>>>{};
      }
    }
  }
};

/// Rejects a segment in which nothing needs a gradient.
struct segments_are_differentiated {
  template <class Compiled>
  static constexpr auto of() {
    constexpr int region = [] {
      for (int i = 1; i < Compiled::segments.count; ++i) {
        const int r = Compiled::segments.all[i].region;
        if (!Compiled::segments.all[i].placed && !Compiled::gradient.reached[r] &&
            !Compiled::graph.regions[r].may_be_useless)
          return r;
      }
      return 0;
    }();
    if constexpr (region == 0) return sound{};
    else return mistake<misuse::zero_grad_segment, top_scope, about<fact::segment, region_name<Compiled, region>>>{};
  }
};

/// The first segment that frees no more bytes than it costs, unless the user allowed the segment to be useless; 0 if
/// there is none. A segment is not judged if the forward pass recomputes one of its values for a gradient in the
/// forward pass: the segment then frees bytes there.
template <class Compiled>
inline constexpr int useless_segment_of = [] {
  constexpr const auto& in = Compiled::segments;
  constexpr const auto& s = Compiled::schedule;
  bool of_use[in.count] = {};
  for (int v = 0; v < s.turn; ++v) of_use[s.segment[v]] |= s.recomputes[v] != graphs::none;
  for (int i = 1; i < in.count; ++i) {
    of_use[i] |= in.all[i].placed || Compiled::graph.regions[in.all[i].region].may_be_useless;
    if (!of_use[i] && Compiled::costs.interior_bytes[i] <= Compiled::costs.extra_bytes[i]) return i;
  }
  return 0;
}();
/// The same plan, without frozen parameters.
template <class Compiled>
struct unfrozen;
template <class Real, bool Trains, bool Accumulates, class Frozen, class Wanted, class Cotangent, class Updates,
          class Division, class Outputs, int BlockLevels, int Threads, class Placed>
struct unfrozen<plans::compiled<
    plans::model<plans::purpose<Real, Trains, Accumulates, Frozen, Wanted, Cotangent, Updates, Division>, Outputs>,
    BlockLevels, Threads, Placed>> {
  using purpose = plans::purpose<Real, Trains, Accumulates, name_list<>, Wanted, Cotangent>;
  using type = plans::compiled<plans::model<purpose, Outputs>, BlockLevels, Threads, Placed>;
};
/// Rejects a useless segment. If parameters are frozen, the segment must also be useless without freezing, because
/// another program may train these parameters.
struct segments_are_of_use {
  template <class Compiled>
  static constexpr auto of() {
    constexpr int useless = useless_segment_of<Compiled>;
    if constexpr (useless == 0) {
      return sound{};
    } else if constexpr (Compiled::model::purpose::frozen::count > 0) {
      return of<typename unfrozen<Compiled>::type>();
    } else {
      constexpr auto path = region_name<Compiled, Compiled::segments.all[useless].region>;
      return mistake<misuse::useless_segment, top_scope, about<fact::segment, path>,
                     fact::frees<Compiled::costs.interior_bytes[useless]>,
                     fact::keeps<Compiled::costs.extra_bytes[useless]>>{};
    }
  }
};

/// Returns the outermost segment if it is the whole model, or 0. The segment must be the only outermost one. It must
/// read all parameters, of more than one layer, and no computed values.
template <class Graph, class Segments>
constexpr int whole_model_of(const Graph& g, const Segments& in) {
  int outermost = 0;
  for (int i = 1; i < in.count; ++i) {
    if (in.all[i].parent != 0) continue;
    if (outermost != 0) return 0;
    outermost = i;
  }
  if (outermost == 0 || in.all[outermost].placed) return 0;
  for (int v = 0; v < g.node_count; ++v) {
    for (int i = 0; i < g.op(v).argument_count; ++i) {
      const int a = g.argument(v, i);
      const bool parameter = g.op(a).what == graphs::role::parameter;
      const bool computed = !graphs::is_leaf(g.op(a).what) && in.of[a] == 0;
      if (in.of[v] == 0 ? parameter : computed) return 0;
    }
  }
  int parameters = 0;
  for (int i = 0; i < g.leaf_count; ++i) parameters += g.leaf_op(i).what == graphs::role::parameter;
  return g.regions[in.all[outermost].region].may_be_useless || parameters <= 2 ? 0 : outermost;
}
/// Rejects a segment that is the whole model, if the arena is no smaller than without the segment.
struct segments_are_parts {
  template <class Compiled>
  static constexpr auto of() {
    constexpr int whole = whole_model_of(Compiled::graph, Compiled::segments);
    if constexpr (whole == 0) {
      return sound{};
    } else {
      using peeled = plans::compiled<typename Compiled::model, 1, Compiled::threads>;
      if constexpr (peeled::layout.peak_bytes > Compiled::layout.peak_bytes) return sound{};
      else
        return mistake<misuse::whole_model_in_segment, top_scope,
                       about<fact::segment, region_name<Compiled, Compiled::segments.all[whole].region>>,
                       fact::peak_bytes<Compiled::layout.peak_bytes>, fact::as_block<peeled::layout.peak_bytes>>{};
    }
  }
};

}  // namespace cairn::detail
