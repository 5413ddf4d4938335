// Shows that a way of taking cairn into a project has found the headers, xsimd and zlib.
#include <cstdio>

#include <cairn/cairn.hpp>
#include <cairn/data/idx.hpp>

using step = cairn::program<mean(cairn::param<"w", 6>)>;

int main() {
  try {
    cairn::data::read_idx("no such file");
  } catch (const cairn::data::file_error& error) {
    std::printf("%s\n", error.what());
    return step::memory().peak_bytes > 0 ? 0 : 1;
  }
  return 1;
}
