#include "bridges/mujoco/quadruped/joystick.h"

#include <algorithm>
#include <cmath>

#include "broadloom/core/random.h"

namespace broadloom::mujoco {
namespace {

// Draws an exponential time, in steps.
double drawn_steps(double mean, double dt, Random& random) {
  return std::round(-std::log(1.0 - random.uniform()) * mean / dt);
}

double wait_steps(const JoystickConstants& c, double dt) { return std::round(c.push_wait / dt); }

}  // namespace

void begin_commands(const JoystickConstants& c, double dt, Random& random, const Walk& walk) {
  // Plus 1, since every step begins by decreasing the count.
  walk.steps_to_command = std::max(drawn_steps(c.command_interval, dt, random), 1.0) + 1.0;
  const double most[] = {c.max_command_x, c.max_command_y, c.max_command_yaw};
  for (std::size_t axis = 0; axis < 3; ++axis)
    walk.command[axis] = random.uniform(-most[axis], most[axis]);
}

void follow_commands(const JoystickConstants& c, double dt, Random& random, const Walk& walk) {
  walk.steps_to_command -= 1.0;
  if (walk.steps_to_command > 0.0) return;
  const double most[] = {c.max_command_x, c.max_command_y, c.max_command_yaw};
  const double keep[] = {c.keep_command_x, c.keep_command_y, c.keep_command_yaw};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const double next = random.uniform(-most[axis], most[axis]);
    const bool kept = random.uniform() < keep[axis], changes = random.uniform() < 0.5;
    if (changes) walk.command[axis] = kept ? next : 0.0;
  }
  walk.steps_to_command = drawn_steps(c.command_interval, dt, random);
}

bool is_pushed(const JoystickConstants& c, double dt, const Walk& walk) {
  return c.push_speed > 0.0 && walk.steps_since_push >= wait_steps(c, dt);
}

std::array<double, 2> push(const JoystickConstants& c, double dt, double mass, Random& random,
                           const Walk& walk) {
  if (!(c.push_speed > 0.0)) return {};
  if (!is_pushed(c, dt, walk)) {
    walk.steps_since_push += 1.0;
    if (!is_pushed(c, dt, walk)) return {};
    const double angle = random.uniform(0.0, 2.0 * kPi);
    walk.push_step = 0.0;
    walk.push_direction[0] = std::cos(angle);
    walk.push_direction[1] = std::sin(angle);
    return {};  // from the next step on
  }
  const double share = 0.5 * std::sin(kPi * walk.push_step * dt / c.push_duration);
  const double force = share * mass * c.push_speed / c.push_duration;
  if (walk.push_step >= std::round(c.push_duration / dt)) walk.steps_since_push = 0.0;
  walk.push_step += 1.0;
  return {force * walk.push_direction[0], force * walk.push_direction[1]};
}

}  // namespace broadloom::mujoco
