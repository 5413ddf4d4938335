// Compares fused loops that read their input through maps with plain index arithmetic. The maps are slices, borders,
// flips, rolls and repetitions.
#include <boost/test/unit_test.hpp>
#include <cairn/kernel/loop.hpp>
#include <vector>

#include "kernel_check.hpp"

using namespace cairn;
using namespace kernel_check;

namespace {

/// Returns the index of the element that is read for element i of the mapped axis, or -1 for zero. The function follows
/// the description in base/map.hpp step by step.
int element_of(const axis_map& map, int extent, int i) {
  const int repeated = extent * map.repeat;
  int j = map.begin + map.step * i;
  switch (map.outside) {
    case nn::edge::none:
    case nn::edge::zero:
      return j < 0 || j >= repeated ? -1 : j / map.repeat;
    case nn::edge::wrap:
      while (j < 0) j += repeated;
      while (j >= repeated) j -= repeated;
      return j / map.repeat;
    case nn::edge::nearest:
      while (j < 0) ++j;
      while (j >= repeated) --j;
      return j / map.repeat;
  }
  return -1;
}

struct axis {
  int extent;  ///< extent of the argument
  axis_map map;
  int mapped;  ///< extent of the result
};

/// Reads `in` through maps.
template <class Real, dtype Type>
void check(const std::vector<axis>& axes, int threads) {
  using number = stored_as<Type, Real>;
  std::int64_t from = 1, to = 1;
  shape extents;
  std::vector<graphs::mapped_axis> maps;
  for (const axis& a : axes) {
    from *= a.extent;
    to *= a.mapped;
    extents.extent[extents.rank++] = a.mapped;
  }
  std::int64_t apart = from;
  for (const axis& a : axes) maps.push_back(graphs::mapped_along(a.map, a.extent, apart /= a.extent, a.mapped));

  std::vector<number> in(static_cast<std::size_t>(from));
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<number>(static_cast<Real>(i % 251 + 1));
  guarded<number> out(to);
  using copied = lang::expand_op<shape{}>;
  using loop = kernels::loop<Real, graphs::sums::nothing, false,
                             kernels::list_of<kernels::loop_operand{Type, graphs::access::mapped}>,
                             kernels::list_of<graphs::loop_value{
                                 &graphs::lanes_of<copied, Real, graphs::type_list<Type>, Type>, Type, 0, 1, true}>,
                             kernels::list_of<-1>>;
  graphs::loop_table table = *table_of(extents, {});
  table.maps = maps.data();
  void* operands[]{out.data(), in.data()};
  loop::run(&table, operands, threads);

  BOOST_TEST(out.intact());
  for (std::int64_t o = 0; o < to; ++o) {
    std::int64_t rest = o, stride = 1, at = 0;
    bool nowhere = false;
    for (std::size_t k = axes.size(); k-- > 0; rest /= axes[k].mapped, stride *= axes[k].extent) {
      const int i = element_of(axes[k].map, axes[k].extent, static_cast<int>(rest % axes[k].mapped));
      nowhere |= i < 0;
      at += i * stride;
    }
    const auto value = [](number x) { return static_cast<Real>(x); };
    BOOST_TEST(value(out.data()[o]) == (nowhere ? 0 : value(in[static_cast<std::size_t>(at)])));
  }
}

void check_all(const std::vector<axis>& axes, int threads = 1) {
  check<float, dtype::real>(axes, threads);
  check<double, dtype::real>(axes, threads);
  check<float, dtype::i32>(axes, threads);
  check<double, dtype::i32>(axes, threads);
  check<float, dtype::u8>(axes, threads);
  check<float, dtype::bf16>(axes, threads);
}

constexpr axis whole(int n) { return {n, {}, n}; }
constexpr axis cut(int n, int begin, int end) { return {n, {.begin = begin}, end - begin}; }
constexpr axis between_zeros(int n, int before, int after) {
  return {n, {.begin = -before, .outside = nn::edge::zero}, before + n + after};
}
constexpr axis flipped(int n) { return {n, {.begin = n - 1, .step = -1}, n}; }
constexpr axis rolled(int n, int by) { return {n, {.begin = -by, .outside = nn::edge::wrap}, n}; }
constexpr axis shifted(int n, int by, nn::edge outside) { return {n, {.begin = -by, .outside = outside}, n}; }
constexpr axis repeated(int n, int times) { return {n, {.repeat = times}, n * times}; }
constexpr axis every(int n, int step) { return {n, {.step = step}, (n + step - 1) / step}; }
constexpr axis with_border(int n, int wide) {
  return {n, {.begin = -wide, .outside = nn::edge::nearest}, n + 2 * wide};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(kernel_maps)

BOOST_AUTO_TEST_CASE(one_axis) {
  for (const int n : {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 63, 65, 100}) {
    for (const axis& a : {whole(n), cut(n, n / 2, n), cut(n, 0, (n + 1) / 2), between_zeros(n, 3, 20), flipped(n),
                          rolled(n, 5), rolled(n, -2 * n - 1), repeated(n, 3), every(n, 2), with_border(n, 17)})
      check_all({a});
    for (const int by : {-n, 1 - n, -9, -1, 0, 1, 8, n / 2, n - 1, n, 3 * n + 2}) {
      for (const nn::edge outside : {nn::edge::wrap, nn::edge::zero, nn::edge::nearest})
        check_all({shifted(n, by, outside)});
    }
    check_all({{n, {.begin = -5, .outside = nn::edge::wrap}, 3 * n + 10}});  // goes around the axis more than once
  }
}
BOOST_AUTO_TEST_CASE(several_axes) {
  for (const int n : {1, 3, 8, 17, 33}) {
    check_all({cut(5, 1, 4), whole(n)});
    check_all({whole(3), between_zeros(n, 1, 2)});
    check_all({between_zeros(4, 2, 1), between_zeros(n, 2, 1)});
    check_all({flipped(4), rolled(3, 1), flipped(n)});
    check_all({repeated(2, 2), repeated(n, 2)});
    check_all({with_border(2, 1), every(5, 3), with_border(n, 1), whole(2)});
    for (const nn::edge outside : {nn::edge::wrap, nn::edge::zero, nn::edge::nearest}) {
      check_all({shifted(5, 2, outside), whole(n)});
      check_all({shifted(4, -1, outside), shifted(n, 1, outside)});
      check_all({shifted(2, 1, nn::edge::zero), shifted(5, -3, outside), shifted(3, 1, nn::edge::wrap),
                 shifted(n, -n / 2, outside)});
    }
  }
}
BOOST_AUTO_TEST_CASE(shared_by_threads) {
  for (const int threads : {2, 3, 64}) {
    check<float, dtype::real>({cut(409, 101, 300), cut(401, 1, 400)}, threads);
    check<float, dtype::real>({between_zeros(70'001, 5, 7)}, threads);
  }
}

BOOST_AUTO_TEST_SUITE_END()
