// Models with operations that are not part of the library. Each model is a function of h {8, 12}, and some also take
// labels. The result of the operation has the tag "t", and the backward pass reads it.
#pragma once

#include "../own.hpp"
#include "parts.hpp"

namespace models {

inline constexpr auto log1pexp = [](auto h) { return square(tag<"t">(own::log1pexp(h))); };
// The backward pass reads both results.
inline constexpr auto sine_cosine = [](auto h) {
  const auto [sine, cosine] = own::sine_cosine(h);
  return tag<"t">(sine) * tag<"t">(cosine) + h;
};
inline constexpr auto running_sum = [](auto h) { return square(tag<"t">(own::running_sum(h))) * 0.1_c; };
inline constexpr auto largest = [](auto h) {
  const auto [most, at] = own::largest(h);
  return h * reshape<8, 1>(tag<"t">(most) + own::picked(sigmoid(h), tag<"t">(at)));
};
// A fused loop reads the tiles. The backward pass reads both results.
inline constexpr auto normalized = [](auto h) {
  const auto [y, scale] = own::normalized(h);
  return h * tanh(tag<"t">(y)) + tag<"t">(scale);
};
// The backward pass reads two of three gradients.
inline constexpr auto scored = [](auto h, auto i) {
  const auto known = as<std::uint8_t>(i);
  return h * reshape<8, 1>(tag<"t">(own::scored(h, param<"w", 5, 12>, frozen<"v", 5, 12>, i, i, i, known)));
};
inline constexpr auto centered = [](auto h) { return h * tag<"t">(own::centered<"mean">(h)); };
// Fused loops and products read the maps, in place and as copies. One map reads another map.
inline constexpr auto mapped = [](auto h) {
  const auto up = tag<"t">(own::upsampled<1, 2>(slice<1, 3, 9>(h)));
  const auto turned = softmax(matmul(own::flipped<0>(h), transpose(own::rolled<1, 5>(h))));
  return square(up) * own::rolled<0, -3>(up) + matmul(turned, own::flipped<1>(h) * 0.1_c);
};
// Each operation rounds its result, and each stored number has two bytes. The gradient of a bias is summed in the
// program's type.
inline constexpr auto in_halves = [](auto h) {
  const auto half = as<own::half>(h);
  return as_real(tag<"t">(tanh(half * half)) * half + as<own::half>(param<"b", 12>) * 0.3_c);
};
inline constexpr auto in_double = [](auto h) {
  const auto wide = as<double>(h);
  return as_real(square(tag<"t">(exp(wide)) * 0.1_c) + wide * matmul(tanh(wide), as<double>(param<"b", 12, 12>)));
};

/// Uses a model three times: in a segment that stores nothing of it, in a segment that stores the tagged value, and in
/// a nested segment.
template <auto F, auto... Labels>
inline constexpr auto thrice = [] {
  constexpr auto nested = [](auto h, auto... i) {
    return ckpt<"inner", allow_useless>(F, h | nn::linear<"w1", 12>, i...) | nn::sigmoid | nn::linear<"w2", 12>;
  };
  const auto h = x | nn::linear<"in", 12> | nn::tanh;
  const auto a = ckpt<"bare", allow_useless>(block<"a">(F), h, Labels...);
  const auto b = ckpt<"keeping", save<"t">, allow_useless>(block<"b">(F), a | nn::linear<"mid", 12>, Labels...);
  return classify(ckpt<"outer", allow_useless>(block<"c">(nested), b, Labels...));
}();

}  // namespace models
