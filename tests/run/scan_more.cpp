// Scans with the other parts of models: indices, random operations, states, segments inside and around, other scans,
// and optimizers in the training step.
#include <boost/test/unit_test.hpp>
#include <cairn/cairn.hpp>
#include <cairn/gradcheck.hpp>
#include <map>
#include <string>
#include <vector>

using namespace cairn;

namespace {

std::vector<float> some(std::size_t count, std::uint64_t number) {
  std::vector<float> out(count);
  random_sequence draw(seed{3}, number);
  for (float& x : out) x = uniform(draw()) - 0.5F;
  return out;
}
/// Returns the losses, gradients, parameters and states after some training steps.
template <auto Loss, class... Options>
auto after_steps(const auto&... bound) {
  program<Loss, Options...> step;
  step.init(seed{1});
  std::map<std::string, std::vector<float>> all;
  for (int i = 0; i < 3; ++i) all["loss"].push_back(one_step(step, bound...));
  if constexpr (step.keeps_gradients)
    step.for_each_gradient([&](std::string_view name, auto view) {
      all["gradient of " + std::string(name)].assign(view.data(), view.data() + view.size());
    });
  step.for_each_parameter(
      [&](std::string_view name, auto view) { all[std::string(name)].assign(view.data(), view.data() + view.size()); });
  return all;
}

constexpr int T = 6, rows = 8, width = 5;
constexpr auto h0 = input<"h0", rows, width>;
constexpr auto dense = [](auto h) { return matmul(h, param<"/w", width, width>) + param<"/b", width>; };

constexpr auto dropped = [](auto h) { return tanh(dense(h)) | nn::dropout<"drop", 0.3>; };
template <class Policy>
constexpr auto random_loop = mean(square(scan<T, "step", Policy>(dropped, carried(h0))));
constexpr auto random_steps = mean(square(h0 | repeat<T, "step">([](auto) { return layer(dropped); })));

constexpr auto checkpointed = [](auto h) {
  return h + ckpt<"ff">(layer([](auto x) { return gelu(dense(x)) | nn::dropout<"drop", 0.2> | nn::tanh; }), h);
};
template <class Policy>
constexpr auto segments_in_loop = mean(square(scan<T, "step", Policy>(checkpointed, carried(h0))));
constexpr auto segments_in_steps = mean(square(h0 | repeat<T, "step">([](auto) { return layer(checkpointed); })));

template <class Policy>
constexpr auto run_loop_of = [](auto h) { return scan<T, "step", Policy>(dropped, carried(h)); };
template <class Policy>
constexpr auto loop_in_segment = mean(square(ckpt<"all">(
    [](auto h) { return tanh(scan<T, "step", Policy>(dropped, carried(h))); }, tanh(h0 + param<"/b", width>))));
constexpr auto steps_in_segment =
    mean(square(ckpt<"all">([](auto h) { return tanh(h | repeat<T, "step">([](auto) { return layer(dropped); })); },
                            tanh(h0 + param<"/b", width>))));

template <class Policy>
constexpr auto loop_in_loop = mean(square(
    scan<3, "outer", Policy>([](auto h) { return scan<2, "step", Policy>(dropped, carried(h)) + h; }, carried(h0))));
constexpr auto steps_in_steps =
    mean(square(h0 | repeat<3, "outer">([](auto) {
                  return layer([](auto h) { return (h | repeat<2, "step">([](auto) { return layer(dropped); })) + h; });
                })));

constexpr auto weighted = [](auto h, auto i) {
  return tanh(dense(h)) * gather<0>(param<"/table", T, width>, i) + as_real(i) * 0.1_c;
};
template <class Policy>
constexpr auto indexed_loop = mean(square(scan<T, "step", Policy>(weighted, carried(h0), each(arange<T>))));
template <int I, class H>
constexpr auto indexed_steps(H h) {
  if constexpr (I == T) return mean(square(h));
  else return indexed_steps<I + 1>(weighted(h, reshape<>(slice<0, I, I + 1>(arange<T>))));
}

constexpr auto level = state<"level", initial::constant(0.5), width>;
constexpr auto moving(auto s, auto h) { return s * 0.9_c + mean<0>(h) * 0.1_c; }
template <class Policy>
constexpr auto loop_with_state = mean(square(scan<T, "step", Policy>(
    [](auto h) {
      constexpr auto s = state<"/level", initial::constant(0.5), width>;
      return updated(tanh(dense(h)) + detach(s), s, moving(s, h));
    },
    carried(h0))));
constexpr auto state_carried = [] {
  const auto [h, s] = scan<T, "step">(
      [](auto h, auto s) { return std::tuple{tanh(dense(h)) + detach(s), detach(moving(s, h))}; }, carried(h0, level));
  return updated(mean(square(h)), level, s);
}();

// Several gradients of one scan. Each gradient reads the snapshots that the scan left, and Revolve writes over these
// snapshots.
template <class Policy>
constexpr auto run_loop = scan<T, "step", Policy>([](auto h) { return tanh(dense(h)); }, carried(h0));
template <class Policy>
constexpr auto two_gradients =
    outputs(grad(sum(run_loop<Policy>), h0), grad(sum(square(run_loop<Policy>)), h0), mean(run_loop<Policy>));
template <class Policy>
constexpr auto gradient_in_loss =
    mean(square(run_loop<Policy>)) + mean(detach(grad(sum(run_loop<Policy>), h0)) * param<"scale", width>);
struct save_loops {
  constexpr bool operator()(const saveable& v) const { return v.operation == "scan"; }
};
template <class Policy, class... Kept>
constexpr auto gradient_in_segment = mean(ckpt<"all", Kept..., allow_useless>(
    [](auto h) {
      const auto y = scan<T, "step", Policy>([](auto s) { return tanh(dense(s)); }, carried(h));
      return square(y) * gather<0>(param<"table", width, width>, argmax<-1>(grad(sum(y), h)));
    },
    h0 * param<"first", width>));

}  // namespace

BOOST_AUTO_TEST_SUITE(scan_more)

BOOST_AUTO_TEST_CASE(random_operations_draw_by_the_iteration) {
  const auto x = some(rows * width, 1);
  const auto expected = after_steps<random_steps>(bind<"h0">(x));
  BOOST_TEST((after_steps<random_loop<store_all>>(bind<"h0">(x)) == expected));
  BOOST_TEST((after_steps<random_loop<revolve<2>>>(bind<"h0">(x)) == expected));
}
BOOST_AUTO_TEST_CASE(segments_in_the_body) {
  const auto x = some(rows * width, 1);
  const auto expected = after_steps<segments_in_steps>(bind<"h0">(x));
  BOOST_TEST((after_steps<segments_in_loop<store_all>>(bind<"h0">(x)) == expected));
  BOOST_TEST((after_steps<segments_in_loop<revolve<2>>>(bind<"h0">(x)) == expected));
}
BOOST_AUTO_TEST_CASE(a_scan_in_a_segment) {
  const auto x = some(rows * width, 1);
  const auto expected = after_steps<steps_in_segment>(bind<"h0">(x));
  BOOST_TEST((after_steps<loop_in_segment<store_all>>(bind<"h0">(x)) == expected));
  BOOST_TEST((after_steps<loop_in_segment<revolve<2>>>(bind<"h0">(x)) == expected));
  BOOST_TEST((after_steps<loop_in_segment<store_all>, plain>(bind<"h0">(x)) == expected));
}
BOOST_AUTO_TEST_CASE(a_scan_in_a_scan) {
  const auto x = some(rows * width, 1);
  const auto expected = after_steps<steps_in_steps>(bind<"h0">(x));
  BOOST_TEST((after_steps<loop_in_loop<store_all>>(bind<"h0">(x)) == expected));
  BOOST_TEST((after_steps<loop_in_loop<revolve<1>>>(bind<"h0">(x)) == expected));
}
BOOST_AUTO_TEST_CASE(the_index_of_the_iteration) {
  const auto x = some(rows * width, 1);
  const auto expected = after_steps<indexed_steps<0>(h0)>(bind<"h0">(x));
  BOOST_TEST((after_steps<indexed_loop<store_all>>(bind<"h0">(x)) == expected));
  BOOST_TEST((after_steps<indexed_loop<revolve<2>>>(bind<"h0">(x)) == expected));
}
// The result is v^8 / 128 after three iterations, plus v. The gradient of the carried value is in double. It is added
// to the gradient of the other reader.
BOOST_AUTO_TEST_CASE(gradients_of_another_type_are_added_up) {
  constexpr auto v = as<double>(param<"v", 20>);
  constexpr auto last = scan<3, "step">([](auto h) { return h * h * 0.5_c; }, carried(v));
  program<sum(as_real(last)) + sum(as_real(v))> step;
  for (std::size_t i = 0; i < 20; ++i) step.parameters()[i] = 0.1F * static_cast<float>(i);
  step.value_and_grad();
  for (std::size_t i = 0; i < 20; ++i)
    BOOST_TEST(step.gradients()[i] == 1 + std::pow(0.1F * static_cast<float>(i), 7.0F) / 16,
               boost::test_tools::tolerance(1e-5F));
}
BOOST_AUTO_TEST_CASE(the_optimizer_in_the_step) {
  const auto x = some(rows * width, 1);
  const auto expected = after_steps<random_steps, update<adamw_options{.lr = 1e-2}>>(bind<"h0">(x));
  BOOST_TEST((after_steps<random_loop<store_all>, update<adamw_options{.lr = 1e-2}>>(bind<"h0">(x)) == expected));
  BOOST_TEST((after_steps<random_loop<revolve<2>>, update<adamw_options{.lr = 1e-2}>>(bind<"h0">(x)) == expected));
  BOOST_TEST((after_steps<random_loop<segment_every<2>>, update<adamw_options{.lr = 1e-2}>>(bind<"h0">(x)) == expected));
}

BOOST_AUTO_TEST_CASE(states_change_from_iteration_to_iteration) {
  const auto x = some(rows * width, 1);
  const auto expected = after_steps<state_carried>(bind<"h0">(x));
  BOOST_TEST((after_steps<loop_with_state<store_all>>(bind<"h0">(x)) == expected));
  BOOST_TEST((after_steps<loop_with_state<revolve<2>>>(bind<"h0">(x)) == expected));
  BOOST_TEST((after_steps<loop_with_state<two_level<2, 1>>>(bind<"h0">(x)) == expected));
  BOOST_TEST((after_steps<loop_with_state<segment_every<2>>>(bind<"h0">(x)) == expected));
}

template <class Policy>
std::vector<float> two_gradients_of(const std::vector<float>& x) {
  program<mean(run_loop<Policy>)> step;
  step.init(seed{1});
  predictor<two_gradients<Policy>> predict{step};
  const auto [first, second, value] = predict(bind<"h0">(x));
  std::vector<float> all(first.data(), first.data() + first.size());
  all.insert(all.end(), second.data(), second.data() + second.size());
  all.push_back(value);
  return all;
}
BOOST_AUTO_TEST_CASE(several_gradients_of_one_scan) {
  const auto x = some(rows * width, 1);
  const auto expected = two_gradients_of<store_all>(x);
  BOOST_TEST((two_gradients_of<revolve<3>>(x) == expected));
  BOOST_TEST((two_gradients_of<two_level<2, 2>>(x) == expected));
  BOOST_TEST((two_gradients_of<segment_every<2>>(x) == expected));
  static_assert(predictor<two_gradients<store_all>>::loops().evaluations == T);
  static_assert(predictor<two_gradients<revolve<3>>>::loops().evaluations == 2 * revolve<3>::counts<T>.evaluations);
  BOOST_TEST((after_steps<gradient_in_loss<revolve<3>>>(bind<"h0">(x)) ==
              after_steps<gradient_in_loss<store_all>>(bind<"h0">(x))));
  const auto in_segment = after_steps<gradient_in_segment<store_all>>(bind<"h0">(x));
  BOOST_TEST((after_steps<gradient_in_segment<revolve<3>>>(bind<"h0">(x)) == in_segment));
  BOOST_TEST((after_steps<gradient_in_segment<revolve<3>, save_loops>>(bind<"h0">(x)) == in_segment));
}

BOOST_AUTO_TEST_SUITE_END()
