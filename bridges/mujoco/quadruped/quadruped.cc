#include "bridges/mujoco/quadruped/quadruped.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "bridges/mujoco/quadruped/scene.h"
#include "broadloom/env/drawn_params.h"

namespace broadloom::mujoco {
namespace {

const JoystickConstants& constants_of(Own own) {
  return *reinterpret_cast<const JoystickConstants*>(own.constants);
}
static_assert(sizeof(JoystickConstants) == kJoystickConstants * sizeof(double));

// Computes a * b.
void multiply_quaternions(const double* a, const double* b, double* out) {
  out[0] = a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3];
  out[1] = a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2];
  out[2] = a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1];
  out[3] = a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0];
}

bool is_plane(const TerrainOptions& ground) {
  return ground.columns == std::vector<std::string>{"flat"};
}

int drawn_tile(double place, int count, Random& random) {
  const int drawn = static_cast<int>(random.below(static_cast<std::uint32_t>(count)));
  return place < 0.0 ? drawn : std::min(static_cast<int>(place), count - 1);
}

// Sets targets, and all that actuators remember of them: as if they had always been there.
void hold(Scene scene, std::span<const double> targets) {
  const mjModel& m = scene.model;
  for (std::size_t a = 0; a < targets.size(); ++a) {
    scene.data.ctrl[a] = targets[a];
    if (m.actuator_actadr[a] >= 0) scene.data.act[m.actuator_actadr[a]] = targets[a];
    if (m.actuator_historyadr[a] < 0) continue;
    // A delayed control: two numbers of MuJoCo's own, then times, then values.
    const int count = m.actuator_history[2 * a];
    std::fill_n(scene.data.history + m.actuator_historyadr[a] + 2 + count, count, targets[a]);
  }
}

}  // namespace

double reach_below(int type, const double* size, const double* up) {
  const double x = size[0] * up[0], y = size[1] * up[1], z = size[2] * up[2];
  switch (type) {
    case mjGEOM_BOX:
      return std::fabs(x) + std::fabs(y) + std::fabs(z);
    case mjGEOM_ELLIPSOID:
      return std::sqrt(x * x + y * y + z * z);
    case mjGEOM_CAPSULE:
      return size[0] + size[1] * std::fabs(up[2]);
    case mjGEOM_CYLINDER:
      return size[0] * std::hypot(up[0], up[1]) + size[1] * std::fabs(up[2]);
    default:
      return size[0];  // a sphere
  }
}

TaskFacts Quadruped::facts() {
  return {.id = "Quadruped-v0",
          .summary = "Walk on four legs, or those of another model, as a joystick says.",
          .upstream = "MuJoCo Playground 0.2.0 go1/joystick.py",
          .own_model = "a model without meshes",
          .sizes = {19, 18, 12, 14},
          .makes_controls = true,
          .end_reasons = {"fell"},
          .names_success = true,
          .view = {.body = kTrunk, .left = -1.2, .bottom = -0.3, .right = 1.2, .top = 0.9}};
}

Status Quadruped::check(const Options& options) {
  if (options.feet.empty() || options.feet.size() > kMostFeet) {
    return invalid(
        fmt::format("feet: got {} names, expected 1 to {}", options.feet.size(), kMostFeet));
  }
  if (options.ground.columns.empty())
    return invalid("terrain: got none, expected one of " +
                   fmt::format("{}", fmt::join(Terrain::kinds(), ", ")));
  if (options.weights.gait > 0.0 && !(options.gait_hz > 0.0))
    return invalid(fmt::format(
        "gait: got a weight of {} without a clock, so nothing says which feet swing; expected "
        "gait_hz above 0, such as 2",
        options.weights.gait));
  for (const double offset : options.gait_offsets.values) {
    if (!(std::fabs(offset) <= 1.0))
      return invalid(fmt::format("gait_offsets: got {}, expected strides from -1 to 1", offset));
  }
  for (const double weight : options.pose_weights.values) {
    if (!(weight >= 0.0 && weight <= 1e6))
      return invalid(fmt::format("pose_weights: got {}, expected 0 to 1e6", weight));
  }
  for (std::size_t f = 0; f < options.feet.size(); ++f) {
    if (std::count(options.feet.begin(), options.feet.end(), options.feet[f]) > 1)
      return invalid(fmt::format("feet: got '{}' twice; expected each foot once", options.feet[f]));
  }
  if (options.weights.gait > 0.0 && options.gait_offsets.values.size() != options.feet.size())
    return invalid(fmt::format(
        "gait_offsets: got {} numbers for {} feet; expected one for each, such as 0,0.5 for two "
        "feet that alternate. Without the option it has a trot's four",
        options.gait_offsets.values.size(), options.feet.size()));
  const double actions_a_second = 1.0 / (options.settings.timestep * options.frame_skip);
  if (options.gait_hz >= 0.5 * actions_a_second) {
    return invalid(fmt::format(
        "gait_hz: got {} with {:.6g} actions a second (timestep = {}, frame_skip = {}), so the "
        "policy would see a slower clock; expected less than half of them, {:.6g}. Lower one of "
        "the three",
        options.gait_hz, actions_a_second, options.settings.timestep, options.frame_skip,
        0.5 * actions_a_second));
  }
  if (options.on_unstable != "go_on" || is_plane(options.ground)) return {};
  return invalid(
      "on_unstable: got go_on on terrain that is not flat, but the model's initial state is not on "
      "the environment's tile; expected reset or stop");
}

Status Quadruped::check_constants(const double* constants) const {
  const JoystickConstants& joystick = *reinterpret_cast<const JoystickConstants*>(constants);
  const TerrainOptions& ground = options_.ground;
  if (terrain_ == nullptr) {
    if (joystick.terrain_level == 0.0 && joystick.terrain_column < 0.0) return {};
    const bool level = joystick.terrain_level != 0.0;
    return invalid(
        fmt::format("{}: got {}, but the terrain is flat and has no levels and columns; list kinds "
                    "of ground, as in terrain = [\"flat\", \"stairs\"], or leave the key out",
                    level ? "terrain_level" : "terrain_column",
                    level ? joystick.terrain_level : joystick.terrain_column));
  }
  if (!(joystick.terrain_level < ground.levels)) {
    return invalid(fmt::format("terrain_level: got {}, expected less than terrain_levels, {}",
                               joystick.terrain_level, ground.levels));
  }
  if (joystick.terrain_column < static_cast<double>(ground.columns.size())) return {};
  return invalid(
      fmt::format("terrain_column: got {}, expected less than the columns of terrain, {}",
                  joystick.terrain_column, ground.columns.size()));
}

Quadruped::Quadruped(const Options& options) : options_(options) {
  rewards_.tracking_sigma = options.tracking_sigma;
  rewards_.max_foot_height = options.max_foot_height;
  rewards_.gait_height = options.gait_height;
  if (options.weights.gait > 0.0) rewards_.gait_offsets = options.gait_offsets.values;
  sizes_.feet = options.feet.size();
  // A sine, since the cosine of 90 degrees is not quite 0.
  least_up_ = std::sin((90.0 - options.fall_tilt) * kPi / 180.0);
  if (!is_plane(options.ground)) terrain_ = std::make_shared<Terrain>(options.ground);
}

Result<std::shared_ptr<Model>> Quadruped::read(const std::string& xml_file) const {
  return read_scene(xml_file, terrain_.get(), options_.feet, options_.settings);
}

// Speed, turning, down and command; then three numbers of each joint, and the clock.
int Quadruped::observation_size(const Sizes& sizes) const {
  return 12 + 3 * sizes.nu + (has_clock() ? 2 : 0);
}

// Also the five vectors of the trunk without noise, three numbers of each joint, five of each foot,
// and the push.
int Quadruped::critic_observation_size(const Sizes& sizes) const {
  return observation_size(sizes) + 15 + 3 * sizes.nu + 5 * static_cast<int>(sizes_.feet) + 4;
}

void Quadruped::describe(const ConstantRange& constants, EnvSpec& spec) const {
  const auto& c = *reinterpret_cast<const JoystickConstants*>(constants.high.data());
  spec.commands = {{"forward, m/s", -c.max_command_x, c.max_command_x},
                   {"left, m/s", -c.max_command_y, c.max_command_y},
                   {"turn, rad/s", -c.max_command_yaw, c.max_command_yaw}};
  for (const CommandRange& command : spec.commands)
    spec.context.push_back({command.name, command.low, command.high});
  if (mirror_ && terrain_ == nullptr) spec.mirror = *mirror_;
  spec.terrain = "flat";
  if (terrain_ == nullptr) return;
  // All columns of the ground, even if an option keeps all environments on one.
  spec.context.push_back({"terrain column", 0.0, terrain_->columns() - 1.0});
  spec.world_seeds = {options_.ground.seed, 1};
  spec.terrain =
      fmt::format("{}; {} levels, scale {}, seed {}", fmt::join(options_.ground.columns, ", "),
                  options_.ground.levels, options_.ground.scale, options_.ground.seed);
}

std::vector<double> Quadruped::constants() const {
  std::vector<double> out(kJoystickConstants);
  std::memcpy(out.data(), &options_.joystick, sizeof(JoystickConstants));
  return out;
}

std::vector<ParamField> Quadruped::constant_fields() const {
  return fields_of_params<JoystickConstants>();
}

void Quadruped::place(Scene scene, Own own, Random& random) const {
  const Walk walk = walk_of(own.kept);
  const JoystickConstants& constants = constants_of(own);
  const double* home = scene.model.key_qpos + home_ * scene.model.nq;
  double *q = scene.data.qpos, *v = scene.data.qvel;
  std::copy_n(home, scene.model.nq, q);
  hold(scene, {home + kRootPositions, sizes_.joints});
  if (terrain_ != nullptr) {
    const int level = drawn_tile(constants.terrain_level, terrain_->levels(), random);
    const int column = drawn_tile(constants.terrain_column, terrain_->columns(), random);
    walk.tile[0] = terrain_->tile_x(column);
    walk.tile[1] = terrain_->tile_y(level);
  }
  for (std::size_t i = 0; i < 2; ++i) q[i] += walk.tile[i] + random.uniform(-0.5, 0.5);
  double highest = ground(q[0], q[1]);
  for (const double x : {-0.25, 0.0, 0.25}) {
    for (const double y : {-0.25, 0.0, 0.25})
      highest = std::max(highest, ground(q[0] + x, q[1] + y));
  }
  q[2] += highest;
  const double half = 0.5 * random.uniform(-3.14, 3.14);
  const double turn[4] = {std::cos(half), 0.0, 0.0, std::sin(half)};
  multiply_quaternions(home + 3, turn, q + 3);
  for (int i = 0; i < kRootSpeeds; ++i) v[i] = random.uniform(-0.5, 0.5);
  begin_commands(constants, dt_, random, walk);
  if (has_clock()) clock_of(own.kept) = random.uniform();
}

void Quadruped::drive(Scene scene, const float* action, Own own, Random& random) const {
  const Walk walk = walk_of(own.kept);
  for (std::size_t f = 0; f < sizes_.feet; ++f) {
    walk.last_contact[f] = walk.contact[f];
    if (walk.contact[f] != 0.0) walk.air_time[f] = walk.peak[f] = 0.0;
  }
  std::copy(walk.action.begin(), walk.action.end(), walk.last_action.begin());
  for (std::size_t j = 0; j < sizes_.joints; ++j) {
    walk.action[j] = static_cast<double>(action[j]);
    scene.data.ctrl[j] = rewards_.home[j] + options_.action_scale * walk.action[j];
  }
  follow_commands(constants_of(own), dt_, random, walk);
  const auto force = push(constants_of(own), dt_, mass_, random, walk);
  std::copy(force.begin(), force.end(), scene.data.xfrc_applied + 6 * kTrunk);
  if (has_clock()) {
    double& clock = clock_of(own.kept);
    clock += options_.gait_hz * dt_;
    clock -= std::floor(clock);
  }
}

double Quadruped::sole_height(Scene scene, int geom) const {
  const double* middle = scene.data.geom_xpos + 3 * geom;
  const double below = reach_below(scene.model.geom_type[geom], scene.model.geom_size + 3 * geom,
                                   scene.data.geom_xmat + 9 * geom + 6);
  return middle[2] - ground(middle[0], middle[1]) - below;
}

Gait Quadruped::gait(Scene scene, const float* action, double* kept,
                     std::span<Gait::Foot> feet) const {
  const Walk walk = walk_of(kept);
  const double* sensed = scene.data.sensordata;
  Gait out{.command = {walk.command[0], walk.command[1], walk.command[2]},
           .local_velocity = sensed + sensors_.local_velocity,
           .gyro = sensed + sensors_.gyro,
           .velocity = sensed + sensors_.velocity,
           .spin = sensed + sensors_.spin,
           .up = sensed + sensors_.up,
           .joints = scene.data.qpos + kRootPositions,
           .joint_speeds = scene.data.qvel + kRootSpeeds,
           .torques = scene.data.actuator_force,
           .action = action,
           .last_action = walk.last_action.data(),
           .feet = feet,
           .clock = has_clock() ? clock_of(kept) : 0.0,
           .fell = sensed[sensors_.up + 2] < least_up_};
  if (options_.fall_height > 0.0) {
    const double* imu = scene.data.site_xpos + 3 * imu_;
    out.fell = out.fell || imu[2] - ground(imu[0], imu[1]) < options_.fall_height;
  }
  for (std::size_t f = 0; f < sizes_.feet; ++f) {
    const double* position = scene.data.site_xpos + 3 * feet_[f].site;
    Gait::Foot& foot = feet[f];
    foot.height = position[2] - ground(position[0], position[1]);
    foot.sole = sole_height(scene, feet_[f].geom);
    foot.speed_x = sensed[feet_[f].velocity];
    foot.speed_y = sensed[feet_[f].velocity + 1];
    foot.stands = sensed[feet_[f].touches] > 0.0;
    foot.lands = walk.air_time[f] > 0.0 && (foot.stands || walk.last_contact[f] != 0.0);
    walk.contact[f] = foot.stands ? 1.0 : 0.0;
    foot.air_time = walk.air_time[f] += dt_;
    foot.peak = walk.peak[f] = std::max(walk.peak[f], foot.height);
  }
  return out;
}

Judgement Quadruped::judge(Scene scene, const float* action, Own own) const {
  const Walk walk = walk_of(own.kept);
  std::array<Gait::Foot, kMostFeet> feet;
  const Gait now = gait(scene, action, own.kept, {feet.data(), sizes_.feet});
  const double asked = std::hypot(now.command[0], now.command[1]);
  walk.commanded_way += asked * dt_;
  if (asked > 0.0) {
    const double along =
        now.command[0] * now.local_velocity[0] + now.command[1] * now.local_velocity[1];
    walk.way += along / asked * dt_;
  }
  constexpr double kMostReward = 1e4;
  auto paid = weighted(options_.weights, mujoco::reward_terms(now, rewards_));
  double sum = 0.0;
  for (const double term : paid) sum += term;
  for (double& term : paid) term *= dt_;
  own.paid.add(paid);
  own.measured.add(
      {std::hypot(now.command[0] - now.local_velocity[0], now.command[1] - now.local_velocity[1]),
       std::fabs(now.command[2] - now.gyro[2])});
  return {clipped(sum * dt_, 0.0, kMostReward), now.fell ? 0 : kGoesOn};
}

// A robot that leaves its tile enters it on the other side.
void Quadruped::keep(Scene scene, double* kept) const {
  if (terrain_ == nullptr) return;
  for (std::size_t i = 0; i < 2; ++i)
    scene.data.qpos[i] = Terrain::wrapped(scene.data.qpos[i], walk_of(kept).tile[i]);
}

void Quadruped::observe(Scene scene, Own own, Random& random, ObservationWriter out) const {
  const Walk walk = walk_of(own.kept);
  const double level = constants_of(own).noise_level;
  const double* sensed = scene.data.sensordata;
  const auto add = [&](double x, double noise) {
    out.add(x + random.uniform(-1.0, 1.0) * level * noise);
  };
  for (int i = 0; i < 3; ++i) add(sensed[sensors_.local_velocity + i], options_.noise_linvel);
  for (int i = 0; i < 3; ++i) add(sensed[sensors_.gyro + i], options_.noise_gyro);
  // The down direction in the trunk's frame is minus the last row of its matrix.
  for (int i = 0; i < 3; ++i) add(-scene.data.site_xmat[9 * imu_ + 6 + i], options_.noise_gravity);
  for (std::size_t j = 0; j < sizes_.joints; ++j)
    add(scene.data.qpos[kRootPositions + j] - rewards_.home[j], options_.noise_joint_pos);
  for (std::size_t j = 0; j < sizes_.joints; ++j)
    add(scene.data.qvel[kRootSpeeds + j], options_.noise_joint_vel);
  out.add(walk.last_action);
  out.add(walk.command);
  if (!has_clock()) return;
  // Hidden while it stands, or it would march on the spot and wait for a command.
  const bool moves = asks_to_walk(walk.command);
  const double angle = 2.0 * kPi * clock_of(own.kept);
  out.add(moves ? std::sin(angle) : 0.0);
  out.add(moves ? std::cos(angle) : 0.0);
}

void Quadruped::observe_for_critic(Scene scene, Own own, const float* seen,
                                   ObservationWriter out) const {
  const Walk walk = walk_of(own.kept);
  const double* sensed = scene.data.sensordata;
  const int size = observation_size({.nu = static_cast<int>(sizes_.joints)});
  for (int i = 0; i < size; ++i) out.add(static_cast<double>(seen[i]));
  out.add(sensed + sensors_.gyro, 3);
  out.add(sensed + sensors_.accelerometer, 3);
  for (int i = 0; i < 3; ++i) out.add(-scene.data.site_xmat[9 * imu_ + 6 + i]);
  out.add(sensed + sensors_.local_velocity, 3);
  out.add(sensed + sensors_.spin, 3);
  for (std::size_t j = 0; j < sizes_.joints; ++j)
    out.add(scene.data.qpos[kRootPositions + j] - rewards_.home[j]);
  out.add({scene.data.qvel + kRootSpeeds, sizes_.joints});
  out.add({scene.data.actuator_force, sizes_.joints});
  out.add(walk.last_contact);
  for (const Foot& foot : feet_) out.add(sensed + foot.velocity, 3);
  out.add(walk.air_time);
  out.add(scene.data.xfrc_applied + 6 * kTrunk, 3);
  out.add(is_pushed(constants_of(own), dt_, walk) ? 1.0 : 0.0);
}

void Quadruped::context(const double*, const double* kept, std::span<double> out) const {
  const WalkOf<const double> walk(kept, sizes_);
  std::copy(walk.command.begin(), walk.command.end(), out.begin());
  if (terrain_ != nullptr) out[walk.command.size()] = terrain_->column(walk.tile[0]);
}

bool Quadruped::success(const double* kept, bool terminated) const {
  const WalkOf<const double> walk(kept, sizes_);
  return !terminated && walk.way >= options_.success_share * walk.commanded_way;
}

}  // namespace broadloom::mujoco
