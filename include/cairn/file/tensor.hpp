// A named tensor of a file.
#pragma once

#include "cairn/base/compiler.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cairn::file {

/// The types of elements that safetensors files can have. Programs of cairn use only some of them. The types are in the
/// order of their alignment. `write` puts tensors of the largest alignment first.
enum class dtype : std::uint8_t {
  boolean,
  f4,
  f6_e2m3,
  f6_e3m2,
  u8,
  i8,
  f8_e5m2,
  f8_e4m3,
  f8_e8m0,
  f8_e4m3fnuz,
  f8_e5m2fnuz,
  i16,
  u16,
  f16,
  bf16,
  i32,
  u32,
  f32,
  c64,
  f64,
  i64,
  u64,
};

/// A named tensor.
struct tensor {
  std::string name;
  dtype type = dtype::f32;
  std::vector<std::int64_t> shape;
  /// Row-major and little-endian. The bytes belong to the reader, or to the caller that writes the file.
  std::span<const std::byte> bytes;
};

namespace detail {

/// The name of a type in files, and the number of bits of one element.
struct dtype_row {
  std::string_view name;
  int bits;
};
inline constexpr std::array<dtype_row, 22> dtypes = {{
    {"BOOL", 8},    {"F4", 4},      {"F6_E2M3", 6}, {"F6_E3M2", 6},     {"U8", 8},          {"I8", 8},
    {"F8_E5M2", 8}, {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8}, {"I16", 16},
    {"U16", 16},    {"F16", 16},    {"BF16", 16},   {"I32", 32},        {"U32", 32},        {"F32", 32},
    {"C64", 64},    {"F64", 64},    {"I64", 64},    {"U64", 64},
}};
static_assert(dtypes.size() == static_cast<std::size_t>(dtype::u64) + 1);

/// Returns the name of a type in files, for example "F32".
constexpr std::string_view name_of(dtype type) { return dtypes[static_cast<std::size_t>(type)].name; }
/// Returns the number of bits of one element. It is a multiple of 8, except for f4 and f6.
constexpr int bits_of(dtype type) { return dtypes[static_cast<std::size_t>(type)].bits; }

}  // namespace detail
}  // namespace cairn::file
