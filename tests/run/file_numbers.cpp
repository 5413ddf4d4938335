// Elements of a file as numbers of a program.
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

BOOST_AUTO_TEST_CASE(reads_bf16_of_pytorch) {
  const file::reader saved(kept_file("torch.safetensors"));
  const auto exact = numbers<float>(*saved.find("exact")), read = numbers<float>(*saved.find("rounded"));
  for (std::size_t i = 0; i < 9; ++i) BOOST_TEST(read[i] == (exact[i] <= 1 + 0x1p-8F ? 1 : 1 + 0x1p-7F));
  BOOST_TEST(read[9] == -3.09375F);  // of -3.1
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

BOOST_AUTO_TEST_CASE(only_as_many_and_of_types_that_have_numbers) {
  const std::array<std::byte, 8> bytes{};
  float number = 0;
  BOOST_CHECK_EXCEPTION(file::copy_numbers({"a", file::dtype::f32, {2}, bytes}, std::span(&number, 1)),
                        file::number_error, [](const auto& e) { return e.expected == "2 numbers" && e.actual == "1"; });
  BOOST_CHECK_EXCEPTION(file::copy_numbers({"a", file::dtype::u64, {1}, bytes}, std::span(&number, 1)),
                        file::number_error,
                        [](const auto& e) { return e.expected == "F32, F64, BF16, I32 or I64" && e.actual == "U64"; });
}

BOOST_AUTO_TEST_SUITE_END()
