// What is asked of advice.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "broadloom/config/config.h"
#include "broadloom/core/status.h"
#include "research/advise/evidence.h"

namespace broadloom {

// How fast one setting trains, from an earlier advice.
struct KnownSpeed {
  Candidate candidate;  // whose learning rate does not count
  double steps_per_second = 0.0;
};

struct AdviceOptions {
  AdviceGoal goal = AdviceGoal::kSpeed;
  AdviceRule rule = AdviceRule::kRace;
  std::optional<double> threshold;  // of an evaluation's mean return; else the task's own
  double seconds = 60.0;
  // 0: `seconds` are the budget. Otherwise so many environment steps of training are, over all
  // trials; the clock then decides nothing, and costs are environment steps unless speeds are
  // known.
  std::int64_t steps = 0;
  std::vector<KnownSpeed> speeds;  // only with `steps`: of every candidate; empty: not known
  int seeds = 3;                   // of each candidate in the race
  bool reprobe = false;            // whether to try other shapes from half-way on, too
  int threads = 1;                 // that trials share, and that speeds are measured on
};

// Ranges, and what goes with what.
Status check_options(const AdviceOptions& options);

}  // namespace broadloom
