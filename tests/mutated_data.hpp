// Damaged files of data: CSV, .npy, CIFAR and IDX. A reader must accept or reject each of them, with little memory.
#pragma once

#include "cairn/data/cifar.hpp"
#include "cairn/data/csv.hpp"
#include "cairn/data/idx.hpp"
#include "cairn/data/npy.hpp"

#include "mutated.hpp"

namespace mutated {

inline void expect(bool holds, const char* what) {
  if (!holds) throw std::logic_error(what);
}
/// Reads a file of data whose damage depends only on the number.
inline void read_data(trial& to, std::uint64_t number) {
  namespace data = cairn::data;
  static const std::string table = "a,\"b\",kind\n1,2.5e3,x\n-3,4,\"y, z\"\r\n5,6,x\n";
  static const std::string picture(3072, '\7');
  static const auto npy = [](std::string header, std::string_view bytes) {
    header.resize(118, ' ');
    return "\x93NUMPY\1" + std::string({'\0', 118, '\0'}) + header + std::string(bytes);
  };
  static const std::string array =
      npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1, 3), }", "0123456789abcdef01234567");
  static const std::string indexed = std::string({0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3}) + "abcdef";

  draws draw = draws_of(number);
  const auto read = [&](const std::string& sound, auto check) {
    to.read<data::file_error>(with_errors(sound, draw), check);
  };
  switch (number % 4) {
    case 0:
      return read(table, [](const std::string& path) {
        const data::table found = data::read_csv(path, {.label = "kind"});
        const std::size_t columns = found.columns.size();
        expect(found.values.size() == found.labels.size() * columns, "a table with other rows than labels");
        for (const std::int32_t label : found.labels)
          expect(label >= 0 && label < found.classes, "a label that no class has");
      });
    case 1:
      return read(array, [](const std::string& path) {
        const auto found = data::read_npy<double>(path);
        std::int64_t elements = 1;
        for (const std::int64_t extent : found.extents) elements *= extent;
        expect(elements == std::ssize(found.values), "an array with other extents than elements");
      });
    case 2:
      return read('\1' + picture + '\2' + picture, [](const std::string& path) {
        const data::dataset found = data::read_cifar(path, 10);
        expect(std::ssize(found.images) == found.size() * 3072, "a picture without a label");
      });
    default:
      return read(indexed, [](const std::string& path) {
        const auto found = data::read_idx(path);
        std::int64_t elements = 1;
        for (const std::int64_t extent : found.extents) elements *= extent;
        expect(elements == std::ssize(found.values), "an array with other extents than elements");
      });
  }
}

}  // namespace mutated
