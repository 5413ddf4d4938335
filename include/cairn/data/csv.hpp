// Reads tables of numbers from CSV files.
#pragma once

#include "cairn/base/macros_aside.hpp"
#include "cairn/base/read_number.hpp"
#include "cairn/data/dataset.hpp"
#include "cairn/data/read_file.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
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
  /// Number of classes, if the labels are numbers; 0: one more than the largest label.
  int classes = 0;
  /// Texts of the classes in their order, if the labels are texts, for example those that the training set's table has.
  /// If there are none, each text of the file is a class, and classes are in the order of their bytes.
  std::vector<std::string> class_names = {};
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
    std::vector<float> numbers;
    for (std::size_t i = index_of(name); i < values.size(); i += columns.size()) numbers.push_back(values[i]);
    return numbers;
  }
  /// Removes a column, for example the numbers that a model predicts, and returns its numbers. Throws as `column` does.
  std::vector<float> take(std::string_view name) {
    std::vector<float> numbers = column(name);
    const std::size_t count = columns.size(), at = index_of(name);
    std::size_t kept = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i % count != at) values[kept++] = values[i];
    }
    values.resize(kept);
    columns.erase(columns.begin() + static_cast<std::ptrdiff_t>(at));
    return numbers;
  }
  /// Returns the rows as labelled examples, for `batches`. Throws size_error if the table has no labels.
  dataset examples() const {
    if (labels.empty()) refuse(size_error("labels of a table, whose column read_csv takes as .label", 1, 0));
    return {values, labels, static_cast<int>(columns.size()), classes};
  }

 private:
  std::size_t index_of(std::string_view name) const {
    const auto at = std::ranges::find(columns, name);
    if (at == columns.end())
      refuse(std::invalid_argument(
          detail::text_of({"cairn: column ", name, ": expected one of ", detail::quoted(columns)})));
    return static_cast<std::size_t>(at - columns.begin());
  }
};

namespace detail {

/// Splits the text of a file into fields. A field in quotes may hold separators, ends of lines, and quotes that are
/// written twice.
class csv_parser {
 public:
  csv_parser(const std::string& path, std::string_view text, char separator)
      : path_(path), left_(text), separator_(separator) {}

  /// Skips empty lines, and returns true if another line follows.
  bool has_line() {
    while (left_.starts_with('\n') || left_.starts_with("\r\n")) {
      left_.remove_prefix(left_.find('\n') + 1);
      ++next_line_;
    }
    return !left_.empty();
  }
  /// Returns the number of the line in the file that was read last, counted from 1.
  std::int64_t line() const { return line_; }

  /// Reads the fields of the next line, without spaces around them.
  void read_line(std::vector<std::string>& fields) {
    line_ = next_line_;
    fields.clear();
    do fields.push_back(read_field());
    while (take(separator_));
    const bool has_return = take('\r');
    if (!left_.empty() && !take('\n'))
      fail(has_return ? "a line feed behind a carriage return" : "a separator behind a quote", {}, "another character");
    ++next_line_;
  }
  [[noreturn, gnu::cold]] void fail(std::string_view wanted, std::string_view column, std::string_view found) const {
    fail_at(line_, wanted, column, found);
  }
  [[noreturn, gnu::cold]] void fail_at(std::int64_t line, std::string_view wanted, std::string_view column,
                                       std::string_view found) const {
    const std::string place = text_of({" in line ", text_of(line), column.empty() ? "" : ", column ", column});
    refuse(file_error(path_, on_one_line(text_of({wanted, place})), on_one_line(found)));
  }

 private:
  bool take(char c) {
    if (!left_.starts_with(c)) return false;
    left_.remove_prefix(1);
    return true;
  }
  void skip_blanks() {
    while ((separator_ != ' ' && take(' ')) || (separator_ != '\t' && take('\t'))) {
    }
  }
  std::string read_field() {
    skip_blanks();
    if (take('"')) return read_quoted();
    const char ends[] = {separator_, '\r', '\n'};
    std::string_view field = left_.substr(0, left_.find_first_of(std::string_view(ends, 3)));
    left_.remove_prefix(field.size());
    field = field.substr(0, field.find_last_not_of(" \t") + 1);
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
    skip_blanks();
    return field;
  }

  const std::string& path_;
  std::string_view left_;
  char separator_;
  std::int64_t line_ = 0, next_line_ = 1;
};

/// A field of the label's column, and its line.
struct label_field {
  std::string text;
  std::int64_t line;
};
/// Sets the labels of a table. Numbers are the classes themselves, and texts are looked up among the names of classes.
inline void set_labels(table& to, const csv_parser& lines, const std::vector<label_field>& fields,
                       csv_options options) {
  const auto is_number_text = [](const label_field& field) {
    double number = 0;
    return cairn::detail::is_number(field.text, number);
  };
  // A number of classes is only given for numbers.
  const bool are_numbers =
      options.classes > 0 || (options.class_names.empty() && std::ranges::any_of(fields, is_number_text));
  to.class_names = std::move(options.class_names);
  if (!are_numbers && to.class_names.empty()) {
    std::ranges::transform(fields, std::back_inserter(to.class_names), &label_field::text);
    std::ranges::sort(to.class_names);
    to.class_names.erase(std::ranges::unique(to.class_names).begin(), to.class_names.end());
  }
  const double limit = options.classes > 0 ? options.classes : std::numeric_limits<std::int32_t>::max();
  for (const auto& [text, line] : fields) {
    double number = -1;
    if (!are_numbers) {
      const auto at = std::ranges::find(to.class_names, text);
      if (at == to.class_names.end()) lines.fail_at(line, "one of the class names", options.label, quoted({text}));
      number = static_cast<double>(at - to.class_names.begin());
    } else if (!cairn::detail::is_number(text, number) || !(number >= 0 && number < limit) ||
               number != std::trunc(number)) {
      lines.fail_at(line, text_of({"a class from 0 to ", text_of(static_cast<std::int64_t>(limit) - 1)}), options.label,
                    quoted({text}));
    }
    to.labels.push_back(static_cast<std::int32_t>(number));
    to.classes = std::max(to.classes, to.labels.back() + 1);
  }
  to.classes = std::max({to.classes, options.classes, static_cast<int>(to.class_names.size())});
}

/// Returns true if a field is a number, which may have a plus sign, and writes the number to `to`.
inline bool is_number_field(std::string_view field, double& to) {
  const bool has_plus = field.starts_with('+') && !field.starts_with("+-");
  return cairn::detail::is_number(field.substr(has_plus ? 1 : 0), to);
}
/// Returns the number of a field.
inline float number_in(const csv_parser& lines, std::string_view field, std::string_view column) {
  double number = 0;
  if (!is_number_field(field, number) || std::isnan(number))
    lines.fail("a number", column, text_of({"\"", field, "\""}));
  const auto nearest = static_cast<float>(number);
  if (std::isinf(nearest) && !std::isinf(number)) lines.fail("a number that fits in a float", column, field);
  return nearest;
}
/// Returns the names of all columns, of which `fields` are the first line.
inline std::vector<std::string> column_names(const csv_parser& lines, std::vector<std::string> fields,
                                             bool has_header) {
  double number = 0;
  if (has_header && std::ranges::all_of(fields, [&](auto& field) { return is_number_field(field, number); }))
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
/// If `label` names a column, its fields are the classes: whole numbers from 0 on, or texts. A test set must number its
/// classes as the training set does, so pass its `classes` or `class_names` as an option:
/// `read_csv("test.csv", {.label = "species", .class_names = flowers.class_names})`.
///
/// Throws option_error for a separator that numbers, quotes or lines have, for `classes` without a label or with
/// class_names, and for class_names without a label. Throws file_error in these cases:
/// - The file cannot be read, or has no row.
/// - Two columns have one name, no column has the name `label`, or the first line should have names and has numbers.
/// - A line has too few or too many fields, or a field is not a number that a float holds. The message names the line
///   and the column.
/// - A label is not one of the class names, or not a class, or some labels are numbers and others are not.
inline table read_csv(const std::string& path, const csv_options& options = {}) {
  const char separator = options.separator;
  if (std::isalnum(static_cast<unsigned char>(separator)) != 0 ||
      std::string_view("+-.\"\r\n").find(separator) != std::string_view::npos)
    refuse(option_error("separator, as a number", "a character that no number, quote or line has", separator));
  const bool has_names = !options.class_names.empty();
  if (options.classes < 0 || (options.classes > 0 && (options.label.empty() || has_names)))
    refuse(option_error("classes", "0, or more with a label and without class_names", options.classes));
  if (has_names && options.label.empty())
    refuse(option_error("class_names", "no names without a label", static_cast<double>(options.class_names.size())));
  const std::string text = read_file(path);
  std::string_view all = text;
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  if (all.starts_with(byte_order_mark)) all.remove_prefix(byte_order_mark.size());
  detail::csv_parser lines(path, all, separator);
  std::vector<std::string> fields, names;
  std::vector<detail::label_field> label_fields;
  table read;
  while (lines.has_line()) {
    lines.read_line(fields);
    if (names.empty()) {
      names = detail::column_names(lines, fields, options.has_header);
      read.columns = names;
      if (!options.label.empty() && std::erase(read.columns, options.label) == 0)
        refuse(file_error(path, detail::text_of({"a column ", options.label}),
                          detail::on_one_line(detail::quoted(names))));
      if (options.has_header) continue;
    }
    if (fields.size() != names.size())
      lines.fail(detail::text_of({std::to_string(names.size()), " fields"}), {}, std::to_string(fields.size()));
    for (std::size_t i = 0; i < fields.size(); ++i) {
      const bool is_label = !options.label.empty() && names[i] == options.label;
      if (is_label && fields[i].empty()) lines.fail("a class", names[i], "nothing");
      if (is_label) label_fields.push_back({fields[i], lines.line()});
      else read.values.push_back(detail::number_in(lines, fields[i], names[i]));
    }
  }
  if (read.values.empty() && label_fields.empty()) refuse(file_error(path, "a row of numbers", "none"));
  detail::set_labels(read, lines, label_fields, options);
  return read;
}

}  // namespace cairn::data

#include "cairn/base/macros_back.hpp"
