// Files that cannot be written completely, or cannot be read.
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <string>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "folder.hpp"
#include "killed.hpp"
#include "mutated_data.hpp"

namespace file = cairn::file;
namespace fs = std::filesystem;

namespace {

/// How the system calls below behave. All calls succeed except one.
struct system_calls {
  int until_failure = -1;  // number of calls that succeed before the failure
  int reason = 0;
  bool in_parts = false;  // each write is interrupted once, and then writes three bytes

  bool fails() {
    if (until_failure < 0 || until_failure-- > 0) return false;
    errno = reason;
    return true;
  }
};
system_calls calls;

}  // namespace

// These functions replace the C library's functions in this program.
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

std::size_t tensors_in(const std::string& path) {
  const file::reader saved(path);
  return saved.tensors().size();
}
const std::string data = "some bytes that are written";
const std::vector<file::tensor> tensors = {
    {"a", file::dtype::u8, {27}, std::as_bytes(std::span(data))},
    {"b", file::dtype::i8, {3, 9}, std::as_bytes(std::span(data))},
};

std::size_t files_in(const fs::path& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

/// Checks that writing to `path` fails for this reason, and that the message says so.
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

// Any call may report a full disk, also the last calls.
BOOST_AUTO_TEST_CASE(a_failure_of_any_system_call_keeps_the_old_file) {
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
  // The calls are: write for two pieces of the header and for two tensors, fsync, close, rename, and fsync of the
  // folder. At the last call, the new file is already in place.
  BOOST_TEST(call == 8);
  BOOST_TEST(tensors_in(path) == 2U);
  calls = {.until_failure = 7, .reason = EINVAL};  // the error of a file system that does not support fsync of a folder
  file::write(path, tensors);
  calls = {};
}

BOOST_AUTO_TEST_CASE(interrupted_and_partial_writes_are_continued) {
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

// The kernel writes a part and then refuses to write more, because files have a size limit.
BOOST_AUTO_TEST_CASE(a_write_may_end_at_any_byte) {
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

BOOST_AUTO_TEST_CASE(missing_and_forbidden_folders_are_reported) {
  const folder temp;
  fails(temp.path / "none/saved", ENOENT);
  fails(temp.plain("file", "old") / "saved", ENOTDIR);
  fails(temp.path / std::string(256, 'x'), ENAMETOOLONG);
  fails("", ENOENT);
  fs::create_directory(temp.path / "folder");
  fails(temp.path / "folder", EISDIR);
  BOOST_TEST(files_in(temp.path) == 2U);
  // The folder is read-only. If the test runs as root, it writes as an unprivileged user.
  fs::permissions(temp.path,
                  fs::perms::owner_read | fs::perms::others_read | fs::perms::owner_exec | fs::perms::others_exec);
  const auto root = geteuid() == 0;
  if (root) BOOST_REQUIRE(seteuid(65534) == 0);
  fails(temp.path / "saved", EACCES);
  if (root) BOOST_REQUIRE(seteuid(0) == 0);
  fs::permissions(temp.path, fs::perms::owner_all);
}

BOOST_AUTO_TEST_CASE(a_name_may_have_the_largest_length) {
  for (const std::size_t bytes : {225U, 226U, 250U, 255U}) {
    const folder temp;
    const std::string path = temp.path / std::string(bytes, 'x');
    for (int i = 0; i < 2; ++i) file::write(path, tensors);
    BOOST_TEST(tensors_in(path) == 2U);
    BOOST_TEST(files_in(temp.path) == 1U);
  }
}

BOOST_AUTO_TEST_CASE(a_folder_may_be_writable_but_not_readable) {
  const folder temp;
  const fs::path drop = temp.path / "drop";
  fs::create_directory(drop);
  // If the test runs as root, it writes as an unprivileged user. The group of this user may be root's group.
  fs::permissions(drop, static_cast<fs::perms>(0733));
  fs::permissions(temp.path, static_cast<fs::perms>(0711));
  const auto root = geteuid() == 0;
  if (root) BOOST_REQUIRE(seteuid(65534) == 0);
  else fs::permissions(drop, fs::perms::owner_write | fs::perms::owner_exec);
  for (int i = 0; i < 2; ++i) BOOST_CHECK_NO_THROW(file::write(drop / "saved", tensors));
  if (root) BOOST_REQUIRE(seteuid(0) == 0);
  fs::permissions(drop, fs::perms::owner_all);
  BOOST_TEST(tensors_in(drop / "saved") == 2U);
  BOOST_TEST(files_in(drop) == 1U);
}

/// The mode and the owners of a file.
struct rights {
  ::mode_t mode;
  ::uid_t user;
  ::gid_t group;
  bool operator==(const rights&) const = default;
};
rights rights_of(const std::string& path) {
  struct stat about{};
  BOOST_REQUIRE(::stat(path.c_str(), &about) == 0);
  return {about.st_mode & 07777U, about.st_uid, about.st_gid};
}

BOOST_AUTO_TEST_CASE(a_file_keeps_its_mode_and_its_owner) {
  const folder temp;
  const std::string path = temp.path / "saved";
  const ::mode_t before = umask(027);
  file::write(path, tensors);
  BOOST_TEST(rights_of(path).mode == 0640U);  // the mode of a new file
  for (const ::mode_t mode : {0600U, 0666U, 0444U, 0640U}) {
    BOOST_REQUIRE(::chmod(path.c_str(), mode) == 0);
    file::write(path, tensors);
    BOOST_TEST(rights_of(path).mode == mode);
  }
  umask(before);
  if (geteuid() != 0) return;
  BOOST_REQUIRE(::chown(path.c_str(), 65534, 12345) == 0);
  file::write(path, tensors);
  BOOST_TEST((rights_of(path) == rights{0640, 65534, 12345}));
  // The file of another user, in a folder that everybody may write to. Only root can give files away. The group does
  // not get more rights than everybody has.
  fs::permissions(temp.path, fs::perms::all);
  BOOST_REQUIRE(::chown(path.c_str(), 0, 12345) == 0);
  BOOST_REQUIRE(::chmod(path.c_str(), 0664) == 0);
  BOOST_REQUIRE(seteuid(65534) == 0);
  file::write(path, tensors);
  BOOST_REQUIRE(seteuid(0) == 0);
  BOOST_TEST((rights_of(path) == rights{0644, 65534, getegid()}));
}

BOOST_AUTO_TEST_CASE(a_link_stays_and_leads_to_the_saved_file) {
  const folder temp;
  fs::create_directory(temp.path / "elsewhere");
  const std::string path = temp.path / "link";
  fs::create_symlink("elsewhere/next", path);
  fs::create_symlink(temp.path / "elsewhere/file", temp.path / "elsewhere/next");
  for (int i = 0; i < 2; ++i) {  // at first, the last link leads to a file that does not exist
    file::write(path, tensors);
    BOOST_TEST(fs::read_symlink(path) == "elsewhere/next");
    BOOST_TEST(fs::is_symlink(temp.path / "elsewhere/next"));
    BOOST_TEST(!fs::is_symlink(temp.path / "elsewhere/file"));
    BOOST_TEST(tensors_in(path) == 2U);
    BOOST_TEST(files_in(temp.path / "elsewhere") == 2U);
  }
  fs::create_symlink("none/file", temp.path / "lost");
  fails(temp.path / "lost", ENOENT);
  fs::create_symlink("b", temp.path / "a");
  fs::create_symlink("a", temp.path / "b");
  fails(temp.path / "a", ELOOP);
}

BOOST_AUTO_TEST_CASE(pipes_and_devices_are_not_replaced) {
  const folder temp;
  const std::string pipe = temp.path / "pipe";
  BOOST_REQUIRE(::mkfifo(pipe.c_str(), 0666) == 0);
  fs::create_symlink(pipe, temp.path / "link");
  fs::create_symlink("/dev/null", temp.path / "null");
  for (const std::string& path : {pipe, std::string(temp.path / "link"), std::string(temp.path / "null")})
    BOOST_CHECK_EXCEPTION(file::write(path, tensors), file::write_error,
                          [](const auto& e) { return e.actual == "a pipe or device"; });
  BOOST_TEST(fs::is_fifo(pipe));
  BOOST_TEST(fs::is_character_file("/dev/null"));
  BOOST_TEST(files_in(temp.path) == 3U);
}

// Several processes save one file at the same time. They may finish each other's last step. No save fails, and no file
// is a mixture of two saves.
BOOST_AUTO_TEST_CASE(several_processes_may_save_one_file) {
  const folder temp;
  const std::string path = temp.path / "saved";
  file::write(path, tensors);
  const std::string whole = read_bytes(path);
  std::atomic<int> failed = 0, mixed = 0;
  std::vector<std::jthread> writers;
  for (int i = 0; i < 4; ++i) {
    writers.emplace_back([&] {
      for (int n = 0; n < 100; ++n) {
        try {
          file::write(path, tensors);
        } catch (const file::write_error&) {
          ++failed;
        }
        mixed += read_bytes(path) != whole;
      }
    });
  }
  writers.clear();
  BOOST_TEST(failed == 0);
  BOOST_TEST(mixed == 0);
  BOOST_TEST(files_in(temp.path) == 1U);
}

BOOST_AUTO_TEST_CASE(a_name_without_a_folder_is_in_the_current_folder) {
  const folder temp;
  const fs::path before = fs::current_path();
  fs::current_path(temp.path);
  file::write("saved", tensors);
  BOOST_TEST(tensors_in("saved") == 2U);
  fs::current_path(before);
  BOOST_TEST(files_in(temp.path) == 1U);
}

BOOST_AUTO_TEST_CASE(open_readers_continue_to_read_the_old_file) {
  const folder temp;
  const std::string path = temp.path / "saved";
  file::write(path, tensors);
  std::ifstream in(path, std::ios::binary);
  const std::string old = read_bytes(path);
  file::write(path, {}, {});
  BOOST_TEST(std::string(std::istreambuf_iterator<char>(in), {}) == old);
  BOOST_TEST(tensors_in(path) == 0U);
}

BOOST_AUTO_TEST_CASE(after_a_kill_the_file_is_old_or_new) {
  const folder temp;
  const auto found = killed::times(50, temp.path, 6000, 1);
  BOOST_TEST(found.old_files + found.new_files == 50);
  BOOST_TEST_MESSAGE(found.new_files << " new, " << found.left_beside << " left beside");
  // The temporary file has a name only for a short time before it replaces the old file.
  BOOST_TEST(found.left_beside < 5);
}

BOOST_AUTO_TEST_CASE(damaged_files_are_accepted_or_rejected) {
  mutated::trial trial;
  for (const std::string& bytes : mutated::sound()) trial.read(bytes);
  BOOST_TEST(trial.result.refused == 0U);
  for (int number = 0; number < 30'000; ++number) trial.read(mutated::file(static_cast<std::uint64_t>(number)));
  BOOST_TEST(trial.result.sound > 1000U);
  BOOST_TEST(trial.result.refused > 20'000U);
  BOOST_TEST(trial.result.most < 4096U);
}

BOOST_AUTO_TEST_CASE(damaged_data_is_accepted_or_rejected) {
  mutated::trial trial;
  std::uint64_t sound[4] = {};  // of each format
  for (std::uint64_t number = 0; number < 20'000; ++number) {
    const std::uint64_t before = trial.result.sound;
    mutated::read_data(trial, number);
    sound[number % 4] += trial.result.sound - before;
  }
  for (const std::uint64_t count : sound) BOOST_TEST(count > 100U);
  BOOST_TEST(trial.result.refused > 10'000U);
  BOOST_TEST_MESSAGE(trial.result.most << " bytes beyond the file's");
  BOOST_TEST(trial.result.most < 300'000U);
}

// Many names take a few times the bytes of their text. Announced sizes take no memory.
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
