// The rules of the safetensors format, and files that PyTorch's package wrote.
#include "cairn/file/safetensors.hpp"

#include "cairn/data/safetensors.hpp"

#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "folder.hpp"

namespace file = cairn::file;
using namespace std::string_literals;

namespace {

/// Returns a file with this header, whatever it contains, and these bytes of tensors.
std::string with_header(const std::string& header, const std::string& data = "") {
  const std::uint64_t length = header.size();
  std::string bytes(sizeof length, ' ');
  std::memcpy(bytes.data(), &length, sizeof length);
  return bytes + header + data;
}

/// Returns a header with one tensor. One of its fields may be replaced.
std::string of_test(const std::string& shape = "[2,2]", const std::string& offsets = "[0,16]",
                    const std::string& type = "\"I32\"") {
  return R"({"test":{"dtype":)" + type + R"(,"shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}";
}

/// Checks that the file is rejected. The message must be one line that names the file, the expected contents and the
/// actual contents.
void rejects(const folder& temp, const std::string& bytes, std::string_view expected, std::string_view actual) {
  const std::string path = temp.plain("bad", bytes);
  BOOST_CHECK_EXCEPTION(file::reader{path}, file::format_error, [&](const file::file_error& e) {
    BOOST_TEST(e.path == path);
    BOOST_TEST(e.expected == expected);
    BOOST_TEST(e.actual == actual);
    BOOST_TEST(e.what() == "cairn: " + path + ": expected " + e.expected + ", got " + e.actual);
    BOOST_TEST(e.what() != "\n");
    return std::string_view(e.what()).find('\n') == std::string_view::npos;
  });
}

template <class T>
std::vector<T> numbers(const file::tensor& from) {
  std::vector<T> to(from.bytes.size() * 8 / static_cast<std::size_t>(file::detail::bits_of(from.type)));
  file::copy_numbers(from, std::span(to));
  return to;
}

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

}  // namespace

BOOST_AUTO_TEST_SUITE(safetensors_suite)

BOOST_AUTO_TEST_CASE(reads_files_of_pytorch) {
  const file::reader saved(kept_file("torch.safetensors"));
  BOOST_TEST(saved.tensors().size() == 8);
  BOOST_TEST(saved.metadata().at("format") == "pt");
  BOOST_TEST((saved.find("fc1") == nullptr));
  BOOST_TEST((saved.find("zzz") == nullptr));

  const file::tensor& weight = *saved.find("fc1.weight");
  BOOST_TEST((weight.type == file::dtype::f32));
  BOOST_TEST(weight.shape == (std::vector<std::int64_t>{2, 3}), boost::test_tools::per_element());
  const std::vector<float> wanted = {-1, -0.625F, -0.25F, 0.125F, 0.5F, 0.875F};
  BOOST_TEST(numbers<float>(weight) == wanted, boost::test_tools::per_element());

  BOOST_TEST(numbers<double>(*saved.find("fc1.bias")) == (std::vector<double>{0.1, -1e300, 5e-324}),
             boost::test_tools::per_element());
  BOOST_TEST(numbers<double>(*saved.find("norm.num_batches_tracked"))[0] == 0x1p40 + 1);
  BOOST_TEST(saved.find("norm.num_batches_tracked")->shape.empty());
  BOOST_TEST(numbers<double>(*saved.find("index")) == (std::vector<double>{1, -2, 0x1p31 - 1, -0x1p31}),
             boost::test_tools::per_element());
  BOOST_TEST(text_of(saved.find("mask")->bytes) == "\1\0\1"s);
  BOOST_TEST((saved.find("none")->type == file::dtype::u8));
  BOOST_TEST(saved.find("none")->bytes.empty());
}

BOOST_AUTO_TEST_CASE(reads_one_array_of_a_file) {
  const auto each = boost::test_tools::per_element();
  const std::string path = kept_file("torch.safetensors");
  const auto weight = cairn::data::read_safetensors<double>(path, "fc1.weight");
  BOOST_TEST(weight.extents == (std::vector<std::int64_t>{2, 3}), each);
  BOOST_TEST(weight.values == (std::vector<double>{-1, -0.625, -0.25, 0.125, 0.5, 0.875}), each);
  BOOST_TEST(cairn::data::read_safetensors<std::int64_t>(path, "index").values ==
                 (std::vector<std::int64_t>{1, -2, 0x7fff'ffff, -0x8000'0000LL}),
             each);
  const auto batches = cairn::data::read_safetensors<std::int64_t>(path, "norm.num_batches_tracked");
  BOOST_TEST(batches.extents.empty());
  BOOST_TEST(batches.values == std::vector<std::int64_t>{(1LL << 40) + 1}, each);

  const folder temp;
  const std::vector<std::uint16_t> halves = {0x3c00, 0xc200};  // as f16 and as bf16
  for (const auto type : {file::dtype::f16, file::dtype::bf16})
    file::write(temp.path / file::detail::name_of(type),
                std::vector{file::tensor{"x", type, {2}, std::as_bytes(std::span(halves))}});
  BOOST_TEST(cairn::data::read_safetensors<int>(temp.path / "F16", "x").values == (std::vector<int>{1, -3}), each);
  BOOST_TEST(cairn::data::read_safetensors<float>(temp.path / "BF16", "x").values == (std::vector<float>{0x1p-7F, -32}),
             each);
}

BOOST_AUTO_TEST_CASE(an_array_that_cannot_be_read_is_named) {
  const std::string path = kept_file("torch.safetensors");
  const auto refuses = [&]<class T>(T, const std::string& name, std::string_view expected, std::string_view actual) {
    BOOST_CHECK_EXCEPTION(cairn::data::read_safetensors<T>(path, name), file::file_error, [&](const auto& e) {
      BOOST_TEST(e.path == path);
      BOOST_TEST(e.expected == expected);
      BOOST_TEST(e.actual == actual);
      return true;
    });
  };
  refuses(float{}, "fc1\n", "a tensor 'fc1?'", "a file without it");
  refuses(float{}, "mask", "a tensor 'mask' of F32, F64, F16, BF16, I32 or I64", "BOOL");
  refuses(float{}, "none", "a tensor 'none' of F32, F64, F16, BF16, I32 or I64", "U8");
  refuses(float{}, "fc1.bias", "a tensor 'fc1.bias' of numbers that fit in a float", "-1e+300 as element 1");
  refuses(int{}, "fc1.weight", "a tensor 'fc1.weight' of whole numbers that fit", "-0.625 as element 1");
  refuses(std::uint8_t{}, "index", "a tensor 'index' of whole numbers that fit", "-2 as element 1");
  BOOST_CHECK_THROW(cairn::data::read_safetensors<float>(path + "x", "fc1.bias"), file::read_error);
}

BOOST_AUTO_TEST_CASE(writes_the_bytes_that_pytorch_writes) {
  const folder temp;
  for (const auto* name : {"torch.safetensors", "names.safetensors"}) {
    const file::reader saved(kept_file(name));
    file::write(temp.path / name, saved.tensors(), saved.metadata());
    BOOST_TEST((read_bytes(temp.path / name) == read_bytes(kept_file(name))), name);
  }
  const file::reader names(temp.path / "names.safetensors");
  BOOST_TEST(names.metadata().at("a \"quoted\" name") == "line\nline\ttab \\ \x01\x7F");
  BOOST_TEST(names.metadata().at("é€") == "𝄞");
  BOOST_TEST((names.find("\"\\/") != nullptr && names.find("é\n") != nullptr));
}

BOOST_AUTO_TEST_CASE(order_depends_on_types_and_names_alone) {
  const folder temp;
  const std::string data(8, 'x');
  const auto one = [&data](const char* name, file::dtype type) {
    return file::tensor{name, type, {8 * 8 / file::detail::bits_of(type)}, bytes_of(data)};
  };
  const std::vector<file::tensor> tensors = {one("b", file::dtype::u8), one("c", file::dtype::f32),
                                             one("z", file::dtype::f64), one("a", file::dtype::f32),
                                             one("half", file::dtype::bf16)};
  const std::vector<file::tensor> reversed(tensors.rbegin(), tensors.rend());
  file::write(temp.path / "one", tensors);
  file::write(temp.path / "other", reversed);
  const std::string bytes = read_bytes(temp.path / "one");
  BOOST_TEST(bytes == read_bytes(temp.path / "other"));
  BOOST_TEST(bytes.substr(8, 6) == "{\"z\":{");
  for (const char* const pair : {"z a", "a c", "c h", "h b"})
    BOOST_TEST(bytes.find("\""s + pair[0]) < bytes.find("\""s + pair[2]));
  BOOST_TEST(bytes.size() % 8 == 0);
}

BOOST_AUTO_TEST_CASE(every_type_is_written_and_read) {
  const folder temp;
  const std::string data = "012345678901234567890123";
  std::vector<file::tensor> tensors;
  for (int i = 0; i <= static_cast<int>(file::dtype::u64); ++i) {
    const auto type = static_cast<file::dtype>(i);
    tensors.push_back(
        {std::string(file::detail::name_of(type)), type, {1, 24 * 8 / file::detail::bits_of(type)}, bytes_of(data)});
  }
  file::write(temp.path / "all", tensors);
  const file::reader saved(temp.path / "all");
  BOOST_TEST(saved.tensors().size() == tensors.size());
  for (const auto& one : tensors) {
    const file::tensor* const found = saved.find(one.name);
    BOOST_REQUIRE((found != nullptr && found->type == one.type && found->shape == one.shape));
    BOOST_TEST(text_of(found->bytes) == data);
  }
}

BOOST_AUTO_TEST_CASE(accepts_everything_that_the_format_allows) {
  const folder temp;
  const auto reads = [&temp](const std::string& bytes) { return file::reader(temp.plain("good", bytes)); };
  const file::reader empty = reads(with_header("{}"));
  BOOST_TEST(empty.tensors().empty());
  const file::reader spaced = reads(with_header("{} \r\t\n"));  // no writer does this, but it is valid JSON
  BOOST_TEST(spaced.tensors().empty());
  BOOST_TEST(reads(with_header(R"({"__metadata__":{}})")).metadata().empty());
  const auto scalar = reads(with_header(of_test("[]", "[0,4]"), "abcd"));
  BOOST_TEST(scalar.find("test")->shape.empty());
  BOOST_TEST(text_of(scalar.find("test")->bytes) == "abcd");
  const file::reader without = reads(with_header(of_test("[2,0]", "[0,0]")));
  BOOST_TEST(without.find("test")->bytes.empty());
  // Tensors may stand in any order in the file, and empty tensors anywhere.
  const auto two = reads(with_header(R"({"b":{"data_offsets":[1,3],"shape":[2],"dtype":"U8"},)"
                                     R"("c":{"dtype":"U8","shape":[0],"data_offsets":[1,1]},)"
                                     R"("a":{"dtype":"BOOL","shape":[1],"data_offsets":[0,1]}})",
                                     "xyz"));
  BOOST_TEST(text_of(two.find("b")->bytes) == "yz");
  BOOST_TEST(text_of(two.find("a")->bytes) == "x");
  // Elements of four bits and of six bits.
  const file::reader of_four = reads(with_header(of_test("[2,3]", "[0,3]", "\"F4\""), "abc"));
  BOOST_TEST(of_four.find("test")->bytes.size() == 3);
  const file::reader of_six = reads(with_header(of_test("[4]", "[0,3]", "\"F6_E2M3\""), "abc"));
  BOOST_TEST(of_six.find("test")->bytes.size() == 3);
  // A reader may be moved.
  auto first = reads(with_header(of_test(), std::string(16, 'x')));
  const auto second = std::move(first);
  BOOST_TEST(text_of(second.find("test")->bytes) == std::string(16, 'x'));
}

BOOST_AUTO_TEST_CASE(rejects_files_that_cannot_be_read) {
  const folder temp;
  BOOST_CHECK_EXCEPTION(file::reader(temp.path / "none"), file::read_error, [](const file::read_error& e) {
    return e.reason == ENOENT && e.expected == "a readable file" && e.actual == "No such file or directory";
  });
  mkfifo((temp.path / "pipe").c_str(), 0600);
  for (const std::string& path : {temp.path.string(), (temp.path / "pipe").string(), "/dev/zero"s})
    BOOST_CHECK_EXCEPTION(file::reader{path}, file::format_error, [](const file::file_error& e) {
      return e.expected == "a file" && e.actual == "a folder, pipe or device";
    });
}

BOOST_AUTO_TEST_CASE(rejects_lengths_that_do_not_fit) {
  const folder temp;
  const std::string most = "a safetensors file, which begins with the length of its header, at most 100000000";
  rejects(temp, "some text", most, "8675467939688574835");
  rejects(temp, "", "8 bytes, the length of a header", "0");
  rejects(temp, "1234567", "8 bytes, the length of a header", "7");
  rejects(temp, "<\0\0\0\0\0\0\0"s, "60 bytes of header", "0");
  rejects(temp, "\0\0\0\0\0\0\0\0"s, "a header that begins with {", "another");
  rejects(temp, "\x01\xE1\xF5\x05\0\0\0\0{}"s, most, "100000001");
  rejects(temp, "\x00\xE1\xF5\x05\0\0\0\0{}"s, "100000000 bytes of header", "2");
  rejects(temp, "<\0\0\0\0\xFF\xFF\xFF{}"s, most, "18446742974197923900");
  rejects(temp, "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF{}"s, most, "18446744073709551615");
  // One header claims the bytes of the next tensor. Another claims 1000 bytes, although there are 64.
  rejects(temp, "\xE8\x03\0\0\0\0\0\0"s + of_test() + std::string(16, 'x'), "1000 bytes of header", "76");
}

BOOST_AUTO_TEST_CASE(rejects_headers_that_are_not_json) {
  const folder temp;
  const auto not_json = [&temp](const std::string& header, int byte) {
    rejects(temp, with_header(header), "a header of JSON", "something else at its byte " + std::to_string(byte));
  };
  rejects(temp, with_header("\xFF"), "a header that begins with {", "another");
  rejects(temp, with_header(" {}"), "a header that begins with {", "another");
  rejects(temp, with_header("\xEF\xBB\xBF{}"), "a header that begins with {", "another");
  rejects(temp, with_header("[]"), "a header that begins with {", "another");
  not_json("{", 2);
  not_json("{}}", 3);
  not_json("{} {}", 4);
  not_json("{\"\xFF\":{}}", 3);
  not_json("{\"\xC0\x80\":{}}", 3);      // a zero encoded in too many bytes
  not_json("{\"\xED\xA0\x80\":{}}", 4);  // half of a surrogate pair
  not_json("{\"\\ud800\":{}}", 9);       // half of a surrogate pair, escaped
  not_json("{\"a\n\":{}}", 4);
  not_json("{/**/}", 2);
  not_json("{'a':{}}", 2);
  not_json("{\"a\":NaN}", 6);
  rejects(temp, with_header("{}\0\0"s), "a header of JSON, padded with spaces", "a zero in it");
  rejects(temp, with_header(of_test("[0]", "[0,0]") + "\0{\"more\""s), "a header of JSON, padded with spaces",
          "a zero in it");
  // The reader checks nesting while it reads, so deep nesting takes no memory.
  rejects(temp, with_header("{\"a\":" + std::string(1'000'000, '[')), "an object for 'a'", "an array");
  rejects(temp, with_header(of_test(std::string(1'000'000, '['))), "whole numbers as shape of 'test'", "an array");
  rejects(temp, with_header("{\"a\":{\"dtype\":{"), "a string as dtype of 'a'", "an object");
}

BOOST_AUTO_TEST_CASE(rejects_missing_and_wrong_fields) {
  const folder temp;
  const auto fields = [&](const std::string& text, std::string_view expected, std::string_view actual) {
    rejects(temp, with_header("{\"a\":" + text + "}"), expected, actual);
  };
  for (const auto& [value, name] : {std::pair{"1", "a number"},
                                    {"-1", "a negative number"},
                                    {"\"x\"", "a string"},
                                    {"null", "null"},
                                    {"true", "a boolean"},
                                    {"[]", "an array"},
                                    {"1.5", "a fraction or too large a number"}})
    fields(value, "an object for 'a'", name);
  const std::string all = "dtype, shape and data_offsets of 'a'";
  fields("{}", all, "less");
  fields(R"({"dtype":"F32","shape":[]})", all, "less");
  fields(R"({"dtype":"F32","strides":[]})", all, "'strides'");
  fields(R"({"dtype":"F32","dtype":"F32"})", "names that differ", "'dtype' twice");
  fields(R"({"dtype":1})", "a string as dtype of 'a'", "a number");
  fields(R"({"dtype":"f32"})", "a known dtype of 'a'", "'f32'");
  fields(R"({"dtype":"F128\u001b[2J"})", "a known dtype of 'a'", "'F128?[2J'");
  fields(R"({"shape":4})", "an array as shape of 'a'", "a number");
  fields(R"({"shape":[2,-1]})", "whole numbers as shape of 'a'", "a negative number");
  fields(R"({"shape":[2,-0]})", "whole numbers as shape of 'a'", "a negative number");
  fields(R"({"shape":[2.0]})", "whole numbers as shape of 'a'", "a fraction or too large a number");
  fields(R"({"shape":[1e1]})", "whole numbers as shape of 'a'", "a fraction or too large a number");
  fields(R"({"shape":["2"]})", "whole numbers as shape of 'a'", "a string");
  fields(R"({"data_offsets":{}})", "an array as data_offsets of 'a'", "an object");
  fields(R"({"data_offsets":[]})", "two data_offsets of 'a'", "less");
  fields(R"({"data_offsets":[0]})", "two data_offsets of 'a'", "less");
  fields(R"({"data_offsets":[0,4,4]})", "two data_offsets of 'a'", "more");
}

BOOST_AUTO_TEST_CASE(rejects_metadata_that_is_not_text) {
  const folder temp;
  const auto metadata = [&](const std::string& text, std::string_view expected, std::string_view actual) {
    rejects(temp, with_header("{\"__metadata__\":" + text + "}"), expected, actual);
  };
  metadata("1", "an object for '__metadata__'", "a number");
  metadata(R"({"step":1})", "a text for 'step' of __metadata__", "a number");
  metadata(R"({"step":{}})", "a text for 'step' of __metadata__", "an object");
  metadata(R"({"step":["1"]})", "a text for 'step' of __metadata__", "an array");
  metadata(R"({"step":null})", "a text for 'step' of __metadata__", "null");
  metadata(R"({"a":"1","\u0061":"1"})", "names that differ", "'a' twice");
  metadata(R"({},"__metadata__":{})", "names that differ", "'__metadata__' twice");
  metadata(R"({"dtype":"U8","shape":[0],"data_offsets":[0,0]})", "a text for 'shape' of __metadata__", "an array");
}

BOOST_AUTO_TEST_CASE(rejects_impossible_shapes) {
  const folder temp;
  const std::string data(16, 'x');
  const auto shape = [&](const std::string& text, std::string_view expected, std::string_view actual) {
    rejects(temp, with_header(of_test(text), data), expected, actual);
  };
  shape("[2,18446744073709551614]", "extents below 2^63 of 'test'", "18446744073709551614");
  shape("[2,18446744073709551616]", "whole numbers as shape of 'test'", "a fraction or too large a number");
  for (const auto* text : {"[2,9223372036854775807]", "[4294967296,4294967296]", "[1073741825,4,4294967296]"})
    shape(text, "a shape of 'test' below 2^61 bytes", "a larger one");
  shape("[1152921504606846975]", "a shape of 'test' below 2^61 bytes", "a larger one");
  shape("[144115188075855872]", "576460752303423488 bytes of 'test'", "16");
  shape("[2,1]", "8 bytes of 'test'", "16");
  rejects(temp, with_header(of_test("[3]", "[0,2]", "\"F4\""), "ab"), "whole bytes of 'test'", "12 bits");
  std::string ones = "[1";
  for (int i = 1; i < 64; ++i) ones += ",1";
  const file::reader saved(temp.plain("64", with_header(of_test(ones + "]", "[0,4]"), "abcd")));
  BOOST_TEST(saved.tensors().size() == 1U);
  shape(ones + ",1]", "at most 64 axes of 'test'", "more");
}

BOOST_AUTO_TEST_CASE(rejects_holes_overlaps_and_unused_bytes) {
  const folder temp;
  const auto two = [](const std::string& a, const std::string& b) {
    return R"({"a":{"dtype":"U8","shape":[4],"data_offsets":)" + a +
           R"(},"b":{"dtype":"U8","shape":[4],"data_offsets":)" + b + "}}";
  };
  rejects(temp, with_header(two("[0,4]", "[5,9]"), "123456789"), "data of 'b' from byte 4 on", "bytes 5 to 9");
  rejects(temp, with_header(two("[0,4]", "[3,7]"), "1234567"), "data of 'b' from byte 4 on", "bytes 3 to 7");
  rejects(temp, with_header(two("[1,5]", "[5,9]"), "123456789"), "data of 'a' from byte 0 on", "bytes 1 to 5");
  rejects(temp, with_header(two("[0,4]", "[0,4]"), "1234"), "data of 'b' from byte 4 on", "bytes 0 to 4");
  rejects(temp, with_header(two("[0,4]", "[4,3]"), "1234"), "data of 'b' from byte 4 on", "bytes 4 to 3");
  rejects(temp, with_header(two("[0,4]", "[4,18446744073709551615]"), "12345678"), "4 bytes of 'b'",
          "18446744073709551611");
  rejects(temp, with_header(two("[0,4]", "[4,8]"), "12345678more"), "8 bytes of tensors", "12");
  rejects(temp, with_header(two("[0,4]", "[4,8]"), "1234567"), "8 bytes of tensors", "7");
  rejects(temp, with_header("{}", "x"), "0 bytes of tensors", "1");
  // One set of bytes under many names would be an attack. A name that occurs twice is rejected as well, also if it is
  // escaped once.
  rejects(temp,
          with_header(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                      R"("\u0061":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
                      "xy"),
          "names that differ", "'a' twice");
}

BOOST_AUTO_TEST_CASE(rejects_too_many_names) {
  const folder temp;
  std::string tensors = "{", texts = "{\"__metadata__\":{";
  for (int i = 0; i < 100'000; ++i) {
    tensors += "\"" + std::to_string(i) + R"(":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},)";
    texts += "\"" + std::to_string(i) + "\":\"\",";
  }
  const std::string most = with_header(texts.substr(0, texts.size() - 1) + "}}");
  BOOST_TEST(file::reader(temp.plain("most", most)).metadata().size() == 100'000U);
  rejects(temp, with_header(tensors + R"("more":{}})"), "at most 100000 tensors", "more");
  rejects(temp, with_header(texts + R"("more":""}})"), "at most 100000 texts of metadata", "more");
}

BOOST_AUTO_TEST_CASE(rejects_files_that_are_cut_off_at_any_byte) {
  const folder temp;
  const std::string whole = read_bytes(kept_file("torch.safetensors"));
  for (std::size_t length = 0; length < whole.size(); ++length)
    BOOST_CHECK_THROW(file::reader(temp.plain("cut", whole.substr(0, length))), file::format_error);
}

BOOST_AUTO_TEST_CASE(refuses_to_write_files_that_cannot_be_read) {
  const folder temp;
  const std::string path = temp.plain("old", "old"), data(4, 'x');
  const auto refuses = [&](const std::vector<file::tensor>& tensors, const file::metadata& texts,
                           std::string_view expected, std::string_view actual) {
    BOOST_CHECK_EXCEPTION(file::write(path, tensors, texts), file::format_error, [&](const file::file_error& e) {
      BOOST_TEST(e.expected == expected);
      BOOST_TEST(e.actual == actual);
      return e.path == path;
    });
    BOOST_TEST(read_bytes(path) == "old");
  };
  const file::tensor good{"a", file::dtype::f32, {1}, bytes_of(data)};
  const auto named = [&good](const char* name) {
    auto other = good;
    other.name = name;
    return other;
  };
  refuses({good, good}, {}, "names that differ", "'a' twice");
  refuses({{"a", file::dtype::f32, {2}, bytes_of(data)}}, {}, "8 bytes of 'a'", "4");
  refuses({{"a", file::dtype::f32, {-1}, bytes_of(data)}}, {}, "whole numbers as shape of 'a'", "a negative number");
  refuses({named("w\xFF")}, {}, "the name of each parameter, state or other tensor in UTF-8", "'w?'");
  refuses({}, {{"a", "\xFF"}}, "a text for 'a' in UTF-8", "'?'");
  refuses({}, {{"\xFF", "a"}}, "the name of each text in UTF-8", "'?'");
  refuses({named("__metadata__")}, {}, "a name of a tensor that the format does not use itself", "'__metadata__'");
  refuses({}, {{"a", std::string(100'000'000, 'x')}},
          "a safetensors file, which begins with the length of its header, at most 100000000", "100000032");
}

BOOST_AUTO_TEST_SUITE_END()
