// Computes arrays of random numbers. Each number is made of the random word of its element.
#pragma once

#include "cairn/kernel/functions.hpp"
#include "cairn/kernel/halves.hpp"
#include "cairn/kernel/random.hpp"
#include "cairn/kernel/run.hpp"
#include "cairn/kernel/threads.hpp"
#include "cairn/op/random_numbers.hpp"

namespace cairn::kernels {

/// Random words, one for each number of a register of type V.
template <class V>
struct words_of {
  using type [[gnu::vector_size(4 * V::width)]] = std::uint32_t;
  using whole [[gnu::vector_size(4 * V::width)]] = std::int32_t;

  [[gnu::always_inline]] static type load(const std::uint32_t* from) {
    type words;
    std::memcpy(&words, from, sizeof words);
    return words;
  }
  /// Returns the words as numbers. All words are below 2^31, because processors convert signed words faster.
  [[gnu::always_inline]] static V numbers(type words) {
    return {__builtin_convertvector(reinterpret_cast<whole>(words), typename V::vector)};
  }
};

/// Returns the numbers that a law makes of random words.
template <class V>
[[gnu::always_inline]] inline V numbers_of(lang::uniform_law, const std::uint32_t* words) {
  using in = words_of<V>;
  return in::numbers(in::load(words) >> 8) * function_parts::either<V>(0x1p-24);
}
template <class V, double P>
[[gnu::always_inline]] inline V numbers_of(lang::bernoulli_law<P>, const std::uint32_t* words) {
  const V one = V::fill(1);
  return one - where_at_least(one, words, static_cast<std::uint32_t>(P * 0x1p32));
}
/// Computes quantiles of the normal distribution (M. J. Wichura, algorithm AS 241, 1988). The first bit of a word says
/// whether the number is positive. The other 31 bits are a whole number n, and the size of the number is the quantile
/// of 1/2 + (n + 1/2) / 2^32. The probability of larger numbers, `beyond`, is computed from 2^31 - 1 - n, so that it
/// has all of its digits. `beyond` is at least 2^-33, so no number is infinite.
template <class V>
[[gnu::always_inline]] inline V numbers_of(lang::normal_law, const std::uint32_t* words) {
  using namespace function_parts;
  using in = words_of<V>;
  constexpr std::array middle_floats{59.109374720, 159.29113202, 50.434271938, 3.3871327179};
  constexpr std::array under_middle_floats{67.187563600, 78.757757664, 17.895169469, 1.0};
  constexpr std::array tail_floats{0.17023821103, 1.3067284816, 2.7568153900, 1.4234372777};
  constexpr std::array under_tail_floats{0.12021132975, 0.73700164250, 1.0};
  constexpr std::array middle_doubles{2509.0809287301226727, 33430.575583588128105, 67265.770927008700853,
                                      45921.953931549871457, 13731.693765509461125, 1971.5909503065514427,
                                      133.14166789178437745, 3.387132872796366608};
  constexpr std::array under_middle_doubles{
      5226.495278852854561,  28729.085735721942674, 39307.89580009271061,  21213.794301586595867,
      5394.1960214247511077, 687.1870074920579083,  42.313330701600911252, 1.0};
  constexpr std::array tail_doubles{7.7454501427834140764e-4, 0.0227238449892691845833, 0.24178072517745061177,
                                    1.27045825245236838258,   3.64784832476320460504,   5.7694972214606914055,
                                    4.6303378461565452959,    1.42343711074968357734};
  constexpr std::array under_tail_doubles{
      1.05075007164441684324e-9, 5.475938084995344946e-4, 0.0151986665636164571966, 0.14810397642748007459,
      0.68976733498510000455,    1.6763848301838038494,   2.05319162663775882187,   1.0};
  constexpr std::uint32_t sizes = 0x7fffffff;
  const auto drawn = in::load(words), size = drawn & sizes;
  const V half = either<V>(0.5), scale = either<V>(0x1p-32);
  const V from_middle = (in::numbers(size) + half) * scale, beyond = (in::numbers(sizes - size) + half) * scale;
  const V m = either<V>(0.180625) - from_middle * from_middle, t = sqrt(-log(beyond)) - either<V>(1.6);
  const auto is_tail = greater(from_middle, either<V>(0.425));
  const V over = select(is_tail, polynomial(tail_floats, tail_doubles, t),
                        from_middle * polynomial(middle_floats, middle_doubles, m));
  const V under = select(is_tail, polynomial(under_tail_floats, under_tail_doubles, t),
                         polynomial(under_middle_floats, under_middle_doubles, m));
  const V signs = in::numbers((drawn >> 31) * 2) - V::fill(1);
  return over / under * signs;
}

/// Rounds numbers to bf16 and stores them. Uniform numbers are rounded toward zero, because they are below 1.
template <class Law, class Made>
[[gnu::always_inline]] inline void store_drawn(Law, lanes<sum_of<Made>> x, Made* row, std::int64_t i, std::int64_t n) {
  if constexpr (std::is_same_v<Made, bf16> && std::is_same_v<Law, lang::uniform_law>)
    x = from_bits<lanes<float>>(bits(x) & 0xffff0000U);
  store_row(x, row, i, n);
}

/// The work of an element, in operations: 200 for its random word, 400 for a number made of it, and 40 for writing it.
inline constexpr std::int64_t drawing = 200 + 400 + 40;

/// Draws `count` numbers of a law.
template <class Law, class Made>
[[gnu::noinline]] void draw_numbers(Law law, const random_stream& stream, Made* out, std::int64_t count, int threads) {
  using vec = lanes<sum_of<Made>>;
  static_assert(drawn_at_once % vec::width == 0);
  const std::int64_t first = stream.part * count;
  shares{drawing * count, count, drawn_at_once}(threads, [=, &stream](costs::range own) {
    alignas(64) std::uint32_t words[2 * drawn_at_once];
    for (std::int64_t i = own.begin; i < own.end; i += drawn_at_once) {
      const std::uint32_t* const drawn = draw_from(stream, first + i, words);
      for (int j = 0; j < drawn_at_once && i + j < count; j += vec::width)
        store_drawn(law, numbers_of<vec>(law, drawn + j), out, i + j, count);
    }
  });
}

}  // namespace cairn::kernels

namespace cairn::lang {

template <class Law, int... Extents, class Real, class Key>
void compute(random_numbers_op<Law, Extents...>, signature<Real, Key>, void* const* p, const kernels::launch& how) {
  constexpr std::int64_t count = tensor<element_type{}, Extents...>::shape.count();
  static_assert(count <= std::int64_t{1} << 34, "a random operation draws at most 2^34 numbers");
  kernels::draw_numbers(Law{}, *static_cast<const random_stream*>(p[1]), static_cast<kernels::made_of<Real>*>(p[0]),
                        count, how.threads);
}

}  // namespace cairn::lang
