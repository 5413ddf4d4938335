// The forward pass of a model, for prediction.
#pragma once

#include "cairn/run/program.hpp"

namespace cairn {

/// The forward pass of any expression. A predictor shares the parameters of a program by name. Example:
/// `predictor<logits> predict{step}; auto y = predict(bind<"images">(x));`
///
/// The predictor follows the parameters when the program is moved. Calls throw program_error after the program was
/// destroyed or assigned over. A predictor has no randomness: dropout leaves its argument unchanged. A call changes no
/// states, except caches, which belong to the predictor.
/// Rejects: a parameter that the program does not have, or that it has in another shape.
template <auto Output, class... Options>
class predictor {
  using compiled = detail::compiled_of<Output, false, Options...>;
  using machine = detail::machine<compiled>;
  static_assert(lang::report_of<decltype(detail::problem_of_threads<compiled::threads>())>{}.shown);

 public:
  using real_type = typename compiled::real;

  static constexpr memory_plan memory() { return detail::memory_in<compiled>; }
  static constexpr flop_counts flops() { return detail::flops_in<compiled>; }
  /// Counts what the scans of a call do: how often their bodies are evaluated, and how often snapshots are saved and
  /// restored.
  static constexpr loop_counts loops() { return detail::loops_in<compiled>; }

  /// Accepts a program that did not compile. The mistake of the program was already reported, and no second error
  /// follows.
  template <auto Trained, class... TrainedOptions>
    requires(!detail::runs<Trained, true, TrainedOptions...>)
  explicit predictor(program<Trained, TrainedOptions...>&, std::span<std::byte> = {}) : memory_(0) {}

  /// Allocates memory().peak_bytes + memory().cache_bytes bytes once, and 64 bytes in front of them. If the program is
  /// in the caller's memory, the first predictor of the program allocates 64 more bytes.
  template <auto Trained, class... TrainedOptions>
    requires detail::runs<Trained, true, TrainedOptions...>
  explicit predictor(program<Trained, TrainedOptions...>& trained)
      : predictor(trained, detail::memory_block(bytes_needed)) {
    static_assert(lang::report_of<sharing_with<program<Trained, TrainedOptions...>>>{}.shown);
  }
  /// Uses the first memory().peak_bytes + memory().cache_bytes bytes of the caller's memory, and allocates nothing.
  /// Throws memory_error if the memory is too small or not aligned, or if the program, or a program that shares its
  /// memory, has parameters, states, moments or gradients in it. If the program is in the caller's memory, too,
  /// the program must outlive the predictor, because the predictor does not notice the end of the program.
  template <auto Trained, class... TrainedOptions>
    requires detail::runs<Trained, true, TrainedOptions...>
  predictor(program<Trained, TrainedOptions...>& trained, std::span<std::byte> given)
      : predictor(trained, detail::memory_block(checked_memory(trained, given), bytes_needed)) {
    static_assert(lang::report_of<sharing_with<program<Trained, TrainedOptions...>>>{}.shown);
  }

  /// Reads parameters and states of its own from a file that a program saved or that PyTorch wrote. Example:
  /// `predictor<logits> predict{"run.safetensors"}`
  /// cairn/file/saving.hpp describes the files and must be included. With a `selection`, the file may have other names.
  /// Allocates memory().parameter_bytes bytes more. Throws file::file_error. If tensors do not fit, throws
  /// mismatch_error.
  template <class Path, class... Names>
    requires std::convertible_to<const Path&, std::string>
  explicit predictor(const Path& path, const Names&... names)
      : memory_(bytes_needed + static_cast<std::size_t>(memory().parameter_bytes)) {
    using problem = decltype(detail::problem_of_loading<Path, Names...>());
    static_assert(lang::report_of<problem>{}.shown);
    set_addresses();
    machine_.set_leaf_addresses(memory_.data() + bytes_needed);
    found_written_ = true;
    if constexpr (std::same_as<problem, lang::sound>) {
      detail::kept_run run{detail::kept_tensors<compiled>, machine_.bases(), sizeof(real_type), nullptr, {}};
      detail::kept_files<Path>::load(run, path, names...);
    }
  }

  /// Places the snapshots of scans in the caller's memory. See program::keep_snapshots_in. A predictor needs snapshots
  /// only if the model uses grad(...) inside.
  void keep_snapshots_in(std::span<std::byte> given) {
    memory_.check();
    machine_.keep_snapshots_in(given);
  }

  /// Returns a cache as a view through which the cache can be written. The cache contains zeros, or what the last call
  /// left in it.
  template <fixed_string Name>
  auto cache() & {
    using problem = decltype(detail::problem_of_cache<compiled, Name>());
    static_assert(lang::report_of<problem>{}.shown);
    memory_.check();
    constexpr int i = compiled::graph.find(graphs::role::cache, Name);
    if constexpr (std::same_as<problem, lang::sound>)
      return detail::view_of<machine::extents_of(i)>(reinterpret_cast<real_type*>(machine_.leaf_base(i)));
    else return detail::view_stand_in<real_type>{};
  }
  template <fixed_string Name>
  auto cache() && {
    return detail::reject_views(cache<Name>());
  }
  /// Sets caches to zero: all caches, or the caches of the given names. A name can also be the name of a block.
  template <fixed_string... Names>
  void reset() {
    using problem = decltype(lang::first_problem(detail::problem_of_caches<compiled, Names>()...));
    static_assert(lang::report_of<problem>{}.shown);
    memory_.check();
    for (int i = 0; i < machine::leaf_count; ++i) {
      if (detail::caches_named<compiled, Names...>[static_cast<std::size_t>(i)])
        std::fill_n(machine_.leaf_base(i), machine::leaf(i).bytes, std::byte{});
    }
    if constexpr (sizeof...(Names) == 0) caches_half_updated_ = false;
  }

  /// Returns the value, or a tuple of the values. Scalars are numbers. Tensors are views that are valid until the next
  /// call. After the call, each cache has the value that updated(...) in the model gives it. The call throws and rounds
  /// as value_and_grad does. If an operation that the user defined throws an exception, some caches can be updated and
  /// others not. Further calls then throw program_error until `reset()`.
  template <class... Bound>
  auto operator()(const Bound&... inputs) & {
    using problem = decltype(detail::problem_of_inputs<compiled, Bound...>());
    static_assert(lang::report_of<problem>{}.shown);
    memory_.check();
    const detail::parameter_status status = program_share_.check();
    if (!found_written_ && status != detail::parameter_status::written)
      detail::check_written(machine::all_leaves(), machine_.leaf_bases());
    found_written_ = true;
    if (caches_half_updated_)
      refuse(
          program_error("cairn: an exception left a call of this predictor while it updated caches: some are updated, "
                        "others are not; call reset()"));
    machine_.check_snapshots();
    const kernels::default_float_mode mode;
    if constexpr (std::same_as<problem, lang::sound>) {
      machine_.bind_inputs({}, inputs...);
      caches_half_updated_ = memory().cache_bytes > 0;
      machine_.run(0, machine::step_count);
      machine_.copy_to_final_addresses([](int) { return true; });
      caches_half_updated_ = false;
    }
    return machine_.results();
  }
  /// Calls a temporary predictor. Rejects: a result with a view in it.
  template <class... Bound>
  auto operator()(const Bound&... inputs) && {
    return detail::reject_views((*this)(inputs...));
  }

 private:
  static constexpr std::size_t bytes_needed = static_cast<std::size_t>(memory().peak_bytes + memory().cache_bytes);

  /// Returns `given`. Throws memory_error if the program, or a program that shares its memory, uses parts of the memory
  /// that the predictor needs.
  template <class Program>
  static std::span<std::byte> checked_memory(Program& trained, std::span<std::byte> given) {
    using contents = typename Program::machine::contents;
    const std::span<std::byte> used = given.first(std::min(given.size(), bytes_needed));
    constexpr bool keeps_caches = memory().cache_bytes > 0;  // a training step must not write over them
    detail::refuse_shared_bytes(trained.checked_machine().shared_bytes(used, [](contents what) {
      return keeps_caches || what == contents::unchanging || what == contents::updated_by_step;
    }));
    detail::refuse_shared_bytes(trained.memory_.family_bytes(used, keeps_caches));
    return given;
  }
  void set_addresses() {
    machine_.base(plans::arena_base) = memory_.data();
    machine_.set_leaf_addresses(memory_.data() + memory().peak_bytes, graphs::role::cache);
  }

  /// For each leaf of the predictor, the index of the program's leaf with the same name.
  template <class Program>
  static constexpr auto program_leaf_of = [] {
    constexpr const auto& own = compiled::graph;
    constexpr const auto& other = Program::compiled::graph;
    std::array<int, static_cast<std::size_t>(own.leaf_count) + 1> out{};
    for (int i = 0; i < own.leaf_count; ++i)
      out[static_cast<std::size_t>(i)] = other.find(graphs::role::parameter, own.name(own.leaves[i]));
    return out;
  }();
  template <class Program>
  using sharing_with = decltype(detail::problem_of_sharing<compiled, typename Program::compiled>());

  template <auto Trained, class... TrainedOptions>
  predictor(program<Trained, TrainedOptions...>& trained, detail::memory_block memory) : memory_(std::move(memory)) {
    using owner = program<Trained, TrainedOptions...>;
    set_addresses();
    if constexpr (std::same_as<sharing_with<owner>, lang::sound>) {
      trained.memory_.check();
      program_share_ = trained.memory_.share(memory_.has_record());
      for (int i = 0; i < machine::leaf_count; ++i) {
        if (machine::leaf(i).what != graphs::role::parameter) continue;
        machine_.leaf_base(i) =
            trained.checked_machine().leaf_base(program_leaf_of<owner>[static_cast<std::size_t>(i)]);
      }
    }
  }

  detail::memory_block memory_;
  machine machine_;
  // The share in the memory of the program. It knows whether the program still exists. It is empty if the predictor has
  // parameters of its own, or if the caller gave memory to both the program and the predictor.
  detail::memory_share program_share_;
  bool found_written_ = false;        // true after the first check that parameters are written
  bool caches_half_updated_ = false;  // true if an exception left a call
};

/// Reports the mistake if no predictor can be made of `Output`, and accepts every use, so that no second error
/// follows.
template <auto Output, class... Options>
  requires(!detail::runs<Output, false, Options...>)
class predictor<Output, Options...> : public detail::predictor_stand_in<Output, Options...> {
  static_assert(lang::report_of<decltype(detail::problem_of_program<Output, false, Options...>())>{}.shown);
  using detail::predictor_stand_in<Output, Options...>::predictor_stand_in;
};

}  // namespace cairn
