// Helpers that the gradient tests share.
#pragma once

#include <boost/test/unit_test.hpp>
#include <cairn/cairn.hpp>
#include <cairn/gradcheck.hpp>

using namespace cairn;

/// Returns a scalar. Its gradient with respect to x differs from element to element.
template <class X>
constexpr auto weighted(X x) {
  return []<int... E>(X y, std::integer_sequence<int, E...>) {
    return sum(y * frozen<"weight of the loss", X::shape.extent[E]...>);
  }(x, std::make_integer_sequence<int, X::shape.rank>{});
}

/// Checks the promise of 1e-6 relative error, for every parameter, from several starting points.
template <auto Loss, class... Options, class... Bound>
void check(const Bound&... inputs) {
  for (const std::uint64_t s : {1U, 2U}) {
    const gradient_deviation worst = gradcheck<Loss, Options...>(seed{s}, inputs...);
    BOOST_TEST(worst.relative < 1e-6, "gradient " << worst.gradient << ", quotient " << worst.quotient << ", at "
                                                  << worst.name << '[' << worst.at << ']');
  }
}
