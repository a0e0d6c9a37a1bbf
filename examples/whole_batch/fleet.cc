#include "fleet.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "broadloom/core/random.h"
#include "broadloom/env/random_action.h"
#include "broadloom/env/staggered_starts.h"

namespace {

using broadloom::Random;
using broadloom::Status;

constexpr double kTick = 0.1;    // s per step
constexpr double kThrust = 2.0;  // m/s^2, a motor at full power
constexpr double kDrag = 0.5;    // 1/s
constexpr double kBasin = 3.0;   // m from the mooring to the wall
constexpr int kSeen = 5;

}  // namespace

broadloom::EnvSpec Fleet::make_spec() {
  broadloom::EnvSpec spec;
  spec.id = "Fleet-v0";
  const std::vector<float> any(kSeen, std::numeric_limits<float>::infinity());
  const std::vector<float> none(kSeen, -std::numeric_limits<float>::infinity());
  spec.observation = broadloom::Space::box(none, any);
  spec.action = broadloom::Space::box({-1.0f, -1.0f}, {1.0f, 1.0f});
  spec.max_episode_steps = 100;
  spec.end_reasons = {"hit_the_wall", "time_limit"};
  spec.summary = "Keep each boat of a fleet at its mooring.";
  return spec;
}

Fleet::Fleet(const broadloom::VecEnvOptions& options)
    : spec_(make_spec()), options_(options), count_(options.num_envs) {
  spec_.set_time_limit(options.max_episode_steps);
  const auto count = static_cast<std::size_t>(count_);
  for (std::vector<double>* array : {&x_, &y_, &speed_x_, &speed_y_, &current_}) {
    array->resize(count);
  }
  episode_.resize(count);
  age_.resize(count);
  seen_.resize(count * kSeen);
  for (int boat = 0; boat < count_; ++boat) start_episode(boat, 0);
  if (options.stagger_starts) stagger();
  look(0, count_);
}

// Every draw is a function of seed, stream set, seed family and episode. So runs are repeatable,
// and evaluation plays other episodes than training.
void Fleet::start_episode(int boat, std::int64_t episode) {
  const auto family = static_cast<std::uint32_t>(boat % options_.families());
  Random random(options_.seed, broadloom::env_streams(options_.streams).reset, family,
                static_cast<std::uint64_t>(episode));
  x_[boat] = random.uniform(-1.0, 1.0);
  y_[boat] = random.uniform(-1.0, 1.0);
  speed_x_[boat] = random.uniform(-0.5, 0.5);
  speed_y_[boat] = random.uniform(-0.5, 0.5);
  current_[boat] = random.uniform(-0.5, 0.5);
  episode_[boat] = episode;
  age_[boat] = 0;
}

// Boat i begins at share i / N of the time limit, by its age or after random actions.
void Fleet::stagger() {
  if (options_.stagger_by == broadloom::StaggerBy::kAge) {
    age_ = broadloom::staggered_ages(options_, spec_.max_episode_steps);
    return;
  }
  float action[2];
  for (int boat = 0; boat < count_; ++boat) {
    const std::int64_t steps = std::int64_t{boat} * spec_.max_episode_steps / count_;
    for (std::int64_t s = 0; s < steps; ++s) {
      Random random(options_.seed, broadloom::Purpose::kStagger,
                    static_cast<std::uint32_t>(boat % options_.families()),
                    static_cast<std::uint64_t>(s));
      broadloom::draw_action(spec_.action, random, action);
      move(boat, boat + 1, action);
      if (is_lost(boat)) start_episode(boat, episode_[boat] + 1);
    }
  }
}

void Fleet::move(int begin, int end, const float* actions) {
  for (int i = begin; i < end; ++i) {
    const float* motors = actions + 2 * (i - begin);
    speed_x_[i] += kTick * (kThrust * motors[0] - kDrag * speed_x_[i] + current_[i]);
    speed_y_[i] += kTick * (kThrust * motors[1] - kDrag * speed_y_[i]);
  }
  for (int i = begin; i < end; ++i) x_[i] += kTick * speed_x_[i];
  for (int i = begin; i < end; ++i) y_[i] += kTick * speed_y_[i];
  for (int i = begin; i < end; ++i) age_[i] += 1;
}

bool Fleet::is_lost(int boat) const {
  return std::fabs(x_[boat]) >= kBasin || std::fabs(y_[boat]) >= kBasin;
}

void Fleet::look(int begin, int end) {
  for (int i = begin; i < end; ++i) {
    const double row[kSeen] = {x_[i], y_[i], speed_x_[i], speed_y_[i], current_[i]};
    for (int d = 0; d < kSeen; ++d) seen_[i * kSeen + d] = static_cast<float>(row[d]);
  }
}

void Fleet::observe(int begin, int end, broadloom::ObservationRows rows) const {
  std::copy(seen_.begin() + begin * kSeen, seen_.begin() + end * kSeen, rows.floats());
}

// begin is 0 and end is N, since traits().whole_batch is true.
Status Fleet::step(int begin, int end, const broadloom::StepRows& rows) {
  move(begin, end, rows.actions);
  look(begin, end);
  for (int i = begin; i < end; ++i) {
    rows.rewards[i] = static_cast<float>(1.0 - std::sqrt(x_[i] * x_[i] + y_[i] * y_[i]));
    rows.terminated[i] = is_lost(i);
    rows.truncated[i] = !is_lost(i) && age_[i] >= spec_.max_episode_steps;
    if ((rows.terminated[i] | rows.truncated[i]) == 0) continue;
    // Return the last observation separately. The policy acts next on a new episode's first one.
    std::copy_n(&seen_[i * kSeen], kSeen, rows.final_observations.floats() + i * kSeen);
    if (rows.ends != nullptr) {
      rows.ends[i] = {.reason = static_cast<std::int8_t>(rows.truncated[i])};
    }
    start_episode(i, episode_[i] + 1);
    look(i, i + 1);
  }
  observe(begin, end, rows.observations);
  return {};  // a simulator in another process returns its failure here
}

void Fleet::append_state(const std::string& prefix, std::vector<broadloom::TensorRef>& out) {
  const auto add = [&](const char* name, broadloom::Dtype dtype, void* data) {
    out.push_back({prefix + "." + name, dtype, {count_}, data});
  };
  add("x", broadloom::Dtype::kF64, x_.data());
  add("y", broadloom::Dtype::kF64, y_.data());
  add("speed_x", broadloom::Dtype::kF64, speed_x_.data());
  add("speed_y", broadloom::Dtype::kF64, speed_y_.data());
  add("current", broadloom::Dtype::kF64, current_.data());
  add("episode", broadloom::Dtype::kI64, episode_.data());
  add("age", broadloom::Dtype::kI64, age_.data());
}

Status Fleet::state_restored() {
  look(0, count_);
  return {};
}

std::unique_ptr<broadloom::VecEnv> Fleet::another(const broadloom::VecEnvOptions& options) const {
  broadloom::VecEnvOptions theirs = options;
  if (theirs.max_episode_steps == 0) theirs.max_episode_steps = spec_.max_episode_steps;
  return std::make_unique<Fleet>(theirs);
}
