// A robot on legs that follows joystick commands. The task is that of MuJoCo Playground 0.2.0
// (Go1JoystickFlatTerrain), on a model without meshes and on generated ground. Other models may
// have other numbers of feet F and joints J.
//
// Differences: on ground that is not flat, heights of feet are measured from the ground below them,
// and tiles repeat endlessly. Random numbers are Broadloom's own.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bridges/mujoco/quadruped/options.h"
#include "bridges/mujoco/task.h"

namespace broadloom::mujoco {

// Sizes of the free joint in qpos and qvel, and the body that it moves.
inline constexpr int kRootPositions = 7, kRootSpeeds = 6, kTrunk = 1;
inline constexpr std::size_t kMostFeet = 16;

// How far a geom reaches below its middle, m. type: a sphere, capsule, ellipsoid, cylinder or box;
// size: MuJoCo's; up: [3] heights of the unit vectors of its axes.
double reach_below(int type, const double* size, const double* up);

class Quadruped final : public Task {
 public:
  using Options = QuadrupedOptions;
  static TaskFacts facts();
  // kInvalidConfig if options conflict.
  static Status check(const Options& options);

  explicit Quadruped(const Options& options);

  Result<std::shared_ptr<Model>> read(const std::string& xml_file) const override;
  Status bind(const Model& model) override;
  int observation_size(const Sizes& sizes) const override;
  int critic_observation_size(const Sizes& sizes) const override;
  std::vector<RewardTerm> reward_terms() const override { return named_terms(options_.weights); }
  // Errors of the trunk's speed over ground and of its turning against the command, in its own
  // frame.
  std::vector<Measure> measures() const override {
    return {{"speed_error", "m/s"}, {"turn_error", "rad/s"}};
  }
  void describe(const ConstantRange& constants, EnvSpec& spec) const override;
  std::vector<double> constants() const override;
  std::vector<ParamField> constant_fields() const override;
  Status check_constants(const double* constants) const override;
  int kept_size() const override {
    return static_cast<int>(Walk::size(sizes_)) + (has_clock() ? 1 : 0);
  }
  bool reads_body_forces() const override { return false; }

  void place(Scene scene, Own own, Random& random) const override;
  void drive(Scene scene, const float* action, Own own, Random& random) const override;
  Judgement judge(Scene scene, const float* action, Own own) const override;
  void keep(Scene scene, double* kept) const override;
  void observe(Scene scene, Own own, Random& random, ObservationWriter out) const override;
  void observe_for_critic(Scene scene, Own own, const float* seen,
                          ObservationWriter out) const override;
  void context(const double* constants, const double* kept, std::span<double> out) const override;
  bool success(const double* kept, bool terminated) const override;

 private:
  struct Foot {
    int site = 0, geom = 0;
    int touches = 0, velocity = 0;  // indices of the sensors' numbers
  };
  struct Sensors {
    int gyro = 0, local_velocity = 0, accelerometer = 0, up = 0, velocity = 0, spin = 0;
  };

  Status bind_joints(const Model& model);
  Status check_home(const Model& model) const;
  Status bind_sensors(const Model& model);
  void bind_mirror(const mjModel& m);
  // feet: [F], filled; the result refers to it.
  Gait gait(Scene scene, const float* action, double* kept, std::span<Gait::Foot> feet) const;
  double sole_height(Scene scene, int geom) const;
  Walk walk_of(double* kept) const { return {kept, sizes_}; }
  double& clock_of(double* kept) const { return kept[Walk::size(sizes_)]; }
  bool has_clock() const { return options_.gait_hz > 0.0; }
  double ground(double x, double y) const { return terrain_ ? terrain_->height(x, y) : 0.0; }

  Options options_;
  std::shared_ptr<const Terrain> terrain_;  // null: a plane
  RewardConstants rewards_;
  Sensors sensors_;
  RobotSizes sizes_;
  std::vector<Foot> feet_;
  double least_up_ = 0.0;  // of the trunk's z axis, upwards; less is a fall
  double dt_ = 0.0, mass_ = 0.0;
  int home_ = 0;  // key frame
  int imu_ = 0;   // site
  // Left and right, if they mirror each other (bind_mirror). The Go1's do not: its IMU sits
  // 7 cm to the right.
  std::optional<Mirror> mirror_;
};

}  // namespace broadloom::mujoco
