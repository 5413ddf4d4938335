// Readers of data: CSV, .npy and CIFAR.
#include "cairn/data/cifar.hpp"
#include "cairn/data/csv.hpp"
#include "cairn/data/npy.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "comma_locale.hpp"
#include "folder.hpp"

namespace data = cairn::data;
using namespace std::string_literals;

namespace {

const auto each = boost::test_tools::per_element();

/// Returns a check that a message is this one, after the name of the file.
auto says(std::string_view text) {
  return [text](const data::file_error& e) {
    BOOST_TEST(e.what() == e.file + ": " + std::string(text));
    return true;
  };
}
data::table table_of(const std::string& text, const data::csv_options& options = {}) {
  const folder temp;
  return data::read_csv(temp.plain("table.csv", text), options);
}
void refuses_table(const std::string& text, std::string_view message, const data::csv_options& options = {}) {
  BOOST_CHECK_EXCEPTION(table_of(text, options), data::file_error, says(message));
}
template <class T>
data::array<T> kept_array(const std::string& name) {
  return data::read_npy<T>(kept_file("numpy/" + name + ".npy"));
}
template <class T>
void refuses_array(const std::string& name, std::string_view message) {
  BOOST_CHECK_EXCEPTION(kept_array<T>(name), data::file_error, says(message));
}
/// A record of CIFAR: labels, and a picture in which the byte of a color at a place is color + place.
std::string record(const std::string& labels) {
  std::string bytes = labels;
  for (int color = 0; color < 3; ++color)
    for (int place = 0; place < 1024; ++place) bytes += static_cast<char>((100 * color + place) % 256);
  return bytes;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(data_files_suite)

BOOST_AUTO_TEST_CASE(a_table_has_columns_of_numbers) {
  const comma_locale commas;
  const auto read = table_of("width, height\n1.5,-2e3\r\n\n 3 ,\"4\"\n5,inf");
  BOOST_TEST(read.columns == (std::vector<std::string>{"width", "height"}), each);
  constexpr float infinity = std::numeric_limits<float>::infinity();
  BOOST_TEST(read.values == (std::vector<float>{1.5F, -2000, 3, 4, 5, infinity}), each);
  BOOST_TEST(read.labels.empty());
  BOOST_TEST(read.column("height") == (std::vector<float>{-2000, 4, infinity}), each);
  BOOST_CHECK_EXCEPTION(read.column("depth"), std::invalid_argument, [](const auto& e) {
    return e.what() == "cairn: column depth: expected one of \"width\" \"height\""s;
  });
  BOOST_CHECK_THROW(read.examples(), data::size_error);
  auto rest = read;
  BOOST_TEST(rest.take("width") == (std::vector<float>{1.5F, 3, 5}), each);
  BOOST_TEST(rest.columns == std::vector<std::string>{"height"}, each);
  BOOST_TEST(rest.values == (std::vector<float>{-2000, 4, infinity}), each);
  BOOST_CHECK_THROW(rest.take("width"), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(a_column_of_texts_has_the_classes) {
  const auto read = table_of(
      "\xEF\xBB\xBF"
      "a,kind,\"b \"\"c\"\"\"\n1,tree,2\n3,\"a, b\"\"\nc\",4\n5,tree,6\n",
      {.label = "kind"});
  BOOST_TEST(read.columns == (std::vector<std::string>{"a", "b \"c\""}), each);
  BOOST_TEST(read.class_names == (std::vector<std::string>{"a, b\"\nc", "tree"}), each);
  const data::dataset set = read.examples();
  BOOST_TEST(set.labels == (std::vector<std::int32_t>{1, 0, 1}), each);
  BOOST_TEST(set.images == (std::vector<float>{1, 2, 3, 4, 5, 6}), each);
  BOOST_TEST(set.features == 2);
  BOOST_TEST(set.classes == 2);
}

BOOST_AUTO_TEST_CASE(whole_numbers_are_classes_themselves) {
  const auto read = table_of("7;10\n8;2.0\n", {.separator = ';', .has_header = false, .label = "1"});
  BOOST_TEST(read.labels == (std::vector<std::int32_t>{10, 2}), each);
  BOOST_TEST(read.classes == 11);
  BOOST_TEST(read.class_names.empty());
  BOOST_TEST(read.values == (std::vector<float>{7, 8}), each);
  BOOST_TEST(table_of("x,y\n1,7\n", {.label = "y", .classes = 10}).examples().classes == 10);
  refuses_table("x,y\n1,2\n3,-1\n", "expected a class from 0 to 2147483646 in line 3, column y, got \"-1\"",
                {.label = "y"});
  refuses_table("x,y\n1,2\n3,cat\n", "expected a class from 0 to 2147483646 in line 3, column y, got \"cat\"",
                {.label = "y"});
  refuses_table("x,y\n1,2.5\n", "expected a class from 0 to 9 in line 2, column y, got \"2.5\"",
                {.label = "y", .classes = 10});
  refuses_table("x,y\n1,10\n", "expected a class from 0 to 9 in line 2, column y, got \"10\"",
                {.label = "y", .classes = 10});
}

BOOST_AUTO_TEST_CASE(a_second_table_numbers_its_classes_as_the_first) {
  const auto train = table_of("x,kind\n1,cat\n2,dog\n3,owl\n", {.label = "kind"});
  const auto test = table_of("x,kind\n1,owl\n2,dog\n", {.label = "kind", .class_names = train.class_names});
  BOOST_TEST(test.labels == (std::vector<std::int32_t>{2, 1}), each);
  BOOST_TEST(test.classes == 3);
  const auto signs = table_of("x,y\n1,-1\n2,1\n", {.label = "y", .class_names = {"-1", "1"}});
  BOOST_TEST(signs.labels == (std::vector<std::int32_t>{0, 1}), each);
  refuses_table("x,kind\n1,cat\n\n2,cow\n", "expected one of the class names in line 4, column kind, got \"cow\"",
                {.label = "kind", .class_names = train.class_names});
}

BOOST_AUTO_TEST_CASE(tables_that_are_wrong_are_refused) {
  refuses_table("a,b\n1,2\n3\n", "expected 2 fields in line 3, got 1");
  refuses_table("a,b\n\"1\n\",2\n3,x y \n", "expected a number in line 2, column a, got \"1?\"");
  refuses_table("a,b\n1,\"2\"\n3,x y \n", "expected a number in line 3, column b, got \"x y\"");
  refuses_table("a,b\n1,\n", "expected a number in line 2, column b, got \"\"");
  refuses_table("a\nnan\n", "expected a number in line 2, column a, got \"nan\"");
  refuses_table("a\n1e99\n", "expected a number that fits in a float in line 2, column a, got 1e99");
  BOOST_TEST(table_of("a\n1e-99\n+2\n").values == (std::vector<float>{0, 2}), each);
  refuses_table("a\n1\n\"\"\n2\n", "expected a number in line 3, column a, got \"\"");
  refuses_table("k\ncat\n \ndog\n", "expected a class in line 3, column k, got nothing", {.label = "k"});
  refuses_table("a\r1\r", "expected a line feed behind a carriage return in line 1, got another character");
  BOOST_TEST(table_of("a,\tkind\n1\t,\tx \n", {.label = "kind"}).class_names == std::vector<std::string>{"x"}, each);
  BOOST_TEST(table_of("a\tb\n1\t2\n", {.separator = '\t'}).values == (std::vector<float>{1, 2}), each);
  refuses_table("a\n0x10\n", "expected a number in line 2, column a, got \"0x10\"");
  refuses_table("a,a\n1,2\n", "expected columns of different names in line 1, got two called a");
  refuses_table("1,2\n3,4\n", "expected names of columns, or .has_header = false in line 1, got numbers");
  refuses_table("+1,1e50\n3,4\n", "expected names of columns, or .has_header = false in line 1, got numbers");
  refuses_table("a\n+-5\n", "expected a number in line 2, column a, got \"+-5\"");
  refuses_table("a,b\n1,\"2\n", "expected an end of the quotes in line 2, got the end of the file");
  refuses_table("a,b\n1,\"2\"3\n", "expected a separator behind a quote in line 2, got another character");
  refuses_table("a,b\n1,\n", "expected a class in line 2, column b, got nothing", {.label = "b"});
  refuses_table("", "expected a row of numbers, got none");
  refuses_table("a,b\n", "expected a row of numbers, got none");
  refuses_table("a,b\n1,2\n", "expected a column c, got \"a\" \"b\"", {.label = "c"});
  BOOST_CHECK_THROW(data::read_csv("no such file"), data::file_error);
  // What a file says does not move the cursor, begin a line, or fill the screen.
  const std::string long_name(1000, 'x');
  BOOST_CHECK_EXCEPTION(table_of("\x1b[2J,\"gr\u00f6\u00dfe\n\"," + long_name + "\n1,2,3\n", {.label = "y"}),
                        data::file_error, [](const data::file_error& e) {
                          const std::string_view text = e.what();
                          BOOST_TEST_INFO(text);
                          return text.size() < 600 && text.find("?[2J") != text.npos &&
                                 text.find("gr\u00f6\u00dfe?") != text.npos && text.find('\n') == text.npos;
                        });
  BOOST_CHECK_THROW(table_of("a,b\n1,2\n", {.classes = 3}), data::option_error);
  BOOST_CHECK_THROW(table_of("a,b\n1,2\n", {.label = "b", .classes = -3}), data::option_error);
  BOOST_CHECK_THROW(table_of("a,b\n1,2\n", {.class_names = {"x"}}), data::option_error);
  BOOST_CHECK_THROW(table_of("a,b\n1,x\n", {.label = "b", .classes = 2, .class_names = {"x"}}), data::option_error);
  refuses_table("a,b\n1,x\n", "expected a class from 0 to 1 in line 2, column b, got \"x\"",
                {.label = "b", .classes = 2});
  for (const char separator : {'"', '\n', '.', '-', '0', 'e'})
    BOOST_CHECK_THROW(table_of("a,b\n1,2\n", {.separator = separator}), data::option_error);
}

BOOST_AUTO_TEST_CASE(arrays_of_numpy_are_read_with_any_type) {
  for (const std::string name :
       {"f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "big_f4", "big_i2"}) {
    const auto as_floats = kept_array<float>(name);
    BOOST_TEST(as_floats.extents == (std::vector<std::int64_t>{2, 3}), each);
    BOOST_TEST(as_floats.values == (std::vector<float>{0, 1, 2, 3, 4, 100}), each);
    BOOST_TEST(kept_array<std::int32_t>(name).values == (std::vector<std::int32_t>{0, 1, 2, 3, 4, 100}), each);
    BOOST_TEST(kept_array<double>(name).values == (std::vector<double>{0, 1, 2, 3, 4, 100}), each);
  }
  BOOST_TEST(kept_array<std::int32_t>("b1").values == (std::vector<std::int32_t>{0, 1, 1}), each);
  BOOST_TEST(kept_array<std::int32_t>("version_2").values == (std::vector<std::int32_t>{1, 2, 3}), each);
  BOOST_TEST(kept_array<float>("scalar").extents.empty());
  BOOST_TEST(kept_array<float>("scalar").values == std::vector<float>{7}, each);
  BOOST_TEST(kept_array<float>("empty").extents == (std::vector<std::int64_t>{0, 4}), each);
  BOOST_TEST(kept_array<double>("large").values == (std::vector<double>{1.5, 1e300}), each);
  const auto halves = kept_array<float>("halves").values;
  constexpr float infinity = std::numeric_limits<float>::infinity();
  BOOST_TEST(std::vector<float>(halves.begin(), halves.begin() + 5) ==
                 (std::vector<float>{-0.5F, 0x1p-24F, 65504, infinity, -infinity}),
             each);
  BOOST_TEST(std::isnan(halves[5]));
  BOOST_TEST(halves[6] == 0x1.998p-4F);
}

BOOST_AUTO_TEST_CASE(arrays_that_do_not_fit_are_refused) {
  refuses_array<float>("large", "expected numbers that fit in a float, got 1e+300 as element 1");
  refuses_array<std::int32_t>("large", "expected whole numbers that fit, got 1.5 as element 0");
  refuses_array<std::int32_t>("halves", "expected whole numbers that fit, got -0.5 as element 0");
  refuses_array<float>("texts", "expected numbers, got elements of type U1");
  refuses_array<float>(
      "columns", "expected rows one after another; save numpy.ascontiguousarray(x), got an array in Fortran order");
}

BOOST_AUTO_TEST_CASE(damaged_arrays_are_refused) {
  const folder temp;
  const std::string sound = read_bytes(kept_file("numpy/f4.npy"));
  const auto refuses = [&](const std::string& bytes, std::string_view message) {
    BOOST_CHECK_EXCEPTION(data::read_npy<float>(temp.plain("x.npy", bytes)), data::file_error, says(message));
  };
  const auto with = [&](std::string_view old, std::string_view other) {
    std::string bytes = sound;
    return bytes.replace(bytes.find(old), old.size(), other);
  };
  refuses("", "expected a .npy file of version 1, 2 or 3, got another file");
  refuses(with("NUMPY", "NUMPI"), "expected a .npy file of version 1, 2 or 3, got another file");
  refuses(sound.substr(0, 40), "expected a whole header, got an early end");
  refuses(sound.substr(0, sound.size() - 1), "expected 24 bytes of data, got 23");
  refuses(sound + 'x', "expected 24 bytes of data, got 25");
  refuses(with("(2, 3)", "(2, 9)"), "expected 72 bytes of data, got 24");
  refuses(with("(2, 3), }", "(9999999)"),
          "expected a header of NumPy's with descr, fortran_order and shape, got another");
  refuses(with("(2, 3), }  ", "(9999999,)}"), "expected 9999999 elements, got 24 bytes");
  const auto no_header = "expected a header of NumPy's with descr, fortran_order and shape, got another";
  refuses(with("'shape'", "'shame'"), no_header);
  refuses(with("'shape': (2, 3)", "'descr': '<f4' "), no_header);
  refuses(with("(2, 3)", "(-2,3)"), no_header);
  refuses(with("False", "Maybe"), no_header);
  refuses(with("}", "x"), no_header);
  BOOST_TEST(data::read_npy<float>(temp.plain("x.npy", sound)).values.size() == 6U);
}

BOOST_AUTO_TEST_CASE(pictures_of_cifar_have_their_channels_last) {
  const folder temp;
  const auto set = data::read_cifar(temp.plain("ten.bin", record("\7") + record("\0"s)), 10);
  BOOST_TEST(set.size() == 2);
  BOOST_TEST(set.features == 3072);
  BOOST_TEST(set.classes == 10);
  BOOST_TEST(set.labels == (std::vector<std::int32_t>{7, 0}), each);
  std::vector<float> wanted;
  for (std::size_t i = 0; i < set.images.size(); ++i) {
    const std::size_t color = i % 3, place = i % 3072 / 3;
    wanted.push_back(static_cast<float>(static_cast<double>((100 * color + place) % 256) / 255));
  }
  BOOST_TEST((set.images == wanted));
  const auto fine = data::read_cifar(temp.plain("hundred.bin", record("\3\143")), 100);
  BOOST_TEST(fine.labels == std::vector<std::int32_t>{99}, each);
}

BOOST_AUTO_TEST_CASE(cifar_is_standardized_by_color) {
  const folder temp;
  for (int file = 1; file <= 5; ++file)
    temp.plain("data_batch_" + std::to_string(file) + ".bin", record(std::string(1, static_cast<char>(file))));
  const std::string dark = "\6" + std::string(3072, '\0');
  temp.plain("test_batch.bin", dark);
  const auto [train, test] = data::cifar10(temp.path);
  const data::moments as_they_are(data::cifar10(temp.path, data::pixels::from_0_to_1).train, 3);
  for (std::size_t color = 0; color < 3; ++color)
    BOOST_TEST(test.images[color] == static_cast<float>(-as_they_are.mean()[color] / as_they_are.deviation()[color]));
  BOOST_TEST(train.labels == (std::vector<std::int32_t>{1, 2, 3, 4, 5}), each);
  BOOST_TEST(test.labels == std::vector<std::int32_t>{6}, each);
  for (std::size_t color = 0; color < 3; ++color) {
    double sum = 0, squares = 0;
    for (std::size_t i = color; i < train.images.size(); i += 3) {
      sum += train.images[i];
      squares += double{train.images[i]} * train.images[i];
    }
    BOOST_TEST(std::abs(sum / 5120) < 1e-6);
    BOOST_TEST(std::abs(squares / 5120 - 1) < 1e-6);
  }
  const auto plain = data::cifar10(temp.path, data::pixels::from_0_to_1);
  BOOST_TEST(*std::ranges::max_element(plain.train.images) == 1);
  temp.plain("train.bin", record("\3\143"));
  temp.plain("test.bin", record("\3\5"));
  BOOST_TEST(data::cifar100(temp.path).test.labels == std::vector<std::int32_t>{5}, each);
}

BOOST_AUTO_TEST_CASE(damaged_files_of_cifar_are_refused) {
  const folder temp;
  const auto refuses = [&](const std::string& bytes, int classes, std::string_view message) {
    BOOST_CHECK_EXCEPTION(data::read_cifar(temp.plain("x.bin", bytes), classes), data::file_error, says(message));
  };
  refuses("", 10, "expected records of 3073 bytes, got 0 bytes");
  refuses(record("\1") + "x", 10, "expected records of 3073 bytes, got 3074 bytes");
  refuses(record("\1"), 100, "expected records of 3074 bytes, got 3073 bytes");
  refuses(record("\12"), 10, "expected labels below 10, got 10");
  refuses(record("\1\144"), 100, "expected labels below 100, got 100");
  BOOST_CHECK_THROW(data::read_cifar("x.bin", 20), data::option_error);
}

BOOST_AUTO_TEST_SUITE_END()
