// Binds arrays to the inputs and parameters of a program by name, and checks them. Arrays are not copied. Temporary
// containers are moved into the binding.
#pragma once

#include "cairn/base/refuse.hpp"
#include "cairn/base/text.hpp"
#include "cairn/lang/mistake.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <ranges>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

namespace cairn {

namespace detail {
/// What an array is given for: the words before its name in messages.
struct array_role {
  std::string_view kind = "input";
  int microbatch = -1;  ///< number of the microbatch, if a callback gives the array
};
[[gnu::cold]] inline std::string text_of(const array_role& role) {
  if (role.microbatch < 0) return std::string(role.kind);
  return text_of({"microbatch ", text_of(role.microbatch), ": ", role.kind});
}
}  // namespace detail

/// Thrown if an array
/// - has other extents than the input or the parameter of its name,
/// - is not aligned,
/// - or lies in memory that the training step writes.
struct extent_error : std::invalid_argument {
  [[gnu::cold]] extent_error(std::string_view name, std::string_view wanted, std::string_view given,
                             const detail::array_role& role = {})
      : std::invalid_argument(
            detail::text_of({"cairn: ", detail::text_of(role), " '", name, "': expected ", wanted, ", got ", given})),
        input(name),
        expected(wanted),
        actual(given) {}
  std::string input;  ///< name of the input or the parameter
  std::string expected, actual;
};

/// Thrown if an index or label is outside [0, bound).
struct label_error : std::out_of_range {
  [[gnu::cold]] label_error(std::string_view name, std::size_t at, int bound, int label,
                            const detail::array_role& role = {})
      : std::out_of_range(detail::text_of({"cairn: ", detail::text_of(role), " '", name, "': index number ",
                                           detail::text_of(static_cast<std::int64_t>(at)), " is ",
                                           detail::text_of(label), ", expected 0 to ", detail::text_of(bound - 1)})),
        input(name),
        index(at),
        expected(bound),
        actual(label) {}
  std::string input;
  std::size_t index;
  int expected, actual;
};

namespace detail {
[[gnu::cold]] inline std::string text_of(const array_extents& s) {
  std::string text = "{";
  for (int axis = 0; axis < s.rank; ++axis) text += text_of({axis > 0 ? ", " : "", text_of(s.extent[axis])});
  return text += '}';
}
[[gnu::cold]] inline std::string text_of(const shape& s) {
  array_extents extents{s.rank};
  std::copy_n(s.extent, s.rank, extents.extent);
  return text_of(extents);
}

/// Throws extent_error if the extents differ from the wanted shape, or if the array is not contiguous and row-major.
[[gnu::noinline]] inline void check_extents(const array_role& role, std::string_view name, const shape& wanted,
                                            const array_extents& given, bool row_major) {
  if (!extents_fit(given, wanted)) refuse(extent_error(name, text_of(wanted), text_of(given), role));
  if (!row_major) refuse(extent_error(name, "a contiguous row-major array", "other strides", role));
}
/// Throws extent_error if `data` is null or not a multiple of `size`, the size of one number in bytes.
[[gnu::noinline]] inline void check_address(const array_role& role, std::string_view name, const void* data,
                                            std::size_t size) {
  if (data == nullptr) refuse(extent_error(name, "an address", "null", role));
  const auto off = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(data) % size);
  if (off == 0) return;
  refuse(extent_error(name, text_of({"an address that is a multiple of ", text_of(static_cast<std::int64_t>(size))}),
                      text_of({text_of(off), " more"}), role));
}
[[noreturn, gnu::cold, gnu::noinline]] inline void refuse_overlap(std::string_view name) {
  refuse(extent_error(name, "an array that the step does not write",
                      "a result of an earlier step or other memory of this program or predictor; copy it first"));
}
[[noreturn, gnu::cold, gnu::noinline]] inline void refuse_also_set(std::string_view name) {
  refuse(extent_error(name, "an array that this call does not write", "another parameter that it sets; copy it first",
                      {"parameter"}));
}
/// Throws label_error if an index is not in [0, bound).
[[gnu::noinline]] inline void check_indices(const array_role& role, std::string_view name, const std::int32_t* index,
                                            std::int64_t count, int bound) {
  for (std::int64_t i = 0; i < count; ++i) {
    if (index[i] < 0 || index[i] >= bound)
      refuse(label_error(name, static_cast<std::size_t>(i), bound, index[i], role));
  }
}

/// For a container of static extents, the C array type with the container's elements. For any other type, the type
/// itself.
template <class A>
struct as_c_array {
  using type = A;
};
template <class T, std::size_t N>
struct as_c_array<T[N]> {
  using type = typename as_c_array<std::remove_cv_t<T>>::type[N];
};
template <class T, std::size_t N>
struct as_c_array<std::array<T, N>> : as_c_array<T[N]> {};
template <class T, std::size_t N>
  requires(N != std::dynamic_extent)
struct as_c_array<std::span<T, N>> : as_c_array<T[N]> {};

template <class Array, std::size_t... Axis>
constexpr array_extents extents_of(std::index_sequence<Axis...>) {
  return {sizeof...(Axis), {static_cast<std::int64_t>(std::extent_v<Array, Axis>)...}};
}

/// An array with a shape: a view of cairn, or a container or view of xtensor.
template <class A>
concept shaped_array = requires(const A& a) {
  a.shape();
  a.data();
} && (std::ranges::contiguous_range<A> || requires(const A& a) { a.strides(); });

/// An array that is bound to the input `Name`. `Array` is a C array type if the extents are static, and `T[]` if they
/// are dynamic.
template <fixed_string Name, class Array>
struct bound {
  static constexpr auto name = Name;
  using array = Array;
  using element = std::remove_all_extents_t<Array>;
  static constexpr bool dynamic = std::is_unbounded_array_v<Array>;
  static constexpr detail::array_extents static_extents =
      detail::extents_of<Array>(std::make_index_sequence<std::rank_v<Array>>{});

  const element* data;
  detail::array_extents extents = static_extents;
  bool row_major = true;

  /// Returns the memory of the array. A call of check(wanted) must have passed before.
  std::span<const std::byte> bytes(const shape& wanted) const {
    return std::as_bytes(std::span(data, static_cast<std::size_t>(wanted.count())));
  }
  /// Checks the extents, the address and the indices of the array against the leaf of this name. Indices must be less
  /// than `limit`, unless `limit` is 0.
  void check(const shape& wanted, [[maybe_unused]] int limit, const detail::array_role& role) const {
    if constexpr (dynamic) detail::check_extents(role, Name, wanted, extents, row_major);
    detail::check_address(role, Name, data, alignof(element));
    if constexpr (std::same_as<element, std::int32_t>) {
      if (limit > 0) detail::check_indices(role, Name, data, wanted.count(), limit);
    }
  }
};

template <class A>
concept bindable_array =
    shaped_array<A> || std::is_array_v<typename as_c_array<A>::type> || std::ranges::contiguous_range<A>;

/// True if a temporary of this type loses its elements at the end of its statement and cannot be moved elsewhere.
template <class A>
inline constexpr bool is_fleeting = std::is_array_v<A>;
template <class T>
inline constexpr bool is_fleeting<std::initializer_list<T>> = true;
template <class T>
inline constexpr bool is_fleeting<const std::initializer_list<T>> = true;

/// A container that owns its elements. Destroying a container destroys its elements; destroying a view does not.
template <class A>
concept owning_container = bindable_array<A> && std::is_object_v<A> && !is_fleeting<A> &&
                           std::constructible_from<std::remove_const_t<A>, A> && !std::ranges::borrowed_range<A>;
}  // namespace detail

/// Binds an array to the input `Name` for one training step or call. The array may be a span, a C array, a std::array,
/// a contiguous range, a view, or a container or view of xtensor. Static extents are checked by the compiler. Dynamic
/// extents are checked when the training step begins. The array must live as long as the returned binding.
template <fixed_string Name, class A>
auto bind(const A& array) {
  if constexpr (!detail::bindable_array<A>) {
    return lang::surfaced<lang::mistake<misuse::no_array, lang::top_scope, lang::about<fact::input, Name>,
                                        fact::given<typename lang::showing<A>::type>>>{};
  } else if constexpr (detail::shaped_array<A>) {
    using element = std::remove_cvref_t<decltype(*array.data())>;
    detail::array_extents extents;
    for (auto n : array.shape()) {
      if (extents.rank == max_rank) refuse(extent_error(Name, "at most 6 axes", "more"));
      extents.extent[extents.rank++] = static_cast<std::int64_t>(n);
    }
    if constexpr (requires { array.strides(); }) {
      bool row_major = true;
      std::int64_t stride = 1;
      for (int axis = extents.rank; axis-- > 0; stride *= extents.extent[axis]) {
        const auto own = static_cast<std::int64_t>(array.strides()[static_cast<std::size_t>(axis)]);
        row_major &= own == stride || extents.extent[axis] == 1;
      }
      return detail::bound<Name, element[]>{array.data() + array.data_offset(), extents, row_major};
    } else {
      return detail::bound<Name, element[]>{array.data(), extents};
    }
  } else if constexpr (std::is_array_v<typename detail::as_c_array<A>::type>) {
    using given = detail::bound<Name, typename detail::as_c_array<A>::type>;
    return given{reinterpret_cast<const typename given::element*>(std::ranges::data(array))};
  } else {
    using element = std::remove_cvref_t<std::ranges::range_value_t<A>>;
    return detail::bound<Name, element[]>{std::ranges::data(array),
                                          {1, {static_cast<std::int64_t>(std::ranges::size(array))}}};
  }
}

namespace detail {
/// Owns an array. It is a base class, so that the array exists before the binding that refers to the array.
template <class A>
struct array_owner {
  A owned;
};
/// A container together with a binding to the container.
template <fixed_string Name, class A>
struct bound_container : private array_owner<A>, public decltype(cairn::bind<Name>(std::declval<const A&>())) {
  using binding = decltype(cairn::bind<Name>(std::declval<const A&>()));

  explicit bound_container(A array)
      : array_owner<A>{std::move(array)}, binding(cairn::bind<Name>(std::as_const(this->owned))) {}
  bound_container(const bound_container& other)
      : array_owner<A>(other), binding(cairn::bind<Name>(std::as_const(this->owned))) {}
  bound_container(bound_container&& other) noexcept : bound_container(std::move(other.owned)) {}
  bound_container& operator=(const bound_container&) = delete;
};
}  // namespace detail

/// Binds a temporary container. The container is moved into the returned binding.
template <fixed_string Name, detail::owning_container A>
auto bind(A&& array) {
  return detail::bound_container<Name, std::remove_const_t<A>>(std::forward<A>(array));
}

/// Reports a binding to elements that end with the statement.
template <fixed_string Name, class A>
  requires detail::is_fleeting<A>
auto bind(A&&) {
  using problem = lang::mistake<misuse::view_of_temporary, lang::top_scope, lang::about<fact::input, Name>>;
  return lang::surfaced<problem>{};
}

namespace detail {
/// The report of a binding without a name. The report has one type for all arrays, so that several bindings without a
/// name in one call give one error.
template <class...>
struct binding_without_name {
  using type = surfaced<mistake<misuse::array_without_name, top_scope, fact::operation<"bind">>>;
};
}  // namespace detail

/// Reports a call that passes the name as an argument. Without this overload, the call would find std::bind.
template <std::size_t N, class... A>
constexpr typename detail::binding_without_name<A...>::type bind(const char (&)[N], A&&...) {
  return {};
}
/// Reports a call that passes the input instead of the input's name.
template <auto Leaf, class A>
  requires an_expression<std::remove_const_t<decltype(Leaf)>>
constexpr typename detail::binding_without_name<A>::type bind(const A&) {
  return {};
}

}  // namespace cairn
