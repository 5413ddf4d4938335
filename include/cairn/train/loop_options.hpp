// The options of the training loop.
#pragma once

#include "cairn/base/macros_aside.hpp"
#include "cairn/base/setting.hpp"
#include "cairn/train/schedule.hpp"

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>

namespace cairn::train {

/// A learning rate as a function of the training step. A number is a constant rate.
struct rate_function : std::function<double(std::int64_t)> {
  using std::function<double(std::int64_t)>::function;
  rate_function(std::function<double(std::int64_t)> rate) : function(std::move(rate)) {}
  template <class Number>
    requires std::is_arithmetic_v<Number>
  rate_function(Number constant) : rate_function(constant_rate{static_cast<double>(constant)}) {}
};

struct loop_options {
  int epochs = 1;
  /// The learning rate, a number or a function of the training step. Steps are counted from 0 over the whole run.
  /// train/schedule.hpp has the usual functions. The training loop hands the results of validations to an on_plateau,
  /// and saves what the on_plateau knows. It does not find an on_plateau within another function.
  rate_function rate = 1e-3;
  /// Path of the folder in which the run and its log are saved. If the path is empty, nothing is saved. If `resume` is
  /// true, the run goes on from what the folder holds.
  std::string folder = {};
  bool resume = false;
  /// If true, a run goes on even if its data, its optimizer or an option has changed. If the data has changed, the
  /// epoch under way begins anew. If `higher_is_better` or `average` has changed, the best result so far is forgotten.
  bool accepts_changes = false;
  int keep = 2;                 ///< number of newest saved files that are kept, in addition to the best one
  std::int64_t save_every = 0;  ///< training steps between two saves; 0: saves only at the end of each epoch
  /// Training steps between two rows of the log; 0: writes a row only at the end of each epoch.
  std::int64_t log_every = 0;
  int patience = 0;  ///< the run ends after this number of epochs without a better validation; 0: never
  bool higher_is_better = false;
  /// Name of the moment that takes the place of the parameters while the program validates and while the best is saved.
  /// For the average that `averaged` keeps, the name is "average". If the name is empty, the parameters themselves are
  /// used.
  std::string average = {};
  bool shows_progress = true;
  std::int64_t batch = 1;  ///< examples in a training step; the progress bar shows examples per second

  /// Returns the on_plateau that computes the rate. `rate` may hold it, or refer to it by std::ref. Returns null if
  /// another function computes the rate.
  const on_plateau* plateau() const {
    const auto* const elsewhere = rate.target<std::reference_wrapper<on_plateau>>();
    return elsewhere != nullptr ? &elsewhere->get() : rate.target<on_plateau>();
  }

  std::array<setting, 13> settings() const {
    const bool is_saved = !folder.empty();
    return {
        {setting::at_least_one("epochs", epochs),
         {"rate", 0, bool(rate), "a function"},
         {"rate", 1, rate.target<std::reference_wrapper<const on_plateau>>() == nullptr,
          "no on_plateau that is const, because the loop hands it results"},
         {"resume", 1, !resume || is_saved, "false without a .folder"},
         {"accepts_changes", 1, !accepts_changes || is_saved, "false without a .folder"},
         setting::at_least_one("keep", keep),
         setting::not_negative("save_every", static_cast<double>(save_every)),
         setting::not_negative("log_every", static_cast<double>(log_every)),
         {"save_every", static_cast<double>(save_every), save_every == 0 || is_saved, "0 without a .folder"},
         {"log_every", static_cast<double>(log_every), log_every == 0 || is_saved, "0 without a .folder"},
         setting::not_negative("patience", patience),
         setting::at_least_one("batch", static_cast<double>(batch)),
         {"higher_is_better", higher_is_better ? 1.0 : 0.0,
          plateau() == nullptr || plateau()->higher_is_better == higher_is_better, "as in the on_plateau of .rate"}}};
  }
  /// The settings that only make sense with a validation. A run without a validation checks that they have their
  /// defaults.
  std::array<setting, 4> settings_without_validation() const {
    return {{{"rate", 1, plateau() == nullptr, "no on_plateau without a validation"},
             {"patience", static_cast<double>(patience), patience == 0, "0 without a validation"},
             {"higher_is_better", 1, !higher_is_better, "false without a validation"},
             {"average", 1, average.empty(), "empty without a validation"}}};
  }
};

}  // namespace cairn::train

#include "cairn/base/macros_back.hpp"
