// The leaves of a model: inputs, indices, parameters, caches, random keys and constants.
#pragma once

#include "cairn/lang/apply.hpp"

namespace cairn::lang {

template <element_type E, int... Extents>
struct leaf : expression {
  using owner = top_scope;
  static constexpr cairn::shape shape = tensor<E, Extents...>::shape;
  static constexpr element_type element = E;
  static constexpr expression_traits traits{.has_model_parts = true};
};

/// Returns the mistake in the extents of a leaf, or `sound`. Extents are taken as they were written, also above 2^31.
/// Thus the message can show them.
template <fixed_string Name, std::int64_t... Extents>
constexpr auto problem_of_extents() {
  if constexpr (detail::can_be_shape<Extents...>) return sound{};
  else return mistake<misuse::positive_extents, top_scope, about<fact::in, Name>, fact::extents<Extents...>>{};
}
/// Returns the mistake in the bound or in the extents of indices, or `sound`.
template <fixed_string Name, std::int64_t Bound, std::int64_t... Extents>
constexpr auto problem_of_indices() {
  if constexpr (detail::is_extent(Bound)) return problem_of_extents<Name, Extents...>();
  else return mistake<misuse::positive_bound, top_scope, about<fact::in, Name>, fact::bound<Bound>>{};
}

/// Computes the square root of x by Newton's iteration, or NaN if x is negative or infinite; std::sqrt is no constant
/// expression in C++20.
constexpr double square_root(double x) {
  if (x == 0) return 0;
  if (!(x > 0 && x <= std::numeric_limits<double>::max())) return std::numeric_limits<double>::quiet_NaN();
  double root = x > 1 ? x : 1;  // starts above the root and decreases until rounding stops it
  for (double next = root; (next = 0.5 * (root + x / root)) < root;) root = next;
  return root;
}

/// Returns the fan in of a weight {out, in, ...}: the number of elements that feed one output. For a vector, returns
/// its length.
constexpr std::int64_t fan_in_of(const shape& weight) {
  return weight.rank < 2 ? weight.count() : weight.count() / std::max(weight[0], 1);
}
/// Returns the fan in of a weight with these extents.
template <std::int64_t... Extents>
constexpr std::int64_t fan_in_of() {
  if constexpr (detail::can_be_shape<Extents...>)
    return fan_in_of(tensor<element_type{}, static_cast<int>(Extents)...>::shape);
  else return 1;
}

}  // namespace cairn::lang

namespace cairn {
/// How a parameter starts: all numbers are equal to `fill`, or they are drawn at random. `initial{}` is zeros.
///
/// Some laws depend on the fans of a weight {out, in, ...}, which are counted from its extents as in PyTorch. The fan
/// in is the number of elements that feed one output, and the fan out is the number of outputs that one element feeds.
struct initial {
  enum class law : std::uint8_t {
    constant,
    uniform,
    normal,
    unspecified,        ///< as another mention of the parameter says; if none does, uniform with bound 1 / sqrt(fan in)
    truncated_normal,   ///< a normal number is drawn again until it is at most two standard deviations
    orthogonal,         ///< the rows of the matrix {out, in ...} are orthogonal, or its columns if they are fewer
    uniform_by_fan_in,  ///< uniform in a width that depends on the fan in
    uniform_by_fans,    ///< uniform in a width that depends on both fans
    normal_by_fan_in,
    normal_by_fans,
  };

  law drawn = law::constant;
  double fill = 0;  ///< the value of all numbers, if the law is constant
  /// The numbers are uniform in [-width, width], or normal around 0 with this standard deviation, or the rows of an
  /// orthogonal matrix have this length. In a law by fans, sqrt(width / fans) takes the place of width.
  double width = 0;
  int zero_row = -1;  ///< index of a row that starts as zeros whatever the law is, as for padding; -1: no row

  static constexpr initial zeros() { return {}; }
  static constexpr initial constant(double a) { return {.fill = a}; }
  static constexpr initial uniform(double bound) { return {.drawn = law::uniform, .width = bound}; }
  static constexpr initial normal(double deviation) { return {.drawn = law::normal, .width = deviation}; }
  /// A normal distribution that is cut at two standard deviations, as torch.nn.init.trunc_normal_ with a = -2 deviation
  /// and b = 2 deviation. The numbers that are left have a standard deviation of 0.88 deviation.
  static constexpr initial truncated_normal(double deviation) {
    return {.drawn = law::truncated_normal, .width = deviation};
  }
  /// A random matrix with orthogonal rows of the length `gain`. If a weight {out, in, ...} has more rows
  /// than columns, its columns are orthogonal instead. As torch.nn.init.orthogonal_ (Saxe et al., 2014).
  static constexpr initial orthogonal(double gain = 1) { return {.drawn = law::orthogonal, .width = gain}; }
  /// Uniform with bound sqrt(6 / fan in), for weights that a relu follows. As torch.nn.init.kaiming_uniform_ (He et
  /// al., 2015).
  static constexpr initial kaiming() { return {.drawn = law::uniform_by_fan_in, .width = 6}; }
  static constexpr initial kaiming(std::integral auto fan_in) {
    return uniform(lang::square_root(fan_in > 0 ? 6 / static_cast<double>(fan_in) : -1));
  }
  /// Normal with standard deviation sqrt(2 / fan in). As torch.nn.init.kaiming_normal_.
  static constexpr initial kaiming_normal() { return {.drawn = law::normal_by_fan_in, .width = 2}; }
  /// Uniform with bound sqrt(6 / (fan in + fan out)). As torch.nn.init.xavier_uniform_ (Glorot and Bengio, 2010).
  static constexpr initial xavier() { return {.drawn = law::uniform_by_fans, .width = 6}; }
  static constexpr initial xavier(std::int64_t in, std::int64_t out) { return kaiming(in + out); }
  /// Normal with standard deviation sqrt(2 / (fan in + fan out)). As torch.nn.init.xavier_normal_.
  static constexpr initial xavier_normal() { return {.drawn = law::normal_by_fans, .width = 2}; }
  /// In the options of a layer: the parameter starts as in PyTorch's layer.
  static constexpr initial unspecified() { return {.drawn = law::unspecified}; }

  /// Returns this start, or `other` if this start is unspecified.
  constexpr initial or_else(const initial& other) const { return drawn == law::unspecified ? other : *this; }
  /// Returns true if normal numbers are drawn.
  constexpr bool is_normal() const {
    return drawn == law::normal || drawn == law::truncated_normal || drawn == law::orthogonal;
  }
  /// Returns true if the start depends on the rows and columns of a matrix, which a vector does not have.
  constexpr bool needs_matrix() const { return drawn >= law::orthogonal; }
  /// Returns how a parameter of this shape starts. Its law does not depend on fans.
  constexpr initial in_shape(const shape& s) const {
    initial out = *this;
    if (drawn == law::unspecified) out.width = 1 / lang::square_root(static_cast<double>(lang::fan_in_of(s)));
    if (drawn < law::uniform_by_fan_in) return out;
    const bool is_uniform = drawn == law::uniform_by_fan_in || drawn == law::uniform_by_fans;
    const bool takes_both = drawn == law::uniform_by_fans || drawn == law::normal_by_fans;
    const std::int64_t fans = lang::fan_in_of(s) + (takes_both ? s.count() / s[1] : 0);
    out.drawn = is_uniform ? law::uniform : law::normal;
    out.width = lang::square_root(width / static_cast<double>(fans));
    return out;
  }
  constexpr std::array<setting, 2> settings() const {
    constexpr double most = std::numeric_limits<float>::max();  // most programs compute in floats
    constexpr double infinity = std::numeric_limits<double>::infinity();
    const bool is_infinite = fill == infinity || fill == -infinity;
    return {setting::not_negative("width", width),
            {"fill", fill, is_infinite || (fill >= -most && fill <= most), "infinite or in the range of float"}};
  }

  friend constexpr bool operator==(const initial&, const initial&) = default;
};
}  // namespace cairn

namespace cairn::lang {

/// PyTorch's default for linear and convolution layers: uniform with bound 1 / sqrt(fan_in).
constexpr initial fan_in(std::int64_t n) { return initial::uniform(1 / square_root(static_cast<double>(n))); }

template <fixed_string Name, int... Extents>
struct input_leaf : leaf<element_type{}, Extents...> {
  static constexpr expression_traits traits{.has_input = true, .has_model_parts = true};
};

template <fixed_string Name, int Bound, int... Extents>
struct indices_leaf : leaf<index_below(Bound), Extents...> {
  static constexpr expression_traits traits{.has_input = true, .has_model_parts = true};
};

template <fixed_string Name, bool Trainable, initial Init, int... Extents>
struct parameter_leaf : leaf<element_type{}, Extents...> {
  static constexpr expression_traits traits{.trained = Trainable, .has_model_parts = true};
};

template <initial Init>
struct initial_settings {
  static constexpr auto all = Init.settings();
};
/// Returns the mistake in the extents of a parameter or in how it starts, or `sound`.
template <fixed_string Name, initial Init, std::int64_t... Extents>
constexpr auto problem_of_parameter() {
  if constexpr (!detail::can_be_shape<Extents...>) return problem_of_extents<Name, Extents...>();
  else if constexpr (Init.zero_row < -1 || Init.zero_row >= shape{static_cast<int>(Extents)...}.extent[0])
    return mistake<misuse::zero_row_of_parameter, top_scope, about<fact::in, Name>, fact::extents<Extents...>,
                   fact::zero_row<Init.zero_row>>{};
  else if constexpr (Init.needs_matrix() && sizeof...(Extents) < 2)
    return mistake<misuse::start_of_matrix, top_scope, about<fact::in, Name>, fact::extents<Extents...>>{};
  else return problem_of_settings<initial_settings<Init>, top_scope, fact::in<Name>>();
}
/// The type of a parameter, or of the report of its mistake. It is a class, because g++ 12 does not compile the alias.
template <class Problem, fixed_string Name, bool Trainable, initial Init, std::int64_t... Extents>
struct parameter_if_sound : made_if_sound<Problem, void> {};
template <fixed_string Name, bool Trainable, initial Init, std::int64_t... Extents>
struct parameter_if_sound<sound, Name, Trainable, Init, Extents...> {
  using type =
      parameter_leaf<Name, Trainable, Init.in_shape(tensor<element_type{}, static_cast<int>(Extents)...>::shape),
                     static_cast<int>(Extents)...>;
};
template <fixed_string Name, bool Trainable, initial Init, std::int64_t... Extents>
using checked_parameter =
    parameter_if_sound<decltype(problem_of_parameter<Name, Init, Extents...>()), Name, Trainable, Init, Extents...>;

template <fixed_string Name, int... Extents>
struct cache_leaf : leaf<element_type{}, Extents...> {};

template <fixed_string Name>
struct random_key_leaf : leaf<element_type{dtype::key}> {};

template <double Value>
struct constant_leaf : leaf<element_type{}> {
  static constexpr expression_traits traits{};
};

template <fixed_string Name, int... Extents>
inline constexpr auto known_as<input_leaf<Name, Extents...>> = Name;
template <fixed_string Name, int Bound, int... Extents>
inline constexpr auto known_as<indices_leaf<Name, Bound, Extents...>> = Name;
template <fixed_string Name, bool Trainable, initial Init, int... Extents>
inline constexpr auto known_as<parameter_leaf<Name, Trainable, Init, Extents...>> = Name;

template <double Value>
inline constexpr bool is_constant<constant_leaf<Value>> = true;
template <fixed_string Name, initial Init, int... Extents>
inline constexpr bool is_updatable<parameter_leaf<Name, false, Init, Extents...>> = true;
template <fixed_string Name, int... Extents>
inline constexpr auto known_as<cache_leaf<Name, Extents...>> = Name;
template <fixed_string Name, int... Extents>
inline constexpr bool is_updatable<cache_leaf<Name, Extents...>> = true;
template <fixed_string Name, int... Extents>
inline constexpr bool is_cache<cache_leaf<Name, Extents...>> = true;

/// An input of the program: real numbers that are bound at each training step. An input needs no gradient.
template <fixed_string Name, std::int64_t... Extents>
inline constexpr sound_or<decltype(problem_of_extents<Name, Extents...>()),
                          input_leaf<Name, static_cast<int>(Extents)...>>
    input{};

/// Indices: whole numbers in [0, Bound) of type std::int32_t, for example `indices<"tokens", 256, 8, 128>`. They are
/// bound and checked at each training step.
template <fixed_string Name, std::int64_t Bound, std::int64_t... Extents>
inline constexpr sound_or<decltype(problem_of_indices<Name, Bound, Extents...>()),
                          indices_leaf<Name, static_cast<int>(Bound), static_cast<int>(Extents)...>>
    indices{};

/// Indices of classes: `labels<"y", 10, 128>` are 128 indices in [0, 10).
template <fixed_string Name, std::int64_t Classes, std::int64_t... Extents>
inline constexpr sound_or<decltype(problem_of_indices<Name, Classes, Extents...>()),
                          indices_leaf<Name, static_cast<int>(Classes), static_cast<int>(Extents)...>>
    labels{};

/// A trainable parameter. It starts uniformly with bound 1 / sqrt(fan in). If a layer or `param_from` mentions a
/// parameter of the same name, the parameter starts as that mention says.
template <fixed_string Name, std::int64_t... Extents>
inline constexpr typename checked_parameter<Name, true, initial::unspecified(), Extents...>::type param{};

/// A trainable parameter that starts as `Init` says.
template <fixed_string Name, initial Init, std::int64_t... Extents>
inline constexpr typename checked_parameter<Name, true, Init, Extents...>::type param_from{};

/// A parameter without a gradient. It starts like `param`.
template <fixed_string Name, std::int64_t... Extents>
inline constexpr typename checked_parameter<Name, false, initial::unspecified(), Extents...>::type frozen{};

/// The key of a random operation, which takes the key as an argument. A key has a name like a parameter. Kernels read a
/// random_stream from it.
template <fixed_string Name>
inline constexpr random_key_leaf<Name> random_key{};

/// A constant scalar. `constant<1>`, `constant<1.f>` and `1.0_c` have the same type.
template <auto Value>
inline constexpr constant_leaf<static_cast<double>(Value)> constant{};

/// Returns the value of a decimal literal. The value is computed in long double, and rounded to double at the end.
template <char... Digits>
constexpr double parse() {
  static_assert(((Digits != 'x' && Digits != 'X' && Digits != 'b') && ...), "cairn: _c takes decimal literals");
  constexpr char text[]{Digits..., '\0'};
  long double mantissa = 0;
  int scale = 0, exponent = 0, sign = 1;
  bool fraction = false, power = false;
  for (char c : text) {
    if (c == '.') fraction = true;
    else if (c == 'e' || c == 'E') power = true;
    else if (c == '-') sign = -1;
    else if (c < '0' || c > '9') continue;
    else if (power) exponent = 10 * exponent + (c - '0');
    else {
      mantissa = 10 * mantissa + static_cast<long double>(c - '0');
      scale -= fraction ? 1 : 0;
    }
  }
  exponent = scale + sign * exponent;
  long double ten = 1;
  for (int n = 0; n < (exponent < 0 ? -exponent : exponent); ++n) ten *= 10;
  return static_cast<double>(exponent < 0 ? mantissa / ten : mantissa * ten);
}
}  // namespace cairn::lang

namespace cairn::inline literals {
/// Constants written as decimal literals: `x * 0.5_c`.
template <char... Digits>
constexpr lang::constant_leaf<lang::parse<Digits...>()> operator""_c() {
  return {};
}
}  // namespace cairn::inline literals

namespace cairn {
using lang::constant, lang::fan_in, lang::fan_in_of, lang::frozen, lang::indices, lang::input, lang::labels,
    lang::param, lang::param_from, lang::random_key;
}  // namespace cairn
