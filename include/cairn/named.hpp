// Parameters and gradients of a program as maps from names to views. The compiler knows the names and the shapes. The
// maps help to save, print or group parameters. A program that does not include this header pays nothing for it.
#pragma once

#include "cairn/base/macros_aside.hpp"

// cairn.hpp explains why these warnings are off.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wsign-conversion"  // extents are ints, sizes of std are not
#include "cairn/run/program.hpp"
#pragma GCC diagnostic pop

#include <boost/hana/at_key.hpp>
#include <boost/hana/map.hpp>
#include <boost/hana/pair.hpp>
#include <boost/hana/string.hpp>

namespace cairn {

namespace detail {
template <fixed_string Name, std::size_t... I>
constexpr boost::hana::string<Name.text[I]...> as_hana(std::index_sequence<I...>) {
  return {};
}
/// The key of a name in these maps.
template <fixed_string Name>
inline constexpr auto key_of = as_hana<Name>(std::make_index_sequence<sizeof(Name.text) - 1>{});

/// Returns a map from the names of the leaves for which Wanted{}(leaf) is true to the views that `view_of<Name>()`
/// returns.
template <class Compiled, class Wanted, class View>
auto views_by_name(Wanted, View view_of) {
  static constexpr auto chosen = [] {
    std::array<int, static_cast<std::size_t>(Compiled::graph.leaf_count) + 1> leaves{};
    std::size_t count = 0;
    for (int i = 0; i < Compiled::graph.leaf_count; ++i) {
      if (Wanted{}(i)) leaves[count++] = i;
    }
    leaves.back() = static_cast<int>(count);
    return leaves;
  }();
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return boost::hana::make_map([&] {
      constexpr const auto& name = leaf_name<Compiled, chosen[I]>;
      return boost::hana::make_pair(key_of<name>, view_of.template operator()<name>());
    }()...);
  }(std::make_index_sequence<static_cast<std::size_t>(chosen.back())>{});
}
}  // namespace detail

/// Returns a boost::hana::map from the names of all parameters and states, trained or not, to their views. The names
/// are of type boost::hana::string. Example: `hana::for_each(named_parameters(step), hana::fuse([](auto name, auto
/// view) {...}))`.
template <auto Output, class... Options>
auto named_parameters(program<Output, Options...>& step) {
  using compiled = detail::compiled_of<Output, true, Options...>;
  return detail::views_by_name<compiled>(
      [](int i) { return compiled::graph.leaf_op(i).what == graphs::role::parameter; },
      [&]<fixed_string Name> { return step.template param<Name>(); });
}
/// Returns a boost::hana::map from names to the gradients of trained parameters and of inputs in wrt<...>.
template <auto Output, class... Options>
auto named_gradients(program<Output, Options...>& step) {
  using compiled = detail::compiled_of<Output, true, Options...>;
  constexpr bool kept = compiled::model::purpose::shows_gradients;
  return detail::views_by_name<compiled>(
      [](int i) { return compiled::model::chosen.wanted[i] && (kept || !compiled::model::chosen.trained[i]); },
      [&]<fixed_string Name> { return step.template grad<Name>(); });
}

}  // namespace cairn

#include "cairn/base/macros_back.hpp"
