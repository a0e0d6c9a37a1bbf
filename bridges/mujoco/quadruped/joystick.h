// Commands and pushes of a quadruped, drawn while it walks, as in MuJoCo Playground 0.2.0
// (go1/joystick.py).
#pragma once

#include <array>
#include <cstddef>

#include "bridges/mujoco/quadruped/rewards.h"
#include "broadloom/core/config_table.h"

namespace broadloom {
class Random;
}

namespace broadloom::mujoco {

// Constants of the task that strata may draw; only doubles.
struct JoystickConstants {
  double max_command_x = 1.5, max_command_y = 0.8, max_command_yaw = 1.2;
  double keep_command_x = 0.9, keep_command_y = 0.25, keep_command_yaw = 0.5;
  double command_interval = 5.0;
  double noise_level = 1.0;
  double push_speed = 0.0, push_duration = 0.125, push_wait = 2.0;
  double terrain_level = 0.0, terrain_column = -1.0;

  template <class Visitor>
  void visit_fields(Visitor&& v) {
    const Range speed{0.0, 100.0}, share{0.0, 1.0}, seconds{0.0, 1e6};
    v("max_command_x", max_command_x, speed, "Forward commands are uniform within +- this, m/s.");
    v("max_command_y", max_command_y, speed, "Left commands are uniform within +- this, m/s.");
    v("max_command_yaw", max_command_yaw, speed,
      "Turn commands are uniform within +- this, rad/s.");
    v("keep_command_x", keep_command_x, share, "Probability that a new forward command is not 0.");
    v("keep_command_y", keep_command_y, share, "Probability that a new left command is not 0.");
    v("keep_command_yaw", keep_command_yaw, share, "Probability that a new turn command is not 0.");
    v("command_interval", command_interval, Range{0.01, 1e6},
      "Mean time to a new command, s. It changes each axis with probability 1/2.");
    v("noise_level", noise_level, Range{0.0, 1e3}, "Factor of the noise on observations.");
    v("push_speed", push_speed, speed,
      "Speed gained by a push on the trunk, m/s, times 1/pi; 0: no pushes.");
    v("push_duration", push_duration, Range{0.01, 1e3}, "Duration of a push, s.");
    last_needs(v, "push_speed", kAboveZero);
    v("push_wait", push_wait, seconds, "Time from one push's end to the next, s.");
    last_needs(v, "push_speed", kAboveZero);
    v("terrain_level", terrain_level, Range{0.0, 1e3},
      "Row of the terrain that episodes begin on, from 0, the easiest; what follows the point is "
      "left out.");
    v("terrain_column", terrain_column, Range{-1.0, 1e3},
      "Likewise its column; below 0: drawn for each episode.");
  }
};
inline constexpr std::size_t kJoystickConstants = sizeof(JoystickConstants) / sizeof(double);

// State of an environment between steps; only doubles.
struct Walk {
  std::array<double, 3> command{};
  double steps_to_command = 0.0;
  std::array<double, kJoints> action{}, last_action{};
  std::array<double, kFeet> air_time{}, peak{}, contact{}, last_contact{};
  double steps_since_push = 0.0, push_step = 0.0;
  std::array<double, 2> push_direction{};
  std::array<double, 2> tile{};           // middle of its tile, m
  double commanded_way = 0.0, way = 0.0;  // lengths in this episode, m; way: along commands
};
inline constexpr std::size_t kWalkNumbers = sizeof(Walk) / sizeof(double);

// Draws the first command. dt: duration of a step, s.
void begin_commands(const JoystickConstants& constants, double dt, Random& random, Walk& walk);
// Updates the command before a step.
void follow_commands(const JoystickConstants& constants, double dt, Random& random, Walk& walk);

// Force on the trunk in a step, [2] in N along x and y. mass: of the whole robot. A push's force is
// half a sine over its duration.
std::array<double, 2> push(const JoystickConstants& constants, double dt, double mass,
                           Random& random, Walk& walk);
bool is_pushed(const JoystickConstants& constants, double dt, const Walk& walk);

}  // namespace broadloom::mujoco
