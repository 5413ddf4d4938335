// Tiled layers: the results, the gradients of arguments and the random numbers have the bits of the same layer without
// groups. The gradients of parameters are sums over the groups, from the last group to the first.
#include <boost/test/unit_test.hpp>
#include <cairn/cairn.hpp>
#include <cairn/gradcheck.hpp>
#include <cmath>
#include <map>
#include <string>
#include <vector>

using namespace cairn;

namespace {

std::vector<float> some(std::size_t count, std::uint64_t number) {
  std::vector<float> out(count);
  random_sequence draw(seed{3}, number);
  for (float& x : out) x = 2 * uniform(draw()) - 1;
  return out;
}
using arrays = std::map<std::string, std::vector<float>>;

/// Returns the result of a layer, and all gradients, in the third training step. Each element of the result has a
/// cotangent of its own.
template <auto Y, class... Options>
arrays third_step() {
  static constexpr shape made = decltype(Y)::shape;
  constexpr auto w = []<std::size_t... Axis>(std::index_sequence<Axis...>) {
    return input<"w", made.extent[Axis]...>;
  }(std::make_index_sequence<static_cast<std::size_t>(made.rank)>{});
  program<outputs(sum(Y * w), Y), Options...> step;
  step.init(seed{1});
  const auto cotangent = some(static_cast<std::size_t>(made.count()), 1);
  arrays all;
  for (int i = 0; i < 3; ++i) {
    const auto [loss, y] = step.value_and_grad(bind<"w">(cotangent));
    all["result"].assign(y.data(), y.data() + y.size());
  }
  step.for_each_gradient(
      [&](std::string_view name, auto view) { all[std::string(name)].assign(view.data(), view.data() + view.size()); });
  return all;
}
bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}
/// Returns the largest distance of two arrays, relative to the largest number.
double distance(const std::vector<float>& a, const std::vector<float>& b) {
  double most = 0, largest = 1e-30;
  if (a.size() != b.size()) return 1;
  for (std::size_t i = 0; i < a.size(); ++i) {
    most = std::max(most, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
    largest = std::max(largest, std::abs(static_cast<double>(b[i])));
  }
  return most / largest;
}
/// Checks a tiled layer next to the layer without groups. `X` is an expression of the parameter "x".
template <auto X, auto Tiled, auto Whole, class... Options>
void is_like_whole() {
  const arrays tiled = third_step<X | Tiled, Options...>(), whole = third_step<X | Whole, Options...>();
  BOOST_TEST_REQUIRE(tiled.size() == whole.size());
  for (const auto& [name, numbers] : whole) {
    BOOST_TEST_CONTEXT(name) {
      if (name == "result" || name == "x") BOOST_TEST(same_bits(tiled.at(name), numbers));
      else BOOST_TEST(distance(tiled.at(name), numbers) < 1e-5);
    }
  }
}
template <auto X, auto Layer, int... Groups>
void has_groups() {
  (is_like_whole<X, nn::tiled<Groups>(Layer), Layer>(), ...);
}

template <std::int64_t... Extents>
constexpr auto x = param<"x", Extents...>;
constexpr auto feed_forward = nn::linear<"fc1", 33> | nn::gelu | nn::linear<"fc2", 7>;
constexpr auto normed = nn::residual(nn::layer_norm<"norm"> | nn::swiglu<"ff", 20> | nn::rms_norm<"rms">);

// The same sum of gradients, written out. The parameters are shared by name.
constexpr auto by_name = [](auto h) { return gelu(matmul(h, param<"/w", 7, 9>) + param<"/b", 9>) * param<"/s", 9>; };
constexpr auto in_three = [](auto h) {
  return concatenate<0>(by_name(slice<0, 0, 5>(h)), by_name(slice<0, 5, 10>(h)), by_name(slice<0, 10, 15>(h)));
};

constexpr auto pooled = layer([](auto h) { return nn::max_pool2d<2>(h); });
constexpr auto choosing = [](auto h) {
  return where(h > 0_c, concatenate<-1>(h, flip<1>(h)) | nn::linear<"a", 6>, h - max<-1>(h, keepdim));
};
constexpr auto of_matrices = [](auto h) {
  constexpr int rows = decltype(h)::shape[0];
  const auto m = reshape<rows, 2, 3>(h);
  return transpose(matmul(m, transpose(m))) * mean<-1>(reshape<rows, 1, 6>(h), keepdim);
};
constexpr auto looking_up = [](auto h) { return h * (argmax<-1>(h) | nn::embedding<"table", 6>); };
constexpr auto dropping_weights = [](auto h) {
  constexpr int rows = decltype(h)::shape[0];
  const auto ones = make<lang::expand_op<shape{rows, 5}>>(1_c);
  const auto some = dropout<"w", 0.5>(param<"/w", 5, 5>);
  return matmul(h, some) * dropout<"v", 0.5>(ones) * dropout<"u", 0.2>(param<"/u", 5>);
};
/// One step of a descent: a layer that takes a gradient itself.
constexpr auto descending = [](auto h) {
  const auto energy = h | nn::linear<"e1", 9> | nn::tanh | nn::linear<"e2", 3>;
  return h - 0.3_c * grad(sum(square(energy)), h);
};
constexpr auto weighed = [](auto a, auto b, auto i) {
  return tanh(a | nn::linear<"fc", 5>) * b + (i | nn::embedding<"table", 5>);
};
constexpr auto two = [](auto h) { return std::tuple{tanh(h * param<"/w", 5>), h * param<"/v", 5>}; };
/// A block of a transformer without attention, with or without groups.
template <bool InGroups>
constexpr auto block_of = [] {
  if constexpr (InGroups) return nn::residual(nn::layer_norm<"norm"> | nn::tiled<4>(feed_forward));
  else return nn::residual(nn::layer_norm<"norm"> | feed_forward);
}();

}  // namespace

BOOST_AUTO_TEST_SUITE(tiled)

BOOST_AUTO_TEST_CASE(any_number_of_groups) {
  has_groups<x<24, 7>, feed_forward, 1, 2, 3, 8, 24>();
  has_groups<x<35, 13>, nn::linear<"fc", 5>, 5, 7, 35>();
  has_groups<x<512, 64>, nn::linear<"fc1", 256> | nn::relu | nn::linear<"fc2", 64>, 4, 8, 32>();
}
BOOST_AUTO_TEST_CASE(gradients_are_sums_from_the_last_group_on) {
  const arrays tiled = third_step<x<15, 7> | nn::tiled<3>(layer(by_name))>(),
               written = third_step<in_three(x<15, 7>)>();
  BOOST_TEST_REQUIRE(tiled.size() == written.size());
  for (const auto& [name, numbers] : written) BOOST_TEST(same_bits(tiled.at(name), numbers), name);
}
BOOST_AUTO_TEST_CASE(layers_of_rows) {
  has_groups<x<12, 8>, normed, 3, 12>();
  has_groups<x<6, 5, 8>, normed, 2, 3, 6>();
  has_groups<x<6, 5, 8>, nn::self_attention<"attn", 2, nn::causal>, 3, 6>();
  has_groups<x<4, 6, 8>, nn::transformer_block<2, nn::transformer_options{.dropout = 0.2}>, 2, 4>();
  has_groups<x<4, 8, 8, 3>, nn::conv2d<"conv", 6, 3, {.padding = 1}> | nn::relu | pooled, 2, 4>();
  has_groups<x<6, 4, 8>, nn::group_norm<"norm", 2> | layer([](auto h) { return softmax<-2>(h); }), 3>();
  has_groups<x<8, 6>, layer(choosing), 2, 8>();
  has_groups<x<8, 6>, layer(of_matrices), 4>();
  has_groups<x<9, 6>, layer(looking_up), 3, 9>();
  has_groups<x<6, 5, 2, 4>, layer([](auto h) { return nn::rotary(h); }), 2>();
  has_groups<x<8, 6>, layer(descending), 4>();
}
BOOST_AUTO_TEST_CASE(random_numbers_are_those_without_groups) {
  constexpr auto dropping = nn::dropout<"a", 0.3> | nn::linear<"fc", 9> | nn::dropout<"b", 0.5>;
  has_groups<x<24, 8>, dropping, 2, 3, 24>();
  has_groups<x<15, 7>, dropping, 3, 5, 15>();  // groups do not begin at a multiple of four numbers
  has_groups<x<6, 5, 8>, nn::self_attention<"attn", 2, nn::attention_options{.dropout = 0.4}>, 2, 6>();
  has_groups<x<8, 5>, layer(dropping_weights), 2, 8>();
  has_groups<x<8, 5>, nn::tiled<2>(layer(dropping_weights)), 2>();
}
BOOST_AUTO_TEST_CASE(several_arguments_are_divided) {
  constexpr auto whole = layer([](auto h) { return weighed(h, h | nn::linear<"b", 5>, argmax<-1>(h)); });
  constexpr auto tiled = layer([](auto h) { return nn::tiled<4>(weighed, h, h | nn::linear<"b", 5>, argmax<-1>(h)); });
  is_like_whole<x<12, 5>, tiled, whole>();
  constexpr auto one_result = layer([](auto h) { return std::get<1>(two(h)) * std::get<0>(two(h)); });
  constexpr auto one_tiled = layer([](auto h) {
    const auto [a, b] = nn::tiled<3>(two, h);
    return b * a;
  });
  is_like_whole<x<12, 5>, one_tiled, one_result>();
}
BOOST_AUTO_TEST_CASE(within_other_parts) {
  is_like_whole<x<8, 7>, ckpt<"s">(block_of<true>) | nn::linear<"last", 3>, block_of<false> | nn::linear<"last", 3>>();
  is_like_whole<x<8, 7>, repeat<3, "block">([](auto) { return ckpt<"s">(block_of<true>); }),
                repeat<3, "block">([](auto) { return block_of<false>; })>();
  is_like_whole<x<8, 7>, layer([](auto h) { return scan<3, "step">(block_of<true>, carried(h)); }),
                layer([](auto h) { return scan<3, "step">(block_of<false>, carried(h)); })>();
  is_like_whole<x<8, 7>, nn::tiled<2>(nn::dropout<"d"> | nn::tiled<2>(nn::dropout<"e"> | feed_forward)),
                nn::dropout<"d"> | nn::dropout<"e"> | feed_forward>();
  is_like_whole<x<8, 7>, nn::tiled<2>(ckpt<"s">(block_of<false>)), block_of<false>>();
  is_like_whole<x<8, 7>, nn::tiled<2>(repeat<2, "b">([](auto) { return block_of<false>; })),
                repeat<2, "b">([](auto) { return block_of<false>; })>();
}
BOOST_AUTO_TEST_CASE(predictors) {
  constexpr auto data = input<"x", 12, 7>;
  program<sum(data | nn::tiled<3>(feed_forward))> step;
  step.init(seed{1});
  predictor<data | nn::tiled<3>(feed_forward)> tiled(step);
  predictor<data | feed_forward> whole(step);
  const auto numbers = some(12 * 7, 2);
  const auto a = tiled(bind<"x">(numbers)), b = whole(bind<"x">(numbers));
  BOOST_TEST(std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}
BOOST_AUTO_TEST_CASE(plain_has_the_same_bits) {
  constexpr auto y = x<24, 7> | nn::tiled<4>(normed);
  BOOST_TEST((third_step<y>() == third_step<y, plain>()));
}
BOOST_AUTO_TEST_CASE(gradients_follow_differences) {
  constexpr auto y = x<6, 7> | nn::tiled<3>(normed | nn::dropout<"d", 0.2>);
  BOOST_TEST(gradcheck<sum(y * frozen<"w", 6, 7>)>(seed{1}).relative < gradient_tolerance);
}
#ifdef _OPENMP
BOOST_AUTO_TEST_CASE(any_number_of_threads) {
  constexpr auto y = x<512, 64> | nn::tiled<4>(nn::linear<"fc1", 256> | nn::gelu | nn::linear<"fc2", 64>);
  const arrays one = third_step<y>();
  BOOST_TEST((third_step<y, threads<2>>() == one));
  BOOST_TEST((third_step<y, threads<3>>() == one));
}
#endif
BOOST_AUTO_TEST_CASE(values_stored_as_bf16) {
  is_like_whole<x<24, 32>, nn::tiled<4>(nn::residual(nn::linear<"fc1", 64> | nn::gelu | nn::linear<"fc2", 32>)),
                nn::residual(nn::linear<"fc1", 64> | nn::gelu | nn::linear<"fc2", 32>), mixed<bf16>>();
}

BOOST_AUTO_TEST_SUITE_END()
