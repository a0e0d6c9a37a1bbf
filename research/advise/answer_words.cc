#include "research/advise/answer_words.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "research/advise/advice_texts.h"

namespace broadloom {
namespace {

std::string no_answer(const AdviceEvidence& evidence, const Advice& advice) {
  if (advice.order.empty()) {
    return fmt::format("No advice: after {} nothing had been evaluated.", budget_text(evidence));
  }
  double best = kNotKnown;
  int unfinished = 0;
  for (const CandidateEvidence& candidate : evidence.candidates) {
    for (const TrialCurve& trial : candidate.trials) {
      if (trial.points.empty()) continue;
      best = std::fmax(best, trial.points.back().mean_return);
      unfinished += trial.points.back().unfinished > 0 ? 1 : 0;
    }
  }
  const std::string cut =
      unfinished == 0
          ? ""
          : fmt::format(
                " In {} of the trainings the episodes of the last evaluation did not end, "
                "and were cut: such a policy has not learnt the task.",
                unfinished);
  return fmt::format(
      "No advice: after {} none of {} settings of {} did better than the untrained policy, whose "
      "{} "
      "episodes returned {} on average ({} to {}); the best of all trainings reached {}.{}",
      budget_text(evidence), advice.order.size(), evidence.env_id, evidence.untrained.count,
      return_text(evidence.untrained.value), return_text(evidence.untrained.low),
      return_text(evidence.untrained.high), return_text(best), cut);
}

// For a setting that does not reach the threshold reliably.
std::string so_far_text(const Advice& advice) {
  const std::size_t others = advice.order.size() - 1;
  if (others == 0) return "";
  const bool is_clear = advice.runners_up.empty() || advice.runners_up.front().told_apart;
  return fmt::format(" It led {} other{} when the budget ended{}.", others, others == 1 ? "" : "s",
                     is_clear ? "" : ", though not clearly");
}

std::string then_text(const AdviceEvidence& evidence, const Advice& advice) {
  if (!advice.change || !advice.change->is_taken) return "";
  return ", then " + change_text(evidence.changes[advice.change->change].candidate.then);
}

std::string machine_text(const AdviceEvidence& evidence) {
  if (!evidence.counts_seconds) return "";
  return " of training " + place_text(evidence.speeds_from);
}

std::string threshold_text(const AdviceEvidence& evidence, const Advice& advice) {
  const std::string value = return_text(advice.threshold);
  if (evidence.threshold_source == "given") return value + ", as asked for,";
  if (evidence.threshold_source == "task") return value + ", the task's own threshold,";
  return value + fmt::format(", 90 % of the way from the untrained policy's {} to the best seen,",
                             return_text(evidence.untrained.value));
}

constexpr int kFewestOfInterval = 5;  // fewer numbers say almost nothing about their spread

std::string interval_text(const AdviceEvidence& evidence, const Estimate& cost, int trials) {
  const std::string seeds_text = fmt::format("{} of {} seeds", cost.count, trials);
  if (std::isnan(cost.low) || cost.count < kFewestOfInterval) return "in " + seeds_text;
  return fmt::format("{} to {}, 95 % interval over {}",
                     cost_text(evidence, std::max(0.0, cost.low)), cost_text(evidence, cost.high),
                     seeds_text);
}

// The mean time covers only seeds that reached the threshold; the others would make it longer.
std::string late_text(const AdviceEvidence& evidence, const Advice& advice) {
  const int late = advice.trials - advice.reached;
  if (late == 0) return "";
  return fmt::format(" The other {} not there by {}, so a training may well take longer.",
                     late == 1 ? "seed was" : fmt::format("{} seeds were", late),
                     cost_text(evidence, advice.horizon));
}

}  // namespace

std::string answer_text(const AdviceEvidence& evidence, const Advice& advice) {
  if (advice.verdict == AdviceVerdict::kNothing) return no_answer(evidence, advice);
  const CandidateEvidence& advised = evidence.candidates[advice.order.front()];
  const bool is_open = advice.verdict == AdviceVerdict::kNotReached &&
                       evidence.goal == AdviceGoal::kSpeed && evidence.rule == AdviceRule::kRace;
  const bool is_worse = evidence.rule == AdviceRule::kGradient && advice.against_default &&
                        advice.against_default->advised_is_better.value < 0.5;
  if (is_worse) {
    return fmt::format(
        "The laboratory's rule says {} for {}; but in the trials that followed {}, {}, did better.",
        candidate_text(advised.candidate), evidence.env_id,
        defaults_text(evidence, "the task's defaults"),
        candidate_text(evidence.candidates[advice.against_default->candidate].candidate));
  }
  const std::string so_far = is_open ? so_far_text(advice) : "";
  return fmt::format(
      "Train {} with {} x {} (N x T), minibatches of {}, {} epoch{} and a constant "
      "learning rate of {:.3g}{}{}.{}",
      evidence.env_id, advised.candidate.num_envs, advised.candidate.num_steps,
      advised.candidate.minibatch_size, advised.candidate.update_epochs,
      advised.candidate.update_epochs == 1 ? "" : "s", advised.candidate.learning_rate,
      advised.is_default ? ", which are " + defaults_text(evidence, "its defaults") : "",
      then_text(evidence, advice), so_far);
}

std::string expected_text(const AdviceEvidence& evidence, const Advice& advice) {
  if (advice.verdict == AdviceVerdict::kNothing) return "";
  const std::string last = return_text(advice.last_return);
  const std::string untrained = return_text(evidence.untrained.value);
  const bool reached = advice.verdict == AdviceVerdict::kReached;
  if (evidence.goal == AdviceGoal::kReturn) {
    return fmt::format(
        "Its evaluations reached {} after {}{}, mean over {} seed{}, from {} untrained.", last,
        cost_text(evidence, advice.horizon), machine_text(evidence), advice.trials,
        advice.trials == 1 ? "" : "s", untrained);
  }
  if (!reached) {
    return fmt::format(
        "It was not at {} within {}{} with most of its seeds ({} of {} were): its evaluations came "
        "to {}, from {} untrained.",
        threshold_text(evidence, advice), cost_text(evidence, advice.horizon),
        machine_text(evidence), advice.reached, advice.trials, last, untrained);
  }
  const std::string steps = evidence.counts_seconds ? fmt::format(", {} environment steps",
                                                                  steps_text(advice.steps.value))
                                                    : "";
  return fmt::format("It was at {} after {}{}{} ({}).{}", threshold_text(evidence, advice),
                     cost_text(evidence, advice.cost.value), steps, machine_text(evidence),
                     interval_text(evidence, advice.cost, advice.trials),
                     late_text(evidence, advice));
}

}  // namespace broadloom
