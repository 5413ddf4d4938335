// Pictures of what a model computes.
#pragma once

#include <algorithm>
#include <cmath>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace examples {

/// Writes rows of ten square images each as a grey picture in the format PGM. The smallest number of the last row is
/// black, and the largest is white.
inline void write(const std::string& file, const std::vector<std::vector<float>>& rows, int side, int columns = 10) {
  const auto [black, white] = std::ranges::minmax(rows.back());
  std::ofstream out(file, std::ios::binary);
  out << "P5\n" << columns * side << ' ' << std::ssize(rows) * side << "\n255\n";
  for (const std::vector<float>& row : rows)
    for (int y = 0; y < side; ++y)
      for (int image = 0; image < columns; ++image)
        for (int x = 0; x < side; ++x) {
          const float grey = row[static_cast<std::size_t>((image * side + y) * side + x)];
          const float share = std::clamp((grey - black) / (white - black), 0.0F, 1.0F);
          out.put(static_cast<char>(static_cast<unsigned char>(share * 255 + 0.5F)));
        }
  if (!out.flush()) throw std::runtime_error("cannot write " + file);
}

}  // namespace examples
