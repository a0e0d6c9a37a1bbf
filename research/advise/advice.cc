#include "research/advise/advice.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <utility>

#include "research/advise/advice_texts.h"
#include "research/advise/answer_words.h"
#include "research/advise/doubt_words.h"
#include "research/advise/ranking.h"
#include "research/advise/reason_words.h"
#include "research/advise/reprobe.h"

namespace broadloom {
namespace {

constexpr std::size_t kRunnersUp = 2;

// Candidates that stayed in the race longest come first, then those with more seeds. Among
// candidates that were treated alike, the better ones come first.
std::vector<std::size_t> race_order(const AdviceEvidence& evidence, double threshold) {
  std::map<std::pair<int, std::size_t>, std::vector<std::size_t>, std::greater<>> groups;
  for (std::size_t c = 0; c < evidence.candidates.size(); ++c) {
    const CandidateEvidence& candidate = evidence.candidates[c];
    groups[{candidate.rungs, candidate.trials.size()}].push_back(c);
  }
  std::vector<std::size_t> order;
  for (const auto& [treated, group] : groups) {
    for (const std::size_t c : ranked(evidence, group, threshold)) order.push_back(c);
  }
  return order;
}

void put_first(std::vector<std::size_t>& order, std::vector<std::size_t>::iterator place) {
  if (place != order.end()) std::rotate(order.begin(), place, place + 1);
}

std::vector<std::size_t> order_by_rule(const AdviceEvidence& evidence, double threshold) {
  std::vector<std::size_t> order = race_order(evidence, threshold);
  if (evidence.rule == AdviceRule::kRace) return order;
  put_first(order, std::find(order.begin(), order.end(), evidence.chosen));
  return order;
}

// Advises a setting that learnt before one that did not. A setting with a broken training may
// otherwise be before others.
std::vector<std::size_t> order_of(const AdviceEvidence& evidence, double threshold) {
  std::vector<std::size_t> order = order_by_rule(evidence, threshold);
  put_first(order, std::find_if(order.begin(), order.end(),
                                [&](std::size_t c) { return has_learnt(evidence, c); }));
  return order;
}

Estimate estimate_of(const std::vector<double>& values) {
  return values.empty() ? without_interval(kNotKnown, 0) : mean_of(values);
}

void add_times(const AdviceEvidence& evidence, Advice& advice) {
  const CandidateEvidence& advised = evidence.candidates[advice.order.front()];
  advice.horizon = common_horizon(evidence, {advice.order.front()}, advice.threshold);
  std::vector<double> costs, steps, lasts;
  for (const TrialCurve& trial : advised.trials) {
    if (!trial.error.empty()) {
      ++advice.broken;
      continue;
    }
    if (!trial.points.empty()) lasts.push_back(trial.points.back().mean_return);
    if (std::isnan(advice.threshold)) continue;
    const auto reached_at = steps_to_threshold(
        trial, advice.threshold, trial.points.empty() ? 0 : trial.points.back().global_step);
    if (!reached_at) continue;
    steps.push_back(static_cast<double>(*reached_at));
    costs.push_back(cost_of(evidence, advised, *reached_at));
  }
  advice.trials = static_cast<int>(advised.trials.size());
  advice.reached = static_cast<int>(costs.size());
  advice.cost = estimate_of(costs);
  advice.steps = estimate_of(steps);
  advice.last_return = estimate_of(lasts).value;
}

AdviceVerdict verdict_of(const AdviceEvidence& evidence, const Advice& advice) {
  if (advice.order.empty() || !has_learnt(evidence, advice.order.front())) {
    return AdviceVerdict::kNothing;
  }
  return advice.reached > 0 && 2 * advice.reached >= advice.trials ? AdviceVerdict::kReached
                                                                   : AdviceVerdict::kNotReached;
}

void add_rivals(const AdviceEvidence& evidence, Advice& advice) {
  const std::size_t advised = advice.order.front();
  for (std::size_t i = 1; i < advice.order.size(); ++i) {
    const std::size_t other = advice.order[i];
    const bool is_default = evidence.candidates[other].is_default;
    if (i > kRunnersUp && !is_default) continue;
    const TrialComparison found = compare_trials(evidence, advised, other, advice.threshold);
    const RunnerUp rival{other, found.a_is_better, found.told_apart};
    if (i <= kRunnersUp) advice.runners_up.push_back(rival);
    if (is_default) advice.against_default = rival;
  }
}

// A change is advised only if it differs significantly, because one shape is simpler.
void add_change(const AdviceEvidence& evidence, Advice& advice) {
  if (evidence.changes.size() < 2) return;
  const AdviceEvidence changes = with_changes(evidence);
  const std::vector<std::size_t> order = race_order(changes, advice.threshold);
  if (order.empty()) return;
  ChangeAdvice change;
  change.change = order.front();
  const std::size_t next = order.size() > 1 ? order[1] : 0;
  const std::size_t rival = change.change > 0 ? 0 : next;
  const TrialComparison found = compare_trials(changes, change.change, rival, advice.threshold);
  change.is_better = found.a_is_better;
  change.is_taken = change.change > 0 && found.told_apart && change.is_better.value > 0.5;
  advice.change = change;
}

void add_words(const AdviceEvidence& evidence, Advice& advice) {
  advice.answer = answer_text(evidence, advice);
  advice.expected = expected_text(evidence, advice);
  if (advice.verdict != AdviceVerdict::kNothing) {
    advice.because = reason_sentences(evidence, advice);
  }
  if (evidence.rule == AdviceRule::kRace) advice.tried = tried_texts(evidence);
  advice.changes_mind = doubt_sentences(evidence, advice);
  advice.not_known = unknown_sentences(evidence, advice);
}

}  // namespace

const char* verdict_name(AdviceVerdict verdict) {
  switch (verdict) {
    case AdviceVerdict::kReached:
      return "reached";
    case AdviceVerdict::kNotReached:
      return "not reached";
    case AdviceVerdict::kNothing:
      break;
  }
  return "nothing learnt";
}

Advice advice_of(const AdviceEvidence& evidence) {
  Advice advice;
  advice.threshold = speed_threshold(evidence);
  advice.order = order_of(evidence, advice.threshold);
  if (!advice.order.empty()) add_times(evidence, advice);
  advice.verdict = verdict_of(evidence, advice);
  if (advice.verdict != AdviceVerdict::kNothing) {
    add_rivals(evidence, advice);
    add_change(evidence, advice);
  }
  add_words(evidence, advice);
  return advice;
}

}  // namespace broadloom
