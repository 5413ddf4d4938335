// The options of a program, and the request that a list of options makes.
#pragma once

#include "cairn/base/element.hpp"
#include "cairn/base/fixed_string.hpp"
#include "cairn/misuse/table.hpp"

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace cairn {
/// The type of real numbers in the program, float or double: `program<loss, real<double>>`. The default is float.
template <class Real>
struct real {};
/// Names parameters that are not trained. The name of a block stands for all parameters in the block.
template <fixed_string... Name>
struct freeze {};
/// Names inputs that get a gradient, in addition to parameters: `program<loss, wrt<"images">>`, then
/// `step.grad<"images">()`. Together with `freeze`, any subset can be chosen. The backward pass computes only the
/// gradients of that subset.
template <fixed_string... Name>
struct wrt {};
/// The backward pass starts from a given gradient of the first output. The first output may then have any shape. The
/// given gradient is an input with this name, and with the shape and the elements of the first output.
/// `program<y, cotangent<"v">>` computes the gradients of sum(y * v), and returns y.
template <fixed_string Name>
struct cotangent {};
/// Each training step adds its gradients to the gradients of the steps before, as for a batch in parts:
/// `program<loss, accumulate_gradients>`. `step.zero_grad()` sets them to zero.
struct accumulate_gradients {};
/// Compiles the model with each `ckpt` taken as a block. Only values that are cheap to recompute are recomputed.
struct plain {};
/// A training step throws if a number of its first output (the loss) or of a gradient is not finite:
/// `program<loss, check_finite>`. In programs with `update`, gradients are checked only with `clip`.
struct check_finite {};
/// The most threads that a training step uses: `program<loss, threads<4>>`. Threads need OpenMP (-fopenmp), and are
/// used only for kernels with enough work. Results have the same bits for any number of threads. Each thread has
/// workspace of its own in the arena.
template <int Most>
  requires(Most >= 1)
struct threads {};
/// Used in `mixed<bf16, stochastic_rounding>`: parameters are bf16 as well. An updated parameter is rounded at random,
/// up or down. The probability of rounding up is the fraction that rounding down would cut off, so that small updates
/// count on average.
struct stochastic_rounding {};
/// The values that a training step computes are rounded to bf16, which has half the bytes of float32, and stored as
/// bf16: `program<loss, mixed<bf16>>`. Products multiply bf16. Parameters, states, inputs and results are float32, and
/// so are sums, statistics, losses and updates. With `mixed<bf16, stochastic_rounding>` parameters are bf16.
template <class T, class... Weights>
struct mixed {};
/// The most bytes that the arena may have: `program<loss, budget<4_MiB>>`. A program that needs more does not compile.
template <std::int64_t Bytes>
struct budget {};
/// The compiler places segments so that the arena has at most this number of bytes: `program<loss, fit<4_MiB>>`. Among
/// the placements that fit, the compiler chooses a placement with the least recomputation that it finds. Placed
/// segments follow one another or are nested. They consist of layers of chains, of repeat and of blocks that the user
/// did not mark. The user's own segments and their policies stay. If no placement fits, the error shows the least
/// number of bytes that was found.
template <std::int64_t Bytes>
struct fit {};
/// Removes the limit on the size of a model. The limits that are given to the compiler still apply: see docs/misuse.md,
/// model-too-large.
struct any_size {};

/// The training step updates the parameters itself, each as soon as its gradient is complete:
/// `program<loss, update<adamw_options{.weight_decay = 0.1}>>`, then `step.train({.lr = 1e-3}, bind<"x">(x))`. `Rule`
/// is an update rule: see op/update.hpp. Without names, the rule is for all parameters. A name restricts the rule: the
/// name of a parameter, the name of a block around parameters, or an ending, for example "*.bias". If several `update`
/// options are for one parameter, the last one counts.
template <auto Rule, fixed_string... Name>
struct update {};
/// The most of something whose number is given at run time: `microbatch<up_to<8>>`.
struct up_to_number {
  int most;
};
template <int Most>
inline constexpr up_to_number up_to{Most};
/// Names the model of the whole batch: `microbatch<4, of<loss<512>>>` for a program of loss<128>.
template <auto Output>
struct of {};
/// Divides the batch of a training step into N microbatches: `program<loss, update<sgd_options{}>, microbatch<4>>`. The
/// model is written for one microbatch. The step runs the microbatches one after another, each forward and backward,
/// sums their gradients in this order in one block, and then updates once. The loss of the step is the mean of the
/// losses of the microbatches. With `microbatch<up_to<N>>`, each step has from 1 to N microbatches. With
/// `microbatch<N, of<whole>>`, a program that needs no fewer bytes than one of the whole batch does not compile.
template <auto N, class Whole = void>
struct microbatch {};
/// Divides the batch into L shards, where L is a power of two: `program<loss, update<sgd_options{}>, shards<4>>`. The
/// model is written for one shard. The gradients of the shards are summed in a fixed binary tree. The result therefore
/// does not depend on how many processes compute shards. With `shards<L>, microbatch<N>`, each shard has N
/// microbatches, and the model is written for one of them.
template <int L>
struct shards {};
/// With `update` and `shards<L>`: each of R processes keeps 1/R of the moments, and updates 1/R of each bucket of
/// parameters, as ZeRO does in its first stage: Rajbhandari et al., ZeRO: memory optimizations toward training trillion
/// parameter models (2020). The processes then collect the updated parameters instead of the summed gradients. If
/// there are no views of parameters and no predictors, they do so during the next forward pass. The option changes no
/// bit of a result and no byte of a file.
struct sharded_moments {};

/// With `update`: limits the norm of all gradients together, as torch.nn.utils.clip_grad_norm_. All gradients are
/// stored until the last one is complete, because the norm is known only then. The limit is no subnormal float.
template <auto Norm>
  requires(Norm >= std::numeric_limits<float>::min())
struct clip {};
/// With `update`: limits the size of each number of a gradient, as torch.nn.utils.clip_grad_value_. The limit is no
/// subnormal float.
template <auto Value>
  requires(Value >= std::numeric_limits<float>::min())
struct clip_value {};
}  // namespace cairn

namespace cairn::inline literals {
/// Literals for numbers of bytes: `static_assert(train_step::memory().peak_bytes <= 4_MiB)`.
consteval std::int64_t operator""_KiB(unsigned long long n) { return static_cast<std::int64_t>(n) << 10; }
consteval std::int64_t operator""_MiB(unsigned long long n) { return static_cast<std::int64_t>(n) << 20; }
consteval std::int64_t operator""_GiB(unsigned long long n) { return static_cast<std::int64_t>(n) << 30; }
}  // namespace cairn::inline literals

namespace cairn::lang {

/// Returns true if `name` is the name `block`, or the name of something in that block.
constexpr bool is_of_block(std::string_view block, std::string_view name) {
  return name.starts_with(block) && (name.size() == block.size() || name[block.size()] == '.');
}
/// Returns true if `wanted` stands for `name`. It does so if `name` is equal, or lies in a block named `wanted`. If
/// `wanted` begins with *, for example "*.bias", it stands for all names with that ending.
constexpr bool covers(std::string_view wanted, std::string_view name) {
  return wanted.starts_with('*') ? name.ends_with(wanted.substr(1)) : is_of_block(wanted, name);
}

/// The names that an option gives.
template <fixed_string... Name>
struct name_list {
  static constexpr int count = static_cast<int>(sizeof...(Name));
  /// Returns true if one of the names stands for `name`.
  static constexpr bool cover([[maybe_unused]] std::string_view name) { return (... || covers(Name, name)); }
  /// Returns true if one of the names is equal to `name`.
  static constexpr bool contain([[maybe_unused]] std::string_view name) {
    return (... || (name == std::string_view(Name)));
  }
};
template <fixed_string... A, fixed_string... B>
constexpr name_list<A..., B...> operator+(name_list<A...>, name_list<B...>) {
  return {};
}

/// How gradients are limited before an update: all are multiplied by one number (`norm`), or each number is cut on both
/// sides (`value`).
enum class clipping : std::uint8_t { off, norm, value };
struct clip_limit {
  clipping how = clipping::off;
  double at = 0;
};
constexpr clip_limit operator+(clip_limit a, clip_limit b) { return b.how == clipping::off ? a : b; }

/// An update rule, and the names of the parameters and blocks that it is for. An empty list stands for all.
template <class Names, auto... Rule>
struct named_rule {};
/// The update rules of a program, in the order of the options.
template <class... Named>
struct rule_list {
  static constexpr int count = static_cast<int>(sizeof...(Named));
};
template <class... A, class... B>
rule_list<A..., B...> operator+(rule_list<A...>, rule_list<B...>);

/// How a program updates its parameters. `no_rules` stands for a program that does not update them. It has a short name
/// of its own, because messages about models spell it out.
template <class Rules, clip_limit Clip>
struct updating {
  using rules = Rules;
  static constexpr clip_limit clip = Clip;
};
struct no_rules : updating<rule_list<>, clip_limit{}> {};

/// How a training step divides its batch: into shards, and each shard into microbatches.
struct division {
  int microbatches = 1;  ///< of each shard; the most of them, if `varies`
  int shards = 1;
  bool varies = false;          ///< the number of microbatches is given at run time
  bool shards_moments = false;  ///< each of several processes keeps a part of the moments
  constexpr std::int64_t parts() const { return std::int64_t{microbatches} * shards; }
  /// Returns parts() as an int. A program in which it is larger does not compile (check/part_checks.hpp).
  constexpr int count() const {
    return static_cast<int>(std::min<std::int64_t>(parts(), std::numeric_limits<int>::max()));
  }
  constexpr bool divides() const { return parts() > 1; }
};
/// A division as a type. `undivided` has a short name of its own, because messages about models and the names of
/// functions spell it out.
template <division Into>
struct divided {
  static constexpr division into = Into;
};
struct undivided : divided<division{}> {};
constexpr division operator+(division a, division b) {
  return {a.microbatches * b.microbatches, a.shards * b.shards, a.varies || b.varies,
          a.shards_moments || b.shards_moments};
}
constexpr division division_into(std::same_as<int> auto microbatches) { return {microbatches}; }
constexpr division division_into(std::same_as<up_to_number> auto microbatches) { return {microbatches.most, 1, true}; }

/// The settings that one option makes. The values here are the defaults without any option.
struct default_settings {
  using real = void;
  static constexpr bool mixes = false;              ///< computed values are rounded to bf16
  static constexpr bool rounds_parameters = false;  ///< parameters are rounded to bf16
  static constexpr int threads = 1;
  static constexpr std::int64_t budget = std::numeric_limits<std::int64_t>::max();
  static constexpr std::int64_t fit = budget;
  static constexpr bool fits = false;  ///< the compiler places segments
  using frozen = name_list<>;
  using wanted = name_list<>;
  using cotangent = name_list<>;
  using updates = rule_list<>;
  static constexpr clip_limit clip{};
  static constexpr lang::division division{};
  using whole = void;  ///< of<...>, if microbatch<N, of<...>> has it
  /// The option goes with no division of the batch.
  static constexpr bool undivided = false;
  static constexpr bool known = true;
  /// A bit of its own for each kind of option that may be given only once; 0: any number of times.
  static constexpr unsigned single = 0;
};
template <class Option>
struct option_settings : default_settings {
  static constexpr bool known = false;
  using reported = misuse::unknown_option;
};
template <class Other>
struct option_settings<real<Other>> : default_settings {
  static constexpr bool known = false;
  using reported = misuse::other_numbers;
};
template <class Real>
  requires(std::same_as<Real, float> || std::same_as<Real, double>)
struct option_settings<real<Real>> : default_settings {
  using real = Real;
  static constexpr unsigned single = 1;
};
template <>
struct option_settings<mixed<bf16>> : default_settings {
  static constexpr bool mixes = true;
  static constexpr unsigned single = 32;
};
template <>
struct option_settings<mixed<bf16, stochastic_rounding>> : option_settings<mixed<bf16>> {
  static constexpr bool rounds_parameters = true;
};
template <fixed_string... Name>
struct option_settings<freeze<Name...>> : default_settings {
  using frozen = name_list<Name...>;
};
template <fixed_string... Name>
struct option_settings<wrt<Name...>> : default_settings {
  static constexpr bool undivided = true;
  using wanted = name_list<Name...>;
};
template <fixed_string Name>
struct option_settings<cotangent<Name>> : default_settings {
  static constexpr bool undivided = true;
  using cotangent = name_list<Name>;
  static constexpr unsigned single = 2;
};
template <>
struct option_settings<accumulate_gradients> : default_settings {
  static constexpr bool undivided = true;
};
template <>
struct option_settings<plain> : default_settings {};
template <>
struct option_settings<check_finite> : default_settings {};
template <>
struct option_settings<any_size> : default_settings {};
template <int Most>
struct option_settings<threads<Most>> : default_settings {
  static constexpr int threads = Most;
  static constexpr unsigned single = 4;
};
template <std::int64_t Bytes>
struct option_settings<budget<Bytes>> : default_settings {
  static constexpr bool known = Bytes >= 0;
  using reported = misuse::negative_bytes;
  static constexpr std::int64_t budget = Bytes;
};
template <std::int64_t Bytes>
struct option_settings<fit<Bytes>> : default_settings {
  static constexpr bool known = Bytes >= 0;
  using reported = misuse::negative_bytes;
  static constexpr std::int64_t fit = Bytes;
  static constexpr bool fits = true;
  static constexpr unsigned single = 16;
};
template <auto Rule, fixed_string... Name>
struct option_settings<update<Rule, Name...>> : default_settings {
  using updates = rule_list<named_rule<name_list<Name...>, Rule>>;
};
template <auto Norm>
struct option_settings<clip<Norm>> : default_settings {
  static constexpr clip_limit clip{clipping::norm, Norm};
  static constexpr unsigned single = 8;
};
template <auto Value>
struct option_settings<clip_value<Value>> : default_settings {
  static constexpr clip_limit clip{clipping::value, Value};
  static constexpr unsigned single = 8;
};

template <auto N, class Whole>
struct option_settings<microbatch<N, Whole>> : default_settings {
  static constexpr bool known = false;
  using reported = misuse::not_microbatches;
};
template <auto N>
  requires(requires { division_into(N); } && division_into(N).microbatches > 1)
struct option_settings<microbatch<N, void>> : default_settings {
  static constexpr lang::division division = division_into(N);
  static constexpr unsigned single = 64;
};
template <auto N, auto Output>
  requires(requires { division_into(N); } && division_into(N).microbatches > 1)
struct option_settings<microbatch<N, of<Output>>> : option_settings<microbatch<N>> {
  using whole = of<Output>;
};
template <int L>
struct option_settings<shards<L>> : default_settings {
  static constexpr bool known = L > 1 && (L & (L - 1)) == 0;
  static constexpr lang::division division{1, L};
  static constexpr unsigned single = 128;
  using reported = misuse::not_a_power_of_two;
};
template <>
struct option_settings<sharded_moments> : default_settings {
  static constexpr lang::division division{1, 1, false, true};
};

/// The type `Last`, or `Given` if Last is void.
template <class Given, class Last>
struct last_given {
  using type = Last;
};
template <class Given>
struct last_given<Given, void> {
  using type = Given;
};
/// Carries the type of real numbers through a fold over the options.
template <class Real>
struct real_so_far {
  using type = Real;
  template <class Option>
  real_so_far<typename last_given<Real, typename option_settings<Option>::real>::type> operator+(
      std::type_identity<Option>) const;
};

/// Carries the option that names the model of the whole batch through a fold over the options.
template <class Whole>
struct whole_so_far {
  using type = Whole;
  template <class Option>
  whole_so_far<typename last_given<Whole, typename option_settings<Option>::whole>::type> operator+(
      std::type_identity<Option>) const;
};

/// The settings that a list of options makes.
template <class... Options>
struct request {
  using real = typename decltype((real_so_far<float>{} + ... + std::type_identity<Options>{}))::type;
  static constexpr bool mixes = (option_settings<Options>::mixes || ...);
  static constexpr bool rounds_parameters = (option_settings<Options>::rounds_parameters || ...);
  using rounded = std::conditional_t<rounds_parameters, detail::floats_and_weights_rounded, detail::floats_rounded>;
  using numbers = std::conditional_t<mixes && std::is_same_v<real, float>, rounded, real>;
  template <class Option>
  static constexpr bool has = (std::same_as<Option, Options> || ...);
  static constexpr int threads = std::max({1, option_settings<Options>::threads...});
  static constexpr std::int64_t budget = std::min({default_settings::budget, option_settings<Options>::budget...});
  static constexpr std::int64_t fit = std::min({default_settings::fit, option_settings<Options>::fit...});
  static constexpr bool fits = (option_settings<Options>::fits || ...);
  using frozen = decltype((name_list<>{} + ... + typename option_settings<Options>::frozen{}));
  using wanted = decltype((name_list<>{} + ... + typename option_settings<Options>::wanted{}));
  using cotangent = decltype((name_list<>{} + ... + typename option_settings<Options>::cotangent{}));
  using updates = decltype((rule_list<>{} + ... + typename option_settings<Options>::updates{}));
  static constexpr clip_limit clip = (clip_limit{} + ... + option_settings<Options>::clip);
  static constexpr lang::division division = (lang::division{} + ... + option_settings<Options>::division);
  using whole = typename decltype((whole_so_far<void>{} + ... + std::type_identity<Options>{}))::type;
  static constexpr bool known = (option_settings<Options>::known && ...);
};

}  // namespace cairn::lang
