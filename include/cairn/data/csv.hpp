// Reads tables of numbers from CSV files.
#pragma once

#include "cairn/base/macros_aside.hpp"
#include "cairn/base/read_number.hpp"
#include "cairn/data/dataset.hpp"
#include "cairn/data/read_file.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cairn::data {

struct csv_options {
  char separator = ',';
  bool has_header = true;  ///< the first line has the names of the columns; otherwise they are "0", "1" and so on
  std::string label = {};  ///< name of the column that has the classes; if it is empty, there are no classes
};

namespace detail {
/// Returns names as messages show them.
[[gnu::cold]] inline std::string quoted(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += text_of({text.empty() ? "\"" : " \"", name, "\""});
  return text;
}
}  // namespace detail

/// A table of numbers, and a class for each row if a column was named as the label.
struct table {
  std::vector<std::string> columns;  ///< names of the columns of numbers
  std::vector<float> values;         ///< {rows, columns}, row-major
  std::vector<std::int32_t> labels;  ///< one for each row, below `classes`; or none
  int classes = 0;
  std::vector<std::string> class_names;  ///< the text of each class; empty if the file has numbers

  /// Returns the numbers of a column. Throws std::invalid_argument if there is no such column.
  std::vector<float> column(std::string_view name) const {
    const auto at = static_cast<std::size_t>(std::ranges::find(columns, name) - columns.begin());
    if (at == columns.size())
      refuse(std::invalid_argument(
          detail::text_of({"cairn: column ", name, ": expected one of ", detail::quoted(columns)})));
    std::vector<float> numbers;
    for (std::size_t i = at; i < values.size(); i += columns.size()) numbers.push_back(values[i]);
    return numbers;
  }
  /// Returns the rows as labelled examples, for `batches`. Throws size_error if the table has no labels.
  dataset examples() const {
    if (labels.empty()) refuse(size_error("labels; read_csv takes the name of their column, labels", 1, 0));
    return {values, labels, static_cast<int>(columns.size()), classes};
  }
};

namespace detail {

/// Splits the text of a file into fields. A field in quotes may hold separators, ends of lines, and quotes that are
/// written twice.
class csv_parser {
 public:
  csv_parser(const std::string& path, std::string_view text, char separator)
      : path_(path), left_(text), separator_(separator) {}

  bool has_line() const { return !left_.empty(); }
  /// Returns the number of the line in the file that was read last, counted from 1.
  std::int64_t line() const { return line_; }

  /// Reads the fields of the next line, without spaces around them.
  void read_line(std::vector<std::string>& fields) {
    line_ = next_line_;
    fields.clear();
    do fields.push_back(read_field());
    while (take(separator_));
    static_cast<void>(take('\r'));
    if (!left_.empty() && !take('\n')) fail("a separator behind a quote");
    ++next_line_;
  }
  [[noreturn, gnu::cold]] void fail(std::string_view wanted, std::string_view column = {},
                                    std::string_view found = "another character") const {
    const std::string place = text_of({" in line ", text_of(line_), column.empty() ? "" : ", column ", column});
    refuse(file_error(path_, text_of({wanted, place}), found));
  }

 private:
  bool take(char c) {
    if (!left_.starts_with(c)) return false;
    left_.remove_prefix(1);
    return true;
  }
  std::string read_field() {
    while (separator_ != ' ' && take(' ')) {
    }
    if (take('"')) return read_quoted();
    const char ends[] = {separator_, '\r', '\n'};
    std::string_view field = left_.substr(0, left_.find_first_of(std::string_view(ends, 3)));
    left_.remove_prefix(field.size());
    field = field.substr(0, field.find_last_not_of(' ') + 1);
    return std::string(field);
  }
  std::string read_quoted() {
    std::string field;
    while (true) {
      const std::size_t end = left_.find('"');
      if (end == left_.npos) fail("an end of the quotes", {}, "the end of the file");
      field += left_.substr(0, end);
      left_.remove_prefix(end + 1);
      if (!take('"')) break;
      field += '"';
    }
    next_line_ += std::ranges::count(field, '\n');
    while (separator_ != ' ' && take(' ')) {
    }
    return field;
  }

  const std::string& path_;
  std::string_view left_;
  char separator_;
  std::int64_t line_ = 0, next_line_ = 1;
};

/// Sets the labels of a table. Whole numbers from 0 on are the classes themselves. Other texts are numbered in the
/// order of their bytes.
inline void set_labels(table& to, const std::vector<std::string>& texts) {
  std::int32_t label = 0;
  const bool are_numbers = std::ranges::all_of(texts, [&](const std::string& text) {
    return cairn::detail::is_number(text, label) && label >= 0 && label < std::numeric_limits<std::int32_t>::max();
  });
  if (!are_numbers) {
    to.class_names = texts;
    std::ranges::sort(to.class_names);
    to.class_names.erase(std::ranges::unique(to.class_names).begin(), to.class_names.end());
  }
  for (const std::string& text : texts) {
    if (are_numbers) static_cast<void>(cairn::detail::is_number(text, label));
    else label = static_cast<std::int32_t>(std::ranges::lower_bound(to.class_names, text) - to.class_names.begin());
    to.labels.push_back(label);
    to.classes = std::max(to.classes, label + 1);
  }
}

/// Returns the names of all columns, of which `fields` are the first line.
inline std::vector<std::string> column_names(const csv_parser& lines, std::vector<std::string> fields,
                                             bool has_header) {
  float number = 0;
  if (has_header && std::ranges::all_of(fields, [&](auto& field) { return cairn::detail::is_number(field, number); }))
    lines.fail("names of columns, or .has_header = false", {}, "numbers");
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (!has_header) fields[i] = std::to_string(i);
    const auto own = fields.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::find(fields.begin(), own, *own) != own)
      lines.fail("columns of different names", {}, text_of({"two called ", *own}));
  }
  return fields;
}
}  // namespace detail

/// Reads a table of numbers from a file of lines whose fields are separated by commas, or by another character: `auto
/// flowers = data::read_csv("iris.csv", {.label = "species"})`. Numbers have decimal points in every locale. Fields may
/// stand in quotes, lines may end with \r\n, and empty lines are skipped.
///
/// If `label` names a column, its fields are the classes. If all of them are whole numbers from 0 on, they are the
/// numbers of the classes. Otherwise each text is a class, and classes are in the order of their bytes.
///
/// Throws option_error for a separator that numbers, quotes or lines have. Throws file_error in these cases:
/// - The file cannot be read, or has no row.
/// - Two columns have one name, no column has the name `label`, or the first line should have names and has numbers.
/// - A line has too few or too many fields, or a field is not a number that a float holds. The message names the line
///   and the column.
inline table read_csv(const std::string& path, const csv_options& options = {}) {
  const char separator = options.separator;
  if (std::isalnum(static_cast<unsigned char>(separator)) != 0 ||
      std::string_view("+-.\"\r\n").find(separator) != std::string_view::npos)
    refuse(option_error("separator, as a number", "a character that no number, quote or line has", separator));
  const std::string text = read_file(path);
  std::string_view all = text;
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  if (all.starts_with(byte_order_mark)) all.remove_prefix(byte_order_mark.size());
  detail::csv_parser lines(path, all, separator);
  std::vector<std::string> fields, names, texts;
  table read;
  while (lines.has_line()) {
    lines.read_line(fields);
    if (fields.size() == 1 && fields[0].empty()) continue;
    if (names.empty()) {
      names = detail::column_names(lines, fields, options.has_header);
      read.columns = names;
      if (!options.label.empty() && std::erase(read.columns, options.label) == 0)
        refuse(file_error(path, detail::text_of({"a column ", options.label}), detail::quoted(names)));
      if (options.has_header) continue;
    }
    if (fields.size() != names.size())
      lines.fail(detail::text_of({std::to_string(names.size()), " fields"}), {}, std::to_string(fields.size()));
    for (std::size_t i = 0; i < fields.size(); ++i) {
      float number = 0;
      const bool is_label = !options.label.empty() && names[i] == options.label;
      if (is_label && fields[i].empty()) lines.fail("a class", names[i], "nothing");
      else if (is_label) texts.push_back(fields[i]);
      else if (cairn::detail::is_number(fields[i], number)) read.values.push_back(number);
      else lines.fail("a number", names[i], detail::text_of({"\"", fields[i], "\""}));
    }
  }
  if (read.values.empty() && texts.empty()) refuse(file_error(path, "a row of numbers", "none"));
  detail::set_labels(read, texts);
  return read;
}

}  // namespace cairn::data

#include "cairn/base/macros_back.hpp"
