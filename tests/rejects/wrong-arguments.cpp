// The outermost call reports this mistake.
//
// A function of the library was called with an argument that it does not take. The sentence says what to write. The id
// covers these mistakes:
//
// - A layer stands where an expression is needed, or an expression where a layer is needed.
// - A tuple of values stands where one expression is needed.
// - An axis is an argument, where it must be a template argument.
// - A name is missing, or a policy stands before it.
// - A policy of `ckpt` is a value. Policies are types.
// - An array is passed without `bind<...>`.
// - A view without a constant shape is passed to xtensor, `std::mdspan` or Eigen.
// - A learning rate is passed without its name.
// - `update<...>` or an optimizer got an object that is no rule. A rule may not sum in its `next`, unless it has
//   the member `whole_tensor`, and its moments must have different names.
// - An optimizer next to a program got a rule of whole tensors.
// - A program is loaded or saved with a text behind the path, where a selection must stand.
// - A program is made of a function, or of a number.
// - The name of a leaf is empty.
// - An array has elements that do not lie side by side, such as a vector of vectors.
// - A training step got both parts{n} and arrays.
// - `train::loop` got a predictor or a loss.
// - `train::loop` got batches, and not a function of the epoch that returns them.
// - `train::loop` got a function that does no training step, or that returns no loss. Its validation takes an argument
//   or returns no number.
// - `update<...>` or an optimizer got an object that is no rule. A rule may not sum in its `next`, and its moments must
//   have different names.
// - A rule is for parameters of another shape, as `muon_options` is for matrices.

#include "cairn/check/scan.hpp"
#include "cairn/nn/convolution.hpp"
#include "cairn/nn/embedding.hpp"
#include "cairn/nn/linear_cross_entropy.hpp"
#include "cairn/nn/pool.hpp"
#include "cairn/nn/recurrent.hpp"
#include "cairn/nn/transformer.hpp"
#include "cairn/op/einsum.hpp"
#include "cairn/op/extremum.hpp"
#include "cairn/op/loss.hpp"
#include "cairn/op/placed.hpp"
#include "cairn/op/sort.hpp"
#include "cairn/op/roll.hpp"
#include "cairn/op/similarity.hpp"
#include "cairn/search/sequential.hpp"
#include "cairn/train/rules.hpp"
#include "cairn/train/whole_rules.hpp"

#include <vector>

using namespace cairn;

// shared: an input and labels
constexpr auto x = input<"x", 8, 16>;
constexpr auto y = labels<"y", 4, 8>;
// here
static_assert(an_expression<decltype(loss)>);

// case: wrong-arguments-pipe-model
// says: to the right of \| stands a layer, not an expression; write x \| layer
// shows: operation<cairn::fixed_string<2>\{"\|"\}, cairn::fact::layer, float ?\[8\]\[16\]
constexpr auto model = nn::linear<"in", 16> | nn::relu | nn::linear<"head", 4>;
constexpr auto loss = cross_entropy(model | x, y);  // wrong
constexpr auto loss = cross_entropy(x | model, y);  // right

// case: wrong-arguments-ckpt-call-name
// says: ckpt, block, repeat and scan take a name in <\.\.\.>: ckpt<"name">\(layer\)
// shows: operation<cairn::fixed_string<5>\{"ckpt"\}, cairn::fact::layer, float ?\[8\]\[16\]
constexpr auto model = nn::linear<"in", 16> | nn::relu | nn::linear<"head", 4>;
constexpr auto loss = cross_entropy(ckpt(model, x), y);         // wrong
constexpr auto loss = cross_entropy(ckpt<"seg">(model, x), y);  // right

// case: wrong-arguments-ckpt-expression
// says: an expression stands where a layer is needed; give the layer itself
// shows: operation<cairn::fixed_string<5>\{"ckpt"\}, float ?\[8\]\[4\]
constexpr auto model = nn::linear<"in", 16> | nn::relu | nn::linear<"head", 4>;
constexpr auto logits = ckpt<"seg">(x | model);  // wrong
constexpr auto logits = x | ckpt<"seg">(model);  // right
constexpr auto loss = cross_entropy(logits, y);

// case: wrong-arguments-ckpt-order
// says: ckpt, block and repeat take a function, then the expressions to call it with
// shows: operation<cairn::fixed_string<5>\{"ckpt"\}, float ?\[8\]\[16\], cairn::fact::layer
constexpr auto model = nn::linear<"in", 16> | nn::relu | nn::linear<"head", 4>;
constexpr auto loss = cross_entropy(ckpt<"seg">(x, model), y);  // wrong
constexpr auto loss = cross_entropy(ckpt<"seg">(model, x), y);  // right

// case: wrong-arguments-labels
// says: this takes two arguments: cross_entropy\(logits, labels\)
// shows: operation<cairn::fixed_string<14>\{"cross_entropy"\}, float ?\[8\]\[4\]
constexpr auto logits = x | nn::linear<"head", 4>;
constexpr auto loss = cross_entropy(logits);     // wrong
constexpr auto loss = cross_entropy(logits, y);  // right

// case: wrong-arguments-pipe
// says: to the right of \| stands a layer, not an expression; write x \| layer
// shows: operation<cairn::fixed_string<2>\{"\|"\}, float ?\[8\]\[16\], float ?\[8\]\[16\]
constexpr auto h = x | relu(x);  // wrong
constexpr auto h = relu(x);      // right
constexpr auto loss = cross_entropy(h | nn::linear<"head", 4>, y);

// case: wrong-arguments-residual-expression
// says: an expression stands where a layer is needed; give the layer itself
// shows: operation<cairn::fixed_string<9>\{"residual"\}, float ?\[8\]\[16\]
constexpr auto mlp = nn::linear<"up", 16> | nn::relu;
constexpr auto unit = nn::residual(x | mlp);  // wrong
constexpr auto unit = nn::residual(mlp);      // right
constexpr auto model = repeat<12, "block">([](auto) { return ckpt<"seg">(unit); }) | nn::linear<"head", 4>;
constexpr auto loss = cross_entropy(x | model, y);

// case: wrong-arguments-shared-expression
// says: an expression stands where a layer is needed; give the layer itself
// shows: operation<cairn::fixed_string<7>\{"shared"\}, float ?\[8\]\[16\]
constexpr auto mlp = nn::linear<"up", 16> | nn::relu;
constexpr auto unit = shared(x | mlp);  // wrong
constexpr auto unit = shared(mlp);      // right
constexpr auto model = mlp | unit | nn::linear<"head", 4>;
constexpr auto loss = cross_entropy(x | model, y);

// shared: nothing

// case: own-operation-made
// says: an operation derives from op and has a static result\(x\.\.\.\), of as many shapes
// shows: operation<cairn::fixed_string<9>\{"reversed"\}, float ?\[5\], float ?\[5\]>
namespace own {
using namespace cairn;
struct reversed_op : op {
  static constexpr fixed_string name = "reversed";
  static constexpr shape result(const shape& x) { return x; }
  static constexpr auto vjp(auto g, auto, auto x) { return gradients(make<reversed_op>(g, x)); }  // wrong
  static constexpr auto vjp(auto g, auto, auto) { return gradients(make<reversed_op>(g)); }       // right
};
}  // namespace own
constexpr auto loss = sum(make<own::reversed_op>(param<"w", 5>));
static_assert(detail::checked<loss>());

// case: wrong-arguments-loop-of-predictor
// says: train::loop runs the training steps of a program; a predictor, a loss and a const program have none
// shows: given<cairn::fact::object>
#include "cairn/cairn.hpp"
#include "cairn/train/loop.hpp"
constexpr auto net = input<"x", 8, 4> | nn::linear<"fc", 3>;
using run_by_loop = predictor<net>;              // wrong
using run_by_loop = program<mean(square(net))>;  // right
constexpr auto batches = [](int) { return std::vector{1, 2}; };
constexpr auto go = [](double, int) { return 0.5F; };

inline int run_all(run_by_loop& step) {
  train::loop run{step, {.epochs = 5}};
  run(batches, go);
  return run.state().epoch;
}

// case: wrong-arguments-loop-of-const
// says: train::loop runs the training steps of a program; a predictor, a loss and a const program have none
// shows: given<cairn::fact::object>
#include "cairn/cairn.hpp"
#include "cairn/train/loop.hpp"
using train_step = program<sum(square(param<"w", 8>))>;
using run_by_loop = const train_step;  // wrong
using run_by_loop = train_step;        // right
constexpr auto batches = [](int) { return std::vector{1, 2}; };
constexpr auto go = [](double, int) { return 0.5F; };

inline void runs(run_by_loop& step) { train::loop(step, {.epochs = 2})(batches, go); }

// case: wrong-arguments-loop-of-loss
// says: train::loop runs the training steps of a program; a predictor, a loss and a const program have none
// shows: given<float>
#include "cairn/cairn.hpp"
#include "cairn/train/loop.hpp"
constexpr auto loss = mean(square(param<"w", 8>));

inline int run_all([[maybe_unused]] program<loss>& step) {
  train::loop run{loss, {.epochs = 5}};  // wrong
  train::loop run{step, {.epochs = 5}};  // right
  return run.state().epoch;
}

// case: wrong-arguments-program-of-function
// says: a program or predictor is made of an expression, or of outputs\(loss, \.\.\.\); a function must be applied
// shows: fact::given<.*lambda
#include "cairn/cairn.hpp"
constexpr auto loss = [](auto h) { return mean(square(h | nn::linear<"fc", 3>)); };
using trained = program<loss>;                    // wrong
using trained = program<loss(input<"x", 8, 4>)>;  // right
static_assert(trained::memory().peak_bytes > 0);

inline float train(trained& step) {
  adamw optimizer{step, {.lr = 1e-3}};
  const float l = step.value_and_grad(bind<"x">(std::array<float, 32>{}));
  optimizer.update();
  return l;
}

// case: wrong-arguments-predictor-of-number
// says: a program or predictor is made of an expression, or of outputs\(loss, \.\.\.\)
// shows: fact::given<int>
#include "cairn/cairn.hpp"
using shown = predictor<3>;                                       // wrong
using shown = predictor<input<"x", 8, 4> | nn::linear<"fc", 3>>;  // right

inline float first(shown& predict) {
  const auto y = predict(bind<"x">(std::array<float, 32>{}));
  return y(0, 0);
}

// case: wrong-arguments-empty-name
// says: the name of this input, parameter, state or random operation is empty
// shows: given<float ?\[4\]\[3\]>
constexpr auto loss = sum(matmul(input<"x", 8, 4>, param<"", 4, 3>));   // wrong
constexpr auto loss = sum(matmul(input<"x", 8, 4>, param<"w", 4, 3>));  // right
static_assert(detail::checked<loss>());

// case: wrong-arguments-empty-name-in-scan
// says: the name of this input, parameter, state or random operation is empty, or ends with a dot
// shows: fact::in<cairn::fixed_string<\d+>\{"step\."\}>
#include "cairn/run/scan.hpp"
constexpr auto body = [](auto h) { return tanh(h * param<"", 5>); };   // wrong
constexpr auto body = [](auto h) { return tanh(h * param<"w", 5>); };  // right
constexpr auto loss = sum(scan<3, "step">(body, carried(input<"x", 5>)));
static_assert(detail::checked<loss>());

// case: wrong-arguments-empty-name-in-block
// says: the name of this input, parameter, state or random operation is empty, or ends with a dot
// shows: fact::in<cairn::fixed_string<\d+>\{"enc\."\}>
#include "cairn/nn/dropout.hpp"
constexpr auto half = nn::dropout<"", 0.5>;    // wrong
constexpr auto half = nn::dropout<"d1", 0.5>;  // right
constexpr auto loss = sum(input<"x", 8, 4> | block<"enc">(nn::linear<"fc", 3> | half));
static_assert(detail::checked<loss>());

// case: wrong-arguments-choice-in-condition
// says: if, \?:, && and ! ask for a value, and an expression has none.*write where\(x > 0_c, a, b\)
// then: (operands to .\?:. have different types|incompatible operand types)
constexpr auto leaky = layer([](auto v) { return v > 0_c ? v : 0.1_c * v; });       // wrong
constexpr auto leaky = layer([](auto v) { return where(v > 0_c, v, 0.1_c * v); });  // right
constexpr auto out = input<"x", 4, 6> | nn::linear<"fc", 8> | leaky;
static_assert(an_expression<decltype(out)>);

// case: wrong-arguments-ckpt-boundaries
// says: after its name ckpt takes policies: .* boundaries<bf16> or boundaries<float> stands before them
// shows: fact::in<cairn::fixed_string<\d+>\{"ff"\}>.*given<cairn::boundaries<int> ?>
using stored = std::int32_t;  // wrong
using stored = bf16;          // right
constexpr auto ff = nn::linear<"fc1", 16> | nn::gelu | nn::linear<"fc2", 4>;
constexpr auto h = input<"x", 8, 4> | ckpt<"ff", boundaries<stored>>(ff);
static_assert(an_expression<decltype(h)>);

// case: wrong-arguments-ckpt-loop-policy
// says: this is a policy of scan<T, "name", Policy>; ckpt takes save<"tag">
// shows: fact::in<cairn::fixed_string<\d+>\{"ff"\}>.*given<cairn::revolve<3> ?>
using keeping = revolve<3>;    // wrong
using keeping = save_matmuls;  // right
constexpr auto ff = nn::linear<"fc1", 16> | nn::gelu | nn::linear<"fc2", 4>;
constexpr auto h = input<"x", 8, 4> | ckpt<"ff", keeping>(ff);
static_assert(an_expression<decltype(h)>);

// case: wrong-arguments-ckpt-policy-first
// says: the name comes first in <\.\.\.> of ckpt, and policies are types
// shows: operation<cairn::fixed_string<5>\{"ckpt"\}, cairn::fact::layer>
constexpr auto ff = nn::linear<"fc1", 16> | nn::softmax | nn::linear<"fc2", 4> | nn::softmax;
constexpr auto h = input<"x", 8, 4> | ckpt<save_matmuls, "ff">(ff);  // wrong
constexpr auto h = input<"x", 8, 4> | ckpt<"ff", save_matmuls>(ff);  // right
static_assert(an_expression<decltype(h)>);

// case: wrong-arguments-ckpt-policy-value
// says: the name comes first in <\.\.\.> of ckpt, and policies are types: .* decltype\(predicate\)
// shows: operation<cairn::fixed_string<5>\{"ckpt"\}, .*lambda.*, float ?\[8\]\[4\]>
constexpr auto large = [](const saveable& v) { return v.flops > 100; };
constexpr auto ff = [](auto x) { return x | nn::linear<"fc1", 16> | nn::softmax | nn::linear<"fc2", 4>; };
constexpr auto h = ckpt<"ff", large>(ff, input<"x", 8, 4>);            // wrong
constexpr auto h = ckpt<"ff", decltype(large)>(ff, input<"x", 8, 4>);  // right
static_assert(an_expression<decltype(h)>);

// case: wrong-arguments-ckpt-policy
// says: after its name ckpt takes policies
// shows: fact::in<cairn::fixed_string<\d+>\{"ff"\}>.*given<keeps_products>
struct keeps_products {
  constexpr bool operator()(std::string_view operation) const { return operation == "matmul"; }              // wrong
  constexpr bool operator()(const saveable& v) const { return v.operation == "matmul" && v.flops == 1024; }  // right
};
constexpr auto ff = nn::linear<"fc1", 16> | nn::softmax | nn::linear<"fc2", 4> | nn::softmax;
constexpr auto h = input<"x", 8, 4> | ckpt<"ff", allow_useless, keeps_products>(ff);
static_assert(an_expression<decltype(h)>);

// case: wrong-arguments-generated-output
// says: generated<2, 3>\(f\) takes a function that captures nothing
// shows: fact::extents<8>
constexpr auto weights = generated<8>([](auto) {});               // wrong
constexpr auto weights = generated<8>([](auto i) { return i; });  // right
constexpr auto loss = mean(square(param<"w", 8>));
static_assert(detail::checked<outputs(loss, weights)>());

// case: wrong-arguments-get-in-block
// says: std::get takes values apart
// shows: fact::in<cairn::fixed_string<6>\{"first"\}>.*fact::operation<cairn::fixed_string<4>\{"get"\}, float ?\[4\]\[8\]>
constexpr auto first = layer([](auto x) { return std::get<1>(x | nn::linear<"fc", 8>); });  // wrong
constexpr auto first = layer([](auto x) { return x | nn::linear<"fc", 8>; });               // right
constexpr auto out = input<"x", 4, 6> | block<"first">(first);
static_assert(an_expression<decltype(out)>);

// case: wrong-arguments-optimizer-rounded
// says: an optimizer changes floats, and parameters of mixed<bf16, stochastic_rounding>
// shows: given<cairn::bf16>
#include "cairn/cairn.hpp"
constexpr auto loss = sum(input<"x", 8, 4> | nn::linear<"fc", 3>);
using trained = program<loss, mixed<bf16, stochastic_rounding>>;  // wrong
using trained = program<loss, mixed<bf16>>;                       // right

void train(trained& step) {
  adamw optimizer{step, {.lr = 1e-3}};
  step.value_and_grad(bind<"x">(std::array<float, 32>{}));
  optimizer.update();
}

// case: wrong-arguments-optimizer-rule
// says: a rule is an object with lr, moments, numbers\(lr, step\), and a static next\(p, g, numbers\.\.\.
// shows: fact::given<descent>
#include "cairn/cairn.hpp"
constexpr auto loss = mean(square(param<"w", 8, 4>));
struct descent {
  double lr = 1e-3;
  static constexpr std::array<std::string_view, 0> moments{};
  constexpr std::array<double, 1> numbers(double rate, std::int64_t) const { return {rate}; }
  static constexpr auto next(auto p, auto g) { return std::tuple{p - 0.1_c * g}; }            // wrong
  static constexpr auto next(auto p, auto g, auto rate) { return std::tuple{p - rate * g}; }  // right
};

int main() {
  program<loss> step;
  step.init(seed{1});
  rule_optimizer rule{step, descent{}};
  const float value = step.value_and_grad();
  rule.lr(0.1);
  rule.update();
  return value > 0 ? 0 : 1;
}

// case: wrong-arguments-path
// says: a program is saved to and loaded from the path of a file
// shows: fact::given<int>
#include "cairn/cairn.hpp"
#include "cairn/file/saving.hpp"
constexpr auto loss = mean(square(param<"w", 8>));

int main() {
  program<loss> step;
  step.init(seed{1});
  step.save(3);                  // wrong
  step.save("run.safetensors");  // right
  return step.value_and_grad() > 0 ? 0 : 1;
}

// case: wrong-arguments-selection
// says: behind the path, `load` takes a selection or partly
// shows: fact::given<char ?\[3\]>
#include "cairn/cairn.hpp"
#include "cairn/file/saving.hpp"
constexpr auto loss = mean(square(input<"x", 4, 8> | nn::linear<"fc", 10>));

inline void head_left_out(program<loss>& step) {
  step.load("run.safetensors", "fc");                         // wrong
  step.load("run.safetensors", selection{.except = {"fc"}});  // right
}

// case: wrong-arguments-batches-of-loop
// says: the data of train::loop are a function of the epoch that returns its batches
// shows: fact::given<.*batch_range<8
#include "cairn/cairn.hpp"
#include "cairn/data/batches.hpp"
#include "cairn/train/loop.hpp"
using trainer = program<mean(square(param<"w", 8>))>;
constexpr auto go = [](double, const auto&) { return 0.5F; };

inline void run_all(train::loop<trainer>& run, const data::dataset& set) {
  run(data::batches<8>(set), go);                                             // wrong
  run([&](int epoch) { return data::batches<8>(set, seed{1}, epoch); }, go);  // right
}

// case: wrong-arguments-batches-of-loop-epoch
// says: the data of train::loop are a function of the epoch that returns its batches
// shows: fact::given<.*lambda
#include "cairn/cairn.hpp"
#include "cairn/train/loop.hpp"
using trainer = program<mean(square(param<"w", 8>))>;
constexpr auto batches = [] { return std::vector{1, 2}; };       // wrong
constexpr auto batches = [](int) { return std::vector{1, 2}; };  // right
constexpr auto go = [](double, int) { return 0.5F; };

inline void run_all(train::loop<trainer>& run) { run(batches, go); }

// case: wrong-arguments-step-of-loop
// says: a training step of train::loop is a function of the rate and the batch, and returns the loss alone
// shows: fact::given<void>
#include "cairn/cairn.hpp"
#include "cairn/train/loop.hpp"
using trainer = program<mean(square(param<"w", 8>))>;
constexpr auto batches = [](int) { return std::vector{1, 2}; };
constexpr auto go = [](double, int) {};                // wrong
constexpr auto go = [](double, int) { return 0.5F; };  // right

inline void run_all(train::loop<trainer>& run) { run(batches, go); }

// case: wrong-arguments-step-of-loop-rate
// says: a training step of train::loop is a function of the rate and the batch, and returns the loss alone
// shows: fact::given<.*lambda
#include "cairn/cairn.hpp"
#include "cairn/train/loop.hpp"
using trainer = program<mean(square(param<"w", 8>))>;
constexpr auto batches = [](int) { return std::vector{1, 2}; };
constexpr auto go = [](int) { return 0.5F; };          // wrong
constexpr auto go = [](double, int) { return 0.5F; };  // right

inline void run_all(train::loop<trainer>& run) { run(batches, go); }

// case: wrong-arguments-validation-of-loop
// says: the validation of train::loop is a function without arguments that returns one number
// shows: fact::given<.*lambda
#include "cairn/cairn.hpp"
#include "cairn/train/loop.hpp"
using trainer = program<mean(square(param<"w", 8>))>;
constexpr auto batches = [](int) { return std::vector{1, 2}; };
constexpr auto go = [](double, int) { return 0.5F; };
constexpr auto validate = [](int) { return 0.5; };  // wrong
constexpr auto validate = [] { return 0.5; };       // right

inline void run_all(train::loop<trainer>& run) { run(batches, go, validate); }

// case: wrong-arguments-validation-of-loop-result
// says: the validation of train::loop is a function without arguments that returns one number
// shows: fact::given<.*lambda
#include "cairn/cairn.hpp"
#include "cairn/train/loop.hpp"
using trainer = program<mean(square(param<"w", 8>))>;
constexpr auto batches = [](int) { return std::vector{1, 2}; };
constexpr auto go = [](double, int) { return 0.5F; };
constexpr auto validate = [] {};               // wrong
constexpr auto validate = [] { return 0.5; };  // right

inline void run_all(train::loop<trainer>& run) { run(batches, go, validate); }

// case: wrong-arguments-program-copied
// says: a program is not a copy of another
#include "cairn/cairn.hpp"
constexpr auto net = input<"x", 4, 8> | nn::linear<"fc", 10>;
constexpr auto loss = mean(square(net));

inline void both() {
  program<loss> step;
  program<loss> second{step};   // wrong
  predictor<net> second{step};  // right
}

// case: wrong-arguments-program-of-program
// says: these programs share no memory, because no parameter or state has the same name in both
#include "cairn/cairn.hpp"
template <fixed_string Name>
constexpr auto loss = mean(square(input<"x", 4, 8> | nn::linear<Name, 10>));
template <fixed_string Name>
constexpr auto other = mean(input<"x", 4, 8> | nn::linear<Name, 10>);

inline void both() {
  program<loss<"fc">> step;
  program<other<"head">> second{step};  // wrong
  program<other<"fc">> second{step};    // right
}

// case: wrong-arguments-rule-moments
// says: moments of a rule are saved by their names, which differ and are not empty
// shows: fact::given<twice>
constexpr auto loss = sum(square(input<"x", 4> * param<"w", 4>));
struct twice {
  double lr = 1e-3;
  static constexpr std::array<std::string_view, 2> moments{"mean", "mean"};          // wrong
  static constexpr std::array<std::string_view, 2> moments{"mean", "mean_of_mean"};  // right
  constexpr std::array<double, 1> numbers(double rate, std::int64_t) const { return {rate}; }
  static constexpr auto next(auto p, auto g, auto rate, auto m, auto n) { return std::tuple{p - rate * g, g, n + m}; }
};
static_assert(detail::checked<loss, update<twice{}>>());

// case: wrong-arguments-rule-of-tensors
// says: next of a rule with whole_tensor returns a tuple with a value for the parameter and for each moment
// shows: fact::parameter<(cairn::)?fixed_string<2>\{"w"\}>
// shows: fact::given<normalized>
constexpr auto loss = sum(square(input<"x", 4> * param<"w", 4>));
struct normalized {
  double lr = 1e-3;
  static constexpr bool whole_tensor = true;
  static constexpr std::array<std::string_view, 0> moments{};
  constexpr std::array<double, 1> numbers(double rate, std::int64_t) const { return {rate}; }
  static constexpr auto next(auto p, auto g, auto rate) {
    return std::tuple{rate * sum(square(g)) - sum(p)};  // wrong
    return std::tuple{p - rate * g * sum(square(g))};   // right
  }
};
static_assert(detail::checked<loss, update<normalized{}>>());

// case: wrong-arguments-rule-of-matrices
// says: this rule is not for parameters of this shape: Muon takes two axes; give this another
// shows: fact::parameter<(cairn::)?fixed_string<8>\{"fc\.bias"\}>
// shows: fact::given<cairn::muon_options>
constexpr auto h = mean(square(input<"x", 8, 4> | nn::linear<"fc", 2>));
static_assert(detail::checked<h, update<muon_options{}>>());                                    // wrong
static_assert(detail::checked<h, update<sgd_options{}>, update<muon_options{}, "fc.weight">>());  // right

// case: wrong-arguments-rule-of-tensors-beside
// says: an optimizer changes one number of the parameters at a time, and this rule reads whole tensors; write update<
// shows: fact::given<cairn::lamb_options>
#include "cairn/cairn.hpp"
constexpr auto loss = mean(square(param<"w", 8>));

int main() {
  program<loss> step;
  rule_optimizer rule{step, lamb_options{}};   // wrong
  rule_optimizer rule{step, adamw_options{}};  // right
  rule.update();
}

// case: wrong-arguments-rule-numbers
// says: parameter, gradient, numbers, moments and the limit of clip are at most 16
#include "cairn/cairn.hpp"
constexpr int count = 15;  // wrong
constexpr int count = 14;  // right
struct many_numbers {
  double lr = 0.1;
  static constexpr std::array<std::string_view, 0> moments{};
  constexpr std::array<double, count> numbers(double rate, std::int64_t) const { return {rate}; }
  static constexpr auto next(auto p, auto g, auto rate, auto...) { return std::tuple{p - rate * g}; }
};
constexpr auto loss = mean(square(param<"w", 8>));
static_assert(program<loss, update<many_numbers{}>>::memory().gradient_bytes == 0);

// case: wrong-arguments-scan-name
// says: ckpt, block, repeat and scan take a name in <\.\.\.>: ckpt<"name">\(layer\)
constexpr auto body = [](auto h) { return tanh(h * param<"w", 5>); };
[[maybe_unused]] constexpr auto h = scan<10>(body, carried(input<"h0", 4, 5>));          // wrong
[[maybe_unused]] constexpr auto h = scan<10, "step">(body, carried(input<"h0", 4, 5>));  // right

// case: wrong-arguments-scan-order
// says: scan takes a function, and values in this order
constexpr auto body = [](auto h, auto x) { return tanh(h * param<"w", 5> + x); };
[[maybe_unused]] constexpr auto h = scan<10, "step">(body, each(input<"x", 10, 5>), carried(input<"h0", 5>));  // wrong
[[maybe_unused]] constexpr auto h = scan<10, "step">(body, carried(input<"h0", 5>), each(input<"x", 10, 5>));  // right

// case: wrong-arguments-scan-policy
// says: the policy of scan<T, "name", Policy> is store_all, segment_every<P>, revolve<S>, two_level<P, S> or fit<Bytes>
// shows: fact::in<cairn::fixed_string<5>\{"step"\}>
constexpr auto body = [](auto h) { return tanh(h * param<"w", 5>); };
[[maybe_unused]] constexpr auto h = scan<10, "step", save_nothing>(body, carried(input<"h0", 4, 5>));  // wrong
[[maybe_unused]] constexpr auto h = scan<10, "step", store_all>(body, carried(input<"h0", 4, 5>));     // right

// case: wrong-arguments-scan-steps
// says: scan<T, "name"> runs its body T times; T is at least 1
// shows: fact::in<cairn::fixed_string<5>\{"step"\}>
constexpr auto body = [](auto h) { return tanh(h * param<"w", 5>); };
[[maybe_unused]] constexpr auto h = scan<0, "step">(body, carried(input<"h0", 4, 5>));  // wrong
[[maybe_unused]] constexpr auto h = scan<1, "step">(body, carried(input<"h0", 4, 5>));  // right

// case: wrong-arguments-scan
// says: scan takes a function, and values in this order
constexpr auto body = [](auto h) { return tanh(h * param<"w", 5>); };
[[maybe_unused]] constexpr auto h = scan<10, "step">(body, input<"h0", 4, 5>);           // wrong
[[maybe_unused]] constexpr auto h = scan<10, "step">(body, carried(input<"h0", 4, 5>));  // right

// case: wrong-arguments-softmax
// says: this function goes along one axis; reshape several axes into one before
// shows: operation<cairn::fixed_string<8>\{"softmax"\}, float ?\[4\]\[8\]>
constexpr auto x = input<"x", 4, 8>;
constexpr auto p = softmax<0, 1>(x);                        // wrong
constexpr auto p = reshape<4, 8>(softmax(reshape<32>(x)));  // right
static_assert(an_expression<decltype(p)>);

// case: wrong-arguments-states
// says: a recurrent layer takes its input alone, or with each of its states
// shows: fact::in<cairn::fixed_string<5>\{"cell"\}>
// shows: operation<cairn::fixed_string<5>\{"lstm"\}, float ?\[8\]\[3\], float ?\[8\]\[4\]>
constexpr auto x = input<"x", 8, 3>;
constexpr auto h = input<"h", 8, 4>;
constexpr auto both = nn::lstm_cell<"cell", 4>(x, h);     // wrong
constexpr auto both = nn::lstm_cell<"cell", 4>(x, h, h);  // right
[[maybe_unused]] constexpr auto next = std::get<1>(both);

// case: wrong-arguments-tied-head
// says: tied_linear takes the weight of another layer by its full name, which starts with /
// shows: fact::parameter<cairn::fixed_string<11>\{"wte.weight"\}>
constexpr auto h = arange<8> | nn::embedding<"wte", 4>;
constexpr auto y = labels<"y", 8, 8>;
constexpr auto decoded = nn::tied_linear_cross_entropy<"wte.weight", 8>(h, y);   // wrong
constexpr auto decoded = nn::tied_linear_cross_entropy<"/wte.weight", 8>(h, y);  // right
static_assert(an_expression<decltype(decoded)>);

// case: wrong-arguments-tied-linear
// says: tied_linear takes the weight of another layer by its full name, which starts with /
// shows: fact::in<cairn::fixed_string<2>\{"d"\}>, cairn::fact::parameter<cairn::fixed_string<11>\{"wte.weight"\}>
constexpr auto h = arange<8> | nn::embedding<"wte", 4>;
constexpr auto decoded = h | block<"d">(nn::tied_linear<"wte.weight", 8>);   // wrong
constexpr auto decoded = h | block<"d">(nn::tied_linear<"/wte.weight", 8>);  // right
static_assert(an_expression<decltype(decoded)>);

// case: wrong-arguments-triplet-loss
// says: this takes three arguments: triplet_loss\(anchor, positive, negative\)
// shows: operation<cairn::fixed_string<13>\{"triplet_loss"\}, float ?\[8\]\[4\], float ?\[8\]\[4\]>
constexpr auto anchor = input<"anchor", 8, 4>;
constexpr auto loss = triplet_loss(anchor, sin(anchor));               // wrong
constexpr auto loss = triplet_loss(anchor, sin(anchor), cos(anchor));  // right
static_assert(an_expression<decltype(loss)>);

// case: wrong-arguments-truth-in-condition
// says: if, \?:, && and ! ask for a value, and an expression has none.*write where\(x > 0_c, a, b\)
constexpr auto leaky = layer([](auto v) {                                             // wrong
  auto slope = 1_c;                                                                   // wrong
  if (v > 0_c) slope = 1_c;                                                           // wrong
  return v * slope;                                                                   // wrong
});                                                                                   // wrong
constexpr auto leaky = layer([](auto v) { return v * where(v > 0_c, 1_c, 0.1_c); });  // right
constexpr auto out = input<"x", 4, 6> | nn::linear<"fc", 8> | leaky;
static_assert(an_expression<decltype(out)>);

// case: wrong-arguments-tuple
// says: several values stand where one expression is needed.*std::get<0>\(values\)
// shows: operation<cairn::fixed_string<8>\{"reshape"\}, std::tuple<float ?\[4\]\[8\], float ?\[3\]\[4\]\[8\]> ?>
constexpr auto step = [](auto h) { return std::tuple{tanh(h), h}; };
constexpr auto values = scan<3, "step">(step, carried(input<"x", 4, 8>));
[[maybe_unused]] constexpr auto flat = reshape<32>(values);               // wrong
[[maybe_unused]] constexpr auto flat = reshape<32>(std::get<0>(values));  // right

// case: wrong-arguments-tuple-output
// says: several values stand where one expression is needed.*std::get<0>\(values\)
constexpr auto step = [](auto h) { return std::tuple{tanh(h), h}; };
constexpr auto values = scan<3, "step">(step, carried(input<"x", 4, 8>));
[[maybe_unused]] constexpr auto results = outputs(sum(param<"w", 4>), values);               // wrong
[[maybe_unused]] constexpr auto results = outputs(sum(param<"w", 4>), std::get<1>(values));  // right

// case: wrong-arguments-update
// says: a rule is an object with lr, moments, numbers\(lr, step\)
// shows: fact::given<double>
constexpr auto loss = sum(square(input<"x", 4> * param<"w", 4> + param<"b", 4>));
static_assert(detail::checked<loss, update<0.1>>());                     // wrong
static_assert(detail::checked<loss, update<sgd_options{.lr = 0.1}>>());  // right

// shared: a step with an optimizer, which lacks the call
#include "cairn/cairn.hpp"

constexpr auto x = input<"x", 8, 16>;
constexpr auto y = labels<"y", 4, 8>;
constexpr auto model = nn::linear<"in", 16> | nn::relu | nn::linear<"head", 4>;
constexpr auto loss = cross_entropy(x | model, y);

int main() {
  program<loss> step;
  step.init(seed{1});
  sgd optimizer{step, {.lr = 0.1}};
  const std::vector<float> xs(8 * 16);
  const std::vector<int> ys(8);
  // here
  optimizer.update();
  return l > 0 ? 0 : 1;
}

// case: wrong-arguments-array
// says: an array enters under the name of an input, a template argument; write bind<"x">\(array\)
// shows: fact::given<std::vector<float
  const float l = step.value_and_grad(xs, ys);                        // wrong
  const float l = step.value_and_grad(bind<"x">(xs), bind<"y">(ys));  // right

// case: wrong-arguments-bind-bool
// says: bind takes elements that lie side by side
// shows: fact::given<std::vector<bool
  const std::vector<bool> mask(8 * 16);
  const float l = step.value_and_grad(bind<"x">(mask), bind<"y">(ys));  // wrong
  const float l = step.value_and_grad(bind<"x">(xs), bind<"y">(ys));    // right
  static_cast<void>(mask);                                              // right

// case: wrong-arguments-bind-rows
// says: bind takes elements that lie side by side
// shows: fact::expected<float>, cairn::fact::got<std::vector<float
  const std::vector<std::vector<float>> rows(8, std::vector<float>(16));
  const float l = step.value_and_grad(bind<"x">(rows), bind<"y">(ys));  // wrong
  const float l = step.value_and_grad(bind<"x">(xs), bind<"y">(ys));    // right
  static_cast<void>(rows);                                              // right

// case: wrong-arguments-bind-expression
// says: bind takes elements that lie side by side
// shows: fact::given<float ?\[8\]\[16\]
  const float l = step.value_and_grad(bind<"x">(x), bind<"y">(ys));   // wrong
  const float l = step.value_and_grad(bind<"x">(xs), bind<"y">(ys));  // right

// case: wrong-arguments-bind-leaf
// says: an array enters under the name of an input, a template argument; write bind<"x">\(array\)
// shows: operation<cairn::fixed_string<5>\{"bind"\}
  const float l = step.value_and_grad(bind<x>(xs), bind<y>(ys));      // wrong
  const float l = step.value_and_grad(bind<"x">(xs), bind<"y">(ys));  // right

// case: wrong-arguments-bind-name
// says: an array enters under the name of an input, a template argument; write bind<"x">\(array\)
// shows: operation<cairn::fixed_string<5>\{"bind"\}
  const float l = step.value_and_grad(bind("x", xs), bind("y", ys));  // wrong
  const float l = step.value_and_grad(bind<"x">(xs), bind<"y">(ys));  // right

// case: wrong-arguments-bind-pointer
// says: bind takes elements that lie side by side
// shows: fact::input<cairn::fixed_string<2>\{"x"\}>
// shows: fact::given<const float ?\*>
  const float l = step.value_and_grad(bind<"x">(xs.data()), bind<"y">(ys));  // wrong
  const float l = step.value_and_grad(bind<"x">(xs), bind<"y">(ys));         // right

// shared: a batch, and views of other libraries
#include "cairn/cairn.hpp"
#include "cairn/eigen.hpp"
#include "cairn/xtensor.hpp"

#include <vector>

// case: wrong-arguments-eigen-axes
// says: as_xtensor, as_mdspan and as_eigen take a view whose shape is a constant, and as_eigen one of at most two axes
// shows: given<cairn::static_view<float, ?cairn::shape ?\{3, .*4, 2, 2
std::vector<float> filters(16);
const auto view = static_view_of<shape(4, 2, 2)>(filters);  // wrong
const auto view = static_view_of<shape(4, 4)>(filters);     // right
const auto sum = as_eigen(view).sum();

// case: wrong-arguments-xtensor-batch
// says: as_xtensor, as_mdspan and as_eigen take a view whose shape is a constant
// shows: given<cairn::tensor_view<const float, 2(ul)?> ?>
inline float first(const data::batch<8>& batch) {
  return as_xtensor(batch.images)(0, 0);                              // wrong
  return as_xtensor(static_view_of<shape(8, 784)>(batch.images))(0);  // right
}

// shared: a step with a predictor, which lacks the optimizer
#include "cairn/cairn.hpp"

constexpr auto x = input<"x", 8, 16>;
constexpr auto y = labels<"y", 4, 8>;
constexpr auto logits = x | nn::linear<"in", 16> | nn::relu | nn::linear<"head", 4>;
constexpr auto loss = cross_entropy(logits, y);

int main() {
  program<loss> step;
  predictor<logits> predict{step};
  step.init(seed{1});
  // here
  const std::vector<float> xs(8 * 16);
  const std::vector<int> ys(8);
  const float l = step.value_and_grad(bind<"x">(xs), bind<"y">(ys));
  optimizer.update();
  return l > predict(bind<"x">(xs))(0, 0) ? 0 : 1;
}

// case: wrong-arguments-optimizer-double
// says: an optimizer updates a program<\.\.\.> of its own element type
// shows: operation<cairn::fixed_string<10>\{"optimizer"\}, double>
  sgd<double> optimizer{step, {.lr = 0.1}};  // wrong
  sgd<float> optimizer{step, {.lr = 0.1}};   // right

// case: wrong-arguments-optimizer-predictor
// says: an optimizer updates a program<\.\.\.> of its own element type
  sgd optimizer{predict, {.lr = 0.1}};  // wrong
  sgd optimizer{step, {.lr = 0.1}};     // right

// case: wrong-arguments-optimizer-rate
// says: an optimizer takes its program, and options in braces: sgd optimizer\{step, \{\.lr = 0\.1\}\}
// shows: fact::given<double>
  adamw optimizer{step, 0.1};          // wrong
  adamw optimizer{step, {.lr = 0.1}};  // right

// shared: a layer in a deep model, which lacks its result
constexpr auto gate = layer([](auto h) {
  // here
});
constexpr auto unit = block<"mlp">(nn::linear<"up", 16> | gate);
constexpr auto model = repeat<12, "block">([](auto) { return ckpt<"seg">(unit); }) | nn::linear<"head", 4>;
constexpr auto loss = cross_entropy(input<"x", 8, 16> | model, labels<"y", 4, 8>);
static_assert(an_expression<decltype(loss)>);

// case: wrong-arguments-axis
// says: axes and extents are template arguments: sum<-1>\(x\)
// shows: fact::in<cairn::fixed_string<16>\{"block\.0\.seg\.mlp"\}>
// shows: operation<cairn::fixed_string<4>\{"sum"\}, float ?\[8\]\[16\], int
  return h - sum(h, -1);           // wrong
  return h - sum<-1>(h, keepdim);  // right

// case: wrong-arguments-extents
// says: axes and extents are template arguments: sum<-1>\(x\)
// shows: fact::in<cairn::fixed_string<16>\{"block\.0\.seg\.mlp"\}>
// shows: operation<cairn::fixed_string<8>\{"reshape"\}, float ?\[8\]\[16\], int, int
  return reshape<8, 16>(exp(reshape(h, 4, 32)));  // wrong
  return reshape<8, 16>(exp(reshape<4, 32>(h)));  // right

// case: wrong-arguments-layer-called
// says: a layer stands where an expression is needed; apply it: x \| layer, or layer\(x\)
// shows: operation<cairn::fixed_string<5>\{"relu"\}, cairn::fact::layer
  return h * relu(nn::sigmoid);  // wrong
  return h * relu(sigmoid(h));   // right

// case: wrong-arguments-layer-in-body
// says: a layer stands where an expression is needed; apply it: x \| layer, or layer\(x\)
// shows: fact::in<cairn::fixed_string<16>\{"block\.0\.seg\.mlp"\}>
// shows: operation<cairn::fixed_string<4>\{"add"\}, float ?\[8\]\[16\], cairn::fact::layer
  return h + nn::relu;  // wrong
  return h + relu(h);   // right

// case: wrong-arguments-pipe-in-body
// says: to the right of \| stands a layer, not an expression; write x \| layer
// shows: fact::in<cairn::fixed_string<16>\{"block\.0\.seg\.mlp"\}>
// shows: operation<cairn::fixed_string<2>\{"\|"\}, cairn::fact::layer, float ?\[8\]\[16\]
  return nn::sigmoid | h;  // wrong
  return h | nn::sigmoid;  // right

// shared: an update rule, which lacks its `next`
constexpr auto loss = sum(square(input<"x", 4> * param<"w", 4>));

struct descent {
  double lr = 1e-3;
  static constexpr std::array<std::string_view, 0> moments{};
  constexpr std::array<double, 1> numbers(double rate, std::int64_t) const { return {rate}; }
  // here
};
static_assert(detail::checked<loss, update<descent{}>>());

// case: wrong-arguments-rule-count
// says: a rule is an object with lr, moments, numbers\(lr, step\), and a static next\(p, g, numbers\.\.\.
// shows: fact::given<descent>
  static constexpr auto next(auto p, auto g) { return std::tuple{p - 0.1_c * g}; }            // wrong
  static constexpr auto next(auto p, auto g, auto rate) { return std::tuple{p - rate * g}; }  // right

// case: wrong-arguments-rule-lacks
// says: a rule is an object with lr, moments, numbers\(lr, step\), and a static next\(p, g, numbers\.\.\.
// shows: fact::given<descent>
  static constexpr auto step(auto p, auto g, auto rate) { return std::tuple{p - rate * g}; }  // wrong
  static constexpr auto next(auto p, auto g, auto rate) { return std::tuple{p - rate * g}; }  // right

// case: wrong-arguments-rule-sum
// says: a rule is an object with lr, moments, numbers\(lr, step\), and a static next\(p, g, numbers\.\.\.
// shows: fact::given<descent>
  static constexpr auto next(auto p, auto g, auto rate) {                                           // wrong
    return std::tuple{p - rate * g / sqrt(sum(square(g)))};                                         // wrong
  }                                                                                                 // wrong
  static constexpr auto next(auto p, auto g, auto rate) { return std::tuple{p - rate * sign(g)}; }  // right

// case: wrong-arguments-rule-tuple
// says: a rule is an object with lr, moments, numbers\(lr, step\), and a static next\(p, g, numbers\.\.\.
// shows: fact::given<descent>
  static constexpr auto next(auto p, auto g, auto rate) { return p - rate * g; }              // wrong
  static constexpr auto next(auto p, auto g, auto rate) { return std::tuple{p - rate * g}; }  // right

// shared: a model and its labels, for programs
#include "cairn/cairn.hpp"

constexpr auto x = input<"x", 8, 16>;
constexpr auto y = labels<"y", 4, 8>;
constexpr auto model = nn::linear<"in", 16> | nn::relu | nn::linear<"head", 4>;

// case: wrong-arguments-layer
// says: a layer stands where an expression is needed; apply it: x \| layer, or layer\(x\)
// shows: operation<cairn::fixed_string<14>\{"cross_entropy"\}, cairn::fact::layer, int ?\[8\]
constexpr auto loss = cross_entropy(model, y);      // wrong
constexpr auto loss = cross_entropy(x | model, y);  // right
// The program is made of the mistake, and it adds no second error.
int main() {
  program<loss> step;
  step.init(seed{1});
  adamw optimizer{step, {.lr = 0.1}};
  const std::vector<float> xs(8 * 16);
  const std::vector<int> ys(8);
  const float l = step.value_and_grad(bind<"x">(xs), bind<"y">(ys));
  optimizer.update();
  const auto w = step.param<"in.weight">();
  return l > 0 && w.size() > 0 ? 0 : 1;
}

// case: wrong-arguments-outputs
// says: a layer stands where an expression is needed; apply it: x \| layer, or layer\(x\)
// shows: operation<cairn::fixed_string<8>\{"outputs"\}, float, cairn::fact::layer
constexpr auto loss = cross_entropy(x | model, y);
constexpr auto results = outputs(loss, model);     // wrong
constexpr auto results = outputs(loss, model(x));  // right

int main() {
  program<results> step;
  step.init(seed{1});
  const std::vector<float> xs(8 * 16);
  const std::vector<int> ys(8);
  auto [l, logits] = step.value_and_grad(bind<"x">(xs), bind<"y">(ys));
  static_cast<void>(logits);
  return l > 0 ? 0 : 1;
}

// case: wrong-arguments-predictor
// says: a layer stands where an expression is needed; apply it: x \| layer, or layer\(x\)
// shows: fact::given<cairn::fact::layer>
constexpr auto logits = x | model;
constexpr auto loss = cross_entropy(logits, y);

int main() {
  program<loss> step;
  predictor<model> predict{step};   // wrong
  predictor<logits> predict{step};  // right
  step.init(seed{1});
  const std::vector<float> xs(8 * 16);
  const auto result = predict(bind<"x">(xs));
  return result.size() > 0 ? 0 : 1;
}

// case: wrong-arguments-program
// says: a layer stands where an expression is needed; apply it: x \| layer, or layer\(x\)
// shows: fact::given<cairn::fact::layer>
constexpr auto loss = cross_entropy(x | model, y);

int main() {
  program<model> step;  // wrong
  program<loss> step;   // right
  step.init(seed{1});
  sgd optimizer{step, {.lr = 0.1}};
  const std::vector<float> xs(8 * 16);
  const std::vector<int> ys(8);
  const float l = step.value_and_grad(bind<"x">(xs), bind<"y">(ys));
  optimizer.update();
  return l > 0 ? 0 : 1;
}

// shared: a program that trains itself, which lacks its steps
#include "cairn/cairn.hpp"

constexpr auto loss = mean(square(input<"x", 8, 4> | nn::linear<"fc", 2>));
const std::vector<float> x(8 * 4);

int main() {
  // here
  return value > 0 ? 0 : 1;
}

// case: wrong-arguments-train-array
// says: an array enters under the name of an input
// shows: fact::given<std::vector<float
  program<loss, update<adamw_options{}>> step;
  step.init(seed{1});
  const float value = step.train(x);             // wrong
  const float value = step.train(bind<"x">(x));  // right

// case: wrong-arguments-train-last
// says: train takes the learning rate first, in braces
// shows: fact::given<cairn::train_options>
  program<loss, update<sgd_options{}>> step;
  step.init(seed{1});
  const float value = step.train(bind<"x">(x), train_options{.lr = 1e-3});  // wrong
  const float value = step.train(train_options{.lr = 1e-3}, bind<"x">(x));  // right

// case: wrong-arguments-train-rate
// says: train takes the learning rate first, in braces
// shows: fact::given<double>
  program<loss, update<adamw_options{}>> step;
  step.init(seed{1});
  const float value = step.train(1e-3, bind<"x">(x));          // wrong
  const float value = step.train({.lr = 1e-3}, bind<"x">(x));  // right

// shared: programs that divide their batch, which lack their steps
#include "cairn/cairn.hpp"

constexpr auto loss = mean(square(input<"x", 8, 4> | nn::linear<"fc", 2>));
const std::vector<float> x(8 * 4);

int main() {
  program<loss, microbatch<4>> step;
  program<loss, microbatch<up_to<4>>> varied;
  program<loss> whole;
  step.init(seed{1});
  varied.init(seed{1});
  whole.init(seed{1});
  // here
  return value > 0 ? 0 : 1;
}

// case: wrong-arguments-callback
// says: a callback, not mutable, gets the number of a microbatch and returns inputs
// shows: fact::returned<
  const float value = step.value_and_grad([](int) { return bind<"x">(x); });          // wrong
  const float value = step.value_and_grad([](int) { return inputs(bind<"x">(x)); });  // right

// case: wrong-arguments-callback-nothing
// says: a callback, not mutable, gets the number of a microbatch and returns inputs
// shows: fact::returned<void
  const float value = step.value_and_grad([](int) { inputs(bind<"x">(x)); });         // wrong
  const float value = step.value_and_grad([](int) { return inputs(bind<"x">(x)); });  // right

// case: wrong-arguments-callback-parts
// says: .* with microbatch<up_to<N>> it follows parts\{n\}
// shows: fact::arguments<
  const float value = varied.value_and_grad([](int) { return inputs(bind<"x">(x)); });            // wrong
  const float value = varied.value_and_grad(parts{3}, [](int) { return inputs(bind<"x">(x)); });  // right

// case: wrong-arguments-callback-parts-first
// says: .* with microbatch<up_to<N>> it follows parts\{n\}
// shows: fact::arguments<
  const float value = varied.value_and_grad([](int) { return inputs(bind<"x">(x)); }, parts{3});  // wrong
  const float value = varied.value_and_grad(parts{3}, [](int) { return inputs(bind<"x">(x)); });  // right

// case: wrong-arguments-callback-with-parts
// says: a callback, not mutable, gets the number of a microbatch and returns inputs
// shows: fact::arguments<
  const float value = step.value_and_grad(parts{4}, [](int) { return inputs(bind<"x">(x)); });  // wrong
  const float value = step.value_and_grad([](int) { return inputs(bind<"x">(x)); });            // right

// case: wrong-arguments-callback-next-to-array
// says: a callback, not mutable, gets the number of a microbatch and returns inputs
// shows: fact::arguments<
  const auto arrays = [](int) { return inputs(); };                                   // wrong
  const float value = step.value_and_grad(bind<"x">(x), arrays);                      // wrong
  const float value = step.value_and_grad([](int) { return inputs(bind<"x">(x)); });  // right

// case: wrong-arguments-callback-of-nothing
// says: a callback, not mutable, gets the number of a microbatch and returns inputs
// shows: fact::arguments<
  const float value = step.value_and_grad([] { return inputs(bind<"x">(x)); });       // wrong
  const float value = step.value_and_grad([](int) { return inputs(bind<"x">(x)); });  // right

// case: wrong-arguments-callback-of-whole
// says: a callback or parts\{n\} gives a batch in parts, and this program takes the whole batch
// shows: fact::arguments<
  const float value = whole.value_and_grad([](int) { return inputs(bind<"x">(x)); });  // wrong
  const float value = whole.value_and_grad(bind<"x">(x));                              // right

// case: wrong-arguments-parts-with-arrays
// says: the length of the bound arrays says in how many parts the batch is.*leave parts\{n\} out
// shows: fact::arguments<
  const float value = varied.value_and_grad(parts{2}, bind<"x">(x));  // wrong
  const float value = varied.value_and_grad(bind<"x">(x));            // right

// case: wrong-arguments-parts-of-whole
// says: a callback or parts\{n\} gives a batch in parts, and this program takes the whole batch
// shows: fact::arguments<
  const float value = whole.value_and_grad(parts{4}, bind<"x">(x));  // wrong
  const float value = whole.value_and_grad(bind<"x">(x));            // right

// case: wrong-arguments-callback-mutable
// says: a callback, not mutable, gets the number of a microbatch and returns inputs
  int calls = 0;
  const float value = step.value_and_grad([calls](int) mutable { return ++calls, inputs(bind<"x">(x)); });  // wrong
  const float value = step.value_and_grad([&calls](int) { return ++calls, inputs(bind<"x">(x)); });         // right

// shared: an input
constexpr auto x = input<"x", 8, 16>;
// here
static_assert(an_expression<decltype(y)>);

// case: wrong-arguments-ckpt-option
// says: this is an option of a program, as in program<loss, plain>; a part that is no segment is a block
// shows: given<cairn::plain>
constexpr auto y = x | ckpt<"a", plain>(nn::linear<"fc", 4> | nn::relu);  // wrong
constexpr auto y = x | block<"a">(nn::linear<"fc", 4> | nn::relu);        // right

// case: wrong-arguments-grad-name
// says: grad takes expressions, not their names: grad\(loss, x\)
constexpr auto loss = mean(tanh(x));
constexpr auto y = grad(loss, "x");  // wrong
constexpr auto y = grad(loss, x);    // right

// case: wrong-arguments-pipe-function-layer
// says: to the right of \| stands a layer, not a function; write x \| nn::relu
constexpr auto unit = nn::linear<"fc1", 4> | softmax | nn::linear<"fc2", 4>;      // wrong
constexpr auto unit = nn::linear<"fc1", 4> | nn::softmax | nn::linear<"fc2", 4>;  // right
constexpr auto y = x | unit;

// case: wrong-arguments-pipe-function
// says: to the right of \| stands a layer, not a function; write x \| nn::relu
constexpr auto y = x | nn::linear<"fc", 4> | relu;      // wrong
constexpr auto y = x | nn::linear<"fc", 4> | nn::relu;  // right

// case: wrong-arguments-pow-exponent
// says: the exponent of pow is a constant, from -64 to 64 and not 0: .*exp\(p \* log\(x\)\)
constexpr auto a = param<"a">;
constexpr auto y = pow(x, a);                                         // wrong
constexpr auto y = pow(x, 0.5_c) + exp(a * log(x)) + pow(x, -1.7_c);  // right

// case: wrong-arguments-pow
// says: the exponent of pow is a constant, from -64 to 64 and not 0: pow\(x, 2_c\)
// shows: operation<cairn::fixed_string<4>\{"pow"\}, float ?\[8\]\[16\], int>
constexpr auto y = pow(x, 2);    // wrong
constexpr auto y = pow(x, 2_c);  // right

// shared: a loss behind a chain
// here
constexpr auto loss = cross_entropy(input<"x", 8, 16> | chain | nn::linear<"head", 4>, labels<"y", 4, 8>);
static_assert(an_expression<decltype(loss)>);

// case: wrong-arguments-sequential-empty
// says: ckpt_sequential<N> makes N segments of these layers; N is at least 1 and at most
// shows: fact::segments<1>.*fact::layers<0>
constexpr auto chain = ckpt_sequential<1>(std::make_tuple());          // wrong
constexpr auto chain = ckpt_sequential<1>(std::make_tuple(nn::relu));  // right

// case: wrong-arguments-sequential-layers
// says: ckpt_sequential<N> takes the layers of a chain in one tuple; write
// shows: operation<cairn::fixed_string<16>\{"ckpt_sequential"\}, cairn::fact::layer, cairn::fact::layer
constexpr auto first = nn::linear<"up", 32> | nn::relu;
constexpr auto second = nn::linear<"down", 16>;
constexpr auto chain = ckpt_sequential<2>(first, second);                    // wrong
constexpr auto chain = ckpt_sequential<2>(std::make_tuple(first, second));  // right

// case: wrong-arguments-sequential-many
// says: ckpt_sequential<N> makes N segments of these layers; N is at least 1 and at most
// shows: fact::segments<4>.*fact::layers<3>
constexpr auto layers = std::make_tuple(nn::linear<"up", 32>, nn::relu, nn::linear<"down", 16>);
constexpr auto chain = ckpt_sequential<4>(layers);  // wrong
constexpr auto chain = ckpt_sequential<3>(layers);  // right

// case: wrong-arguments-sequential-zero
// says: ckpt_sequential<N> makes N segments of these layers; N is at least 1 and at most
// shows: fact::in<cairn::fixed_string<6>\{"block"\}>.*fact::segments<0>.*fact::layers<3>
constexpr auto layers = std::make_tuple(nn::linear<"up", 32>, nn::relu, nn::linear<"down", 16>);
constexpr auto chain = block<"block">(ckpt_sequential<0, by_bytes>(layers));  // wrong
constexpr auto chain = block<"block">(ckpt_sequential<1, by_bytes>(layers));  // right

// shared: a loss behind a model
// here
constexpr auto loss = cross_entropy(input<"x", 8, 16> | model, labels<"y", 4, 8>);
static_assert(an_expression<decltype(loss)>);

// case: wrong-arguments-block-expression
// says: an expression stands where a layer is needed; give the layer itself
// shows: fact::in<cairn::fixed_string<12>\{"block\.0\.seg"\}>
// shows: operation<cairn::fixed_string<6>\{"block"\}, float ?\[8\]\[16\]
constexpr auto mlp = nn::linear<"up", 16> | nn::relu;
constexpr auto unit = layer([](auto h) {
  return block<"mlp">(mlp(h));  // wrong
  return block<"mlp">(mlp)(h);  // right
});
constexpr auto model = repeat<12, "block">([](auto) { return ckpt<"seg">(unit); }) | nn::linear<"head", 4>;

// case: wrong-arguments-block-name
// says: ckpt, block, repeat and scan take a name in <\.\.\.>: ckpt<"name">\(layer\)
// shows: fact::in<cairn::fixed_string<12>\{"block\.0\.seg"\}>
// shows: operation<cairn::fixed_string<6>\{"block"\}, cairn::fact::layer
constexpr auto mlp = nn::linear<"up", 16> | nn::relu;
constexpr auto unit = block(mlp);         // wrong
constexpr auto unit = block<"mlp">(mlp);  // right
constexpr auto model = repeat<12, "block">([](auto) { return ckpt<"seg">(unit); }) | nn::linear<"head", 4>;

// case: wrong-arguments-concatenate-layer
// says: a layer stands where an expression is needed; apply it: x \| layer, or layer\(x\)
// shows: operation<cairn::fixed_string<12>\{"concatenate"\}, float ?\[8\]\[16\], cairn::fact::layer
constexpr auto join = layer([](auto h) {
  return concatenate<1>(h, nn::sigmoid);  // wrong
  return concatenate<1>(h, sigmoid(h));   // right
});
constexpr auto unit = block<"mlp">(nn::linear<"up", 16> | join);
constexpr auto model = repeat<12, "block">([](auto) { return ckpt<"seg">(unit); }) | nn::linear<"head", 4>;

// case: wrong-arguments-concatenate
// says: this takes two expressions or more: concatenate<1>\(a, b\)
// shows: fact::in<cairn::fixed_string<5>\{"join"\}>
// shows: operation<cairn::fixed_string<12>\{"concatenate"\}, float ?\[8\]\[16\]>
constexpr auto join = layer([](auto h) {
  return concatenate<1>(h);           // wrong
  return concatenate<1>(h, tanh(h));  // right
});
constexpr auto model = block<"join">(join) | nn::linear<"head", 4>;

// case: wrong-arguments-slice
// says: axes and extents are template arguments: .*slice<1, 0, 4>\(x\)
// shows: fact::in<cairn::fixed_string<5>\{"half"\}>
// shows: operation<cairn::fixed_string<6>\{"slice"\}, float ?\[8\]\[16\], int, int>
constexpr auto half = layer([](auto h) {
  return slice<1>(h, 0, 8);  // wrong
  return slice<1, 0, 8>(h);  // right
});
constexpr auto model = block<"half">(half) | nn::linear<"head", 4>;

// shared: a loss behind blocks
// here
constexpr auto loss = cross_entropy(input<"x", 8, 16> | blocks | nn::linear<"head", 4>, labels<"y", 4, 8>);
static_assert(an_expression<decltype(loss)>);

// case: wrong-arguments-ckpt-name
// says: ckpt, block, repeat and scan take a name in <\.\.\.>: ckpt<"name">\(layer\)
// shows: fact::in<cairn::fixed_string<8>\{"block\.0"\}>
// shows: operation<cairn::fixed_string<5>\{"ckpt"\}, cairn::fact::layer
constexpr auto unit = block<"mlp">(nn::linear<"up", 16> | nn::relu);
constexpr auto blocks = repeat<12, "block">([](auto) {
  return ckpt(unit);         // wrong
  return ckpt<"seg">(unit);  // right
});

// case: wrong-arguments-repeat-name
// says: ckpt, block, repeat and scan take a name in <\.\.\.>: ckpt<"name">\(layer\)
// shows: operation<cairn::fixed_string<7>\{"repeat"\}
constexpr auto unit = ckpt<"seg">(nn::linear<"up", 16> | nn::relu);
constexpr auto blocks = repeat<12>([](auto) { return unit; });           // wrong
constexpr auto blocks = repeat<12, "block">([](auto) { return unit; });  // right

// case: wrong-arguments-repeat-order
// says: ckpt, block, repeat and scan take a name in <\.\.\.>: ckpt<"name">\(layer\)
// shows: operation<cairn::fixed_string<7>\{"repeat"\}, int
constexpr auto unit = ckpt<"seg">(nn::linear<"up", 16> | nn::relu);
constexpr auto blocks = repeat<"block">(12, [](auto) { return unit; });  // wrong
constexpr auto blocks = repeat<12, "block">([](auto) { return unit; });  // right

// case: wrong-arguments-repeat-zero
// says: repeat<N, "name"> applies a layer N times; N is at least 1
// shows: fact::in<cairn::fixed_string<6>\{"block"\}>
// shows: fact::iterations<0>
constexpr auto unit = ckpt<"seg">(nn::linear<"up", 16> | nn::relu);
constexpr auto blocks = repeat<0, "block">([](auto) { return unit; });  // wrong
constexpr auto blocks = repeat<1, "block">([](auto) { return unit; });  // right

// shared: the cases that make a loss
// here
static_assert(an_expression<decltype(loss)>);

// case: wrong-arguments-repeat-tuple
// says: ckpt, block and repeat take a function, then the expressions to call it with
// shows: operation<cairn::fixed_string<7>\{"repeat"\}
constexpr auto h = input<"h", 4>;
struct cells {
  constexpr auto operator()(auto) const { return nn::tanh; }
};
constexpr auto last = repeat<2, "c">(cells{}, std::tuple{h});  // wrong
constexpr auto last = repeat<2, "c">(cells{}, h);              // right
constexpr auto loss = mean(last);

// case: wrong-arguments-argmax
// says: axes and extents are template arguments
// shows: operation<cairn::fixed_string<7>\{"argmax"\}, float ?\[8\]\[2\]>
constexpr auto x = param<"x", 8, 2>;
constexpr auto y = argmax(x);      // wrong
constexpr auto y = argmax<-1>(x);  // right
constexpr auto loss = sum(one_hot(y) * x);

// case: wrong-arguments-block-order
// says: ckpt, block and repeat take a function, then the expressions to call it with
// shows: operation<cairn::fixed_string<6>\{"block"\}, float ?\[8\]\[16\], cairn::fact::layer
constexpr auto x = input<"x", 8, 16>;
constexpr auto model = nn::linear<"in", 16> | nn::relu | nn::linear<"head", 4>;
constexpr auto logits = block<"enc">(x, model);  // wrong
constexpr auto logits = block<"enc">(model, x);  // right
constexpr auto loss = cross_entropy(logits, labels<"y", 4, 8>);

// case: wrong-arguments-concatenate-axis
// says: axes and extents are template arguments
// shows: operation<cairn::fixed_string<12>\{"concatenate"\}, float ?\[8\]\[16\], float ?\[8\]\[16\], int>
constexpr auto x = input<"x", 8, 16>;
constexpr auto y = concatenate(x, exp(x), 1);  // wrong
constexpr auto y = concatenate<1>(x, exp(x));  // right
constexpr auto loss = sum(y);

// case: wrong-arguments-einsum-letter
// says: each letter of the result of einsum is a letter of an argument
// shows: operation<cairn::fixed_string<7>\{"einsum"\}, float ?\[3\]\[4\], float ?\[4\]\[6\]>
// shows: letters<cairn::fixed_string<10>\{"ij,jk->il"\}>, .*letter<'l'>
constexpr auto x = input<"x", 3, 4>;
constexpr auto y = input<"y", 4, 6>;
constexpr auto product = einsum<"ij,jk->il">(x, y);  // wrong
constexpr auto product = einsum<"ij,jk->ik">(x, y);  // right
constexpr auto loss = sum(product);

// case: wrong-arguments-einsum-twice
// says: einsum gives each axis of a tensor a letter of its own
// shows: operation<cairn::fixed_string<7>\{"einsum"\}, float ?\[4\]\[4\], float ?\[4\]\[6\]>
// shows: letters<cairn::fixed_string<10>\{"jj,jk->jk"\}>, .*letter<'j'>
constexpr auto x = input<"x", 4, 4>;
constexpr auto y = input<"y", 4, 6>;
constexpr auto product = einsum<"jj,jk->jk">(x, y);  // wrong
constexpr auto product = einsum<"ij,jk->ik">(x, y);  // right
constexpr auto loss = sum(product);

// case: wrong-arguments-einsum
// says: einsum<"bij,bjk->bik">\(a, b\) has letters alone
// shows: operation<cairn::fixed_string<7>\{"einsum"\}, float ?\[3\]\[4\], float ?\[4\]\[6\]>
// shows: letters<cairn::fixed_string<14>\{"\.\.\.j,jk->\.\.\.k"\}>
constexpr auto x = input<"x", 3, 4>;
constexpr auto y = input<"y", 4, 6>;
constexpr auto product = einsum<"...j,jk->...k">(x, y);  // wrong
constexpr auto product = einsum<"ij,jk->ik">(x, y);      // right
constexpr auto loss = sum(product);

// case: wrong-arguments-gather-axis
// says: axes and extents are template arguments
// shows: operation<cairn::fixed_string<7>\{"gather"\}, float ?\[8\]\[2\], int ?\[4\]>
constexpr auto table = param<"table", 8, 2>;
constexpr auto at = indices<"at", 8, 4>;
constexpr auto rows = gather(table, at);     // wrong
constexpr auto rows = gather<0>(table, at);  // right
constexpr auto loss = sum(rows);

// case: wrong-arguments-gather
// says: this takes two arguments:.*gather<0>\(table, indices\)
// shows: operation<cairn::fixed_string<7>\{"gather"\}, float ?\[8\]\[2\]>
constexpr auto table = param<"table", 8, 2>;
constexpr auto rows = gather<0>(table);                       // wrong
constexpr auto rows = gather<0>(table, indices<"at", 8, 4>);  // right
constexpr auto loss = sum(rows);

// case: wrong-arguments-get
// says: std::get takes values apart, and this is one value: scan and layers
// shows: fact::operation<cairn::fixed_string<4>\{"get"\}, float ?\[4\]>
constexpr auto cell = [](auto h, auto x) { return tanh(h + x); };
constexpr auto states = scan<5, "rnn">(cell, carried(zeros<4>), each(input<"xs", 5, 4>));
constexpr auto last = std::get<0>(states);  // wrong
constexpr auto last = states;               // right
constexpr auto loss = mean(last * param<"w", 4>);

// case: wrong-arguments-huber
// says: huber<delta>\(result, target\) takes a delta above 0
// shows: operation<cairn::fixed_string<6>\{"huber"\}, float ?\[8\]\[4\], float ?\[8\]\[4\]>
// shows: fact::delta<0\.0
constexpr auto x = input<"x", 8, 4>;
constexpr auto loss = huber<0>(x, tanh(x));  // wrong
constexpr auto loss = huber<2>(x, tanh(x));  // right

// case: wrong-arguments-label-smoothing-head
// says: label_smoothing is a share that all classes have alike, from 0 to 1
// shows: label_smoothing<1\.5
constexpr nn::linear_cross_entropy_options how{.label_smoothing = 1.5};  // wrong
constexpr nn::linear_cross_entropy_options how{.label_smoothing = 1};    // right
constexpr auto loss = nn::linear_cross_entropy<"head", 4, how>(input<"x", 8, 4>, labels<"y", 4, 8>);

// case: wrong-arguments-label-smoothing
// says: label_smoothing is a share that all classes have alike, from 0 to 1
// shows: operation<cairn::fixed_string<14>\{"cross_entropy"\}, float ?\[8\]\[4\], int ?\[8\]>
// shows: label_smoothing<1\.5
constexpr nn::cross_entropy_options how{.label_smoothing = 1.5};  // wrong
constexpr nn::cross_entropy_options how{.label_smoothing = 1};    // right
constexpr auto loss = cross_entropy<how>(input<"x", 8, 4>, labels<"y", 4, 8>);

// case: wrong-arguments-lora
// says: nn::lora<rank, alpha>\(layer\) takes nn::linear<"name", out> or nn::linear_without_bias
// shows: fact::given<cairn::fact::layer>
constexpr auto adapted = nn::lora<8, 16>(nn::relu);            // wrong
constexpr auto adapted = nn::lora<8, 16>(nn::linear<"q", 4>);  // right
constexpr auto loss = mean(input<"x", 8, 4> | adapted);

// case: wrong-arguments-layers
// says: a layer stands where an expression is needed; apply it: x \| layer, or layer\(x\)
// shows: operation<cairn::fixed_string<4>\{"mul"\}, float, cairn::fact::layer
constexpr auto gate = layer([](auto h) { return h * sigmoid(h); });
constexpr auto half = 0.5_c * gate;                                   // wrong
constexpr auto half = layer([](auto h) { return 0.5_c * gate(h); });  // right
constexpr auto model = nn::linear<"in", 16> | half | nn::linear<"head", 4>;
constexpr auto loss = mean(input<"x", 8, 16> | model);

// case: wrong-arguments-max
// says: max and min reduce one expression over axes.*maximum\(x, y\)
// shows: operation<cairn::fixed_string<4>\{"max"\}, float ?\[8\]\[2\], float ?\[8\]\[2\]>
constexpr auto x = param<"x", 8, 2>;
constexpr auto y = max(x, square(x));      // wrong
constexpr auto y = maximum(x, square(x));  // right
constexpr auto loss = sum(y);

// case: wrong-arguments-min-axis
// says: max and min reduce one expression over axes in <...>: max<-1>\(x\)
// shows: operation<cairn::fixed_string<4>\{"min"\}, float ?\[8\]\[2\], int>
constexpr auto x = param<"x", 8, 2>;
constexpr auto y = min(x, 1);  // wrong
constexpr auto y = min<1>(x);  // right
constexpr auto loss = sum(y);

// case: wrong-arguments-placed
// says: this takes three expressions: placed<0>\(table, index, rows\)
// shows: operation<cairn::fixed_string<7>\{"placed"\}, float ?\[8\]\[2\], float ?\[1\]\[2\]>
constexpr auto table = param<"table", 8, 2>;
constexpr auto row = param<"row", 1, 2>;
constexpr auto all = placed<0>(table, row);                       // wrong
constexpr auto all = placed<0>(table, indices<"at", 8, 1>, row);  // right
constexpr auto loss = sum(all);

// case: wrong-arguments-repeated
// says: ckpt, block and repeat take a function, then the expressions to call it with
// shows: operation<cairn::fixed_string<7>\{"repeat"\}, float ?\[4\]\[8\], float ?\[4\]\[8\],
constexpr auto a = input<"a", 4, 8>;
constexpr auto b = input<"b", 4, 8>;
constexpr auto body = [](auto) { return [](auto x, auto y) { return std::tuple{x * y, x}; }; };
constexpr auto both = repeat<4, "net">(a, b, body);  // wrong
constexpr auto both = repeat<4, "net">(body, a, b);  // right
constexpr auto loss = mean(std::get<0>(both)) + mean(std::get<1>(both));

// case: wrong-arguments-roll
// says: axes and extents are template arguments: .*slice<1, 0, 4>\(x\)
// shows: operation<cairn::fixed_string<5>\{"roll"\}, float ?\[4\]\[6\], int, int>
constexpr auto x = input<"x", 4, 6>;
constexpr auto loss = sum(roll(x, 1, 0));  // wrong
constexpr auto loss = sum(roll<0, 1>(x));  // right

// case: wrong-arguments-scatter-add-along
// says: this takes three expressions:.*scatter_add_along<0>\(table, indices, values\)
// shows: operation<cairn::fixed_string<18>\{"scatter_add_along"\}, float ?\[8\]\[2\], int ?\[4\]\[2\]>
constexpr auto x = param<"x", 8, 2>;
constexpr auto at = indices<"at", 8, 4, 2>;
constexpr auto y = scatter_add_along<0>(x, at);                     // wrong
constexpr auto y = scatter_add_along<0>(x, at, input<"v", 4, 2>);  // right
constexpr auto loss = sum(y);

// case: wrong-arguments-shift
// says: axes and extents are template arguments: .*slice<1, 0, 4>\(x\)
// shows: operation<cairn::fixed_string<6>\{"shift"\}, float ?\[4\]\[6\]>
// Elements that go around are a roll.
constexpr auto x = input<"x", 4, 6>;
constexpr auto loss = sum(nn::shift<0, 1, nn::edge::wrap>(x));     // wrong
constexpr auto loss = sum(nn::shift<0, 1, nn::edge::nearest>(x));  // right

// shared: the cases that make a result y
// here
static_assert(an_expression<decltype(y)>);

// case: own-operation-result
// says: an operation derives from op and has a static result\(x\.\.\.\), of as many shapes
// shows: operation<cairn::fixed_string<9>\{"reversed"\}, float ?\[5\]>
namespace own {
using namespace cairn;
struct reversed_op : op {
  static constexpr fixed_string name = "reversed";
  static constexpr shape results(const shape& x) { return x; }  // wrong
  static constexpr shape result(const shape& x) { return x; }   // right
};
}  // namespace own
constexpr auto y = make<own::reversed_op>(param<"w", 5>);

// case: wrong-arguments-attention-key
// says: attention takes q, k and v, then at most one mask and one causal
// shows: operation<cairn::fixed_string<\d+>\{"attention"\}, float ?\[2\]\[9\]\[4\]\[8\], float ?\[2\]\[9\]\[4\]\[8\]>
constexpr auto k = input<"k", 2, 9, 4, 8>;
constexpr auto y = nn::attention<"drop", 0.1>(k, k);     // wrong
constexpr auto y = nn::attention<"drop", 0.1>(k, k, k);  // right

// case: wrong-arguments-attention
// says: attention takes q, k and v, then at most one mask and one causal
// shows: operation<cairn::fixed_string<\d+>\{"attention"\}, float ?\[2\]\[9\]\[4\]\[8\], .*causal_t, .*causal_t>
constexpr auto k = input<"k", 2, 9, 4, 8>;
constexpr auto y = nn::attention(k, k, k, nn::causal, nn::causal);  // wrong
constexpr auto y = nn::attention(k, k, k, nn::causal);              // right

// case: wrong-arguments-attention-flag
// says: attention takes q, k and v, then at most one mask and one causal
// shows: operation<cairn::fixed_string<\d+>\{"attention"\}, float ?\[2\]\[9\]\[4\]\[8\], .*, bool>
constexpr auto k = input<"k", 2, 9, 4, 8>;
constexpr auto y = nn::attention(k, k, k, true);        // wrong
constexpr auto y = nn::attention(k, k, k, nn::causal);  // right

// case: wrong-arguments-conv2d
// says: this takes two arguments: cross_entropy
// shows: operation<cairn::fixed_string<7>\{"conv2d"\}, float ?\[8\]\[5\]\[6\]\[3\]>
constexpr auto x = input<"x", 8, 5, 6, 3>;
constexpr auto y = conv2d(x);                          // wrong
constexpr auto y = conv2d(x, param<"w", 2, 3, 1, 1>);  // right

// case: wrong-arguments-cross-attention
// says: a layer of attention takes x, or x and a memory, then at most one mask
// shows: fact::in<cairn::fixed_string<12>\{"block\.0"\}, cairn::fixed_string<5>\{"attn"\}>|fact::in<cairn::fixed_string<\d+>\{"block\.0\.attn"\}>
// shows: operation<cairn::fixed_string<16>\{"cross_attention"\}, float ?\[2\]\[7\]\[12\]>
constexpr auto attend = nn::cross_attention<"attn", 4>;  // wrong: has no memory
constexpr auto attend = nn::self_attention<"attn", 4>;   // right
constexpr auto y = input<"x", 2, 7, 12> | repeat<2, "block">([](auto) { return attend; });

// case: wrong-arguments-generated-capture
// says: generated<2, 3>\(f\) takes a function that captures nothing
constexpr auto mask = layer([](auto h) {
  const double low = -1e9;                                                       // wrong
  return h + generated<8, 8>([low](int i, int j) { return j <= i ? 0 : low; });  // wrong
  constexpr double low = -1e9;                                                   // right
  return h + generated<8, 8>([](int i, int j) { return j <= i ? 0 : low; });     // right
});
constexpr auto y = input<"x", 8, 8> | ckpt<"s">(block<"b">(mask));

// case: wrong-arguments-generated
// says: generated<2, 3>\(f\) takes a function that captures nothing, of an int for each axis
// shows: fact::extents<8, 8>
constexpr auto x = input<"x", 8, 8>;
constexpr auto y = x + generated<8, 8>([](int i) { return i; });             // wrong
constexpr auto y = x + generated<8, 8>([](int i, int j) { return i + j; });  // right

// case: wrong-arguments-heads
// says: attention takes q, k and v, then at most one mask and one causal
// shows: fact::in<cairn::fixed_string<2>\{"a"\}>
// shows: operation<cairn::fixed_string<10>\{"attention"\}, float ?\[2\]\[7\]\[3\]\[4\], float ?\[2\]\[7\]\[3\]\[4\]>
constexpr auto scaled = [](auto q, auto k, [[maybe_unused]] auto v) {
  return std::tuple{q * 2_c, k};     // wrong
  return std::tuple{q * 2_c, k, v};  // right
};
constexpr auto y = input<"x", 2, 7, 12> | nn::self_attention<"a", 3, nn::attention_options{}, scaled>;

// case: wrong-arguments-pool
// says: a pool has stride, padding and ceil_mode; a max pool has dilation, an average pool count_include_pad
// shows: dilation<2, 2>, cairn::fact::groups<1>
constexpr nn::window apart{.dilation = 2};  // wrong
constexpr nn::window apart{.stride = 2};    // right
constexpr auto y = avg_pool2d<2, apart>(input<"x", 1, 28, 28, 3>);

// case: wrong-arguments-recurrent-layers
// says: a recurrent layer has one layer or more: num_layers is at least 1
// shows: fact::in<cairn::fixed_string<8>\{"net.gru"\}>
// shows: operation<cairn::fixed_string<4>\{"gru"\}, float ?\[8\]\[5\]\[3\]>
// shows: fact::layers<0>
constexpr nn::recurrent_options stacked{.num_layers = 0};  // wrong
constexpr nn::recurrent_options stacked{.num_layers = 2};  // right
constexpr auto y = input<"x", 8, 5, 3> | block<"net">(nn::gru<"gru", 4, stacked>);

// case: wrong-arguments-self-attention
// says: a layer of attention takes x, or x and a memory, then at most one mask
// shows: fact::in<cairn::fixed_string<5>\{"attn"\}>
// shows: operation<cairn::fixed_string<15>\{"self_attention"\}, float ?\[2\]\[7\]\[12\], int>
constexpr auto y = nn::self_attention<"attn", 4>(input<"x", 2, 7, 12>, 1);    // wrong
constexpr auto y = nn::self_attention<"attn", 4>(input<"x", 2, 7, 12>, 1_c);  // right

// case: wrong-arguments-spectral-norm
// says: nn::weight_norm .* nn::spectral_norm takes no transposed convolution
// shows: operation<cairn::fixed_string<14>\{"spectral_norm"\}, cairn::fact::layer>
constexpr auto normed = nn::spectral_norm(nn::conv_transpose2d<"up", 4, 2>);  // wrong
constexpr auto normed = nn::spectral_norm(nn::conv2d<"up", 4, 2>);            // right
constexpr auto y = input<"x", 8, 5, 6, 3> | normed;

// case: wrong-arguments-transformer-block
// says: a layer of attention takes x.* at most one mask; causal is an option, in <...>
// shows: operation<cairn::fixed_string<18>\{"transformer_block"\}, float ?\[2\]\[7\]\[12\], cairn::nn::causal_t>
constexpr auto y = nn::transformer_block<4>(input<"x", 2, 7, 12>, nn::causal);  // wrong
constexpr auto y = nn::transformer_block<4, nn::causal>(input<"x", 2, 7, 12>);  // right

// case: wrong-arguments-tuple
// says: \| applies a layer to one value; call it with several: layer\(a, b\)
// shows: operation<cairn::fixed_string<2>\{"\|"\}, float ?\[4\]\[8\], float ?\[4\]\[8\]>
constexpr auto cell = ckpt<"cell">(layer([](auto h, auto c) { return tanh(h) * exp(c); }));
constexpr auto both = std::tuple{input<"h", 4, 8>, input<"c", 4, 8>};
constexpr auto y = both | cell;                                 // wrong
constexpr auto y = cell(std::get<0>(both), std::get<1>(both));  // right

// case: wrong-arguments-updated
// says: what becomes another value when a step is over is a state
// shows: fact::in<cairn::fixed_string<\d+>\{"block"\}>
// shows: operation<cairn::fixed_string<8>\{"updated"\}, float ?\[8\]\[3\], float ?\[3\], float ?\[3\]>
constexpr auto largest = param<"largest", 3>;             // wrong
constexpr auto largest = state<"largest", initial{}, 3>;  // right
constexpr auto tracked = [](auto x) { return updated(x, largest, maximum(largest, mean<0>(x))); };
constexpr auto y = input<"x", 8, 3> | block<"block">(layer(tracked));

// case: wrong-arguments-weight-norm
// says: nn::weight_norm and nn::spectral_norm take a linear layer or a convolution
// shows: operation<cairn::fixed_string<12>\{"weight_norm"\}, cairn::fact::layer>
constexpr auto normed = nn::weight_norm(nn::layer_norm<"fc">);  // wrong
constexpr auto normed = nn::weight_norm(nn::linear<"fc", 4>);   // right
constexpr auto y = input<"x", 8, 3> | normed;
