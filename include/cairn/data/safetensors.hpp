// Reads one array of a safetensors file. `step.load` reads all tensors of a program, and `file::reader` reads all
// tensors of a file. The header needs nlohmann's JSON parser (Debian's nlohmann-json3-dev).
#pragma once

#include "cairn/base/macros_aside.hpp"
#include "cairn/data/dataset.hpp"
#include "cairn/data/fits.hpp"
#include "cairn/file/safetensors.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace cairn::data {

/// Reads one array of a file that PyTorch's `save_file` wrote, and converts its numbers to T:
/// `read_safetensors<float>("batch.safetensors", "images")`. The file has numbers of type F32, F64, F16, BF16, I32 or
/// I64. Only this array is read. Throws file::file_error
/// - if the file cannot be read, breaks a rule of the format, or has no array of this name;
/// - if the array has elements of another type;
/// - if a number does not fit: a whole number that T does not have, a fraction for a whole T, or a finite number that
///   would become infinite.
template <class T>
  requires detail::a_number<T>
array<T> read_safetensors(const std::string& path, std::string_view name) {
  const file::detail::opened in(path);
  const auto at = std::ranges::find(in.entries, name, [](const auto& entry) -> auto& { return entry.about.name; });
  const std::string tensor = detail::text_of({"a tensor ", file::detail::shown(name)});
  if (at == in.entries.end()) refuse(file::file_error(path, tensor, "a file without it"));
  const file::dtype type = at->about.type;
  if (!file::detail::has_numbers(type))
    refuse(file::file_error(path, detail::text_of({tensor, " of ", file::detail::names_of_number_types}),
                            file::detail::name_of(type)));
  std::vector<std::byte> bytes(at->end - at->begin);
  in.read_data(at->begin, bytes);
  const std::size_t count = bytes.size() * 8 / static_cast<std::size_t>(file::detail::bits_of(type));
  array<T> read{at->about.shape, std::vector<T>(count)};
  file::detail::with_element(type, bytes.size(), count, [&](auto element) {
    using number = std::conditional_t<std::is_class_v<decltype(element)>, float, decltype(element)>;
    for (std::size_t i = 0; i < count; ++i) {
      std::memcpy(&element, bytes.data() + i * sizeof element, sizeof element);
      const auto x = static_cast<number>(element);
      if (!detail::fits_in<T>(x))
        refuse(file::file_error(path, detail::text_of({tensor, " of ", detail::what_fits<T>}),
                                detail::text_of({cairn::detail::exact(x), " as element ", std::to_string(i)})));
      read.values[i] = static_cast<T>(x);
    }
  });
  return read;
}

}  // namespace cairn::data

#include "cairn/base/macros_back.hpp"
