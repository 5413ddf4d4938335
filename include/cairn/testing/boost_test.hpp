// Checks for tests that are written with Boost.Test. The first check compares gradients with finite differences:
// `BOOST_TEST(check_gradient<loss>(seed{1}, bind<"x">(x)))`. The second check tests an operation of your own:
// `BOOST_TEST((check_operation<own::picked_op, param<"x", 8, 5>, indices<"at", 5, 8>>()))`. The message of a failed
// check names the place of the failure.
#pragma once

#include "cairn/base/macros_aside.hpp"

// cairn.hpp explains why these warnings are off.
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

/// Succeeds if all gradients of a loss agree with finite differences. Takes the same options and the same arrays of
/// double as gradcheck. The message of a failure names the parameter or input with the largest difference, the index
/// of the number, and both numbers.
template <auto Loss, class... Options, class... Bound>
[[nodiscard]] boost::test_tools::assertion_result check_gradient(seed s, const Bound&... inputs) {
  return detail::passes_without(detail::gradient_fault(gradcheck<Loss, Options...>(s, inputs...)));
}

/// Succeeds if the operation Op keeps all laws of opcheck when it is applied to the given leaves. The message of a
/// failure names the broken law and the place.
template <class Op, auto... Leaves>
[[nodiscard]] boost::test_tools::assertion_result check_operation(seed s = {1}) {
  return detail::passes_without(opcheck<Op, Leaves...>(s));
}

}  // namespace cairn

#include "cairn/base/macros_back.hpp"
