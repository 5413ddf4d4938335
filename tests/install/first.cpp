#include <cstdio>

#include <cairn/data/idx.hpp>

#include "model.hpp"

// second.cpp has another model with these names.
constexpr auto bend = cairn::layer([](auto x) { return x * x; });
constexpr auto bent = mean(cairn::param_from<"w", cairn::initial{.fill = 3}, 6> | bend);

bool reads_files() {
  try {
    cairn::data::read_idx("no such file");
  } catch (const cairn::data::file_error&) {
    return true;
  }
  return false;
}

int main() {
  train_step step;
  const losses here = trained(step), there = trained_there(), across = trained_there(step);
  cairn::program<bent> own;
  own.init(cairn::seed{1});
  const float ours = own.value_and_grad(), theirs = bent_there();
  std::printf("%.9g %.9g %g %g\n", double{here.before}, double{here.after}, double{ours}, double{theirs});
  const bool equal = here == there && here == across && here.after < here.before;
  return equal && ours == 9 && theirs == 6 && reads_files() ? 0 : 1;
}
