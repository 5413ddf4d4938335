// What becomes of a file that cannot be written to its end, or read.
#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <string>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

#include "folder.hpp"
#include "killed.hpp"
#include "mutated.hpp"

namespace file = cairn::file;
namespace fs = std::filesystem;

namespace {

/// What the calls of the system below do: all that they should, but for one, which fails.
struct system_calls {
  int until_failure = -1;  // how many succeed before
  int reason = 0;
  bool in_parts = false;  // each write is interrupted first, and then writes three bytes

  bool fails() {
    if (until_failure < 0 || until_failure-- > 0) return false;
    errno = reason;
    return true;
  }
};
system_calls calls;

}  // namespace

// In place of the C library's, for this program.
extern "C" {
ssize_t write(int file, const void* bytes, size_t size) {
  static bool interrupted = false;
  if (calls.fails()) return -1;
  if (calls.in_parts && (interrupted = !interrupted)) {
    errno = EINTR;
    return -1;
  }
  return syscall(SYS_write, file, bytes, calls.in_parts ? std::min(size, size_t{3}) : size);
}
int fsync(int file) { return calls.fails() ? -1 : static_cast<int>(syscall(SYS_fsync, file)); }
int close(int file) {
  const int state = static_cast<int>(syscall(SYS_close, file));
  return calls.fails() ? -1 : state;
}
int rename(const char* from, const char* to) noexcept {
  return calls.fails() ? -1 : static_cast<int>(syscall(SYS_rename, from, to));
}
}

namespace {

const std::string data = "some bytes that are written";
const std::vector<file::tensor> tensors = {
    {"a", file::dtype::u8, {27}, std::as_bytes(std::span(data))},
    {"b", file::dtype::i8, {3, 9}, std::as_bytes(std::span(data))},
};

std::size_t files_in(const fs::path& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

/// Writing to `path` fails for this reason, and says so.
void fails(const std::string& path, int reason) {
  BOOST_CHECK_EXCEPTION(file::write(path, tensors), file::write_error, [&](const file::write_error& e) {
    BOOST_TEST(e.reason == reason);
    BOOST_TEST(e.path == path);
    BOOST_TEST(e.actual == std::strerror(reason));
    BOOST_TEST(e.what() == "cairn: " + path + ": expected " + e.expected + ", got " + e.actual);
    return true;
  });
}

}  // namespace

BOOST_AUTO_TEST_SUITE(file_faults_suite)

// A disk may say at any call that it is full, also at the last ones.
BOOST_AUTO_TEST_CASE(any_call_may_fail) {
  const folder temp;
  const std::string path = temp.plain("saved", "old");
  int call = 0;
  for (bool old = true; old; ++call) {
    calls = {.until_failure = call, .reason = ENOSPC};
    fails(path, ENOSPC);
    calls = {};
    old = read_bytes(path) == "old";
    BOOST_TEST(files_in(temp.path) == 1U);
  }
  // Two pieces of header, two tensors, fsync, close, rename; and fsync of the folder, after which the new file is there.
  BOOST_TEST(call == 8);
  BOOST_TEST(file::reader(path).tensors().size() == 2U);
  calls = {.until_failure = 7, .reason = EINVAL};  // of a file system that does not do it
  file::write(path, tensors);
  calls = {};
}

BOOST_AUTO_TEST_CASE(calls_may_be_interrupted_and_do_little) {
  const folder temp;
  file::write(temp.path / "whole", tensors);
  calls = {.in_parts = true};
  file::write(temp.path / "parts", tensors);
  for (const int call : {4, 5}) {  // fsync, close
    calls = {.until_failure = call, .reason = EINTR};
    file::write(temp.path / "interrupted", tensors);
    calls = {};
    BOOST_TEST(read_bytes(temp.path / "interrupted") == read_bytes(temp.path / "whole"));
  }
  BOOST_TEST(read_bytes(temp.path / "parts") == read_bytes(temp.path / "whole"));
}

// The kernel itself writes a part, and then no more: no file may have more bytes.
BOOST_AUTO_TEST_CASE(may_end_at_any_byte) {
  const folder temp;
  const std::string path = temp.plain("saved", "old");
  file::write(temp.path / "whole", tensors);
  const std::size_t size = read_bytes(temp.path / "whole").size();
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  for (std::size_t bytes = 0; bytes < size; ++bytes) {
    const rlimit few{bytes, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &few);
    std::string text;
    int reason = 0;
    try {
      file::write(path, tensors);
    } catch (const file::write_error& e) {
      reason = e.reason;
    }
    setrlimit(RLIMIT_FSIZE, &before);
    BOOST_TEST(reason == EFBIG);
    BOOST_TEST(read_bytes(path) == "old");
    BOOST_TEST(files_in(temp.path) == 2U);
  }
  std::signal(SIGXFSZ, handler);
  file::write(path, tensors);
  BOOST_TEST(read_bytes(path) == read_bytes(temp.path / "whole"));
}

BOOST_AUTO_TEST_CASE(folders_may_be_none_or_for_others) {
  const folder temp;
  fails(temp.path / "none/saved", ENOENT);
  fails(temp.plain("file", "old") / "saved", ENOTDIR);
  fails(temp.path / std::string(250, 'x'), ENAMETOOLONG);
  fs::create_directory(temp.path / "folder");
  fails(temp.path / "folder", EISDIR);
  BOOST_TEST(files_in(temp.path) == 2U);
  // Read-only; what root may do, it does as nobody.
  fs::permissions(temp.path,
                  fs::perms::owner_read | fs::perms::others_read | fs::perms::owner_exec | fs::perms::others_exec);
  const auto root = geteuid() == 0;
  if (root) BOOST_REQUIRE(seteuid(65534) == 0);
  fails(temp.path / "saved", EACCES);
  if (root) BOOST_REQUIRE(seteuid(0) == 0);
  fs::permissions(temp.path, fs::perms::owner_all);
}

BOOST_AUTO_TEST_CASE(a_name_without_folder_is_one_of_this_folder) {
  const folder temp;
  const fs::path before = fs::current_path();
  fs::current_path(temp.path);
  file::write("saved", tensors);
  BOOST_TEST(file::reader("saved").tensors().size() == 2U);
  fs::current_path(before);
  BOOST_TEST(files_in(temp.path) == 1U);
}

BOOST_AUTO_TEST_CASE(who_reads_goes_on_with_what_was) {
  const folder temp;
  const std::string path = temp.path / "saved";
  file::write(path, tensors);
  std::ifstream in(path, std::ios::binary);
  const std::string old = read_bytes(path);
  file::write(path, {}, {});
  BOOST_TEST(std::string(std::istreambuf_iterator<char>(in), {}) == old);
  BOOST_TEST(file::reader(path).tensors().empty());
}

BOOST_AUTO_TEST_CASE(is_old_or_new_after_each_kill) {
  const folder temp;
  const auto found = killed::times(50, temp.path, 6000, 1);
  BOOST_TEST(found.old_files + found.new_files == 50);
  BOOST_TEST_MESSAGE(found.new_files << " new, " << found.left_beside << " left beside");
  BOOST_TEST(found.left_beside > 0);  // or none was killed while it wrote
}

BOOST_AUTO_TEST_CASE(damaged_files_are_taken_or_refused) {
  mutated::trial trial;
  for (const std::string& bytes : mutated::sound()) trial.read(bytes);
  BOOST_TEST(trial.result.refused == 0U);
  for (int number = 0; number < 30'000; ++number) trial.read(mutated::file(static_cast<std::uint64_t>(number)));
  BOOST_TEST(trial.result.sound > 1000U);
  BOOST_TEST(trial.result.refused > 20'000U);
  BOOST_TEST(trial.result.most < 4096U);
}

// Many names take a few times their text, and numbers that announce much take nothing.
BOOST_AUTO_TEST_CASE(memory_grows_with_the_header) {
  mutated::trial trial;
  std::string header = "{";
  for (int i = 0; i < 20'000; ++i)
    header += (i > 0 ? ",\"" : "\"") + std::to_string(i) + R"(":{"dtype":"U8","shape":[0,1,1],"data_offsets":[0,0]})";
  trial.read(mutated::whole(header + "}", ""));
  BOOST_TEST(trial.result.sound == 1U);
  BOOST_TEST_MESSAGE(trial.result.most << " of " << header.size());
  BOOST_TEST(trial.result.most < 5 * header.size());
}

BOOST_AUTO_TEST_SUITE_END()
