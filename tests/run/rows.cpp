// The operations that declare `keeps_rows` compute each row from the same row of these arguments alone, and in the same
// way for each row, in float, in double and in bf16.
#include <boost/test/unit_test.hpp>
#include <cairn/cairn.hpp>
#include <cairn/opcheck.hpp>

using namespace cairn;
using namespace cairn::lang;

namespace {

/// Checks the kernel of Op on leaves. At least one argument must keep rows.
template <class Op, auto... Leaves>
void keeps_rows() {
  constexpr auto kept =
      graphs::operation_of<Op, graphs::target<float, 0, true>, tensor_of<std::remove_const_t<decltype(Leaves)>>...>.keeps_rows;
  static_assert(kept != 0);
  BOOST_TEST_CONTEXT(std::string_view(Op::name)) {
    BOOST_TEST((detail::kernel_fault<Op, float, std::remove_const_t<decltype(Leaves)>...>(seed{1})) == "");
    BOOST_TEST((detail::kernel_fault<Op, double, std::remove_const_t<decltype(Leaves)>...>(seed{1})) == "");
    BOOST_TEST((detail::mixed_kernel_fault<Op, std::remove_const_t<decltype(Leaves)>...>(seed{1})) == "");
  }
}
template <std::int64_t... Extents>
constexpr auto x = input<"x", Extents...>;
template <std::int64_t... Extents>
constexpr auto y = input<"y", Extents...>;
template <std::int64_t... Extents>
constexpr auto z = input<"z", Extents...>;

constexpr costs::motion moves = motion_of({.padding = 1}, 2, shape{});
constexpr pooling halving{2};

/// Is true if no argument keeps rows.
template <class Op, auto... Leaves>
constexpr bool mixes =
    graphs::operation_of<Op, graphs::target<float, 0, true>, tensor_of<std::remove_const_t<decltype(Leaves)>>...>.keeps_rows ==
    0;
static_assert(mixes<matmul_op<true, false>, x<5, 7>, y<5, 3>>);
static_assert(mixes<sum_op<1, true>, x<5, 7>> && mixes<softmax_op<0>, x<5, 7>> && mixes<softmax_op<-2>, x<5, 7>>);
static_assert(mixes<transpose_op<std::array{1, 0}>, x<5, 7>> && mixes<concatenate_op<0>, x<5, 7>, y<5, 7>>);
static_assert(mixes<moments_op<0.0>, x<5, 7>> && mixes<row_moments_op<0.0>, x<7>>);
static_assert(mixes<cross_entropy_op, x<5, 7>, labels<"y", 7, 5>>);

}  // namespace

BOOST_AUTO_TEST_SUITE(rows)

BOOST_AUTO_TEST_CASE(products) {
  keeps_rows<matmul_op<false, false>, x<13, 7>, y<7, 5>>();
  keeps_rows<matmul_op<false, true>, x<300, 70>, y<65, 70>>();
  keeps_rows<matmul_op<false, true>, x<6, 5, 7>, y<9, 7>>();
  keeps_rows<matmul_op<true, false>, x<6, 5, 7>, y<6, 5, 3>>();
  keeps_rows<matmul_op<false, false>, x<7, 5>, y<6, 5, 3>>();
  keeps_rows<matmul_op<false, false>, x<33, 5>, y<5, 1>>();
}
BOOST_AUTO_TEST_CASE(rows_and_axes) {
  keeps_rows<softmax_op<-1>, x<9, 21>>();
  keeps_rows<log_softmax_op<1>, x<5, 6, 7>>();
  keeps_rows<row_moments_op<1e-5>, x<9, 21>>();
  keeps_rows<row_scale_op<1e-5>, x<4, 3, 21>>();
  keeps_rows<group_moments_op<3, 1e-5>, x<5, 4, 6>>();
  keeps_rows<sum_op<2, false>, x<9, 21>>();
  keeps_rows<sum_op<6, true>, x<9, 5, 7>>();
  keeps_rows<extremum_op<extremum::largest, 2, false>, x<9, 21>>();
  keeps_rows<position_op<extremum::smallest, -1, false>, x<9, 21>>();
  keeps_rows<transpose_op<std::array{0, 2, 1}>, x<5, 6, 7>>();
  keeps_rows<concatenate_op<-1>, x<5, 6>, y<5, 3>>();
}
BOOST_AUTO_TEST_CASE(rows_at_indices) {
  keeps_rows<gather_op<0>, x<11, 3>, indices<"y", 11, 6, 2>>();
  keeps_rows<gather_op<1>, x<6, 11, 3>, indices<"y", 11, 4>>();
  keeps_rows<one_hot_op, indices<"x", 5, 7>>();
  keeps_rows<row_cross_entropy_op, x<6, 9>, labels<"y", 9, 6>>();
  keeps_rows<softmax_error_op, x<6, 9>, labels<"y", 9, 6>>();
}
BOOST_AUTO_TEST_CASE(images) {
  keeps_rows<convolution_op<moves>, x<4, 6, 7, 5>, y<9, 5, 3, 3>>();
  keeps_rows<convolution_back_op<moves, 6, 7>, x<4, 6, 7, 9>, y<9, 5, 3, 3>>();
  keeps_rows<max_pool_op<halving>, x<4, 6, 8, 3>>();
  keeps_rows<sum_pool_op<halving, true>, x<4, 6, 8, 3>>();
}
BOOST_AUTO_TEST_CASE(sequences) {
  keeps_rows<attention_op<costs::attending{.causal = true}>, x<4, 9, 2, 8>, y<4, 9, 2, 8>, z<4, 9, 2, 8>>();
  keeps_rows<attention_op<costs::attending{.mask = costs::masking::real}>, x<4, 9, 2, 8>, y<4, 9, 2, 8>, z<4, 9, 2, 8>,
             input<"mask", 4, 1, 9, 9>>();
  keeps_rows<rotated_op<false>, x<4, 9, 2, 8>, y<9, 8>>();
  keeps_rows<rotated_op<false>, x<9, 2, 8>, y<9, 8>>();
  keeps_rows<dropout_op<0.5, true>, x<9, 7>, random_key<"key">>();
}

BOOST_AUTO_TEST_SUITE_END()
