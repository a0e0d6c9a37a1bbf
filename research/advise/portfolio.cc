#include "research/advise/portfolio.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "broadloom/setup/algorithms.h"
#include "broadloom/setup/resolve_config.h"
#include "research/advise/candidates.h"

namespace broadloom {
namespace {

constexpr const char* kShapeKeys[] = {"num_envs", "num_steps"};
constexpr const char* kOtherKeys[] = {"num_minibatches", "minibatch_size", "update_epochs",
                                      "learning_rate"};

bool is_given(const Overrides& given, std::string_view key) {
  return std::any_of(given.begin(), given.end(), [&](const auto& e) { return e.first == key; });
}

std::vector<std::string> held_keys(const Overrides& given) {
  std::vector<std::string> held;
  for (const char* key : kShapeKeys) {
    if (is_given(given, key)) held.emplace_back(key);
  }
  for (const char* key : kOtherKeys) {
    if (is_given(given, key)) held.emplace_back(key);
  }
  return held;
}

Status check_schedules(const Config& base, const Overrides& given) {
  const std::string tried = "what is advised is what was tried, and that is trained for a while";
  if (!base.shape_schedule.empty()) {
    return invalid(fmt::format("shape_schedule: got {}; {}; leave it out",
                               to_text(base.shape_schedule), tried));
  }
  for (const char* key : {"learning_rate_end", "schedule_timesteps", "stop_at_return"}) {
    if (!is_given(given, key)) continue;
    return invalid(
        fmt::format("{} was given, which is about the end of a run: {}; leave it out", key, tried));
  }
  const bool asked = is_given(given, "lr_schedule") || is_given(given, "anneal_lr");
  if (asked && base.lr_schedule != "constant") {
    return invalid(
        fmt::format("lr_schedule: got {}; expected constant: {}, without an end that a "
                    "rate could fall to",
                    base.lr_schedule, tried));
  }
  Config constant = base;
  constant.lr_schedule = "constant";
  const std::optional<FallingValue> falls = falling_value(constant);
  if (!falls) return {};
  return invalid(
      fmt::format("{}: the {} falls over a run, and trials have no end: {}; hold it constant",
                  falls->setting, falls->words, tried));
}

Config entrant_config(const Config& base, const std::vector<std::string>& held,
                      const CandidateRow& row) {
  Config config = base;
  if (!is_held(held, "num_envs")) config.num_envs = row.num_envs;
  if (!is_held(held, "num_steps")) config.num_steps = row.num_steps;
  if (!is_held(held, "minibatch_size") && !is_held(held, "num_minibatches")) {
    config.minibatch_size =
        static_cast<int>(std::min<std::int64_t>(row.minibatch_size, config.batch_size()));
  }
  if (!is_held(held, "update_epochs")) {
    config.update_epochs = row.update_epochs;
  }
  if (!is_held(held, "learning_rate")) config.learning_rate = base.learning_rate * row.rate;
  return config;
}

// Share of the whole run. Half a step is subtracted, so that rounding never leads to the next
// block.
double share_of(std::int64_t steps, const Config& config) {
  return (static_cast<double>(steps) - 0.5) / static_cast<double>(config.total_timesteps);
}

}  // namespace

bool is_held(const std::vector<std::string>& held, std::string_view key) {
  return std::find(held.begin(), held.end(), key) != held.end();
}

Candidate candidate_of(const Config& config) {
  return {config.num_envs, config.num_steps, static_cast<int>(config.largest_minibatch()),
          config.update_epochs, config.learning_rate};
}

Config config_of(const Config& base, const Candidate& candidate) {
  Config config = base;
  config.num_envs = candidate.num_envs;
  config.num_steps = candidate.num_steps;
  config.minibatch_size = candidate.minibatch_size;
  config.update_epochs = candidate.update_epochs;
  config.learning_rate = candidate.learning_rate;
  config.lr_schedule = "constant";
  config.shape_schedule = {};
  const ShapeChange& then = candidate.then;
  if (candidate.changes()) {
    config.shape_schedule.phases = {
        {{candidate.num_envs, candidate.num_steps}, candidate.minibatch_size, 0.0},
        {{then.num_envs, then.num_steps}, then.minibatch_size, share_of(then.after, config)}};
  }
  return config;
}

double scaled_learning_rate(double rate, double batch, double other_batch) {
  return rate * std::sqrt(other_batch / batch);
}

Result<Portfolio> make_portfolio(const Config& base, const Overrides& given, TaskKind kind) {
  BROADLOOM_TRY(check_schedules(base, given));
  Portfolio portfolio;
  portfolio.held = held_keys(given);
  Config constant = base;
  constant.lr_schedule = "constant";
  portfolio.entrants.push_back({candidate_of(constant), true, constant, "the task's defaults"});
  for (const CandidateRow& row : candidate_rows(kind)) {
    const Config config = entrant_config(constant, portfolio.held, row);
    const Candidate candidate = candidate_of(config);
    const auto same =
        std::find_if(portfolio.entrants.begin(), portfolio.entrants.end(),
                     [&](const Entrant& entrant) { return entrant.candidate == candidate; });
    const bool is_new = same == portfolio.entrants.end();
    if (!is_new && same->is_default && portfolio.held.empty()) same->why = row.why;
    // Held settings may be incompatible with this shape, such as families that do not divide N.
    if (is_new && check_config(config).ok()) {
      portfolio.entrants.push_back({candidate, false, config, row.why});
    }
  }
  if (portfolio.entrants.size() > 1) return portfolio;
  return invalid(
      "num_envs, num_steps, minibatches, update_epochs and learning_rate are all set: nothing is "
      "left to advise on; leave one of them open");
}

}  // namespace broadloom
