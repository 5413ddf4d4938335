// Compares attention and its gradients with plain loops. The tests use tails of tiles, heads that share keys, rows with
// gaps, masks, dropout, and unused results.
#include "cairn/kernel/attention.hpp"

#include <boost/test/unit_test.hpp>

#include "../reference.hpp"
#include "kernel_check.hpp"

using cairn::costs::attention_extents, cairn::bf16, cairn::costs::attention_tiles, cairn::shape, cairn::workspace;
using namespace cairn::kernels;
using namespace kernel_check;

namespace {

struct extents {
  int n = 1, t = 1, s = 1, h = 1, heads = 1, d = 1, e = d;
  bool causal = false;
};
constexpr cairn::random_stream words{{7}, 11, 3};

/// Attention on random numbers, and its expected results. `In` is the type of the numbers that the kernel reads, which
/// may be rounded.
template <class In>
struct trial {
  using Real = sum_of<In>;
  extents x;
  score_options<Real> with = {};
  const void* mask = nullptr;
  int gap = 0;  ///< numbers between the tokens of queries, keys, values and the gradient of the result
  std::vector<Real> q = drawn(x.n * x.t * x.h * x.d), k = drawn(x.n * x.s * x.heads * x.d);
  std::vector<Real> v = drawn(x.n * x.s * x.heads * x.e), g = drawn(x.n * x.t * x.h * x.e);
  reference::attention right{x.n, x.t, x.s, x.h, x.heads, x.d, x.e};

  static std::vector<Real> drawn(std::int64_t n) {
    std::vector<Real> out = numbers<Real>(n);
    for (Real& one : out) one = static_cast<Real>(static_cast<In>(one));
    return out;
  }
  /// Replaces numbers by `to(number, index)`. The rows have no gaps.
  static void change(auto to, std::vector<Real>& numbers, std::vector<In>& cells) {
    for (std::size_t i = 0; i < numbers.size(); ++i) cells[i] = static_cast<In>(numbers[i] = to(numbers[i], i));
  }
  template <class Added, class Kept>
  trial& expecting(Added added, Kept kept) {
    right.run(
        q.data(), k.data(), v.data(), g.data(),
        [this, added](int n, int h, int t, int s) {
          return x.causal && s > t ? -infinity<double> : double{added(n, h, t, s)};
        },
        kept);
    return *this;
  }
  trial& expecting() {
    return expecting([](int, int, int, int) { return 0.0; }, [](int, int, int, int) { return 1.0; });
  }

  attention_plan<Real> plan() const {
    const attention_extents of{shape{x.n, x.t, x.h, x.d}, shape{x.n, x.s, x.heads, x.d}, shape{x.n, x.s, x.heads, x.e},
                               x.causal};
    return {of, {of, sizeof(In)}, 1 / std::sqrt(static_cast<Real>(x.d)), with};
  }
  /// Tokens with gaps between them, and the rows that tell a kernel where the tokens are.
  struct spread {
    std::vector<In> cells;
    head_rows<const In> rows;

    spread(const std::vector<Real>& dense, int tokens, int heads, int extent, int gap)
        : cells(dense.size() + dense.size() / static_cast<std::size_t>(heads * extent) * static_cast<std::size_t>(gap)),
          rows(rows_of<const In>(shape{1, tokens, heads, extent}, cells.data(), heads * extent + gap)) {
      const auto length = static_cast<std::size_t>(heads * extent);
      for (std::size_t i = 0; i < dense.size(); ++i)
        cells[i / length * static_cast<std::size_t>(rows.apart) + i % length] = static_cast<In>(dense[i]);
    }
  };
  spread spread_q{q, x.t, x.h, x.d, gap}, spread_k{k, x.s, x.heads, x.d, gap}, spread_v{v, x.s, x.heads, x.e, gap};
  spread spread_g{g, x.t, x.h, x.e, gap};

  /// The bound of rounding errors. Every sum has at most this number of terms. The error of a score is the error of its
  /// own sum, and its weight is multiplied by it.
  double rounding() const {
    return epsilon<Real> * (4 * (x.d + x.e + 8) * (1 + right.size_of_scores) + x.t * x.h / x.heads + x.s + 32);
  }

  /// The numbers that the forward pass stores for each row of scores.
  struct rows {
    guarded<Real> largest, log_total;
    explicit rows(int count) : largest(count), log_total(count) {}
  };
  void forward(int threads, guarded<Real>& y, rows& of_scores, bool rows_alone = false) const {
    const auto p = plan();
    const workspace scratch{p.cut.forward(p.of).end, threads};
    guarded<In> space(scratch.numbers(threads));
    const attention_of_tiles<In, Real> all{
        .plan = p,
        .q = spread_q.rows,
        .k = spread_k.rows,
        .v = spread_v.rows,
        .mask = mask,
        .draws = &words,
        .y = rows_of<Real>(shape{x.n, x.t, x.h, x.e}, rows_alone ? nullptr : y.data()),
        .largest = rows_of<Real>(shape{x.n, x.t, x.h}, of_scores.largest.data()),
        .log_total = rows_of<Real>(shape{x.n, x.t, x.h}, of_scores.log_total.data())};
    all.run(space.data(), scratch, threads);
    BOOST_TEST((y.intact() && of_scores.largest.intact() && of_scores.log_total.intact() && space.intact()));
  }
  void backward(int threads, rows& of_scores, Real* of_q, Real* of_k, Real* of_v) const {
    const auto p = plan();
    const workspace scratch{p.cut.backward(p.of).end, threads};
    guarded<In> space(scratch.numbers(threads));
    std::vector<Real> delta_of_rows(right.delta.begin(), right.delta.end());
    const attention_gradients_of_tiles<In, Real> all{
        .plan = p,
        .g = spread_g.rows,
        .q = spread_q.rows,
        .k = spread_k.rows,
        .v = spread_v.rows,
        .largest = rows_of<const Real>(shape{x.n, x.t, x.h}, of_scores.largest.data()),
        .log_total = rows_of<const Real>(shape{x.n, x.t, x.h}, of_scores.log_total.data()),
        .delta = rows_of<const Real>(shape{x.n, x.t, x.h}, delta_of_rows.data()),
        .mask = mask,
        .draws = &words,
        .of_q = rows_of<Real>(shape{x.n, x.t, x.h, x.d}, of_q),
        .of_k = rows_of<Real>(shape{x.n, x.s, x.heads, x.d}, of_k),
        .of_v = rows_of<Real>(shape{x.n, x.s, x.heads, x.e}, of_v)};
    all.run(space.data(), scratch, threads);
    BOOST_TEST(space.intact());
  }

  void check(std::initializer_list<int> each = {1}) const { check(each, rounding()); }
  void check(std::initializer_list<int> each, double most_wrong) const {
    // For bf16, weights and gradients of scores are rounded to bf16 for the products. The numbers for each row of
    // scores are not rounded.
    const double of_products = most_wrong + (std::is_same_v<In, bf16> ? 0x1p-8 : 0);
    const auto close = [](double bound, guarded<Real>& made, const std::vector<double>& wanted,
                          const std::vector<double>& size) {
      double most = 0;
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        const double error = std::abs(made.data()[i] - wanted[i]);
        if (!(error <= most * size[i])) most = std::isnan(error) ? infinity<double> : error / size[i];
      }
      return made.intact() && most <= bound;
    };
    const std::vector<double> ones(right.delta.size(), 1 + right.size_of_scores);
    std::vector<Real> first;
    for (const int threads : each) {
      BOOST_TEST_CONTEXT("queries " << x.n << " " << x.t << " " << x.h << " " << x.d << ", keys " << x.s << " "
                                    << x.heads << " " << x.e << ", causal " << x.causal << ", threads " << threads) {
        guarded<Real> y(std::ssize(right.y)), untouched(std::ssize(right.y));
        rows told(x.n * x.t * x.h), alone(x.n * x.t * x.h);
        forward(threads, y, told);
        BOOST_TEST(close(of_products, y, right.y, right.size_of_y));
        BOOST_TEST(close(most_wrong, told.largest, right.largest, ones));
        BOOST_TEST(close(most_wrong, told.log_total, right.log_total, ones));
        forward(threads, untouched, alone, true);
        const auto same = [&](guarded<Real>& a, guarded<Real>& b) {
          return std::equal(a.data(), a.data() + right.delta.size(), b.data());
        };
        BOOST_TEST((same(alone.largest, told.largest) && same(alone.log_total, told.log_total)));

        guarded<Real> of_q(std::ssize(q)), of_k(std::ssize(k)), of_v(std::ssize(v));
        backward(threads, told, of_q.data(), of_k.data(), of_v.data());
        BOOST_TEST(close(of_products, of_q, right.of_q, right.size_of_q));
        BOOST_TEST(close(of_products, of_k, right.of_k, right.size_of_k));
        BOOST_TEST(close(of_products, of_v, right.of_v, right.size_of_v));
        guarded<Real> q_alone(std::ssize(q)), k_alone(std::ssize(k)), v_alone(std::ssize(v));
        backward(threads, told, q_alone.data(), nullptr, nullptr);
        backward(threads, told, nullptr, k_alone.data(), nullptr);
        backward(threads, told, nullptr, nullptr, v_alone.data());
        BOOST_TEST((std::equal(of_q.data(), of_q.data() + q.size(), q_alone.data()) &&
                    std::equal(of_k.data(), of_k.data() + k.size(), k_alone.data()) &&
                    std::equal(of_v.data(), of_v.data() + v.size(), v_alone.data())));

        std::vector<Real> bits(y.data(), y.data() + right.y.size());
        for (auto [made, count] : {std::pair{&of_q, q.size()}, {&of_k, k.size()}, {&of_v, v.size()}})
          bits.insert(bits.end(), made->data(), made->data() + count);
        if (first.empty()) first = bits;
        BOOST_TEST((bits == first));
      }
    }
  }
};

constexpr int lengths[]{1, 2, 7, 16, 17, 64, 65, 130}, depths[]{1, 3, 8, 16, 20, 64, 65};

template <class Real>
void check_all() {
  int turn = 0;
  for (const int t : lengths)
    for (const int s : lengths) {
      const int d = depths[turn++ % 7], e = turn % 3 == 0 ? depths[turn % 5] : d;
      for (const bool causal : {false, true}) trial<Real>{{2, t, s, 2, 1, d, e, causal}}.expecting().check();
    }
  for (const int d : depths) trial<Real>{{1, 65, 130, 6, 2, d, d, true}, {}, nullptr, 5}.expecting().check();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(kernel_attention)

/// Each term of the polynomial is rounded once, and the later multiplications shrink the errors of earlier terms.
BOOST_AUTO_TEST_CASE(exponentials_to_base_two) {
  const auto check = []<class Real>(Real least) {
    using vec = lanes<Real>;
    double most = 0;
    for (int i = 0; i <= 20000; ++i) {
      const Real x = least * static_cast<Real>(i) / 20000;
      most = worse(most, std::abs(exp2_below(vec::fill(x)).value[0] / std::exp2(double{x}) - 1));
    }
    BOOST_TEST(most <= 2 * epsilon<Real>);
    BOOST_TEST((exp2_below(vec::fill(0)).value[0] == 1 && exp2_below(vec::fill(-infinity<Real>)).value[0] == 0));
    BOOST_TEST((exp2_below(vec::fill(2 * least)).value[0] == 0 &&
                std::isnan(exp2_below(vec::fill(no_number<Real>)).value[0])));
  };
  check(-125.0F);
  check(-1021.0);
}

BOOST_AUTO_TEST_CASE(in_float) { check_all<float>(); }
BOOST_AUTO_TEST_CASE(in_double) { check_all<double>(); }
BOOST_AUTO_TEST_CASE(in_bf16) { check_all<bf16>(); }

using read = std::tuple<float, bf16>;
using all_read = std::tuple<float, double, bf16>;

BOOST_AUTO_TEST_CASE_TEMPLATE(shared_by_threads, In, read) {
  for (const bool causal : {false, true}) {
    trial<In>{{1, 300, 310, 2, 1, 20, 20, causal}}.expecting().check({1, 2, 3, 4, 7});
    trial<In>{{3, 100, 200, 1, 1, 8, 8, causal}, {}, nullptr, 3}.expecting().check({1, 2, 3, 4});
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(masks, In, read) {
  constexpr shape x{2, 1, 65, 1};  // the mask is {N, H, T, S}
  const auto hidden = [](int n, int t) { return n == 1 && t % 3 == 0; };
  std::vector<std::uint8_t> truth(130);
  std::vector<float> added(130);
  for (int i = 0; i < 130; ++i) {
    truth[static_cast<std::size_t>(i)] = !hidden(i / 65, i % 65);
    added[static_cast<std::size_t>(i)] = hidden(i / 65, i % 65) ? -infinity<float> : static_cast<float>(i % 5);
  }
  const auto all = [](int, int, int, int) { return 1.0; };
  const extents of{2, 65, 100, 4, 2, 16};
  score_options<float> with{&mask_scores<float, array<x, cairn::element_type{cairn::dtype::u8, 2}>>, {65, 0, 1, 0}};
  trial<In>{of, with, truth.data()}
      .expecting([&](int n, int, int t, int) { return hidden(n, t) ? -infinity<double> : 0; }, all)
      .check({1, 2});
  with.mask_row = &mask_scores<float, array<x>>;
  trial<In>{of, with, added.data()}
      .expecting([&](int n, int, int t, int) { return double{added[static_cast<std::size_t>(n * 65 + t)]}; }, all)
      .check();

  const auto full = numbers<float>(4 * 65 * 100, 3);
  with.step[0] = 0, with.step[1] = 65 * 100, with.step[2] = 100, with.step[3] = 1;
  trial<In>{of, with, full.data()}
      .expecting(
          [&](int, int h, int t, int s) { return double{full[static_cast<std::size_t>((h * 65 + t) * 100 + s)]}; }, all)
      .check();
}

BOOST_AUTO_TEST_CASE_TEMPLATE(dropout_of_weights, In, all_read) {
  const score_options<sum_of<In>> with{nullptr, {}, &draw_row, 0.3};
  trial<In>{{2, 17, 130, 2, 1, 16, 16, true}, with}
      .expecting([](int, int, int, int) { return 0.0; },
                 [](int n, int h, int t, int s) {
                   const auto element = static_cast<std::uint32_t>(((n * 2 + h) * 17 + t) * 160 + s);
                   return words(element / 4)[element % 4] < static_cast<std::uint32_t>(0.3 * 0x1p32) ? 0 : 1 / 0.7;
                 })
      .check({1, 2});
}

/// A mask adds a number so large that little or nothing is left of the scores. PyTorch's models hide keys in this way.
/// The mask covers whole rows of scores, or only their first tile of keys. Scores are multiples of 1/64, so that each
/// sum is exact, or the score is lost completely. In double, this happens next to 1e30.
BOOST_AUTO_TEST_CASE_TEMPLATE(masks_of_large_negative_numbers, In, read) {
  constexpr int tokens = 65, keys = 130;
  const auto all = [](int, int, int, int) { return 1.0; };
  for (const float far : {-1e4F, -1e9F, -1e30F, std::numeric_limits<float>::lowest()})
    for (const int hidden : {keys, 96}) {
      std::vector<float> added(tokens * keys);
      for (int t = 0; t < tokens; t += 3) std::fill_n(added.begin() + t * keys, hidden, far);
      trial<In> of{{1, tokens, keys, 2, 1, 16},
                   {&mask_scores<float, array<shape{tokens, keys}>>, {0, 0, keys, 1}},
                   added.data()};
      of.change([](float x, std::size_t) { return std::round(4 * x) / 4; }, of.q, of.spread_q.cells);
      of.change([](float x, std::size_t) { return std::round(4 * x) / 4; }, of.k, of.spread_k.cells);
      const double swallowing = far < -1e8F ? -1e30 : double{far};
      of.expecting([=](int, int, int t, int s) { return t % 3 == 0 && s < hidden ? swallowing : 0.0; }, all);
      if (hidden == keys && swallowing != far)
        for (std::size_t t = 0; t < tokens; t += 3) of.right.largest[2 * t] = of.right.largest[2 * t + 1] = far;
      BOOST_TEST_CONTEXT("added " << far << " to " << hidden << " keys") { of.check({1, 2}); }
    }
}

/// Four keys share the largest score, and all other keys have no weight, also in double. These scores are exact, so the
/// rounding errors are no larger than for small scores.
BOOST_AUTO_TEST_CASE_TEMPLATE(scores_far_from_zero, In, read) {
  for (const float given : {1e4F, -1e4F, 1e6F, -1e6F}) {
    const float far = static_cast<float>(static_cast<In>(given));
    trial<In> t{{1, 33, 40, 1, 1, 1, 3}};
    t.change([far](float, std::size_t) { return far; }, t.q, t.spread_q.cells);
    t.change([](float, std::size_t i) { return static_cast<float>(i * 7 % 40 / 4) / 8; }, t.k, t.spread_k.cells);
    BOOST_TEST_CONTEXT("scores of " << far) { t.expecting().check({1}, 64 * epsilon<float>); }
  }
}

BOOST_AUTO_TEST_SUITE_END()
