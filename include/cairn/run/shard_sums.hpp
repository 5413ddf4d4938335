// The sums of the shards of a batch, and how they are joined.
#pragma once

#include "cairn/kernel/reduce.hpp"
#include "cairn/kernel/threads.hpp"
#include "cairn/run/exchange.hpp"
#include "cairn/run/kept.hpp"
#include "cairn/run/plan_hash.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace cairn::detail {

/// Adds the numbers of `more` to those of `sums`, element by element.
template <class Real>
void add_numbers(Real* sums, const Real* more, std::int64_t count, int threads) {
  constexpr std::int64_t work_of_number = 3 * 40;  // three numbers are moved, and each counts as 40 operations
  kernels::shares{work_of_number * count, count, 16}(threads, [=](costs::range range) {
    for (std::int64_t i = range.begin; i < range.end; ++i) sums[i] += more[i];
  });
}

/// The exchange of a program with other processes. The type depends on the program, so that compilers read the exchange
/// only for programs that divide their batch.
template <class Compiled>
using exchange_of = exchange<std::conditional_t<Compiled::model::purpose::division.divides(), process_group, void>>;

/// Computes the norm of the gradients of a program with shards<L>. Each bucket consists of L blocks. The norm of a
/// bucket is computed from the norms of its blocks, and the norm of all gradients from the norms of the buckets.
/// Processes can share the blocks, because the bits of the norm do not depend on who computes the norm of a block.
template <class Compiled>
struct norm_of_sums {
  using real = typename Compiled::real;
  static constexpr int shards = Compiled::model::purpose::division.shards;
  static constexpr std::int64_t bytes = plans::bytes_in_buckets(Compiled::addresses.gradient_bytes, shards);
  static constexpr int buckets = plans::bucket_count(bytes), blocks = buckets * shards;

  /// Returns the norm of block number `block` of the gradients that begin at `first`.
  static double of_block(const real* first, std::int64_t block) {
    const std::int64_t offset = block / shards * plans::bucket_bytes;
    const std::int64_t size = count_in(std::min(plans::bucket_bytes, bytes - offset)) / shards;
    return kernels::length_of(first + count_in(offset) + block % shards * size, size, 1);
  }
  /// Calls visit(bucket) for each bucket.
  static void for_each_bucket(int threads, auto visit) {
    if constexpr (buckets > 0) {
      kernels::shares{work, buckets}(threads, [&](costs::range own) {
        for (std::int64_t bucket = own.begin; bucket < own.end; ++bucket) visit(bucket);
      });
    }
  }
  /// Returns the norm of all gradients. `norm_of_block(block)` returns the norm of a block.
  static double of_all(const real* first, auto norm_of_block, int threads) {
    double of_buckets[buckets + 1];
    for_each_bucket(threads, [&](std::int64_t bucket) {
      double of_blocks[shards];
      for (int i = 0; i < shards; ++i) of_blocks[i] = norm_of_block(bucket * shards + i);
      of_buckets[bucket] = kernels::length_of(of_blocks, shards, 1);
    });
    of_buckets[buckets] =
        kernels::length_of(first + count_in(bytes), count_in(Compiled::addresses.gradient_bytes - bytes), 1);
    return kernels::length_of(of_buckets, buckets + 1, 1);
  }
  static double of_all(const real* first, int threads) {
    return of_all(first, [first](std::int64_t block) { return of_block(first, block); }, threads);
  }

 private:
  static constexpr std::int64_t count_in(std::int64_t size) { return size / static_cast<std::int64_t>(sizeof(real)); }
  static constexpr std::int64_t work = 40 * (bytes / static_cast<std::int64_t>(sizeof(real)));
};

/// How the sums and the states of two groups of shards are joined, in one process and between processes.
template <class Compiled>
class shard_sums {
  using machine = detail::machine<Compiled>;
  using exchange = exchange_of<Compiled>;
  using real = typename Compiled::real;
  using sums = block_of_sums<Compiled>;

 public:
  /// The bytes of the gradients that are in no bucket.
  static constexpr std::int64_t gradient_bytes_of_rest =
      sums::gradient_bytes - plans::bytes_in_buckets(sums::gradient_bytes, Compiled::model::purpose::division.shards);

  /// Calls `visit` with each leaf that is a state.
  static void for_each_state(auto visit) {
    for (int i = 0; i < machine::leaf_count; ++i) {
      if (machine::leaf(i).has_next) visit(i);
    }
  }

  /// Returns how a state is joined.
  static constexpr shard_join join_of(int leaf) { return joins[static_cast<std::size_t>(leaf)]; }
  /// Joins the next values of a state that two groups of shards left. `is_later` is true if `other` belongs to
  /// the later group.
  static void join(int leaf, real* own, const real* other, bool is_later) {
    for (std::int64_t i = 0; i < machine::leaf(leaf).count; ++i)
      own[i] = is_later ? joined(join_of(leaf), own[i], other[i]) : joined(join_of(leaf), other[i], own[i]);
  }
  /// Adds the gradients of other shards.
  static void add(std::byte* own, const std::byte* received, std::int64_t bytes, bool) {
    add_numbers(reinterpret_cast<real*>(own), reinterpret_cast<const real*>(received),
                bytes / static_cast<std::int64_t>(sizeof(real)), threads());
  }
  // With sharded_moments, the norms of blocks of gradients and the buckets of parameters follow the buckets of
  // gradients in the exchange. The buckets of parameters have the order of their offsets.
  static constexpr int norms = exchange::first_bucket + exchanged<Compiled>::buckets.count;
  static constexpr int first_parameters = norms + 1;
  // The values that are replaced by their means over all shards are the last ones.
  static constexpr int first_average =
      Compiled::model::purpose::division.shards_moments ? first_parameters + exchanged<Compiled>::buckets.count : norms;

  /// Waits for updated parameters that are still under way, and that have their gradients in bytes [begin, end) of the
  /// block of gradients.
  static void await_parameters(exchange& among, std::int64_t begin, std::int64_t end) {
    constexpr std::int64_t count = exchanged<Compiled>::buckets.count, size = plans::bucket_bytes;
    for (std::int64_t i = begin / size; i < count && i * size < end; ++i)
      among.wait_for(first_parameters + static_cast<int>(i));
  }

  /// Prepares the exchange of a program with the processes of a group. The parameters begin at `parameters`. `settings`
  /// is a hash of what the plan does not have: the numbers of update rules, and whether results are checked.
  static std::unique_ptr<exchange> prepare_exchange(process_group& group, const machine& m, std::byte* parameters,
                                                    std::uint64_t settings) {
    using all = exchanged<Compiled>;
    constexpr const auto& buckets = all::buckets;
    auto made = std::make_unique<exchange>(group, kept_by_all);
    std::byte* const first_block = m.bases()[plans::gradient_base];
    std::byte* const received = first_block + sums::blocks_of(group.size()) * sums::bytes;
    std::byte* const received_rest = received + buckets.received_bytes;
    made->add(all::count_bytes, add_counts, "the counts of the batch");
    made->add(all::output_bytes, add, "the outputs");
    made->add({first_block + buckets.bytes, received_rest, all::rest_bytes, false, join_rest, 0,
               "the states and the last gradients"});
    int number = 0;
    for (int ready = 0; ready <= machine::end_of_microbatch; ++ready) {
      for (int i = buckets.count; i-- > 0;) {
        const auto& [offset, bytes, leaf, at, is_cut, received_offset] = buckets.of[i];
        if (at != ready) continue;
        // A process with an odd rank receives the second half of a bucket that is cut.
        std::byte* const to = received + received_offset - (is_cut ? group.rank() % 2 * bytes / 2 : 0);
        made->add({first_block + offset, to, bytes, is_cut, add, ready, name_of_bucket("bucket ", ++number, leaf)});
      }
    }
    if constexpr (Compiled::model::purpose::division.shards_moments) {
      constexpr int later = std::numeric_limits<int>::max();  // behind all plan steps of microbatches
      made->add(all::norm_bytes, add_counts, "the norms of the gradients", later);
      for (int i = 0; i < buckets.count; ++i) {
        const plans::bucket& one = buckets.of[i];
        made->add({parameters + all::parameter_bytes(one.offset), nullptr, all::parameter_bytes(one.bytes), true,
                   nullptr, later, name_of_bucket("updated bucket ", i + 1, one.leaf)});
      }
    }
    for (int i = 0; i < sums::averages.count; ++i) {
      const int value = sums::averages.of[i].value;
      made->add({m.at(Compiled::layout.of[value]), received_rest + all::rest_bytes,
                 Compiled::schedule.result(value).bytes, false, add, std::numeric_limits<int>::max(),
                 text_of({"mean ", text_of(i + 1), " of ", text_of(sums::averages.count), " of batch norms"})});
    }
    made->prepare();
    made->agree(plan_hash<Compiled>(settings), construction);
    return made;
  }

 private:
  /// The tensors that all processes keep. They are the first ones in the table of kept tensors if moments are sharded.
  static constexpr std::span<const kept_tensor> kept_by_all = [] {
    const std::span<const kept_tensor> all(kept_tensors<Compiled>);
    if (!Compiled::model::purpose::division.shards_moments) return all;
    std::size_t leaves = 0;
    while (leaves < all.size() && all[leaves].is_leaf()) ++leaves;
    return all.first(leaves);
  }();
  static std::string name_of_bucket(std::string_view what, int number, int leaf) {
    return text_of({what, text_of(number), " of ", text_of(exchanged<Compiled>::buckets.count), " (",
                    machine::graph.name(machine::graph.leaves[leaf]), " ...)"});
  }
  static constexpr auto joins = [] {
    std::array<shard_join, static_cast<std::size_t>(machine::leaf_count) + 1> out{};
    for (int i = 0; i < machine::leaf_count; ++i) out[static_cast<std::size_t>(i)] = machine::graph.leaves[i].join;
    return out;
  }();
  static real joined(shard_join how, real earlier, real later) {
    if (how == shard_join::mean) return later + earlier;
    if (how == shard_join::last) return later;
    return !(earlier <= later) && later == later ? earlier : later;  // a NaN of either group stays
  }
  static void add_counts(std::byte* own, const std::byte* received, std::int64_t bytes, bool) {
    add_numbers(reinterpret_cast<double*>(own), reinterpret_cast<const double*>(received),
                bytes / static_cast<std::int64_t>(sizeof(double)), 1);
  }
  static void join_rest(std::byte* own, const std::byte* received, std::int64_t, bool is_later) {
    add(own, received, gradient_bytes_of_rest, is_later);
    for_each_state([=](int leaf) {
      const std::int64_t offset = gradient_bytes_of_rest + sums::states.offset[leaf];
      join(leaf, reinterpret_cast<real*>(own + offset), reinterpret_cast<const real*>(received + offset), is_later);
    });
  }
  static int threads() { return kernels::threads_at_hand(Compiled::threads); }
};

}  // namespace cairn::detail
