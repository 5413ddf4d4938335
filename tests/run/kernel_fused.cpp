// Fused code computes the same bits as separate code. The tests fuse tiles of a product into a fused loop, rows of a
// fused loop into a kernel, and sums into a fused loop.
#include "cairn/kernel/loop_step.hpp"
#include "cairn/kernel/loss.hpp"
#include "cairn/kernel/matmul.hpp"

#include <boost/test/unit_test.hpp>

#include "kernel_check.hpp"

using namespace cairn;
using namespace kernel_check;

namespace {

constexpr dtype real = dtype::real;
/// Operation Op in a fused loop. Its arguments begin at `first` in the loop's list. An entry without an operation
/// stands for the tiles of a product or for a sum.
template <class Op>
constexpr auto code(int first, bool stored) {
  return graphs::loop_value{&graphs::lanes_of<Op, float, graphs::type_list<real>, real, real>, real, first, 2, stored};
}
constexpr graphs::loop_value tiles{nullptr, real, 0, 0, true};
constexpr kernels::loop_operand whole{}, once{real, graphs::access::repeated};

bool same(guarded<float>& a, guarded<float>& b, std::int64_t n) {
  return std::equal(a.data(), a.data() + n, b.data()) && a.intact() && b.intact();
}

/// max(A B * row + c, row), and A B itself. The result is written over c, unless the product keeps its partial sums in
/// the result.
struct product_beside_loop {
  costs::product of;
  kernel_pointer alone;
  graphs::kernel_pointer beside;
  workspace working;
  bool sums_in_result;
};
void check(const product_beside_loop& run) {
  const costs::product& p = run.of;
  const shape extents{p.m, p.n};
  const std::int64_t size = extents.count();
  auto a = numbers<float>(std::int64_t{p.m} * p.k), b = numbers<float>(std::int64_t{p.k} * p.n);
  auto scale = numbers<float>(p.n);
  const auto c = numbers<float>(size);
  const auto fill = [&](guarded<float>& with) { std::copy_n(c.data(), size, with.data()); };

  using fused = kernels::loop<float, graphs::sums::nothing, true, kernels::list_of<whole, whole>,
                              kernels::list_of<tiles, code<lang::mul_op>(0, false), code<lang::add_op>(2, false),
                                               code<lang::maximum_op>(4, true)>,
                              kernels::list_of<0, -1, 1, -2, 2, -1>>;
  using separate = kernels::loop<
      float, graphs::sums::nothing, false, kernels::list_of<whole, whole, whole>,
      kernels::list_of<code<lang::mul_op>(0, false), code<lang::add_op>(2, false), code<lang::maximum_op>(4, true)>,
      kernels::list_of<-3, -1, 0, -2, 1, -1>>;
  guarded<float> scratch(run.working.numbers(3)), expected_product(size), expected(size);
  run.alone({expected_product.data(), a.data(), b.data(), scratch.data()}, 1);
  guarded<float> added(size);
  fill(added);
  void* own[]{expected.data(), scale.data(), added.data(), expected_product.data()};
  const table_of table_alone(extents, {0b01, 0, 0});
  separate::run(&*table_alone, own, 1);

  const table_of table(extents, {0b01, 0});
  const kernels::step_table told{*table, {}, run.beside, fused::arrays};
  for (int threads = 1; threads <= 3; ++threads) {
    guarded<float> product(size), result(size), apart(size);
    fill(result);
    fill(apart);
    void* operands[]{product.data(), result.data(), scale.data(), run.sums_in_result ? apart.data() : result.data(),
                     product.data(), a.data(),      b.data(),     scratch.data()};
    kernels::run_with_tiles<fused>(&told, operands, threads);
    BOOST_TEST_CONTEXT("m " << p.m << " n " << p.n << " k " << p.k << " threads " << threads) {
      BOOST_TEST(same(product, expected_product, size));
      BOOST_TEST(same(result, expected, size));
      BOOST_TEST(scratch.intact());
    }
  }
}
template <costs::product P>
void product_in_a_loop() {
  using op = lang::matmul_op<P.transpose_a, P.transpose_b>;
  using a = array<(P.transpose_a ? shape{P.k, P.m} : shape{P.m, P.k})>;
  using b = array<(P.transpose_b ? shape{P.n, P.k} : shape{P.k, P.n})>;
  check({P, &run_kernel<op, float, a, b>, &cairn::kernels::run<op, float, a, b>, op::scratch(4, a::shape, b::shape),
         op::makes(0, 4, a::shape, b::shape).tiles == tiling::summed_in_result});
}

/// A kernel that takes rows, applied to x * y. Here y is one row, and some kernels also take labels. The result is
/// written over x * y where this is possible, and once to memory of its own.
struct rows_beside_loop {
  std::string_view name;
  shape extents;
  std::int64_t results;
  kernel_pointer alone;
  graphs::kernel_pointer beside;
};
void check(const rows_beside_loop& run) {
  const std::int64_t size = run.extents.count();
  const int columns = run.extents[-1], rows = static_cast<int>(size / columns);
  auto x = numbers<float>(size, 4), y = numbers<float>(columns);
  auto known = kernel_check::labels(rows, columns);
  using loop = kernels::loop<float, graphs::sums::nothing, false, kernels::list_of<whole, whole>,
                             kernels::list_of<code<lang::mul_op>(0, true)>, kernels::list_of<-1, -2>>;
  const table_of table(run.extents, {0, 0b01});
  guarded<float> made(size), expected(size);
  void* own[]{made.data(), x.data(), y.data()};
  loop::run(&*table, own, 1);
  run.alone({expected.data(), made.data(), known.data()}, 1);
  const kernels::step_table told{*table, {}, run.beside, loop::arrays};
  for (int threads = 1; threads <= 3; ++threads) {
    for (const bool over : {false, true}) {
      guarded<float> between(size), result(size);
      float* const to = over && run.results == size ? between.data() : result.data();
      void* operands[]{between.data(), x.data(), y.data(), to, between.data(), known.data()};
      kernels::run_with_rows<loop, false>(&told, operands, threads);
      BOOST_TEST_CONTEXT(run.name << " " << rows << " " << columns << " threads " << threads << " over " << over) {
        BOOST_TEST(std::equal(to, to + run.results, expected.data()));
        BOOST_TEST((between.intact() && result.intact()));
        if (to != between.data()) BOOST_TEST(same(between, made, size));
      }
    }
  }
}
template <class Op, shape Extents>
void rows_of_a_loop() {
  using x = array<Extents>;
  using classes = array<shape{static_cast<int>(Extents.count() / Extents[-1])}, element_type{dtype::i32}>;
  if constexpr (requires { Op::result(Extents); })
    check({Op::name, Extents, Extents.count(), &run_kernel<Op, float, x>, &cairn::kernels::run<Op, float, x>});
  else
    check({Op::name, Extents, Op::result(Extents, classes::shape).count(), &run_kernel<Op, float, x, classes>,
           &cairn::kernels::run<Op, float, x, classes>});
}

/// The sums of x * y and of x * y * z over some axes, where z is one number. The last product is stored or not. As in
/// every fused loop, no extent is 1.
template <graphs::sums Sort, bool Stored>
void check_sums(const shape& extents, cairn::detail::axis_set summed, kernel_pointer sum) {
  const std::int64_t size = extents.count(), left = reduced(extents, summed, false).count();
  auto x = numbers<float>(size), y = numbers<float>(size), z = numbers<float>(1);
  using inputs = kernels::list_of<whole, whole, once>;
  using separate = kernels::loop<float, graphs::sums::nothing, false, inputs,
                                 kernels::list_of<code<lang::mul_op>(0, true), code<lang::mul_op>(2, true)>,
                                 kernels::list_of<-1, -2, 0, -3>>;
  constexpr graphs::loop_value total{nullptr, real, 4, 1, true}, other{nullptr, real, 5, 1, true};
  using fused =
      kernels::loop<float, Sort, false, inputs,
                    kernels::list_of<code<lang::mul_op>(0, false), code<lang::mul_op>(2, Stored), total, other>,
                    kernels::list_of<-1, -2, 0, -3, 1, 0>>;
  const table_of table(extents, {0, 0, 0b11});
  guarded<float> factors(size), products(size), expected(left), expected_other(left);
  void* own[]{factors.data(), products.data(), x.data(), y.data(), z.data()};
  separate::run(&*table, own, 1);
  sum({expected.data(), products.data()}, 1);
  sum({expected_other.data(), factors.data()}, 1);

  for (int threads = 1; threads <= 3; ++threads) {
    guarded<float> stored(size), sums(left), others(left);
    void* operands[]{stored.data(), sums.data(), others.data(), x.data(), y.data(), z.data()};
    fused::run(&*table, operands + !Stored, threads);
    BOOST_TEST_CONTEXT("extents " << extents[0] << " " << extents[-1] << " axes " << summed << " threads " << threads) {
      BOOST_TEST(same(sums, expected, left));
      BOOST_TEST(same(others, expected_other, left));
      if (Stored) BOOST_TEST(same(stored, products, size));
    }
  }
}
template <shape Extents, cairn::detail::axis_set Summed, bool Stored>
void sum_in_a_loop() {
  constexpr graphs::sums sort = Extents.rank == 1 ? graphs::sums::all
                                : Summed == 0b10  ? graphs::sums::rows
                                                  : graphs::sums::columns;
  check_sums<sort, Stored>(Extents, Summed, &run_kernel<lang::sum_op<Summed, false>, float, array<Extents>>);
}

template <shape Extents, cairn::detail::axis_set Summed>
void sum_both_ways() {
  sum_in_a_loop<Extents, Summed, false>();
  sum_in_a_loop<Extents, Summed, true>();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(kernel_fused)

BOOST_AUTO_TEST_CASE(products_with_a_fused_loop) {
  for_each(few{}, []<int Extent>() {
    product_in_a_loop<costs::product{101 - Extent, Extent + 1, Extent * 7 % 37 + 1, false, true}>();
    product_in_a_loop<costs::product{Extent, 101 - Extent, 400 + Extent}>();
  });
}
BOOST_AUTO_TEST_CASE(products_of_several_blocks_with_a_fused_loop) {
  product_in_a_loop<costs::product{901, 35, 601, true, false}>();
  product_in_a_loop<costs::product{401, 135, 61, false, true}>();
  product_in_a_loop<costs::product{97, 801, 321}>();
}

BOOST_AUTO_TEST_CASE(rows_of_a_fused_loop) {
  for_each(few{}, []<int Extent>() {
    rows_of_a_loop<lang::softmax_op<-1>, shape{5, 1 + Extent}>();
    rows_of_a_loop<lang::log_softmax_op<-1>, shape{1 + Extent, 5}>();
    rows_of_a_loop<lang::cross_entropy_op, shape{1 + Extent, 1 + Extent}>();
    rows_of_a_loop<lang::softmax_error_op, shape{5, 1 + Extent}>();
    rows_of_a_loop<lang::accuracy_op, shape{1 + Extent, 5}>();
  });
}
BOOST_AUTO_TEST_CASE(many_rows_of_a_fused_loop) {
  rows_of_a_loop<lang::softmax_op<-1>, shape{1009, 401}>();
  rows_of_a_loop<lang::cross_entropy_op, shape{1009, 401}>();
  rows_of_a_loop<lang::softmax_error_op, shape{50, 2003}>();
}

BOOST_AUTO_TEST_CASE(sums_in_a_fused_loop) {
  for_each(few{}, []<int Extent>() {
    sum_both_ways<shape{1 + Extent}, 0b1>();
    sum_both_ways<shape{1 + Extent, 5}, 0b01>();
    sum_both_ways<shape{5, 1 + Extent}, 0b10>();
    sum_in_a_loop<shape{5, 1 + Extent}, 0b01, false>();
    sum_in_a_loop<shape{1 + Extent, 5}, 0b10, true>();
  });
}
BOOST_AUTO_TEST_CASE(sums_of_many_numbers_in_a_fused_loop) {
  sum_in_a_loop<shape{200'003}, 0b1, false>();
  sum_in_a_loop<shape{401, 1009}, 0b01, true>();
  sum_in_a_loop<shape{401, 1009}, 0b10, false>();
}

BOOST_AUTO_TEST_SUITE_END()
