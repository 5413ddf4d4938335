// Attention: computes for each query a weighted mean of values. The weights are the softmax of scores, which are the
// products of the query with the keys. The scores are not stored.
#pragma once

#include "cairn/cost/attention.hpp"
#include "cairn/lang/generated.hpp"
#include "cairn/lang/state.hpp"
#include "cairn/op/comparison.hpp"
#include "cairn/op/dropout.hpp"
#include "cairn/op/matmul.hpp"
#include "cairn/op/slice.hpp"

namespace cairn::nn {
/// Marks causal attention: query t looks at the keys 0 to t only, as with is_causal of PyTorch:
/// `nn::attention(q, k, v, nn::causal)`. In place of a layer's options, the mark means options that set causal and
/// nothing else.
struct causal_t {
  template <class Options>
    requires requires { Options{.causal = true}; }
  constexpr operator Options() const {
    return {.causal = true};
  }
};
inline constexpr causal_t causal{};
}  // namespace cairn::nn

namespace cairn::lang {

/// Base of attention and its gradients: the arguments of attention.
/// - Queries are {N, T, H, D}.
/// - Keys and values are {N, S, K, D}, where the number of key heads K divides H. The last extent of the values may
///   differ from D.
/// - A mask may follow. It broadcasts to {N, H, T, S}.
/// - If weights are dropped, the key of the random numbers follows.
///
/// The mask and the key are the options. They begin at argument number `FirstOption`. The rows of the first
/// `StridedArguments` arguments may lie apart in memory.
template <costs::attending By, int FirstOption, int StridedArguments>
struct attention_base : op {
  using rule = misuse::queries_keys_values;
  static constexpr bool contraction = true;
  static constexpr bool masked = By.mask != costs::masking::none;
  static constexpr int option_count = int{masked} + int{By.dropout > 0};

  static constexpr kind argument_kind(int i) {
    if (i < FirstOption) return kind::real;
    if (i > FirstOption || !masked) return kind::key;
    return By.mask == costs::masking::whole ? kind::whole : kind::real;
  }
  static constexpr int extent_indexed(int i, const auto&...) { return argument_kind(i) == kind::whole ? 2 : 0; }
  static constexpr reading reads(int i, const auto&...) {
    return i < StridedArguments ? reading{.numbers = reading::as_stored, .row_axes = 2} : reading{};
  }
  static constexpr bool fits(const shape& q, const shape& k, const shape& v, const auto&... more) {
    if (q.rank != 4 || k.rank != 4 || v.rank != 4 || q[2] % k[2] != 0) return false;
    return q[0] == k[0] && q[3] == k[3] && shape(k[0], k[1], k[2]) == shape(v[0], v[1], v[2]) &&
           mask_fits(shape(q[0], q[2], q[1], k[1]), more...);
  }
  static constexpr costs::attention_extents extents(const shape& q, const shape& k, const shape& v) {
    return {q, k, v, By.causal};
  }
  /// Returns the gradients of arguments and options. The gradient of a mask that is added to scores is the gradient of
  /// the scores. A key gets no gradient.
  static constexpr auto with_option_gradients(auto of_scores, auto... of_arguments) {
    if constexpr (option_count == 0) return gradients(of_arguments...);
    else if constexpr (!masked) return gradients(of_arguments..., no_gradient{});
    else if constexpr (option_count == 1) return gradients(of_arguments..., of_scores);
    else return gradients(of_arguments..., of_scores, no_gradient{});
  }

 private:
  static constexpr bool mask_fits(const shape& scores, const auto&... more) {
    if constexpr (!masked || sizeof...(more) == 0) return true;
    else return [&scores](const shape& mask, const auto&...) { return broadcast(mask, scores) == scores; }(more...);
  }
};

constexpr double scale_of_scores(const shape& q) { return 1 / square_root(q[3]); }

/// Attention that is composed of other operations and stores its scores. It serves gradients of gradients, and
/// gradients of masks. Heads that share keys have an axis of their own: queries are {N, key heads, sharing, T, D}, and
/// keys are {N, key heads, 1, S, D}.
template <costs::attending By, shape Q, shape K>
struct composed_attention {
  static constexpr int batch = Q[0], queries = Q[1], heads = Q[2], keys = K[1], key_heads = K[2];
  static constexpr int sharing = heads / key_heads;
  static constexpr auto scale = constant<scale_of_scores(Q)>;

  /// Reshapes and transposes {N, T, H, D}, or {N, T, H} with D = 1, to {N, key heads, sharing, T, D}.
  template <class X>
  static constexpr auto group_queries(X x) {
    return transpose<0, 2, 3, 1, 4>(reshape<batch, queries, key_heads, sharing, -1>(x));
  }
  /// Transposes and reshapes {N, S, key heads, D} to {N, key heads, 1, S, D}.
  template <class X>
  static constexpr auto group_keys(X x) {
    return reshape<batch, key_heads, 1, keys, -1>(transpose<0, 2, 1, 3>(x));
  }
  /// Reverses `group_queries`: the result is {N, T, H, D}.
  template <class X>
  static constexpr auto ungroup_queries(X x) {
    return reshape<batch, queries, heads, -1>(transpose<0, 3, 1, 2, 4>(x));
  }
  /// Sums a gradient {N, key heads, sharing, S, D} over the heads that share keys. The result is {N, S, key heads, D}.
  template <class X>
  static constexpr auto sum_shared_heads(X x) {
    return transpose<0, 2, 1, 3>(sum<2>(x));
  }
  /// Reshapes one number for each query to {N, T, H}.
  static constexpr auto one_number_per_query(auto x) { return reshape<batch, queries, heads>(ungroup_queries(x)); }

  /// Returns the gradient of a mask from the gradient of the scores. A mask of truth values gets no gradient.
  static constexpr auto mask_gradient(auto of_scores) {
    if constexpr (By.mask == costs::masking::real) return reshape<batch, heads, queries, keys>(of_scores);
    else return no_gradient{};
  }

  /// Computes the weights, which are the softmax of the scores, from the logsumexp of each row of scores. The logsumexp
  /// is given in two parts, `largest` and `log_total`.
  static constexpr auto weights(auto q, auto k, auto largest, auto log_total, auto... options) {
    const auto scores = matmul(group_queries(q * scale), transpose(group_keys(k)));
    return exp(masked(visible(scores), options...) - group_queries(largest) - group_queries(log_total));
  }
  /// Computes the gradient of the weights before dropout, minus `delta`, which is the number that the softmax subtracts
  /// from each gradient of a row.
  static constexpr auto weight_slope(auto g, auto v, auto delta, auto... options) {
    return matmul(group_queries(g), transpose(group_keys(v))) * dropout_factor(options...) - group_queries(delta);
  }
  /// Returns the factor by which dropout multiplies the weights: 0, or `1 / (1 - probability)`.
  static constexpr auto dropout_factor(auto... options) {
    if constexpr (By.dropout == 0) return constant<1>;
    else return drawn(std::get<sizeof...(options) - 1>(std::tuple{options...}));
  }

 private:
  /// Returns the scores. If attention is causal, adds minus infinity to the scores of keys after the query.
  static constexpr auto visible(auto scores) {
    if constexpr (!By.causal) return scores;
    else
      return scores + generated<queries, keys>(
                          [](int t, int s) { return s <= t ? 0 : -std::numeric_limits<double>::infinity(); });
  }
  /// Returns the scores after the mask. A mask of real numbers is added, and a mask of truth values sets scores to
  /// minus infinity where it is 0.
  template <class Mask>
  static constexpr auto masked(auto scores, Mask mask, auto...) {
    if constexpr (By.mask == costs::masking::none) {
      return scores;
    } else {
      constexpr auto extent = [](int back) { return back <= Mask::shape.rank ? Mask::shape[-back] : 1; };
      constexpr bool each = extent(3) > 1;
      const auto m = reshape<extent(4), each ? key_heads : 1, each ? sharing : 1, extent(2), extent(1)>(mask);
      if constexpr (By.mask == costs::masking::real) return scores + m;
      else return where(m, scores, constant<-std::numeric_limits<double>::infinity()>);
    }
  }
  static constexpr auto masked(auto scores) { return scores; }
  /// Draws the random numbers of dropout. The draws of a row begin at a multiple of the count of numbers that kernels
  /// draw at once.
  static constexpr auto drawn(auto key) {
    constexpr shape all{batch, key_heads, sharing, queries, static_cast<int>(costs::drawn_keys(keys))};
    return slice<-1, 0, keys>(make<dropout_op<By.dropout, false>>(make<expand_op<all>>(constant<1>), key));
  }
};

/// Computes the gradients of queries, keys and values. The arguments are:
/// - the gradient of the result, then queries, keys and values
/// - `largest` and `log_total`, the two parts of the logsumexp of each row of scores
/// - `delta`, the number that the softmax subtracts from the gradient of each weight of a row
/// - the options
template <costs::attending By>
struct attention_gradients_op : attention_base<By, 7, 4> {
  using tensors = attention_base<By, 7, 4>;
  static constexpr fixed_string name = "attention_gradients";
  static constexpr making makes(int, int, const auto&...) { return {.rounds = true}; }
  static constexpr std::array<shape, 3> result(const shape& g, const shape& q, const shape& k, const shape& v,
                                               const shape& largest, const shape& log_total, const shape& delta,
                                               const auto&... options) {
    if (!tensors::fits(q, k, v, options...) || g != shape(q[0], q[1], q[2], v[3])) return {no_shape, q, q};
    const shape rows{q[0], q[1], q[2]};
    return {largest == rows && log_total == rows && delta == rows ? q : no_shape, k, v};
  }
  static constexpr std::int64_t flops(const shape&, const shape& q, const shape& k, const shape& v, const auto&...) {
    return tensors::extents(q, k, v).pairs() * (6 * q[3] + 4 * v[3] + 5);
  }
  static constexpr workspace scratch(int bytes, const shape&, const shape& q, const shape& k, const shape& v,
                                     const auto&...) {
    const costs::attention_extents of = tensors::extents(q, k, v);
    const costs::attention_tiles cut{of, bytes};
    return {cut.backward(of).end, parts_of(flops(q, q, k, v), std::int64_t{of.shared_heads()} * cut.key_tiles(of))};
  }
  /// Differentiates the three gradients. Let p be the weights, s their gradients minus `delta`, and w = p s. A
  /// transposed matrix is marked with '. The gradient of q is w k, scaled. The gradient of k is w' q, where q is
  /// scaled. The gradient of v is p' g, where dropout has multiplied p.
  template <class G, class Q, class K, class... Options>
    requires(sizeof...(Options) == tensors::option_count)
  static constexpr auto vjp(auto of_q, auto of_k, auto of_v, auto, auto, auto, G g, Q q, K k, auto v, auto largest,
                            auto log_total, auto delta, Options... options) {
    using composed = composed_attention<By, Q::shape, K::shape>;
    constexpr auto scale = composed::scale;
    const auto gs = composed::group_queries(g);
    const auto qs = composed::group_queries(q * scale);
    const auto ks = composed::group_keys(k);
    const auto vs = composed::group_keys(v);
    const auto a = composed::group_queries(of_q * scale);
    const auto b = composed::group_keys(of_k);
    const auto c = composed::group_keys(of_v);
    const auto p = composed::weights(q, k, largest, log_total, options...);
    const auto s = composed::weight_slope(g, v, delta, options...);
    const auto dropout_factor = composed::dropout_factor(options...);
    const auto of_w = matmul(a, transpose(ks)) + matmul(qs, transpose(b));
    const auto of_slope = of_w * p;
    const auto of_scores = (of_w * s + matmul(gs, transpose(c)) * dropout_factor) * p;
    const auto of_logsumexp = composed::one_number_per_query(-sum<-1>(of_scores, keepdim));
    return tensors::with_option_gradients(
        composed::mask_gradient(of_scores),
        composed::ungroup_queries(matmul(of_slope * dropout_factor, vs) + matmul(p * dropout_factor, c)),
        composed::ungroup_queries((matmul(of_scores, ks) + matmul(p * s, b)) * scale),
        composed::sum_shared_heads(matmul(transpose(of_scores), qs) + matmul(transpose(p * s), a)),
        composed::sum_shared_heads(matmul(transpose(of_slope * dropout_factor), gs)), of_logsumexp, of_logsumexp,
        composed::one_number_per_query(-sum<-1>(of_slope, keepdim)));
  }
};

/// Computes three results. The first result, {N, T, H, D}, is for each query the mean of the values. The weights of
/// this mean are the softmax of the scores, which are the products of the query with the keys, divided by sqrt(D).
///
/// The other two results are the logsumexp of each row of scores in two parts, each {N, T, H}. From the logsumexp, the
/// backward pass recomputes the weights. The first part is the largest score. The second part is the log of the sum of
/// the weights relative to the largest score. A single number would lose the digits of this log next to a large score.
///
/// If a query may not look at any key, its row of the result is 0, and so are both parts of its logsumexp.
template <costs::attending By>
struct attention_op : attention_base<By, 3, 3> {
  using tensors = attention_base<By, 3, 3>;
  static constexpr fixed_string name = "attention";
  static constexpr making makes(int result, int, const auto&...) {
    return {.rounds = result == 0, .is_statistic = result > 0};
  }
  /// A mask may have an entry for each entry of the batch.
  static constexpr bool keeps_rows(int i, const shape& q, const shape&, const shape&, const auto&... options) {
    const shape x[]{q, options...};
    return i < 3 || (tensors::argument_kind(i) != kind::key && x[i - 2].rank == 4 && x[i - 2][0] == q[0]);
  }
  static constexpr std::array<shape, 3> result(const shape& q, const shape& k, const shape& v, const auto&... options) {
    if (!tensors::fits(q, k, v, options...)) return {no_shape, q, q};
    const shape rows{q[0], q[1], q[2]};
    return {shape{q[0], q[1], q[2], v[3]}, rows, rows};
  }
  static constexpr std::int64_t flops(const shape& q, const shape& k, const shape& v, const auto&...) {
    return tensors::extents(q, k, v).pairs() * (2 * q[3] + 2 * v[3] + 5);
  }
  static constexpr workspace scratch(int bytes, const shape& q, const shape& k, const shape& v, const auto&...) {
    const costs::attention_extents of = tensors::extents(q, k, v);
    const costs::attention_tiles cut{of, bytes};
    return {cut.forward(of).end, parts_of(flops(q, k, v), std::int64_t{of.shared_heads()} * cut.query_tiles(of))};
  }
  template <class... Options>
    requires(sizeof...(Options) == tensors::option_count)
  static constexpr auto vjp(auto g, auto y, auto largest, auto log_total, auto q, auto k, auto v, Options... options) {
    return gradients_for_delta(sum<-1>(g * y), g, largest, log_total, q, k, v, options...);
  }
  /// Gradient rule for gradients of gradients, where the parts of the logsumexp have gradients too. An operation that
  /// reads one part always reads the sum of both parts, so both parts have the same gradient, `of_logsumexp`. The
  /// result does not depend on which key has the largest score, so `largest` counts as a constant.
  template <class... Options>
    requires(sizeof...(Options) == tensors::option_count)
  static constexpr auto vjp(auto g, auto /* of_largest */, auto of_logsumexp, auto y, auto largest, auto log_total,
                            auto q, auto k, auto v, Options... options) {
    return gradients_for_delta(sum<-1>(g * y) - of_logsumexp, g, largest, log_total, q, k, v, options...);
  }

 private:
  template <class Q, class K>
  static constexpr auto gradients_for_delta(auto delta, auto g, auto largest, auto log_total, Q q, K k, auto v,
                                            auto... options) {
    using composed = composed_attention<By, Q::shape, K::shape>;
    const auto [of_q, of_k, of_v] = make<attention_gradients_op<By>>(g, q, k, v, largest, log_total, delta, options...);
    const auto mask_gradient = [&] {
      if constexpr (By.mask != costs::masking::real) return no_gradient{};
      else
        return composed::mask_gradient(composed::weights(q, k, largest, log_total, options...) *
                                       composed::weight_slope(g, v, delta, options...));
    }();
    return tensors::with_option_gradients(mask_gradient, of_q, of_k, of_v);
  }
};

/// The form of attention. After queries, keys and values, `causal` and a mask may follow, at most one of each. P is the
/// probability with which weights are dropped. Key is the key from which the random numbers are drawn.
template <double P, class... Key>
struct attention_form {
  static constexpr fixed_string name = "attention";
  using reported = misuse::queries_keys_and_values;
  template <class A>
  static constexpr bool is_causal = std::same_as<A, nn::causal_t>;
  template <class... A>
  static constexpr bool fits = [] {
    constexpr bool tags[]{is_causal<A>..., true, true, true};
    const auto causals = (0 + ... + int{is_causal<A>});
    const auto others = static_cast<int>(sizeof...(A)) - causals;
    return causals <= 1 && (others == 3 || others == 4) && !tags[0] && !tags[1] && !tags[2] &&
           (... && (is_causal<A> || an_operand<A>));
  }();

  template <an_expression Q, an_expression K, an_expression V, class... More>
    requires((is_causal<More> || an_expression<More>) && ...)
  static constexpr auto body(Q q, K k, V v, More... more) {
    constexpr bool causal = (is_causal<More> || ...);
    if constexpr (!(P >= 0 && P < 1))
      return mistake<misuse::probability_below_one, owner_of<Q, K, V>,
                     fact::operation<name, tensor_fact<Q>, tensor_fact<K>, tensor_fact<V>>, fact::probability<P>>{};
    else return masked<causal>(std::tuple_cat(std::tuple{q, k, v}, mask(more)...));
  }

 private:
  static constexpr std::tuple<> mask(nn::causal_t) { return {}; }
  static constexpr auto mask(an_expression auto m) { return std::tuple{m}; }

  template <bool Causal, class Q, class K, class V, class... Mask>
  static constexpr auto masked(std::tuple<Q, K, V, Mask...>) {
    constexpr costs::masking with = [] {
      if constexpr (sizeof...(Mask) == 0) return costs::masking::none;
      else return (kind_of(Mask::element.type), ...) == kind::whole ? costs::masking::whole : costs::masking::real;
    }();
    constexpr costs::attending exact{Causal, with, 0};
    const auto y = first(make<attention_op<exact>>(Q{}, K{}, V{}, Mask{}...));
    if constexpr (P == 0 || wrong<decltype(y)>) return y;
    else
      return make<in_training_op>(
          first(make<attention_op<costs::attending{Causal, with, P}>>(Q{}, K{}, V{}, Mask{}..., Key{}...)), y);
  }
  template <class... R>
  static constexpr auto first(std::tuple<R...> results) {
    return std::get<0>(results);
  }
  static constexpr auto first(an_expression auto mistake) { return mistake; }
};

}  // namespace cairn::lang

namespace cairn::nn {
/// Computes `softmax(q k' / sqrt(D)) v` for queries {N, T, H, D} and keys and values {N, S, heads, D}. The result is
/// {N, T, H, D}. This is F.scaled_dot_product_attention, with the axes in the order in which a linear layer makes them.
/// If there are fewer heads of keys than of queries, neighbouring heads of queries share one head of keys.
///
/// After the values, `causal` and a mask may follow. The mask broadcasts to {N, H, T, S}. A mask of truth values says
/// which keys a query looks at. A mask of real numbers is added to the scores. The scores are stored only for the
/// gradient of a mask, and for gradients of gradients. A query that may not look at any key gets zeros.
///
/// Rejects: other shapes; a mask of indices that are not truth values; `causal` or a mask twice.
template <class... A>
  requires(an_operand<A> || ...)
constexpr lang::applied<lang::attention_form<0.0>, A...> attention(A...) {
  return {};
}
/// Computes attention, and drops each weight with probability P. The random numbers are drawn and named as in
/// `dropout`: `nn::attention<"drop", 0.1>(q, k, v)`. A predictor drops no weights.
template <fixed_string Name, auto P, class... A>
  requires(an_operand<A> || ...)
constexpr lang::applied<lang::attention_form<static_cast<double>(P), lang::random_key_leaf<Name>>, A...> attention(
    A...) {
  return {};
}
}  // namespace cairn::nn
