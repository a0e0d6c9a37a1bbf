// Ground generated from a seed.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "bridges/mujoco/quadruped/scene.h"
#include "bridges/mujoco/quadruped/terrain.h"

namespace broadloom::mujoco {
namespace {

TerrainOptions all_kinds(std::uint64_t seed = 1) {
  return {.columns = Terrain::kinds(), .levels = 4, .scale = 1.0, .seed = seed};
}

std::vector<float> heights(const TerrainOptions& options) {
  const Terrain terrain(options);
  return {terrain.heights().begin(), terrain.heights().end()};
}

TEST(QuadrupedTerrain, IsReproducible) {
  EXPECT_EQ(heights(all_kinds()), heights(all_kinds()));
  EXPECT_NE(heights(all_kinds()), heights(all_kinds(2)));
}

// Heights of deterministic kinds by their formulas, 3.05 m from the middle on level 2 of 4.
TEST(QuadrupedTerrain, HasTheDocumentedHeights) {
  const Terrain terrain(all_kinds());
  const auto height_at = [&](int column, double x, double y) {
    return terrain.height(terrain.tile_x(column) + x, terrain.tile_y(2) + y);
  };
  for (int column = 0; column < 6; ++column) {
    if (column == 1) continue;  // rough everywhere
    EXPECT_EQ(height_at(column, 0.0, 0.0), 0.0) << "where episodes begin";
    EXPECT_EQ(height_at(column, 0.9, -0.9), 0.0);
  }
  EXPECT_EQ(height_at(0, 3.0, 1.0), 0.0);
  EXPECT_NEAR(height_at(2, 3.05, 1.0), 0.4 * 0.5 * 2.05, 1e-6) << "slopes";
  EXPECT_NEAR(height_at(2, 0.0, -3.05), 0.4 * 0.5 * 2.05, 1e-6);
  EXPECT_NEAR(height_at(4, 3.0, 0.0), (0.05 + 0.18 * 0.5) * 7.0, 1e-6)
      << "stairs: 2 m out, 0.31 m each";
}

TEST(QuadrupedTerrain, GetsHarderByLevels) {
  for (const std::string& kind : {"rough", "slopes", "steps", "stairs", "discrete"}) {
    double before = -1.0;
    for (const int levels : {8, 4, 2}) {  // level 1 of these
      const Terrain terrain({.columns = {kind}, .levels = levels, .scale = 1.0, .seed = 3});
      double most = 0.0;
      for (double x = -4.0; x < 4.0; x += 0.1) {
        most = std::fmax(most,
                         std::fabs(terrain.height(terrain.tile_x(0) + x, terrain.tile_y(1) + 2.5)));
      }
      EXPECT_GT(most, before) << kind << " of " << levels;
      before = most;
    }
  }
}

TEST(QuadrupedTerrain, IsEndless) {
  const Terrain terrain(all_kinds());
  for (int column = 0; column < terrain.columns(); ++column) {
    for (int level = 0; level < terrain.levels(); ++level) {
      const double x0 = terrain.tile_x(column), y0 = terrain.tile_y(level);
      for (double along = -4.9; along < 4.9; along += 0.37) {
        for (const double out : {4.0, 4.5, 4.9}) {
          const double x = x0 + out, y = y0 + along;
          EXPECT_NEAR(terrain.height(x, y),
                      terrain.height(Terrain::wrapped(x, x0), Terrain::wrapped(y, y0)), 1e-5)
              << column << " " << level << " " << along << " " << out;
        }
      }
    }
  }
  EXPECT_EQ(Terrain::wrapped(3.9, 0.0), 3.9);
  EXPECT_NEAR(Terrain::wrapped(4.1, 0.0), -3.9, 1e-12);
  EXPECT_NEAR(Terrain::wrapped(-14.1, -10.0), -6.1, 1e-12);
}

// A falling ball comes to rest at height().
TEST(QuadrupedTerrain, AgreesWithMujoco) {
  const Terrain terrain({.columns = {"flat", "stairs", "slopes"}, .levels = 3, .seed = 7});
  const Result<std::shared_ptr<Model>> model =
      read_scene("quadruped.xml", &terrain, {"FR", "FL", "RR", "RL"});
  ASSERT_TRUE(model.ok()) << model.status().message();
  const Lease simulation = model.value()->lease();
  const Scene scene = simulation->scene();
  const int foot = model.value()->find(mjOBJ_GEOM, "FR");
  for (const double x : {1.55, 2.25, 3.05}) {
    for (int column = 0; column < 3; ++column) {
      double lowest_touch = -1.0;
      for (double z = 1.5; z > -0.3 && lowest_touch < -0.5; z -= 0.002) {
        simulation->reset();
        scene.data.qpos[0] = terrain.tile_x(column);
        scene.data.qpos[1] = terrain.tile_y(2);
        scene.data.qpos[2] = 2.0;
        simulation->place_bodies();
        // Move the whole robot until the foot's middle is there.
        const double* middle = scene.data.geom_xpos + 3 * foot;
        const double want[3] = {terrain.tile_x(column) + x, terrain.tile_y(2) + 0.05, z};
        for (int i = 0; i < 3; ++i) scene.data.qpos[i] += want[i] - middle[i];
        ASSERT_EQ(simulation->forward(), Health::kFine);
        for (int c = 0; c < scene.data.ncon; ++c) {
          if (scene.data.contact[c].geom[0] == foot || scene.data.contact[c].geom[1] == foot)
            lowest_touch = z;
        }
      }
      const double ground = terrain.height(terrain.tile_x(column) + x, terrain.tile_y(2) + 0.05);
      EXPECT_NEAR(lowest_touch, ground + 0.023, 0.02) << "column " << column << ", " << x << " m";
    }
  }
}

}  // namespace
}  // namespace broadloom::mujoco
