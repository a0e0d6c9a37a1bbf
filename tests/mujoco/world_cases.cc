// Worlds: constants of the physics set by options and drawn by strata.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "bridges/mujoco/model.h"
#include "bridges/mujoco/physics.h"
#include "broadloom/core/random.h"
#include "broadloom/env/tasks/registry.h"
#include "tests/mujoco/training.h"

namespace broadloom::mujoco {
namespace {

constexpr char kArm[] =
    "<mujoco><worldbody><geom name='floor' type='plane' size='1 1 1' friction='0.5'/>"
    "<body name='a'><joint name='a' type='hinge' armature='0.1' frictionloss='0.2' damping='0.3'/>"
    "<geom type='box' size='.1 .1 .1' mass='4'/>"
    "<body name='b'><joint name='b' type='hinge' armature='0.2' frictionloss='0.4'/>"
    "<geom type='box' size='.1 .1 .1' mass='2'/></body></body></worldbody>"
    "<actuator><position joint='a' kp='30'/><motor joint='b' gear='5'/></actuator></mujoco>";

std::shared_ptr<Model> arm() {
  Result<std::shared_ptr<Model>> model = Model::parse(kArm, "arm");
  EXPECT_TRUE(model.ok()) << model.status().message();
  return model.take();
}

// Applies the constants to a simulation's own model.
void set(const PhysicsFields& fields, const PhysicsConstants& constants, Simulation& simulation,
         std::uint64_t seed = 1) {
  std::vector<double> row(fields.size());
  Random random(seed, Purpose::kUser, 0, 0);
  fields.draw(constants, random, row.data());
  fields.set(row.data(), simulation.model());
}

TEST(MujocoPhysics, DefaultsLeaveTheModelUnchanged) {
  const auto model = arm();
  const Lease simulation = model->lease();
  const PhysicsFields fields(model->get());
  set(fields, {}, *simulation);
  const mjModel &own = simulation->model(), &first = model->get();
  EXPECT_NE(&own, &first);
  for (int b = 0; b < first.nbody; ++b) EXPECT_EQ(own.body_mass[b], first.body_mass[b]);
  for (int d = 0; d < first.nv; ++d) EXPECT_EQ(own.dof_armature[d], first.dof_armature[d]);
  for (int q = 0; q < first.nq; ++q) EXPECT_EQ(own.qpos0[q], first.qpos0[q]);
  EXPECT_EQ(own.geom_friction[0], 0.5);
}

TEST(MujocoPhysics, ScalesAndShiftsEachField) {
  const auto model = arm();
  const Lease simulation = model->lease();
  PhysicsConstants c;
  c.friction_scale = 2.0;
  c.gain_scale = 0.5;
  c.damping_scale = 3.0;
  c.armature_scale = 4.0;
  c.frictionloss_scale = 5.0;
  c.mass_scale = 0.25;
  c.root_mass = 0.5;
  c.root_com_y = 0.125;
  set(PhysicsFields(model->get()), c, *simulation);
  const mjModel& own = simulation->model();
  EXPECT_EQ(own.geom_friction[0], 1.0);
  EXPECT_EQ(own.geom_friction[1], model->get().geom_friction[1]) << "the other frictions stay";
  EXPECT_EQ(own.actuator_gainprm[0], 15.0);
  EXPECT_EQ(own.actuator_biasprm[1], -15.0);
  EXPECT_EQ(own.actuator_gainprm[mjNGAIN], 0.5) << "a motor's";
  EXPECT_EQ(own.dof_damping[0], 3.0 * 0.3);
  EXPECT_EQ(own.dof_armature[1], 4.0 * 0.2);
  EXPECT_EQ(own.dof_frictionloss[1], 5.0 * 0.4);
  EXPECT_EQ(own.body_mass[1], 1.5);
  EXPECT_EQ(own.body_mass[2], 0.5);
  EXPECT_EQ(own.body_ipos[3 + 1], model->get().body_ipos[3 + 1] + 0.125);
}

TEST(MujocoPhysics, DrawsAFactorForEachPart) {
  const auto model = arm();
  const Lease simulation = model->lease();
  const PhysicsFields fields(model->get());
  PhysicsConstants c;
  c.mass_spread = 0.1;
  c.joint_offset = 0.05;
  double least = 2.0, most = 0.0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    set(fields, c, *simulation, seed);
    const double factor = simulation->model().body_mass[1] / 4.0;
    EXPECT_NE(factor, simulation->model().body_mass[2] / 2.0);
    EXPECT_LE(std::fabs(factor - 1.0), 0.1 + 1e-12);
    EXPECT_LE(std::fabs(simulation->model().qpos0[0]), 0.05);
    EXPECT_EQ(simulation->model().dof_armature[0], 0.1) << "its spread is 0";
    least = std::min(least, factor);
    most = std::max(most, factor);
  }
  EXPECT_LT(least, 0.91);
  EXPECT_GT(most, 1.09);
}

// For a massless first body (a frame), only negative masses are refused.
TEST(MujocoPhysics, AcceptsFirstBodiesWithoutMass) {
  Result<std::shared_ptr<Model>> model = Model::parse(
      "<mujoco><worldbody><body name='frame'><body><joint name='a' type='hinge'/>"
      "<geom size='.1'/></body></body></worldbody><actuator><motor joint='a'/></actuator></mujoco>",
      "framed");
  ASSERT_TRUE(model.ok()) << model.status().message();
  const PhysicsFields fields(model.value()->get());
  PhysicsConstants c;
  c.friction_scale = 0.8;
  c.mass_spread = 0.5;
  EXPECT_TRUE(fields.check(c, c).ok()) << fields.check(c, c).message();
  PhysicsConstants less = c;
  less.root_mass = -0.1;
  EXPECT_FALSE(fields.check(less, c).ok());
  PhysicsConstants more = c;
  more.root_mass = 0.1;
  EXPECT_TRUE(fields.check(c, more).ok());
}

const Overrides kWorlds = {{"env.mass_spread", "0.2"},
                           {"strata.heavy.mass_scale", "1.2..1.5"},
                           {"strata.slippery.friction_scale", "0.2..0.4"},
                           {"strata.slippery.gain_scale", "0.8..1.2"},
                           {"strata.slippery.weight", "2"}};

TEST(MujocoWorlds, HaveTheSameBitsForAnyNumberOfThreads) {
  expect_same_bits_on_any_threads(config_of("Hopper-v5", kWorlds));
}

TEST(MujocoWorlds, ContinueFromASavedState) {
  expect_continues_from_saved_state(config_of("Ant-v5", kWorlds));
}

// Worlds that use the same simulation in turn do not affect each other.
TEST(MujocoWorlds, AreIndependent) {
  register_bridges();
  const auto play = [](const std::string& mass, int count) {
    VecEnvOptions options;
    options.num_envs = count;
    options.seed_families = 1;
    const Overrides strata = count == 1
                                 ? Overrides{{"mass_scale", mass}}
                                 : Overrides{{"strata.one.mass_scale", mass}, {"mass_spread", "0"}};
    Result<std::unique_ptr<VecEnv>> envs = make_vec_env("HalfCheetah-v5", strata, options);
    EXPECT_TRUE(envs.ok()) << envs.status().message();
    const auto n = static_cast<std::size_t>(count);
    std::vector<float> actions(6 * n, 0.3f), seen(17 * n), last(17 * n), rewards(n);
    std::vector<std::uint8_t> terminated(n), truncated(n);
    for (int t = 0; t < 20; ++t) {
      EXPECT_TRUE(envs.value()
                      ->step(0, count,
                             {actions.data(), seen.data(), rewards.data(), terminated.data(),
                              truncated.data(), last.data()})
                      .ok());
    }
    seen.resize(17);
    return seen;
  };
  EXPECT_EQ(play("1.5", 1), play("1.5", 3)) << "drawn, and set by an option";
  EXPECT_EQ(play("1", 1), play("1", 2)) << "the model's own";
  EXPECT_NE(play("1", 1), play("1.5", 1));
}

TEST(MujocoWorlds, AreRefusedIfImpossible) {
  register_bridges();
  const auto words = [](const Overrides& options) {
    return make_vec_env("Hopper-v5", options, {}).status().message();
  };
  EXPECT_NE(words({{"root_mass", "-20"}}).find("root_mass: got -20"), std::string::npos)
      << words({{"root_mass", "-20"}});
  EXPECT_NE(words({{"strata.light.root_mass", "-20..0"}}).find("strata.light"), std::string::npos);
  EXPECT_NE(words({{"mass_scale", "-1"}}).find("mass_scale"), std::string::npos);
  EXPECT_NE(words({{"strata.a.mass_scal", "1..2"}}).find("mass_scale"), std::string::npos);
  EXPECT_NE(words({{"strata.a.friction_scale", "-1..2"}}).find("friction_scale"),
            std::string::npos);
}

}  // namespace
}  // namespace broadloom::mujoco
