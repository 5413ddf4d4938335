// Compares products of bf16, bit for bit and on any processor, with the definition of the instruction that multiplies
// pairs. If the code is compiled for the instruction that multiplies tiles, the definition of that instruction is used.
// The tests use awkward extents, all transposes, rows with gaps, several blocks of depth, and numbers that are too
// small.
#include "cairn/kernel/gemm.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cfenv>
#include <cmath>
#include <cstring>

#include "kernel_check.hpp"

using cairn::bf16, cairn::costs::product;
using namespace kernel_check;

namespace {

using halves = std::vector<bf16>;

/// Returns the same numbers as rows of `length` numbers, with `apart` other numbers after each row.
halves spread(const halves& in, int length, int apart) {
  const std::size_t each = static_cast<std::size_t>(length), rows = in.size() / each;
  halves out(rows * static_cast<std::size_t>(length + apart), bf16(7.0F));
  for (std::size_t i = 0; i < in.size(); ++i) out[i + i / each * static_cast<std::size_t>(apart)] = in[i];
  return out;
}

/// Adds the products of the numbers [from, to) of a row and a column to a sum, as the instruction does. The pair
/// instruction adds the second number of each pair first. The tile instruction takes 32 numbers at a time, and adds the
/// first numbers of all pairs and the second numbers of all pairs separately.
float add_products(float sum, int from, int to, const auto& a, const auto& b) {
  for (int step = from; cairn::multiplies_tiles && step < to; step += 32) {
    float apart[2] = {};
    for (int k = step; k < step + 32; ++k) apart[k % 2] = add_product(a(k), b(k), apart[k % 2]);
    sum = normal(sum + normal(apart[0] + apart[1]));
  }
  for (int k = from; !cairn::multiplies_tiles && k < to; k += 2)
    for (const int at : {k + 1, k}) sum = add_product(a(at), b(at), sum);
  return sum;
}

/// Computes the product by definition. The sums of the blocks of depth are added up.
std::vector<float> defined(const product& p, const halves& a, const halves& b, int depth) {
  const auto of_a = [&](int i, int k) {
    return k < p.k ? a[static_cast<std::size_t>(p.transpose_a ? k * p.m + i : i * p.k + k)] : bf16{};
  };
  const auto of_b = [&](int k, int j) {
    return k < p.k ? b[static_cast<std::size_t>(p.transpose_b ? j * p.k + k : k * p.n + j)] : bf16{};
  };
  std::vector<float> c(static_cast<std::size_t>(p.m) * static_cast<std::size_t>(p.n));
  for (int i = 0; i < p.m; ++i)
    for (int j = 0; j < p.n; ++j) {
      float all = 0;
      for (int from = 0; from < p.k; from += depth) {
        const float sum = add_products(
            0, from, std::min(from + depth, p.k), [&](int k) { return of_a(i, k); }, [&](int k) { return of_b(k, j); });
        all = from == 0 ? sum : all + sum;
      }
      c[static_cast<std::size_t>(i * p.n + j)] = all;
    }
  return c;
}

bool same_bits(const std::vector<float>& expected, const float* found) {
  return std::memcmp(expected.data(), found, expected.size() * sizeof(float)) == 0;
}

template <product P>
void check_product(float scale = 1) {
  const auto& shared = cairn::kernels::shared_plan_of<bf16, P>;
  const auto& plan = cairn::kernels::plan_of<bf16, P>;
  const halves a = drawn_halves(std::int64_t{P.m} * P.k, scale), b = drawn_halves(std::int64_t{P.k} * P.n, scale);
  const int length_a = P.transpose_a ? P.m : P.k, length_b = P.transpose_b ? P.k : P.n;
  const halves apart_a = spread(a, length_a, 5), apart_b = spread(b, length_b, 3);
  const std::int64_t size = std::int64_t{P.m} * P.n;
  guarded<float> c(size), own(size), of_parts(size);
  const std::int64_t working = plan.cut.needed_workspace.numbers(1);
  guarded<bf16> scratch(working);
  std::fill_n(scratch.data(), working, bf16(no_number<float>));  // the workspace may contain anything
  cairn::kernels::multiplication(shared, a.data(), b.data(), c.data()).run(scratch.data());
  cairn::kernels::multiplication(plan, a.data(), b.data(), own.data()).run(scratch.data());
  cairn::kernels::multiplication(shared, apart_a.data(), apart_b.data(), of_parts.data(), nullptr, length_a + 5,
                                 length_b + 3)
      .run(scratch.data());
  const std::vector<float> expected = defined(P, a, b, plan.cut.depth);
  BOOST_TEST_CONTEXT("m " << P.m << " n " << P.n << " k " << P.k << " transposes " << P.transpose_a << P.transpose_b) {
    for (guarded<float>* result : {&c, &own, &of_parts}) {
      BOOST_TEST(same_bits(expected, result->data()));
      BOOST_TEST(result->intact());
    }
    BOOST_TEST(scratch.intact());
  }
}
template <int M, int N, int K>
void check_each_transpose() {
  check_product<product{M, N, K, false, false}>();
  check_product<product{M, N, K, false, true}>();
  check_product<product{M, N, K, true, false}>();
  check_product<product{M, N, K, true, true}>();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(kernel_halves)

BOOST_AUTO_TEST_CASE(awkward_extents) {
  for_each(awkward{}, []<int Extent>() { check_each_transpose<Extent, 101 - Extent, Extent * 7 % 37 + 1>(); });
}

// There are more rows than in one block, and several blocks of depth.
BOOST_AUTO_TEST_CASE(several_blocks) {
  static_assert(cairn::costs::blocking_of({31, 35, 901}, 2).depth == (cairn::multiplies_tiles ? 928 : 902));
  static_assert(cairn::costs::blocking_of({13, 35, 4099}, 2).depth == (cairn::multiplies_tiles ? 704 : 684));
  check_each_transpose<31, 35, 901>();
  check_each_transpose<13, 35, 4099>();
  check_product<product{785, 37, 769, false, false}>();
  check_product<product{785, 37, 769, true, true}>();
}

// Products around the least normal number. Numbers below it count as zero in every step.
BOOST_AUTO_TEST_CASE(denormal_numbers) {
  for (const float scale : {0x1p-62F, 0x1p-64F, 0x1p-70F}) {
    check_product<product{13, 35, 41, false, false}>(scale);
    check_product<product{13, 35, 41, true, true}>(scale);
    check_product<product{61, 70, 82, true, false}>(scale);
    check_product<product{61, 70, 82, false, true}>(scale);
  }
  bf16 least;
  least.bits = 1;
  static_assert(bf16(static_cast<float>(bf16(0x1p-130F))).bits == 0);
  guarded<bf16> scratch(cairn::kernels::plan_of<bf16, product{1, 1, 2}>.cut.needed_workspace.numbers(1));
  const halves a{least, bf16(1.0F)}, b{bf16(0x1p120F), bf16(3.0F)};
  float c = 0;
  cairn::kernels::multiplication(cairn::kernels::plan_of<bf16, product{1, 1, 2}>, a.data(), b.data(), &c)
      .run(scratch.data());
  BOOST_TEST(c == 3);
  BOOST_TEST(0x1p-140F * static_cast<float>(a[1]) > 0);  // outside of the kernel, denormal numbers keep their values
}
// Floating-point exceptions that are raised inside the scope stay set after it.
BOOST_AUTO_TEST_CASE(floating_point_exceptions_stay_set) {
  const volatile float one = 1, zero = 0;
  std::feclearexcept(FE_ALL_EXCEPT);
  {
    const cairn::kernels::denormals_as_zeros inside;
    const volatile float infinite = one / zero;
    BOOST_TEST(std::isinf(infinite));
  }
  BOOST_TEST(std::fetestexcept(FE_DIVBYZERO) == FE_DIVBYZERO);
}
// Denormal numbers keep their values when blocks of depth are added up, and in code that reads the tiles.
BOOST_AUTO_TEST_CASE(denormal_numbers_outside_of_products) {
  static constexpr product of{13, 35, 4100};
  constexpr const auto& plan = cairn::kernels::shared_plan_of<bf16, of>;
  static_assert(plan.cut.depth < of.k / 2);
  constexpr std::size_t rows = of.m, columns = of.n, depth = of.k;
  const auto run = [](const void*, void* const* to, const void* tile, int stride, int row, int column, int height,
                      int width) {
    const float* from = static_cast<const float*>(tile);
    for (int i = row; i < std::min(row + height, of.m); ++i, from += stride)
      for (int j = 0; j < width; ++j) static_cast<float*>(*to)[i * of.n + column + j] = from[j] * 0x1p-120F;
  };
  const auto fetch = [](const void*, void* const*, int, int, int, int) {};
  std::vector<float> c(rows * columns), read(c);
  void* to = read.data();
  const cairn::kernels::tile_reader reader{run, fetch, nullptr, &to};
  halves a(rows * depth), b(columns * depth, bf16(0x1p-126F));
  guarded<bf16> scratch(plan.cut.needed_workspace.numbers(1));
  const auto multiplied = [&](const cairn::kernels::tile_reader* by) {
    cairn::kernels::multiplication(plan, a.data(), b.data(), c.data(), by).run(scratch.data());
    return std::ranges::count(by != nullptr ? read : c, 0x1p-127F);
  };
  for (std::size_t i = 0; i < rows; ++i) {
    a[i * depth] = bf16(1.5F);
    a[(i + 1) * depth - 1] = bf16(-1.0F);
  }
  BOOST_TEST(multiplied(nullptr) == rows * columns);
  for (std::size_t i = 0; i < rows; ++i) a[i * depth] = a[(i + 1) * depth - 1] = bf16(0x1p118F);  // 2^-7 in total
  BOOST_TEST(multiplied(&reader) == rows * columns);
}

BOOST_AUTO_TEST_SUITE_END()
