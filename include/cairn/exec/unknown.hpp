// What a program would say of a model that cannot be compiled.
#pragma once

#include <concepts>
#include <ostream>
#include <type_traits>

namespace cairn::detail {

/// Stands for a number of a program whose mistake has been reported: every comparison holds, so that no assertion about
/// it adds a second error.
struct unknown {
  template <class T>
    requires std::is_arithmetic_v<T>
  constexpr operator T() const {
    return {};
  }
};

inline std::ostream& operator<<(std::ostream& out, unknown) { return out << "unknown"; }

template <class A, class B>
concept one_unknown = std::same_as<A, unknown> || std::same_as<B, unknown>;

template <class A, class B>
  requires one_unknown<A, B>
constexpr bool operator==(A, B) {
  return true;
}
template <class A, class B>
  requires one_unknown<A, B>
constexpr bool operator!=(A, B) {
  return true;
}
template <class A, class B>
  requires one_unknown<A, B>
constexpr bool operator<(A, B) {
  return true;
}
template <class A, class B>
  requires one_unknown<A, B>
constexpr bool operator<=(A, B) {
  return true;
}
template <class A, class B>
  requires one_unknown<A, B>
constexpr bool operator>(A, B) {
  return true;
}
template <class A, class B>
  requires one_unknown<A, B>
constexpr bool operator>=(A, B) {
  return true;
}
template <class A, class B>
  requires one_unknown<A, B>
constexpr unknown operator+(A, B) {
  return {};
}
template <class A, class B>
  requires one_unknown<A, B>
constexpr unknown operator-(A, B) {
  return {};
}
template <class A, class B>
  requires one_unknown<A, B>
constexpr unknown operator*(A, B) {
  return {};
}
template <class A, class B>
  requires one_unknown<A, B>
constexpr unknown operator/(A, B) {
  return {};
}

}  // namespace cairn::detail
