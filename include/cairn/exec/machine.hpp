// Where a program and a predictor have their memory, and how both run.
#pragma once

#include "cairn/core/philox.hpp"
#include "cairn/exec/executable.hpp"
#include "cairn/exec/use.hpp"

#include <xtensor/xadapt.hpp>

namespace cairn::detail {

/// A tensor in foreign memory as an xtensor view of static rank.
template <shape S, class Real>
auto tensor_view(Real* at) {
  std::array<std::size_t, static_cast<std::size_t>(S.rank)> extents;
  for (std::size_t axis = 0; axis < extents.size(); ++axis) extents[axis] = static_cast<std::size_t>(S.extent[axis]);
  return xt::adapt(at, static_cast<std::size_t>(S.count()), xt::no_ownership(), extents);
}

/// What program and predictor share: where the memory of a compiled model is, its inputs and its results.
template <class Compiled>
class machine {
 public:
  using real = typename Compiled::real;
  static constexpr const auto& graph = Compiled::graph;
  static constexpr const auto& layout = Compiled::layout;

  static constexpr const ir::operation& leaf(int i) { return *graph.nodes[graph.leaves[i].node].op; }

  template <fixed_string Name>
  static constexpr int parameter = graph.find(ir::role::parameter, Name);

  std::byte*& base(int which) { return bases_[which]; }
  std::byte*& leaf_base(int i) { return bases_[pass::leaf_base + i]; }
  std::byte* at(const pass::place& p) const { return bases_[p.base] + p.offset; }

  /// Runs all steps on these inputs, which are all checked before any is used.
  template <class... Bound>
  void run(const Bound&... bound) {
    (bound.template check<wanted<Bound>::shape, wanted<Bound>::classes>(), ...);
    ((leaf_base(graph.find(ir::role::input, Bound::name)) = bytes_of(bound.data)), ...);
    base(pass::constant_base) = bytes_of(executable<Compiled>::tables.constants);
    executable<Compiled>::run(bases_);
  }

  /// The keys of random operations: how many, and their streams in a step.
  static constexpr std::size_t key_count = [] {
    std::size_t n = 0;
    for (int i = 0; i < graph.leaf_count; ++i) n += leaf(i).what == ir::role::random ? 1 : 0;
    return n;
  }();
  using streams = std::array<random_stream, key_count>;
  static constexpr streams first_streams = [] {
    streams out;
    std::size_t n = 0;
    for (int i = 0; n < key_count; ++i) {
      if (leaf(i).what == ir::role::random) out[n++].operation = number_of(graph.name(graph.leaves[i]));
    }
    return out;
  }();
  /// Has random operations draw from `drawn`, which must outlive the next run.
  void draw_from(const streams& drawn) {
    std::size_t n = 0;
    for (int i = 0; n < key_count; ++i) {
      if (leaf(i).what == ir::role::random) leaf_base(i) = bytes_of(&drawn[n++]);
    }
  }

  /// The numbers of a result.
  template <int I>
  std::span<real> numbers() const {
    constexpr shape extents = graph.nodes[graph.outputs[I]].op->result;
    return {reinterpret_cast<real*>(at(layout.of[Compiled::schedule.outputs[I]])),
            static_cast<std::size_t>(extents.count())};
  }
  /// A number for a scalar, a view for a tensor.
  template <int I>
  auto result() const {
    constexpr shape extents = graph.nodes[graph.outputs[I]].op->result;
    if constexpr (extents.rank == 0) return numbers<I>()[0];
    else return tensor_view<extents>(numbers<I>().data());
  }
  /// The result, or a tuple where there are several.
  auto results() const {
    return [&]<int... I>(std::integer_sequence<int, I...>) {
      if constexpr (sizeof...(I) == 1) return (result<I>(), ...);
      else return std::tuple{result<I>()...};
    }(std::make_integer_sequence<int, graph.result_count>{});
  }

 private:
  /// Kernels only read what is bound; the table of bases is one for all memory.
  template <class T>
  static std::byte* bytes_of(const T* data) {
    return const_cast<std::byte*>(reinterpret_cast<const std::byte*>(data));
  }

  template <class Bound>
  using wanted = input_of<Compiled, Bound>;

  std::byte* bases_[pass::leaf_base + graph.leaf_count + 1] = {};
};

}  // namespace cairn::detail
