// The quadruped: contract, bits, each reward term against a slow reference, commands, pushes, and
// refusals. (terrain_cases.cc tests the ground.)
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "bridges/mujoco/quadruped/quadruped.h"
#include "bridges/mujoco/quadruped/scene.h"
#include "bridges/mujoco/task_envs.h"
#include "broadloom/core/random.h"
#include "broadloom/env/audit_context.h"
#include "broadloom/env/conformance/conformance.h"
#include "broadloom/env/drawable.h"
#include "broadloom/env/tasks/registry.h"
#include "broadloom/setup/resolve_config.h"
#include "tests/mujoco/training.h"
#include "tests/support/folders.h"
#include "tests/support/release_only.h"
#include "tests/train/folder.h"

namespace broadloom::mujoco {
namespace {

constexpr char kId[] = "Quadruped-v0";
constexpr RobotSizes kSizes = {.joints = 12, .feet = 4};
const Overrides kStill = {
    {"max_command_x", "0"}, {"max_command_y", "0"}, {"max_command_yaw", "0"}, {"noise_level", "0"}};

Result<std::unique_ptr<VecEnv>> made(const Overrides& options, const VecEnvOptions& asked = {}) {
  register_bridges();
  return make_vec_env(kId, options, asked);
}

Overrides both(Overrides a, const Overrides& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// One environment, stepped by the test.
struct Player {
  explicit Player(const Overrides& options, std::uint64_t seed = 1) {
    VecEnvOptions asked;
    asked.seed = seed;
    Result<std::unique_ptr<VecEnv>> made_envs = made(options, asked);
    EXPECT_TRUE(made_envs.ok()) << made_envs.status().message();
    envs = made_envs.take();
    envs->observe_critic(0, 1, for_critic.data());
  }
  void step() {
    StepRows rows{action.data(), seen.data(), &reward, &terminated, &truncated, last.data(), &end};
    rows.critic_observations = for_critic.data();
    rows.final_critic_observations = last_for_critic.data();
    ASSERT_TRUE(envs->step(0, 1, rows).ok());
  }
  bool ended() const { return terminated + truncated != 0; }
  // qpos; qvel is at 19.
  const double* q() const { return dynamic_cast<TaskEnvs&>(*envs).physics(0) + 1; }

  std::unique_ptr<VecEnv> envs;
  std::vector<float> action = std::vector<float>(12, 0.0f);
  std::vector<float> seen = std::vector<float>(48), last = seen;
  std::vector<float> for_critic = std::vector<float>(123), last_for_critic = for_critic;
  float reward = 0.0f;
  std::uint8_t terminated = 0, truncated = 0;
  EpisodeEnd end;
};

TEST(Quadruped, PassesTheConformanceChecks) {
  for (const Overrides& options :
       {Overrides{{"noise_level", "0"}}, Overrides{{"push_speed", "2"}, {"push_wait", "0.1"}},
        Overrides{{"terrain", "rough,stairs"},
                  {"strata.a.terrain_level", "0..9"},
                  {"strata.a.friction_scale", "0.5..1"}}}) {
    ConformanceOptions asked;
    asked.time_limit = 10;
    asked.num_steps = 21;
    asked.noisy_observations = options.front().first != "noise_level";
    const ConformanceReport report = check_vec_env(
        [&](const VecEnvOptions& vec_options) { return made(options, vec_options); }, asked);
    EXPECT_EQ(report.findings(), std::vector<std::string>()) << options.front().first;
  }
}

const Overrides kRandomised = {{"env.terrain", "rough,stairs,discrete"},
                               {"env.mass_spread", "0.1"},
                               {"env.joint_offset", "0.05"},
                               {"curriculum", "easy,hard"},
                               {"max_episode_steps", "12"},
                               {"strata.easy.terrain_level", "0..4"},
                               {"strata.hard.terrain_level", "5..9"},
                               {"strata.hard.friction_scale", "0.5..1.5"},
                               {"strata.hard.push_speed", "0..3"},
                               {"strata.hard.push_wait", "0.05..0.1"},
                               {"strata.hard.max_command_x", "0.5..1.5"}};

TEST(Quadruped, HasTheSameBitsForAnyNumberOfThreads) {
  expect_same_bits_on_any_threads(config_of(kId, kRandomised));
}

TEST(Quadruped, ContinuesFromASavedState) {
  expect_continues_from_saved_state(config_of(kId, kRandomised));
}

// Audits compare the robots' commands and places.
TEST(Quadruped, ReportsItsContext) {
  VecEnvOptions asked;
  asked.num_envs = 40;
  const std::unique_ptr<VecEnv> envs =
      made({{"terrain", "rough,stairs,discrete"}, {"terrain_seed", "6"}}, asked).take();
  ASSERT_EQ(envs->spec().context.size(), 4u);
  EXPECT_EQ(envs->spec().context[0].name, "forward, m/s");
  EXPECT_EQ(envs->spec().context[3].name, "terrain column");
  EXPECT_EQ(envs->spec().context[3].high, 2.0);
  EXPECT_EQ(envs->spec().world_seeds.first, 6u);
  std::vector<float> seen(40 * 48);
  envs->observe(0, 40, seen.data());
  std::vector<int> columns(3);
  for (int n = 0; n < 40; ++n) {
    std::array<double, 4> given{};
    capability<AuditContext>(*envs)->context(n, given);
    for (std::size_t i = 0; i < 3; ++i)
      EXPECT_EQ(static_cast<float>(given[i]), seen[static_cast<std::size_t>(n) * 48 + 45 + i]);
    ++columns.at(static_cast<std::size_t>(given[3]));
  }
  for (const int count : columns) EXPECT_GT(count, 0);
  const std::unique_ptr<VecEnv> plane = made({}).take();
  EXPECT_EQ(plane->spec().context.size(), 3u);
  EXPECT_EQ(plane->spec().world_seeds.count, 0u);
}

TEST(Quadruped, StandsOnCommand) {
  Player player(kStill);
  for (int t = 0; t < 300; ++t) {
    player.step();
    ASSERT_FALSE(player.ended()) << t;
  }
  EXPECT_GT(player.q()[2], 0.2);
  EXPECT_LT(player.q()[2], 0.32);
  // Per second, tracking pays 1 and 0.5 and pose 0.5. A step is 0.02 s. Costs of standing are
  // subtracted.
  EXPECT_GT(player.reward, 0.02f * 0.6f);
  EXPECT_LT(player.reward, 0.02f * 2.0f);
}

TEST(Quadruped, ReportsAFall) {
  Player player(kStill);
  auto& envs = dynamic_cast<TaskEnvs&>(*player.envs);
  std::vector<double> q(player.q(), player.q() + 19), v(18, 0.0);
  q[3] = 0.0;
  q[4] = 1.0;  // on its back
  q[2] = 1.0;
  ASSERT_TRUE(envs.place(0, q.data(), v.data()).ok());
  player.step();
  EXPECT_EQ(player.terminated, 1);
  EXPECT_EQ(envs.spec().end_reasons.at(static_cast<std::size_t>(player.end.reason)), "fell");
  EXPECT_EQ(player.end.success, 0);
  EXPECT_EQ(player.reward, 0.0f) << "never less than nothing";
}

TEST(Quadruped, ShowsTheCriticMoreThanThePolicy) {
  Player player({{"push_speed", "3"}, {"push_wait", "0.04"}, {"push_duration", "0.2"}});
  bool pushed = false, got_command = false;
  for (int t = 0; t < 12; ++t) {
    player.action[3] = static_cast<float>(t) * 0.01f;
    player.step();
    ASSERT_FALSE(player.ended());
    EXPECT_EQ(std::memcmp(player.seen.data(), player.for_critic.data(), 48 * sizeof(float)), 0);
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_LE(std::fabs(player.seen[i] - player.for_critic[48 + 9 + i]), 0.1f) << "speed";
      EXPECT_LE(std::fabs(player.seen[3 + i] - player.for_critic[48 + i]), 0.2f) << "gyro";
      EXPECT_LE(std::fabs(player.seen[6 + i] - player.for_critic[48 + 6 + i]), 0.05f) << "gravity";
    }
    for (std::size_t j = 0; j < 12; ++j) {
      EXPECT_LE(std::fabs(player.seen[9 + j] - player.for_critic[63 + j]), 0.03f + 1e-6f);
      EXPECT_LE(std::fabs(player.seen[21 + j] - player.for_critic[75 + j]), 1.5f + 1e-5f);
    }
    // The action before this one, as upstream.
    EXPECT_EQ(player.seen[33 + 3], t == 0 ? 0.0f : static_cast<float>(t - 1) * 0.01f);
    pushed = pushed || std::fabs(player.for_critic[119]) > 1.0f;
    got_command = got_command || player.for_critic[122] == 1.0f;
    EXPECT_EQ(player.for_critic[121], 0.0f) << "pushes are level";
  }
  EXPECT_TRUE(pushed);
  EXPECT_TRUE(got_command);
}

// Counts changes of each axis of the command in a long episode.
TEST(Quadruped, DrawsCommandsAsPublished) {
  JoystickConstants constants;
  std::vector<double> numbers(Walk::size(kSizes));
  const Walk walk(numbers.data(), kSizes);
  Random start(1, Purpose::kUser, 0, 0);
  begin_commands(constants, 0.02, start, walk);
  int changes = 0, zeros = 0, steps = 400000;
  double most = 0.0;
  for (int t = 0; t < steps; ++t) {
    const double before = walk.command[0], countdown = walk.steps_to_command;
    Random random(1, Purpose::kUser, 1, static_cast<std::uint64_t>(t));
    follow_commands(constants, 0.02, random, walk);
    if (countdown > 1.0) {
      EXPECT_EQ(walk.steps_to_command, countdown - 1.0);
      EXPECT_EQ(walk.command[0], before) << "not before its time";
    }
    if (walk.command[0] != before) ++changes;
    if (walk.command[0] != before && walk.command[0] == 0.0) ++zeros;
    most = std::fmax(most, std::fabs(walk.command[0]));
  }
  // A new command every 5 s on average, with probability 1/2; 400000 steps are 8000 s.
  EXPECT_NEAR(changes, 800, 100);
  EXPECT_NEAR(static_cast<double>(zeros) / changes, 0.1, 0.05);
  EXPECT_GT(most, 1.45);
  EXPECT_LE(most, 1.5);
}

TEST(Quadruped, PushesByHalfSines) {
  JoystickConstants constants;
  constants.push_speed = 3.0;
  constants.push_wait = 0.1;
  constants.push_duration = 0.2;
  std::vector<double> numbers(Walk::size(kSizes));
  const Walk walk(numbers.data(), kSizes);
  std::vector<double> forces;
  for (int t = 0; t < 32; ++t) {
    Random random(1, Purpose::kUser, 2, static_cast<std::uint64_t>(t));
    const auto force = push(constants, 0.02, 10.0, random, walk);
    forces.push_back(std::hypot(force[0], force[1]));
  }
  for (std::size_t t = 0; t < 5; ++t) EXPECT_EQ(forces[t], 0.0) << "waits 0.1 s";
  for (std::size_t k = 0; k <= 10; ++k) {
    const double expected =
        0.5 * std::sin(3.14159265358979 * 0.1 * static_cast<double>(k)) * 10.0 * 3.0 / 0.2;
    EXPECT_NEAR(forces[5 + k], expected, 1e-9) << k;
  }
  for (std::size_t t = 16; t < 21; ++t) EXPECT_EQ(forces[t], 0.0) << "waits again";
  EXPECT_GT(forces[22], 1.0);
}

// ---- reward terms, each written directly from its formula

struct Posture {
  std::vector<double> local_velocity{0.3, -0.2, 0.1}, gyro{0.1, 0.2, 0.4}, velocity{0.5, 0.1, -0.3},
      spin{0.3, -0.4, 0.2}, up{0.1, -0.2, 0.97};
  std::vector<double> joints, speeds, torques, last;
  std::vector<float> action;
  RewardConstants constants;
  std::array<Gait::Foot, 4> feet;
  Gait gait;

  Posture() {
    Random random(5, Purpose::kUser, 3, 0);
    for (std::size_t j = 0; j < 12; ++j) {
      constants.home.push_back(j % 3 == 2 ? -1.8 : 0.5);
      constants.soft_low.push_back(constants.home[j] - 0.2);
      constants.soft_high.push_back(constants.home[j] + 0.2);
      constants.pose_weights.push_back(j % 3 == 2 ? 0.1 : 1.0);
      joints.push_back(constants.home[j] + random.uniform(-0.4, 0.4));
      speeds.push_back(random.uniform(-3, 3));
      torques.push_back(random.uniform(-20, 20));
      last.push_back(random.uniform(-1, 1));
      action.push_back(static_cast<float>(random.uniform(-1, 1)));
    }
    constants.gait_offsets = {0.0, 0.5, 0.5, 0.0};
    gait.command = {0.7, -0.3, 0.9};
    gait.feet = feet;
    gait.local_velocity = local_velocity.data();
    gait.gyro = gyro.data();
    gait.velocity = velocity.data();
    gait.spin = spin.data();
    gait.up = up.data();
    gait.joints = joints.data();
    gait.joint_speeds = speeds.data();
    gait.torques = torques.data();
    gait.action = action.data();
    gait.last_action = last.data();
    gait.clock = 0.25;
    for (std::size_t f = 0; f < 4; ++f) {
      feet[f] = {.height = 0.02 + 0.03 * static_cast<double>(f),
                 .sole = 0.013 * static_cast<double>(f),
                 .speed_x = random.uniform(-1, 1),
                 .speed_y = random.uniform(-1, 1),
                 .air_time = 0.05 * static_cast<double>(f + 1),
                 .peak = 0.04 * static_cast<double>(f + 1),
                 .stands = f % 2 == 0,
                 .lands = f != 1};
    }
  }
  double over_joints(const std::function<double(std::size_t)>& term) const {
    double sum = 0.0;
    for (std::size_t j = 0; j < 12; ++j) sum += term(j);
    return sum;
  }
  double over_feet(const std::function<double(const Gait::Foot&)>& term) const {
    double sum = 0.0;
    for (const Gait::Foot& foot : gait.feet) sum += term(foot);
    return sum;
  }
};

TEST(QuadrupedRewards, FollowTheirFormulas) {
  const Posture p;
  const RewardNumbers r = reward_terms(p.gait, p.constants);
  const auto pow2 = [](double x) { return std::pow(x, 2.0); };
  EXPECT_NEAR(r.tracking_lin_vel, std::exp(-(pow2(0.7 - 0.3) + pow2(-0.3 + 0.2)) / 0.25), 1e-12);
  EXPECT_NEAR(r.tracking_ang_vel, std::exp(-pow2(0.9 - 0.4) / 0.25), 1e-12);
  EXPECT_NEAR(r.lin_vel_z, 0.09, 1e-12);
  EXPECT_NEAR(r.ang_vel_xy, 0.25, 1e-12);
  EXPECT_NEAR(r.orientation, 0.05, 1e-12);
  EXPECT_NEAR(r.dof_pos_limits, p.over_joints([&](std::size_t j) {
    return std::max(std::fabs(p.joints[j] - p.constants.home[j]) - 0.2, 0.0);
  }),
              1e-12);
  EXPECT_NEAR(r.pose, std::exp(-p.over_joints([&](std::size_t j) {
                return (j % 3 == 2 ? 0.1 : 1.0) * pow2(p.joints[j] - p.constants.home[j]);
              })),
              1e-12);
  EXPECT_EQ(r.termination, 0.0);
  EXPECT_EQ(r.stand_still, 0.0) << "told to walk";
  EXPECT_NEAR(r.torques,
              std::sqrt(p.over_joints([&](std::size_t j) { return pow2(p.torques[j]); })) +
                  p.over_joints([&](std::size_t j) { return std::fabs(p.torques[j]); }),
              1e-9);
  EXPECT_NEAR(r.action_rate, p.over_joints([&](std::size_t j) {
    return pow2(static_cast<double>(p.action[j]) - p.last[j]);
  }),
              1e-9);
  EXPECT_NEAR(r.energy,
              p.over_joints([&](std::size_t j) { return std::fabs(p.speeds[j] * p.torques[j]); }),
              1e-9);
  EXPECT_NEAR(r.feet_clearance, p.over_feet([&](const Gait::Foot& f) {
    return std::fabs(f.height - 0.1) * std::pow(pow2(f.speed_x) + pow2(f.speed_y), 0.25);
  }),
              1e-12);
  EXPECT_NEAR(r.feet_height, p.over_feet([&](const Gait::Foot& f) {
    return f.lands ? pow2(f.peak / 0.1 - 1.0) : 0.0;
  }),
              1e-12);
  EXPECT_NEAR(r.feet_slip, p.over_feet([&](const Gait::Foot& f) {
    return f.stands ? pow2(f.speed_x) + pow2(f.speed_y) : 0.0;
  }),
              1e-12);
  // Halfway through the first pair's swing: that pair should be 6 cm high, the other stand.
  EXPECT_NEAR(r.gait, p.over_feet([&](const Gait::Foot& f) {
    const std::size_t foot = static_cast<std::size_t>(&f - p.gait.feet.data());
    if (foot == 1 || foot == 2)
      return f.stands ? std::exp(-(pow2(f.speed_x) + pow2(f.speed_y)) / 0.05) / 4.0 : 0.0;
    const double low = std::max(0.06 - f.sole, 0.0);
    return f.stands ? 0.0 : std::exp(-pow2(low / 0.035)) / 4.0;
  }),
              1e-12);
  EXPECT_NEAR(r.feet_air_time,
              p.over_feet([&](const Gait::Foot& f) { return f.lands ? f.air_time - 0.1 : 0.0; }),
              1e-12);
}

TEST(QuadrupedRewards, IncludeStandingAndFalling) {
  Posture p;
  p.gait.command = {0.001, -0.002, 0.003};
  p.gait.fell = true;
  const RewardNumbers r = reward_terms(p.gait, p.constants);
  EXPECT_NEAR(r.stand_still, p.over_joints([&](std::size_t j) {
    return std::fabs(p.joints[j] - p.constants.home[j]);
  }),
              1e-12);
  EXPECT_EQ(r.termination, 1.0);
  EXPECT_EQ(r.feet_slip + r.feet_height + r.feet_air_time, 0.0);
  EXPECT_NEAR(r.gait, p.over_feet([&](const Gait::Foot& f) {
    return f.stands ? std::exp(-(std::pow(f.speed_x, 2.0) + std::pow(f.speed_y, 2.0)) / 0.05) / 4.0
                    : 0.0;
  }),
              1e-12);
}

// Over a stride each foot should stand for as long as it swings, and diagonal pairs take turns.
TEST(QuadrupedRewards, PayForATrot) {
  Posture p;
  const auto paid = [&](double clock, bool right_front_stands) {
    p.gait.clock = clock;
    for (std::size_t f = 0; f < 4; ++f) {
      const bool stands = (f == 0 || f == 3) == right_front_stands;
      p.feet[f] = {.height = 0.1, .sole = 0.08, .stands = stands};
    }
    return reward_terms(p.gait, p.constants).gait;
  };
  EXPECT_NEAR(paid(0.25, false), 1.0, 1e-12);
  EXPECT_NEAR(paid(0.25, true), 0.0, 1e-12);
  EXPECT_NEAR(paid(0.75, true), 1.0, 1e-12);
  EXPECT_NEAR(paid(0.75, false), 0.0, 1e-12);
  EXPECT_NEAR(paid(0.0, true), 0.5, 1e-12) << "in between, neither is asked for";
}

TEST(QuadrupedRewards, HaveNamesAndWeights) {
  const std::vector<RewardTerm> terms = named_terms(published_weights());
  ASSERT_EQ(terms.size(), 17u);
  EXPECT_EQ(terms[0].name, "tracking_lin_vel");
  EXPECT_EQ(terms[4].name, "orientation");
  EXPECT_EQ(terms[4].weight, -5.0);
  EXPECT_EQ(terms[15].name, "feet_air_time");
  EXPECT_EQ(terms[16].name, "gait");
  EXPECT_EQ(terms[16].weight, 0.0);
  RewardNumbers ones;
  ones.orientation = 2.0;
  ones.feet_air_time = 3.0;
  const auto paid = weighted(published_weights(), ones);
  EXPECT_NEAR(std::accumulate(paid.begin(), paid.end(), 0.0), -9.7, 1e-12);
  const Result<EnvSpec> spec = env_spec(kId, {{"orientation", "-2.5"}});
  ASSERT_TRUE(spec.ok()) << spec.status().message();
  EXPECT_EQ(spec.value().reward_terms[4].weight, -2.5);
}

// State of feet between steps: a swing's time and peak, and its end.
TEST(Quadruped, SeparatesSwingsFromStances) {
  Player player(kStill);
  int landed = 0;
  double air = 0.0;
  for (int t = 0; t < 40; ++t) {
    player.step();
    ASSERT_FALSE(player.ended());
    const float now = player.for_critic[115], touched = player.for_critic[99];
    EXPECT_TRUE(std::fabs(now - air - 0.02) < 1e-5 || std::fabs(now - 0.02f) < 1e-6) << t;
    if (std::fabs(now - 0.02f) < 1e-6 && t > 0) {
      EXPECT_EQ(touched, 1.0f) << "its swing ended on the ground";
      ++landed;
    }
    air = static_cast<double>(now);
  }
  EXPECT_GT(landed, 20) << "it stands";
}

TEST(Quadruped, SumsItsRewardTerms) {
  register_bridges();
  VecEnvOptions options;
  options.num_envs = 4;
  options.max_episode_steps = 60;
  const Result<std::unique_ptr<VecEnv>> envs = make_vec_env("Quadruped-v0", {}, options);
  ASSERT_TRUE(envs.ok()) << envs.status().message();
  expect_terms_add_up(*envs.value(), 120, [](double sum) { return std::max(sum, 0.0); });
}

// From the side, with a section of the ground if it is not a plane.
TEST(Quadruped, DrawsItselfAndItsGround) {
  const auto lines = [](const Overrides& options) {
    const Player player(options);
    Drawing drawing;
    capability<Drawable>(*player.envs)->draw(0, nullptr, drawing);
    EXPECT_GT(drawing.shapes.size(), 20u);
    std::size_t longest = 0;
    for (const Shape& shape : drawing.shapes) {
      if (shape.kind == Shape::Kind::kLine) longest = std::max(longest, shape.numbers.size());
    }
    return longest;
  };
  EXPECT_EQ(lines({}), 5u) << "a width and two points";
  EXPECT_GT(lines({{"terrain", "stairs"}, {"terrain_level", "5"}}), 45u) << "a point each 0.1 m";
}

// Each option of the physics reaches MuJoCo, and records name another model.
TEST(Quadruped, SetsThePhysics) {
  const auto read = [](const PhysicsSettings& physics) {
    return read_scene("quadruped.xml", nullptr, {"FR", "FL", "RR", "RL"}, physics).take();
  };
  const std::shared_ptr<Model> usual = read({});
  EXPECT_EQ(usual->get().opt.timestep, 0.004);
  EXPECT_EQ(usual->get().opt.integrator, mjINT_EULER);
  EXPECT_EQ(usual->get().opt.cone, mjCONE_PYRAMIDAL);
  EXPECT_EQ(usual->get().opt.solver, mjSOL_NEWTON);
  EXPECT_EQ(usual->get().opt.iterations, 1);
  EXPECT_EQ(usual->get().opt.ls_iterations, 5);
  const std::shared_ptr<Model> other = read({.timestep = 0.002,
                                             .integrator = "implicitfast",
                                             .cone = "elliptic",
                                             .solver = "CG",
                                             .iterations = 7,
                                             .ls_iterations = 9});
  EXPECT_EQ(other->get().opt.timestep, 0.002);
  EXPECT_EQ(other->get().opt.integrator, mjINT_IMPLICITFAST);
  EXPECT_EQ(other->get().opt.cone, mjCONE_ELLIPTIC);
  EXPECT_EQ(other->get().opt.solver, mjSOL_CG);
  EXPECT_EQ(other->get().opt.iterations, 7);
  EXPECT_EQ(other->get().opt.ls_iterations, 9);
  EXPECT_NE(other->text_hash(), usual->text_hash());
  EXPECT_EQ(made({}).value()->spec().engine, made({{"iterations", "1"}}).value()->spec().engine);
  EXPECT_NE(made({}).value()->spec().engine, made({{"cone", "elliptic"}}).value()->spec().engine);
}

// A gait adds sine and cosine of its clock to both observations, and hides them while it stands.
TEST(Quadruped, ShowsTheClockOfItsGait) {
  const auto play = [](const Overrides& more) {
    VecEnvOptions asked;
    asked.num_envs = 1;
    std::unique_ptr<VecEnv> envs =
        made(both({{"gait_hz", "2"}, {"gait", "1"}}, more), asked).take();
    EXPECT_EQ(envs->spec().observation_size(), 50);
    EXPECT_EQ(envs->spec().critic_observation.size, 125);
    std::vector<float> seen(50), last(50), critic(125), action(12);
    std::vector<std::array<float, 2>> clocks;
    for (int t = 0; t < 30; ++t) {
      float reward = 0.0f;
      std::uint8_t terminated = 0, truncated = 0;
      StepRows rows{action.data(), seen.data(), &reward, &terminated, &truncated, last.data()};
      rows.critic_observations = rows.final_critic_observations = critic.data();
      EXPECT_TRUE(envs->step(0, 1, rows).ok());
      EXPECT_EQ(std::memcmp(seen.data(), critic.data(), 50 * sizeof(float)), 0);
      clocks.push_back({seen[48], seen[49]});
    }
    return clocks;
  };
  const auto walking = play({{"keep_command_x", "1"}});
  for (std::size_t t = 0; t + 25 < walking.size(); ++t) {
    EXPECT_NEAR(std::hypot(walking[t][0], walking[t][1]), 1.0, 1e-6);
    EXPECT_NEAR(walking[t][0], walking[t + 25][0], 1e-5) << "half a second is a stride";
    // 0.04 of a stride later
    EXPECT_NEAR(walking[t][0] * walking[t + 1][0] + walking[t][1] * walking[t + 1][1],
                std::cos(2.0 * 3.14159265358979 * 0.04), 1e-5);
  }
  for (const auto& clock : play(kStill)) EXPECT_EQ(clock, (std::array<float, 2>{}));
}

const Overrides kTrot = {{"env.gait_hz", "2"},
                         {"env.gait", "1"},
                         {"env.timestep", "0.005"},
                         {"env.frame_skip", "4"},
                         {"env.iterations", "2"}};

TEST(Quadruped, HasTheSameBitsWithAGait) { expect_same_bits_on_any_threads(config_of(kId, kTrot)); }

TEST(Quadruped, ContinuesAGaitFromASavedState) {
  expect_continues_from_saved_state(config_of(kId, kTrot));
}

class QuadrupedInFolder : public InFolder {};

TEST_F(QuadrupedInFolder, ReadsOtherRobotsFromFiles) {
  std::ifstream built_in(source_folder() + "/bridges/mujoco/quadruped/quadruped.xml");
  const std::string text{std::istreambuf_iterator<char>(built_in), {}};
  std::ofstream(at("long.xml")) << text;
  Result<std::unique_ptr<VecEnv>> own = made({{"xml_file", at("long.xml")}});
  ASSERT_TRUE(own.ok()) << own.status().message();
  EXPECT_NE(own.value()->spec().engine.find("long.xml"), std::string::npos);
  std::ofstream(at("stand.xml"))
      << "<mujoco><worldbody><body><joint type='slide'/><geom size='.1'/>"
         "<site name='imu'/></body></worldbody></mujoco>";
  EXPECT_FALSE(made({{"xml_file", at("stand.xml")}}).ok());
}

// A robot of other numbers of legs and joints: the front half of the quadruped.
class OtherRobot : public QuadrupedInFolder {
 protected:
  OtherRobot() {
    std::ifstream built_in(source_folder() + "/bridges/mujoco/quadruped/quadruped.xml");
    std::string text{std::istreambuf_iterator<char>(built_in), {}};
    const auto cut = [&](const std::string& first, const std::string& behind) {
      const std::size_t begin = text.find(first), end = text.find(behind, begin);
      EXPECT_NE(end, std::string::npos) << first;
      text.erase(begin, end - begin);
    };
    cut("<body name=\"RR_hip\"", "</body>\n  </worldbody>");
    cut("<position name=\"RR_hip\"", "</actuator>");
    cut("<keyframe>", "</mujoco>");
    text.insert(text.find("</mujoco>"),
                "<keyframe><key name='home' qpos='0 0 .278 1 0 0 0 .1 .9 -1.8 -.1 .9 -1.8'/>"
                "</keyframe>");
    std::ofstream(at("two.xml")) << text;
  }
  Overrides options(const Overrides& more) const {
    return both({{"xml_file", at("two.xml")}, {"feet", "FR,FL"}}, more);
  }
};

TEST_F(OtherRobot, HasSizesOfItsOwn) {
  const EnvSpec spec = made(options({})).value()->spec();
  EXPECT_EQ(spec.action.size, 6);
  EXPECT_EQ(spec.observation_size(), 12 + 3 * 6);
  EXPECT_EQ(spec.critic_observation.size, 30 + 15 + 3 * 6 + 5 * 2 + 4);
  EXPECT_FALSE(spec.mirror.exists());
  const Overrides gait = {{"gait_hz", "2"}, {"gait", "1"}, {"gait_offsets", "0,0.5"}};
  EXPECT_EQ(made(options(gait)).value()->spec().observation_size(), 32);
  const ConformanceReport report =
      check_vec_env([&](const VecEnvOptions& asked) { return made(options(gait), asked); });
  EXPECT_EQ(report.findings(), std::vector<std::string>{});
}

// The trunk is let fall on its nose: by height and by tilt, and later by neither.
TEST_F(OtherRobot, FallsAsTheOptionsSay) {
  const auto steps_to_fall = [&](const Overrides& more) {
    const std::unique_ptr<VecEnv> envs = made(options(both(kStill, more))).take();
    std::vector<float> action(6), seen(30), last(30), critic(77);
    for (int t = 1; t <= 100; ++t) {
      float reward = 0.0f;
      std::uint8_t terminated = 0, truncated = 0;
      StepRows rows{action.data(), seen.data(), &reward, &terminated, &truncated, last.data()};
      rows.critic_observations = rows.final_critic_observations = critic.data();
      EXPECT_TRUE(envs->step(0, 1, rows).ok());
      if (terminated != 0) return t;
    }
    return 1000;
  };
  const int leaning = steps_to_fall({{"fall_tilt", "20"}});
  EXPECT_GT(leaning, 1);
  EXPECT_LT(leaning, steps_to_fall({{"fall_tilt", "60"}}));
  EXPECT_LT(steps_to_fall({{"fall_tilt", "180"}, {"fall_height", "0.15"}}),
            steps_to_fall({{"fall_tilt", "180"}}));
}

// The Go1's IMU sits to the right of the middle. With one in the middle, left and right mirror each
// other in play.
TEST_F(QuadrupedInFolder, HasAMirrorIfItsImuIsInTheMiddle) {
  RELEASE_ONLY("four whole checks: those of other robots and mirrors run the same code");
  EXPECT_FALSE(made({}).value()->spec().mirror.exists());
  std::ifstream built_in(source_folder() + "/bridges/mujoco/quadruped/quadruped.xml");
  std::string text{std::istreambuf_iterator<char>(built_in), {}};
  const std::string right = "-0.01592 -0.06659 -0.00617";
  const std::size_t imu = text.find(right);
  ASSERT_NE(imu, std::string::npos);
  text.replace(imu, right.size(), "-0.01592 0 -0.00617");
  std::ofstream(at("middle.xml")) << text;
  const Overrides options = {{"xml_file", at("middle.xml")}};
  const Mirror mirror = made(options).value()->spec().mirror;
  EXPECT_EQ(mirror.observation.size(), 48u);
  EXPECT_EQ(mirror.critic_observation.size(), 123u);
  EXPECT_EQ(mirror.action.text(), "-3 +4 +5 -0 +1 +2 -9 +10 +11 -6 +7 +8");
  const auto findings = [&](const Overrides& more) {
    return check_vec_env(
               [&](const VecEnvOptions& asked) { return made(both(options, more), asked); })
        .findings();
  };
  EXPECT_EQ(findings({}), std::vector<std::string>{});
  const Overrides trot = {{"gait_hz", "2"}, {"gait", "1"}};
  EXPECT_EQ(findings(trot), std::vector<std::string>{});
  // Feet in another order than the joints, with the same trot.
  const Overrides order = {{"feet", "RL,FR,RR,FL"}, {"gait_offsets", "0,0,0.5,0.5"}};
  EXPECT_TRUE(made(both(options, both(order, trot))).value()->spec().mirror.exists());
  EXPECT_EQ(findings(both(order, trot)), std::vector<std::string>{});
  // The same with each abduction's sign forgotten.
  std::string seen = mirror.observation.text();
  std::replace(seen.begin() + static_cast<std::ptrdiff_t>(seen.find("-12")),
               seen.begin() + static_cast<std::ptrdiff_t>(seen.find("-42")), '-', '+');
  const std::vector<std::string> wrong =
      findings({{"mirror_obs", seen},
                {"mirror_action", mirror.action.text()},
                {"mirror_critic", mirror.critic_observation.text()}});
  ASSERT_FALSE(wrong.empty());
  EXPECT_NE(wrong.front().find("the policy's observation"), std::string::npos) << wrong.front();
}

// The mirror of a gait's clock, and weights that differ between left and right.
TEST_F(QuadrupedInFolder, HasAMirrorIfItsGaitHasOne) {
  std::ifstream built_in(source_folder() + "/bridges/mujoco/quadruped/quadruped.xml");
  std::string text{std::istreambuf_iterator<char>(built_in), {}};
  const std::string right = "-0.01592 -0.06659 -0.00617";
  text.replace(text.find(right), right.size(), "-0.01592 0 -0.00617");
  std::ofstream(at("middle.xml")) << text;
  const auto mirror = [&](const Overrides& more) {
    const Overrides options = {{"xml_file", at("middle.xml")}, {"gait_hz", "2"}, {"gait", "1"}};
    return made(both(options, more)).value()->spec().mirror;
  };
  const auto clock = [](const Mirror& one) {
    const std::string seen = one.observation.text();
    return seen.substr(seen.size() - 7);
  };
  EXPECT_EQ(clock(mirror({})), "-48 -49") << "a trot";
  EXPECT_EQ(clock(mirror({{"gait_offsets", "0,0.5,0,-0.5"}})), "-48 -49") << "a pace";
  EXPECT_EQ(clock(mirror({{"gait_offsets", "0,0,0.5,0.5"}})), "+48 +49") << "a bound";
  EXPECT_FALSE(mirror({{"gait_offsets", "0,0.25,0.5,0.75"}}).exists());
  const std::string sides = "FR,RR,FL,RL";
  EXPECT_EQ(clock(mirror({{"feet", sides}, {"gait_offsets", "0,0,0.5,0.5"}})), "-48 -49")
      << "a pace";
  EXPECT_EQ(clock(mirror({{"feet", sides}, {"gait_offsets", "0,0.5,0,0.5"}})), "+48 +49")
      << "a bound";
  EXPECT_FALSE(mirror({{"pose_weights", "1,1,1,2,1,1"}}).exists());
  EXPECT_TRUE(mirror({{"pose_weights", "1,2,3,1,2,3,4,5,6,4,5,6"}}).exists());
}

// Against the lowest of many points on each shape.
TEST(Quadruped, KnowsHowFarFeetReachDown) {
  const double size[3] = {0.03, 0.05, 0.02};
  const double up[3] = {0.6, -0.48, 0.64};
  double most[5] = {};
  for (int i = 0; i < 200; ++i) {
    for (int j = 0; j <= 200; ++j) {
      const double turn = 2.0 * kPi * i / 200.0, lean = kPi * j / 200.0, share = j / 200.0;
      const double ball[3] = {std::sin(lean) * std::cos(turn), std::sin(lean) * std::sin(turn),
                              std::cos(lean)};
      const auto height = [&](double x, double y, double z) {
        return up[0] * x + up[1] * y + up[2] * z;
      };
      const double end = ball[2] < 0.0 ? -size[1] : size[1];
      const double depths[5] = {
          -height(size[0] * ball[0], size[0] * ball[1], size[0] * ball[2]),
          -height(size[0] * ball[0], size[0] * ball[1], size[0] * ball[2] + end),
          -height(size[0] * ball[0], size[1] * ball[1], size[2] * ball[2]),
          -height(size[0] * std::cos(turn), size[0] * std::sin(turn), size[1] * (2 * share - 1)),
          -height(i % 2 == 0 ? size[0] : -size[0], i % 4 < 2 ? size[1] : -size[1],
                  size[2] * (2 * share - 1))};
      for (std::size_t k = 0; k < 5; ++k) most[k] = std::max(most[k], depths[k]);
    }
  }
  const int types[5] = {mjGEOM_SPHERE, mjGEOM_CAPSULE, mjGEOM_ELLIPSOID, mjGEOM_CYLINDER,
                        mjGEOM_BOX};
  for (std::size_t k = 0; k < 5; ++k) {
    EXPECT_NEAR(reach_below(types[k], size, up), most[k], 2e-5) << k;
    EXPECT_GE(reach_below(types[k], size, up), most[k] - 1e-12) << k;
  }
}

TEST(Quadruped, RefusesInvalidOptions) {
  const auto says = [](const Overrides& options, const std::string& words) {
    const Status status = made(options).status();
    EXPECT_NE(status.message().find(words), std::string::npos) << status.message();
  };
  says({{"orientation", "5"}}, "orientation");             // a positive cost
  says({{"tracking_lin_vel", "-1"}}, "tracking_lin_vel");  // a negative reward
  says({{"terrain", "lava"}}, "lava");
  says({{"terrain", "flat,stairs"}, {"terrain_level", "10"}}, "terrain_level: got 10");
  says({{"terrain", "flat,stairs"}, {"terrain_column", "2"}}, "terrain_column: got 2");
  says({{"terrain", "flat,stairs"}, {"strata.a.terrain_level", "0..10"}},
       "strata.a: terrain_level: got 10");
  says({{"feet", "a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q"}}, "feet: got 17 names, expected 1 to 16");
  says({{"feet", "FR,FL"}, {"gait_hz", "2"}, {"gait", "1"}},
       "gait_offsets: got 4 numbers for 2 feet");
  says({{"pose_weights", "1,1,1,1,1"}}, "pose_weights: got 5 numbers for 12 joints");
  says({{"pose_weights", "1,knee"}}, "pose_weights: got '1,knee', expected numbers");
  says({{"fall_tilt", "0"}}, "fall_tilt");
  says({{"fall_height", "0.3"}}, "fall_height: got 0.3, but the IMU is 0.2718 m high");
  says({{"pose_weights", "-1"}}, "pose_weights: got -1, expected 0 to 1e6");
  says({{"gait_offsets", "0,1e17,0,0"}}, "gait_offsets: got 1e+17, expected strides from -1 to 1");
  says({{"feet", "FR,FL,RR,FR"}}, "feet: got 'FR' twice");
  says({{"feet", "FR,FL,RR,hand"}}, "feet: quadruped.xml lacks a geom or a site 'hand'");
  says({{"feet", "FR,FL,RR,hand"}}, "hand");
  says({{"xml_file", "dog.xml"}}, "quadruped.xml");
  says({{"xml_file", "./nowhere.xml"}}, "cannot be opened");
  says({{"strata.a.terrain", "0..1"}}, "terrain");
  says({{"push_speed", "-1"}}, "push_speed");
  says({{"gait", "1"}}, "gait: got a weight of 1 without a clock");
  says({{"gait_hz", "-1"}}, "gait_hz");
  // 1 / (0.005 s x 10) = 20 actions a second: at 10 Hz, the clock would show two places in turn.
  const Overrides slow = {{"timestep", "0.005"}, {"frame_skip", "10"}};
  says(both(slow, {{"gait_hz", "10"}}), "gait_hz: got 10 with 20 actions a second");
  EXPECT_TRUE(made(both(slow, {{"gait_hz", "9.5"}})).ok());
  says({{"timestep", "0"}}, "timestep");
  says({{"integrator", "RK4"}}, "integrator");
  says({{"cone", "round"}}, "cone");
  says({{"solver", "newton"}}, "solver");
  says({{"iterations", "0"}}, "iterations");
  says({{"ls_iterations", "0"}}, "ls_iterations");
}

// Options that another option's value leaves without effect.
TEST(Quadruped, RefusesOptionsThatDoNothing) {
  const auto refusal = [](Overrides keys) {
    register_bridges();
    keys.emplace_back("env_id", kId);
    return resolve_config(keys).status().message();
  };
  const auto says = [&](const Overrides& keys, const std::string& words) {
    EXPECT_NE(refusal(keys).find(words), std::string::npos) << refusal(keys);
  };
  says({{"env.gait_height", "0.1"}}, "it needs env.gait above 0");
  says({{"env.gait_height", "0.1"}, {"env.gait_hz", "2"}}, "it needs env.gait above 0");
  EXPECT_EQ(refusal({{"env.gait_height", "0.1"}, {"env.gait_hz", "2"}, {"env.gait", "1"}}), "");
  says({{"env.push_wait", "1"}}, "it needs env.push_speed above 0");
  says({{"env.push_duration", "1"}}, "it needs env.push_speed above 0");
  EXPECT_EQ(refusal({{"env.push_wait", "1"}, {"strata.a.push_speed", "0..1"}}), "");
  EXPECT_EQ(refusal({{"strata.a.push_wait", "1..3"}, {"strata.a.push_speed", "0..1"}}), "");
  EXPECT_EQ(refusal({{"strata.a.push_wait", "1..3"}, {"env.push_speed", "1"}}), "");
  EXPECT_EQ(refusal({{"strata.a.push_wait", "1..3"}}),
            "strata.a.push_wait: got 1..3, but it does nothing while env.push_speed = 0; it needs "
            "env.push_speed above 0. Set that, or leave strata.a.push_wait out");
  // Episodes of stratum a do not have the constants of stratum b.
  const Overrides other = {{"strata.a.push_duration", "1..3"}, {"strata.b.push_speed", "1"}};
  says(other, "strata.a.push_duration: got 1..3, but it does nothing while env.push_speed = 0");
  says({{"strata.a.push_wait", "1..3"},
        {"strata.a.push_speed", "0"},
        {"strata.b.max_command_x", "1"},
        {"env.push_speed", "1"}},
       "it does nothing while strata.a.push_speed = 0; it needs strata.a.push_speed above 0");
  says({{"env.push_wait", "1"}, {"strata.a.push_speed", "0"}, {"strata.b.push_speed", "0"}},
       "env.push_wait: got 1, but it does nothing while strata.a.push_speed = 0");
  for (const char* key : {"env.terrain_levels", "env.terrain_scale", "env.terrain_seed"}) {
    says({{key, "3"}}, "it does nothing while env.terrain = flat; it needs env.terrain other than");
    says({{key, "3"}, {"env.terrain", "flat"}}, "it does nothing while env.terrain = flat");
    EXPECT_EQ(refusal({{key, "3"}, {"env.terrain", "stairs"}}), "");
    EXPECT_EQ(refusal({{key, "3"}, {"env.terrain", "flat,stairs"}}), "");
  }
  says({{"env.noise_gyro", "1"}, {"env.noise_level", "0"}}, "it needs env.noise_level above 0");
  says({{"env.tracking_sigma", "1"}, {"env.tracking_lin_vel", "0"}, {"env.tracking_ang_vel", "0"}},
       "it needs env.tracking_lin_vel or env.tracking_ang_vel above 0");
  says({{"env.soft_joint_limit", "0.5"}, {"env.dof_pos_limits", "0"}},
       "it needs env.dof_pos_limits below 0");
  EXPECT_EQ(refusal({{"env.soft_joint_limit", "0.5"}}), "");
  EXPECT_EQ(refusal({{"env.gait_offsets", "[0.0, 0.50, 0.5, 0.0]"}}), "") << "the default";
  EXPECT_EQ(refusal({{"env.gait_offsets", "0.0,0.5,0.5,0"}}), "");
  says({{"env.gait_offsets", "0,0.5,0.5,0.5"}}, "it needs env.gait above 0");
  says({{"env.max_foot_height", "0.2"}, {"env.feet_clearance", "0"}, {"env.feet_height", "0"}},
       "it needs env.feet_clearance or env.feet_height below 0");
  EXPECT_EQ(refusal({{"env.max_foot_height", "0.2"}, {"env.feet_clearance", "0"}}), "");
}

}  // namespace
}  // namespace broadloom::mujoco
