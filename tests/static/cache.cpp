// Caches: their memory, and the conditions under which the new value of a cache is computed in place.
#include "cairn/lang/checkpoint.hpp"
#include "cairn/lang/gradient.hpp"
#include "cairn/lang/repeat.hpp"
#include "cairn/nn/activation.hpp"
#include "cairn/nn/linear.hpp"
#include "cairn/op/loss.hpp"
#include "cairn/op/placed.hpp"
#include "cairn/op/softmax.hpp"

#include "../overlap.hpp"

using namespace cairn;
using namespace cairn::test;

namespace {

constexpr int length = 8, width = 16;
constexpr auto x = input<"x", 1, width>;
constexpr auto at = indices<"at", length, 1>;
constexpr auto keys = cache<"keys", length, width>;
constexpr auto h = cache<"h", 1, width>;

/// The number of caches that a call copies at its end, and the bytes of its arena. The number is -1 if values overlap.
struct cost {
  int copies;
  std::int64_t peak_bytes;
  friend constexpr bool operator==(const cost&, const cost&) = default;
};
template <auto Model>
constexpr cost cost_of = {judged<forward_of<Model>>() == fault::none ? forward_of<Model>::addresses.copy_count : -1,
                          forward_of<Model>::layout.peak_bytes};
constexpr std::int64_t row = width * 4;

// New values that are computed in place. A kernel writes over the table; a fused loop reads the old value last; and the
// old value was read before.
constexpr auto table = placed<0>(keys, at, x);
static_assert(cost_of<updated(sum<0>(table), keys, table)> == cost{0, row});
static_assert(cost_of<updated(sum<0>(table), keys, reshape<length, width>(table))> == cost{0, row});
constexpr auto faded = 0.5_c * h + x;
static_assert(cost_of<updated(faded, h, faded)> == cost{0, 0});
static_assert(cost_of<updated(x, h, x * 2_c)> == cost{0, row});  // the result, which is a copy of x
constexpr auto swapped = updated(updated(x, h, cache<"g", 1, width>), cache<"g", 1, width>, h);
static_assert(cost_of<swapped> == cost{0, row});  // one fused loop, which reads both caches

// New values that are computed in the arena and then copied. The old value is read afterwards, the new value reads
// other elements of the old value, or the new value is an input or belongs to two caches.
static_assert(cost_of<updated(matmul(table, transpose(keys)), keys, table)>.copies == 1);
static_assert(cost_of<updated(sum(x), keys, flip<0>(keys))> == cost{1, length* row + 64});
static_assert(cost_of<updated(x, h, x)>.copies == 1);
constexpr auto next = tanh(matmul(h, frozen<"w", width, width>) + x);
static_assert(cost_of<updated(next, h, next)>.copies == 1);  // the product reads whole rows
static_assert(cost_of<updated(updated(x, h, faded), cache<"g", 1, width>, faded)>.copies == 1);

// A gradient in a predictor reads the old value of a cache, also in segments.
constexpr auto inside = [](auto v) {
  const auto all = placed<0>(keys, at, tanh(v));
  return updated(sum(square(sum<0>(exp(all) * keys))), keys, all);
};
static_assert(cost_of<grad(inside(x), x)>.copies == 1 && cost_of<grad(ckpt<"s">(layer(inside))(x), x)>.copies == 1);
static_assert(cost_of<outputs(grad(sum(square(table)), x), updated(x, keys, table))>.copies == 0);

// Names of caches get the prefixes of blocks. Each cache exists once, however often it is read.
constexpr auto layers =
    x | repeat<6, "block">([](auto) {
      return layer([](auto v) {
        const auto all = placed<0>(keys, at, v | nn::linear<"k", width>);
        const auto more = placed<0>(cache<"values", length, width>, at, v);
        return updated(updated(softmax(matmul(v, transpose(all))) | nn::linear<"o", width>, keys, all),
                       cache<"values", length, width>, more);
      });
    });
using six = forward_of<layers>;
static_assert(detail::memory_in<six>.cache_bytes == 12 * length * row && six::addresses.copy_count == 0);
static_assert(detail::memory_in<six>.total_bytes() ==
              six::layout.peak_bytes + detail::memory_in<six>.parameter_bytes + 12 * length * row);
static_assert(judged<six>() == fault::none && six::layout.peak_bytes < 12 * length * row);
static_assert(six::graph.find(graphs::role::cache, "block.5.values") != graphs::none);

// A program must not read or update a cache. The second argument of in_training may, because only a predictor computes
// it. Two updates of one cache to different values are a mistake.
template <auto Model, bool Trains = true>
constexpr bool sound_as = std::same_as<detail::problem_in<detail::compiled_of<Model, Trains>>, lang::sound>;
constexpr auto loss = sum(param<"p", 1, width> * x);
static_assert(!sound_as<loss + sum(h)> && !sound_as<updated(loss, h, x)> && sound_as<updated(loss, h, x), false>);
static_assert(sound_as<in_training(loss, updated(loss, h, x))> && sound_as<in_training(loss, loss + sum(h)), false>);
static_assert(!sound_as<updated(updated(loss, h, x), h, 2_c * x), false>);

// Shapes.
static_assert(placed<0>(keys, at, x).shape == shape{length, width} && h.shape == shape{1, width});
static_assert(placed<-1>(input<"t", 3, 4>, indices<"i", 2>, input<"r", 3, 3>).shape == shape{3, 4});
static_assert(lang::placed_op<0>::result(shape{4, 3}, shape{1}, shape{5, 3}) == no_shape);
static_assert(lang::placed_op<0>::result(shape{4, 3}, shape{2}, shape{1, 3}) == no_shape);
static_assert(lang::placed_op<0>::result(shape{4, 3}, shape{1}, shape{1, 2}) == no_shape);
static_assert(lang::placed_op<2>::result(shape{4, 3}, shape{1}, shape{4, 3}) == no_shape);
static_assert(lang::placed_op<0>::extent_indexed(1, shape{4, 3}, shape{}, shape{2, 3}) == 3);

}  // namespace
