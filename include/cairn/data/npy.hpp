// Reads arrays that NumPy saved.
#pragma once

#include "cairn/base/macros_aside.hpp"
#include "cairn/data/dataset.hpp"
#include "cairn/data/fits.hpp"
#include "cairn/data/read_file.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace cairn::data {

namespace detail {

/// The header of a .npy file.
struct npy_header {
  std::string_view type;  ///< kind and bytes of an element, such as "f4"
  bool is_big_endian = false;
  std::vector<std::int64_t> extents;
  std::int64_t elements = 1;
};

/// Parses the text of a header, a Python dictionary with three keys: {'descr': '<f4', 'fortran_order': False, 'shape':
/// (3, 2), }.
class npy_parser {
 public:
  npy_parser(const std::string& path, std::string_view text) : path_(path), left_(text) {}

  npy_header header() {
    npy_header found;
    expect("{");
    for (int key = 0; key < 3; ++key) {
      if (take("'descr'")) expect(":"), read_type(found);
      else if (take("'fortran_order'")) expect(":"), read_order();
      else if (take("'shape'")) expect(":"), read_shape(found);
      else fail();
      if (!take(",")) break;
    }
    expect("}");
    if (!has_type_ || !has_order_ || !has_shape_ || left_.find_first_not_of(" \n") != left_.npos) fail();
    if (is_fortran_ && found.extents.size() > 1)
      refuse(file_error(path_, "rows one after another; save numpy.ascontiguousarray(x)", "an array in Fortran order"));
    return found;
  }

 private:
  [[noreturn]] void fail() const {
    refuse(file_error(path_, "a header of NumPy's with descr, fortran_order and shape", "another"));
  }
  bool take(std::string_view word) {
    left_.remove_prefix(std::min(left_.find_first_not_of(' '), left_.size()));
    if (!left_.starts_with(word)) return false;
    left_.remove_prefix(word.size());
    return true;
  }
  void expect(std::string_view word) {
    if (!take(word)) fail();
  }
  void read_type(npy_header& to) {
    expect("'");
    const std::size_t end = left_.find('\'');
    if (std::exchange(has_type_, true) || end == left_.npos || end < 3) fail();
    to.is_big_endian = left_[0] == '>';
    if (!to.is_big_endian && left_[0] != '<' && left_[0] != '|') fail();
    to.type = left_.substr(1, end - 1);
    left_.remove_prefix(end + 1);
  }
  void read_order() {
    if (std::exchange(has_order_, true)) fail();
    is_fortran_ = take("True");
    if (!is_fortran_) expect("False");
  }
  void read_shape(npy_header& to) {
    if (std::exchange(has_shape_, true)) fail();
    expect("(");
    std::int64_t counted = 1;  // the product of the extents above 0
    while (!take(")")) {
      std::int64_t extent = 0;
      const auto [end, error] = std::from_chars(left_.data(), left_.data() + left_.size(), extent);
      constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max() / 16;  // so that bytes can be counted
      if (error != std::errc{} || extent < 0 || extent > most / counted) fail();
      counted *= std::max<std::int64_t>(extent, 1);
      left_.remove_prefix(static_cast<std::size_t>(end - left_.data()));
      to.extents.push_back(extent);
      to.elements *= extent;
      if (!take(",")) {
        expect(")");
        break;
      }
    }
  }

  const std::string& path_;
  std::string_view left_;
  bool has_type_ = false, has_order_ = false, has_shape_ = false, is_fortran_ = false;
};

/// A number of 16 bits with five bits of exponent, as NumPy's float16 has them.
struct half {
  std::uint16_t bits;

  float number() const {
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    const float size = exponent == 31  ? (fraction == 0 ? std::numeric_limits<float>::infinity() : std::nanf(""))
                       : exponent == 0 ? std::ldexp(static_cast<float>(fraction), -24)
                                       : std::ldexp(static_cast<float>(1024 + fraction), exponent - 25);
    return bits >> 15 == 0 ? size : -size;
  }
};

/// A truth value of NumPy's, whose byte may be any number.
struct truth {
  std::uint8_t byte;
  std::uint8_t number() const { return byte != 0; }
};

/// Converts the elements of a .npy file from the type `From`.
template <class From, class T>
void convert_npy(const std::string& path, std::string_view bytes, bool is_big_endian, std::vector<T>& to) {
  if (const std::size_t wanted = to.size() * sizeof(From); bytes.size() != wanted)
    refuse(file_error(path, text_of({std::to_string(wanted), " bytes of data"}), std::to_string(bytes.size())));
  for (std::size_t i = 0; i < to.size(); ++i) {
    std::array<char, sizeof(From)> one{};
    std::ranges::copy(bytes.substr(i * sizeof(From), sizeof(From)), one.begin());
    if (is_big_endian != (std::endian::native == std::endian::big)) std::ranges::reverse(one);
    const auto x = [of_file = std::bit_cast<From>(one)] {
      if constexpr (std::is_class_v<From>) return of_file.number();
      else return of_file;
    }();
    if (!fits_in<T>(x))
      refuse(file_error(path, what_fits<T>, text_of({cairn::detail::exact(x), " as element ", std::to_string(i)})));
    to[i] = static_cast<T>(x);
  }
}

}  // namespace detail

/// Reads an array that numpy.save wrote, and converts its numbers to T: `read_npy<float>("x.npy")`,
/// `read_npy<std::int32_t>("labels.npy")`. The file has numbers of 1 to 8 bytes, whole or real, signed or not, or truth
/// values. Throws file_error
/// - if the file cannot be read, is damaged, or has other elements, such as texts;
/// - if the array is in Fortran order and has more than one axis;
/// - if a number does not fit: a whole number that T does not have, a fraction for a whole T, or a finite number that
///   would become infinite.
template <class T>
  requires detail::a_number<T>
array<T> read_npy(const std::string& path) {
  const std::string file = read_file(path);
  constexpr std::string_view magic = "\x93NUMPY";
  const auto byte = [&](std::size_t i) { return std::size_t{static_cast<unsigned char>(file[i])}; };
  if (!file.starts_with(magic) || file.size() < 12 || byte(6) < 1 || byte(6) > 3)
    refuse(file_error(path, "a .npy file of version 1, 2 or 3", "another file"));
  const bool is_short = byte(6) == 1;
  const std::size_t begin = is_short ? 10 : 12;
  const std::size_t length =
      is_short ? byte(8) | byte(9) << 8 : byte(8) | byte(9) << 8 | byte(10) << 16 | byte(11) << 24;
  if (length > file.size() - begin) refuse(file_error(path, "a whole header", "an early end"));
  const detail::npy_header header = detail::npy_parser(path, std::string_view(file).substr(begin, length)).header();

  const std::string_view bytes = std::string_view(file).substr(begin + length);
  array<T> read{header.extents, {}};
  // Memory is allocated only for elements that the file has: each has at least one byte.
  if (static_cast<std::uint64_t>(header.elements) > bytes.size())
    refuse(file_error(path, detail::text_of({detail::text_of(header.elements), " elements"}),
                      detail::text_of({std::to_string(bytes.size()), " bytes"})));
  read.values.resize(static_cast<std::size_t>(header.elements));
  const auto is = [&]<class From>(std::string_view type, std::type_identity<From>) {
    if (header.type != type) return false;
    detail::convert_npy<From>(path, bytes, header.is_big_endian, read.values);
    return true;
  };
  using std::type_identity;
  const bool is_known = is("f4", type_identity<float>{}) || is("f8", type_identity<double>{}) ||
                        is("f2", type_identity<detail::half>{}) || is("b1", type_identity<detail::truth>{}) ||
                        is("u1", type_identity<std::uint8_t>{}) || is("i1", type_identity<std::int8_t>{}) ||
                        is("u2", type_identity<std::uint16_t>{}) || is("i2", type_identity<std::int16_t>{}) ||
                        is("u4", type_identity<std::uint32_t>{}) || is("i4", type_identity<std::int32_t>{}) ||
                        is("u8", type_identity<std::uint64_t>{}) || is("i8", type_identity<std::int64_t>{});
  if (!is_known)
    refuse(file_error(path, "numbers", detail::on_one_line(detail::text_of({"elements of type ", header.type}))));
  return read;
}

}  // namespace cairn::data

#include "cairn/base/macros_back.hpp"
