// Commands and pushes of a quadruped, drawn while it walks, as in MuJoCo Playground 0.2.0
// (go1/joystick.py).
#pragma once

#include <array>
#include <cstddef>
#include <span>

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

// Numbers of joints and feet of a robot.
struct RobotSizes {
  std::size_t joints = 0, feet = 0;
};

// State of an environment between steps: doubles that lie one behind the other, read and written in
// place. Number: double or const double.
template <class Number>
struct WalkOf {
  std::span<Number, 3> command;
  Number& steps_to_command;
  std::span<Number> action, last_action;                    // [J]
  std::span<Number> air_time, peak, contact, last_contact;  // [F]
  Number &steps_since_push, &push_step;
  std::span<Number, 2> push_direction;
  std::span<Number, 2> tile;    // middle of its tile, m
  Number &commanded_way, &way;  // lengths in this episode, m; way: along commands

  static constexpr std::size_t size(const RobotSizes& sizes) {
    return 12 + 2 * sizes.joints + 4 * sizes.feet;
  }

  // numbers: [size(sizes)]
  WalkOf(Number* numbers, const RobotSizes& sizes) : WalkOf(Cursor{numbers}, sizes) {}

 private:
  struct Cursor {
    Number* next;
    Number& one() { return *next++; }
    Number* list(std::size_t count) {
      next += count;
      return next - count;
    }
  };
  // The order of the members is that of the numbers.
  WalkOf(Cursor cursor, const RobotSizes& sizes)
      : command(cursor.list(3), 3),
        steps_to_command(cursor.one()),
        action(cursor.list(sizes.joints), sizes.joints),
        last_action(cursor.list(sizes.joints), sizes.joints),
        air_time(cursor.list(sizes.feet), sizes.feet),
        peak(cursor.list(sizes.feet), sizes.feet),
        contact(cursor.list(sizes.feet), sizes.feet),
        last_contact(cursor.list(sizes.feet), sizes.feet),
        steps_since_push(cursor.one()),
        push_step(cursor.one()),
        push_direction(cursor.list(2), 2),
        tile(cursor.list(2), 2),
        commanded_way(cursor.one()),
        way(cursor.one()) {}
};
using Walk = WalkOf<double>;

// Draws the first command. dt: duration of a step, s.
void begin_commands(const JoystickConstants& constants, double dt, Random& random,
                    const Walk& walk);
// Updates the command before a step.
void follow_commands(const JoystickConstants& constants, double dt, Random& random,
                     const Walk& walk);

// Force on the trunk in a step, [2] in N along x and y. mass: of the whole robot. A push's force is
// half a sine over its duration.
std::array<double, 2> push(const JoystickConstants& constants, double dt, double mass,
                           Random& random, const Walk& walk);
bool is_pushed(const JoystickConstants& constants, double dt, const Walk& walk);

}  // namespace broadloom::mujoco
