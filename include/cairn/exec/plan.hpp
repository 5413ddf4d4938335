// The figures of a plan, as constants.
#pragma once

#include "cairn/exec/verify.hpp"

#include <array>
#include <concepts>
#include <limits>

namespace cairn {

// Options of a program.

/// The element type: `program<loss, real<double>>`.
template <std::floating_point Real>
struct real {};
/// Parameters that are not trained, by name or by the name of a block around them.
template <fixed_string... Name>
struct freeze {};
/// Inputs that get a gradient, too: `program<loss, wrt<"images">>`, then `step.grad<"images">()`. With freeze, of what
/// is left alone backward computes the gradient.
template <fixed_string... Name>
struct wrt {};
/// Backward goes out from a given gradient of the first output, which may have any shape: an input of this name and of
/// that shape. `program<y, cotangent<"v">>` has the gradients of sum(y * v), and returns y.
template <fixed_string Name>
struct cotangent {};
/// Each step adds its gradients to those of the steps before, as for a batch in parts: `program<loss,
/// accumulate_gradients>`; `step.zero_grad()` starts anew.
struct accumulate_gradients {};
/// The same model with each ckpt taken as a block: only what costs little is computed again.
struct plain {};
/// Throws where a step's loss, or a number of its first output, is not finite: `program<loss, check_finite>`.
struct check_finite {};
/// The most threads that a step uses, with OpenMP (-fopenmp) and where the work is worth it: `program<loss,
/// threads<4>>`. Results are the same in every bit for any number. Each thread has scratch of its own in the arena.
template <int Most>
  requires(Most >= 1)
struct threads {};
/// The most bytes that the arena may have: `program<loss, budget<4_MiB>>`; a step that needs more does not compile.
template <std::int64_t Bytes>
struct budget {};

/// Bytes of a step.
struct memory_plan {
  std::int64_t stored_bytes;     ///< forward values alive at the turn, without leaves and results
  std::int64_t peak_bytes;       ///< the arena: values of forward, recomputation and backward, and kernel scratch
  std::int64_t parameter_bytes;  ///< the flat block of parameters, each aligned to 64 bytes
  std::int64_t gradient_bytes;   ///< of the trained parameters, in the same layout; then of inputs in wrt<...>
  constexpr std::int64_t total_bytes() const { return peak_bytes + parameter_bytes + gradient_bytes; }
};

/// Floating-point operations of a step; a product of {m, k} and {k, n} counts 2 m n k.
struct flop_counts {
  std::int64_t forward, backward, recomputed;
  constexpr std::int64_t total() const { return forward + backward + recomputed; }
};

/// What a segment costs and frees.
struct segment_plan {
  std::string_view path;
  std::int64_t boundary_bytes;  ///< arguments that are computed values
  std::int64_t interior_bytes;  ///< what would be kept for backward if the segment were a block
  int recomputed_operations;    ///< graph operations executed a second time, before fusion
  std::int64_t recomputed_flops;
};

/// `static_assert(train_step::memory().peak_bytes <= 4_MiB)`.
inline namespace literals {
consteval std::int64_t operator""_KiB(unsigned long long n) { return static_cast<std::int64_t>(n) << 10; }
consteval std::int64_t operator""_MiB(unsigned long long n) { return static_cast<std::int64_t>(n) << 20; }
consteval std::int64_t operator""_GiB(unsigned long long n) { return static_cast<std::int64_t>(n) << 30; }
}  // namespace literals

namespace detail {
/// A request with options, one after the other.
template <class Request, class... Options>
struct with {
  using type = Request;
};
template <class R, class G, int P, int T, class F, class... U, class Unknown, class... More>
struct with<pass::request<R, G, P, T, F, U...>, Unknown, More...>
    : with<pass::request<R, G, P, T, F, U..., Unknown>, More...> {};
template <class R, class G, int P, int T, class F, class... U, class Real, class... More>
struct with<pass::request<R, G, P, T, F, U...>, real<Real>, More...>
    : with<pass::request<Real, G, P, T, F, U...>, More...> {};
template <class R, class G, int P, int T, class F, class... U, class... More>
struct with<pass::request<R, G, P, T, F, U...>, plain, More...>
    : with<pass::request<R, G, pass::all_blocks, T, F, U...>, More...> {};
template <class R, class G, int P, int T, class F, class... U, class... More>
struct with<pass::request<R, G, P, T, F, U...>, check_finite, More...>
    : with<pass::request<R, G, P, T, F, U...>, More...> {};
template <class R, class G, int P, int T, fixed_string... Old, class... U, fixed_string... Name, class... More>
struct with<pass::request<R, G, P, T, pass::name_list<Old...>, U...>, freeze<Name...>, More...>
    : with<pass::request<R, G, P, T, pass::name_list<Old..., Name...>, U...>, More...> {};
template <class R, bool G, fixed_string... W, class V, bool A, int P, int T, class F, class... U, fixed_string... Name,
          class... More>
struct with<pass::request<R, pass::backward<G, pass::name_list<W...>, V, A>, P, T, F, U...>, wrt<Name...>, More...>
    : with<pass::request<R, pass::backward<G, pass::name_list<W..., Name...>, V, A>, P, T, F, U...>, More...> {};
template <class R, bool G, class W, class V, bool A, int P, int T, class F, class... U, fixed_string Name,
          class... More>
struct with<pass::request<R, pass::backward<G, W, V, A>, P, T, F, U...>, cotangent<Name>, More...>
    : with<pass::request<R, pass::backward<G, W, pass::name_list<Name>, A>, P, T, F, U...>, More...> {};
template <class R, bool G, class W, class V, bool A, int P, int T, class F, class... U, class... More>
struct with<pass::request<R, pass::backward<G, W, V, A>, P, T, F, U...>, accumulate_gradients, More...>
    : with<pass::request<R, pass::backward<G, W, V, true>, P, T, F, U...>, More...> {};

template <class R, class G, int P, int T, class F, class... U, int Most, class... More>
struct with<pass::request<R, G, P, T, F, U...>, threads<Most>, More...>
    : with<pass::request<R, G, P, Most, F, U...>, More...> {};
template <class R, class G, int P, int T, class F, class... U, std::int64_t Bytes, class... More>
struct with<pass::request<R, G, P, T, F, U...>, budget<Bytes>, More...>
    : with<pass::request<R, G, P, T, F, U...>, More...> {};

template <bool Gradient, class... Options>
using request_of =
    typename with<pass::request<float, pass::backward<Gradient>, 0, 1, pass::name_list<>>, Options...>::type;
template <class... Options>
using element_of = typename request_of<true, Options...>::real;

template <an_expression E>
output_list<E> as_outputs(E);
template <class... E>
output_list<E...> as_outputs(output_list<E...>);
template <a_layer L>
output_list<rejected> as_outputs(L);
template <std::size_t... I>
output_list<std::conditional_t<(I >= 0), rejected, void>...> rejected_outputs(std::index_sequence<I...>);
template <class Report, std::size_t N>
auto as_outputs(reported_outputs<Report, N>) -> decltype(rejected_outputs(std::make_index_sequence<N>{}));

template <auto Output, bool Gradient, class... Options>
using compiled_of = pass::compiled<request_of<Gradient, Options...>, decltype(as_outputs(Output))>;

template <class Option>
inline constexpr std::int64_t bytes_allowed = std::numeric_limits<std::int64_t>::max();
template <std::int64_t Bytes>
inline constexpr std::int64_t bytes_allowed<budget<Bytes>> = Bytes;

/// The mistake in a model or in what is asked of it, or sound.
template <class Compiled, class... Options>
constexpr auto problem_with_options() {
  constexpr std::int64_t allowed = std::min({std::numeric_limits<std::int64_t>::max(), bytes_allowed<Options>...});
  if constexpr (!std::same_as<problem_in<Compiled>, sound>) {
    return problem_in<Compiled>{};
  } else if constexpr (allowed == std::numeric_limits<std::int64_t>::max()) {
    return sound{};
  } else if constexpr (Compiled::layout.peak_bytes > allowed) {
    return mistake<over_budget, top_scope, fact::budget_bytes<allowed>,
                   fact::peak_bytes<Compiled::layout.peak_bytes>>{};
  } else {
    return sound{};
  }
}
template <class Compiled, class... Options>
using problem_with = decltype(problem_with_options<Compiled, Options...>());

/// Whether a program can be made of Output, which needs no kernels to tell; else the mistake is reported.
template <auto Output, class... Options>
constexpr bool checked() {
  return report_of<problem_with<compiled_of<Output, true, Options...>, Options...>>{}.shown;
}

template <class Compiled>
constexpr memory_plan memory_of() {
  const auto& l = Compiled::layout;
  return {Compiled::slots.stored_bytes, l.peak_bytes, Compiled::places.parameter_bytes,
          Compiled::places.gradient_bytes};
}

template <class Compiled>
constexpr flop_counts flops_of() {
  const auto& s = Compiled::schedule;
  flop_counts counts{};
  for (int v = 0; v < s.node_count; ++v) {
    std::int64_t& part = s.again[v] ? counts.recomputed : v < s.turn ? counts.forward : counts.backward;
    part += s.nodes[v].op->flops;
  }
  return counts;
}

template <class Compiled>
constexpr auto segments_of() {
  const auto& g = Compiled::graph;
  const auto& s = Compiled::schedule;
  std::array<segment_plan, static_cast<std::size_t>(Compiled::graph.segment_count - 1)> out{};
  for (std::size_t i = 1; i <= out.size(); ++i) {
    out[i - 1] = {g.name(g.segments[i]), s.boundary_bytes[i], s.interior_bytes[i], s.recomputed[i].operations,
                  s.recomputed[i].flops};
  }
  return out;
}
}  // namespace detail

}  // namespace cairn
