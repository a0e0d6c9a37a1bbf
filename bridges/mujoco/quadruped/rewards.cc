#include "bridges/mujoco/quadruped/rewards.h"

#include <bit>
#include <cmath>

namespace broadloom::mujoco {
namespace {

double squared(double x) { return x * x; }
double squared_length(double x, double y) { return x * x + y * y; }

void add_joints(const Gait& gait, const RewardConstants& c, RewardNumbers& out) {
  double off_home = 0.0, off_pose = 0.0, torques = 0.0, squared_torques = 0.0;
  for (std::size_t j = 0; j < c.home.size(); ++j) {
    const double q = gait.joints[j], torque = gait.torques[j];
    out.dof_pos_limits += std::fmax(c.soft_low[j] - q, 0.0) + std::fmax(q - c.soft_high[j], 0.0);
    off_home += std::fabs(q - c.home[j]);
    off_pose += squared(q - c.home[j]) * c.pose_weights[j];
    torques += std::fabs(torque);
    squared_torques += squared(torque);
    out.energy += std::fabs(gait.joint_speeds[j]) * std::fabs(torque);
    out.action_rate += squared(static_cast<double>(gait.action[j]) - gait.last_action[j]);
  }
  out.pose = std::exp(-off_pose);
  out.stand_still = off_home;
  out.torques = std::sqrt(squared_torques) + torques;
}

void add_feet(const Gait& gait, const RewardConstants& c, RewardNumbers& out) {
  for (const Gait::Foot& foot : gait.feet) {
    const double speed = squared_length(foot.speed_x, foot.speed_y);
    out.feet_clearance += std::fabs(foot.height - c.max_foot_height) * std::sqrt(std::sqrt(speed));
    if (foot.stands) out.feet_slip += speed;
    if (!foot.lands) continue;
    out.feet_height += squared(foot.peak / c.max_foot_height - 1.0);
    out.feet_air_time += foot.air_time - 0.1;
  }
}

// How well feet keep to the gait: each swings for half a stride, ahead of the clock by its offset.
// A foot that should swing is paid for a sole as high as half a sine, and one that should stand for
// standing still. In between, a ramp blends the two (periodic rewards as in Siekmann et al. 2021;
// the trot of mjbatch 0.1.4's example go1_joystick.py).
double in_step(const Gait& gait, const RewardConstants& c, bool moves) {
  constexpr double kWidth = 0.035, kSlide = 0.05;  // m; (m/s)^2
  if (c.gait_offsets.empty()) return 0.0;
  double sum = 0.0;
  for (std::size_t f = 0; f < gait.feet.size(); ++f) {
    const Gait::Foot& foot = gait.feet[f];
    const double wave = moves ? std::sin(2.0 * kPi * (gait.clock + c.gait_offsets[f])) : -1.0;
    const double swings = std::fmin(std::fmax(0.5 + wave, 0.0), 1.0);
    const double low = std::fmax(c.gait_height * wave - foot.sole, 0.0);
    const double swing = foot.stands ? 0.0 : std::exp(-squared(low / kWidth));
    const double speed = squared_length(foot.speed_x, foot.speed_y);
    const double stance = foot.stands ? std::exp(-speed / kSlide) : 0.0;
    sum += swings * swing + (1.0 - swings) * stance;
  }
  return sum / static_cast<double>(gait.feet.size());
}

}  // namespace

RewardNumbers published_weights() {
  return {.tracking_lin_vel = 1.0,
          .tracking_ang_vel = 0.5,
          .lin_vel_z = -0.5,
          .ang_vel_xy = -0.05,
          .orientation = -5.0,
          .dof_pos_limits = -1.0,
          .pose = 0.5,
          .termination = -1.0,
          .stand_still = -1.0,
          .torques = -2e-4,
          .action_rate = -0.01,
          .energy = -1e-3,
          .feet_clearance = -2.0,
          .feet_height = -0.2,
          .feet_slip = -0.1,
          .feet_air_time = 0.1};
}

namespace {

struct TermLister {
  std::vector<RewardTerm> terms;
  void operator()(const char* name, double& weight, const Range&, const char*) {
    terms.push_back({name, weight});
  }
};

}  // namespace

std::vector<RewardTerm> named_terms(RewardNumbers weights) {
  TermLister lister;
  weights.visit_fields(lister);
  return lister.terms;
}

std::array<double, kRewardTerms> weighted(const RewardNumbers& weights,
                                          const RewardNumbers& terms) {
  using Row = std::array<double, kRewardTerms>;
  const Row w = std::bit_cast<Row>(weights);
  Row out = std::bit_cast<Row>(terms);
  for (std::size_t i = 0; i < kRewardTerms; ++i) out[i] *= w[i];
  return out;
}

bool asks_to_walk(std::span<const double, 3> command) {
  return std::sqrt(squared_length(command[0], command[1]) + squared(command[2])) > 0.01;
}

RewardNumbers reward_terms(const Gait& gait, const RewardConstants& c) {
  RewardNumbers out;
  const auto& command = gait.command;
  const double off =
      squared_length(command[0] - gait.local_velocity[0], command[1] - gait.local_velocity[1]);
  out.tracking_lin_vel = std::exp(-off / c.tracking_sigma);
  out.tracking_ang_vel = std::exp(-squared(command[2] - gait.gyro[2]) / c.tracking_sigma);
  out.lin_vel_z = squared(gait.velocity[2]);
  out.ang_vel_xy = squared_length(gait.spin[0], gait.spin[1]);
  out.orientation = squared_length(gait.up[0], gait.up[1]);
  out.termination = gait.fell ? 1.0 : 0.0;
  add_joints(gait, c, out);
  add_feet(gait, c, out);
  const bool walks = asks_to_walk(command);
  out.gait = in_step(gait, c, walks);
  if (walks) out.stand_still = 0.0;
  if (!walks) out.feet_slip = out.feet_height = out.feet_air_time = 0.0;
  return out;
}

}  // namespace broadloom::mujoco
