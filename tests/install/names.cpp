// The names of cairn together with the names of std and of POSIX. Only `real` and `stack` must be qualified, because
// std has a function and a class with these names.
#include <algorithm>
#include <cairn/cairn.hpp>
#include <cairn/data/idx.hpp>
#include <cairn/gradcheck.hpp>
#include <cairn/named.hpp>
#include <cairn/report/tables.hpp>
#include <cmath>
#include <complex>
#include <functional>
#include <iostream>
#include <numeric>
#include <stack>
#include <sys/socket.h>
#include <unistd.h>

using namespace cairn;
using namespace std;

// Operators and functions for a type that is not complete. They stand outside of all namespaces, because a namespace
// would hide cairn's names. They are called in such a way that g++ looks at cairn's operators and functions, too.
struct unknown;
unknown* operator-(const unknown& u, int) { return const_cast<unknown*>(&u); }
unknown* operator|(const unknown& u, int) { return const_cast<unknown*>(&u); }
unknown* mean(const unknown& u) { return const_cast<unknown*>(&u); }
unknown* same(unknown& u) { return *mean(u) | 1 ? u - 1 : nullptr; }

namespace {

constexpr auto x = input<"x", 2, 3>;
constexpr auto y = labels<"y", 3, 2>;
constexpr auto bend = layer([](auto v) { return maximum(tanh(v), log(exp(v) + sqrt(square(v) + 1_c))); });
constexpr auto wave = layer([](auto v) {
  return sin(v) * cos(v) + log1p(abs(v)) * rsqrt(1_c + square(v)) + minimum(softplus(v), silu(v)) * sign(v) +
         erf(v) * floor(ceil(round(v)));
});
constexpr auto cut = layer(
    [](auto v) { return where(v > 0_c, clamp(v, -1_c, 1_c), leaky_relu(v)) + where(v == 0_c, v, pow(abs(v), 1.5_c)); });
constexpr auto ring = repeat<2, "ring">(
    [](auto) { return ckpt<"turn", boundaries<bf16>>(nn::linear<"fc", 3> | bend | nn::dropout<"d">); });
constexpr auto logits = x | block<"in">(nn::linear<"fc", 3> | bend | wave | cut | nn::silu) | ring;
constexpr auto spread = max<-1>(logits) - min<-1>(logits);
constexpr auto looked_up = gather<0>(logits, indices<"at", 2, 4>) * max(spread);
constexpr auto chosen = logits * one_hot(argmax<-1>(logits)) + logits * one_hot(argmin<-1>(logits));
constexpr auto ordered = sort<-1>(logits) * cumsum<0>(sort<0>(logits, descending)) +
                         gather_along<1>(logits, argsort<1>(logits)) +
                         topk<3>(scatter_add_along<0>(logits, argtopk<2, 0>(logits), logits));
constexpr auto laid = gather<0>(generated<5, 3>([](int i, int j) { return i + j; }), arange<2>) + zeros<2, 3>;
constexpr auto going_on = [] {
  const auto all = placed<0>(cache<"seen", 4, 3>, slice<0, 0, 1>(indices<"at", 2, 4>), slice<0, 0, 1>(laid));
  return updated(sum<0>(all), cache<"seen", 4, 3>, all);
}();
constexpr auto again = (x | nn::linear<"fc", 3>)+(x * 2_c | shared(nn::linear<"fc", 3>));
constexpr auto images = reshape<2, 4, 4, 3>(as_real(arange<96>));
constexpr auto bent = images | nn::conv2d<"conv", 3, 3, nn::window{.padding = 1}> | nn::conv_transpose2d<"up", 3, 1> |
                      nn::conv_transpose2d_without_bias<"more", 3, 1>;
constexpr auto filtered =
    conv2d(bent, param<"filters", 3, 3, 1, 1>) + conv_transpose2d(images, param<"back", 3, 3, 1, 1>);
constexpr auto rows = conv1d(reshape<8, 4, 3>(filtered), param<"taps", 3, 3, 1>) | nn::conv1d<"row", 3, 1> |
                      nn::conv1d_without_bias<"next", 3, 1> | nn::conv_transpose1d<"back1", 3, 1> |
                      nn::conv_transpose1d_without_bias<"back2", 3, 1>;
constexpr auto longer_rows = conv_transpose1d(rows, param<"longer", 3, 3, 1>);
constexpr auto pooled =
    max_pool2d<2>(images) + avg_pool2d<2>(images) + (images | nn::max_pool2d<2, nn::window{.stride = 2}>);
constexpr auto larger = upsample2d<2>(pad<1, 1, 1>(flip<2>(pooled)));
// Models call the functions that they add in this way.
constexpr auto shift = roll<1, 1>(logits) - nn::shift<0, 1, nn::edge::nearest>(logits);
constexpr auto seen = global_average(reshape<4, 8, 4, 3>(cairn::stack<0>(larger, get<0>(split<3, 1>(larger))))) +
                      (reshape<4, 2, 4, 3>(longer_rows) | nn::global_average);
constexpr auto level = images | nn::conv2d_without_bias<"plain", 3, 1> | nn::batch_norm<"bn"> | nn::leaky_relu<> |
                       nn::avg_pool2d<2> | nn::upsample2d<2> |
                       nn::residual(nn::layer_norm<"ln">, nn::group_norm<"gn", 3>) | nn::flatten |
                       nn::linear_without_bias<"thin", 3> | nn::sigmoid | nn::softplus | nn::square | nn::exp |
                       nn::tag<"t"> | nn::softmax | nn::relu | nn::gelu | nn::tanh | nn::log_softmax;
constexpr auto tokens =
    (y | nn::embedding<"wte", 6>)+(arange<2> | nn::embedding<"wpe", 6, nn::embedding_options{.padding_idx = 0}>);
constexpr auto rotary =
    nn::rotary(reshape<1, 2, 1, 6>(tokens | nn::rms_norm<"rms"> | nn::sinusoidal_positions), arange<2>);
constexpr auto head = reshape<2, 6>(rotary) | nn::tied_linear<"/wte.weight", 3>;
constexpr auto heads = images;
constexpr auto attention = mean(nn::attention(heads, heads, heads, nn::causal)) +
                           mean(reshape<4, 4, 6>(images) | nn::self_attention<"attn", 2, nn::causal> |
                                nn::transformer_block<2> | nn::swiglu<"ff", 3>) +
                           mean(nn::cross_attention<"cross", 2>(reshape<4, 4, 6>(images), reshape<4, 3, 8>(images)));
constexpr auto looped = scan<4, "step", revolve<2>>(
    [](auto h, auto i) { return std::tuple{tanh(h), as_real(i) * mean(h)}; }, carried(again), each(arange<4>));
constexpr auto nested = scan<3, "outer", two_level<2, 1>>(
    [](auto h) { return scan<2, "inner", segment_every<2>>([](auto v) { return v * 0.5_c; }, carried(h)); },
    carried(again));
constexpr auto offloaded =
    scan<4, "away", two_level<2, 1, snapshots::elsewhere>>([](auto h) { return tanh(h); }, carried(again));
constexpr auto carried_on = []<class X>(X sequence) {
  const auto [h, c] = nn::lstm_cell<"cell", 3>(again);
  const auto next = nn::rnn_cell<"simple", 3>(nn::gru_cell<"gated", 3>(h, c));
  return mean(sequence | nn::lstm<"lstm", 3> | nn::gru<"gru", 3> | nn::rnn<"rnn", 3>) * mean(next);
}(reshape<2, 2, 3>(concatenate<0>(again, again)));
// All programs except one have this loss, because compilers need a long time for the full loss.
constexpr auto short_loss = cross_entropy(logits, y);
constexpr auto loss =
    0_c * carried_on + mean(std::get<0>(looped) * nested) + mean(std::get<1>(looped)) + mean(level) * 0_c +
    mean(seen) * 0_c + mean(pow(again, 2_c)) + cross_entropy(logits + head, y) + mean(square(looked_up)) * 0.1_c +
    mean(chosen * laid) + 0_c * mean(ordered) + huber(var<-1>(logits), 0_c) + huber<2.0>(var<-1>(logits, biased), 0_c) +
    nn::l1(again, 0_c) + cross_entropy<nn::cross_entropy_options{.label_smoothing = 0.1}>(logits, y, 1_c, 2_c) +
    binary_cross_entropy_with_logits(sum(again), 0.5_c) + 0_c * mean(shift) +
    soft_cross_entropy(logits, softmax(logits)) + kl_div(log_softmax(logits), softmax(logits)) +
    nll_loss(log_softmax(logits), y) + triplet_loss(logits, head, head) + mean(cosine_similarity(logits, head)) +
    0_c * mean(softmax(slice<0, 0, 2>(causal_mask<3>)) * logits) + 0_c * attention;

// Functions with the names of cairn's functions take numbers, arrays and functions in place of expressions.
double area(double r) {
  return sqrt(exp(log(r))) + tanh(r) + sqrt(4) + exp(1.0F) + sin(r) + cos(0) + log1p(r) + abs(-1) + abs(r) + erf(r) +
         floor(r) + ceil(1.5F) + round(2);
}
double square(double r) { return r * r; }
double shared(double r) { return pow(r, 2) + pow(2.0F, 3); }
template <class T>
T maximum(const vector<T>& values) {
  return *max_element(values.begin(), values.end());
}

/// A user's rule next to cairn's rules.
struct descent {
  double lr = 0.1;
  static constexpr array<string_view, 0> moments{};
  constexpr array<double, 1> numbers(double rate, int64_t) const { return {rate}; }
  static constexpr auto next(auto p, auto g, auto rate) { return tuple{p - rate * sign(g)}; }
};
int sign(int number) { return (number > 0) - (number < 0); }

struct meters {
  double real = 0;
  meters operator+(int more) const { return {real + more}; }
  friend meters operator*(int times, meters m) { return {times * m.real}; }
};
int listens(int file) {
  sockaddr address{};
  return bind(file, static_cast<const sockaddr*>(&address), socklen_t{sizeof address});
}

}  // namespace

int main() {
  const vector<double> input(6, 0.5);  // a local name hides cairn's name
  const array<int32_t, 2> labels{0, 2};
  const array<int32_t, 4> at{0, 1, 1, 0};
  program<loss, cairn::real<double>> step;
  program<short_loss, cairn::real<double>, plain> other;
  step.init(seed{1});
  other.init(seed{1});
  const double a = step.value_and_grad(bind<"x">(input), bind<"y">(labels), bind<"at">(at));
  const tensor_view view(input.data(), array<size_t, 2>{2, 3});
  const double b = other.value_and_grad(bind<"x">(view), bind<"y">(labels));

  program<short_loss, cairn::real<double>, update<descent{}>, update<sgd_options{.lr = 0.2}, "*.bias">, clip<1.0>>
      trained;
  program<short_loss, cairn::real<double>, update<adamw_options{}>, clip_value<0.5>> limited;
  constexpr frontier_point least = frontier<short_loss, cairn::real<double>>.front();
  program<short_loss, cairn::real<double>, fit<least.peak_bytes>> placed_within;
  program<short_loss, mixed<bf16>> rounded;
  program<short_loss, mixed<bf16, stochastic_rounding>, update<descent{}>> halved;
  static_assert(halved.memory().parameter_bytes <= rounded.memory().parameter_bytes);
  static_assert(rounded.memory().parameter_bytes == program<short_loss>::memory().parameter_bytes);
  placed_within.init(seed{1});
  trained.init(seed{1});
  limited.init(seed{1});
  const train_options slowly{.lr = 1e-3};
  const double e = placed_within.value_and_grad(bind<"x">(view), bind<"y">(labels));
  const double c = trained.train(slowly, bind<"x">(input), bind<"y">(labels));
  const double d = limited.train(bind<"x">(input), bind<"y">(labels));
  rule_optimizer rule{step, descent{.lr = trained.gradient_norm()}};
  program<mean(offloaded)> away;
  alignas(64) byte elsewhere[decltype(away)::memory().elsewhere_bytes];
  away.keep_snapshots_in(elsewhere);
  away.init(seed{1});
  const float kept = away.value_and_grad(bind<"x">(vector<float>(6)));
  const double update = rule.lr(), clip = sign(-2), train = c - b;  // local names hide cairn's names
  const int scan = 1, carried = 2, each = 3, revolve = scan + carried + each;

  predictor<going_on, cairn::real<double>> go_on{step};
  go_on.reset<"seen">();
  const double cache = go_on(bind<"at">(at))(0) + go_on.cache<"seen">()(0, 0);

  using namespace std::placeholders;
  const auto next = bind(plus<>{}, _1, 1);
  const auto sum = accumulate(input.begin(), input.end(), 0.0, plus<>{});
  meters m = 2 * meters{1} + 1;
  const auto report = std::real(complex<double>(3, 1)) - m.real;
  auto& some = reinterpret_cast<unknown&>(m);
  const bool numbers = same(some) == &some && next(1) == 2 && sum == 3 && report == 0 &&
                       square(2) == maximum(vector{4.0, 1.0}) && max(1, 2) == min({3, 2}) && clamp(3, 1, 2) == 2 &&
                       (step.threads < 2) != (step.threads >= 2) && max(a, a, less<>{}) == a && update > 0 &&
                       clip == -1 && train == 0 && revolve == 6 && kept < 1 && cache == 0;
  const auto named = named_parameters(step)[BOOST_HANA_STRING("in.fc.weight")];
  cout << a << ' ' << named(0, 0) << ' ' << named_gradients(other)[BOOST_HANA_STRING("in.fc.bias")](0) << ' ' << area(1)
       << ' ' << shared(1) << listens(-1) << '\n';
  return b == d && b == e && numbers && listens(-1) == -1 ? 0 : 1;
}
