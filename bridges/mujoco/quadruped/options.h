// Options of the joystick task.
#pragma once

#include <string>
#include <vector>

#include "bridges/mujoco/options.h"
#include "bridges/mujoco/quadruped/joystick.h"
#include "bridges/mujoco/quadruped/scene.h"
#include "bridges/mujoco/quadruped/terrain.h"

namespace broadloom::mujoco {

struct QuadrupedOptions : ModelOptions {
  std::vector<std::string> feet = {"FR", "FL", "RR", "RL"};
  PhysicsSettings settings{};
  double action_scale = 0.5;
  double gait_hz = 0.0, gait_height = 0.06;
  Numbers gait_offsets{{0.0, 0.5, 0.5, 0.0}};
  Numbers pose_weights{{1.0, 1.0, 0.1}};
  double fall_tilt = 90.0, fall_height = 0.0;
  JoystickConstants joystick{};
  double noise_joint_pos = 0.03, noise_joint_vel = 1.5, noise_gyro = 0.2, noise_gravity = 0.05,
         noise_linvel = 0.1;
  RewardNumbers weights = published_weights();
  double tracking_sigma = 0.25, max_foot_height = 0.1, soft_joint_limit = 0.95;
  double success_share = 0.5;
  TerrainOptions ground{.columns = {"flat"}};

  QuadrupedOptions() : ModelOptions{"quadruped.xml", 5} {}

  template <class Visitor>
  void visit_fields(Visitor&& v) {
    visit_model(v);
    v("feet", feet, "The model's feet. Each name is that of a geom and of a site.");
    settings.visit_fields(v);
    v("action_scale", action_scale, Range{0.0, 10.0},
      "A joint's target is home + this times its action, rad.");
    joystick.visit_fields(v);
    const Range noise{0.0, 1e3};
    const auto add_noise = [&](const char* name, double& most, const char* help) {
      v(name, most, noise, help);
      last_needs(v, "noise_level", kAboveZero);
    };
    add_noise("noise_joint_pos", noise_joint_pos, "Largest noise on joint positions, rad.");
    add_noise("noise_joint_vel", noise_joint_vel, "Largest noise on joint speeds, rad/s.");
    add_noise("noise_gyro", noise_gyro, "Largest noise on the trunk's turning, rad/s.");
    add_noise("noise_gravity", noise_gravity, "Largest noise on the direction of gravity.");
    add_noise("noise_linvel", noise_linvel, "Largest noise on the trunk's speed, m/s.");
    v("fall_tilt", fall_tilt, Range{1.0, 180.0},
      "An episode ends by a fall where the trunk leans more than this, degrees.");
    v("fall_height", fall_height, Range{0.0, 100.0},
      "It also ends so where the IMU is lower than this above the ground, m; 0: never.");
    v("gait_hz", gait_hz, Range{0.0, 20.0},
      "Strides of a gait a second, for the term gait; fewer than half the actions a second. Its "
      "clock joins the observation; 0: none.");
    v("gait_height", gait_height, Range{0.0, 1.0},
      "Height of the feet's soles in the middle of the gait's swings, m.");
    last_needs(v, "gait", kAboveZero);
    v("gait_offsets", gait_offsets,
      "How far each foot's swing is ahead of the clock, from -1 to 1 strides: a trot of four feet; "
      "0,0.5 for two that alternate.");
    last_needs(v, "gait", kAboveZero);
    weights.visit_fields(v);
    v("pose_weights", pose_weights,
      "Weights of the joints in the term pose, at least 0, one for each in their order. A shorter "
      "list is repeated, as for each leg.");
    last_needs(v, "pose", kAboveZero);
    v("tracking_sigma", tracking_sigma, Range{1e-6, 1e6},
      "Width of the tracking rewards, m^2/s^2.");
    last_needs(v, "tracking_lin_vel or tracking_ang_vel", kAboveZero);
    v("max_foot_height", max_foot_height, Range{1e-3, 10.0}, "Target height of swinging feet, m.");
    last_needs(v, "feet_clearance or feet_height", "below 0");
    v("soft_joint_limit", soft_joint_limit, Range{0.0, 1.0},
      "Share of the joints' ranges that is free of cost.");
    last_needs(v, "dof_pos_limits", "below 0");
    v("success_share", success_share, Range{0.0, 1.0},
      "An episode succeeds without a fall and with this share of the commanded way.");
    v("terrain", ground.columns, Choices{Terrain::kinds()},
      "Columns of the ground: only flat is a plane, else tiles of a height field.");
    v("terrain_levels", ground.levels, Range{1, 100}, "Rows of the ground, from easy to hard.");
    last_needs(v, "terrain", "other than flat");
    v("terrain_scale", ground.scale, Range{0.0, 10.0},
      "Factor of the heights of Rudin et al. 2021, whose robot is twice as tall.");
    last_needs(v, "terrain", "other than flat");
    v("terrain_seed", ground.seed, "Seed of the ground.");
    last_needs(v, "terrain", "other than flat");
  }
};

}  // namespace broadloom::mujoco
