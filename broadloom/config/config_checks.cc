// Rules between the keys of a config.
#include <algorithm>

#include "broadloom/config/config.h"
#include "broadloom/core/portable_math.h"
#include "broadloom/learn/ppo.h"
#include "broadloom/nn/actor_critic.h"
#include "broadloom/nn/chain.h"

namespace broadloom {
namespace {

Status check_hidden_sizes(const std::string& key, const std::vector<int>& sizes) {
  constexpr std::size_t kDeepest = 16;
  constexpr int kWidest = 1 << 16;
  if (sizes.empty() || sizes.size() > kDeepest) {
    return invalid(key + ": got " + std::to_string(sizes.size()) +
                   " layers, expected 1 to 16, such as 64,64");
  }
  for (const int size : sizes) {
    if (size < 1 || size > kWidest) {
      return invalid(key + ": got a layer of " + to_text(size) + ", expected 1 to 65536");
    }
  }
  return {};
}

std::string block_words(const Config& config) {
  return "num_envs * num_steps = " + to_text(config.num_envs) + " * " + to_text(config.num_steps) +
         " = " + to_text(config.batch_size());
}

// Samples are numbered with 32 bits, and loops over them look up to a tile ahead.
constexpr std::int64_t kLargestBlock = (std::int64_t{1} << 31) - (std::int64_t{1} << 20);

Status check_batch(const Config& config) {
  const std::int64_t batch = config.batch_size();
  if (batch > kLargestBlock) {
    return invalid("the rollout block is too large: " + block_words(config) +
                   ", expected at most " + to_text(kLargestBlock) +
                   "; lower num_envs or num_steps");
  }
  if (config.total_timesteps < batch) {
    return invalid("total_timesteps: got " + to_text(config.total_timesteps) +
                   ", less than one rollout block (" + block_words(config) +
                   "); raise total_timesteps, or lower num_envs or num_steps");
  }
  if (config.schedule_timesteps != 0 && config.schedule_timesteps < batch) {
    return invalid("schedule_timesteps: got " + to_text(config.schedule_timesteps) +
                   ", less than one rollout block (" + block_words(config) +
                   "); raise it, or leave it out for schedules over all of total_timesteps");
  }
  if (config.minibatch_size > batch) {
    return invalid("minibatch_size: got " + to_text(config.minibatch_size) +
                   ", expected at most the block (" + block_words(config) + ")");
  }
  if (config.minibatch_size == 0 && config.num_minibatches > batch) {
    return invalid("num_minibatches: got " + to_text(config.num_minibatches) +
                   ", expected at most the block (" + block_words(config) + ")");
  }
  return {};
}

// A shortened episode may count as a success that the policy did not achieve.
Status check_ages(const Config& config) {
  if (!config.stagger_starts || config.stagger_by != "age" || config.curriculum.empty()) return {};
  return invalid(
      "stagger_by: got age with a curriculum, whose first decisions would use shortened episodes; "
      "set stagger_by = actions, or remove the curriculum");
}

Status check_families(const Config& config) {
  if (config.num_envs % config.families() == 0) return {};
  return invalid("seed_families: got " + to_text(config.seed_families) +
                 ", expected a divisor of num_envs (" + to_text(config.num_envs) +
                 "), or 0 for as many families as environments");
}

// A single advantage has no standard deviation to divide by.
Status check_normalised(const Config& config) {
  const std::int64_t smallest = config.norm_adv == "minibatch"
                                    ? config.batch_size() / config.minibatch_count()
                                    : config.batch_size();
  if (config.norm_adv == "off" || smallest >= 2) return {};
  return invalid("norm_adv: '" + config.norm_adv +
                 "' needs at least 2 samples to normalise over, " + "got a block of " +
                 to_text(config.batch_size()) + " in " + to_text(config.minibatch_count()) +
                 " minibatches; use fewer minibatches, a larger block, or norm_adv=off");
}

// Rules about the shape of the block.
Status check_shape(const Config& config) {
  BROADLOOM_TRY(check_batch(config));
  BROADLOOM_TRY(check_families(config));
  return check_normalised(config);
}

// The first phase must have the shape num_envs x num_steps. Every phase must pass the checks of a
// run and have at least one block.
Status check_schedule(const Config& config) {
  ShapeSchedule parsed;  // a schedule made in code is not checked yet
  BROADLOOM_TRY(parse_text(to_text(config.shape_schedule), parsed));
  const std::vector<ShapePhase>& phases = config.shape_schedule.phases;
  const BlockShape& first = phases[0].shape;
  if (first.num_envs != config.num_envs || first.num_steps != config.num_steps) {
    return invalid(
        "shape_schedule: begins with " + to_text(phases[0]) + ", but " + block_words(config) +
        "; leave num_envs and num_steps out, so that the first entry sets them, or make them " +
        to_text(first.num_envs) + " and " + to_text(first.num_steps));
  }
  for (std::size_t p = 0; p < phases.size(); ++p) {
    const Status status = check_shape(config.of_phase(p));
    if (!status.ok())
      return invalid("shape_schedule: " + to_text(phases[p]) + ": " + status.message());
  }
  std::vector<bool> reached(phases.size());
  for (const Stretch& stretch : config.run_stretches()) reached[stretch.phase] = true;
  for (std::size_t p = 0; p < phases.size(); ++p) {
    if (reached[p]) continue;
    return invalid("shape_schedule: no block begins in " + to_text(phases[p]) +
                   " with total_timesteps = " + to_text(config.total_timesteps) +
                   "; remove this entry, put the starts further apart, or raise total_timesteps");
  }
  return {};
}

// The largest divisor of `steps` that is at most `most`, or 1.
int divisor_below(int steps, int most) {
  for (int length = std::min(most, steps); length > 1; --length) {
    if (steps % length == 0) return length;
  }
  return 1;
}

// Steps after the last whole gradient_length of a block would never be learnt.
Status check_order(const Config& config) {
  if (!learns_in_order(config.algorithm)) return {};
  for (std::size_t p = 0; p < config.phase_count(); ++p) {
    const int steps = config.of_phase(p).num_steps;
    if (steps % config.gradient_length == 0) continue;
    const int near = divisor_below(steps, config.gradient_length);
    return invalid("gradient_length: got " + to_text(config.gradient_length) +
                   ", which does not divide num_steps = " + to_text(steps) +
                   "; expected a divisor, such as " + to_text(near) +
                   (near < steps ? ", or " + to_text(steps) + " for whole environments" : ""));
  }
  return {};
}

// A minibatch of a recurrent policy is a number of sequences.
Status check_recurrent(const Config& config) {
  if (!config.is_recurrent()) return {};
  const std::string key = "recurrent: got " + config.recurrent;
  if (!config.shape_schedule.empty()) {
    return invalid(key +
                   " with shape_schedule, but states of environments do not pass from shape "
                   "to shape yet; remove shape_schedule, or set recurrent = none");
  }
  const int steps = config.sequence_steps();
  if (config.num_steps % steps != 0) {
    return invalid("sequence_length: got " + to_text(steps) +
                   ", which does not divide num_steps = " + to_text(config.num_steps) +
                   "; expected a divisor, such as " +
                   to_text(divisor_below(config.num_steps, steps)) +
                   ", or 0 for whole environments");
  }
  const bool whole = steps == config.num_steps;
  const std::string sequences = " with recurrent = " + config.recurrent +
                                ", whose minibatches are " +
                                (whole ? "whole environments" : "sequences");
  if (config.minibatch_size % steps != 0) {
    return invalid("minibatch_size: got " + to_text(config.minibatch_size) + sequences +
                   "; expected a multiple of " + (whole ? "num_steps" : "sequence_length") + " (" +
                   to_text(steps) + "), or leave it out and set num_minibatches");
  }
  const int most = config.num_steps / steps * config.num_envs;
  if (config.minibatch_count() > most) {
    return invalid("num_minibatches: got " + to_text(config.num_minibatches) + sequences +
                   "; expected at most " + (whole ? "num_envs" : "their number") + " (" +
                   to_text(most) + "); raise num_envs, or lower num_minibatches" +
                   (steps > 1 ? " or sequence_length" : ""));
  }
  return {};
}

// A deviation outside its bounds has no gradient that brings it back. std_max = 0 sets no bound.
Status check_deviation(const Config& config) {
  if (config.action_distribution == "beta") {
    if (config.bounds_coef == 0.0) return {};
    return invalid("bounds_coef: got " + to_text(config.bounds_coef) +
                   " with action_distribution = beta, which has no means to keep within bounds; "
                   "leave it out, or set action_distribution = squashed or gaussian");
  }
  if (config.sde_sample_freq == 0) {
    return invalid(
        "sde_sample_freq: got 0, expected a number of steps, or -1 for one draw per "
        "block; set -1");
  }
  const bool is_scalar = config.std_form == "scalar";
  const double least = is_scalar ? std::max(config.std_min, kLeastScalarStd) : config.std_min;
  const double most = config.std_max > 0.0 ? config.std_max : portable::kInfinity;
  if (least > most) {
    return invalid("std_max: got " + to_text(config.std_max) + ", expected 0 or at least " +
                   to_text(least) + (is_scalar ? ", the least deviation" : ", as std_min") +
                   "; lower std_min, or raise std_max");
  }
  const double first = portable::exp(config.log_std_init);
  if (first >= least && first <= most) return {};
  return invalid("log_std_init: got " + to_text(config.log_std_init) + ", a deviation of " +
                 to_text(first) + ", expected one from std_min to std_max (" + to_text(least) +
                 " to " + to_text(most) + "); change log_std_init, or the bounds");
}

// No CPU rounds to TF32.
Status check_precision(const Config& config) {
  if (config.precision == "tf32" && config.device == "cpu") {
    return invalid(
        "precision: got 'tf32' with device 'cpu', expected device 'cuda'; only a GPU rounds to "
        "TF32. Use device=cuda, or precision=fp32");
  }
  return {};
}

}  // namespace

Status validate(const Config& config) {
  BROADLOOM_TRY(check_fields(config));
  BROADLOOM_TRY(check_hidden_sizes("hidden_sizes", config.hidden_sizes));
  BROADLOOM_TRY(check_hidden_sizes("rnd_hidden_sizes", config.rnd_hidden_sizes));
  BROADLOOM_TRY(check_ages(config));
  BROADLOOM_TRY(check_order(config));
  BROADLOOM_TRY(check_recurrent(config));
  BROADLOOM_TRY(check_deviation(config));
  BROADLOOM_TRY(config.shape_schedule.empty() ? check_shape(config) : check_schedule(config));
  return check_precision(config);
}

// A gradient step measures the KL of earlier steps of its block, so a block's only step measures 0.
Status check_adaptive_rate(const Config& config) {
  if (config.lr_schedule != "adaptive") return {};
  const double rate = config.learning_rate;
  const double least = config.adaptive_rate_min;
  if (rate < least || rate > kMostAdaptiveRate) {
    return invalid("learning_rate: got " + to_text(rate) + ", expected " + to_text(least) + " to " +
                   to_text(kMostAdaptiveRate) +
                   " with lr_schedule = adaptive, which keeps the rate in this range; change "
                   "learning_rate, or set lr_schedule = constant or linear");
  }
  for (std::size_t p = 0; p < config.phase_count(); ++p) {
    const Config now = config.of_phase(p);
    if (now.update_epochs > 1 || now.minibatch_count() > 1) continue;
    return invalid(
        "lr_schedule: got adaptive with one gradient step a block of " + block_words(now) +
        ", whose KL is always 0, so the rate would never change; expected at least 2 steps: raise "
        "update_epochs or num_minibatches, or set lr_schedule = constant or linear");
  }
  return {};
}

}  // namespace broadloom
