// Tiled layers: the results, the gradients of arguments and the random numbers have the bits of the same layer without
// groups. The gradients of parameters are sums over the groups, from the last group to the first.
#include "tiled.hpp"

#include <cairn/gradcheck.hpp>

using namespace test;

namespace {

constexpr auto feed_forward = nn::linear<"fc1", 33> | nn::gelu | nn::linear<"fc2", 7>;
constexpr auto normed = nn::residual(nn::layer_norm<"norm"> | nn::swiglu<"ff", 20> | nn::rms_norm<"rms">);

// The same sum of gradients, written out. The parameters are shared by name.
constexpr auto by_name = [](auto h) { return gelu(matmul(h, param<"/w", 7, 9>) + param<"/b", 9>) * param<"/s", 9>; };
constexpr auto in_three = [](auto h) {
  return concatenate<0>(by_name(slice<0, 0, 5>(h)), by_name(slice<0, 5, 10>(h)), by_name(slice<0, 10, 15>(h)));
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
  has_groups<x<24, 7>, feed_forward, 1, 3, 24>();
  has_groups<x<35, 13>, nn::linear<"fc", 5>, 5, 35>();
  has_groups<x<512, 64>, nn::linear<"fc1", 256> | nn::relu | nn::linear<"fc2", 64>, 4, 32>();
}
BOOST_AUTO_TEST_CASE(gradients_are_sums_from_the_last_group_on) {
  const arrays tiled = third_step<x<15, 7> | nn::tiled<3>(layer(by_name))>(),
               written = third_step<in_three(x<15, 7>)>();
  BOOST_TEST_REQUIRE(tiled.size() == written.size());
  for (const auto& [name, numbers] : written) BOOST_TEST(same_bits(tiled.at(name), numbers), name);
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
BOOST_AUTO_TEST_CASE(groups_that_nothing_chooses) {
  const auto same = []<auto X, auto UpTo, auto Whole>() {
    BOOST_TEST((third_step<X | UpTo>() == third_step<X | Whole>()));
  };
  constexpr auto dropping = nn::dropout<"d"> | feed_forward;
  same.operator()<x<24, 7>, nn::tiled<up_to<8>>(dropping), dropping>();
  same.operator()<x<24, 7>, ckpt<"s">(nn::tiled<up_to<2>>(feed_forward)) | nn::linear<"last", 3>,
                  feed_forward | nn::linear<"last", 3>>();
  same.operator()<x<24, 7>, nn::tiled<2>(nn::tiled<up_to<4>>(feed_forward)), nn::tiled<2>(feed_forward)>();
  constexpr auto whole = layer([](auto h) { return weighed(h, h | nn::linear<"b", 5>, argmax<-1>(h)); });
  constexpr auto up_to_four = layer([](auto h) {
    const auto [a, b] =
        nn::tiled<up_to<4>>(two, nn::tiled<up_to<4>>(weighed, h, h | nn::linear<"b", 5>, argmax<-1>(h)));
    return a + b;
  });
  constexpr auto twice = layer([](auto h) {
    const auto [a, b] = two(h);
    return a + b;
  });
  same.operator()<x<12, 5>, up_to_four, whole | twice>();
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
  predictor<data | nn::tiled<up_to<4>>(feed_forward)> up_to_four(step);
  const auto numbers = some(12 * 7, 2);
  const auto a = tiled(bind<"x">(numbers)), b = whole(bind<"x">(numbers));
  BOOST_TEST(std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
  BOOST_TEST(std::memcmp(a.data(), up_to_four(bind<"x">(numbers)).data(), a.size() * sizeof(float)) == 0);
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
