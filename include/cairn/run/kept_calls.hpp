// Implements `save`, `load` and `exchange` of a program. Most of this code does not depend on the model.
#pragma once

#include "cairn/kernel/float_mode.hpp"
#include "cairn/run/arena.hpp"
#include "cairn/run/kept.hpp"
#include "cairn/run/machine.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace cairn::detail {

/// Returns true if an update rule keeps a moment of this name.
constexpr bool has_moment(std::span<const kept_tensor> tensors, std::string_view name) {
  return !moment_in(tensors, name).empty();
}
/// Throws program_error if `exchange` can never exchange this moment.
inline void check_exchange(std::span<const kept_tensor> tensors, bool rounds_parameters, std::string_view moment) {
  if (rounds_parameters)
    refuse(program_error("cairn: moments are floats, and have no room among parameters that are stored as bf16"));
  if (!has_moment(tensors, moment))
    refuse(program_error(text_of({"cairn: no rule of this program keeps a moment '", moment, "'"})));
  if (!has_shape_of_parameters(tensors, moment))
    refuse(program_error(text_of({"cairn: the moment '", moment, "' has other shapes than the parameters"})));
}

/// Throws program_error because a moment of this program, `exchanged`, stands in the place of the parameters. `before`
/// says what is refused.
[[noreturn, gnu::cold, gnu::noinline]] inline void refuse_exchanged(std::string_view exchanged,
                                                                    std::string_view before) {
  refuse(program_error(text_of(
      {"cairn: the moment '", exchanged, "' stands in the place of the parameters, since exchange(\"", exchanged,
       "\") or a file that was saved then; call exchange(\"", exchanged, "\") once more ", before})));
}
/// Throws program_error if a moment stands in the place of parameters, which training would change.
inline void check_trains_parameters(memory_block& memory) {
  constexpr std::string_view before = "before training goes on";
  memory.check_not_exchanged(before);
  if (const std::string_view exchanged = memory.own_exchanged(); !exchanged.empty())
    refuse_exchanged(exchanged, before);
}
/// Throws program_error if all moments of this name are zero, as they are before the first training step, and the
/// parameters are not. An exchange would put zeros in the place of all parameters. `Run` is kept_run. It is a
/// parameter, so that a program that exchanges nothing compiles nothing of this.
template <class Run>
void check_has_moments(const Run& run, std::string_view moment) {
  const auto is_zero = [&](const auto& one) {
    const auto* const at = run.at(one);
    std::size_t zeros = 0;
    while (zeros < run.bytes(one) && at[zeros] == std::byte{}) ++zeros;
    return zeros == run.bytes(one);
  };
  bool all_zero = true, loses_parameters = false;
  for_each_exchanged(run.tensors, moment, [&](std::size_t parameter, std::size_t i) {
    if (!all_zero) return;
    run.collect(run.tensors[i]);
    all_zero = is_zero(run.tensors[i]);
    loses_parameters = loses_parameters || !is_zero(run.tensors[parameter]);
  });
  if (all_zero && loses_parameters)
    refuse(program_error(text_of({"cairn: the moment '", moment,
                                  "' is zero, as it is before the first training step, "
                                  "and would make all parameters zero; train first"})));
}
/// Exchanges the moments of this name with their parameters, which are numbers of type `Real`.
template <class Real>
void exchange_moment(memory_block& memory, const kept_run& run, std::string_view moment) {
  memory.check();
  const std::string before = text_of({"before exchange(\"", moment, "\")"});
  std::string_view& exchanged = memory.own_exchanged();
  if (!exchanged.empty() && exchanged != moment) refuse_exchanged(exchanged, before);
  if (exchanged.empty()) {
    memory.check_not_exchanged(before, moment);
    check_has_moments(run, moment);
  }
  for_each_exchanged(run.tensors, moment, [&](std::size_t parameter, std::size_t i) {
    const kept_tensor& one = run.tensors[i];
    run.collect(one);
    swap_bytes(run.at(run.tensors[parameter]), run.at(one), one.bytes(sizeof(Real)));
    run.keep(one);
  });
  exchanged = exchanged.empty() ? moment_in(run.tensors, moment) : std::string_view{};
}

/// Returns the tensors that a program keeps.
template <class Compiled>
kept_run kept_in(machine<Compiled>& of, memory_block& memory) {
  return {kept_tensors<Compiled>, of.bases(), sizeof(typename Compiled::real), &memory.position(),
          memory.own_exchanged()};
}
template <class Path, class... Texts>
void save_program(memory_block& memory, const kept_run& run, const Path& path, const Texts&... texts) {
  memory.check_not_exchanged("before save");
  kept_files<Path>::save(run, path, texts...);
}
/// Loads a file and returns its texts. If `part` is not given, all parameters and states of the program are set. `Run`
/// is kept_run. It is a parameter, so that a program that loads no file compiles nothing of this.
template <class Path, class Run, class... Part>
auto load_program(memory_block& memory, Run run, const Path& path, const Part&... part) {
  memory.check_not_exchanged("before load");
  const kernels::default_float_mode mode;
  constexpr bool loads_all = sizeof...(part) == 0;
  if constexpr (!loads_all) {
    // The numbers of the file would become the average, and the program would train on without them.
    if (const std::string_view exchanged = memory.own_exchanged(); !exchanged.empty())
      refuse_exchanged(exchanged, "before a part of a file is loaded");
  }
  std::optional<values_before<Run>> before;
  if (loads_all && memory.is_in_family()) before.emplace(run);
  auto texts = kept_files<Path>::load(run, path, part...);
  if constexpr (loads_all) {
    memory.note_all_set(before ? &*before : nullptr);
    memory.own_exchanged() = run.exchanged;
  } else {
    if (texts.not_in_file.empty() && texts.other_shape.empty() && texts.left_out.empty()) memory.note_written();
  }
  return texts;
}

}  // namespace cairn::detail
