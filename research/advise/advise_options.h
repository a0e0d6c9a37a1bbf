// Options of a request for advice.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "broadloom/config/config.h"
#include "broadloom/core/status.h"
#include "research/advise/evidence.h"

namespace broadloom {

// Training speeds from an earlier advice.
struct KnownSpeeds {
  struct Speed {
    Candidate candidate;  // its learning rate is ignored
    double steps_per_second = 0.0;
  };
  std::string file;  // in messages
  Overrides config;  // that advice's base config
  SpeedSource source;
  std::vector<Speed> speeds;  // empty: none are known
};

struct AdviceOptions {
  AdviceGoal goal = AdviceGoal::kSpeed;
  AdviceRule rule = AdviceRule::kRace;
  std::optional<TaskKind> kind;     // whose candidates to try; otherwise by the task and the device
  std::optional<double> threshold;  // on an evaluation's mean return; otherwise the task's own
  double seconds = 60.0;
  // 0: the budget is `seconds`. Otherwise it is this number of environment steps of training, over
  // all trials. The clock then decides nothing, and costs are environment steps unless speeds are
  // known.
  std::int64_t steps = 0;
  KnownSpeeds known;     // only with `steps`
  int seeds = 3;         // of each candidate in the race
  bool reprobe = false;  // whether to also try other shapes from half-way on
  int threads = 1;       // shared by trials, and used to measure speeds
};

// Checks ranges and combinations.
Status check_options(const AdviceOptions& options);

// kMismatch if the known speeds are of another task or of other settings than `base`. Settings that
// candidates choose, learning_rate and memory_limit may differ.
Status check_known_speeds(const KnownSpeeds& known, const Config& base);

}  // namespace broadloom
