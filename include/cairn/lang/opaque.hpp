// Types by other names. The name of an expression spells out all that it is made of, so that a value used twice at
// every step would double it each time; compilers print the type of a lambda as the place where it stands, however
// long the type is that it returns.
#pragma once

#include "cairn/base/compiler.hpp"

#include <type_traits>

namespace cairn::detail {

template <class T>
inline constexpr auto behind = [] { return std::type_identity<T>{}; };

/// T by another name.
template <class T>
using opaque = std::remove_const_t<decltype(behind<T>)>;
/// T again.
template <class Opaque>
using revealed = typename decltype(Opaque{}())::type;

}  // namespace cairn::detail
