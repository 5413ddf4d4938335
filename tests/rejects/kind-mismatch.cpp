// The outermost call reports this mistake.
//
// An expression is a type, and a number of run time cannot enter a type. Write a constant as `0.5_c` or
// `constant<0.5>`. A number that is known only at run time, for example the scale of the logits, is an input: write
// `logits * input<"scale">`, and `bind<"scale">(std::array{s})` in each step.
//
// The id also reports real numbers where an operation takes indices, and indices where it takes real numbers. The id
// reports a bound array with elements of the wrong type. `cross_entropy` has a sentence of its own, because it takes
// class indices alone. With probabilities as targets, write `soft_cross_entropy(logits, probabilities)`.

#include "cairn/check/model.hpp"
#include "cairn/nn/activation.hpp"
#include "cairn/nn/embedding.hpp"
#include "cairn/nn/linear.hpp"
#include "cairn/nn/linear_cross_entropy.hpp"
#include "cairn/nn/positions.hpp"
#include "cairn/op/as_indices.hpp"
#include "cairn/op/dropout.hpp"
#include "cairn/op/extremum.hpp"
#include "cairn/op/loss.hpp"
#include "cairn/op/probability_loss.hpp"
#include "cairn/op/sort.hpp"

using namespace cairn;

// shared: the cases that make a loss
// here
static_assert(an_expression<decltype(loss)>);

// case: kind-mismatch-raw-right
// says: a plain number cannot enter an expression.*write 0.5_c or constant<0.5>
// shows: operation<cairn::fixed_string<4>\{"mul"\}, float ?\[4\], float>
constexpr auto x = input<"x", 4>;
constexpr auto y = x * 0.5f;   // wrong
constexpr auto y = x * 0.5_c;  // right
constexpr auto loss = mean(y + 1.0_c);

// case: kind-mismatch-argmax
// says: arguments are real numbers, shown as float, or indices, shown as int
// shows: operation<cairn::fixed_string<7>\{"argmax"\}, int ?\[4\]>
// shows: takes<float>
constexpr auto at = indices<"at", 8, 4>;
constexpr auto most = argmax<0>(at);           // wrong
constexpr auto most = argmax<0>(one_hot(at));  // right
constexpr auto loss = sum(one_hot(most));

// case: kind-mismatch-as-indices
// says: arguments are real numbers, shown as float, or indices, shown as int
// shows: operation<cairn::fixed_string<11>\{"as_indices"\}, int ?\[4\]>
// shows: takes<float>
constexpr auto at = indices<"at", 8, 4>;
constexpr auto fewer = as_indices<6>(at);           // wrong
constexpr auto fewer = as_indices<6>(as_real(at));  // right
constexpr auto loss = sum(one_hot(fewer));

// case: kind-mismatch-comparison
// says: arguments are real numbers, shown as float, or indices, shown as int
// shows: operation<cairn::fixed_string<5>\{"less"\}, float ?\[8\]\[4\], int ?\[4\]>
// shows: takes<float, float>
constexpr auto x = input<"x", 8, 4>;
constexpr auto at = indices<"at", 8, 4>;
constexpr auto below = x < at;           // wrong
constexpr auto below = x < as_real(at);  // right
constexpr auto loss = sum(where(below, x, 0_c));

// case: kind-mismatch-concatenate-indices
// says: arguments are real numbers, shown as float, or indices, shown as int
// shows: operation<cairn::fixed_string<12>\{"concatenate"\}, float ?\[4\], int ?\[4\]>
// shows: takes<float, float>
constexpr auto words = labels<"words", 8, 4>;  // wrong
constexpr auto words = input<"words", 4>;      // right
constexpr auto loss = mean(concatenate<0>(input<"x", 4>, words));

// case: kind-mismatch-concatenate
// says: a plain number cannot enter an expression.*write 0.5_c or constant<0.5>
// shows: fact::in<cairn::fixed_string<7>\{"padded"\}>
// shows: operation<cairn::fixed_string<12>\{"concatenate"\}, float ?\[4\], double>
constexpr auto padded = [](auto x) { return concatenate<0>(x, 1.0); };                // wrong
constexpr auto padded = [](auto x) { return concatenate<0>(x, reshape<1>(1.0_c)); };  // right
constexpr auto loss = mean(input<"x", 4> | block<"padded">(padded));

// case: kind-mismatch-gather
// says: arguments are real numbers, shown as float, or indices, shown as int
// shows: operation<cairn::fixed_string<7>\{"gather"\}, int ?\[4\], float ?\[8\]\[2\]>
// shows: takes<int, int>
constexpr auto table = param<"table", 8, 2>;
constexpr auto at = indices<"at", 8, 4>;
constexpr auto rows = gather<0>(at, table);  // wrong
constexpr auto rows = gather<0>(table, at);  // right
constexpr auto loss = sum(rows);

// case: kind-mismatch-halves
// says: arguments are real numbers, shown as float, or indices, shown as int.*or as_real\(x\)
// shows: cairn::bf16 ?\[8\]\[10\].*takes<float, int>
constexpr auto logits = as<bf16>(input<"x", 8, 10>);
constexpr auto loss = cross_entropy(logits, labels<"y", 10, 8>);           // wrong
constexpr auto loss = cross_entropy(as_real(logits), labels<"y", 10, 8>);  // right

// case: kind-mismatch-index-of-repeat
// says: the index of repeat, a type with a constant, cannot enter an expression; write constant<decltype\(i\)::value>
// shows: fact::in<cairn::fixed_string<8>\{"block\.0"\}>.*float ?\[4\]\[6\], std::integral_constant<int, 0>
constexpr auto body = [](auto i) {
  return layer([](auto h) { return h + decltype(i){}; });                 // wrong
  return layer([](auto h) { return h + constant<decltype(i)::value>; });  // right
};
constexpr auto loss = mean(input<"x", 4, 6> | repeat<3, "block">(body));

// case: kind-mismatch-indices
// says: arguments are real numbers, shown as float, or indices, shown as int
// shows: fact::in<cairn::fixed_string<4>\{"enc"\}>
// shows: operation<cairn::fixed_string<5>\{"gelu"\}, int ?\[4\]>
// shows: takes<float>
constexpr auto words = labels<"words", 8, 4>;  // wrong
constexpr auto words = input<"words", 4>;      // right
constexpr auto loss = mean(words | ckpt<"enc">(nn::gelu));

// case: kind-mismatch-raw-left
// says: a plain number cannot enter an expression.*write 0.5_c or constant<0.5>
// shows: fact::in<cairn::fixed_string<6>\{"twice"\}>
// shows: operation<cairn::fixed_string<4>\{"mul"\}, int, float ?\[4\]>
constexpr auto twice = [](auto x) { return 2 * x; };            // wrong
constexpr auto twice = [](auto x) { return constant<2> * x; };  // right
constexpr auto loss = mean(input<"x", 4> | block<"twice">(twice));

// case: kind-mismatch-reals
// says: arguments are real numbers, shown as float, or indices, shown as int
// shows: operation<cairn::fixed_string<14>\{"cross_entropy"\}, float ?\[4\]\[8\], float ?\[4\]>
// shows: takes<float, int>
constexpr auto classes = input<"classes", 4>;      // wrong
constexpr auto classes = labels<"classes", 8, 4>;  // right
constexpr auto loss = mean(cross_entropy(input<"logits", 4, 8>, classes));

// case: kind-mismatch-soft-targets-weighted
// says: cross_entropy takes class indices alone
// shows: fact::in<cairn::fixed_string<5>\{"head"\}>
constexpr auto weights = frozen<"weights", 10>;
constexpr auto y = input<"y", 4, 10>;   // wrong
constexpr auto y = labels<"y", 10, 4>;  // right
constexpr auto head = layer([](auto h) { return cross_entropy(h | nn::linear<"fc", 10>, y, weights); });
constexpr auto loss = input<"x", 4, 8> | block<"head">(head);

// case: kind-mismatch-soft-targets-head
// says: cross_entropy takes class indices alone
// shows: operation<cairn::fixed_string<14>\{"cross_entropy"\}, float ?\[4\]\[10\], float ?\[4\]\[10\]>
constexpr auto y = input<"y", 4, 10>;   // wrong
constexpr auto y = labels<"y", 10, 4>;  // right
constexpr auto loss = nn::linear_cross_entropy<"head", 10>(input<"x", 4, 8>, y);

// case: kind-mismatch-soft-targets
// says: cross_entropy takes class indices alone; with probabilities as targets write soft_cross_entropy\(logits, probabilities\)
// shows: operation<cairn::fixed_string<14>\{"cross_entropy"\}, float ?\[4\]\[10\], float ?\[4\]\[10\]>
constexpr auto logits = input<"x", 4, 8> | nn::linear<"fc", 10>;
constexpr auto targets = input<"soft", 4, 10>;
constexpr auto loss = cross_entropy(logits, targets);       // wrong
constexpr auto loss = soft_cross_entropy(logits, targets);  // right

// case: kind-mismatch-soft-labels
// says: arguments are real numbers, shown as float, or indices, shown as int
// shows: operation<cairn::fixed_string<19>\{"soft_cross_entropy"\}, float ?\[4\]\[10\], int ?\[4\]>
// shows: takes<float, float>
constexpr auto logits = input<"logits", 4, 10>;
constexpr auto y = labels<"y", 10, 4>;
constexpr auto loss = soft_cross_entropy(logits, y);           // wrong
constexpr auto loss = soft_cross_entropy(logits, one_hot(y));  // right

// case: kind-mismatch-sort
// says: arguments are real numbers, shown as float, or indices, shown as int
// shows: operation<cairn::fixed_string<5>\{"sort"\}, int ?\[4\]>
// shows: takes<float>
constexpr auto at = indices<"at", 8, 4>;
constexpr auto order = argsort<0>(at);           // wrong
constexpr auto order = argsort<0>(as_real(at));  // right
constexpr auto loss = sum(as_real(order));

// case: kind-mismatch-where
// says: arguments are real numbers, shown as float, or indices, shown as int
// shows: operation<cairn::fixed_string<6>\{"where"\}, float ?\[8\]\[4\], float ?\[8\]\[4\], float>
// shows: takes<int, float, float>
constexpr auto x = input<"x", 8, 4>;
constexpr auto positive = where(x, x, 0_c);        // wrong
constexpr auto positive = where(x > 0_c, x, 0_c);  // right
constexpr auto loss = sum(positive);

// shared: nothing

// case: kind-mismatch-bound-double
// says: the array has other elements than the input
// shows: fact::input<cairn::fixed_string<2>\{"x"\}>
// shows: expected<float>
// shows: got<double>
#include "cairn/run/program.hpp"
constexpr auto loss = sum(input<"x", 4> * param<"w", 4>);

int main() {
  program<loss> step;
  double x[4] = {1, 2, 3, 4};  // wrong
  float x[4] = {1, 2, 3, 4};   // right
  float value = step.value_and_grad(bind<"x">(x));
  return value > 0;
}

// case: kind-mismatch-bound-labels
// says: the array has other elements than the input
// shows: fact::input<cairn::fixed_string<2>\{"y"\}>
// shows: expected<int>
// shows: got<long( int)?>
#include "cairn/run/program.hpp"
constexpr auto loss = cross_entropy(param<"w", 2, 3>, labels<"y", 3, 2>);

int main() {
  program<loss> step;
  std::vector<std::int64_t> y{1, 2};  // wrong
  std::vector<std::int32_t> y{1, 2};  // right
  return step.value_and_grad(bind<"y">(y)) > 0;
}

// case: kind-mismatch-clamp
// says: a plain number cannot enter an expression.* write 0.5_c or constant<0.5>
// shows: operation<cairn::fixed_string<6>\{"clamp"\}, float ?\[8\]\[4\], int, int>
constexpr auto x = input<"x", 8, 4>;
constexpr auto y = clamp(x, 0, 6);      // wrong
constexpr auto y = clamp(x, 0_c, 6_c);  // right
static_assert(an_expression<decltype(y)>);

// case: kind-mismatch-dropout
// says: arguments are real numbers
// shows: operation<cairn::fixed_string<8>\{"dropout"\}, int ?\[8\], cairn::random_stream>
// shows: takes<float, cairn::random_stream>
constexpr auto x = labels<"x", 10, 8>;  // wrong
constexpr auto x = input<"x", 8>;       // right
constexpr auto y = dropout<"d">(x);
static_assert(an_expression<decltype(y)>);

// case: kind-mismatch-embedding
// says: arguments are real numbers, shown as float, or indices, shown as int
// shows: fact::in<cairn::fixed_string<4>\{"wte"\}>
// shows: embedding.*float ?\[4\]\[9\]
// shows: takes<int>
constexpr auto tokens = input<"tokens", 4, 9>;         // wrong
constexpr auto tokens = indices<"tokens", 256, 4, 9>;  // right
constexpr auto h = tokens | nn::embedding<"wte", 16>;
static_assert(an_expression<decltype(h)>);

// case: kind-mismatch-grad
// says: arguments are real numbers, shown as float, or indices, shown as int
// shows: fact::in<cairn::fixed_string<\d+>\{"s"\}>.*operation<cairn::fixed_string<5>\{"grad"\}, float, int ?\[8\]>
constexpr auto slope = [](auto h, auto y) {
  return grad(cross_entropy(h, y), y);  // wrong
  return grad(cross_entropy(h, y), h);  // right
};
constexpr auto h = ckpt<"s">(slope, input<"x", 8, 3> | nn::linear<"fc", 4>, labels<"y", 4, 8>);
static_assert(an_expression<decltype(h)>);

// case: kind-mismatch-gradcheck
// says: the array has other elements than the input that it is bound to; .* double in gradcheck and with real<double>
// shows: fact::input<cairn::fixed_string<2>\{"x"\}>, cairn::fact::expected<double>, cairn::fact::got<float>
#include "cairn/gradcheck.hpp"
using number = float;   // wrong
using number = double;  // right
constexpr auto loss = sum(input<"x", 4> * param<"w", 4>);

int main() {
  const number x[4] = {1, 2, 3, 4};
  return gradcheck<loss, wrt<"x">>(seed{1}, bind<"x">(x)).relative > 1e-6;
}

// case: kind-mismatch-outputs
// says: arguments are real numbers, shown as float, or indices, shown as int
// shows: operation<cairn::fixed_string<8>\{"outputs"\}, int ?\[4\], float>
// shows: takes<float>
constexpr auto classes = labels<"classes", 3, 4>;
constexpr auto logits = param<"w", 4, 3>;
constexpr auto loss = cross_entropy(logits, classes);
constexpr auto results = outputs(argmax<-1>(logits), loss);  // wrong
constexpr auto results = outputs(loss, argmax<-1>(logits));  // right
static_assert(detail::checked<results>());

// case: kind-mismatch-predictor
// says: what shares the parameters of a program computes in its type
// shows: given<float>.*expected<double>
#include "cairn/cairn.hpp"
constexpr auto logits = input<"x", 8, 4> | nn::linear<"fc", 3>;
using predictor_of_logits = predictor<logits>;                // wrong
using predictor_of_logits = predictor<logits, real<double>>;  // right

void predict() {
  program<sum(logits), real<double>> step;
  predictor_of_logits each{step};
  static_cast<void>(each(bind<"x">(std::array<predictor_of_logits::real_type, 32>{})));
}

// case: kind-mismatch-program
// says: what shares the parameters of a program computes in its type
// shows: given<float>.*expected<double>
#include "cairn/cairn.hpp"
template <int B>
constexpr auto loss = sum(input<"x", B, 4> | nn::linear<"fc", 3>);
using other = program<loss<4>>;                // wrong
using other = program<loss<4>, real<double>>;  // right

inline void both() {
  program<loss<8>, real<double>> longest;
  other shorter{longest};
}

// case: kind-mismatch-raw-run-time
// says: a plain number cannot enter an expression; .*for one of run time input<"scale">, which bind<"scale"> gives
// shows: operation<cairn::fixed_string<4>\{"mul"\}, float ?\[4\]\[8\], float>
constexpr auto logits = input<"x", 4, 6> | nn::linear<"fc", 8>;
inline auto scaled([[maybe_unused]] float s) {
  return mean(logits * s);               // wrong
  return mean(logits * input<"scale">);  // right
}

// case: kind-mismatch-rule
// says: a plain number cannot enter an expression
// shows: fact::operation<cairn::fixed_string<4>\{"mul"\}, double, float>
constexpr auto loss = sum(square(input<"x", 4> * param<"w", 4>));
struct descent {
  double lr = 1e-3;
  static constexpr std::array<std::string_view, 0> moments{};
  constexpr std::array<double, 1> numbers(double rate, std::int64_t) const { return {rate}; }
  static constexpr auto next(auto p, auto g, auto rate) { return std::tuple{p - 0.5 * rate * g}; }    // wrong
  static constexpr auto next(auto p, auto g, auto rate) { return std::tuple{p - 0.5_c * rate * g}; }  // right
};
static_assert(detail::checked<loss, update<descent{}>>());

// case: kind-mismatch-sinusoidal
// says: arguments are real numbers, shown as float, or indices, shown as int
// shows: operation<cairn::fixed_string<21>\{"sinusoidal_positions"\}, float ?\[2\]\[8\]\[12\], float ?\[8\]>
// shows: fact::takes<float, int>
constexpr auto positions = input<"at", 8>;       // wrong
constexpr auto positions = indices<"at", 8, 8>;  // right
constexpr auto y = nn::sinusoidal_positions(input<"x", 2, 8, 12>, positions);
static_assert(an_expression<decltype(y)>);

// case: kind-mismatch-stored
// says: what shares the parameters of a program stores them in the same type
// shows: given<float>.*expected<cairn::bf16>
#include "cairn/cairn.hpp"
constexpr auto y = sum(square(param<"w", 4>));
using halved = mixed<bf16, stochastic_rounding>;
using predictor_of_y = predictor<y>;          // wrong
using predictor_of_y = predictor<y, halved>;  // right

void predict() {
  program<y, halved> step;
  predictor_of_y each{step};
  static_cast<void>(each());
}

// case: kind-mismatch-types
// says: real numbers of different types meet in this operation, and as<float>\(x\) is another than the program's
// shows: operation<cairn::fixed_string<8>\{"minimum"\}, float ?\[8\]\[4\], double ?\[4\]>
constexpr auto x = input<"x", 8, 4>;
constexpr auto precise = as<double>(input<"p", 4>);
constexpr auto y = minimum(x, precise);              // wrong
constexpr auto y = minimum(as<double>(x), precise);  // right
static_assert(an_expression<decltype(y)>);

// case: kind-mismatch-wrt
// says: indices have no gradient
// shows: fact::input<cairn::fixed_string<8>\{"classes"\}>
// shows: fact::given<int ?\[4\]>
constexpr auto loss = cross_entropy(input<"x", 4, 8> | nn::linear<"fc", 3>, labels<"classes", 3, 4>);
using also = wrt<"classes">;  // wrong
using also = wrt<"x">;        // right
static_assert(detail::checked<loss, also>());
