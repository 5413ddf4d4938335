// What is fused has the bits of what is not: tiles of a product in a loop, and sums in a loop.
#include "cairn/kernel/elementwise.hpp"
#include "cairn/kernel/gemm.hpp"

#include <boost/test/unit_test.hpp>

#include "kernel_check.hpp"

using namespace cairn;
using namespace kernel_check;

namespace {

constexpr auto code = [](const ir::lane_code* lanes, int x, int y, bool stored) {
  return kernel::loop_operation{lanes, {x, y}, stored};
};
template <class Op>
constexpr const ir::lane_code* lanes = &ir::lanes_of<Op, float>;
constexpr kernel::loop_operand whole{}, row{0b01};

bool same(guarded<float>& a, guarded<float>& b, std::int64_t n) {
  return std::equal(a.data(), a.data() + n, b.data()) && a.intact() && b.intact();
}

/// relu(A B * row + c), and A B itself; the result lies over c where the product does not keep its sums there.
template <product P>
void product_in_a_loop() {
  constexpr shape extents{P.m, P.n};
  constexpr std::int64_t size = extents.count();
  auto a = numbers<float>(std::int64_t{P.m} * P.k), b = numbers<float>(std::int64_t{P.k} * P.n);
  auto scale = numbers<float>(P.n);
  const auto c = numbers<float>(size);
  const auto fill = [&](guarded<float>& with) { std::copy_n(c.data(), size, with.data()); };

  using gemm = kernel::gemm<float, P>;
  using inputs = kernel::values<row, whole>;
  using fused = kernel::loop<float, extents, 0, inputs,
                             kernel::values<code(nullptr, 0, 0, true), code(lanes<mul_op>, 0, -1, false),
                                            code(lanes<add_op>, 1, -2, false), code(lanes<relu_op>, 2, 0, true)>>;
  using separate = kernel::loop<float, extents, 0, kernel::values<row, whole, whole>,
                                kernel::values<code(lanes<mul_op>, -3, -1, false), code(lanes<add_op>, 0, -2, false),
                                               code(lanes<relu_op>, 1, 0, true)>>;
  guarded<float> scratch(cairn::blocking<P, 4>::scratch.numbers(3)), expected_product(size), expected(size);
  gemm::run(a.data(), b.data(), expected_product.data(), scratch.data());
  guarded<float> added(size);
  fill(added);
  void* own[]{expected.data(), scale.data(), added.data(), expected_product.data()};
  separate::run(own);

  for (int threads = 1; threads <= 3; ++threads) {
    guarded<float> product(size), result(size), apart(size);
    fill(result);
    fill(apart);
    const bool deep = P.k > depth_of(P, 4);
    void* operands[]{product.data(), result.data(), scale.data(),  deep ? apart.data() : result.data(),
                     a.data(),       b.data(),      scratch.data()};
    kernel::multiply_into<float, P, fused>(operands, threads);
    BOOST_TEST_CONTEXT("m " << P.m << " n " << P.n << " k " << P.k << " threads " << threads) {
      BOOST_TEST(same(product, expected_product, size));
      BOOST_TEST(same(result, expected, size));
      BOOST_TEST(scratch.intact());
    }
  }
}

/// The sum of x * y * z over some axes, where z is one number, beside the product itself or without it. As in every loop,
/// no extent is 1.
template <shape Extents, axis_set Summed, bool Stored>
void sum_in_a_loop() {
  constexpr std::int64_t size = Extents.count(), left = reduced(Extents, Summed, false).count();
  auto x = numbers<float>(size), y = numbers<float>(size), z = numbers<float>(1);
  constexpr kernel::loop_operand once{(axis_set{1} << Extents.rank) - 1};
  using inputs = kernel::values<whole, whole, once>;
  using separate = kernel::loop<float, Extents, 0, inputs,
                                kernel::values<code(lanes<mul_op>, -1, -2, false), code(lanes<mul_op>, 0, -3, true)>>;
  using fused = kernel::loop<float, Extents, Summed, inputs,
                             kernel::values<code(lanes<mul_op>, -1, -2, false), code(lanes<mul_op>, 0, -3, Stored),
                                            code(nullptr, 1, 0, true)>>;
  guarded<float> products(size), expected(left);
  void* own[]{products.data(), x.data(), y.data(), z.data()};
  separate::run(own);
  kernel::reduce_sum<float, Extents, Summed>(products.data(), expected.data());

  for (int threads = 1; threads <= 3; ++threads) {
    guarded<float> stored(size), sums(left);
    void* operands[]{stored.data(), sums.data(), x.data(), y.data(), z.data()};
    fused::run(operands + !Stored, threads);
    BOOST_TEST_CONTEXT("extents " << Extents[0] << " " << Extents[-1] << " axes " << Summed << " threads " << threads) {
      BOOST_TEST(same(sums, expected, left));
      if (Stored) BOOST_TEST(same(stored, products, size));
    }
  }
}

template <shape Extents, axis_set Summed>
void sum_both_ways() {
  sum_in_a_loop<Extents, Summed, false>();
  sum_in_a_loop<Extents, Summed, true>();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(kernel_fused)

BOOST_AUTO_TEST_CASE(products) {
  for_each(few{}, []<int Extent>() {
    product_in_a_loop<product{101 - Extent, Extent + 1, Extent * 7 % 37 + 1, false, true}>();
    product_in_a_loop<product{Extent, 101 - Extent, 400 + Extent}>();
  });
}
BOOST_AUTO_TEST_CASE(products_of_several_blocks) {
  product_in_a_loop<product{901, 135, 601, true, false}>();
  product_in_a_loop<product{401, 135, 61, false, true}>();
  product_in_a_loop<product{97, 801, 321}>();
}

BOOST_AUTO_TEST_CASE(sums) {
  for_each(few{}, []<int Extent>() {
    sum_both_ways<shape{1 + Extent}, 0b1>();
    sum_both_ways<shape{1 + Extent, 5}, 0b01>();
    sum_both_ways<shape{5, 1 + Extent}, 0b10>();
    sum_in_a_loop<shape{5, 1 + Extent}, 0b01, false>();
    sum_in_a_loop<shape{1 + Extent, 5}, 0b10, true>();
  });
}
BOOST_AUTO_TEST_CASE(sums_of_many) {
  sum_in_a_loop<shape{200'003}, 0b1, false>();
  sum_in_a_loop<shape{401, 1009}, 0b01, true>();
  sum_in_a_loop<shape{401, 1009}, 0b10, false>();
}

BOOST_AUTO_TEST_SUITE_END()
