// From evidence to advice, in numbers and in words. Pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "research/advise/evidence.h"

namespace broadloom {

enum class AdviceVerdict {
  kReached,     // the advised setting reached the threshold with at least half of its seeds
  kNotReached,  // it learnt something, but did not reach the threshold
  kNothing      // nothing did better than the untrained policy: there is no advice
};
const char* verdict_name(AdviceVerdict verdict);  // "reached", "not reached", "nothing learnt"

struct RunnerUp {
  std::size_t candidate = 0;
  Estimate advised_is_better;  // probability, for one training of each
  bool told_apart = false;     // whether it differs significantly from the advised one
};

// The best of the evidence's changes of shape.
struct ChangeAdvice {
  std::size_t change = 0;  // 0: none was ahead of the unchanged setting
  Estimate is_better;      // that it beats the unchanged setting; if it is 0, the next change
  bool is_taken = false;   // whether it is advised: ahead, and significantly different
};

struct Advice {
  AdviceVerdict verdict = AdviceVerdict::kNothing;
  // Tried candidates of the evidence, the advised one first: the best of those that learnt.
  std::vector<std::size_t> order;
  double threshold = kNotKnown;    // the threshold for all times
  Estimate cost;                   // to the threshold, over trials that reached it; see `reached`
  Estimate steps;                  // the same in environment steps
  int reached = 0, trials = 0;     // of the advised setting
  int broken = 0;                  // broken trials among them
  double horizon = 0.0;            // cost to which its trials were run
  double last_return = kNotKnown;  // mean of their last evaluations
  std::vector<RunnerUp> runners_up;
  std::optional<RunnerUp> against_default;  // if the default was tried and is not advised
  std::optional<ChangeAdvice> change;       // if changes were tried

  std::string answer;    // the settings to train with
  std::string expected;  // when the threshold is reached
  std::vector<std::string> because;
  std::vector<std::string> tried;  // the candidates, and the measurements behind them
  std::vector<std::string> changes_mind;
  std::vector<std::string> not_known;
};

Advice advice_of(const AdviceEvidence& evidence);

}  // namespace broadloom
