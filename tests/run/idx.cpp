#include "cairn/data/idx.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "folder.hpp"

namespace data = cairn::data;
namespace fs = std::filesystem;
using namespace std::string_literals;

namespace {

fs::path gzipped(const folder& temp, const std::string& name, const std::string& bytes) {
  const gzFile file = gzopen((temp.path / name).c_str(), "wb");
  gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
  gzclose(file);
  return temp.path / name;
}

/// Returns an IDX file with a header that announces `extents`, followed by `bytes`.
std::string idx(const std::vector<std::uint32_t>& extents, const std::string& bytes) {
  std::string text{0, 0, 8, static_cast<char>(extents.size())};
  for (const auto extent : extents)
    for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>(extent >> shift & 0xFF);
  return text + bytes;
}

/// Returns a check that a message is one line, and that it names the file, the expected contents and the actual
/// contents.
auto says(const fs::path& file, std::string_view expected, std::string_view actual) {
  return [=](const data::file_error& e) {
    BOOST_TEST(e.file == file.string());
    BOOST_TEST(e.expected == expected);
    BOOST_TEST(e.actual == actual);
    BOOST_TEST(e.what() == e.file + ": expected " + e.expected + ", got " + e.actual);
    return true;
  };
}

void rejects(const fs::path& file, std::string_view expected, std::string_view actual) {
  BOOST_CHECK_EXCEPTION(data::read_idx(file), data::file_error, says(file, expected, actual));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(idx_suite)

BOOST_AUTO_TEST_CASE(reads_plain_and_gzipped) {
  const folder temp;
  const auto bytes = idx({2, 1, 3}, "abcdef");
  for (const auto& file : {temp.plain("plain", bytes), gzipped(temp, "packed.gz", bytes)}) {
    const auto array = data::read_idx(file);
    BOOST_TEST(array.extents == (std::vector<std::int64_t>{2, 1, 3}), boost::test_tools::per_element());
    BOOST_TEST(std::string(array.values.begin(), array.values.end()) == "abcdef");
  }
}

BOOST_AUTO_TEST_CASE(reads_files_larger_than_a_buffer) {
  const folder temp;
  std::string bytes(3'000'000, 'x');
  bytes.back() = 'y';
  const auto array = data::read_idx(gzipped(temp, "large.gz", idx({3'000'000}, bytes)));
  BOOST_TEST((std::string(array.values.begin(), array.values.end()) == bytes));
}

BOOST_AUTO_TEST_CASE(rejects_files_that_cannot_be_read) {
  const folder temp;
  rejects(temp.path / "none", "a readable file", "No such file or directory");
  rejects(temp.path, "a readable file", "Is a directory");
}

BOOST_AUTO_TEST_CASE(rejects_wrong_headers) {
  const folder temp;
  const auto wrong = "an IDX header of bytes (00 00 08, rank 1 to 4)";
  rejects(temp.plain("text", "hello"), wrong, "68 65 6c 6c");
  rejects(temp.plain("floats", "\0\0\x0D\1"s), wrong, "00 00 0d 01");
  rejects(temp.plain("rank0", "\0\0\x08\0"s), wrong, "00 00 08 00");
  rejects(temp.plain("rank5", "\0\0\x08\5"s), wrong, "00 00 08 05");
  rejects(temp.plain("empty", ""), "an IDX header", "an early end");
  rejects(temp.plain("cut", idx({2, 3}, "").substr(0, 10)), "an IDX header", "an early end");
}

BOOST_AUTO_TEST_CASE(rejects_extents_that_are_zero_or_too_large) {
  const folder temp;
  const auto reason = "extents above 0 and at most 2^31 - 1 bytes";
  rejects(temp.plain("zero", idx({2, 0}, "")), reason, "an extent of 0");
  rejects(temp.plain("large", idx({0xFFFFFFFF}, "")), reason, "an extent of 4294967295");
  rejects(temp.plain("product", idx({0x10000, 0x8000}, "")), reason, "an extent of 32768");
  rejects(temp.plain("overflow", idx({0x7FFFFFFF, 0x7FFFFFFF, 0x7FFFFFFF, 4}, "")), reason, "an extent of 2147483647");
}

BOOST_AUTO_TEST_CASE(rejects_contents_of_the_wrong_length) {
  const folder temp;
  rejects(temp.plain("short", idx({2, 3}, "abcde")), "6 bytes of data", "5");
  rejects(temp.plain("announced", idx({0x7FFFFFFF}, "abc")), "2147483647 bytes of data", "3");
  rejects(gzipped(temp, "short.gz", idx({2, 3}, "abcde")), "6 bytes of data", "5");
  rejects(temp.plain("long", idx({2, 3}, "abcdefg")), "6 bytes of data", "more");
  rejects(gzipped(temp, "long.gz", idx({2, 3}, "abcdefg")), "6 bytes of data", "more");
}

BOOST_AUTO_TEST_CASE(rejects_damaged_gzip_data) {
  const folder temp;
  const auto packed = read_bytes(gzipped(temp, "sound.gz", idx({26}, "abcdefghijklmnopqrstuvwxyz")));
  for (std::size_t length = 11; length < packed.size(); ++length) {
    rejects(temp.plain("cut.gz", packed.substr(0, length)), "complete gzip data", "an early end");
  }
  auto damaged = packed;
  damaged[packed.size() - 8] ^= 1;  // the checksum, which comes after all data
  rejects(temp.plain("checksum.gz", damaged), "sound gzip data", "a corrupt stream");
  damaged = packed;
  damaged[10] = '\x07';  // a block of an unknown kind
  rejects(temp.plain("block.gz", damaged), "sound gzip data", "a corrupt stream");
}

BOOST_AUTO_TEST_CASE(rejects_bytes_after_the_gzip_data) {
  const folder temp;
  const auto bytes = idx({26}, "abcdefghijklmnopqrstuvwxyz");
  const auto packed = read_bytes(gzipped(temp, "sound.gz", bytes));
  for (const auto& more : {"x"s, "\0"s, std::string(100'000, '\0')})
    rejects(temp.plain("behind.gz", packed + more), "an end of the file", "bytes behind gzip data");
  rejects(temp.plain("cut.gz", packed + packed.substr(0, 5)), "complete gzip data", "an early end");
  rejects(temp.plain("twice.gz", packed + packed), "26 bytes of data", "more");

  // Two concatenated gzip files are one gzip file.
  const auto first = read_bytes(gzipped(temp, "first.gz", bytes.substr(0, 9)));
  const auto second = read_bytes(gzipped(temp, "second.gz", bytes.substr(9)));
  const auto array = data::read_idx(temp.plain("joined.gz", first + second));
  BOOST_TEST(std::string(array.values.begin(), array.values.end()) == bytes.substr(8));
}

BOOST_AUTO_TEST_CASE(reads_images_with_their_labels) {
  const folder temp;
  const auto images = temp.plain("images", idx({2, 1, 2}, "\0\xFF\xFF\0"s));
  const auto set = data::read_labelled_images(images, temp.plain("labels", idx({2}, "\3\1")), 4);
  const auto out = data::as_dataset(set, 4);
  BOOST_TEST(out.size() == 2);
  BOOST_TEST(out.features == 2);
  BOOST_TEST(out.classes == 4);
  BOOST_TEST(out.images == (std::vector<float>{0, 1, 1, 0}), boost::test_tools::per_element());
  BOOST_TEST(out.labels == (std::vector<std::int32_t>{3, 1}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(rejects_images_and_labels_that_do_not_fit) {
  const folder temp;
  const auto images = temp.plain("images", idx({2, 1, 2}, "abcd"));
  const auto labels = temp.plain("labels", idx({2}, "\3\1"));
  const auto read = data::read_labelled_images;
  BOOST_CHECK_EXCEPTION(read(images, labels, 3), data::file_error, says(labels, "labels below 3", "3"));
  BOOST_CHECK_EXCEPTION(read(labels, images, 4), data::file_error, says(labels, "rank 3", "rank 1"));
  BOOST_CHECK_EXCEPTION(read(images, images, 4), data::file_error, says(images, "rank 1", "rank 3"));
  const auto three = temp.plain("three", idx({3}, "\3\1\2"));
  BOOST_CHECK_EXCEPTION(read(images, three, 4), data::file_error, says(three, "2 labels, one an image", "3"));
}

BOOST_AUTO_TEST_CASE(both_sets_are_standardized_by_the_training_set) {
  const folder temp;
  gzipped(temp, "train-images-idx3-ubyte.gz", idx({2, 1, 1}, "\0\x66"s));
  gzipped(temp, "train-labels-idx1-ubyte.gz", idx({2}, "\0\1"s));
  gzipped(temp, "t10k-images-idx3-ubyte.gz", idx({1, 1, 1}, "\x99"));
  gzipped(temp, "t10k-labels-idx1-ubyte.gz", idx({1}, "\2"));
  const auto [train, test] = data::fashion_mnist(temp.path);
  BOOST_TEST(train.images == (std::vector<float>{-1, 1}), boost::test_tools::per_element());
  BOOST_TEST(std::abs(test.images[0] - 2) < 1e-6);
  const auto as_they_are = data::fashion_mnist(temp.path, data::pixels::from_0_to_1);
  BOOST_TEST(as_they_are.train.images == (std::vector<float>{0, 0.4F}), boost::test_tools::per_element());

  const auto file = gzipped(temp, "t10k-images-idx3-ubyte.gz", idx({1, 1, 2}, "ab"));
  BOOST_CHECK_EXCEPTION(data::fashion_mnist(temp.path), data::file_error,
                        says(file, "images of 1 x 1 pixels, as the training set's", "1 x 2"));

  gzipped(temp, "t10k-images-idx3-ubyte.gz", idx({1, 1, 1}, "a"));
  gzipped(temp, "train-images-idx3-ubyte.gz", idx({2, 1, 1}, "aa"));
  BOOST_CHECK_THROW(data::fashion_mnist(temp.path), data::option_error);  // all pixels are equal
}

BOOST_AUTO_TEST_CASE(reads_fashion_mnist) {
  const fs::path folder = "/usr/share/datasets/fashion-mnist";
  if (!fs::exists(folder)) {
    BOOST_TEST_MESSAGE("Debian's package dataset-fashion-mnist is not installed");
    return;
  }
  const data::moments moments(data::fashion_mnist(folder, data::pixels::from_0_to_1).train);
  BOOST_TEST(moments.mean()[0] == 0.2860, boost::test_tools::tolerance(5e-4));
  BOOST_TEST(moments.deviation()[0] == 0.3530, boost::test_tools::tolerance(5e-4));

  const auto [train, test] = data::fashion_mnist();
  BOOST_TEST(train.size() == 60000);
  BOOST_TEST(test.size() == 10000);
  for (const auto* set : {&train, &test}) {
    BOOST_TEST(set->features == 784);
    BOOST_TEST(set->classes == 10);
    BOOST_TEST(std::ssize(set->images) == set->size() * 784);
  }
  double sum = 0, squares = 0;
  for (const double x : train.images) {
    sum += x;
    squares += x * x;
  }
  const auto count = static_cast<double>(train.images.size());
  BOOST_TEST(std::abs(sum / count) < 1e-4);
  BOOST_TEST(std::abs(squares / count - 1) < 1e-4);
}

BOOST_AUTO_TEST_SUITE_END()
