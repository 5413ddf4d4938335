// The program: a training step of a model.
#pragma once

#include "cairn/check/parts_that_fit.hpp"
#include "cairn/kernel/float_mode.hpp"
#include "cairn/run/agreement.hpp"
#include "cairn/run/arena.hpp"
#include "cairn/run/bind.hpp"
#include "cairn/run/finite.hpp"
#include "cairn/run/kept_calls.hpp"
#include "cairn/run/machine.hpp"
#include "cairn/run/microbatches.hpp"
#include "cairn/run/orthogonal.hpp"
#include "cairn/run/rule_numbers.hpp"
#include "cairn/run/sharded_moments.hpp"
#include "cairn/run/sharing.hpp"
#include "cairn/run/stand_in.hpp"
#include "cairn/run/static_view.hpp"
#include "cairn/run/temporary.hpp"
#include "cairn/run/unwritten.hpp"

#include <cstring>
#include <limits>
#include <memory>
#include <vector>

namespace cairn {

namespace detail {
template <class Real>
struct trained_blocks;

/// Returns the mistake of asking for several threads in a program that is compiled without OpenMP, or sound.
template <int Threads>
constexpr auto problem_of_threads() {
  if constexpr (Threads == 1 || kernels::threads_exist) return sound{};
  else return mistake<misuse::threads_without_openmp, top_scope, fact::threads<Threads>>{};
}
}  // namespace detail

/// A training step of a model. A program has one block of memory, which holds in this order: parameters and states,
/// moments, gradients, and the arena.
///
/// `Output` is a scalar expression or outputs(loss, ...). Options: real<double>, freeze<"name">, wrt<"name">,
/// cotangent<"name">, accumulate_gradients, plain, check_finite, budget<4_MiB>, fit<4_MiB>, threads<4>, mixed<bf16>,
/// mixed<bf16, stochastic_rounding>, update<adamw_options{}>, clip<1.0>, clip_value<0.5>, microbatch<4>, shards<2>,
/// sharded_moments, any_size.
///
/// Rejects:
/// - a loss that is not a scalar and has no cotangent, or that depends on nothing that can be trained;
/// - a parameter or an input of wrt<...> on which the loss does not depend;
/// - a segment in which nothing needs a gradient, or that stores at least as many bytes as it frees;
/// - one name for two leaves or for two random operations;
/// - two updates of one state;
/// - indices as the first output.
template <auto Output, class... Options>
class program {
  using compiled = detail::compiled_of<Output, true, Options...>;
  using machine = detail::machine<compiled>;
  static constexpr bool accumulates = compiled::model::purpose::accumulates;
  static constexpr auto clip = compiled::model::purpose::clip;
  static constexpr bool divides = compiled::model::purpose::division.divides();
  static constexpr bool shards_batch = compiled::model::purpose::division.shards > 1;
  static constexpr bool shards_moments = compiled::model::purpose::division.shards_moments;
  static_assert(lang::report_of<decltype(detail::problem_of_threads<compiled::threads>())>{}.shown);

 public:
  using real_type = typename compiled::real;
  /// The type in which parameters are stored. States are always stored as real_type.
  using parameter_type =
      std::conditional_t<detail::rounds_parameters<typename compiled::model::numbers>, bf16, real_type>;
  /// The largest number of threads that a training step uses.
  static constexpr int threads = compiled::threads;

  /// The bytes of memory that a training step needs.
  static constexpr memory_plan memory() { return detail::memory_in<compiled>; }
  /// The bytes of memory that a training step needs in one of `ranks` processes. The processes share the shards of
  /// shards<L>. Throws std::invalid_argument if `ranks` is not a power of two up to L. With synchronized batch norms,
  /// `ranks` must be 1 or L.
  static constexpr memory_plan memory(int ranks)
    requires(shards_batch)
  {
    check_ranks(ranks);
    return detail::memory_among<compiled>(ranks);
  }
  /// The bytes and messages that one of `ranks` processes sends in a training step. Throws std::invalid_argument as
  /// memory(ranks) does.
  static constexpr traffic_plan traffic(int ranks)
    requires(shards_batch)
  {
    check_ranks(ranks);
    return detail::traffic_among<compiled>(ranks);
  }
  /// The floating-point operations of a training step.
  static constexpr flop_counts flops() { return detail::flops_in<compiled>; }
  /// Counts what the scans of a training step do: how often their bodies are evaluated, and how often snapshots are
  /// saved and restored.
  static constexpr loop_counts loops() { return detail::loops_in<compiled>; }
  /// The segments, in the order of the forward pass.
  static constexpr auto segments() { return detail::segments_in<compiled>; }
  /// The number of groups of rows that fit<...> chose for the layers in nn::tiled<up_to<N>>. A layer with a smaller N
  /// runs on as many groups as its N allows. 1: The layers are applied as they are.
  static constexpr int row_groups() { return compiled::model::purpose::groups; }

  /// The plan step at which the arena is fullest, and whether segments make the arena larger than the arena of the same
  /// program with `plain`.
  static constexpr peak_plan peak() { return detail::peak_in<compiled>; }

  /// True if the program has `train`, which changes the parameters.
  static constexpr bool updates_parameters = compiled::model::purpose::updates_parameters;
  /// True if the gradients of parameters can be read after a training step.
  static constexpr bool keeps_gradients = compiled::model::purpose::shows_gradients;
  /// Returns true if the program contains random operations.
  static constexpr bool is_random() { return machine::random_count > 0; }

  /// Allocates memory().total_bytes() bytes once, and 64 bytes in front of them. The 64 bytes hold the record by which
  /// predictors and optimizers learn whether the program still exists.
  program() : program(detail::memory_block(bytes_needed)) {}
  /// Uses the first memory().total_bytes() bytes of the caller's memory, and allocates nothing. The memory must
  /// outlive the program. Throws memory_error if the memory is too small, or does not start at a multiple of 64 bytes.
  explicit program(std::span<std::byte> given) : program(detail::memory_block(given, bytes_needed)) {}
  /// Shares the shards of a training step with the other processes of a group, such as mpi::ranks, which must outlive
  /// the program. All processes make the program, and then call the same functions in the same order. Allocates
  /// memory(all.size()).total_bytes() bytes. Throws std::invalid_argument as memory(all.size()) does.
  explicit program(detail::process_group& all)
    requires(shards_batch)
      : program(detail::memory_block(bytes_among(all)), all) {}
  /// Uses the caller's memory, as above.
  program(detail::process_group& all, std::span<std::byte> given)
    requires(shards_batch)
      : program(detail::memory_block(given, bytes_among(all)), all) {}
  /// Reports that a program without shards cannot be shared by processes.
  template <class Number = real_type, class... Memory>
    requires(!shards_batch)
  explicit program(detail::process_group&, const Memory&...) : program() {
    using problem = lang::mistake<misuse::ranks_without_shards, lang::top_scope, fact::operation<"shards", Number>>;
    static_assert(lang::report_of<problem>{}.shown);
  }
  /// Shares the memory of another program, the lender: `program<loss<64>> shorter{longest}`. The programs then share
  /// - the arena. A view of an output is valid until the next training step of either program.
  /// - parameters and states with the same name.
  /// - moments, steps(), random() and gradient_norm(), if both programs train the same parameters, with rules that keep
  ///   the same moments.
  /// - the block of gradients, if both programs also keep gradients, and name their parameters in the same order.
  ///   run/sharing.hpp has the exceptions.
  ///
  /// Allocates own_memory<Lender>().total_bytes() bytes for everything else, and 64 bytes in front of them. Also
  /// allocates the list of addresses by which other programs learn what this program does to their parameters. If the
  /// lender is in the caller's memory, its first predictor or sharing program allocates 64 more bytes.
  ///
  /// The program follows the memory when the lender is moved. Calls throw program_error after the lender was destroyed
  /// or assigned over. Throws program_error if the lender was moved from, or if the lender belongs to several processes
  /// and this program divides its batch. Rejects:
  /// - a lender with a smaller arena, or with fewer bytes of gradients where gradients are shared;
  /// - a leaf that has another shape or type there;
  /// - a lender that has no leaf in common with this program, or is of the same type.
  template <auto Other, class... Others>
    requires detail::runs<Other, true, Others...>
  explicit program(program<Other, Others...>& lender) : program(sharing_with<program<Other, Others...>>{}, lender) {
    static_assert(lang::report_of<typename sharing_with<program<Other, Others...>>::type>{}.shown);
  }
  /// Uses the first own_memory<Lender>().total_bytes() bytes of the caller's memory for everything that is not shared.
  /// Only allocates the record of 64 bytes and the list of addresses. Throws memory_error if the memory is too small or
  /// not aligned, or if the lender or another program that shares its memory already uses the memory.
  template <auto Other, class... Others>
    requires detail::runs<Other, true, Others...>
  program(program<Other, Others...>& lender, std::span<std::byte> given)
      : program(sharing_with<program<Other, Others...>>{}, lender, given) {
    static_assert(lang::report_of<typename sharing_with<program<Other, Others...>>::type>{}.shown);
  }
  // A program that ends at once has no memory to lend, and a program that is const is not written.
  template <auto Other, class... Others>
  explicit program(const program<Other, Others...>&) = delete;
  template <auto Other, class... Others>
  program(const program<Other, Others...>&, std::span<std::byte>) = delete;
  /// Accepts a lender that did not compile. The mistake of the lender was already reported. No second error follows.
  template <auto Other, class... Others>
    requires(!detail::runs<Other, true, Others...>)
  explicit program(program<Other, Others...>&, std::span<std::byte> = {}) : program() {}
  /// The bytes that the program allocates if it shares the memory of a program of type `Lender`. memory() still says
  /// what the program would need alone.
  template <class Lender>
  static constexpr auto own_memory() {
    if constexpr (!std::same_as<decltype(Lender::memory()), memory_plan>) {
      return detail::unknown_memory{};
    } else {
      static_assert(lang::report_of<typename sharing_with<Lender>::type>{}.shown);
      return sharing<Lender>::memory;
    }
  }

  program(program&&) = default;
  /// Takes over the memory of `other`. With sharded_moments, first waits for the parameters that are under way to the
  /// memory that this program had.
  program& operator=(program&& other) {
    settle();
    memory_ = std::move(other.memory_);
    machine_ = std::move(other.machine_);
    rule_numbers_ = std::move(other.rule_numbers_);
    among_ = std::move(other.among_);
    found_written_ = other.found_written_;
    return *this;
  }

  /// Makes scans with two_level<P, S, snapshots::elsewhere> store their snapshots in the first
  /// memory().elsewhere_bytes bytes of the caller's memory. The memory may be a mapped file. Each training step writes
  /// the snapshots before it reads them, and needs no snapshot of an earlier training step. Throws memory_error if the
  /// memory is too small, not aligned, or already in use. The program then goes on with the memory it had before.
  void keep_snapshots_in(std::span<std::byte> given) {
    memory_.check();
    const std::span<std::byte> used = given.first(std::min(given.size(), machine::elsewhere_bytes));
    detail::refuse_shared_bytes(memory_.family_bytes(used, true));
    machine_.keep_snapshots_in(given);
  }

  /// Draws all parameters, and sets states to their initial values. The numbers of a parameter depend only on the seed
  /// and on the parameter's name. Random operations draw from the same seed: after two calls with the same seed, the
  /// following training steps draw the same numbers. Sets moments and accumulated gradients to zero, also the moments
  /// that other programs with the same memory keep of these parameters. Throws program_error if another program has
  /// exchanged moments that this program does not have. If a draw throws, because orthogonal matrices need memory, some
  /// parameters can be drawn and others not. The program then refuses its use as after an exception in `train`.
  void init(seed s) {
    checked_machine();
    memory_.check_not_exchanged("before init");
    note_written();
    const kernels::default_float_mode mode;
    memory_.set_half_updated(true);
    position() = {{s, 0}, 0};
    if constexpr (accumulates) zero_grad();
    clear_moments();
    for (int i = 0; i < machine::leaf_count; ++i) {
      const detail::runtime_leaf& leaf = machine::leaf(i);
      if (leaf.what != graphs::role::parameter) continue;
      if (leaf.is_bf16) draw_parameter<parameter_type>(i, s);
      else draw_parameter<real_type>(i, s);
    }
    memory_.note_all_set();
  }

  /// Runs one training step. Returns the loss, or a tuple of all outputs. Scalars are numbers. Other outputs are views
  /// that are valid until the next training step. The training step overwrites the gradients, or adds to them with
  /// accumulate_gradients, and updates states.
  ///
  /// Throws
  /// - extent_error or label_error before anything is computed;
  /// - program_error if some parameters were neither initialized nor written, or if snapshots lie elsewhere and no
  ///   memory was given for them;
  /// - with check_finite: loss_error or gradient_error after a training step whose loss or gradients are not finite.
  ///   States are then unchanged.
  ///
  /// The training step rounds to nearest and keeps subnormal numbers, whatever mode of the processor the caller has
  /// set.
  template <class... Bound>
  auto value_and_grad(const Bound&... inputs) & {
    using problem = decltype(detail::problem_of_step<compiled, false, Bound...>());
    static_assert(lang::report_of<problem>{}.shown);
    const kernels::default_float_mode mode;
    if constexpr (divides) {
      return step_in_parts<problem>({}, inputs...);
    } else {
      begin_step<problem>(inputs...);
      if constexpr (std::same_as<problem, lang::sound>) machine_.run(0, machine::step_count);
      machine_.copy_to_final_addresses([](int) { return true; });
      if constexpr (checks_finite) {
        check_loss(machine_.template result_numbers<0>());
        check_gradients();
      }
      machine_.update_states();
      return machine_.results();
    }
  }
  /// Runs one training step of a temporary program. Rejects: a result with a view in it. The same holds for every
  /// function below with `&&`.
  template <class... Bound>
  auto value_and_grad(const Bound&... inputs) && {
    return detail::reject_views(value_and_grad(inputs...));
  }

  /// Runs one training step of a program with update<...>. It works as value_and_grad does. Afterwards the update
  /// rules change the parameters and their moments.
  ///
  /// Throws
  /// - extent_error, label_error and program_error for the same reasons as value_and_grad;
  /// - std::invalid_argument if the learning rate is negative or not finite;
  /// - program_error between a call of exchange(m) and the second call of exchange(m), which puts the parameters back.
  ///   The call may be one of a program that shares the memory;
  /// - with check_finite: loss_error before any parameter is changed. If clip<...> keeps the gradients, also
  ///   gradient_error before any parameter is changed.
  ///
  /// If an operation throws an exception, some parameters can be updated and others not. Training steps, `save` and
  /// predictors then throw program_error until `init` or a complete `load`.
  template <class... Bound>
  auto train(const train_options& given, const Bound&... inputs) & {
    using problem = decltype(detail::problem_of_step<compiled, true, Bound...>());
    static_assert(lang::report_of<problem>{}.shown);
    const kernels::default_float_mode mode;
    detail::check_settings("train", std::array{setting::not_negative("lr", given.lr.value_or(0))});
    detail::check_trains_parameters(memory_);
    if constexpr (divides) {
      return step_in_parts<problem>(given, inputs...);
    } else {
      begin_step<problem>(inputs...);
      if constexpr (std::same_as<problem, lang::sound>) {
        set_rule_numbers(given);
        machine_.run(0, machine::turn);
        if constexpr (checks_finite) check_loss(machine_.template result_numbers<0>());
        machine_.run(machine::turn, machine::first_update_step);
        if constexpr (keeps_gradients)
          machine_.copy_to_final_addresses([](int base) { return base == plans::gradient_base; });
        update_parameters();
      }
      machine_.update_states();
      return machine_.results();
    }
  }
  /// Runs one training step at the learning rates of the update rules.
  template <class... Bound>
  auto train(const Bound&... inputs) & {
    return train(train_options{}, inputs...);
  }
  template <class... Bound>
  auto train(const Bound&... inputs) && {
    return detail::reject_views(train(inputs...));
  }

  /// Runs single plan steps of a training step. This function calls `use` with a function `run`, and run(i) runs plan
  /// step i. report::profile is built on this function. `use` must run plan steps 0 to n - 1 in order, and may repeat
  /// this round as often as it likes. Only the first round computes the values of a training step, because plan steps
  /// write over values that they read. All rounds draw the random numbers of the next training step. In a program that
  /// divides its batch, they run on the first microbatch. One of several processes can call this function alone: it
  /// runs on the first microbatch of this process, and counts labels in its own microbatches only. The function
  /// allocates memory for a copy of parameters, states, moments and gradients. Afterwards they are as they were before
  /// the call.
  template <class Use, class... Bound>
  void step_by_step(Use use, const Bound&... inputs) {
    using problem = decltype(detail::problem_of_step<compiled, updates_parameters, Bound...>());
    static_assert(lang::report_of<problem>{}.shown);
    const detail::training_position before = position();
    check_usable();
    checked_machine().check_snapshots();
    if constexpr (std::same_as<problem, lang::sound>) {
      std::vector<std::byte> bytes;
      machine_.for_each_lasting(
          [&](std::span<const std::byte> each) { bytes.insert(bytes.end(), each.begin(), each.end()); });
      // Restores everything even if `use` throws.
      struct as_before {
        program& of;
        const detail::training_position& position;
        const std::vector<std::byte>& bytes;
        ~as_before() {
          auto from = bytes.begin();
          of.machine_.for_each_lasting([&](std::span<std::byte> each) {
            std::copy_n(from, each.size(), each.begin());
            from += std::ssize(each);
          });
          of.position() = position;
        }
      } const guard{*this, before, bytes};
      const auto use_steps = [&] {
        if constexpr (updates_parameters) set_rule_numbers({});
        use([this](int i) {
          const kernels::default_float_mode mode;
          machine_.run(i, i + 1);
        });
      };
      if constexpr (divides) {
        detail::divided_step<compiled, detail::is_debug_build>(machine_, memory_, among())
            .with_first(use_steps, inputs...);
      } else {
        bind_step(inputs...);
        use_steps();
      }
    }
  }

  /// The number of training steps that changed the parameters. Callers can store the number and set it later.
  std::int64_t steps() const {
    memory_.check();
    return position().steps;
  }
  void steps(std::int64_t taken) {
    memory_.check();
    detail::check_settings("program", std::array{setting::step_count("steps", taken)});
    position().steps = taken;
  }
  /// The Euclidean norm of the gradients of all trained parameters. With clip<...>, it is the norm before the gradients
  /// of the last training step were clipped.
  double gradient_norm() const
    requires(keeps_gradients || shards_moments)
  {
    memory_.check();
    return clip.how == lang::clipping::norm || shards_moments ? position().gradient_norm : norm_of_gradients();
  }

  /// Sets all gradients to zero.
  void zero_grad()
    requires accumulates
  {
    std::fill_n(checked_machine().base(plans::gradient_base), memory().gradient_bytes, std::byte{});
  }

  /// Writes parameters and states from any array that bind takes: `step.set(bind<"fc1.weight">(w))`. Throws
  /// extent_error before anything is written. Also throws extent_error if an array overlaps another parameter that the
  /// same call sets. If the program was not initialized, its next training step throws program_error unless all
  /// parameters and states were set, except for those that start as zeros.
  template <class... Bound>
  void set(const Bound&... arrays) {
    using problem = decltype(detail::problem_of_writing<compiled, Bound...>());
    static_assert(lang::report_of<problem>{}.shown);
    if constexpr (std::same_as<problem, lang::sound>) {
      memory_.check();
      const kernels::default_float_mode mode;
      (arrays.check(machine::extents_of(detail::written_leaf<compiled, Bound>), 0, {"parameter"}), ...);
      (check_disjoint<Bound::name, detail::written_leaf<compiled, Bound>...>(
           arrays.bytes(machine::extents_of(detail::written_leaf<compiled, Bound>))),
       ...);
      (write(detail::written_leaf<compiled, Bound>, arrays.data), ...);
      constexpr bool sets_all = sizeof...(Bound) == compiled::graph.count(graphs::role::parameter);
      if constexpr (sets_all) memory_.note_written();
      note_written();
    }
  }

  /// Returns a parameter or a state as a view through which it can be written. Numbers that were never written are -0.
  template <fixed_string Name>
  auto param() & {
    note_written();
    return view_of<Name>();
  }
  /// Returns the gradient of a trained parameter or of an input in wrt<...>. It is the gradient of the last training
  /// step. With accumulate_gradients, it is the sum over all training steps since zero_grad.
  template <fixed_string Name>
  auto grad() & {
    using problem = decltype(detail::problem_of_gradient<compiled, Name>());
    static_assert(lang::report_of<problem>{}.shown);
    constexpr int i = detail::gradient_leaf<compiled, Name>;
    if constexpr (std::same_as<problem, lang::sound>) return detail::view_of<machine::extents_of(i)>(gradient_at(i));
    else return detail::view_stand_in<real_type>{};
  }
  /// Returns the same view as `param` of a program that is not const, for reading only.
  template <fixed_string Name>
  auto param() const& {
    return detail::read_only(const_cast<program&>(*this).template view_of<Name>());
  }
  /// Returns the same view as `grad` of a program that is not const, for reading only.
  template <fixed_string Name>
  auto grad() const& {
    return detail::read_only(const_cast<program&>(*this).template grad<Name>());
  }
  template <fixed_string Name>
  auto param() && {
    return detail::reject_views(param<Name>());
  }
  template <fixed_string Name>
  auto grad() && {
    return detail::reject_views(grad<Name>());
  }

  /// Returns a moment that the update rule of update<...> keeps of a parameter. The update rule gives the moment its
  /// name: `step.moment<"fc1.weight", "exp_avg">()`.
  template <fixed_string Name, fixed_string Moment>
  auto moment() & {
    using problem = decltype(detail::problem_of_moment<compiled, Name, Moment>());
    static_assert(lang::report_of<problem>{}.shown);
    if constexpr (std::same_as<problem, lang::sound>) {
      constexpr const detail::kept_tensor& found =
          detail::kept_tensors<compiled>[detail::index_of_kept<compiled>(Name, Moment)];
      note_written();
      return detail::view_of<found.extents>(reinterpret_cast<real_type*>(checked_machine().at(found.at)));
    } else {
      return detail::view_stand_in<real_type>{};
    }
  }
  template <fixed_string Name, fixed_string Moment>
  auto moment() && {
    return detail::reject_views(moment<Name, Moment>());
  }
  /// Returns true if an update rule keeps a moment of this name.
  static constexpr bool has_moment(std::string_view name) {
    return detail::has_moment(detail::kept_tensors<compiled>, name);
  }
  /// Throws program_error if `exchange` can never exchange this moment: because no update rule keeps it, or because
  /// parameters are stored as bf16.
  static void check_exchange(std::string_view moment) {
    detail::check_exchange(detail::kept_tensors<compiled>, !std::same_as<parameter_type, real_type>, moment);
  }
  /// Exchanges the moments of this name with their parameters, for all update rules that keep such a moment. A program
  /// can thus run with averages of the parameters, and then with the parameters again. Files store whether a moment is
  /// exchanged. Throws program_error
  /// - if no update rule keeps such a moment,
  /// - if all of these moments are zero, as before the first training step, and the parameters are not,
  /// - if parameters are stored as bf16 and therefore cannot hold moments,
  /// - or if another moment is exchanged, in this program or in one that shares its memory.
  ///
  /// With sharded_moments, all processes call this function.
  void exchange(std::string_view moment) {
    check_exchange(moment);
    checked_machine();
    note_written();
    if constexpr (shards_moments) {
      if (among_ != nullptr) among_->agree(detail::hash64_of(moment), detail::exchanging);
    }
    with_kept([&](const detail::kept_run& run) { detail::exchange_moment<real_type>(memory_, run, moment); });
  }

  /// Calls visit(name, view) for each parameter and each state, trained or not, in the order in which the model names
  /// them: `[](std::string_view name, auto view) {...}`. The views are the same as those of `param`.
  template <class Visit>
  void for_each_parameter(Visit visit) {
    note_written();
    for_each_leaf_index([&]<int I>(std::integral_constant<int, I>) {
      if constexpr (machine::leaf(I).what == graphs::role::parameter) {
        visit(std::string_view(detail::leaf_name<compiled, I>),
              detail::view_of<machine::extents_of(I)>(numbers_at<I>()));
      }
    });
  }
  /// Calls visit(name, view) for each gradient of a trained parameter or of an input in wrt<...>. The views are the
  /// same as those of `grad`.
  template <class Visit>
  void for_each_gradient(Visit visit) {
    for_each_leaf_index([&]<int I>(std::integral_constant<int, I>) {
      if constexpr (compiled::model::chosen.wanted[I] && (keeps_gradients || !compiled::model::chosen.trained[I])) {
        constexpr const auto& name = detail::leaf_name<compiled, I>;
        visit(std::string_view(name), grad<name>());
      }
    });
  }

  /// Returns all trained parameters, which lie next to one another in memory. Each parameter starts at a multiple of 64
  /// bytes. The padding between parameters is zero. Throws program_error if the program shares the memory of a program
  /// in which they do not lie next to one another in this order.
  std::span<parameter_type> parameters() & {
    note_written();
    return block_of_parameters();
  }
  std::span<const parameter_type> parameters() const& { return const_cast<program&>(*this).block_of_parameters(); }
  auto parameters() && { return detail::reject_views(parameters()); }
  /// Calls visit(i) for the index i of each number in parameters(), without the padding.
  void for_each_trained(auto visit) const {
    memory_.check();
    for (int i = 0; i < machine::leaf_count; ++i) {
      const detail::runtime_leaf& leaf = machine::leaf(i);
      if (!leaf.trained) continue;
      const std::size_t begin = static_cast<std::size_t>(leaf.offset) / sizeof(parameter_type);
      for (std::size_t k = 0; k < static_cast<std::size_t>(leaf.count); ++k) visit(begin + k);
    }
  }
  /// Returns the gradients of all trained parameters, in the layout of parameters().
  std::span<real_type> gradients() &
    requires keeps_gradients
  {
    return {reinterpret_cast<real_type*>(checked_machine().base(plans::gradient_base)), padded_count};
  }
  std::span<const real_type> gradients() const&
    requires keeps_gradients
  {
    return const_cast<program&>(*this).gradients();
  }
  auto gradients() &&
    requires keeps_gradients
  {
    return detail::reject_views(gradients());
  }
  /// Reports that the program does not keep gradients.
  template <class Number = real_type>
  auto gradients()
    requires(!keeps_gradients)
  {
    using problem =
        lang::mistake<detail::hidden_gradients<compiled>, lang::top_scope, fact::operation<"gradients", Number>>;
    static_assert(lang::report_of<problem>{}.shown);
    return std::span<Number>{};
  }
  /// Returns the random state, which determines the random numbers of the next training step. Callers can store the
  /// random state and set it later, to go on with saved parameters.
  random_state& random() {
    memory_.check();
    return position().random;
  }
  /// Saves the program in a file from which training can go on. The file contains parameters, states, moments,
  /// steps(), random(), and texts of the caller. cairn/file/saving.hpp describes the file and must be included. Throws
  /// file::write_error. An older file of this name is then unchanged. If there are several processes, they first
  /// compare what all of them keep, and end if it differs. Rank 0 then writes the file, and all processes wait until it
  /// is written. If it cannot be written, all of them throw the exception of rank 0. Throws program_error if a program
  /// that shares the memory has exchanged moments that this program does not have.
  /// Before the texts, a `selection` may stand, to save only parameters and states, some of them, or under other names.
  /// Between two calls of exchange(m), a selection saves the moments m that stand in the place of the parameters.
  template <class Path, class... Texts>
  void save(const Path& path, const Texts&... texts) {
    using problem = decltype(detail::problem_of_saving<Path, Texts...>());
    static_assert(lang::report_of<problem>{}.shown);
    check_usable();
    checked_machine();
    if constexpr (std::same_as<problem, lang::sound>) {
      const auto write = [&] {
        with_kept([&](const detail::kept_run& run) { detail::save_program(memory_, run, path, texts...); });
      };
      if (among() == nullptr) return write();
      if constexpr (shards_batch) {
        memory_.check_not_exchanged("before save");
        among()->agree(0, detail::saving);
        among()->compare_kept(detail::kept_in<compiled>(machine_, memory_));
        using files = detail::kept_files<Path>;
        std::string fault;
        if (among()->rank() == 0) fault = among()->guarded([&] { return files::fault_in(write); });
        else if (shards_moments) among()->guarded(write);
        files::throw_again(detail::agreement(processes(), "a file that rank 0 saves").text_of_first(std::move(fault)));
      }
    }
  }
  /// Reads a file that `save` wrote, and returns the texts in the file. Also reads parameters and states from a file
  /// that PyTorch wrote. With partly{"encoder"} or a `selection`, reads only parameters and states, some of them, or
  /// under other names, and returns a load_report. Throws file::file_error. If tensors do not fit, throws
  /// mismatch_error, which names all of them. Throws program_error if a program that shares the memory has exchanged
  /// moments that this program does not have, and with partly or a selection if any moments are exchanged. After an
  /// exception nothing has changed.
  template <class Path, class... Part>
  auto load(const Path& path, const Part&... part) {
    using problem = decltype(detail::problem_of_loading<Path, Part...>());
    static_assert(lang::report_of<problem>{}.shown);
    memory_.check();
    if constexpr (std::same_as<problem, lang::sound>) {
      note_written();
      auto texts =
          with_kept([&](const detail::kept_run& run) { return detail::load_program(memory_, run, path, part...); });
      if constexpr (accumulates) zero_grad();
      return texts;
    }
  }

  /// Returns the group of processes that share the shards, or null if there is one process.
  detail::process_group* processes() const
    requires(shards_batch)
  {
    return among_ == nullptr ? nullptr : &among_->group();
  }

  /// Returns the arena, the working memory of a training step. It can be inspected.
  std::span<std::byte> arena() & {
    return {checked_machine().base(plans::arena_base), static_cast<std::size_t>(memory().peak_bytes)};
  }
  auto arena() && { return detail::reject_views(arena()); }

 private:
  template <auto, class...>
  friend class predictor;
  template <auto, class...>
  friend class program;
  template <class>
  friend struct detail::trained_blocks;
  static constexpr std::size_t bytes_needed = static_cast<std::size_t>(memory().total_bytes());
  /// How many numbers parameters() has, with the padding.
  static constexpr std::size_t padded_count =
      static_cast<std::size_t>(compiled::addresses.trained_bytes) / sizeof(parameter_type);

  static constexpr bool checks_finite = lang::request<Options...>::template has<check_finite>;

  template <class Problem, class... Bound>
  void begin_step(const Bound&... inputs) {
    check_usable();
    machine_.check_snapshots();
    if constexpr (std::same_as<Problem, lang::sound>) bind_step(inputs...);
  }
  template <class... Bound>
  void bind_step(const Bound&... inputs) {
    machine_.bind_inputs({}, inputs...);
    machine_.set_random_streams(position().random.from, position().random.step++);
  }
  /// Runs a training step of a program that divides its batch: all microbatches, and then the updates, if there are
  /// any.
  template <class Problem, class... Given>
  auto step_in_parts(const train_options& given, const Given&... inputs) {
    using step = detail::divided_step<compiled, detail::is_debug_build>;
    check_usable();
    machine_.check_snapshots();
    typename step::outputs means{};
    if constexpr (std::same_as<Problem, lang::sound>) {
      step parts(machine_, memory_, among());
      // NaN: the rates of the update rules
      means = parts.run(given.lr.value_or(std::numeric_limits<double>::quiet_NaN()), inputs...);
      if constexpr (checks_finite) check_loss(std::span(means).first(1));
      if constexpr (shards_moments) position().gradient_norm = norm_of_shared_gradients();
      if constexpr (checks_finite) check_gradients();
      if constexpr (updates_parameters) {
        set_rule_numbers(given);
        update_parameters();
      }
      parts.commit();
    }
    return step::results(means);
  }
  /// Updates the parameters, after all gradients were computed or as they are computed.
  void update_parameters() {
    if constexpr (clip.how == lang::clipping::norm) set_clip_factor();
    memory_.set_half_updated(true);
    run_updates();
    memory_.set_half_updated(false);
    ++position().steps;
  }
  void run_updates() {
    if constexpr (shards_moments) {
      const auto update = [this] { moments_in_parts().update(among_->is_viewed() || memory_.has_shares()); };
      if (among_ != nullptr) return among_->guarded(update);
    }
    machine_.run(machine::first_update_step, machine::step_count);
    machine_.copy_to_final_addresses(
        [](int base) { return !compiled::model::purpose::keeps_gradients || base != plans::gradient_base; });
  }
  /// Writes the numbers that update rules read in this training step.
  void set_rule_numbers(const train_options& given) { rule_numbers_.set(machine_, given.lr, position()); }
  /// Computes the norm of all gradients, and sets the factor by which updates multiply the gradients, as PyTorch's
  /// clip_grad_norm_ does. The function is called when all gradients are computed and no parameter is updated yet.
  void set_clip_factor() {
    const double norm = shards_moments ? position().gradient_norm : norm_of_gradients();
    position().gradient_norm = norm;
    if constexpr (checks_finite) check_gradients();
    rule_numbers_.set_clip_factor(norm);
  }
  double norm_of_gradients() const {
    const auto* const first = reinterpret_cast<const real_type*>(machine_.bases()[plans::gradient_base]);
    const int most = kernels::threads_at_hand(threads);
    if constexpr (shards_batch) return detail::norm_of_sums<compiled>::of_all(first, most);
    else return kernels::length_of(first, static_cast<std::int64_t>(padded_count), most);
  }
  void check_loss(auto numbers) const {
    for (const auto number : numbers) {
      if (!std::isfinite(static_cast<double>(number))) refuse(loss_error(static_cast<double>(number)));
    }
  }
  void check_gradients() {
    if constexpr (shards_moments) {
      if (std::isfinite(position().gradient_norm)) return;
      if (among_ != nullptr) moments_in_parts().collect_gradients();
    }
    for_each_leaf_index([&]<int I>(std::integral_constant<int, I>) {
      constexpr bool is_kept = compiled::model::purpose::keeps_gradients || !compiled::model::chosen.trained[I];
      if constexpr (compiled::model::chosen.wanted[I] && is_kept)
        detail::check_gradient<real_type>(std::string_view(detail::leaf_name<compiled, I>),
                                          {gradient_at(I), static_cast<std::size_t>(machine::leaf(I).count)});
    });
  }
  /// Notes that parameters, states or moments were written, or can be written through a view, in this process and
  /// perhaps in no other. The next training step, if there are several processes, compares them.
  void note_written() {
    if constexpr (shards_batch) {
      if (among_ != nullptr) among_->note_written();
    }
  }
  /// Returns a parameter or a state as a view.
  template <fixed_string Name>
  auto view_of() {
    using problem = decltype(detail::problem_of_parameter<compiled, Name>());
    static_assert(lang::report_of<problem>{}.shown);
    constexpr int i = compiled::graph.find(graphs::role::parameter, Name);
    if constexpr (std::same_as<problem, lang::sound>) return detail::view_of<machine::extents_of(i)>(numbers_at<i>());
    else return detail::view_stand_in<real_type>{};
  }
  std::span<parameter_type> block_of_parameters() {
    note_view();
    return {reinterpret_cast<parameter_type*>(checked_machine().trained_block(memory_.data())), padded_count};
  }

  /// Returns the part of the moments that this process has with sharded_moments, if there are several processes.
  auto moments_in_parts() { return detail::sharded_moments_of<compiled>(machine_, *among_); }
  double norm_of_shared_gradients() {
    return among_ == nullptr ? norm_of_gradients() : moments_in_parts().norm_of_gradients();
  }

  void clear_moments() {
    if constexpr (shards_moments) {
      if (among_ != nullptr) {
        std::fill_n(memory_.data() + memory().parameter_bytes, memory(among_->size()).moment_bytes, std::byte{});
        return;
      }
    }
    for (const detail::runtime_moment& one : machine::moments)
      std::fill_n(machine_.base(one.base), one.bytes, std::byte{});
  }
  /// Calls use(run) with the numbers that outlive a training step.
  auto with_kept(auto use) {
    detail::kept_run run = detail::kept_in<compiled>(checked_machine(), memory_);
    if constexpr (shards_moments) {
      if (among_ != nullptr) {
        auto parts = moments_in_parts();
        run.parts = &parts;
        return use(run);
      }
    }
    return use(run);
  }
  /// Returns the machine, after all parameters have arrived from other processes. Every function that reads, writes or
  /// hands out parameters between training steps calls this function.
  machine& checked_machine() {
    memory_.check();
    settle();
    return machine_;
  }
  void settle() {
    if constexpr (shards_moments) {
      if (among_ != nullptr) among_->settle();
    }
  }
  /// Notes that the user can read parameters at any time from now on, without calling a function of the program.
  void note_view() {
    if constexpr (shards_moments) {
      if (among_ != nullptr) among_->note_view();
    }
  }
  template <class Number>
  Number* leaf_numbers(int leaf) {
    return reinterpret_cast<Number*>(checked_machine().leaf_base(leaf));
  }
  /// Returns the numbers of a parameter or a state for a view, in the type in which they are stored.
  template <int Leaf>
  auto* numbers_at() {
    note_view();
    return leaf_numbers<std::conditional_t<machine::leaf(Leaf).is_bf16, parameter_type, real_type>>(Leaf);
  }
  real_type* gradient_at(int leaf) {
    return reinterpret_cast<real_type*>(checked_machine().base(plans::gradient_base) +
                                        machine::leaf(leaf).gradient_offset);
  }
  template <class Number>
  void draw_parameter(int i, seed s) {
    const detail::runtime_leaf& leaf = machine::leaf(i);
    Number* const numbers = leaf_numbers<Number>(i);
    random_sequence draw(s, machine::sequence_of(i));
    const auto write = [&](std::int64_t at, double number) {
      // Adding 0 turns -0 into 0, since -0 means that the number is unwritten.
      numbers[at] = static_cast<Number>(static_cast<real_type>(number) + real_type{0});
    };
    if (leaf.start.drawn != initial::law::orthogonal) {
      for (std::int64_t at = 0; at < leaf.count; ++at)
        write(at, detail::draw_initial<machine::draws_normal>(leaf.start, draw));
    } else if constexpr (machine::draws_orthogonal) {
      const auto matrix = detail::draw_orthogonal<double>(leaf.first_extent, leaf.count / leaf.first_extent, draw);
      for (std::int64_t at = 0; at < leaf.count; ++at)
        write(at, leaf.start.width * matrix[static_cast<std::size_t>(at)]);
    }
    const int zero_row = leaf.start.zero_row;
    if (zero_row < 0) return;
    const std::int64_t row = leaf.count / leaf.first_extent;
    std::fill_n(numbers + row * zero_row, row, Number{});
  }

  /// Throws extent_error if the array for `Name` overlaps one of the other parameters or states that the same call
  /// sets.
  template <fixed_string Name, int... Leaf>
  void check_disjoint(std::span<const std::byte> array) {
    for (const int i : {Leaf...}) {
      const std::span<const std::byte> other(checked_machine().leaf_base(i),
                                             static_cast<std::size_t>(machine::leaf(i).bytes));
      if (i != compiled::graph.find(graphs::role::parameter, Name) && detail::common_bytes(array, other) > 0)
        detail::refuse_also_set(Name);
    }
  }
  template <class Number>
  void write(int leaf, const Number* numbers) {
    if (machine::leaf(leaf).is_bf16)
      std::transform(numbers, numbers + machine::leaf(leaf).count, leaf_numbers<parameter_type>(leaf),
                     [](Number x) { return static_cast<parameter_type>(x); });
    else std::memmove(leaf_numbers<Number>(leaf), numbers, static_cast<std::size_t>(machine::leaf(leaf).bytes));
  }
  /// Throws program_error
  /// - if the program was moved from,
  /// - if a parameter was neither initialized nor written,
  /// - or if an exception left a training step while it updated parameters.
  void check_usable() {
    memory_.check();
    const detail::parameter_status status = memory_.status();
    detail::check_status(status);
    if (!found_written_ && status != detail::parameter_status::written)
      detail::check_written(machine::all_leaves(), machine_.leaf_bases());
    found_written_ = true;
  }
  /// Calls `visit` with the index of each leaf as a std::integral_constant.
  static void for_each_leaf_index(auto visit) {
    [&]<int... I>(std::integer_sequence<int, I...>) {
      (visit(std::integral_constant<int, I>{}), ...);
    }(std::make_integer_sequence<int, machine::leaf_count>{});
  }

  /// Returns the exchange with other processes, or null.
  auto among() const {
    if constexpr (shards_batch) return among_.get();
    else return nullptr;
  }
  static constexpr void check_ranks(int ranks) {
    if (!detail::block_of_sums<compiled>::can_be_shared(ranks))
      detail::refuse_ranks(compiled::model::purpose::division.shards, ranks,
                           detail::block_of_sums<compiled>::averages.count > 0);
  }
  static std::size_t bytes_among(const detail::process_group& all) {
    return static_cast<std::size_t>(memory(all.size()).total_bytes());
  }
  program(detail::memory_block block, detail::process_group& all) : program(std::move(block), memory(all.size())) {
    if (all.size() == 1) return;
    if constexpr (updates_parameters) set_rule_numbers({});
    if constexpr (shards_moments)
      detail::sharded_moments_of<compiled>::place_moments(machine_, memory_.data() + memory().parameter_bytes,
                                                          all.size());
    among_ = detail::shard_sums<compiled>::prepare_exchange(all, machine_, memory_.data(),
                                                            rule_numbers_.hash() ^ std::uint64_t{checks_finite});
    if (!memory_.has_record()) note_view();  // the caller's memory
  }
  explicit program(detail::memory_block block) : program(std::move(block), memory()) {}
  program(detail::memory_block block, const memory_plan& plan) : memory_(std::move(block)) {
    std::byte* const at = memory_.data();
    std::byte* const moments = at + memory().parameter_bytes;
    machine_.set_leaf_addresses(at);
    machine_.set_moment_addresses(moments);
    machine_.base(plans::gradient_base) = moments + plan.moment_bytes;
    machine_.base(plans::arena_base) = machine_.base(plans::gradient_base) + plan.gradient_bytes + plan.division_bytes;
    machine_.set_bytes_of_sums(plan.gradient_bytes + plan.division_bytes);
    detail::mark_unwritten(machine::all_leaves(), machine_.leaf_bases(), memory_.bytes());
  }

  template <class Lender>
  using sharing = detail::sharing<compiled, typename Lender::compiled>;
  template <class Lender>
  using sharing_with =
      std::type_identity<decltype(detail::problem_of_sharing_memory<compiled, typename Lender::compiled>())>;
  template <class Lender, class... Given>
  program(std::type_identity<lang::sound>, Lender& lender, Given... given)
      : memory_((check_shared(lender), sharing<Lender>::make_block(lender.machine_, lender.memory_, given...))) {
    sharing<Lender>::begin(machine_, memory_, lender.machine_, lender.memory_);
  }
  template <class Lender>
  static void check_shared(const Lender& lender) {
    if ((divides || Lender::shards_moments) && lender.among() != nullptr)
      refuse(program_error(divides
                               ? "cairn: this program divides its batch, and shares the memory of a program of several "
                                 "processes; make it a program of its own"
                               : "cairn: this program shares the memory of a program of several processes with "
                                 "sharded_moments; make it a program of its own, or a predictor"));
  }
  template <class Problem, class Lender, class... Given>
  program(std::type_identity<Problem>, Lender&, Given...) : program() {}
  detail::training_position& position() { return memory_.position(); }
  const detail::training_position& position() const { return memory_.position(); }

  detail::memory_block memory_;
  machine machine_;
  detail::rule_numbers<compiled> rule_numbers_;
  // A program without shards has no exchange.
  [[no_unique_address]] std::conditional_t<shards_batch, std::unique_ptr<detail::exchange_of<compiled>>, lang::sound>
      among_;
  bool found_written_ = false;  // true after the first check that parameters are written
};

namespace detail {
/// Runs a training step of any program. A program that updates its parameters trains at the learning rates of its
/// update rules.
template <class Program, class... Bound>
auto one_step(Program& step, const Bound&... inputs) {
  if constexpr (Program::updates_parameters) return step.train(inputs...);
  else return step.value_and_grad(inputs...);
}
}  // namespace detail

/// Reports the mistake if no program can be made of `Output`, and accepts every use, so that no second error follows.
template <auto Output, class... Options>
  requires(!detail::runs<Output, true, Options...>)
class program<Output, Options...> : public detail::program_stand_in<Output, Options...> {
  static_assert(lang::report_of<decltype(detail::problem_of_program<Output, true, Options...>())>{}.shown);
  using detail::program_stand_in<Output, Options...>::program_stand_in;
};

namespace detail {
template <auto LossOf, int Rows, int Parts, class... Options>
struct divided_program {
  using type =
      program<loss_of_rows<LossOf, Rows / Parts>, Options..., microbatch<Parts, of<loss_of_rows<LossOf, Rows>>>>;
};
template <auto LossOf, int Rows, class... Options>
struct divided_program<LossOf, Rows, 1, Options...> {
  using type = program<loss_of_rows<LossOf, Rows>, Options...>;
};
}  // namespace detail

/// A program that runs a batch of `Rows` rows in as few microbatches as fit into fit<...> or budget<...>:
/// `program_in_parts<[](auto rows) { return loss<rows>; }, 512, fit<4_MiB>>`. With N microbatches, this is
/// `program<loss<512 / N>, fit<4_MiB>, microbatch<N, of<loss<512>>>>`. With one microbatch, it is
/// `program<loss<512>, fit<4_MiB>>`. `parts_that_fit` is the number N. If no number fits, the error has the fewest
/// bytes that were found.
template <auto LossOf, int Rows, class... Options>
  requires(Rows > 0 && a_loss_of_rows<decltype(LossOf)>)
using program_in_parts =
    typename detail::divided_program<LossOf, Rows, parts_that_fit<LossOf, Rows, Options...>, Options...>::type;

}  // namespace cairn
