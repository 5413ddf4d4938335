// A training step that divides its batch into microbatches and shards.
#pragma once

#include "cairn/base/hash.hpp"
#include "cairn/base/setting.hpp"
#include "cairn/kernel/float_mode.hpp"
#include "cairn/run/bind.hpp"
#include "cairn/run/kept_calls.hpp"
#include "cairn/run/machine.hpp"
#include "cairn/run/shard_sums.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <tuple>

namespace cairn::detail {

#ifdef NDEBUG
constexpr bool is_debug_build = false;  // not inline: each file has its own
#else
constexpr bool is_debug_build = true;
#endif

/// Runs the microbatches of one training step, each forward and backward, and sums their gradients and their outputs.
/// During its lifetime, the states of the program lie in a second copy. If `commit` is not called, because an exception
/// left the training step, the states and the random state are as before.
///
/// The shards are summed in a binary tree: the sum of shards [first, first + count) is the sum of the first half plus
/// the sum of the second half. The sum of a first half waits in a block of its own, one for each level of the tree.
///
/// If there is an exchange with other processes, this process runs its share of the shards. The exchange joins the sums
/// of all processes, and goes on while the last microbatch runs.
///
/// `ComparesArrays` is true in a debug build. It is a parameter, so that files compiled with and without NDEBUG use
/// different classes.
template <class Compiled, bool ComparesArrays>
class divided_step {
  using machine = detail::machine<Compiled>;
  using exchange = exchange_of<Compiled>;
  using real = typename Compiled::real;
  using sums = block_of_sums<Compiled>;
  using joined = shard_sums<Compiled>;
  static constexpr const auto& graph = Compiled::graph;
  static constexpr lang::division division = Compiled::model::purpose::division;
  static constexpr int count_count = plans::number_of_counts(graph);
  // A callback is called twice for a microbatch if there are counts, and must give equal arrays.
  static constexpr bool compares_arrays = ComparesArrays && count_count > 0;

 public:
  /// One number for each output of the model.
  using outputs = std::array<real, static_cast<std::size_t>(graph.result_count)>;

  divided_step(machine& m, memory_block& memory, exchange* among)
      : machine_(m),
        memory_(memory),
        among_(among),
        own_shards_(division.shards / (among == nullptr ? 1 : among->size())),
        first_shard_(own_shards_ * (among == nullptr ? 0 : among->rank())),
        random_(memory.position().random),
        first_draw_(random_.step) {
    joined::for_each_state([this](int leaf) { homes_[leaf] = machine_.leaf_base(leaf); });
    for (int i = 0, number = 0; i < graph.leaf_count; ++i) {
      if (machine::leaf(i).what == graphs::role::number)
        machine_.leaf_base(i) = reinterpret_cast<std::byte*>(&numbers_[static_cast<std::size_t>(number++)]);
    }
  }
  divided_step(const divided_step&) = delete;
  ~divided_step() {
    joined::for_each_state([this](int leaf) { machine_.leaf_base(leaf) = homes_[leaf]; });
    if (!is_done_) random_.step = first_draw_;
  }

  /// Runs all microbatches, and returns the means of the outputs. Afterwards the block of gradients has the gradients
  /// of the mean loss. `given` is what the user gave the training step: arrays of the whole batch, or a callback. All
  /// processes must have the same learning rate `rate`. Throws program_error if the model has synchronized batch norms
  /// and this process has several shards.
  template <class... Given>
  outputs run(double rate, const Given&... given) {
    if (sums::averages.count > 0 && own_shards_ > 1)
      refuse(
          program_error(text_of({"cairn: synchronized batch norms need the shards of shards<", text_of(division.shards),
                                 "> at once; train in ", text_of(division.shards), " processes"})));
    if (!is_among_others()) return run_all(rate, given...);
    return among_->guarded([&] { return run_all(rate, given...); });
  }
  /// Makes the first microbatch the one that plan steps run on, and calls `use`. Other processes do not take part.
  template <class... Given>
  void with_first(auto use, const Given&... given) {
    find_count(given...);
    prepare(false, given...);
    machine_.set_random_streams(random_.from, first_draw_ + draw_of(first_shard_, 0));
    at_part(first_shard_ * each_, use, given...);
  }
  /// Gives the states the values that the microbatches left.
  void commit() {
    joined::for_each_state([this](int leaf) {
      real* const numbers = numbers_of(0, leaf);
      if (division.shards > 1 && joined::join_of(leaf) == shard_join::mean)
        for (std::int64_t i = 0; i < machine::leaf(leaf).count; ++i) numbers[i] /= static_cast<real>(division.shards);
      std::memcpy(homes_[leaf], numbers, static_cast<std::size_t>(machine::leaf(leaf).bytes));
    });
    is_done_ = true;
  }
  /// Returns the outputs as value_and_grad does: the number, or a tuple of the numbers.
  static auto results(const outputs& all) {
    if constexpr (graph.result_count == 1) return all[0];
    else return std::tuple_cat(all);
  }

 private:
  /// Returns block number `which` of the sums. Block 0 is the one that plan steps write.
  std::byte* block(int which) { return machine_.base(plans::gradient_base) + which * sums::bytes; }
  real* numbers_of(int which, int leaf) {
    return reinterpret_cast<real*>(block(which) + sums::gradient_bytes + sums::states.offset[leaf]);
  }

  template <class... Given>
  outputs run_all(double rate, const Given&... given) {
    find_count(given...);
    if (is_among_others()) begin_exchange(rate);
    prepare(is_among_others(), given...);
    outputs all = run_shards(first_shard_, own_shards_, is_among_others(), given...);
    if (is_among_others()) end_exchange(all);
    if constexpr (division.shards > 1)
      executable<Compiled>::copy_from_final_addresses(machine_.bases(), plans::gradient_base);
    return all;
  }

  /// Returns true if other processes run other shards.
  bool is_among_others() const {
    if constexpr (division.shards > 1) return among_ != nullptr;
    else return false;
  }
  void begin_exchange(double rate) {
    const std::uint64_t settings[] = {random_.from.value, first_draw_, static_cast<std::uint64_t>(count_),
                                      std::bit_cast<std::uint64_t>(rate),
                                      static_cast<std::uint64_t>(memory_.position().steps)};
    among_->begin_step(memory_.position().steps + 1,
                       hash64_of({reinterpret_cast<const char*>(settings), sizeof settings}));
    next_bucket_ = exchange::first_bucket;
  }
  /// Runs a microbatch while messages are under way. With sharded_moments, the first microbatch of this process waits
  /// for the parameters that the last training step left under way. If `is_last` is true, buckets of gradients are
  /// exchanged as soon as they are complete.
  void run_with_exchange(bool is_last) {
    for (int i = 0, average = 0; i < machine::end_of_microbatch; ++i) {
      if (is_last) launch_buckets(i);
      if constexpr (division.shards_moments) await_parameters(i);
      machine_.run(i, i + 1);
      for (; average < sums::averages.count && sums::averages.of[average].step == i; ++average)
        take_average(joined::first_average + average);
      among_->poll();
    }
    // Results and next values of states can be parameters, too.
    if constexpr (division.shards_moments) joined::await_parameters(*among_, 0, sums::gradient_bytes);
  }
  /// Waits for the parameters that a plan step reads.
  void await_parameters(int step) {
    const runtime_step& one = executable<Compiled>::tables.steps[step];
    for (int k = one.first_operand; k < one.end_operand; ++k) {
      const int leaf = executable<Compiled>::tables.operands[k].base - plans::leaf_base;
      if (leaf < 0 || leaf >= machine::leaf_count || !machine::leaf(leaf).trained) continue;
      const runtime_leaf& read = machine::leaf(leaf);
      joined::await_parameters(*among_, read.gradient_offset,
                               read.gradient_offset + read.count * static_cast<std::int64_t>(sizeof(real)));
    }
  }
  /// Puts the mean over all shards in the place of numbers that this process has computed, and waits for it. The
  /// numbers are divided before they are added, so that sums do not overflow.
  void take_average(int which) {
    const auto& [own, received, bytes, is_cut, join, ready, what] = (*among_)[which];
    auto* const numbers = reinterpret_cast<real*>(own);
    for (std::int64_t i = 0; i < bytes / static_cast<std::int64_t>(sizeof(real)); ++i)
      numbers[i] /= static_cast<real>(division.shards);
    among_->launch(which);
    among_->wait_for(which);
  }
  /// Launches the buckets that are complete after `steps` plan steps.
  void launch_buckets(int steps) {
    for (; next_bucket_ < among_->count() && (*among_)[next_bucket_].ready <= steps; ++next_bucket_) {
      const auto& bucket = (*among_)[next_bucket_];
      add_waiting(bucket.own, bucket.bytes);
      if constexpr (division.shards_moments) among_->launch_joining(next_bucket_);
      else among_->launch(next_bucket_);
    }
  }
  /// Adds the sums that wait in this process to gradients of its last shard.
  void add_waiting(std::byte* gradients, std::int64_t bytes) {
    for (int shards = 2, level = 1; shards <= own_shards_; shards *= 2, ++level)
      joined::add(gradients, gradients + (block(level) - block(0)), bytes, true);
  }
  void end_exchange(outputs& all) {
    add_waiting((*among_)[exchange::rest].own, joined::gradient_bytes_of_rest);
    group_notes& notes = among_->group().notes();
    real* const shared = reinterpret_cast<real*>((*among_)[exchange::outputs].own);
    std::ranges::copy(all, shared);
    shared[all.size()] = notes.asks() ? real{1} : real{0};
    among_->launch(exchange::rest);
    among_->launch(exchange::outputs);
    exchange_states();
    among_->end_step(kept_in<Compiled>(machine_, memory_));
    exchange_states();
    std::copy_n(shared, all.size(), all.begin());
    if (shared[all.size()] > 0) notes.is_asked_to_stop = true;
  }
  /// Exchanges the addresses of the states in this step with those of the states before it.
  void exchange_states() {
    joined::for_each_state([this](int leaf) { std::swap(machine_.leaf_base(leaf), homes_[leaf]); });
  }

  /// Finds out how many microbatches there are.
  void find_count(const auto&... given) {
    each_ = microbatches_of(given...);
    count_ = each_ * division.shards;
  }
  /// Checks arrays of the whole batch, and computes the counts of the batch. If `asks_others` is false, takes the means
  /// over the microbatches of this process for those of the batch.
  template <class... Given>
  void prepare(bool asks_others, const Given&... given) {
    if constexpr ((a_binding<Given> && ...)) machine_.check_inputs({}, count_, given...);
    // The share of a microbatch is the last number, if it is given at run time.
    numbers_[static_cast<std::size_t>(count_count)] = real{1} / static_cast<real>(count_);
    random_.step = first_draw_ + static_cast<std::uint32_t>(division.count());
    if constexpr (count_count > 0) count(asks_others, given...);
  }
  int microbatches_of(const auto&...) { return division.microbatches; }
  int microbatches_of(const parts& n, const auto&) {
    if (n.count < 1 || n.count > division.microbatches)
      refuse(std::invalid_argument(
          text_of({"cairn: parts: expected 1 to ", text_of(division.microbatches), ", got ", text_of(n.count)})));
    return n.count;
  }
  template <a_binding First, a_binding... Rest>
    requires(division.varies)
  int microbatches_of(const First& first, const Rest&...) {
    const shape& one = input_of<Compiled, First>::shape;
    const int found = microbatches_in(first.extents, one, division.microbatches, division.shards);
    if (found == 0)
      refuse(extent_error(First::name,
                          text_of({text_of(division.shards), " to ", text_of(division.count()), " times ", text_of(one),
                                   ", one behind another"}),
                          text_of(first.extents)));
    return found / division.shards;
  }

  /// Places the inputs of microbatch number `part` of the batch, and calls `use`.
  template <a_binding... Bound>
  void at_part(int part, auto use, const Bound&... arrays) {
    machine_.place_inputs(part, arrays...);
    use();
  }
  template <a_callback F>
  void at_part(int part, auto use, const F& callback) {
    const auto own = called(callback, part);
    std::apply(
        [&](const auto&... arrays) {
          machine_.bind_inputs({.microbatch = part}, arrays...);
          if constexpr (compares_arrays) compare(part, arrays...);
        },
        own.bound);
    kernels::default_float_mode::set();  // the callback may have set another one
    use();
  }
  /// Calls the callback. Meanwhile nothing else can use the program, because a training step is half done.
  auto called(const auto& callback, int part) {
    struct calling {
      memory_block& memory;
      explicit calling(memory_block& of) : memory(of) { memory.set_in_callback(true); }
      ~calling() { memory.set_in_callback(false); }
    } const now{memory_};
    return callback(part);
  }
  void at_part(int part, auto use, const parts&, const auto& callback) { at_part(part, use, callback); }

  /// Adds the arrays of a microbatch to the hash of the batch. The callback is called for the microbatches in the same
  /// order both times, so one hash serves all of them. At the last microbatch of this process, throws program_error if
  /// the callback gave other arrays when the counts were computed. No parameter is updated before that.
  template <class... Bound>
  void compare(int part, const Bound&... arrays) {
    if (part == first_shard_ * each_) hash_ = 0;
    const auto add = [&](std::span<const std::byte> bytes) {
      hash_ = hash64_of({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, hash_);
    };
    (add(arrays.bytes(input_of<Compiled, Bound>::shape)), ...);
    if (part + 1 < (first_shard_ + own_shards_) * each_) return;
    if (is_counted_ && hash_ != counted_hash_)
      refuse(
          program_error("cairn: the callback gave other arrays for the microbatches of this step than when labels were "
                        "counted; return the same arrays both times"));
    counted_hash_ = hash_;
  }

  /// Computes the means of the arguments of `over_parts` over all microbatches.
  template <class... Given>
  void count(bool asks_others, const Given&... given) {
    totals all = count_shards(first_shard_, own_shards_, given...);
    int counted = own_shards_ * each_;
    if (asks_others) {
      counted = count_;
      std::byte* const shared = (*among_)[exchange::counts].own;
      std::memcpy(shared, all.data(), sizeof all);
      among_->launch(exchange::counts);
      among_->wait_for(exchange::counts);
      std::memcpy(all.data(), shared, sizeof all);
    }
    is_counted_ = true;
    for (std::size_t i = 0; i < all.size(); ++i) numbers_[i] = static_cast<real>(all[i] / counted);
  }
  using totals = std::array<double, static_cast<std::size_t>(count_count)>;
  /// Returns the sums of the counts over some shards, which are added in the order of the binary tree.
  template <class... Given>
  totals count_shards(int first, int shards, const Given&... given) {
    totals all{};
    if (shards == 1) {
      for (int i = 0; i < each_; ++i) count_part(first * each_ + i, all, given...);
    } else {
      all = count_shards(first, shards / 2, given...);
      const totals others = count_shards(first + shards / 2, shards / 2, given...);
      for (std::size_t i = 0; i < all.size(); ++i) all[i] += others[i];
    }
    return all;
  }
  template <class... Given>
  void count_part(int part, totals& all, const Given&... given) {
    using counts = plans::counts_of<Compiled>;
    at_part(
        part,
        [&] {
          machine_.template run_other<counts>();
          [&]<int... I>(std::integer_sequence<int, I...>) {
            static_assert(((counts::schedule.result(counts::schedule.outputs[I]).element.type == dtype::real) && ...));
            ((all[I] += machine_.number_at(counts::layout.of[counts::schedule.outputs[I]])), ...);
          }(std::make_integer_sequence<int, count_count>{});
        },
        given...);
  }

  /// Runs shards, and leaves their sums in block 0. If `is_last` is true, they are the last shards of this process, and
  /// the exchange with other processes adds the gradients that wait.
  template <class... Given>
  outputs run_shards(int first, int shards, bool is_last, const Given&... given) {
    if (shards == 1) return run_shard(first, is_last, given...);
    const auto level = static_cast<int>(std::bit_width(static_cast<unsigned>(shards))) - 1;
    outputs all = run_shards(first, shards / 2, false, given...);
    std::memcpy(block(level), block(0), static_cast<std::size_t>(sums::bytes));
    const outputs others = run_shards(first + shards / 2, shards / 2, is_last, given...);
    for (std::size_t i = 0; i < all.size(); ++i) all[i] += others[i];
    if (!is_last) joined::add(block(0), block(level), sums::gradient_bytes, false);
    joined::for_each_state([&](int leaf) { joined::join(leaf, numbers_of(0, leaf), numbers_of(level, leaf), false); });
    return all;
  }
  /// Runs the microbatches of one shard. Their gradients are added to zero, and their states follow from those of the
  /// program. Returns what the shard adds to the mean outputs of the batch; outputs are few, so they are added in
  /// double. If `is_last` is true, the exchange with other processes begins in the last microbatch.
  template <class... Given>
  outputs run_shard(int shard, bool is_last, const Given&... given) {
    std::array<double, std::tuple_size_v<outputs>> all{};
    std::fill_n(block(0), sums::gradient_bytes, std::byte{});
    joined::for_each_state([this](int leaf) {
      machine_.leaf_base(leaf) = reinterpret_cast<std::byte*>(numbers_of(0, leaf));
      std::memcpy(machine_.leaf_base(leaf), homes_[leaf], static_cast<std::size_t>(machine::leaf(leaf).bytes));
    });
    for (int i = 0; i < each_; ++i) {
      const bool exchanges = is_last && i + 1 == each_;
      const bool awaits = division.shards_moments && is_among_others() && shard == first_shard_ && i == 0;
      at_part(
          shard * each_ + i,
          [&] {
            machine_.set_random_streams(random_.from, first_draw_ + draw_of(shard, i));
            if (exchanges || awaits) run_with_exchange(exchanges);
            else machine_.run(0, machine::end_of_microbatch);
            machine_.copy_to_final_addresses([](int base) { return base == plans::gradient_base; });
            if (exchanges) launch_buckets(machine::end_of_microbatch);
            machine_.update_states();
            const auto made = machine_.results_as_array();
            for (std::size_t k = 0; k < all.size(); ++k) all[k] += made[k];
          },
          given...);
    }
    outputs rounded{};
    for (std::size_t k = 0; k < all.size(); ++k) rounded[k] = static_cast<real>(all[k] / count_);
    return rounded;
  }
  /// Returns which draw of the training step a microbatch of a shard is.
  static std::uint32_t draw_of(int shard, int microbatch) {
    return static_cast<std::uint32_t>(shard * division.microbatches + microbatch);
  }

  machine& machine_;
  memory_block& memory_;
  exchange* const among_;  // null if one process runs all shards
  const int own_shards_, first_shard_;
  int next_bucket_ = 0;  // the next one that is launched
  random_state& random_;
  const std::uint32_t first_draw_;
  int each_ = 0, count_ = 0;  // microbatches of a shard, and of the batch
  bool is_done_ = false, is_counted_ = false;
  std::uint64_t hash_ = 0, counted_hash_ = 0;  // of the arrays of a callback, in a debug build
  std::array<real, static_cast<std::size_t>(count_count) + 1> numbers_{};
  std::byte* homes_[machine::leaf_count + 1] = {};
};

}  // namespace cairn::detail
