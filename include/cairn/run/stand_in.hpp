// Stand-ins for a program and a predictor. They are used after a mistake has been reported, and accept every use, so
// that no second error follows the first.
#pragma once

#include "cairn/check/figures.hpp"
#include "cairn/run/kept.hpp"
#include "cairn/run/machine.hpp"

#include <span>

namespace cairn::detail {

/// Stands for a number of a program after a mistake has been reported. Every comparison with it is true, so that no
/// assertion about the number adds a second error.
struct unknown_number {
  template <class T>
    requires std::is_arithmetic_v<T>
  constexpr operator T() const {
    return 1;  // not 0, because the number may be the extent of an array
  }
};

template <class Stream>
auto operator<<(Stream& out, unknown_number) -> decltype(out << "unknown") {
  return out << "unknown";
}

template <class A, class B>
concept one_is_unknown = std::same_as<A, unknown_number> || std::same_as<B, unknown_number>;

template <class A, class B>
  requires one_is_unknown<A, B>
constexpr bool operator==(A, B) {
  return true;
}
template <class A, class B>
  requires one_is_unknown<A, B>
constexpr bool operator!=(A, B) {
  return true;
}
template <class A, class B>
  requires one_is_unknown<A, B>
constexpr bool operator<(A, B) {
  return true;
}
template <class A, class B>
  requires one_is_unknown<A, B>
constexpr bool operator<=(A, B) {
  return true;
}
template <class A, class B>
  requires one_is_unknown<A, B>
constexpr bool operator>(A, B) {
  return true;
}
template <class A, class B>
  requires one_is_unknown<A, B>
constexpr bool operator>=(A, B) {
  return true;
}
template <class A, class B>
  requires one_is_unknown<A, B>
constexpr unknown_number operator+(A, B) {
  return {};
}
template <class A, class B>
  requires one_is_unknown<A, B>
constexpr unknown_number operator-(A, B) {
  return {};
}
template <class A, class B>
  requires one_is_unknown<A, B>
constexpr unknown_number operator*(A, B) {
  return {};
}
template <class A, class B>
  requires one_is_unknown<A, B>
constexpr unknown_number operator/(A, B) {
  return {};
}

// The figures of a refused program convert to those of a program, because functions and variables may expect these.
struct unknown_memory {
  unknown_number stored_bytes, peak_bytes, parameter_bytes, gradient_bytes, moment_bytes, cache_bytes, elsewhere_bytes,
      division_bytes;
  constexpr unknown_number total_bytes() const { return {}; }
  constexpr operator memory_plan() const { return {}; }
};
struct unknown_traffic {
  unknown_number bytes, messages, gradient_bytes;
  constexpr operator traffic_plan() const { return {}; }
};
struct unknown_peak {
  unknown_number peak_bytes, plain_peak_bytes;
  std::string_view segment;
  bool in_backward = false;
  constexpr bool is_above_plain() const { return false; }
  constexpr operator peak_plan() const { return {}; }
};
struct unknown_flops {
  unknown_number forward, backward, recomputed;
  constexpr unknown_number total() const { return {}; }
  constexpr operator flop_counts() const { return {}; }
};
struct unknown_loops {
  unknown_number evaluations, saves, loads, sum_bytes;
  constexpr operator loop_counts() const { return {}; }
};

/// A view that converts to a view of any rank.
template <class Number>
struct view_stand_in : static_view<Number, unknown_shape> {
  view_stand_in() : static_view<Number, unknown_shape>(nullptr) {}
  Number& operator()(const auto&...) const { return *this->data(); }
  template <std::size_t Rank>
  operator tensor_view<Number, Rank>() const {
    return {nullptr, {}};
  }
};

/// Returns a view through which the same numbers cannot be changed.
template <class Number, shape S>
static_view<const Number, S> read_only(const static_view<Number, S>& view) {
  return view;
}
template <class Number>
view_stand_in<Number> read_only(const view_stand_in<Number>& view) {
  return view;
}

/// Stands for the value of an output that is a mistake. Such an output has no shape, so its value is both a view and a
/// number.
template <class Number>
struct unknown_result : view_stand_in<Number> {
  operator Number() const { return 1; }
};
/// What stands for the value of an output: a number if the output is a scalar, and otherwise a view.
template <class Number, class E>
using output_stand_in = std::conditional_t<wrong<E>, unknown_result<Number>,
                                           std::conditional_t<E::shape.rank == 0, Number, view_stand_in<Number>>>;
/// Returns what stands for the results of a program. The first output is the loss, which is a number.
template <class Number, class Loss, class... More>
auto results_stand_in(output_list<Loss, More...>) {
  if constexpr (sizeof...(More) == 0) return Number{};
  else return std::tuple{Number{}, output_stand_in<Number, More>{}...};
}
/// Returns what stands for the results of a predictor.
template <class Number, class... E>
auto predictions_stand_in(output_list<E...>) {
  if constexpr (sizeof...(E) == 1) return (output_stand_in<Number, E>{}, ...);
  else return std::tuple{output_stand_in<Number, E>{}...};
}

template <auto Output, class... Options>
class program_stand_in {
 public:
  using real_type = typename request<Options...>::real;
  using parameter_type = std::conditional_t<request<Options...>::rounds_parameters, bf16, real_type>;
  static constexpr int threads = 1;
  static constexpr unknown_memory memory() { return {}; }
  static constexpr unknown_memory memory(int) { return {}; }
  static constexpr unknown_traffic traffic(int) { return {}; }
  static constexpr unknown_flops flops() { return {}; }
  static constexpr unknown_loops loops() { return {}; }
  static constexpr std::array<segment_plan, 0> segments() { return {}; }
  static constexpr int row_groups() { return 1; }
  static constexpr unknown_peak peak() { return {}; }
  static constexpr bool updates_parameters = false;
  static constexpr bool keeps_gradients = false;
  static constexpr bool is_random() { return false; }

  program_stand_in() = default;
  explicit program_stand_in(std::span<std::byte>) {}
  explicit program_stand_in(auto&, std::span<std::byte> = {}) {}
  template <class>
  static constexpr unknown_memory own_memory() {
    return {};
  }
  void keep_snapshots_in(std::span<std::byte>) {}
  void init(seed) {}
  void step_by_step(auto, const auto&...) {}
  auto value_and_grad(const auto&...) { return results_stand_in<real_type>(decltype(as_outputs(Output)){}); }
  auto train(const auto&...) { return results_stand_in<real_type>(decltype(as_outputs(Output)){}); }
  template <class... Bound>
  auto train(const train_options&, const Bound&...) {
    return results_stand_in<real_type>(decltype(as_outputs(Output)){});
  }
  std::int64_t steps() const { return 0; }
  void steps(std::int64_t) {}
  double gradient_norm() const { return 0; }
  void zero_grad() {}
  template <fixed_string>
  view_stand_in<parameter_type> param() const {
    return {};
  }
  template <fixed_string>
  view_stand_in<real_type> grad() const {
    return {};
  }
  template <fixed_string, fixed_string>
  view_stand_in<real_type> moment() {
    return {};
  }
  static constexpr bool has_moment(std::string_view) { return true; }
  static void check_exchange(std::string_view) {}
  void exchange(std::string_view) {}
  void save(const auto&, const auto&...) {}
  /// Returns no texts. If cairn/file/saving.hpp is included, the result has the same type as the result of a real
  /// `load`.
  template <class Path, class... Part>
  auto load(const Path& path, const Part&... part) {
    if constexpr (std::same_as<decltype(problem_of_loading<Path, Part...>()), sound>)
      return decltype(kept_files<Path>::load(std::declval<kept_run&>(), path, part...)){};
  }
  std::span<parameter_type> parameters() const { return {}; }
  std::span<real_type> gradients() const { return {}; }
  random_state& random() { return random_; }
  std::span<std::byte> arena() { return {}; }
  void for_each_trained(auto) const {}
  void for_each_parameter(auto) {}
  void for_each_gradient(auto) {}
  void set(const auto&...) {}

 private:
  random_state random_;
};

template <auto Output, class... Options>
class predictor_stand_in {
 public:
  using real_type = typename request<Options...>::real;
  static constexpr unknown_memory memory() { return {}; }
  static constexpr unknown_flops flops() { return {}; }
  static constexpr unknown_loops loops() { return {}; }
  explicit predictor_stand_in(const auto&) {}
  predictor_stand_in(const auto&, std::span<std::byte>) {}
  void keep_snapshots_in(std::span<std::byte>) {}
  auto operator()(const auto&...) { return predictions_stand_in<real_type>(decltype(as_outputs(Output)){}); }
  template <fixed_string>
  view_stand_in<real_type> cache() {
    return {};
  }
  template <fixed_string...>
  void reset() {}
};

}  // namespace cairn::detail
