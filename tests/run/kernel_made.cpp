// Kernels that write bf16. For arguments in bf16, the result is the float result rounded once, bit for bit. The tests
// of each kernel check the float results.
#include "cairn/kernel/attention.hpp"
#include "cairn/kernel/dropout.hpp"
#include "cairn/kernel/gather.hpp"
#include "cairn/kernel/loss.hpp"
#include "cairn/kernel/matmul.hpp"
#include "cairn/kernel/pool.hpp"

#include <boost/test/unit_test.hpp>
#include <cstring>

#include "kernel_check.hpp"

using cairn::bf16, cairn::shape, cairn::element_type, cairn::dtype, cairn::workspace;
using cairn::detail::floats_rounded;
using namespace kernel_check;

namespace {

using halves = std::vector<bf16>;

halves rounded(const std::vector<float>& x) {
  halves out(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) out[i] = bf16(x[i]);
  return out;
}
std::vector<float> widened(const halves& x) {
  std::vector<float> out(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) out[i] = static_cast<float>(x[i]);
  return out;
}
halves drawn(std::int64_t n, float scale = 1) { return rounded(numbers<float>(n, scale)); }

template <shape S>
using of_halves = array<S, element_type{dtype::bf16}>;

void same(guarded<bf16>& made, guarded<float>& exact, std::int64_t n) {
  BOOST_TEST((made.intact() && exact.intact()));
  const halves wanted = rounded({exact.data(), exact.data() + n});
  BOOST_TEST(std::memcmp(wanted.data(), made.data(), wanted.size() * sizeof(bf16)) == 0);
}

// Checks a kernel on arguments in bf16. The result is bf16, written over the argument and to memory of its own, and it
// is float.
template <class Op, shape S, class... More>
void check_along_rows(float scale, std::initializer_list<int> each_number_of_threads,
                      std::initializer_list<const void*> more = {}) {
  const halves x = drawn(S.count(), scale);
  const std::vector<float> exact_x = widened(x);
  const auto operands = [more](const void* to, const void* from) {
    std::vector<const void*> all{to, from};
    all.insert(all.end(), more);
    return all;
  };
  guarded<float> exact(S.count());
  run_kernel<Op, float, array<S>, More...>(operands(exact.data(), exact_x.data()));
  for (const int threads : each_number_of_threads) {
    guarded<bf16> made(S.count()), in_place(x);
    guarded<float> wide(S.count());
    run_kernel<Op, floats_rounded, of_halves<S>, More...>(operands(made.data(), x.data()), threads);
    run_kernel<Op, floats_rounded, of_halves<S>, More...>(operands(in_place.data(), in_place.data()), threads);
    run_kernel<Op, bf16, of_halves<S>, More...>(operands(wide.data(), x.data()), threads);
    BOOST_TEST_CONTEXT(std::string_view(Op::name) << " of rows of " << S[-1] << ", threads " << threads) {
      same(made, exact, S.count());
      same(in_place, exact, S.count());
      BOOST_TEST(std::memcmp(wide.data(), exact.data(), static_cast<std::size_t>(S.count()) * sizeof(float)) == 0);
    }
  }
}
template <shape S, int Axis>
void check_softmax(float scale, std::initializer_list<int> each_number_of_threads = {1}) {
  check_along_rows<cairn::lang::softmax_op<Axis>, S>(scale, each_number_of_threads);
  check_along_rows<cairn::lang::log_softmax_op<Axis>, S>(scale, each_number_of_threads);
}

/// Checks a kernel that takes bf16 as its first argument. `more` are the arguments after it.
template <class Op, shape From, shape To, class... More>
void check_pooled(int threads, std::initializer_list<const void*> more = {}) {
  const halves x = drawn(From.count());
  const std::vector<float> exact_x = widened(x);
  const auto operands = [more](const void* to, const void* from) {
    std::vector<const void*> all{to};
    if (std::string_view(Op::name) == "max_pool2d") all.push_back(nullptr);  // the positions, which are not asked for
    all.push_back(from);
    all.insert(all.end(), more);
    return all;
  };
  guarded<bf16> made(To.count());
  guarded<float> exact(To.count()), wide(To.count());
  run_kernel<Op, float, array<From>, More...>(operands(exact.data(), exact_x.data()));
  run_kernel<Op, floats_rounded, of_halves<From>, More...>(operands(made.data(), x.data()), threads);
  run_kernel<Op, bf16, of_halves<From>, More...>(operands(wide.data(), x.data()), threads);
  BOOST_TEST_CONTEXT(std::string_view(Op::name) << ", threads " << threads) {
    same(made, exact, To.count());
    BOOST_TEST(std::memcmp(wide.data(), exact.data(), static_cast<std::size_t>(To.count()) * sizeof(float)) == 0);
  }
}
template <cairn::lang::pooling P, shape X>
void check_pools(int threads = 1) {
  constexpr shape to = P.result(X);
  using at = array<to, P.position_type()>;
  std::vector<std::uint8_t> where(static_cast<std::size_t>(to.count()));
  for (std::size_t i = 0; i < where.size(); ++i) where[i] = static_cast<std::uint8_t>(i * 5 % P.position_count());
  check_pooled<cairn::lang::max_pool_op<P>, X, to>(threads);
  check_pooled<cairn::lang::window_gather_op<P>, X, to, at>(threads, {where.data()});
  check_pooled<cairn::lang::window_scatter_op<P, X[1], X[2]>, to, X, at>(threads, {where.data()});
  check_pooled<cairn::lang::sum_pool_op<P, true>, X, to>(threads);
  check_pooled<cairn::lang::window_spread_op<P, true, X[1], X[2]>, to, X>(threads);
}

template <int N, int C>
void check_losses(std::initializer_list<int> each_number_of_threads = {1}) {
  using classes = array<shape{N}, cairn::index_below(C)>;
  using logits = of_halves<shape{N, C}>;
  using exact_logits = array<shape{N, C}>;
  const auto label = labels(N, C);
  check_along_rows<cairn::lang::softmax_error_op, shape{N, C}, classes>(6, each_number_of_threads, {label.data()});
  const halves x = drawn(std::int64_t{N} * C, 6);
  const std::vector<float> exact_x = widened(x);
  for (const int threads : each_number_of_threads) {
    const auto as_of_floats = [&]<class Op>(std::type_identity<Op>, std::int64_t n) {
      guarded<float> made(n), exact(n);
      run_kernel<Op, bf16, logits, classes>({made.data(), x.data(), label.data()}, threads);
      run_kernel<Op, float, exact_logits, classes>({exact.data(), exact_x.data(), label.data()}, threads);
      BOOST_TEST(made.intact());
      BOOST_TEST(std::memcmp(made.data(), exact.data(), static_cast<std::size_t>(n) * sizeof(float)) == 0);
    };
    as_of_floats(std::type_identity<cairn::lang::cross_entropy_op>{}, 1);
    as_of_floats(std::type_identity<cairn::lang::accuracy_op>{}, 1);
    as_of_floats(std::type_identity<cairn::lang::row_cross_entropy_op>{}, N);
    as_of_floats(std::type_identity<cairn::lang::label_logit_op>{}, N);
  }
}

template <shape Table, int Axis>
void check_gather(std::initializer_list<int> each_number_of_threads = {1}) {
  constexpr int count = 5, extent = Table[Axis];
  using at = array<shape{count}, cairn::index_below(extent)>;
  using op = cairn::lang::gather_op<Axis>;
  constexpr shape of_result = op::result(Table, shape{count});
  const auto index = labels(count, extent);
  const std::vector<float> table = numbers<float>(Table.count());
  const halves g = drawn(of_result.count());
  const std::vector<float> exact_g = widened(g);
  for (const int threads : each_number_of_threads) {
    guarded<bf16> made(of_result.count());
    guarded<float> exact(of_result.count()), sums(Table.count()), exact_sums(Table.count());
    run_kernel<op, floats_rounded, array<Table>, at>({made.data(), table.data(), index.data()}, threads);
    run_kernel<op, float, array<Table>, at>({exact.data(), table.data(), index.data()}, threads);
    same(made, exact, of_result.count());
    using added = cairn::lang::scatter_add_op<Axis, extent>;
    std::int32_t sorted[2 * count];
    run_kernel<added, bf16, of_halves<of_result>, at>({sums.data(), g.data(), index.data(), sorted}, threads);
    run_kernel<added, float, array<of_result>, at>({exact_sums.data(), exact_g.data(), index.data(), sorted}, threads);
    BOOST_TEST(sums.intact());
    BOOST_TEST(std::memcmp(sums.data(), exact_sums.data(), static_cast<std::size_t>(Table.count()) * sizeof(float)) ==
               0);
  }
}

template <bool TransposeA, bool TransposeB, shape A, shape B>
void check_products(std::initializer_list<int> each_number_of_threads = {1}) {
  using op = cairn::lang::matmul_op<TransposeA, TransposeB>;
  static_assert(op::makes(0, 2, A, B).rounds);
  constexpr std::int64_t count = op::result(A, B).count();
  const halves a = drawn(A.count()), b = drawn(B.count());
  for (const int threads : each_number_of_threads) {
    guarded<bf16> made(count), scratch(op::scratch(2, A, B).numbers(threads));
    guarded<float> exact(count);
    run_kernel<op, floats_rounded, of_halves<A>, of_halves<B>>({made.data(), a.data(), b.data(), scratch.data()},
                                                               threads);
    run_kernel<op, bf16, of_halves<A>, of_halves<B>>({exact.data(), a.data(), b.data(), scratch.data()}, threads);
    BOOST_TEST_CONTEXT("products of " << A[-2] << " x " << A[-1] << " and " << B[-2] << " x " << B[-1]) {
      same(made, exact, count);
      BOOST_TEST(scratch.intact());
    }
  }
}

template <int T, int D, int E>
void check_attention(std::initializer_list<int> each_number_of_threads) {
  constexpr cairn::costs::attending by{true, cairn::costs::masking::none, 0};
  using forward = cairn::lang::attention_op<by>;
  using backward = cairn::lang::attention_gradients_op<by>;
  constexpr shape q{2, T, 4, D}, k{2, T, 2, D}, v{2, T, 2, E}, y{2, T, 4, E}, rows{2, T, 4};
  const halves of_q = drawn(q.count()), of_k = drawn(k.count()), of_v = drawn(v.count()), g = drawn(y.count());
  const std::vector<float> delta = numbers<float>(rows.count());
  for (const int threads : each_number_of_threads) {
    guarded<bf16> made(y.count()), made_q(q.count()), made_k(k.count()), made_v(v.count());
    guarded<float> exact(y.count()), exact_q(q.count()), exact_k(k.count()), exact_v(v.count());
    guarded<float> largest(rows.count()), log_total(rows.count());
    guarded<bf16> scratch(forward::scratch(2, q, k, v).numbers(threads));
    guarded<bf16> scratch_back(backward::scratch(2, y, q, k, v).numbers(threads));
    const auto run = [&]<class Numbers>(std::type_identity<Numbers>, void* to, void* to_q, void* to_k, void* to_v) {
      run_kernel<forward, Numbers, of_halves<q>, of_halves<k>, of_halves<v>>(
          {to, largest.data(), log_total.data(), of_q.data(), of_k.data(), of_v.data(), scratch.data()}, threads);
      run_kernel<backward, Numbers, of_halves<y>, of_halves<q>, of_halves<k>, of_halves<v>, array<rows>, array<rows>,
                 array<rows>>({to_q, to_k, to_v, g.data(), of_q.data(), of_k.data(), of_v.data(), largest.data(),
                               log_total.data(), delta.data(), scratch_back.data()},
                              threads);
    };
    run(std::type_identity<floats_rounded>{}, made.data(), made_q.data(), made_k.data(), made_v.data());
    run(std::type_identity<bf16>{}, exact.data(), exact_q.data(), exact_k.data(), exact_v.data());
    same(made, exact, y.count());
    same(made_q, exact_q, q.count());
    same(made_k, exact_k, k.count());
    same(made_v, exact_v, v.count());
    BOOST_TEST((scratch.intact() && scratch_back.intact() && largest.intact() && log_total.intact()));
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(kernels_that_make_bf16)

BOOST_AUTO_TEST_CASE(softmax) {
  for_each(awkward{}, []<int Extent>() {
    check_softmax<shape{3, Extent}, 1>(5);
    check_softmax<shape{2, Extent, 3}, 1>(5);
  });
  check_softmax<shape{263, 133}, 1>(5, {1, 2, 3});
  check_softmax<shape{5, 7001}, 0>(5, {1, 2, 3});
}
BOOST_AUTO_TEST_CASE(dropout) {
  constexpr cairn::random_stream some{cairn::seed{7}, 11, 3};
  using key = array<shape{}, element_type{dtype::key}>;
  for_each(awkward{},
           [&]<int N>() { check_along_rows<cairn::lang::dropout_op<0.3, true>, shape{N}, key>(1, {1}, {&some}); });
  check_along_rows<cairn::lang::dropout_op<0.3, true>, shape{35009}, key>(1, {1, 2, 3}, {&some});
}
BOOST_AUTO_TEST_CASE(losses) {
  for_each(awkward{}, []<int Classes>() { check_losses<5, Classes>(); });
  check_losses<263, 133>({1, 2, 3});
}
BOOST_AUTO_TEST_CASE(tables) {
  for_each(awkward{}, []<int Inner>() { check_gather<shape{7, Inner}, 0>(); });
  check_gather<shape{3, 9}, 1>();
  check_gather<shape{2, 9, 19}, 1>();
  check_gather<shape{9001, 67}, 0>({1, 3});
  const std::int32_t at[]{3, 0, 6};
  guarded<bf16> made(3 * 7);
  guarded<float> exact(3 * 7);
  using index = array<shape{3}, cairn::index_below(7)>;
  run_kernel<cairn::lang::one_hot_op, floats_rounded, index>({made.data(), at});
  run_kernel<cairn::lang::one_hot_op, float, index>({exact.data(), at});
  same(made, exact, 3 * 7);
}
BOOST_AUTO_TEST_CASE(products) {
  for_each(few{}, []<int N>() {
    check_products<false, false, shape{3, 13, N}, shape{3, N, 35}>();
    check_products<true, false, shape{3, N, 13}, shape{3, N, 5}>();
    check_products<false, true, shape{2, 3, 7, 19}, shape{3, N, 19}>();
  });
  check_products<false, true, shape{6, 70, 65}, shape{6, 90, 65}>({1, 2, 5});
  check_products<false, false, shape{2, 257, 300}, shape{2, 300, 200}>({1, 2});  // large products, which share code
}
BOOST_AUTO_TEST_CASE(attention) {
  check_attention<37, 8, 12>({1, 2});
  check_attention<150, 19, 5>({1, 3});
}

// Windows without overlap, with numbers that no window covers; and overlapping windows, with sums that are rounded
// once.
BOOST_AUTO_TEST_CASE(pools) {
  check_pools<cairn::lang::pooling{2}, shape{2, 7, 6, 33}>();
  check_pools<cairn::lang::pooling{3, 2, 1}, shape{2, 7, 6, 9}>();
  check_pools<cairn::lang::pooling{3, 1, 1}, shape{3, 67, 65, 17}>(3);
}

BOOST_AUTO_TEST_SUITE_END()
