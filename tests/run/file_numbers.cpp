// Converts the elements of a file to the numbers of a program.
#include "cairn/file/safetensors.hpp"

#include <array>
#include <bit>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "folder.hpp"

namespace file = cairn::file;

namespace {

template <class T>
std::vector<T> numbers(const file::tensor& from) {
  std::vector<T> to(from.bytes.size() * 8 / static_cast<std::size_t>(file::detail::bits_of(from.type)));
  file::copy_numbers(from, std::span(to));
  return to;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(file_numbers_suite)

BOOST_AUTO_TEST_CASE(reads_bf16_of_pytorch) {
  const file::reader saved(kept_file("torch.safetensors"));
  const auto exact = numbers<float>(*saved.find("exact")), read = numbers<float>(*saved.find("rounded"));
  for (std::size_t i = 0; i < 9; ++i) BOOST_TEST(read[i] == (exact[i] <= 1 + 0x1p-8F ? 1 : 1 + 0x1p-7F));
  BOOST_TEST(read[9] == -3.09375F);  // -3.1, rounded
  BOOST_TEST(read.end()[-2] == -std::numeric_limits<float>::infinity());
  BOOST_TEST(std::isnan(read.back()));
}

BOOST_AUTO_TEST_CASE(reads_all_of_bf16) {
  for (unsigned bits = 0; bits < 1U << 16; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const file::tensor one{"", file::dtype::bf16, {}, std::as_bytes(std::span(&half, 1))};
    const float number = std::bit_cast<float>(bits << 16);
    BOOST_REQUIRE((numbers<float>(one)[0] == number || std::isnan(number)));
    BOOST_REQUIRE((numbers<double>(one)[0] == static_cast<double>(number) || std::isnan(number)));
    BOOST_REQUIRE(std::isnan(numbers<double>(one)[0]) == std::isnan(number));
  }
}

// The reference computes each number from its sign, exponent and precision.
BOOST_AUTO_TEST_CASE(reads_all_of_f16) {
  for (unsigned bits = 0; bits < 1U << 16; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const file::tensor one{"", file::dtype::f16, {}, std::as_bytes(std::span(&half, 1))};
    const int exponent = static_cast<int>(bits >> 10 & 31U), precision = static_cast<int>(bits & 1023U);
    double number = exponent == 0    ? std::ldexp(precision, -24)
                    : exponent < 31  ? std::ldexp(1024 + precision, exponent - 25)
                    : precision == 0 ? std::numeric_limits<double>::infinity()
                                     : std::numeric_limits<double>::quiet_NaN();
    if (bits >> 15 != 0) number = -number;
    const double wide = numbers<double>(one)[0];
    const float narrow = numbers<float>(one)[0];
    const auto rounded = static_cast<float>(numbers<cairn::bf16>(one)[0]);
    if (std::isnan(number)) {
      BOOST_REQUIRE((std::isnan(wide) && std::isnan(narrow) && std::isnan(rounded)));
      continue;
    }
    BOOST_REQUIRE(std::bit_cast<std::uint64_t>(wide) == std::bit_cast<std::uint64_t>(number));
    BOOST_REQUIRE(std::bit_cast<std::uint32_t>(narrow) == std::bit_cast<std::uint32_t>(static_cast<float>(number)));
    BOOST_REQUIRE(rounded == static_cast<float>(cairn::bf16(number)));
  }
}

BOOST_AUTO_TEST_CASE(wrong_counts_and_types_without_numbers_are_refused) {
  const std::array<std::byte, 8> bytes{};
  float number = 0;
  BOOST_CHECK_EXCEPTION(file::copy_numbers({"a", file::dtype::f32, {2}, bytes}, std::span(&number, 1)),
                        file::number_error, [](const auto& e) { return e.expected == "2 numbers" && e.actual == "1"; });
  BOOST_CHECK_EXCEPTION(
      file::copy_numbers({"a", file::dtype::u64, {1}, bytes}, std::span(&number, 1)), file::number_error,
      [](const auto& e) { return e.expected == "F32, F64, F16, BF16, I32 or I64" && e.actual == "U64"; });
}

template <class From>
std::uint16_t bf16_of(From number) {
  const file::tensor one{
      "", std::is_same_v<From, double> ? file::dtype::f64 : file::dtype::i64, {}, std::as_bytes(std::span(&number, 1))};
  return numbers<cairn::bf16>(one)[0].bits;
}
// For bf16 and 64 bits, a number may lie above the middle of two neighbours only by its last bit.
BOOST_AUTO_TEST_CASE(whole_numbers_become_the_nearest_bf16) {
  for (int top = 9; top < 63; ++top) {
    // `half` is half the distance between two neighbours in bf16.
    const std::int64_t one = std::int64_t{1} << top, half = one >> 8;
    const std::uint16_t below = cairn::bf16(static_cast<double>(one)).bits;
    BOOST_TEST(bf16_of(one + half) == below);  // a tie is rounded to the even neighbour
    BOOST_TEST(bf16_of(one + half + 1) == below + 1);
    BOOST_TEST(bf16_of(one + half - 1) == below);
    BOOST_TEST(bf16_of(one + 3 * half) == below + 2);
    BOOST_TEST(bf16_of(one + 3 * half - 1) == below + 1);
    BOOST_TEST(bf16_of(-(one + half + 1)) == ((below + 1) | 0x8000));
    BOOST_TEST(bf16_of(-(one + half - 1)) == (below | 0x8000));
  }
  constexpr auto least = std::numeric_limits<std::int64_t>::min(), most = std::numeric_limits<std::int64_t>::max();
  BOOST_TEST(bf16_of(least) == cairn::bf16(-0x1p63).bits);
  BOOST_TEST(bf16_of(most) == cairn::bf16(0x1p63).bits);
  BOOST_TEST(bf16_of(std::int64_t{0}) == 0);
  BOOST_TEST(bf16_of(std::int64_t{-1}) == cairn::bf16(-1.0).bits);
}

BOOST_AUTO_TEST_CASE(finite_numbers_that_would_become_infinite_are_refused) {
  const auto infinite = std::numeric_limits<double>::infinity();
  std::array<double, 3> doubles{1, infinite, 0x1.ffffffp127};  // the last would be rounded to 2^128
  const file::tensor all{"a", file::dtype::f64, {3}, std::as_bytes(std::span(doubles))};
  std::array<float, 3> to{7, 7, 7};
  BOOST_CHECK_EXCEPTION(file::copy_numbers(all, std::span(to)), file::number_error, [](const auto& e) {
    return e.expected == "numbers within the range of F32" && e.actual == "3.4028235677973366e+38";
  });
  BOOST_TEST(to[0] == 7);
  doubles[2] = 0x1.fffffeffffp127;  // the largest float is nearer
  file::copy_numbers(all, std::span(to));
  BOOST_TEST(to[2] == std::numeric_limits<float>::max());
  BOOST_TEST(std::isinf(to[1]));
  const float largest = std::numeric_limits<float>::max();
  cairn::bf16 half{};
  BOOST_CHECK_THROW(
      file::copy_numbers({"a", file::dtype::f32, {1}, std::as_bytes(std::span(&largest, 1))}, std::span(&half, 1)),
      file::number_error);
}

BOOST_AUTO_TEST_SUITE_END()
