// The program reports this mistake, in an operation of your own.
//
// A vjp takes the cotangents of the results, then the results, then the arguments. It returns `gradients(...)`, with
// one gradient for each argument. A gradient has the argument's shape, or a shape to which the argument is broadcast.
// Return `no_gradient{}` for an argument that has no gradient.
//
// The check runs where the graph is made, so the list of instantiations around the message is longer than elsewhere. If
// a rule does not compile, only the compiler's own message appears.

#include "cairn/check/model.hpp"
#include "cairn/op/matmul.hpp"

using namespace cairn;

// shared: an operation, which lacks its gradient rule
namespace own {
using namespace cairn;

struct log1pexp_op : elementwise_op {
  static constexpr fixed_string name = "log1pexp";
  // here
};
}  // namespace own
constexpr auto loss = sum(make<own::log1pexp_op>(param<"p", 3, 5>));
static_assert(detail::checked<loss>());

// case: own-operation-returned
// says: a vjp returns gradients\(\.\.\.\), one for each argument
// shows: operation<cairn::fixed_string<9>\{"log1pexp"\}, float ?\[3\]\[5\]>
  static constexpr auto vjp(auto g, auto, auto x) { return g * sigmoid(x); }             // wrong
  static constexpr auto vjp(auto g, auto, auto x) { return gradients(g * sigmoid(x)); }  // right

// case: own-operation-absent
// says: this operation is differentiated and has no vjp
  static constexpr auto vjp(auto g, auto, auto x) { return gradients(g * sigmoid(x)); }  // right

// case: own-operation-arguments
// says: this operation is differentiated and has no vjp
  static constexpr auto vjp(auto g, auto x) { return gradients(g * sigmoid(x)); }        // wrong
  static constexpr auto vjp(auto g, auto, auto x) { return gradients(g * sigmoid(x)); }  // right

// case: own-operation-body
// shows: sigmoide
  static constexpr auto vjp(auto g, auto, auto x) { return gradients(g * sigmoide(x)); }  // wrong
  static constexpr auto vjp(auto g, auto, auto x) { return gradients(g * sigmoid(x)); }   // right

// case: own-operation-grad
// says: a vjp computes with its arguments, constants and generated arrays alone
  static constexpr auto vjp(auto g, auto, auto x) { return gradients(g * grad(sum(gelu(x)), x)); }  // wrong
  static constexpr auto vjp(auto g, auto, auto x) { return gradients(g * sigmoid(x)); }             // right

// case: own-operation-leaf
// says: a vjp computes with its arguments, constants and generated arrays alone
  static constexpr auto vjp(auto g, auto, auto x) { return gradients(g * sigmoid(x) * param<"scale", 1>); }  // wrong
  static constexpr auto vjp(auto g, auto, auto x) { return gradients(g * sigmoid(x)); }                      // right

// case: own-operation-missing
// says: the vjp of this operation gives no gradient to an argument of real numbers
  static constexpr auto vjp(auto, auto, auto) { return gradients(no_gradient{}); }       // wrong
  static constexpr auto vjp(auto g, auto, auto x) { return gradients(g * sigmoid(x)); }  // right

// case: own-operation-number
// says: a vjp returns gradients\(\.\.\.\), one for each argument
  static constexpr auto vjp(auto g, auto, auto x) { return gradients(g, g * sigmoid(x)); }  // wrong
  static constexpr auto vjp(auto g, auto, auto x) { return gradients(g * sigmoid(x)); }     // right

// case: own-operation-segment
// says: a vjp computes with its arguments, constants and generated arrays alone
  static constexpr auto vjp(auto g, auto, auto x) {                                       // wrong
    return gradients(ckpt<"rule">([](auto a, auto b) { return a * sigmoid(b); }, g, x));  // wrong
  }                                                                                       // wrong
  static constexpr auto vjp(auto g, auto, auto x) { return gradients(g * sigmoid(x)); }   // right

// case: own-operation-shape
// says: the gradient of an argument has its shape
// shows: argument<0>, cairn::fact::got<float ?\[5\]>
  static constexpr auto vjp(auto g, auto, auto x) { return gradients(mean<0>(g * sigmoid(x))); }  // wrong
  static constexpr auto vjp(auto g, auto, auto x) { return gradients(g * sigmoid(x)); }           // right

// case: own-operation-static
// says: this operation is differentiated and has no vjp
  constexpr auto vjp(auto g, auto, auto x) const { return gradients(g * sigmoid(x)); }   // wrong
  static constexpr auto vjp(auto g, auto, auto x) { return gradients(g * sigmoid(x)); }  // right
