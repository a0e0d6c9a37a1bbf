// Ground made from a seed: square tiles, a column for each kind of ground and a row for each level
// of difficulty, in one height field.
//
// A tile is endless: who leaves it on one side comes in on the other, and around each lies a margin
// that repeats it, so that feet on the edge stand on the same ground. So nobody ever walks off its
// level, or off the world.
//
// Kinds, with difficulty d = level / levels and heights in m, after Rudin et al. 2021 (legged_gym),
// whose robot stands 0.5 m high; `scale` is times their heights:
//   flat      0
//   rough     uniform within +- 0.1 d, at points 0.2 m apart, straight between them
//   slopes    rises outwards by 0.4 d m a m, down again beyond the edge (not scaled)
//   steps     squares of 0.6 m, each uniform within 0 and 0.05 + 0.18 d
//   stairs    rises outwards by 0.05 + 0.18 d every 0.31 m
//   discrete  forty boxes of 0.5 to 2 m sides, each 0.05 + 0.2 d up or down, or half that
// The middle square of 2 m, where episodes begin, is flat but on rough ground.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace broadloom::mujoco {

struct TerrainOptions {
  std::vector<std::string> columns;  // kinds, at least one
  int levels = 10;                   // >= 1
  double scale = 0.5;
  std::uint64_t seed = 1;
};

class Terrain {
 public:
  static constexpr double kTile = 8.0;      // m, side of a tile
  static constexpr double kMargin = 1.0;    // m, that is repeated around it
  static constexpr double kSpacing = 0.1;   // m, between points
  static constexpr int kTilePoints = 80;    // along a side
  static constexpr int kMarginPoints = 10;  // on either side

  // Names of the kinds.
  static const std::vector<std::string>& kinds();

  // options.columns: kinds.
  explicit Terrain(const TerrainOptions& options);

  int columns() const { return columns_; }
  int levels() const { return levels_; }
  // The grid's points, row-major from the lowest y on, as MuJoCo has them; m.
  int rows() const { return rows_; }
  int row_length() const { return row_length_; }
  std::span<const float> heights() const { return heights_; }
  double lowest() const { return lowest_; }
  double highest() const { return highest_; }
  // Of the whole field from the middle, m.
  double half_x() const { return 0.5 * kSpacing * (row_length_ - 1); }
  double half_y() const { return 0.5 * kSpacing * (rows_ - 1); }

  // Middle of a tile, m.
  double tile_x(int column) const;
  double tile_y(int level) const;
  // The column whose middle is at x.
  int column(double x) const;
  // Of the ground there, m, straight between the points; that of the edge outside the field.
  double height(double x, double y) const;
  // The same place of a tile around `middle`: x, or x moved by whole tiles to within half of one.
  static double wrapped(double x, double middle);

 private:
  void fill(const std::string& kind, int column, int level, const TerrainOptions& options);

  int columns_, levels_, rows_, row_length_;
  std::vector<float> heights_;
  double lowest_ = 0.0, highest_ = 0.0;
};

}  // namespace broadloom::mujoco
