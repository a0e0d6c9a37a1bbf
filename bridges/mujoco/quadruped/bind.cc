// Checks a robot's model and looks up the parts that the quadruped needs.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "bridges/mujoco/limbs.h"
#include "bridges/mujoco/quadruped/quadruped.h"
#include "bridges/mujoco/quadruped/scene.h"

namespace broadloom::mujoco {
namespace {

std::string named(const Model& model, const char* what, mjtObj type, int id) {
  const std::string name = model.name_of(type, id);
  return name.empty() ? fmt::format("{} {}", what, id) : fmt::format("{} '{}'", what, name);
}

Status check_counts(const mjModel& m) {
  const int hinges = static_cast<int>(m.nv) - kRootSpeeds;
  if (hinges > 0 && m.nq == hinges + kRootPositions && m.nu == hinges) return {};
  return invalid(
      fmt::format("the model has {} positions, {} speeds and {} actuators; expected a free joint, "
                  "and hinges with an actuator each, in their order: {} + J, {} + J and J",
                  m.nq, m.nv, m.nu, kRootPositions, kRootSpeeds));
}

Status check_root(const Model& model) {
  const mjModel& m = model.get();
  if (m.jnt_type[0] != mjJNT_FREE) {
    return invalid(named(model, "joint", mjOBJ_JOINT, 0) +
                   " is the first joint but not free; expected the trunk's free joint");
  }
  if (m.jnt_bodyid[0] == kTrunk) return {};
  return invalid(fmt::format(
      "the free joint is on {}, but {} comes first; expected the trunk as the first body of "
      "<worldbody>",
      named(model, "body", mjOBJ_BODY, m.jnt_bodyid[0]), named(model, "body", mjOBJ_BODY, kTrunk)));
}

// Actions are target positions of joints, so actuators must be position servos.
Status check_actuator(const Model& model, int a) {
  const mjModel& m = model.get();
  const std::string actuator = named(model, "actuator", mjOBJ_ACTUATOR, a);
  const std::string expected = named(model, "joint", mjOBJ_JOINT, a + 1);
  if (m.actuator_trntype[a] != mjTRN_JOINT)
    return invalid(fmt::format("{} drives no joint; expected {}", actuator, expected));
  const int driven = m.actuator_trnid[2 * a];
  if (driven != a + 1) {
    return invalid(fmt::format("{} drives {}; expected {}: actuators in the joints' order",
                               actuator, named(model, "joint", mjOBJ_JOINT, driven), expected));
  }
  const double kp = m.actuator_gainprm[mjNGAIN * a];
  const double* bias = m.actuator_biasprm + mjNBIAS * a;
  const bool is_servo = m.actuator_gaintype[a] == mjGAIN_FIXED &&
                        m.actuator_biastype[a] == mjBIAS_AFFINE && bias[1] < 0.0;
  if (!is_servo)
    return invalid(actuator + " is not a position servo; expected <position> with kp above 0");
  if (bias[0] != 0.0 || kp != -bias[1]) {
    return invalid(fmt::format(
        "{}: got a force of {} x target {:+} x angle {:+}, which is not 0 at its target; expected "
        "equal factors and no constant, as <position kp=\"{}\"> has them",
        actuator, kp, bias[1], bias[0], -bias[1]));
  }
  const double gear = m.actuator_gear[6 * m.actuator_outadr[a]];
  if (gear != 1.0) {
    return invalid(fmt::format(
        "{}: got gear {}, so {} would go to its target / {}; expected gear 1, with kp, kv and "
        "forcerange at the joint: kp and kv times {}, forcerange times {}",
        actuator, gear, expected, gear, gear * gear, std::fabs(gear)));
  }
  const int dynamics = m.actuator_dyntype[a];
  if (dynamics == mjDYN_NONE || dynamics == mjDYN_FILTER || dynamics == mjDYN_FILTEREXACT)
    return {};
  return invalid(actuator +
                 " does not follow its control as a target (its dyntype is neither none nor a "
                 "filter); expected <position>, with or without timeconst");
}

// MuJoCo limits targets, so an actuator would push the robot out of a pose beyond their range.
Status check_targets(const Model& model, const double* home) {
  constexpr double kSame = 1e-6;  // rad; ranges may be given in degrees
  const mjModel& m = model.get();
  for (int a = 0; a < m.nu; ++a) {
    for (const auto& [is_limited, range, name] :
         {std::tuple{m.actuator_ctrllimited[a], m.actuator_ctrlrange + 2 * a, "ctrlrange"},
          std::tuple{m.actuator_actlimited[a], m.actuator_actrange + 2 * a, "actrange"}}) {
      if (!is_limited || (home[a] >= range[0] - kSame && home[a] <= range[1] + kSame)) continue;
      return invalid(fmt::format(
          "{}: got {} {:.4g} to {:.4g}, but its joint is at {:.4g} in the pose 'home'; expected a "
          "range around that. Set it with inheritrange=\"1\", or change 'home'",
          named(model, "actuator", mjOBJ_ACTUATOR, a), name, range[0], range[1], home[a]));
    }
  }
  return {};
}

// Feet would touch a second ground, which terrain, heights and contacts know nothing of.
Status check_ground(const Model& model) {
  const mjModel& m = model.get();
  const int own = model.find(mjOBJ_GEOM, scene_name("floor"));
  for (int g = 0; g < m.ngeom; ++g) {
    const bool is_ground = m.geom_type[g] == mjGEOM_PLANE || m.geom_type[g] == mjGEOM_HFIELD;
    const bool stays = m.body_weldid[m.geom_bodyid[g]] == 0;
    const bool touches = m.geom_contype[g] != 0 || m.geom_conaffinity[g] != 0;
    if (g == own || !is_ground || !stays || !touches) continue;
    return invalid(named(model, "geom", mjOBJ_GEOM, g) +
                   " is a second ground; expected none, since the environment adds it. Take it "
                   "out (name the robot's own file, not a scene's), or set its contype and "
                   "conaffinity to 0");
  }
  return {};
}

// Whether the robot has its IMU in the middle and four legs of three joints in the order front
// right, front left, hind right, hind left, with both of a pair at equal distances. Masses and
// shapes are not compared; `broadloom env check` finds them out in play.
bool has_mirrored_sides(const mjModel& m, int imu, const RobotSizes& sizes) {
  constexpr double kSame = 1e-9;
  if (sizes.feet != 4 || sizes.joints != 12) return false;
  if (imu < 0 || std::fabs(m.site_pos[3 * imu + 1]) > kSame) return false;
  for (const int first : {1, 7}) {  // joints of the right leg
    const double* const right = m.body_pos + 3 * m.jnt_bodyid[first];
    const double* const left = m.body_pos + 3 * m.jnt_bodyid[first + 3];
    const bool same =
        std::fabs(right[0] - left[0]) < kSame && std::fabs(right[2] - left[2]) < kSame;
    if (!same || right[1] >= 0.0 || std::fabs(right[1] + left[1]) > kSame) return false;
  }
  return true;
}

// The leg of three joints that a body belongs to, in their order; -1: none.
int leg_of(const mjModel& m, int body) {
  for (int leg = 0; leg < 4; ++leg) {
    if (limb_of(m, body) == limb_of(m, m.jnt_bodyid[3 * leg + 1])) return leg;
  }
  return -1;
}

// The foot on the other side of each, since feet may be named in any order. Empty unless each leg
// has one foot. legs: of each foot's geom and site.
std::vector<std::size_t> opposite_feet(const std::vector<std::array<int, 2>>& legs) {
  std::vector<std::size_t> foot_of(4, legs.size()), opposite;
  for (std::size_t foot = 0; foot < legs.size(); ++foot) {
    const auto [geom, site] = legs[foot];
    if (geom < 0 || geom != site) return {};
    std::size_t& only = foot_of[static_cast<std::size_t>(geom)];
    if (only != legs.size()) return {};
    only = foot;
  }
  for (const auto& leg : legs) opposite.push_back(foot_of[static_cast<std::size_t>(leg[0] ^ 1)]);
  return opposite;
}

// Left and right change places: legs are front right, front left, hind right, hind left. The
// trunk's frame has x forward, y left and z up. opposite: [4] of feet
Mirror left_and_right(const std::vector<std::size_t>& opposite, const SignedPermutation& clock) {
  const SignedPermutation vector = "+0 -1 +2", turn = "-0 +1 -2", command = "+0 -1 -2";
  const SignedPermutation joints = "-3 +4 +5 -0 +1 +2 -9 +10 +11 -6 +7 +8";
  std::string feet, feet_vectors;
  for (const std::size_t foot : opposite) {
    feet += fmt::format("+{} ", foot);
    feet_vectors += fmt::format("+{} -{} +{} ", 3 * foot, 3 * foot + 1, 3 * foot + 2);
  }
  Mirror mirror;
  mirror.action = joints;
  for (const auto& part : {vector, turn, vector, joints, joints, joints, command}) {
    mirror.observation.append(part);
  }
  mirror.observation.append(clock);
  mirror.critic_observation = mirror.observation;
  const SignedPermutation one_each(feet), three_each(feet_vectors);
  for (const auto& part : {turn, vector, vector, vector, turn, joints, joints, joints, one_each,
                           three_each, one_each, vector, SignedPermutation("+0")}) {
    mirror.critic_observation.append(part);
  }
  return mirror;
}

// Sine and cosine of the clock in the mirror. A trot's are half a stride ahead, those of a bound
// stay. No mirror is known for gaits whose feet change places otherwise. No offsets: nothing
// follows the clock.
std::optional<SignedPermutation> clock_mirror(const std::vector<double>& offsets,
                                              const std::vector<std::size_t>& opposite) {
  constexpr double kSame = 1e-9;
  bool stays = !offsets.empty(), turns = true;
  for (std::size_t foot = 0; foot < offsets.size(); ++foot) {
    const double ahead = offsets[opposite[foot]] - offsets[foot];
    stays = stays && std::fabs(ahead - std::round(ahead)) < kSame;
    turns = turns && std::fabs(std::fabs(ahead - std::round(ahead)) - 0.5) < kSame;
  }
  if (turns) return "-0 -1";
  return stays ? std::optional<SignedPermutation>("+0 +1") : std::nullopt;
}

// weights: of the twelve joints
bool are_same_on_both_sides(const std::vector<double>& weights) {
  for (const std::size_t right : {0, 1, 2, 6, 7, 8}) {
    if (weights[right] != weights[right + 3]) return false;
  }
  return true;
}

}  // namespace

Status Quadruped::bind(const Model& model) {
  const mjModel& m = model.get();
  BROADLOOM_TRY(bind_joints(model));
  home_ = model.find(mjOBJ_KEY, "home");
  if (home_ < 0) return invalid("the model has no key frame 'home', where episodes begin");
  for (int q = 0; q < m.nq; ++q) {
    if (!std::isfinite(m.key_qpos[home_ * m.nq + q]))
      return invalid(fmt::format("key frame 'home': qpos {} is not finite", q));
  }
  dt_ = m.opt.timestep * options_.frame_skip;
  mass_ = m.body_subtreemass[kTrunk];
  const double* home = m.key_qpos + home_ * m.nq + kRootPositions;
  rewards_.home.assign(home, home + sizes_.joints);
  BROADLOOM_TRY(check_targets(model, home));
  BROADLOOM_TRY(check_ground(model));
  BROADLOOM_TRY(bind_sensors(model));
  bind_mirror(m);
  return check_home(model);
}

void Quadruped::bind_mirror(const mjModel& m) {
  mirror_.reset();
  if (!has_mirrored_sides(m, imu_, sizes_) || !are_same_on_both_sides(rewards_.pose_weights))
    return;
  std::vector<std::array<int, 2>> legs;
  for (const Foot& foot : feet_) {
    legs.push_back({leg_of(m, m.geom_bodyid[foot.geom]), leg_of(m, m.site_bodyid[foot.site])});
  }
  const std::vector<std::size_t> opposite = opposite_feet(legs);
  if (opposite.empty()) return;
  if (!has_clock()) {
    mirror_ = left_and_right(opposite, {});
  } else if (const auto clock = clock_mirror(rewards_.gait_offsets, opposite)) {
    mirror_ = left_and_right(opposite, *clock);
  }
}

// A trunk that is too low at home, or leans too far, would end each episode at its first step.
Status Quadruped::check_home(const Model& model) const {
  const mjModel& m = model.get();
  const int body = m.site_bodyid[imu_];
  if (m.body_weldid[body] != kTrunk) {
    return invalid(fmt::format(
        "site 'imu' is on {}, which moves against the trunk; expected it on "
        "{}, the trunk",
        named(model, "body", mjOBJ_BODY, body), named(model, "body", mjOBJ_BODY, kTrunk)));
  }
  const Lease simulation = model.lease();
  simulation->reset();
  const Scene scene = simulation->scene();
  std::copy_n(m.key_qpos + home_ * m.nq, m.nq, scene.data.qpos);
  simulation->place_bodies();
  const double up = scene.data.site_xmat[9 * imu_ + 8];
  if (up < least_up_) {
    return invalid(fmt::format(
        "fall_tilt: got {}, but the site 'imu' leans {:.4g} degrees in the pose 'home'; expected "
        "more, or a pose and a site whose z axis points upwards",
        options_.fall_tilt, std::acos(std::max(up, -1.0)) * 180.0 / kPi));
  }
  const double height = scene.data.site_xpos[3 * imu_ + 2];
  if (options_.fall_height == 0.0 || options_.fall_height < height) return {};
  return invalid(
      fmt::format("fall_height: got {}, but the IMU is {:.4g} m high in the pose 'home'; expected "
                  "less",
                  options_.fall_height, height));
}

Status Quadruped::bind_joints(const Model& model) {
  const mjModel& m = model.get();
  BROADLOOM_TRY(check_counts(m));
  BROADLOOM_TRY(check_root(model));
  sizes_.joints = static_cast<std::size_t>(m.nu);
  const std::vector<double>& weights = options_.pose_weights.values;
  if (sizes_.joints % weights.size() != 0) {
    return invalid(
        fmt::format("pose_weights: got {} numbers for {} joints; expected one for each, or a list "
                    "that fits in a whole number of times, such as that of one leg",
                    weights.size(), sizes_.joints));
  }
  rewards_.soft_low.clear();
  rewards_.soft_high.clear();
  rewards_.pose_weights.clear();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (int j = 1; j <= m.nu; ++j) {
    if (m.jnt_type[j] != mjJNT_HINGE)
      return invalid(named(model, "joint", mjOBJ_JOINT, j) + " is not a hinge; expected one");
    BROADLOOM_TRY(check_actuator(model, j - 1));
    const bool limited = m.jnt_limited[j] != 0;  // without limits, the range is 0, 0
    const double share = options_.soft_joint_limit;
    rewards_.soft_low.push_back(limited ? m.jnt_range[2 * j] * share : -kInfinity);
    rewards_.soft_high.push_back(limited ? m.jnt_range[2 * j + 1] * share : kInfinity);
    rewards_.pose_weights.push_back(weights[static_cast<std::size_t>(j - 1) % weights.size()]);
  }
  return {};
}

Status Quadruped::bind_sensors(const Model& model) {
  Status missing;
  const auto found = [&](mjtObj type, const char* what, const std::string& name) {
    const int id = model.find(type, name);
    if (id < 0 && missing.ok())
      missing = invalid(fmt::format("the model has no {} '{}'; expected one", what, name));
    return id;
  };
  const auto place = [&](const std::string& name) {
    const int sensor = found(mjOBJ_SENSOR, "sensor", scene_name(name));
    return sensor < 0 ? 0 : model.get().sensor_adr[sensor];
  };
  imu_ = found(mjOBJ_SITE, "site", "imu");  // site of the scene's sensors
  sensors_ = {place("gyro"),     place("local_linvel"),  place("accelerometer"),
              place("upvector"), place("global_linvel"), place("global_angvel")};
  feet_.clear();
  for (const std::string& name : options_.feet) {
    const int geom = found(mjOBJ_GEOM, "geom", name);
    const int type = geom < 0 ? mjGEOM_SPHERE : model.get().geom_type[geom];
    if (type < mjGEOM_SPHERE || type > mjGEOM_BOX) {
      missing = invalid(fmt::format(
          "foot '{}' is a mesh or a field; expected a sphere, capsule, ellipsoid, cylinder or box",
          name));
    }
    feet_.push_back({.site = found(mjOBJ_SITE, "site", name),
                     .geom = geom,
                     .touches = place(name + "_floor_found"),
                     .velocity = place(name + "_global_linvel")});
  }
  return missing;
}

}  // namespace broadloom::mujoco
