// Runs a single kernel as plan steps run it, in memory that is watched. The laws of operations are checked in this
// way.
#pragma once

#include "cairn/base/decimal.hpp"
#include "cairn/base/text.hpp"
#include "cairn/graph/graph.hpp"
#include "cairn/run/arena.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <span>
#include <string>
#include <vector>

namespace cairn::detail {

/// The memory of a tensor, aligned as in a program. It lies between two zones that no kernel may read or write.
class guarded_memory {
  struct alignas(memory_alignment) line {
    std::byte bytes[memory_alignment];
  };
  static constexpr std::size_t zone = 4096;

 public:
  explicit guarded_memory(std::int64_t size)
      : size_(static_cast<std::size_t>(size)), lines_(2 * zone / sizeof(line) + size_ / sizeof(line) + 1) {}

  std::byte* data() { return all().data() + zone; }
  std::span<std::byte> bytes() { return {data(), size_}; }
  void surround(std::byte with) {
    std::ranges::fill(all().first(zone), with);
    std::ranges::fill(all().subspan(zone + size_), with);
  }
  /// Returns where the zones are no longer as `surround` left them, for example "3 bytes past its end". Returns an
  /// empty text if they are unchanged.
  std::string harm(std::byte before) {
    const auto is_other = [=](std::byte b) { return b != before; };
    const auto after = all().subspan(zone + size_), front = all().first(zone);
    const auto past = std::ranges::find_if(after, is_other);
    if (past != after.end()) return text_of({text_of(past - after.begin()), " bytes past its end"});
    const auto ahead = std::find_if(front.rbegin(), front.rend(), is_other);
    if (ahead != front.rend()) return text_of({text_of(ahead - front.rbegin() + 1), " bytes before its beginning"});
    return {};
  }

 private:
  std::span<std::byte> all() { return {lines_[0].bytes, lines_.size() * sizeof(line)}; }

  std::size_t size_;
  std::vector<line> lines_;
};

/// Returns the text of an element. For an element type of the user, the text shows the bytes.
inline std::string element_text(const std::byte* at, element_type of, std::int64_t bytes) {
  const auto read = [&]<class T>(T number) {
    std::memcpy(&number, at, sizeof number);
    return number;
  };
  char text[48] = {};
  if (of.type == dtype::i32) return std::to_string(read(std::int32_t{}));
  if (of.type == dtype::u8) return std::to_string(read(std::uint8_t{}));
  if (of.type >= dtype::own || bytes > 8) {
    for (std::int64_t i = std::min<std::int64_t>(bytes, 8); i-- > 0;)
      std::snprintf(text + std::strlen(text), 3, "%02x", std::to_integer<unsigned>(at[i]));
    return text_of({"0x", text});
  }
  const double number = bytes == 2   ? static_cast<double>(read(bf16{}))
                        : bytes == 4 ? static_cast<double>(read(float{}))
                                     : read(double{});
  return std::isnan(number) ? "nan" : significant(number, 9);
}

/// The conditions under which a kernel runs, apart from its arguments.
struct trial_setting {
  std::byte inside{};  ///< bytes in the memory of results and workspace before the run
  std::byte around{};  ///< bytes next to all operands
  int threads = 1;
  int unused = graphs::none;  ///< number of the result that is unused
  int over = graphs::none;    ///< number of the result that is written over the argument that it may overwrite
};

/// An operation with arguments. All results of later runs are compared with the results of the first run.
class kernel_trial {
 public:
  /// `arguments` are the bytes of each argument.
  kernel_trial(const graphs::operation& op, std::vector<std::vector<std::byte>> arguments)
      : op_(op), arguments_(std::move(arguments)) {}

  /// Returns a description of the broken law, or an empty text if the operation keeps all laws.
  std::string fault() {
    std::string found;
    const auto holds = [&](const trial_setting& how, std::string_view when) {
      if (found.empty()) found = compared(how, when);
    };
    found = run({}, first_);
    holds({}, "when it runs a second time on the same arguments");
    for (const std::byte other : {std::byte{0xff}, std::byte{0x3f}}) {
      holds({.inside = other},
            "where other bytes lay in the memory of its results and its scratch before: it must "
            "write all of a result, and read nothing there that it did not write");
      holds({.around = other}, "where other bytes lie beside its operands: it reads past an end of one");
    }
    for (const int threads : {2, 3}) holds({.threads = threads}, text_of({"on ", text_of(threads), " threads"}));
    for (int r = 0; r < op_.result_count; ++r) {
      if (op_.result_count > 1) holds({.unused = r}, text_of({"where nobody reads result ", text_of(r)}));
      if (may_overwrite(r))
        holds({.over = r}, text_of({"where result ", text_of(r), " lies over the argument that it overwrites"}));
    }
    return found;
  }
  /// Checks `op::keeps_rows`, after `fault` has returned an empty text. In all arguments that have a row for each row
  /// of the results, the first row is copied over the last row. The last row of each result must then become its first
  /// row, and all other rows must keep their bits. If `draws` is true, the kernel draws random numbers by position, and
  /// only the other rows are compared.
  std::string row_fault(bool draws) {
    const shape& made_rows = op_.results[0].extents;
    if (op_.keeps_rows == 0 || made_rows.rank == 0 || made_rows.extent[0] < 2) return {};
    const auto copy_first_row = [rows = made_rows.extent[0]](std::vector<std::byte>& all) {
      const std::ptrdiff_t row = std::ssize(all) / rows;
      std::copy_n(all.begin(), row, all.end() - row);
    };
    for (int i = 0; i < op_.argument_count; ++i) {
      if (i < 64 && (op_.keeps_rows >> i) % 2 == 1) copy_first_row(arguments_[at(i)]);
    }
    numbers made;
    std::string found = run({}, made);
    for (int r = 0; r < op_.result_count && found.empty(); ++r) {
      const std::ptrdiff_t row = std::ssize(made[at(r)]) / made_rows.extent[0];
      if (draws) std::copy_n(made[at(r)].end() - row, row, first_[at(r)].end() - row);
      else copy_first_row(first_[at(r)]);
      if (made[at(r)] != first_[at(r)])
        found =
            text_of({"result ", text_of(r), " has a row that depends on another row or on its position; keeps_rows ",
                     "says that it does not"});
    }
    return found;
  }
  /// Returns the bytes of a result of the first run.
  std::span<const std::byte> result(int r) const { return first_[static_cast<std::size_t>(r)]; }

 private:
  using numbers = std::vector<std::vector<std::byte>>;

  bool may_overwrite(int r) const {
    const int over = op_.results[r].overwrites;
    return over != graphs::none && std::ssize(arguments_[static_cast<std::size_t>(over)]) == op_.results[r].bytes;
  }

  /// Runs the kernel, and writes the bytes of its results to `made`. Returns a description of a forbidden write, or an
  /// empty text.
  std::string run(const trial_setting& how, numbers& made) {
    std::vector<guarded_memory> memory;
    std::vector<void*> operands;
    std::vector<std::string> names;
    const auto add = [&](std::string_view what, int number, std::int64_t bytes) -> std::byte* {
      guarded_memory& own = memory.emplace_back(bytes);
      own.surround(how.around);
      names.push_back(number < 0 ? std::string(what) : text_of({what, text_of(number)}));
      operands.push_back(own.data());
      return own.data();
    };
    for (int r = 0; r < op_.result_count; ++r)
      std::fill_n(add("result ", r, op_.results[r].bytes), op_.results[r].bytes, how.inside);
    for (const auto& bytes : arguments_)
      std::ranges::copy(bytes, add("argument ", static_cast<int>(memory.size()) - op_.result_count, std::ssize(bytes)));
    const std::int64_t workspace_bytes = op_.workspace_bytes(how.threads);
    if (op_.has_workspace()) std::fill_n(add("its scratch", -1, workspace_bytes), workspace_bytes, how.inside);
    if (how.unused != graphs::none) operands[at(how.unused)] = nullptr;
    const std::size_t shared = how.over == graphs::none ? 0 : at(op_.result_count + op_.results[how.over].overwrites);
    if (how.over != graphs::none) operands[at(how.over)] = operands[shared];

    op_.run(nullptr, operands.data(), how.threads);

    made.clear();
    for (std::size_t k = 0; k < memory.size(); ++k) {
      const std::string harm = memory[k].harm(how.around);
      if (!harm.empty()) return text_of({"it writes ", harm, ", of ", names[k]});
      const std::size_t argument = k - at(op_.result_count);
      const bool is_argument = k >= at(op_.result_count) && argument < arguments_.size();
      if (is_argument && k != shared && !std::ranges::equal(memory[k].bytes(), arguments_[argument]))
        return text_of({"it writes over ", names[k]});
    }
    for (int r = 0; r < op_.result_count; ++r) {
      const auto bytes = memory[r == how.over ? shared : at(r)].bytes();
      made.emplace_back(bytes.begin(), bytes.end());
    }
    return {};
  }
  std::string compared(const trial_setting& how, std::string_view when) {
    numbers made;
    std::string fault = run(how, made);
    for (int r = 0; r < op_.result_count && fault.empty(); ++r) {
      if (r == how.unused) continue;
      const graphs::result_info& about = op_.results[r];
      const std::byte *const before = first_[at(r)].data(), *const now = made[at(r)].data();
      const auto differs = std::mismatch(before, before + about.bytes, now).first - before;
      if (differs == about.bytes) continue;
      const std::int64_t bytes = about.bytes / about.count, number = differs / bytes;
      fault = text_of({"result ", text_of(r), ", number ", text_of(number), ", is ",
                       element_text(before + number * bytes, about.element, bytes), ", but ",
                       element_text(now + number * bytes, about.element, bytes)});
    }
    return fault.empty() ? fault : text_of({fault, ", ", when});
  }
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }

  const graphs::operation& op_;
  numbers arguments_, first_;
};

}  // namespace cairn::detail
