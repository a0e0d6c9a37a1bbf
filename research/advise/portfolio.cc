#include "research/advise/portfolio.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "broadloom/config/keys.h"
#include "broadloom/setup/algorithms.h"
#include "broadloom/setup/resolve_config.h"

namespace broadloom {
namespace {

// One row of the table. rate: times the task's default.
struct PortfolioRow {
  int num_envs, num_steps, minibatch_size, update_epochs;
  double rate;
};

// Most are among the best of experiments/advice/tune.toml. It ran 160 settings on CartPole and
// Pendulum, on two cores with AVX-512. The best have the smallest mean logarithm of the seconds to
// the threshold.
//
// Other rows have more environments, larger minibatches, other epochs and the smallest rates, for
// machines with more cores and other tasks. The order is that of trust: if the budget has no room
// for all, the last ones are left out.
constexpr PortfolioRow kRows[] = {
    {4, 256, 64, 1, 12},    {16, 64, 256, 1, 12},  {16, 256, 256, 1, 12}, {64, 64, 64, 1, 4},
    {4, 256, 256, 4, 12},   {16, 256, 256, 1, 40}, {4, 64, 64, 1, 4},     {16, 256, 64, 1, 12},
    {4, 64, 64, 4, 1},      {4, 256, 64, 4, 4},    {64, 16, 64, 1, 40},   {16, 16, 64, 4, 4},
    {256, 16, 1024, 4, 16}, {16, 64, 256, 10, 4},  {128, 16, 512, 1, 12}, {64, 16, 64, 1, 1},
    {16, 256, 64, 1, 4},    {16, 256, 256, 1, 4},  {4, 256, 256, 4, 4},   {4, 64, 256, 1, 12},
    {4, 256, 256, 1, 40},   {16, 64, 64, 1, 4},    {64, 16, 64, 1, 4},    {16, 16, 64, 1, 12},
    {4, 256, 64, 4, 1},     {16, 64, 64, 4, 1},    {64, 32, 512, 4, 8},   {64, 16, 256, 1, 12},
    {16, 64, 256, 1, 40},   {16, 16, 64, 1, 4},
};

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
                      const PortfolioRow& row) {
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

Result<Portfolio> make_portfolio(const Config& base, const Overrides& given) {
  BROADLOOM_TRY(check_schedules(base, given));
  Portfolio portfolio;
  portfolio.held = held_keys(given);
  Config constant = base;
  constant.lr_schedule = "constant";
  portfolio.entrants.push_back({candidate_of(constant), true, constant});
  for (const PortfolioRow& row : kRows) {
    const Config config = entrant_config(constant, portfolio.held, row);
    const Candidate candidate = candidate_of(config);
    // Held settings may be incompatible with this shape, such as families that do not divide N.
    const bool is_new =
        std::none_of(portfolio.entrants.begin(), portfolio.entrants.end(),
                     [&](const Entrant& entrant) { return entrant.candidate == candidate; });
    if (is_new && check_config(config).ok()) {
      portfolio.entrants.push_back({candidate, false, config});
    }
  }
  if (portfolio.entrants.size() > 1) return portfolio;
  return invalid(
      "num_envs, num_steps, minibatches, update_epochs and learning_rate are all set: nothing is "
      "left to advise on; leave one of them open");
}

}  // namespace broadloom
