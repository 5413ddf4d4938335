#include "contestant.hpp"

using namespace cairn;

namespace {

constexpr auto feed_forward = nn::linear<"fc1", 1024> | nn::gelu | nn::linear<"fc2", 256>;
constexpr auto in_segment = ckpt<"ff">(nn::residual(feed_forward));
template <int Groups>
constexpr auto in_groups = nn::residual(nn::tiled<Groups>(feed_forward));
template <auto Block>
constexpr auto loss = mean(square(input<"x", 2048, 256> | repeat<8, "block">([](auto) { return Block; })));
constexpr adamw_options rule{.lr = 1e-3};

constexpr auto feed = [](const contestant::arguments& given, auto steps_of) {
  const auto x = given.tensor<float>("x", 2048 * 256);
  steps_of(bind<"x">(x));
};
/// Trains with tiled layers in place of segments.
template <int Groups>
void train_in_groups(const contestant::arguments& given) {
  constexpr auto tiled = loss<in_groups<Groups>>;
  given.beside ? contestant::train_program<program<tiled, threads<2>>, rule>(given, feed)
               : contestant::train_program<program<tiled, threads<2>, update<rule>>, rule>(given, feed);
}

}  // namespace

int main(int count, char** words) {
  const contestant::arguments given(count, words);
  const auto is = [&](std::string_view groups) { return given.form.find(groups) != std::string::npos; };
  if (is("tiled4")) train_in_groups<4>(given);
  else if (is("tiled8")) train_in_groups<8>(given);
  else contestant::train<loss<in_segment>, rule>(count, words, feed);
}
