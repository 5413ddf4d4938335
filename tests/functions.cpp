// Compares the functions of registers with std's functions in double, for all 2^32 floats. Usage: functions [NAME]
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>

#include "function_error.hpp"

int main(int count, char** words) {
  const std::string_view wanted = count > 1 ? words[1] : "";
  bool well = true;
  function_error::for_each_function([&](std::string_view name, auto function, auto right) {
    if (!name.starts_with(wanted)) return;
    constexpr std::uint64_t all = std::uint64_t{1} << 32;
    std::array<double, 2> worst{};
    std::thread other([&] { worst[1] = function_error::worst(function, right, all / 2, all, 1); });
    worst[0] = function_error::worst(function, right, 0, all / 2, 1);
    other.join();
    const double most = std::max(worst[0], worst[1]);
    std::printf("%-10.*s %.3f units in the last place\n", static_cast<int>(name.size()), name.data(), most);
    std::fflush(stdout);
    well &= most <= 2;
  });
  return well ? EXIT_SUCCESS : EXIT_FAILURE;
}
