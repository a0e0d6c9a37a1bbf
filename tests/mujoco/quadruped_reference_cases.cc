// Compares the quadruped's steps with a plain second implementation. It uses only positions and
// speeds, no sensors, and detects swings and contacts itself.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "bridges/mujoco/quadruped/quadruped.h"
#include "bridges/mujoco/quadruped/scene.h"
#include "bridges/mujoco/task_envs.h"
#include "broadloom/core/random.h"
#include "broadloom/env/tasks/registry.h"
#include "tests/mujoco/training.h"

namespace broadloom::mujoco {
namespace {

using Vector = std::array<double, 3>;
constexpr double kDt = 0.02;
const std::vector<std::string> kFeetNames = {"FR", "FL", "RR", "RL"};

// Columns of a quaternion's rotation matrix.
std::array<Vector, 3> axes(const double* q) {
  const double w = q[0], x = q[1], y = q[2], z = q[3];
  return {{{1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y)},
           {2 * (x * y - w * z), 1 - 2 * (x * x + z * z), 2 * (y * z + w * x)},
           {2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)}}};
}
Vector cross(const Vector& a, const Vector& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}
Vector to_world(const std::array<Vector, 3>& r, const Vector& v) {
  Vector out{};
  for (std::size_t i = 0; i < 3; ++i) out[i] = r[0][i] * v[0] + r[1][i] * v[1] + r[2][i] * v[2];
  return out;
}
double dot(const Vector& a, const Vector& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

struct Reference {
  std::shared_ptr<Model> model = read_scene("quadruped.xml", nullptr, kFeetNames).take();
  std::array<double, 12> last{}, before_last{};
  std::array<double, 4> air{}, peak{};
  std::array<bool, 4> touched{};

  // Positions of the feet after moving the robot for `time` at these speeds.
  std::array<Vector, 4> feet_after(Simulation& simulation, const std::vector<double>& q,
                                   const std::vector<double>& v, double time) const {
    double* qpos = simulation.scene().data.qpos;
    const auto r = axes(&q[3]);
    const Vector spin = to_world(r, {v[3], v[4], v[5]});
    for (std::size_t i = 0; i < 3; ++i) qpos[i] = q[i] + time * v[i];
    const double h[4] = {0, 0.5 * time * spin[0], 0.5 * time * spin[1], 0.5 * time * spin[2]};
    qpos[3] = q[3] - h[1] * q[4] - h[2] * q[5] - h[3] * q[6];
    qpos[4] = q[4] + h[1] * q[3] + h[2] * q[6] - h[3] * q[5];
    qpos[5] = q[5] - h[1] * q[6] + h[2] * q[3] + h[3] * q[4];
    qpos[6] = q[6] + h[1] * q[5] - h[2] * q[4] + h[3] * q[3];
    for (std::size_t j = 0; j < 12; ++j) qpos[7 + j] = q[7 + j] + time * v[6 + j];
    simulation.place_bodies();
    std::array<Vector, 4> out;
    for (std::size_t f = 0; f < 4; ++f) {
      const double* position =
          simulation.scene().data.site_xpos + 3 * model->find(mjOBJ_SITE, kFeetNames[f]);
      out[f] = {position[0], position[1], position[2]};
    }
    return out;
  }

  // The reward of a step from this state (mjSTATE_INTEGRATION).
  double reward(const double* state, const std::vector<float>& action, const Vector& command) {
    const Lease simulation = model->lease();
    simulation->load(state);
    mjData& d = simulation->scene().data;
    const mjModel& m = model->get();
    const double* home = m.key_qpos + 7;
    for (int j = 0; j < 12; ++j) d.ctrl[j] = home[j] + 0.5 * static_cast<double>(action[j]);
    EXPECT_EQ(simulation->step(4), Health::kFine);
    // MuJoCo's sensors describe the state before its last step.
    const std::vector<double> q(d.qpos, d.qpos + 19), v(d.qvel, d.qvel + 18);
    EXPECT_EQ(simulation->step(1), Health::kFine);
    const std::vector<double> q1(d.qpos, d.qpos + 19), v1(d.qvel, d.qvel + 18),
        torque(d.actuator_force, d.actuator_force + 12);
    std::array<bool, 4> touches{};
    for (int c = 0; c < d.ncon; ++c) {
      for (std::size_t f = 0; f < 4; ++f) {
        const int geom = model->find(mjOBJ_GEOM, kFeetNames[f]);
        if (d.contact[c].geom[0] == geom || d.contact[c].geom[1] == geom) touches[f] = true;
      }
    }

    const auto r = axes(&q[3]);
    const Vector spin_own{v[3], v[4], v[5]}, spin = to_world(r, spin_own);
    const Vector imu = to_world(r, {-0.01592, -0.06659, -0.00617});
    const Vector turned = cross(spin, imu);
    const Vector speed{v[0] + turned[0], v[1] + turned[1], v[2] + turned[2]};
    const double vx = dot(speed, r[0]), vy = dot(speed, r[1]);
    const auto pow2 = [](double x) { return x * x; };
    double sum = std::exp(-(pow2(command[0] - vx) + pow2(command[1] - vy)) / 0.25) +
                 0.5 * std::exp(-pow2(command[2] - v[5]) / 0.25);
    sum += -0.5 * pow2(speed[2]) - 0.05 * (pow2(spin[0]) + pow2(spin[1]));
    sum += -5.0 * (pow2(r[2][0]) + pow2(r[2][1]));
    double pose = 0, off = 0, l1 = 0, l2 = 0, energy = 0, rate = 0, beyond = 0;
    for (std::size_t j = 0; j < 12; ++j) {
      const double position = q1[7 + j], away = position - home[j];
      pose += pow2(away) * (j % 3 == 2 ? 0.1 : 1.0);
      off += std::fabs(away);
      l1 += std::fabs(torque[j]);
      l2 += pow2(torque[j]);
      energy += std::fabs(v1[6 + j] * torque[j]);
      rate += pow2(static_cast<double>(action[j]) - last[j]);
      beyond += std::fmax(0.95 * m.jnt_range[2 * (j + 1)] - position, 0) +
                std::fmax(position - 0.95 * m.jnt_range[2 * (j + 1) + 1], 0);
    }
    sum +=
        0.5 * std::exp(-pose) - 2e-4 * (std::sqrt(l2) + l1) - 1e-3 * energy - 0.01 * rate - beyond;
    const double asked = std::sqrt(dot(command, command));
    if (asked < 0.01) sum -= off;
    if (r[2][2] < 0) sum -= 1.0;

    const auto here = feet_after(*simulation, q, v, 0.0),
               ahead = feet_after(*simulation, q, v, 1e-6),
               behind = feet_after(*simulation, q, v, -1e-6);
    for (std::size_t f = 0; f < 4; ++f) {
      const double sx = (ahead[f][0] - behind[f][0]) / 2e-6,
                   sy = (ahead[f][1] - behind[f][1]) / 2e-6, z = here[f][2];
      const bool lands = air[f] > 0 && (touches[f] || touched[f]);
      air[f] += kDt;
      peak[f] = std::fmax(peak[f], z);
      sum -= 2.0 * std::fabs(z - 0.1) * std::sqrt(std::hypot(sx, sy));
      if (asked > 0.01) {
        if (touches[f]) sum -= 0.1 * (sx * sx + sy * sy);
        if (lands) sum += 0.1 * (air[f] - 0.1) - 0.2 * pow2(peak[f] / 0.1 - 1.0);
      }
      if (touches[f]) air[f] = peak[f] = 0.0;
    }
    touched = touches;
    before_last = last;
    for (std::size_t j = 0; j < 12; ++j) last[j] = static_cast<double>(action[j]);
    return std::fmin(std::fmax(kDt * sum, 0.0), 1e4);
  }
};

TEST(Quadruped, AgreesWithAPlainSecondImplementation) {
  register_bridges();
  // Sizes of the actions. With small ones, rewards exceed costs.
  for (const double size : {0.1, 0.3, 1.0}) {
    int paid = 0, steps = 0;
    for (std::uint64_t episode = 1; episode <= 3; ++episode) {
      VecEnvOptions options;
      options.seed = episode;
      Result<std::unique_ptr<VecEnv>> made = make_vec_env(
          "Quadruped-v0", {{"noise_level", "0"}, {"command_interval", "0.1"}}, options);
      ASSERT_TRUE(made.ok()) << made.status().message();
      auto& envs = dynamic_cast<TaskEnvs&>(*made.value());
      Reference reference;
      ASSERT_NE(reference.model, nullptr);
      std::vector<float> action(12), seen(48), last(48);
      for (int t = 0; t < 60; ++t) {
        Random random(3, Purpose::kUser, static_cast<std::uint32_t>(episode),
                      static_cast<std::uint64_t>(t));
        for (float& a : action) a = static_cast<float>(size * random.uniform(-1.0, 1.0));
        const std::vector<double> before(envs.physics(0),
                                         envs.physics(0) + reference.model->state_size());
        float reward = 0.0f;
        std::uint8_t terminated = 0, truncated = 0;
        ASSERT_TRUE(
            envs.step(0, 1,
                      {action.data(), seen.data(), &reward, &terminated, &truncated, last.data()})
                .ok());
        const std::vector<float>& shown = terminated != 0 ? last : seen;
        const Vector command{static_cast<double>(shown[45]), static_cast<double>(shown[46]),
                             static_cast<double>(shown[47])};
        const double expected = reference.reward(before.data(), action, command);
        EXPECT_NEAR(static_cast<double>(reward), expected, 2e-6) << size << ", step " << t;
        for (std::size_t j = 0; j < 12; ++j) {
          EXPECT_EQ(shown[33 + j], static_cast<float>(reference.before_last[j]));
        }
        paid += reward > 0.0f ? 1 : 0;
        ++steps;
        if (terminated != 0) break;
      }
    }
    if (size < 0.5) EXPECT_GT(paid, steps / 3) << "or nothing has been compared";
  }
}

}  // namespace
}  // namespace broadloom::mujoco
