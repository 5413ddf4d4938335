// Models in several files with an index, as Hugging Face writes large models.
#include "cairn/file/parts.hpp"

#include <array>
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "folder.hpp"

namespace file = cairn::file;
using namespace std::string_literals;

namespace {

/// A folder with a model of two files: "one" has the tensors a and c, and "two" has b. Each tensor is one number.
struct model : folder {
  std::array<float, 3> numbers{1, 2, 3};
  std::string index = (path / "model.index.json").string();

  model() {
    write_part("one", {"a", "c"});
    write_part("two", {"b"});
    write_index(
        R"({"metadata":{"total_size":12,"more":[{"weight_map":1}]},"weight_map":{"a":"one","b":"two","c":"one"}})");
  }
  void write_part(const std::string& name, const std::vector<std::string>& tensors) const {
    std::vector<file::tensor> all;
    for (const std::string& tensor : tensors) {
      const auto at = static_cast<std::size_t>(tensor[0] - 'a');
      all.push_back({tensor, file::dtype::f32, {1}, std::as_bytes(std::span(&numbers[at], 1))});
    }
    file::write(path / name, all, {{"format", "pt"}, {name, "a text"}});
  }
  void write_index(const std::string& text) const { static_cast<void>(plain("model.index.json", text)); }
  /// Checks that the model is refused. `part` is the file that the message names.
  void rejects(const std::string& part, std::string_view expected, std::string_view actual) const {
    const std::string named = (path / part).string();
    BOOST_CHECK_EXCEPTION(file::detail::opened_model{index}, file::format_error, [&](const auto& e) {
      BOOST_TEST(e.path == named);
      BOOST_TEST(e.expected == expected);
      BOOST_TEST(e.actual == actual);
      return true;
    });
  }
  void rejects_index(const std::string& text, std::string_view expected, std::string_view actual) const {
    write_index(text);
    rejects("model.index.json", expected, actual);
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(parts_suite)

BOOST_AUTO_TEST_CASE(several_files_are_one_model) {
  const model here;
  const file::detail::opened_model all(here.index);
  BOOST_TEST(all.entries.size() == 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    BOOST_TEST(all.entries[i].about.name == std::string(1, "abc"[i]));
    float number = 0;
    all.read(*all.find(all.entries[i].about.name), std::as_writable_bytes(std::span(&number, 1)));
    BOOST_TEST(number == here.numbers[i]);
  }
  BOOST_TEST((all.find("d") == nullptr));
  BOOST_TEST(all.metadata.size() == 3U);
  const file::detail::opened_model one((here.path / "one").string());
  BOOST_TEST(one.entries.size() == 2U);
}

BOOST_AUTO_TEST_CASE(parts_and_index_must_agree) {
  const model here;
  const std::string only = "only tensors that " + here.index + " puts there";
  here.write_part("two", {"b", "c"});  // c is in both files
  here.rejects("two", only, "'c'");
  here.write_part("two", {"b", "d"});  // the index does not name d
  here.rejects("two", only, "'d'");
  here.write_part("two", {});
  here.rejects("two", "'b', as " + here.index + " says", "nothing");
  std::filesystem::remove(here.path / "two");
  BOOST_CHECK_EXCEPTION(file::detail::opened_model{here.index}, file::read_error,
                        [&](const auto& e) { return e.path == here.path / "two" && e.reason == ENOENT; });
  std::filesystem::create_directory(here.path / "two");
  here.rejects("two", "a file", "a folder, pipe or device");
}

BOOST_AUTO_TEST_CASE(names_of_parts_stay_in_the_folder) {
  const model here;
  const std::string wanted = "the name of a file in the same folder for 'a'";
  for (const auto& [name, shown] : {std::pair{"../one", "'../one'"},
                                    {"/etc/passwd", "'/etc/passwd'"},
                                    {"folder/one", "'folder/one'"},
                                    {"", "''"},
                                    {R"(one\u0000)", "'one?'"}})
    here.rejects_index(R"({"weight_map":{"a":")"s + name + "\"}}", wanted, shown);
  here.write_index(R"({"weight_map":{"a":".."}})");
  here.rejects("..", "a file", "a folder, pipe or device");
}

BOOST_AUTO_TEST_CASE(an_index_that_is_none_is_refused) {
  const model here;
  here.rejects_index("[]", "an index that begins with {", "another");
  here.rejects_index("", "an index that begins with {", "another");
  here.rejects_index("{}", "weight_map", "none");
  here.rejects_index(R"({"metadata":{"weight_map":{"a":"one"}}})", "weight_map", "none");
  here.rejects_index(R"({"weight_map":[]})", "an object as weight_map", "an array");
  here.rejects_index(R"({"weight_map":"one"})", "an object as weight_map", "a string");
  here.rejects_index(R"({"weight_map":{"a":1}})", "the name of a file for 'a'", "a number");
  here.rejects_index(R"({"weight_map":{"a":{"b":"one"}}})", "the name of a file for 'a'", "an object");
  here.rejects_index(R"({"weight_map":{"a":["one"]}})", "the name of a file for 'a'", "an array");
  here.rejects_index(R"({"weight_map":{"a":"one","a":"two"}})", "names that differ", "'a' twice");
  here.rejects_index(R"({"weight_map":{},"weight_map":{}})", "one weight_map", "two");
  here.rejects_index(R"({"weight_map":{"a":"one"})", "an index of JSON", "something else at its byte 26");
  here.rejects_index("{}\0"s, "an index of JSON", "a zero in it");
  here.rejects_index("{\"a\":" + std::string(100'000, '['), "an index of JSON", "something else at its byte 100006");
  std::string many = R"({"weight_map":{)";
  for (int i = 0; i <= 100'000; ++i) many += (i == 0 ? "\"" : ",\"") + std::to_string(i) + R"(":"one")";
  here.rejects_index(many + "}}", "at most 100000 tensors", "more");
}

// A changed index either names the same tensors in the same files, or is refused.
BOOST_AUTO_TEST_CASE(an_index_with_any_changed_byte_is_read_or_refused) {
  const model here;
  const std::string whole = read_bytes(here.index);
  int opened = 0, refused = 0;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    for (const char changed : {'"', '{', '}', '[', ',', 'x', '/', '.', '\\', '\0', '\x80'}) {
      std::string text = whole;
      text[i] = changed;
      here.write_index(text);
      try {
        const file::detail::opened_model all(here.index);
        BOOST_TEST(all.entries.size() == 3U);
        ++opened;
      } catch (const file::file_error&) {
        ++refused;
      }
    }
    here.write_index(whole.substr(0, i));
    BOOST_CHECK_THROW(file::detail::opened_model{here.index}, file::format_error);
  }
  BOOST_TEST(opened > 0);
  BOOST_TEST(refused > opened);
}

BOOST_AUTO_TEST_SUITE_END()
