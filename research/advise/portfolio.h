// The settings with which a race starts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "broadloom/config/config.h"
#include "broadloom/core/status.h"
#include "research/advise/evidence.h"

namespace broadloom {

// A candidate with the config that trains it.
struct Entrant {
  Candidate candidate;
  bool is_default = false;
  Config config;
  std::string_view why;  // the measurement behind it
};

struct Portfolio {
  std::vector<Entrant> entrants;  // the default first, then in the order of the table, each once
  std::vector<std::string>
      held;  // keys of a candidate that the caller set: no entrant changes them
};

bool is_held(const std::vector<std::string>& held, std::string_view key);

// Entrants for a task. given: settings of `base` that the caller set, in order; N, T, M, K and the
// learning rate among them are held. kind: whose candidates come first.
//
// kInvalidConfig if nothing is left to choose, or if the config has settings that are not tried
// here: schedules of the learning rate or the shape, and others that depend on a run's length.
Result<Portfolio> make_portfolio(const Config& base, const Overrides& given,
                                 TaskKind kind = TaskKind::kSmall);

// The config of one candidate, regardless of held settings. The time of a change of shape is a
// share of base.total_timesteps.
Config config_of(const Config& base, const Candidate& candidate);
// The advised settings of a config.
Candidate candidate_of(const Config& config);

// Scales a learning rate from one batch size to another, by the root of their ratio. This is the
// only place with this law; the race does not use it.
double scaled_learning_rate(double rate, double batch, double other_batch);

}  // namespace broadloom
