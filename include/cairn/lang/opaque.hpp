// Gives types short names. The name of an expression's type spells out all expressions that it is made of. If each of
// several operations uses the previous value twice, each operation doubles the name. The type of a lambda has a short
// name: compilers print the position of the lambda in the source, however long the type is that the lambda returns.
#pragma once

#include "cairn/base/compiler.hpp"

#include <type_traits>

namespace cairn::lang {

/// A lambda that stands for the type T.
template <class T>
inline constexpr auto stand_in_lambda = [] { return std::type_identity<T>{}; };

/// The type T under a short name.
template <class T>
using opaque = std::remove_const_t<decltype(stand_in_lambda<T>)>;
/// The type that has the short name `Opaque`.
template <class Opaque>
using revealed = typename decltype(Opaque{}())::type;

}  // namespace cairn::lang
