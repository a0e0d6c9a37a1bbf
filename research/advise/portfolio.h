// The settings that a race starts with.
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
};

struct Portfolio {
  std::vector<Entrant> entrants;  // the default first, then as the table has them, each once
  std::vector<std::string>
      held;  // keys of a candidate that the caller set: no entrant changes them
};

bool is_held(const std::vector<std::string>& held, std::string_view key);

// Entrants for a task. given: what the caller set, in the order given, of which `base` is made;
// what stands in it of N, T, M, K and the learning rate is held. kInvalidConfig where that leaves
// nothing to choose, or where the config asks for what is not tried here: schedules of the learning
// rate or the shape, and what else depends on how long a run will be.
Result<Portfolio> make_portfolio(const Config& base, const Overrides& given);

// The config of one candidate, without regard to what is held. Where its shape changes, that is a
// share of base.total_timesteps.
Config config_of(const Config& base, const Candidate& candidate);
// What a config trains with.
Candidate candidate_of(const Config& config);

// How a learning rate that suits one batch is carried over to another: by the root of their ratio.
// The one place that has this law; the race does not use it.
double scaled_learning_rate(double rate, double batch, double other_batch);

}  // namespace broadloom
