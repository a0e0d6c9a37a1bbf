#include "bridges/mujoco/quadruped/terrain.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "broadloom/core/random.h"

namespace broadloom::mujoco {
namespace {

constexpr int kPoints = Terrain::kTilePoints;
constexpr int kMiddle = 10;  // points from a tile's middle to the end of its flat square

using Tile = std::vector<double>;  // [kPoints, kPoints], rows along y

double& height_at(Tile& tile, int row, int column) {
  return tile[static_cast<std::size_t>(row) * kPoints + static_cast<std::size_t>(column)];
}

// Distance from the middle square in points; 0 inside.
int distance_from_middle(int row, int column) {
  const int away = std::max(std::abs(row - kPoints / 2), std::abs(column - kPoints / 2));
  return std::max(away - kMiddle, 0);
}

template <class Height>
void each_point(Tile& tile, const Height& height) {
  for (int r = 0; r < kPoints; ++r) {
    for (int c = 0; c < kPoints; ++c) height_at(tile, r, c) = height(r, c);
  }
}

void make_rough(Tile& tile, double difficulty, double scale, Random& random) {
  constexpr int kKnots = kPoints / 2;
  std::vector<double> knots(static_cast<std::size_t>(kKnots) * kKnots);
  for (double& knot : knots) knot = 0.1 * difficulty * scale * random.uniform(-1.0, 1.0);
  const auto knot = [&](int r, int c) {
    return knots[static_cast<std::size_t>(r % kKnots) * kKnots +
                 static_cast<std::size_t>(c % kKnots)];
  };
  each_point(tile, [&](int r, int c) {
    const int r2 = (r + 1) / 2, c2 = (c + 1) / 2;  // between knots: the mean of the neighbours
    return 0.25 * (knot(r / 2, c / 2) + knot(r2, c / 2) + knot(r / 2, c2) + knot(r2, c2));
  });
}

void make_slopes(Tile& tile, double difficulty) {
  each_point(tile, [&](int r, int c) {
    return 0.4 * difficulty * Terrain::kSpacing * distance_from_middle(r, c);
  });
}

void make_stairs(Tile& tile, double difficulty, double scale) {
  constexpr double kWidth = 0.31;
  each_point(tile, [&](int r, int c) {
    const double step = std::ceil(Terrain::kSpacing * distance_from_middle(r, c) / kWidth);
    return (0.05 + 0.18 * difficulty) * scale * step;
  });
}

void make_steps(Tile& tile, double difficulty, double scale, Random& random) {
  constexpr int kSide = 6, kSquares = (kPoints + kSide - 1) / kSide;
  std::vector<double> squares(static_cast<std::size_t>(kSquares) * kSquares);
  for (double& square : squares) square = (0.05 + 0.18 * difficulty) * scale * random.uniform();
  each_point(tile, [&](int r, int c) {
    if (distance_from_middle(r, c) == 0) return 0.0;
    return squares[static_cast<std::size_t>(r / kSide) * kSquares +
                   static_cast<std::size_t>(c / kSide)];
  });
}

void make_discrete(Tile& tile, double difficulty, double scale, Random& random) {
  constexpr std::array kShares = {-1.0, -0.5, 0.5, 1.0};
  for (int box = 0; box < 40; ++box) {
    const auto side = [&] { return 5 + static_cast<int>(random.below(16)); };
    const int height = side(), width = side();
    const int r0 = static_cast<int>(random.below(kPoints));
    const int c0 = static_cast<int>(random.below(kPoints));
    const double level = (0.05 + 0.2 * difficulty) * scale * kShares[random.below(4)];
    for (int r = r0; r < r0 + height; ++r) {
      for (int c = c0; c < c0 + width; ++c) height_at(tile, r % kPoints, c % kPoints) = level;
    }
  }
  for (int r = 0; r < kPoints; ++r) {
    for (int c = 0; c < kPoints; ++c) {
      if (distance_from_middle(r, c) == 0) height_at(tile, r, c) = 0.0;
    }
  }
}

Tile tile_of(const std::string& kind, double difficulty, double scale, Random random) {
  Tile tile(static_cast<std::size_t>(kPoints) * kPoints, 0.0);
  if (kind == "rough") make_rough(tile, difficulty, scale, random);
  if (kind == "slopes") make_slopes(tile, difficulty);
  if (kind == "steps") make_steps(tile, difficulty, scale, random);
  if (kind == "stairs") make_stairs(tile, difficulty, scale);
  if (kind == "discrete") make_discrete(tile, difficulty, scale, random);
  return tile;
}

constexpr int kPitch = Terrain::kTilePoints + 2 * Terrain::kMarginPoints;  // from tile to tile

}  // namespace

const std::vector<std::string>& Terrain::kinds() {
  static const std::vector<std::string> all = {"flat",  "rough",  "slopes",
                                               "steps", "stairs", "discrete"};
  return all;
}

Terrain::Terrain(const TerrainOptions& options)
    : columns_(static_cast<int>(options.columns.size())),
      levels_(options.levels),
      rows_(levels_ * kPitch + 1),
      row_length_(columns_ * kPitch + 1),
      heights_(static_cast<std::size_t>(rows_) * static_cast<std::size_t>(row_length_)) {
  for (int column = 0; column < columns_; ++column) {
    for (int level = 0; level < levels_; ++level)
      fill(options.columns[static_cast<std::size_t>(column)], column, level, options);
  }
  const auto [low, high] = std::minmax_element(heights_.begin(), heights_.end());
  lowest_ = static_cast<double>(*low);
  highest_ = static_cast<double>(*high);
}

// Fills the points of a tile and its margins. Points on the far edge also belong to the next tile,
// but robots never reach them.
void Terrain::fill(const std::string& kind, int column, int level, const TerrainOptions& options) {
  const auto lane = static_cast<std::uint32_t>(column);
  Tile tile =
      tile_of(kind, static_cast<double>(level) / levels_, options.scale,
              Random(options.seed, Purpose::kTerrain, lane, static_cast<std::uint64_t>(level)));
  for (int r = 0; r <= kPitch; ++r) {
    for (int c = 0; c <= kPitch; ++c) {
      const auto place =
          static_cast<std::size_t>(level * kPitch + r) * static_cast<std::size_t>(row_length_) +
          static_cast<std::size_t>(column * kPitch + c);
      heights_[place] = static_cast<float>(height_at(tile, (r + kPoints - kMarginPoints) % kPoints,
                                                     (c + kPoints - kMarginPoints) % kPoints));
    }
  }
}

double Terrain::tile_x(int column) const { return kSpacing * kPitch * (column + 0.5) - half_x(); }
int Terrain::column(double x) const {
  return static_cast<int>((x + half_x()) / (kSpacing * kPitch));
}
double Terrain::tile_y(int level) const { return kSpacing * kPitch * (level + 0.5) - half_y(); }

double Terrain::height(double x, double y) const {
  const auto cell = [](double along, int points, int& first) {
    const double place = std::clamp(along / kSpacing, 0.0, static_cast<double>(points - 1));
    first = std::min(static_cast<int>(place), points - 2);
    return place - first;
  };
  int r = 0, c = 0;
  const double up = cell(y + half_y(), rows_, r), right = cell(x + half_x(), row_length_, c);
  const float* corner =
      &heights_[static_cast<std::size_t>(r) * static_cast<std::size_t>(row_length_) +
                static_cast<std::size_t>(c)];
  const float* above = corner + row_length_;
  const auto between = [](double a, double b, double share) { return a + (b - a) * share; };
  return between(between(corner[0], corner[1], right), between(above[0], above[1], right), up);
}

double Terrain::wrapped(double x, double middle) {
  return x - kTile * std::floor((x - middle) / kTile + 0.5);
}

}  // namespace broadloom::mujoco
