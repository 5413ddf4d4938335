// Decides what a program shares with its lender: `program<loss<64>, ...> shorter{longest}`. The lender is the program
// that has the memory. All of this is decided while the program compiles. run/family.hpp has what the programs tell one
// another at run time.
#pragma once

#include "cairn/run/family.hpp"
#include "cairn/run/kept.hpp"
#include "cairn/run/machine.hpp"
#include "cairn/run/unwritten.hpp"

#include <algorithm>
#include <memory>

namespace cairn::detail {

/// The bytes of the block of gradients, and of the sums behind it.
template <class Compiled>
inline constexpr std::int64_t bytes_of_sums =
    block_of_sums<Compiled>::gradient_bytes + block_of_sums<Compiled>::bytes_behind_gradients;

/// Returns the entry of a program in the list of programs that share its memory.
template <class Compiled>
auto make_member(machine<Compiled>& of) {
  auto made = std::make_unique<family_entry<typename Compiled::real>>();
  made->tensors = kept_tensors<Compiled>;
  for (const kept_tensor& one : made->tensors) made->addresses.push_back(of.at(one.at));
  made->gradients = {of.base(plans::gradient_base), static_cast<std::size_t>(of.bytes_of_sums())};
  made->arena = {of.base(plans::arena_base), static_cast<std::size_t>(arena_bytes<Compiled>())};
  return made;
}

/// Compares the program of `Compiled` with its lender, the program of `Lender`.
template <class Compiled, class Lender>
struct sharing {
  static constexpr const auto& own = kept_tensors<Compiled>;
  static constexpr const auto& lent = kept_tensors<Lender>;
  static constexpr std::size_t count = own.size();
  using purpose = typename Compiled::model::purpose;
  using lent_purpose = typename Lender::model::purpose;

  static constexpr bool is_leaf(const kept_tensor& t) { return t.is_leaf(); }
  static constexpr auto moment_count(const auto& tensors) {
    return std::ranges::count_if(tensors, [](const kept_tensor& t) { return !is_leaf(t); });
  }
  static constexpr bool is_trained(const kept_tensor& t) { return t.is_leaf() && t.is_trained; }
  template <class C>
  static constexpr auto trained_count = std::ranges::count_if(kept_tensors<C>, is_trained);

  template <class C>
  static constexpr bool wants_inputs = [] {
    for (int i = 0; i < C::graph.leaf_count; ++i) {
      if (C::graph.leaf_op(i).what == graphs::role::input && C::model::chosen.wanted[i]) return true;
    }
    return false;
  }();

  /// By kept tensor of the program: the index of the lender's tensor of the same name, or none. Models of one family
  /// have their tensors in one order, so each search begins behind the tensor that the search before it found.
  static constexpr auto namesake = [] {
    std::array<int, count + 1> out{};
    std::size_t next = 0;
    for (std::size_t i = 0; i < count; ++i) {
      out[i] = graphs::none;
      for (std::size_t tried = 0; tried < lent.size() && out[i] == graphs::none; ++tried) {
        const std::size_t k = (next + tried) % lent.size();
        if (own[i].name == lent[k].name && own[i].moment == lent[k].moment) out[i] = static_cast<int>(k);
      }
      if (out[i] != graphs::none) next = static_cast<std::size_t>(out[i]) + 1;
    }
    return out;
  }();
  static constexpr const kept_tensor& namesake_of(std::size_t i) { return lent[static_cast<std::size_t>(namesake[i])]; }

  /// True if the rules of both programs keep the same moments, or if the rules of one program keep some more. Rules
  /// with and without moments differ in how they use the number of training steps.
  static constexpr bool keeps_same_moments = [] {
    std::ptrdiff_t in_both = 0;
    for (std::size_t i = 0; i < count; ++i) in_both += !is_leaf(own[i]) && namesake[i] != graphs::none;
    const auto here = moment_count(own), there = moment_count(lent);
    return (here == 0) == (there == 0) && in_both == std::min<std::ptrdiff_t>(here, there);
  }();
  /// True if both programs train the same parameters, with rules that keep the same moments. They then also share
  /// moments and the training_position. If they trained only some parameters in common, one number of training steps
  /// could not count the updates of all of them. A program without rules has no moments, and shares the position.
  static constexpr bool trains_same = [] {
    bool same = trained_count<Compiled> == trained_count<Lender>;
    if (purpose::updates_parameters && lent_purpose::updates_parameters) same = same && keeps_same_moments;
    for (std::size_t i = 0; i < count; ++i) {
      if (is_trained(own[i])) same = same && namesake[i] != graphs::none && is_trained(namesake_of(i));
    }
    return same;
  }();
  static constexpr bool is_shared(std::size_t i) {
    return namesake[i] != graphs::none && (is_leaf(own[i]) || trains_same);
  }

  /// The first leaf that differs in shape or type from the lender's leaf of the same name, or none.
  static constexpr int first_different_leaf = [] {
    for (std::size_t i = 0; i < count; ++i) {
      if (!is_leaf(own[i]) || !is_shared(i)) continue;
      const int here = own[i].at.base - plans::leaf_base, there = namesake_of(i).at.base - plans::leaf_base;
      if (own[i].extents != namesake_of(i).extents || own[i].type != namesake_of(i).type ||
          Compiled::graph.leaf_op(here).trainable != Lender::graph.leaf_op(there).trainable)
        return here;
    }
    return graphs::none;
  }();
  static constexpr bool any_leaf_is_shared = [] {
    for (std::size_t i = 0; i < count; ++i) {
      if (is_leaf(own[i]) && is_shared(i)) return true;
    }
    return false;
  }();

  /// True if both programs have one block of gradients. An optimizer of either program can then use the gradients of
  /// both. There are exceptions for programs that train the same parameters:
  /// - The block has the order of the parameters. If the orders differ, each program has a block of its own.
  /// - A program that sums gradients over its steps shares no block with a program that overwrites them.
  /// - A block in which gradients of inputs are summed is not shared, because inputs have other shapes there.
  /// - With sharded_moments, a program writes its block of gradients while it saves, too.
  /// - A program that divides its batch has more sums behind its gradients. Its block is shared if the lender's is as
  ///   large.
  static constexpr bool shares_gradients = [] {
    if (!trains_same || !purpose::shows_gradients || !lent_purpose::shows_gradients) return false;
    if (purpose::accumulates != lent_purpose::accumulates) return false;
    for (std::size_t i = 0; i < count; ++i) {
      if (is_trained(own[i]) && Compiled::addresses.gradient_offset[own[i].at.base - plans::leaf_base] !=
                                    Lender::addresses.gradient_offset[namesake_of(i).at.base - plans::leaf_base])
        return false;
    }
    if (purpose::division.divides() && bytes_of_sums<Compiled> > bytes_of_sums<Lender>) return false;
    return !(purpose::accumulates && wants_inputs<Compiled>) && !(lent_purpose::accumulates && wants_inputs<Lender>);
  }();

  /// The offsets of the tensors that are not shared, in the block of the program. Parameters and states come first.
  /// Moments follow, and then gradients.
  struct own_block {
    std::int64_t offset[count + 1] = {};
    std::int64_t parameter_bytes = 0, moment_bytes = 0;
  };
  static constexpr own_block block = [] {
    own_block out;
    std::int64_t end = 0;
    for (const bool leaves : {true, false}) {
      for (std::size_t i = 0; i < count; ++i) {
        if (is_leaf(own[i]) != leaves || is_shared(i)) continue;
        out.offset[i] = end;
        const auto bytes = own[i].type == dtype::bf16 ? sizeof(bf16) : sizeof(typename Compiled::real);
        end += plans::aligned(own[i].extents.count() * static_cast<std::int64_t>(bytes));
      }
      if (leaves) out.parameter_bytes = end;
    }
    out.moment_bytes = end - out.parameter_bytes;
    return out;
  }();
  static constexpr memory_plan memory{
      .stored_bytes = Compiled::slots.stored_bytes,
      .peak_bytes = 0,
      .parameter_bytes = block.parameter_bytes,
      .gradient_bytes = shares_gradients ? 0 : Compiled::addresses.gradient_bytes,
      .moment_bytes = block.moment_bytes,
      .elsewhere_bytes = Compiled::addresses.elsewhere_bytes,
      .division_bytes = shares_gradients ? 0 : block_of_sums<Compiled>::bytes_behind_gradients,
  };
  /// Returns a block for everything that is not shared. Throws program_error if the lender has no memory.
  static memory_block make_block(machine<Lender>& from, memory_block& lent) {
    begin_family(from, lent);
    return memory_block(bytes_of_own);
  }
  /// Returns such a block in memory of the caller. Throws memory_error if a program that shares memory uses the memory.
  static memory_block make_block(machine<Lender>& from, memory_block& lent, std::span<std::byte> given) {
    begin_family(from, lent);
    const std::span<std::byte> used = given.first(std::min(given.size(), bytes_of_own));
    refuse_shared_bytes(lent.family_bytes(used, true));
    refuse_shared_bytes(from.shared_bytes(used, [](auto) { return true; }));
    return memory_block(given, bytes_of_own);
  }
  /// Sets the addresses of the program, whose block is `block_of_own`, and makes the program a member of the family.
  static void begin(machine<Compiled>& to, memory_block& block_of_own, machine<Lender>& from, memory_block& lent) {
    std::byte* const at = block_of_own.data();
    for (std::size_t i = 0; i < count; ++i)
      to.base(own[i].at.base) = is_shared(i) ? from.at(namesake_of(i).at) : at + block.offset[i];
    to.base(plans::gradient_base) =
        shares_gradients ? from.base(plans::gradient_base) : at + block.parameter_bytes + block.moment_bytes;
    to.base(plans::arena_base) = from.base(plans::arena_base);
    mark_unwritten(machine<Compiled>::all_leaves(), to.leaf_bases(), block_of_own.bytes());
    block_of_own.join(make_member<Compiled>(to), &lent, trains_same);
  }

 private:
  static constexpr auto bytes_of_own = static_cast<std::size_t>(memory.total_bytes());
  static void begin_family(machine<Lender>& from, memory_block& lent) {
    lent.check();
    if (!lent.is_in_family()) lent.join(make_member<Lender>(from), nullptr, false);
  }
};

/// Returns the mistake that two programs cannot share their memory, or sound.
template <class Compiled, class Lender>
constexpr auto problem_of_sharing_memory() {
  using numbers = decltype(problem_of_shared_numbers<Compiled, Lender>());
  using all = sharing<Compiled, Lender>;
  if constexpr (std::same_as<Compiled, Lender>) {
    return mistake<misuse::copied_program, top_scope>{};
  } else if constexpr (!std::same_as<numbers, sound>) {
    return numbers{};
  } else if constexpr (!all::any_leaf_is_shared) {
    return mistake<misuse::nothing_shared, top_scope>{};
  } else if constexpr (all::first_different_leaf != graphs::none) {
    constexpr int i = all::first_different_leaf;
    constexpr auto name = leaf_name<Compiled, i>;
    constexpr int there = Lender::graph.find(graphs::role::parameter, name);
    return conflict_of<about<fact::parameter, name>, shown_leaf<Compiled, i>, shown_leaf<Lender, there>>{};
  } else if constexpr (arena_bytes<Compiled>() > arena_bytes<Lender>()) {
    return mistake<misuse::larger_than_shared, top_scope, fact::peak_bytes<arena_bytes<Compiled>()>,
                   fact::shared_bytes<arena_bytes<Lender>()>>{};
  } else if constexpr (all::shares_gradients && Compiled::addresses.gradient_bytes > Lender::addresses.gradient_bytes) {
    return mistake<misuse::more_gradients_than_shared, top_scope,
                   fact::gradient_bytes<Compiled::addresses.gradient_bytes>,
                   fact::shared_bytes<Lender::addresses.gradient_bytes>>{};
  } else {
    return sound{};
  }
}

}  // namespace cairn::detail
