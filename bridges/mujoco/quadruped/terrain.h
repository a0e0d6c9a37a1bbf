// Ground generated from a seed. One height field holds square tiles: a column per kind of ground
// and a row per level of difficulty.
//
// A tile is endless: a robot that leaves it on one side enters it on the other. A margin around
// each tile repeats it, so feet on the edge stand on the same ground. So robots never leave their
// level or the world.
//
// Kinds, with difficulty d = level / levels and heights in m, after Rudin et al. 2021 (legged_gym),
// whose robot stands 0.5 m high; `scale` multiplies their heights:
//   flat      0
//   rough     uniform within +- 0.1 d, at points 0.2 m apart, straight between them
//   slopes    rises outwards by 0.4 d m a m, down again beyond the edge (not scaled)
//   steps     squares of 0.6 m, each uniform within 0 and 0.05 + 0.18 d
//   stairs    rises outwards by 0.05 + 0.18 d every 0.31 m
//   discrete  forty boxes of 0.5 to 2 m sides, each 0.05 + 0.2 d up or down, or half that
// Episodes begin in the middle square of 2 m, which is flat except on rough ground.
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
  static constexpr double kMargin = 1.0;    // m, repeated strip around a tile
  static constexpr double kSpacing = 0.1;   // m, between points
  static constexpr int kTilePoints = 80;    // along a side
  static constexpr int kMarginPoints = 10;  // on either side

  // Names of the kinds.
  static const std::vector<std::string>& kinds();

  // options.columns: names from kinds().
  explicit Terrain(const TerrainOptions& options);

  int columns() const { return columns_; }
  int levels() const { return levels_; }
  // Heights of the grid's points in m, row-major from the lowest y on, as in MuJoCo.
  int rows() const { return rows_; }
  int row_length() const { return row_length_; }
  std::span<const float> heights() const { return heights_; }
  double lowest() const { return lowest_; }
  double highest() const { return highest_; }
  // Half of the field's size, m.
  double half_x() const { return 0.5 * kSpacing * (row_length_ - 1); }
  double half_y() const { return 0.5 * kSpacing * (rows_ - 1); }

  // Middle of a tile, m.
  double tile_x(int column) const;
  double tile_y(int level) const;
  // The column whose middle is at x.
  int column(double x) const;
  // Height of the ground in m, linear between points. Outside the field, that of the edge.
  double height(double x, double y) const;
  // Moves x by whole tiles to within half a tile of `middle`.
  static double wrapped(double x, double middle);

 private:
  void fill(const std::string& kind, int column, int level, const TerrainOptions& options);

  int columns_, levels_, rows_, row_length_;
  std::vector<float> heights_;
  double lowest_ = 0.0, highest_ = 0.0;
};

}  // namespace broadloom::mujoco
