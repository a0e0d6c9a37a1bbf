#include "broadloom/config/budget.h"

#include <fmt/core.h>

#include <algorithm>

#include "broadloom/core/number_text.h"

namespace broadloom {
namespace {

bool is_beyond(const BudgetLimits& limits, const Budget& budget) {
  return budget.steps_lost > limits.steps_lost || budget.updates < limits.updates;
}

bool is_fine(const Config& config) { return !is_beyond(kBudgetNote, budget_of(config)); }

// The next multiple of the block that gives no warning.
Config with_longer_run(Config config) {
  std::int64_t block = 0;
  for (const Stretch& stretch : config.run_stretches()) block = std::max(block, stretch.batch);
  config.total_timesteps = config.trained_steps() + block;
  while (!is_fine(config)) config.total_timesteps += block;
  return config;
}

// The most environments that give no warning; 0: none, or a schedule sets the number.
int fewer_envs(Config config) {
  if (!config.shape_schedule.empty()) return 0;
  while ((config.num_envs = next_fewer_envs(config)) > 0) {
    if (is_fine(config) && validate(config).ok()) return config.num_envs;
  }
  return 0;
}

// advice: what to choose.
std::string warning(const Config& config, const std::string& cell, const std::string& advice) {
  const Budget budget = budget_of(config);
  const bool few = budget.updates < kBudgetNote.updates;
  const std::int64_t updates = config.num_iterations();
  const double lost = 100.0 * budget.steps_lost;
  const std::string advised =
      few ? fmt::format(", and at least {} are advised", kBudgetNote.updates) : "";
  const std::string trained =
      lost > 0.0 ? fmt::format("; {} of the steps are trained, {:.2g} % are left out",
                               with_commas(config.trained_steps()), lost)
                 : "";
  return fmt::format("{}: {}{} steps give {}{} update{}{}{}{}",
                     is_beyond(kBudgetWarning, budget) ? "Warning" : "Note",
                     cell.empty() ? "" : cell + ": ", with_commas(config.total_timesteps),
                     few ? "only " : "", with_commas(updates), updates == 1 ? "" : "s", advised,
                     trained, advice);
}

std::string longer_run_words(const Config& config) {
  return fmt::format(": choose total_timesteps = {}", with_longer_run(config).total_timesteps);
}

}  // namespace

int next_fewer_envs(const Config& config) {
  const std::int64_t steps = config.total_timesteps / config.num_steps;
  const int families = std::max(1, config.seed_families);
  const std::int64_t updates = steps / config.num_envs + 1;
  const std::int64_t envs = steps / updates / families * families;
  const std::int64_t least =
      config.minibatch_size > 0 ? config.minibatch_size : config.num_minibatches;
  return envs * config.num_steps < least ? 0 : static_cast<int>(envs);
}

Budget budget_of(const Config& config) {
  const auto total = static_cast<double>(config.total_timesteps);
  const auto trained = static_cast<double>(config.trained_steps());
  return {(total - trained) / total, static_cast<double>(config.num_iterations())};
}

std::string budget_warning(const Config& config) {
  if (is_fine(config)) return "";
  const int envs = fewer_envs(config);
  return warning(
      config, "",
      longer_run_words(config) + (envs > 0 ? fmt::format(", or num_envs = {}", envs) : ""));
}

std::string budget_warning(const Config& config, const std::string& cell, bool advises) {
  if (is_fine(config)) return "";
  return warning(config, cell, advises ? longer_run_words(config) : "");
}

std::int64_t common_budget(const std::vector<Config>& configs) {
  if (configs.empty()) return 0;
  std::int64_t steps = configs.front().total_timesteps;
  for (std::size_t fine = 0; fine < configs.size();) {
    fine = 0;
    for (Config config : configs) {
      if (config.total_timesteps != configs.front().total_timesteps) return 0;
      config.total_timesteps = steps;
      if (is_fine(config)) {
        fine += 1;
      } else {
        steps = with_longer_run(config).total_timesteps;
      }
    }
  }
  return steps;
}

}  // namespace broadloom
