// Options of a program, and what a list of them asks for.
#pragma once

#include "cairn/base/element.hpp"
#include "cairn/base/fixed_string.hpp"
#include "cairn/misuse/misuse.hpp"

#include <array>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace cairn {

/// The element type, float or double: `program<loss, real<double>>`.
template <class Real>
struct real {};
/// Parameters that are not trained, by name or by the name of a block around them.
template <fixed_string... Name>
struct freeze {};
/// Inputs that get a gradient, too: `program<loss, wrt<"images">>`, then `step.grad<"images">()`. With freeze, of what
/// is left alone backward computes the gradient.
template <fixed_string... Name>
struct wrt {};
/// Backward goes out from a given gradient of the first output, which may have any shape: an input of this name, of
/// that shape and of its elements. `program<y, cotangent<"v">>` has the gradients of sum(y * v), and returns y.
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
/// With mixed<bf16>: parameters are bf16, too, and a step rounds what it makes of them by chance, up with the
/// probability of the fraction that is cut off, so that small updates count on average.
struct stochastic_rounding {};
/// What a step computes is stored rounded to bf16, half the bytes of floats, and products multiply bf16: `program<loss,
/// mixed<bf16>>`. Parameters, states, inputs and results are floats; so are sums, statistics, losses and updates. With
/// `mixed<bf16, stochastic_rounding>` parameters are bf16.
template <class T, class... Weights>
struct mixed {};
/// The most bytes that the arena may have: `program<loss, budget<4_MiB>>`; a step that needs more does not compile.
template <std::int64_t Bytes>
struct budget {};
/// The compiler places segments so that the arena has at most so many bytes, and the least is computed again:
/// `program<loss, fit<4_MiB>>`. Layers of chains, of repeat and of blocks are placed that the user did not mark, one
/// after another or nested; marks and their policies stay. Where too few bytes are allowed, the error has the least
/// that was found.
template <std::int64_t Bytes>
struct fit {};
/// A model as large as the limits allow that the compiler was given: see docs/misuse.md, model-too-large.
struct any_size {};

/// The step changes the parameters itself, each as soon as its gradient is complete: `program<loss,
/// update<adamw_options{.weight_decay = 0.1}>>`, then `step.train({.lr = 1e-3}, bind<"x">(x))`. Rule: see
/// op/update.hpp. With names, of parameters or of blocks around them, "*.bias" for what ends so, it is the rule of
/// these alone, and goes before those that stand earlier.
template <auto Rule, fixed_string... Name>
struct update {};
/// With update: all gradients together are at most this long, as after torch.nn.utils.clip_grad_norm_. Keeps them all.
template <auto Norm>
  requires(Norm > 0)
struct clip {};
/// With update: numbers of gradients are at most this large, as after torch.nn.utils.clip_grad_value_.
template <auto Value>
  requires(Value > 0)
struct clip_value {};

/// Sizes: `static_assert(train_step::memory().peak_bytes <= 4_MiB)`.
inline namespace literals {
consteval std::int64_t operator""_KiB(unsigned long long n) { return static_cast<std::int64_t>(n) << 10; }
consteval std::int64_t operator""_MiB(unsigned long long n) { return static_cast<std::int64_t>(n) << 20; }
consteval std::int64_t operator""_GiB(unsigned long long n) { return static_cast<std::int64_t>(n) << 30; }
}  // namespace literals

namespace detail {

/// Whether `name` is that of a block, or of something in it.
constexpr bool is_of_block(std::string_view block, std::string_view name) {
  return name.starts_with(block) && (name.size() == block.size() || name[block.size()] == '.');
}
/// Whether `name` is meant by `wanted`: it is this, or in a block of this name; or ends as "*.bias" says.
constexpr bool covers(std::string_view wanted, std::string_view name) {
  return wanted.starts_with('*') ? name.ends_with(wanted.substr(1)) : is_of_block(wanted, name);
}

/// Names given by options.
template <fixed_string... Name>
struct name_list {
  static constexpr int count = static_cast<int>(sizeof...(Name));
  /// Whether one of them means `name`.
  static constexpr bool cover([[maybe_unused]] std::string_view name) { return (... || covers(Name, name)); }
  static constexpr bool contain([[maybe_unused]] std::string_view name) {
    return (... || (name == std::string_view(Name)));
  }
};
template <fixed_string... A, fixed_string... B>
constexpr name_list<A..., B...> operator+(name_list<A...>, name_list<B...>) {
  return {};
}

/// How gradients are limited before an update: multiplied by a number, or cut on both sides.
enum class clipping : std::uint8_t { none, norm, value };
struct clip_limit {
  clipping how = clipping::none;
  double at = 0;
};
constexpr clip_limit operator+(clip_limit a, clip_limit b) { return b.how == clipping::none ? a : b; }

/// A rule, and the names of what it is for.
template <class Names, auto... Rule>
struct named_rule {};
/// The rules of updates, in order.
template <class... Named>
struct rule_list {
  static constexpr int count = static_cast<int>(sizeof...(Named));
};
template <class... A, class... B>
rule_list<A..., B...> operator+(rule_list<A...>, rule_list<B...>);

/// How a program updates its parameters; and that it does not. One short name, for messages about models spell it.
template <class Rules, clip_limit Clip>
struct updating {
  using rules = Rules;
  static constexpr clip_limit clip = Clip;
};
struct no_rules : updating<rule_list<>, clip_limit{}> {};

/// What one option says; the defaults are those of no option.
struct said_by_default {
  using real = void;
  static constexpr bool mixes = false;              ///< what is computed is rounded to bf16
  static constexpr bool rounds_parameters = false;  ///< so are parameters
  static constexpr int threads = 1;
  static constexpr std::int64_t budget = std::numeric_limits<std::int64_t>::max();
  static constexpr std::int64_t fit = budget;
  static constexpr bool fits = false;  ///< whether segments are placed
  using frozen = name_list<>;
  using wanted = name_list<>;
  using cotangent = name_list<>;
  using updates = rule_list<>;
  static constexpr clip_limit clip{};
  static constexpr bool known = true;
  static constexpr unsigned single = 0;  ///< of what is said once only: a bit of its own
};
template <class Option>
struct said_by : said_by_default {
  static constexpr bool known = false;
  using misuse = unknown_option;
};
template <class Other>
struct said_by<cairn::real<Other>> : said_by_default {
  static constexpr bool known = false;
  using misuse = other_numbers;
};
template <std::floating_point Real>
struct said_by<cairn::real<Real>> : said_by_default {
  using real = Real;
  static constexpr unsigned single = 1;
};
template <>
struct said_by<mixed<bf16>> : said_by_default {
  static constexpr bool mixes = true;
  static constexpr unsigned single = 32;
};
template <>
struct said_by<mixed<bf16, stochastic_rounding>> : said_by<mixed<bf16>> {
  static constexpr bool rounds_parameters = true;
};
template <fixed_string... Name>
struct said_by<cairn::freeze<Name...>> : said_by_default {
  using frozen = name_list<Name...>;
};
template <fixed_string... Name>
struct said_by<wrt<Name...>> : said_by_default {
  using wanted = name_list<Name...>;
};
template <fixed_string Name>
struct said_by<cairn::cotangent<Name>> : said_by_default {
  using cotangent = name_list<Name>;
  static constexpr unsigned single = 2;
};
template <>
struct said_by<accumulate_gradients> : said_by_default {};
template <>
struct said_by<plain> : said_by_default {};
template <>
struct said_by<check_finite> : said_by_default {};
template <>
struct said_by<any_size> : said_by_default {};
template <int Most>
struct said_by<cairn::threads<Most>> : said_by_default {
  static constexpr int threads = Most;
  static constexpr unsigned single = 4;
};
template <std::int64_t Bytes>
struct said_by<cairn::budget<Bytes>> : said_by_default {
  static constexpr std::int64_t budget = Bytes;
};
template <std::int64_t Bytes>
struct said_by<cairn::fit<Bytes>> : said_by_default {
  static constexpr std::int64_t fit = Bytes;
  static constexpr bool fits = true;
  static constexpr unsigned single = 16;
};
template <auto Rule, fixed_string... Name>
struct said_by<cairn::update<Rule, Name...>> : said_by_default {
  using updates = rule_list<named_rule<name_list<Name...>, Rule>>;
};
template <auto Norm>
struct said_by<cairn::clip<Norm>> : said_by_default {
  static constexpr clip_limit clip{clipping::norm, Norm};
  static constexpr unsigned single = 8;
};
template <auto Value>
struct said_by<cairn::clip_value<Value>> : said_by_default {
  static constexpr clip_limit clip{clipping::value, Value};
  static constexpr unsigned single = 8;
};

template <class Given, class Real>
struct last_real {
  using type = Real;
};
template <class Given>
struct last_real<Given, void> {
  using type = Given;
};
/// Carries the element type through a fold.
template <class Real>
struct real_so_far {
  using type = Real;
  template <class Option>
  real_so_far<typename last_real<Real, typename said_by<Option>::real>::type> operator+(
      std::type_identity<Option>) const;
};

/// What a list of options asks for.
template <class... Options>
struct request {
  using real = typename decltype((real_so_far<float>{} + ... + std::type_identity<Options>{}))::type;
  static constexpr bool mixes = (said_by<Options>::mixes || ...);
  static constexpr bool rounds_parameters = (said_by<Options>::rounds_parameters || ...);
  using rounded = std::conditional_t<rounds_parameters, floats_and_weights_rounded, floats_rounded>;
  using numbers = std::conditional_t<mixes && std::is_same_v<real, float>, rounded, real>;
  template <class Option>
  static constexpr bool has = (std::same_as<Option, Options> || ...);
  static constexpr int threads = std::max({1, said_by<Options>::threads...});
  static constexpr std::int64_t budget = std::min({said_by_default::budget, said_by<Options>::budget...});
  static constexpr std::int64_t fit = std::min({said_by_default::fit, said_by<Options>::fit...});
  static constexpr bool fits = (said_by<Options>::fits || ...);
  using frozen = decltype((name_list<>{} + ... + typename said_by<Options>::frozen{}));
  using wanted = decltype((name_list<>{} + ... + typename said_by<Options>::wanted{}));
  using cotangent = decltype((name_list<>{} + ... + typename said_by<Options>::cotangent{}));
  using updates = decltype((rule_list<>{} + ... + typename said_by<Options>::updates{}));
  static constexpr clip_limit clip = (clip_limit{} + ... + said_by<Options>::clip);
  static constexpr bool known = (said_by<Options>::known && ...);
};
}  // namespace detail

}  // namespace cairn
