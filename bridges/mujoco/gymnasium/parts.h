// Common parts of Gymnasium 1.4.0's tasks (gymnasium/envs/mujoco/*_v5.py). Rewards round as there:
// actions, their weights and sums over them are float32; everything else is double.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "bridges/mujoco/numpy_sum.h"
#include "bridges/mujoco/task.h"

namespace broadloom::mujoco {

// The source of a task's dynamics.
inline std::string gymnasium_file(const char* name) {
  return std::string("Gymnasium 1.4.0 mujoco/") + name;
}

// Computes weight * np.sum(np.square(action)) in float32.
inline float action_cost(double weight, const float* action, int count) {
  return static_cast<float>(weight) * sum_of_squares(action, static_cast<std::size_t>(count));
}

inline void add_uniform(double* x, int count, double scale, Random& random) {
  for (int i = 0; i < count; ++i) x[i] += random.uniform(-scale, scale);
}
inline void add_normal(double* x, int count, double scale, Random& random) {
  for (int i = 0; i < count; ++i) x[i] += scale * random.normal();
}

inline bool are_finite(const double* x, int count) {
  return std::all_of(x, x + count, [](double value) { return std::isfinite(value); });
}

inline double seconds_per_step(const mjModel& model, int frame_skip) {
  return model.opt.timestep * frame_skip;
}

// Position of the body's frame, [3] in m.
inline const double* body_at(Scene scene, int body) { return scene.data.xpos + 3 * body; }

inline double distance(const double* a, const double* b) {
  const double x = a[0] - b[0], y = a[1] - b[1], z = a[2] - b[2];
  return std::sqrt(x * x + y * y + z * z);
}

// kInvalidConfig if the model has fewer positions or speeds.
inline Status need(const mjModel& model, int nq, int nv) {
  if (model.nq >= nq && model.nv >= nv) return {};
  return invalid("the model has " + std::to_string(model.nq) + " positions and " +
                 std::to_string(model.nv) + " speeds; expected at least " + std::to_string(nq) +
                 " and " + std::to_string(nv));
}

// kInvalidConfig if there is no body of that name.
inline Status find_body(const Model& model, const std::string& name, int& out) {
  out = model.find(mjOBJ_BODY, name);
  if (out >= 0) return {};
  return invalid("the model has no body named '" + name + "'");
}

inline std::vector<RewardTerm> with_healthy(std::vector<RewardTerm> terms, double reward) {
  terms.insert(terms.begin() + 1, {"healthy", reward});
  return terms;
}

}  // namespace broadloom::mujoco
