// The sixteen reward terms of the joystick task of MuJoCo Playground 0.2.0 (go1/joystick.py), one
// for a gait, and their inputs.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "broadloom/core/config_table.h"
#include "broadloom/env/spec.h"

namespace broadloom::mujoco {

inline constexpr double kPi = 3.14159265358979323846;

// One number per term: its value in a step, or its weight.
struct RewardNumbers {
  double tracking_lin_vel = 0.0, tracking_ang_vel = 0.0, lin_vel_z = 0.0, ang_vel_xy = 0.0;
  double orientation = 0.0, dof_pos_limits = 0.0, pose = 0.0, termination = 0.0;
  double stand_still = 0.0, torques = 0.0, action_rate = 0.0, energy = 0.0;
  double feet_clearance = 0.0, feet_height = 0.0, feet_slip = 0.0, feet_air_time = 0.0;
  double gait = 0.0;

  // Lists the numbers as weights.
  template <class Visitor>
  void visit_fields(Visitor&& v) {
    const Range paid{0.0, 1e6}, costs{-1e6, 0.0};
    v("tracking_lin_vel", tracking_lin_vel, paid,
      "Weight of exp(-|c_xy - v_xy|^2 / tracking_sigma).");
    v("tracking_ang_vel", tracking_ang_vel, paid,
      "Weight of exp(-(c_yaw - w_z)^2 / tracking_sigma).");
    v("lin_vel_z", lin_vel_z, costs, "Weight of the squared vertical speed.");
    v("ang_vel_xy", ang_vel_xy, costs, "Weight of the squared roll and pitch rates.");
    v("orientation", orientation, costs, "Weight of the trunk's squared tilt.");
    v("dof_pos_limits", dof_pos_limits, costs,
      "Weight of joint positions beyond soft_joint_limit of their ranges, rad.");
    v("pose", pose, paid,
      "Weight of exp(-squared distance of the joints from home, by pose_weights).");
    v("termination", termination, costs,
      "Weight of a fall. A step's reward is never below 0, so other costs of a fall may hide it.");
    v("stand_still", stand_still, costs,
      "Weight of the distance from home while the command is to stand.");
    v("torques", torques, costs, "Weight of the torques' norms, L2 and L1, N m.");
    v("action_rate", action_rate, costs, "Weight of the squared change of the action.");
    v("energy", energy, costs, "Weight of the power, W.");
    v("feet_clearance", feet_clearance, costs,
      "Weight of |height - max_foot_height| of each foot, times the root of its speed.");
    v("feet_height", feet_height, costs,
      "Weight of the squared relative error of a swing's peak to max_foot_height, at landing.");
    v("feet_slip", feet_slip, costs, "Weight of the squared speed of standing feet.");
    v("feet_air_time", feet_air_time, paid, "Weight of a swing's time beyond 0.1 s, at its end.");
    v("gait", gait, paid, "Weight of feet that swing and stand as the clock of gait_hz says.");
  }
};
inline constexpr std::size_t kRewardTerms = sizeof(RewardNumbers) / sizeof(double);

RewardNumbers published_weights();
std::vector<RewardTerm> named_terms(RewardNumbers weights);
// Weights times terms, in the order of named_terms().
std::array<double, kRewardTerms> weighted(const RewardNumbers& weights, const RewardNumbers& terms);

// Inputs of the rewards after a step.
struct Gait {
  std::array<double, 3> command;        // forward, left, m/s; turn, rad/s
  const double *local_velocity, *gyro;  // [3] of the trunk, in its own frame
  const double *velocity, *spin, *up;   // [3] of the trunk, in the world's frame; up: its z axis
  const double *joints, *joint_speeds;  // [J]
  const double* torques;                // [J]
  const float* action;                  // [J]
  const double* last_action;            // [J]
  struct Foot {
    double height = 0.0;                  // m, of its middle above the ground below it
    double sole = 0.0;                    // m, likewise its lowest point
    double speed_x = 0.0, speed_y = 0.0;  // m/s
    double air_time = 0.0, peak = 0.0;    // of the swing: s, m
    bool stands = false, lands = false;
  };
  std::span<const Foot> feet;
  double clock = 0.0;  // strides, from 0 to 1
  bool fell = false;
};

struct RewardConstants {
  double tracking_sigma = 0.25, max_foot_height = 0.1, gait_height = 0.06;
  std::vector<double> home, soft_low, soft_high;  // [J] rad
  std::vector<double> pose_weights;               // [J]
  std::vector<double> gait_offsets;               // [F] strides ahead, or none without a gait
};

// Whether a command's norm is above 0.01; a smaller one means standing.
bool asks_to_walk(std::span<const double, 3> command);

RewardNumbers reward_terms(const Gait& gait, const RewardConstants& constants);

}  // namespace broadloom::mujoco
