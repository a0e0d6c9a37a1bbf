// Counts blocks, steps and gradient steps from a config's block shape or shape schedule.
#include <algorithm>

#include "broadloom/config/config.h"

namespace broadloom {

std::vector<Stretch> Config::run_stretches() const {
  if (!shape_schedule.empty()) return stretches(shape_schedule, total_timesteps);
  const std::int64_t batch = batch_size();
  const std::int64_t blocks = batch > 0 ? total_timesteps / batch : 0;
  return blocks > 0 ? std::vector<Stretch>{{0, 0, blocks, batch}} : std::vector<Stretch>();
}

std::int64_t Config::num_iterations() const {
  std::int64_t blocks = 0;
  for (const Stretch& stretch : run_stretches()) blocks += stretch.blocks;
  return blocks;
}

std::int64_t Config::trained_steps() const {
  const std::vector<Stretch> all = run_stretches();
  return all.empty() ? 0 : all.back().end_step();
}

std::int64_t Config::schedule_steps() const {
  if (schedule_timesteps == 0) return trained_steps();
  Config scheduled = *this;
  scheduled.total_timesteps = schedule_timesteps;
  return scheduled.trained_steps();
}

std::int64_t Config::gradient_steps() const {
  std::int64_t minibatches = 0;
  for (const Stretch& stretch : run_stretches()) {
    minibatches += stretch.blocks * of_phase(stretch.phase).minibatch_count();
  }
  return minibatches * update_epochs;
}

std::int64_t Config::steps_before(std::int64_t iteration) const {
  std::int64_t left = iteration - 1, steps = 0;
  for (const Stretch& stretch : run_stretches()) {
    steps = stretch.first_step + std::min(left, stretch.blocks) * stretch.batch;
    left -= stretch.blocks;
    if (left <= 0) break;
  }
  return steps;
}

Config Config::of_phase(std::size_t phase) const {
  Config config = *this;
  if (shape_schedule.empty()) return config;
  const ShapePhase& now = shape_schedule.phases[phase];
  config.shape_schedule = {};
  config.num_envs = now.shape.num_envs;
  config.num_steps = now.shape.num_steps;
  if (now.minibatch_size > 0) config.minibatch_size = now.minibatch_size;
  return config;
}

Config Config::at_step(std::int64_t global_step) const {
  return of_phase(shape_schedule.phase_at(global_step, total_timesteps));
}

int Config::most_envs() const {
  int most = num_envs;
  for (const ShapePhase& phase : shape_schedule.phases) {
    most = std::max(most, phase.shape.num_envs);
  }
  return most;
}

}  // namespace broadloom
