// What users hold: a training step or a predictor of a model.
#pragma once

#include "cairn/exec/arena.hpp"
#include "cairn/exec/machine.hpp"
#include "cairn/exec/plan.hpp"
#include "cairn/exec/unknown.hpp"

#include <cmath>
#include <cstring>

namespace cairn {

namespace detail {
/// Whether a model holds a mistake that has been reported.
template <class Output>
inline constexpr bool mistaken = wrong<Output>;
template <class... E>
inline constexpr bool mistaken<output_list<E...>> = (wrong<E> || ...);
template <class Output>
inline constexpr bool mistaken<const Output> = mistaken<Output>;

/// The mistake of asking for a program or a predictor; sound where there is none, or where the model's is reported.
template <auto Output, bool Gradient, class... Options>
constexpr auto problem_of_program() {
  if constexpr (mistaken<decltype(Output)>) return sound{};
  else if constexpr (a_layer<decltype(Output)>)
    return mistake<layer_for_expression, top_scope, fact::given<fact::layer>>{};
  else return problem_with<compiled_of<Output, Gradient, Options...>, Options...>{};
}
template <auto Output, bool Gradient, class... Options>
inline constexpr bool runs =
    !mistaken<decltype(Output)> && std::same_as<decltype(problem_of_program<Output, Gradient, Options...>()), sound>;
}  // namespace detail

/// Which random numbers a program's next step draws.
struct random_state {
  seed from;               ///< of init
  std::uint32_t step = 0;  ///< how many steps were since; after 2^32 the numbers come again
};

/// A step's loss is infinite or not a number. Its gradients are of no use; parameters and states are as they were.
struct loss_error : std::domain_error {
  explicit loss_error(double loss)
      : std::domain_error("cairn: the loss is " + (std::isnan(loss) ? "nan" : std::to_string(loss)) +
                          ", expected a finite number"),
        actual(loss) {}
  double actual;
};

/// A training step of a model; parameters, their gradients and the arena are one allocation.
/// Output: a scalar expression, or outputs(loss, ...). Options: real<double>, freeze<"name">, wrt<"name">,
/// cotangent<"name">, accumulate_gradients, plain, check_finite, budget<4_MiB>, threads<4>.
/// Rejects: a loss that is no scalar and has no cotangent, or that reaches nothing to train; a parameter or an input of
/// wrt<...> that it does not depend on; a segment in which nothing needs a gradient, or that keeps no less than it
/// frees; one name for two leaves or for two random operations; two updates of one state; outputs of indices.
template <auto Output, class... Options>
class program {
  using compiled = detail::compiled_of<Output, true, Options...>;
  using machine = detail::machine<compiled>;
  static constexpr const auto& graph = compiled::graph;
  static constexpr const auto& layout = compiled::layout;
  static constexpr const auto& places = compiled::places;

 public:
  using real_type = typename compiled::real;
  /// The most threads that a step uses.
  static constexpr int threads = compiled::request::threads;

  /// Bytes of a step.
  static constexpr memory_plan memory() { return detail::memory_of<compiled>(); }
  /// Floating-point operations of a step.
  static constexpr flop_counts flops() { return detail::flops_of<compiled>(); }
  /// The segments in the order of the forward pass.
  static constexpr auto segments() { return detail::segments_of<compiled>(); }

  /// Whether operations in it are random.
  static constexpr bool is_random() { return machine::key_count > 0; }

  /// Allocates memory().total_bytes() bytes, once.
  program() : program(memory_block(bytes_needed)) {}
  /// Lives in the first memory().total_bytes() bytes of the caller's memory, which must outlive it; allocates nothing.
  /// Throws memory_error where they are too few, or do not start at a multiple of 64 bytes.
  explicit program(std::span<std::byte> given) : program(memory_block(given, bytes_needed)) {}

  /// Draws all parameters, and has states begin anew; a parameter's numbers depend on the seed and on its name alone.
  /// The seed is also what random operations draw from: with the same seed, the steps from here on draw the same.
  /// Accumulated gradients are zero again.
  void init(seed s) {
    random_ = {s, 0};
    if constexpr (compiled::request::backward::accumulates) zero_grad();
    for (int i = 0; i < graph.leaf_count; ++i) {
      const ir::operation& leaf = machine::leaf(i);
      if (leaf.what != ir::role::parameter) continue;
      const std::span values(real_at(i), static_cast<std::size_t>(leaf.result.count()));
      random_sequence draw(s, ir::hash_of(graph.name(graph.leaves[i])));
      for (real_type& value : values) {
        value = static_cast<real_type>(leaf.value > 0 ? (2 * uniform(draw()) - 1) * leaf.value : leaf.fill);
      }
    }
  }

  /// One step: the loss, or a tuple of all outputs (scalars as numbers, others as views valid until the next step).
  /// Overwrites the gradients, or with accumulate_gradients adds to them, and updates states. Throws extent_error or
  /// label_error before anything is computed; with check_finite, loss_error after a step whose loss is not finite,
  /// which leaves states as they were.
  template <class... Bound>
  auto value_and_grad(const Bound&... inputs) {
    using problem = decltype(detail::problem_of_inputs<compiled, Bound...>());
    static_assert(report_of<problem>{}.shown);
    if constexpr (std::same_as<problem, sound>) {
      auto streams = machine::first_streams;
      for (random_stream& s : streams) {
        s.from = random_.from;
        s.step = random_.step;
      }
      machine_.draw_from(streams);
      machine_.run(inputs...);
      ++random_.step;
    }
    for (int i = 0; i < places.copy_count; ++i) {
      const pass::gradient_copy& copy = places.copies[i];
      std::memcpy(gradient_at(copy.leaf), machine_.at(layout.of[copy.value]),
                  static_cast<std::size_t>(machine::leaf(copy.leaf).bytes));
    }
    if constexpr ((std::same_as<Options, check_finite> || ...)) {
      for (const real_type number : machine_.template numbers<0>()) {
        if (!std::isfinite(number)) throw loss_error(static_cast<double>(number));
      }
    }
    for (int i = 0, n = graph.result_count; n < graph.output_count; ++i) {
      if (graph.leaves[i].after == 0) continue;
      std::memcpy(real_at(i), machine_.at(layout.of[compiled::schedule.outputs[n++]]),
                  static_cast<std::size_t>(machine::leaf(i).bytes));
    }
    return machine_.results();
  }

  /// Makes all gradients zero.
  void zero_grad()
    requires compiled::request::backward::accumulates
  {
    std::fill_n(machine_.base(pass::gradient_base), places.gradient_bytes, std::byte{});
  }

  /// A parameter or a state, as an xtensor view of static rank.
  template <fixed_string Name>
  auto param() {
    static_assert(report_of<decltype(detail::problem_of_parameter<compiled, Name>())>{}.shown);
    constexpr int i = std::max(machine::template parameter<Name>, 0);
    return detail::tensor_view<machine::leaf(i).result>(real_at(i));
  }
  /// The gradient of a trained parameter, or of an input in wrt<...>: of the last step; with accumulate_gradients, of
  /// all since zero_grad.
  template <fixed_string Name>
  auto grad() {
    static_assert(report_of<decltype(detail::problem_of_gradient<compiled, Name>())>{}.shown);
    constexpr int i = std::max(detail::gradient_leaf<compiled, Name>, 0);
    return detail::tensor_view<machine::leaf(i).result>(gradient_at(i));
  }

  /// All trained parameters as one block; each starts at a multiple of 64 bytes, and what lies between is zero.
  std::span<real_type> parameters() { return {reinterpret_cast<real_type*>(memory_.data()), block_size}; }
  /// Calls visit(i) for each number of parameters() that is no padding.
  void for_each_trained(auto visit) const {
    for (int leaf = 0; leaf < graph.leaf_count; ++leaf) {
      if (!compiled::asked.trained[leaf]) continue;
      const std::size_t begin = static_cast<std::size_t>(places.offset[leaf]) / sizeof(real_type);
      for (std::size_t i = 0; i < static_cast<std::size_t>(machine::leaf(leaf).result.count()); ++i) visit(begin + i);
    }
  }
  /// The gradients of all trained parameters, laid out like these.
  std::span<real_type> gradients() {
    return {reinterpret_cast<real_type*>(machine_.base(pass::gradient_base)), block_size};
  }
  /// Which random numbers the next step draws: to keep and to set, as by who goes on with saved parameters.
  random_state& random() { return random_; }
  /// The arena, to look at: what a step writes.
  std::span<std::byte> arena() {
    return {machine_.base(pass::arena_base), static_cast<std::size_t>(layout.peak_bytes)};
  }

 private:
  template <auto, class...>
  friend class predictor;
  static constexpr std::size_t bytes_needed = static_cast<std::size_t>(memory().total_bytes());
  static constexpr std::size_t block_size = static_cast<std::size_t>(places.trained_bytes) / sizeof(real_type);

  real_type* real_at(int leaf) { return reinterpret_cast<real_type*>(machine_.leaf_base(leaf)); }
  real_type* gradient_at(int leaf) {
    return reinterpret_cast<real_type*>(machine_.base(pass::gradient_base) + places.offset[leaf]);
  }

  explicit program(memory_block memory) : memory_(std::move(memory)) {
    std::byte* const at = memory_.data();
    machine_.base(pass::gradient_base) = at + places.parameter_bytes;
    machine_.base(pass::arena_base) = at + places.parameter_bytes + places.gradient_bytes;
    for (int i = 0; i < graph.leaf_count; ++i) {
      if (machine::leaf(i).what == ir::role::parameter) machine_.leaf_base(i) = at + places.offset[i];
    }
  }

  memory_block memory_;
  machine machine_;
  random_state random_;
};

/// The forward pass of any expression, sharing the parameters of a program by name; the program must outlive it.
/// Nothing is random in it, and no state changes: dropout leaves its argument as it is.
/// `predictor<logits> predict{step}; auto y = predict(bind<"images">(x));`
/// Rejects: a parameter that the program does not have, or has in another shape.
template <auto Output, class... Options>
class predictor {
  using compiled = detail::compiled_of<Output, false, Options...>;
  using machine = detail::machine<compiled>;
  static constexpr const auto& graph = compiled::graph;

 public:
  using real_type = typename compiled::real;

  static constexpr memory_plan memory() { return detail::memory_of<compiled>(); }
  static constexpr flop_counts flops() { return detail::flops_of<compiled>(); }

  template <auto Trained, class... TrainedOptions>
    requires(!detail::runs<Trained, true, TrainedOptions...>)
  explicit predictor(program<Trained, TrainedOptions...>&, std::span<std::byte> = {}) : memory_(0) {}

  /// Allocates memory().peak_bytes bytes, once.
  template <auto Trained, class... TrainedOptions>
    requires detail::runs<Trained, true, TrainedOptions...>
  explicit predictor(program<Trained, TrainedOptions...>& trained) : predictor(trained, memory_block(bytes_needed)) {
    static_assert(report_of<sharing_with<program<Trained, TrainedOptions...>>>{}.shown);
  }
  /// Lives in the first memory().peak_bytes bytes of the caller's memory. Throws memory_error.
  template <auto Trained, class... TrainedOptions>
    requires detail::runs<Trained, true, TrainedOptions...>
  predictor(program<Trained, TrainedOptions...>& trained, std::span<std::byte> given)
      : predictor(trained, memory_block(given, bytes_needed)) {
    static_assert(report_of<sharing_with<program<Trained, TrainedOptions...>>>{}.shown);
  }

  /// The value, or a tuple of the values: scalars as numbers, tensors as views valid until the next call.
  template <class... Bound>
  auto operator()(const Bound&... inputs) {
    using problem = decltype(detail::problem_of_inputs<compiled, Bound...>());
    static_assert(report_of<problem>{}.shown);
    if constexpr (std::same_as<problem, sound>) machine_.run(inputs...);
    return machine_.results();
  }

 private:
  static constexpr std::size_t bytes_needed = static_cast<std::size_t>(memory().peak_bytes);

  template <class Program>
  using sharing_with = decltype(detail::problem_of_sharing<compiled, typename Program::compiled>());

  template <auto Trained, class... TrainedOptions>
  predictor(program<Trained, TrainedOptions...>& trained, memory_block memory) : memory_(std::move(memory)) {
    using owner = program<Trained, TrainedOptions...>;
    machine_.base(pass::arena_base) = memory_.data();
    if constexpr (std::same_as<sharing_with<owner>, sound>) {
      for (int i = 0; i < graph.leaf_count; ++i) {
        if (machine::leaf(i).what != ir::role::parameter) continue;
        const int there = owner::graph.find(ir::role::parameter, graph.name(graph.leaves[i]));
        machine_.leaf_base(i) = trained.machine_.leaf_base(there);
      }
    }
  }

  memory_block memory_;
  machine machine_;
};

// What goes on after a mistake has been reported, here or before: a program and a predictor that accept everything.

template <auto Output, class... Options>
  requires(!detail::runs<Output, true, Options...>)
class program<Output, Options...> {
  static_assert(report_of<decltype(detail::problem_of_program<Output, true, Options...>())>{}.shown);

 public:
  using real_type = detail::element_of<Options...>;
  static constexpr int threads = 1;
  struct memory_plan {
    detail::unknown stored_bytes, peak_bytes, parameter_bytes, gradient_bytes;
    constexpr detail::unknown total_bytes() const { return {}; }
  };
  struct flop_counts {
    detail::unknown forward, backward, recomputed;
    constexpr detail::unknown total() const { return {}; }
  };
  static constexpr memory_plan memory() { return {}; }
  static constexpr flop_counts flops() { return {}; }
  static constexpr std::array<segment_plan, 0> segments() { return {}; }
  static constexpr bool is_random() { return false; }

  program() = default;
  explicit program(std::span<std::byte>) {}
  void init(seed) {}
  auto value_and_grad(const auto&...) { return as_results(detail::as_outputs(Output)); }
  void zero_grad() {}
  template <fixed_string>
  auto param() {
    return detail::tensor_view<shape{}>(&zero_);
  }
  template <fixed_string>
  auto grad() {
    return detail::tensor_view<shape{}>(&zero_);
  }
  std::span<real_type> parameters() { return {}; }
  std::span<real_type> gradients() { return {}; }
  random_state& random() { return random_; }
  std::span<std::byte> arena() { return {}; }
  void for_each_trained(auto) const {}

 private:
  template <class... E>
  static auto as_results(output_list<E...>) {
    if constexpr (sizeof...(E) == 1) return real_type{};
    else return std::tuple{(static_cast<void>(E{}), real_type{})...};
  }
  random_state random_;
  real_type zero_ = 0;
};

template <auto Output, class... Options>
  requires(!detail::runs<Output, false, Options...>)
class predictor<Output, Options...> {
  static_assert(report_of<decltype(detail::problem_of_program<Output, false, Options...>())>{}.shown);

 public:
  using real_type = detail::element_of<Options...>;
  static constexpr auto memory() { return typename program<rejected{}>::memory_plan{}; }
  static constexpr auto flops() { return typename program<rejected{}>::flop_counts{}; }
  explicit predictor(const auto&) {}
  predictor(const auto&, std::span<std::byte>) {}
  auto operator()(const auto&...) { return views(detail::as_outputs(Output)); }

 private:
  template <class... E>
  auto views(output_list<E...>) {
    if constexpr (sizeof...(E) == 1) return detail::tensor_view<shape{}>(&zero_);
    else return std::tuple{(static_cast<void>(E{}), detail::tensor_view<shape{}>(&zero_))...};
  }
  real_type zero_ = 0;
};

}  // namespace cairn
