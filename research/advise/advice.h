// From evidence to advice, in numbers and in words. Pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "research/advise/evidence.h"

namespace broadloom {

enum class AdviceVerdict {
  kReached,     // the advised setting was at the threshold with at least half of its seeds
  kNotReached,  // it learnt something, and was not there
  kNothing      // nothing did better than the untrained policy: there is no advice
};
const char* verdict_name(AdviceVerdict verdict);  // "reached", "not reached", "nothing learnt"

struct RunnerUp {
  std::size_t candidate = 0;
  Estimate advised_is_better;  // probability, of one training of each
  bool told_apart = false;     // from the advised one
};

// The best of the evidence's changes of shape.
struct ChangeAdvice {
  std::size_t change = 0;  // 0: none was ahead of the setting that does not change
  Estimate is_better;      // probability that it does better than that one, or the next if none
  bool is_taken = false;   // whether it is advised: ahead, and told apart
};

struct Advice {
  AdviceVerdict verdict = AdviceVerdict::kNothing;
  // Candidates of the evidence that were tried, the advised first: of those that learnt the best.
  std::vector<std::size_t> order;
  double threshold = kNotKnown;    // that times are measured against
  Estimate cost;                   // to the threshold, of the trials that were there; see `reached`
  Estimate steps;                  // the same in environment steps
  int reached = 0, trials = 0;     // of the advised setting
  int broken = 0;                  // of these trials
  double horizon = 0.0;            // cost that its trials were run to
  double last_return = kNotKnown;  // mean of their last evaluations
  std::vector<RunnerUp> runners_up;
  std::optional<RunnerUp> against_default;  // where that was tried and is not advised
  std::optional<ChangeAdvice> change;       // where changes were tried

  std::string answer;    // what to train with
  std::string expected;  // when the threshold is met
  std::vector<std::string> because;
  std::vector<std::string> changes_mind;
  std::vector<std::string> not_known;
};

Advice advice_of(const AdviceEvidence& evidence);

}  // namespace broadloom
