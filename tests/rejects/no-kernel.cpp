// The program reports this mistake, in an operation of your own.
//
// The function that computes the operation is missing. It must stand in the operation's namespace, and is called
// `lanewise` for an elementwise operation, and `compute` for any other operation. A function with other parameters does
// not count. `lanewise` returns as many values as the operation has results. Without a member `result`, an elementwise
// operation has one.
//
// `compute` has three parameters, or a fourth one that is an `int` or a `const kernels::launch&`. An `int` is the number
// of threads that the kernel may use. If the operation declares tiles, rows or pieces, only a `kernels::launch` tells the
// kernel of them.

#include "cairn/run/program.hpp"

using namespace cairn;

// case: own-operation-lanewise
// says: this elementwise operation has no lanewise
// shows: operation<cairn::fixed_string<9>\{"log1pexp"\}>
namespace own {
using namespace cairn;
struct log1pexp_op : elementwise_op {
  static constexpr fixed_string name = "log1pexp";
  static constexpr auto vjp(auto g, auto, auto x) { return gradients(g * sigmoid(x)); }
};
template <class V>
V on_lanes(log1pexp_op, V x) {  // wrong
V lanewise(log1pexp_op, V x) {  // right
  return log(V::fill(1) + exp(x));
}
}  // namespace own
using step = program<sum(make<own::log1pexp_op>(param<"p", 3, 5>))>;
float run(step& s) { return s.value_and_grad(); }

// case: own-operation-lanewise-values
// says: lanewise returns a V for an operation with one result, and std::array<V, N> for N results
// shows: operation<cairn::fixed_string<12>\{"sine_cosine"\}>.*expected<cairn::fact::values<1> ?>.*got<cairn::fact::values<2> ?>
namespace own {
using namespace cairn;
struct sine_cosine_op : elementwise_op {
  static constexpr fixed_string name = "sine_cosine";
  static constexpr auto vjp(auto g, auto, auto x) { return gradients(g * cos(x)); }
};
template <class V>
std::array<V, 2> lanewise(sine_cosine_op, V x) {  // wrong
  return {sin(x), cos(x)};                        // wrong
V lanewise(sine_cosine_op, V x) {                 // right
  return sin(x);                                  // right
}
}  // namespace own
using step = program<sum(make<own::sine_cosine_op>(param<"p", 3, 5>))>;
float run(step& s) { return s.value_and_grad(); }

// case: own-operation-lanewise-value
// says: lanewise returns a V for an operation with one result, and std::array<V, N> for N results
// shows: operation<cairn::fixed_string<12>\{"sine_cosine"\}>.*expected<cairn::fact::values<2> ?>.*got<cairn::fact::values<1> ?>
namespace own {
using namespace cairn;
struct sine_cosine_op : elementwise_op {
  static constexpr fixed_string name = "sine_cosine";
  static constexpr std::array<shape, 2> result(const shape& x) { return {x, x}; }
  static constexpr auto vjp(auto of_sine, auto of_cosine, auto sine, auto cosine, auto) {
    return gradients(of_sine * cosine - of_cosine * sine);
  }
};
template <class V>
V lanewise(sine_cosine_op, V x) {                 // wrong
  return sin(x);                                  // wrong
std::array<V, 2> lanewise(sine_cosine_op, V x) {  // right
  return {sin(x), cos(x)};                        // right
}
}  // namespace own
using step = program<sum(std::get<0>(make<own::sine_cosine_op>(param<"p", 3, 5>)))>;
float run(step& s) { return s.value_and_grad(); }

// case: own-operation-kernel
// says: no compute\(operation, signature<Real, Arguments\.\.\.>
// shows: operation<cairn::fixed_string<9>\{"reversed"\}, float ?\[5\]>
namespace own {
using namespace cairn;
struct reversed_op : op {
  static constexpr fixed_string name = "reversed";
  using rule = misuse::at_least_two_axes;
  static constexpr shape result(const shape& x) { return x; }
  static constexpr auto vjp(auto g, auto, auto) { return gradients(make<reversed_op>(g)); }
};
template <class Real, class X>                                                    // right
void compute(reversed_op, signature<Real, X>, void* const* operands) {            // right
  const Real* const in = static_cast<const Real*>(operands[1]);                   // right
  std::reverse_copy(in, in + X::shape.count(), static_cast<Real*>(operands[0]));  // right
}                                                                                 // right
}  // namespace own
using step = program<sum(make<own::reversed_op>(param<"w", 5>))>;
float run(step& s) { return s.value_and_grad(); }

// case: own-operation-kernel-launch
// says: this operation declares tiles, rows or pieces; its compute needs a fourth parameter, const kernels::launch&
// shows: operation<cairn::fixed_string<9>\{"shuffled"\}, float ?\[5\]>
namespace own {
using namespace cairn;
struct shuffled_op : op {
  static constexpr fixed_string name = "shuffled";
  using rule = misuse::at_least_two_axes;
  static constexpr shape result(const shape& x) { return x; }
  static constexpr reading reads(int, const shape&) { return {.row_axes = 1}; }
  static constexpr auto vjp(auto g, auto, auto) { return gradients(make<shuffled_op>(g)); }
};
template <class Real, class X>
void compute(shuffled_op, signature<Real, X>, void* const* operands, int) {                     // wrong
void compute(shuffled_op, signature<Real, X>, void* const* operands, const kernels::launch&) {  // right
  const Real* const in = static_cast<const Real*>(operands[1]);
  std::reverse_copy(in, in + X::shape.count(), static_cast<Real*>(operands[0]));
}
}  // namespace own
using step = program<sum(make<own::shuffled_op>(param<"w", 5>))>;
float run(step& s) { return s.value_and_grad(); }

// shared: an operation whose kernel has four parameters
namespace own {
using namespace cairn;
struct shuffled_op : op {
  static constexpr fixed_string name = "shuffled";
  using rule = misuse::at_least_two_axes;
  static constexpr shape result(const shape& x) { return x; }
  static constexpr auto vjp(auto g, auto, auto) { return gradients(make<shuffled_op>(g)); }
};
template <class Real, class X>
// here
  const Real* const in = static_cast<const Real*>(operands[1]);
  std::reverse_copy(in, in + X::shape.count(), static_cast<Real*>(operands[0]));
}
}  // namespace own
using step = program<sum(make<own::shuffled_op>(param<"w", 5>))>;
float run(step& s) { return s.value_and_grad(); }

// case: own-operation-kernel-fourth
// says: the fourth parameter of this compute has a type that is never passed
// shows: operation<cairn::fixed_string<9>\{"shuffled"\}, float ?\[5\]>
void compute(shuffled_op, signature<Real, X>, void* const* operands, bool) {  // wrong
void compute(shuffled_op, signature<Real, X>, void* const* operands, int) {   // right

// case: own-operation-kernel-deduced
// says: the fourth parameter of this compute has a type that is never passed
// shows: operation<cairn::fixed_string<9>\{"shuffled"\}, float ?\[5\]>
void compute(shuffled_op, signature<Real, X>, void* const* operands, const auto&) {             // wrong
void compute(shuffled_op, signature<Real, X>, void* const* operands, const kernels::launch&) {  // right
