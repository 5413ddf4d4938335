// Numbers of a program as elements of a file, and back.
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
  std::vector<T> to(from.bytes.size() * 8 / static_cast<std::size_t>(file::bits_of(from.type)));
  file::copy_numbers(from, std::span(to));
  return to;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(file_numbers_suite)

BOOST_AUTO_TEST_CASE(rounds_to_bf16_as_pytorch) {
  const file::reader saved(kept_file("torch.safetensors"));
  const auto exact = numbers<float>(*saved.find("exact"));
  const file::tensor& rounded = *saved.find("rounded");
  std::vector<std::byte> ours(rounded.bytes.size());
  file::copy_numbers(std::span(exact), file::dtype::bf16, ours);
  const auto theirs = numbers<float>(rounded);
  const auto back = numbers<float>(file::tensor{"", file::dtype::bf16, {}, ours});
  for (std::size_t i = 0; i + 1 < exact.size(); ++i) BOOST_TEST(back[i] == theirs[i]);
  BOOST_TEST(std::isnan(exact.back()));
  BOOST_TEST(std::isnan(back.back()));
}

BOOST_AUTO_TEST_CASE(rounds_doubles_once) {
  const auto bf16_of = [](double number) {
    std::array<std::byte, 2> bytes{};
    file::copy_numbers(std::span<const double>(&number, 1), file::dtype::bf16, bytes);
    return numbers<double>(file::tensor{"", file::dtype::bf16, {}, bytes})[0];
  };
  constexpr double half = 0x1p-8;  // of the last place of 1
  BOOST_TEST(bf16_of(1 + half) == 1);
  BOOST_TEST(bf16_of(1 + 3 * half) == 1 + 4 * half);
  BOOST_TEST(bf16_of(1 + half + 0x1p-40) == 1 + 2 * half);  // as a float it would be the middle
  BOOST_TEST(bf16_of(1 + 3 * half - 0x1p-40) == 1 + 2 * half);
  BOOST_TEST(bf16_of(-1 - half - 0x1p-40) == -1 - 2 * half);
  BOOST_TEST(bf16_of(1e300) == std::numeric_limits<double>::infinity());
  BOOST_TEST(std::signbit(bf16_of(-1e-300)));
  BOOST_TEST(bf16_of(-1e-300) == 0);
  BOOST_TEST(std::isnan(bf16_of(std::nan(""))));
  for (unsigned bits = 0; bits < 1U << 16; ++bits) {  // what bf16 has stays as it is
    const float number = std::bit_cast<float>(bits << 16);
    if (!std::isnan(number)) BOOST_REQUIRE((bf16_of(static_cast<double>(number)) == static_cast<double>(number)));
  }
}

BOOST_AUTO_TEST_CASE(copies_whole_numbers_only_where_they_are) {
  std::array<std::byte, 8> bytes{};
  const auto i64_of = [&bytes](auto number) {
    file::copy_numbers(std::span<const decltype(number)>(&number, 1), file::dtype::i64, bytes);
    return std::bit_cast<std::int64_t>(bytes);
  };
  BOOST_TEST(i64_of(-0x1p63) == std::numeric_limits<std::int64_t>::min());
  BOOST_TEST(i64_of(0x1p53) == std::int64_t{1} << 53);
  BOOST_TEST(i64_of(-3.0F) == -3);
  for (const double number : {0.5, 0x1p63, -0x1p64, std::nan(""), std::numeric_limits<double>::infinity()}) {
    BOOST_CHECK_EXCEPTION(i64_of(number), file::number_error,
                          [](const auto& e) { return e.expected == "whole numbers of 64 bits"; });
    BOOST_CHECK_THROW(i64_of(static_cast<float>(number)), file::number_error);
  }
  std::array<std::byte, 4> four{};
  const double large = 0x1p31;
  BOOST_CHECK_THROW(file::copy_numbers(std::span(&large, 1), file::dtype::i32, four), file::number_error);
  // Others are as many as there are bytes, and of types that have numbers.
  float number = 0;
  BOOST_CHECK_EXCEPTION(file::copy_numbers({"a", file::dtype::f32, {2}, bytes}, std::span(&number, 1)),
                        file::number_error, [](const auto& e) { return e.expected == "2 numbers" && e.actual == "1"; });
  BOOST_CHECK_EXCEPTION(file::copy_numbers({"a", file::dtype::u64, {1}, bytes}, std::span(&number, 1)),
                        file::number_error,
                        [](const auto& e) { return e.expected == "F32, F64, BF16, I32 or I64" && e.actual == "U64"; });
}

BOOST_AUTO_TEST_SUITE_END()
