// Planted evidence with a known right advice.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "research/advise/evidence.h"

namespace broadloom {

// Evaluations after 1,000, 2,000, ... environment steps.
inline TrialCurve curve(std::uint64_t seed, const std::vector<double>& returns) {
  TrialCurve trial;
  trial.seed = seed;
  for (const double x : returns) {
    trial.points.push_back({static_cast<std::int64_t>(1000 * (trial.points.size() + 1)), x, 0});
  }
  return trial;
}

inline CandidateEvidence tried(const Candidate& candidate, double steps_per_second, int rungs,
                               const std::vector<std::vector<double>>& returns) {
  CandidateEvidence out;
  out.candidate = candidate;
  out.steps_per_second = steps_per_second;
  out.rungs = rungs;
  for (const std::vector<double>& of_seed : returns) {
    out.trials.push_back(curve(out.trials.size() + 1, of_seed));
  }
  return out;
}

// A task with a threshold of 100, whose untrained policy returns 0, on a machine with 1,000
// steps/s.
inline AdviceEvidence planted_task() {
  AdviceEvidence evidence;
  evidence.env_id = "Planted-v0";
  evidence.max_episode_steps = 100;
  evidence.threshold = 100.0;
  evidence.threshold_source = "task";
  evidence.untrained = {0.0, -5.0, 5.0, 10};
  evidence.budget_seconds = evidence.spent_seconds = 60.0;
  evidence.threads = evidence.speeds_from.threads = 2;
  evidence.seeds = 3;
  return evidence;
}

constexpr Candidate kWide{64, 16, 256, 4, 1e-3}, kLong{8, 128, 256, 4, 1e-3},
    kFast{64, 16, 256, 4, 4e-3}, kUsual{4, 128, 128, 4, 2.5e-4};

// kWide reaches the threshold after 2 s with each seed, kLong after 3 s, kFast never; the default
// left in the first rung.
inline AdviceEvidence planted_race() {
  AdviceEvidence evidence = planted_task();
  evidence.candidates = {
      tried(kUsual, 1000.0, 1, {{1, 2}, {2, 3}, {3, 4}}),
      tried(kLong, 1000.0, 2,
            {{20, 60, 100, 120, 110}, {20, 60, 110, 120, 110}, {10, 50, 130, 120, 110}}),
      tried(kWide, 1000.0, 2, {{50, 110, 120, 110}, {60, 120, 130, 110}, {40, 105, 120, 110}}),
      tried(kFast, 1000.0, 2, {{50, 60, 70, 80}, {50, 60, 70, 80}, {50, 60, 70, 80}})};
  evidence.candidates.front().is_default = true;
  evidence.rungs = {{2.0, 4}, {4.0, 3}};
  evidence.gradient.why_not = "it was not asked";
  return evidence;
}

// Whether one of the texts has all the words.
inline bool says(const std::vector<std::string>& texts, std::initializer_list<const char*> words) {
  for (const std::string& text : texts) {
    bool all = true;
    for (const char* word : words) all = all && text.find(word) != std::string::npos;
    if (all) return true;
  }
  return false;
}

}  // namespace broadloom
