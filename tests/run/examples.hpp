// A data set for the tests of training loops.
#pragma once

#include <cairn/data/batches.hpp>

namespace test {

/// Returns examples of six features and three classes. The largest feature often tells the class.
inline cairn::data::dataset examples_of(int count) {
  cairn::data::dataset made;
  made.features = 6;
  made.classes = 3;
  for (int i = 0; i < count; ++i) {
    made.labels.push_back(i % 3);
    for (int k = 0; k < 6; ++k)
      made.images.push_back(static_cast<float>((i * 7 + k * k) % 13) / 13 + static_cast<float>(i % 3 == k));
  }
  return made;
}

}  // namespace test
