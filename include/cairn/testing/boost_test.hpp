// Checks for tests written with Boost.Test: `BOOST_TEST(check_gradient<loss>(seed{1}, bind<"x">(x)))`, and of
// operations of your own `BOOST_TEST((check_operation<own::picked_op, param<"x", 8, 5>, indices<"at", 5, 8>>()))`. What
// fails says where.
#pragma once

#include "cairn/base/macros_aside.hpp"

// As in cairn.hpp.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wsign-conversion"  // extents are ints, sizes of std are not
#include "cairn/testing/opcheck.hpp"
#pragma GCC diagnostic pop

#include <boost/test/tools/assertion_result.hpp>

namespace cairn {

namespace detail {
inline boost::test_tools::assertion_result passes_without(const std::string& fault) {
  boost::test_tools::assertion_result result(fault.empty());
  result.message() << fault;
  return result;
}
}  // namespace detail

/// Whether all gradients of a loss are those of finite differences, by gradcheck, which takes the same options and
/// arrays of double. The message names the parameter or the input where they differ most, the place, and both numbers.
template <auto Loss, class... Options, class... Bound>
[[nodiscard]] boost::test_tools::assertion_result check_gradient(seed s, const Bound&... inputs) {
  return detail::passes_without(detail::gradient_fault(gradcheck<Loss, Options...>(s, inputs...)));
}

/// Whether the operation Op keeps the laws of opcheck when it is applied to such leaves. The message says which it
/// breaks, and where.
template <class Op, auto... Leaves>
[[nodiscard]] boost::test_tools::assertion_result check_operation(seed s = {1}) {
  return detail::passes_without(opcheck<Op, Leaves...>(s));
}

}  // namespace cairn

#include "cairn/base/macros_back.hpp"
