// The numbers of a program that outlive a training step, in a form that is the same for all models.
#pragma once

#include "cairn/base/element.hpp"
#include "cairn/base/philox.hpp"
#include "cairn/base/shape.hpp"
#include "cairn/plan/places.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace cairn::detail {

/// How far the training of a program has come:
/// - `random`: which random numbers the next training step draws,
/// - `steps`: how many training steps changed the parameters,
/// - `gradient_norm`: the norm of all gradients of the last training step, if the program computes the norm.
struct training_position {
  random_state random;
  std::int64_t steps = 0;
  double gradient_norm = 0;
};

/// One tensor that a program or predictor keeps between training steps: a parameter, a state, or a moment of a
/// parameter.
struct kept_tensor {
  std::string_view name;    ///< name of the parameter or state
  std::string_view moment;  ///< name of the moment; empty for a parameter or state
  shape extents;
  dtype type;  ///< bf16, or the type of the program's real numbers
  plans::address at;
  bool is_trained;  ///< true for a parameter that the program trains, and for its moments

  constexpr bool is_leaf() const { return moment.empty(); }
  constexpr std::size_t count() const { return static_cast<std::size_t>(extents.count()); }
  constexpr std::size_t bytes(std::size_t real_bytes) const {
    return count() * (type == dtype::bf16 ? sizeof(bf16) : real_bytes);
  }
};

/// Returns the program's own copy of a moment's name, which lives as long as the process. Returns an empty name if no
/// update rule keeps such a moment.
constexpr std::string_view moment_in(std::span<const kept_tensor> tensors, std::string_view name) {
  for (const kept_tensor& one : tensors) {
    if (one.moment == name) return one.moment;
  }
  return {};
}

/// Returns true if all moments of this name have the shapes of their parameters.
constexpr bool has_shape_of_parameters(std::span<const kept_tensor> tensors, std::string_view moment) {
  bool all = true;
  for (const kept_tensor& one : tensors) {
    for (const kept_tensor& other : tensors)
      all &= one.moment != moment || !other.is_leaf() || other.name != one.name || other.extents == one.extents;
  }
  return all;
}

/// The moments of a program that keeps only a part of each moment, because other processes keep the other parts. All
/// processes call the same functions in the same order.
class moment_parts {
 public:
  virtual ~moment_parts() = default;
  /// Returns true in the process that writes files.
  virtual bool writes_files() const = 0;
  /// Returns memory for a whole moment. Other moments of the program may use the same memory.
  virtual std::byte* whole(const kept_tensor& moment) const = 0;
  /// Fills the memory of a whole moment from the parts of all processes.
  virtual void collect(const kept_tensor& moment) = 0;
  /// Takes the part of this process from the memory of a whole moment.
  virtual void keep(const kept_tensor& moment) = 0;
};

/// The kept tensors of a program or predictor, and their memory.
struct kept_run {
  std::span<const kept_tensor> tensors;
  std::byte* const* bases;
  std::size_t real_bytes;         ///< bytes of one real number of the program, a float or a double
  training_position* position;    ///< null for a predictor, which does not train
  std::string_view exchanged;     ///< the name of the moment that has changed places with the parameters, or empty
  moment_parts* parts = nullptr;  ///< null if the program keeps whole moments

  bool is_in_parts(const kept_tensor& one) const { return parts != nullptr && !one.is_leaf(); }
  std::byte* at(const kept_tensor& one) const {
    return is_in_parts(one) ? parts->whole(one) : bases[one.at.base] + one.at.offset;
  }
  /// Returns true in the process that writes files.
  bool writes_files() const { return parts == nullptr || parts->writes_files(); }
  /// Prepares the memory `at(one)` for reading.
  void collect(const kept_tensor& one) const {
    if (is_in_parts(one)) parts->collect(one);
  }
  /// Takes over what was written to the memory `at(one)`.
  void keep(const kept_tensor& one) const {
    if (is_in_parts(one)) parts->keep(one);
  }
  std::size_t count(const kept_tensor& one) const { return one.count(); }
  std::size_t bytes(const kept_tensor& one) const { return one.bytes(real_bytes); }
};

/// The values that parameters and states had before all of them were set.
class earlier_values {
 public:
  /// Returns true if the parameter or state at this address has the bits that it had before.
  virtual bool are_kept(const std::byte* at) const = 0;

 protected:
  ~earlier_values() = default;
};

/// The values of parameters and states before a file is loaded. Programs that share the parameters ask which values the
/// file has kept.
template <class Run>
class values_before final : public earlier_values {
 public:
  explicit values_before(const Run& run) : run_(run) {
    for_each_leaf([this](std::byte* at, std::size_t size) { bytes_.insert(bytes_.end(), at, at + size); });
  }
  bool are_kept(const std::byte* at) const override {
    bool kept = false;
    const std::byte* before = bytes_.data();
    for_each_leaf([&](std::byte* now, std::size_t size) {
      if (now == at && !kept) kept = std::memcmp(now, before, size) == 0;
      before += size;
    });
    return kept;
  }

 private:
  void for_each_leaf(auto visit) const {
    for (const kept_tensor& one : run_.tensors) {
      if (one.is_leaf()) visit(run_.at(one), run_.bytes(one));
    }
  }
  const Run& run_;
  std::vector<std::byte> bytes_;
};

}  // namespace cairn::detail
