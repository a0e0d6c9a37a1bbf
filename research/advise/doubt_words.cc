#include "research/advise/doubt_words.h"

#include <fmt/core.h>

#include <algorithm>

#include "research/advise/advice_texts.h"
#include "research/advise/ranking.h"

namespace broadloom {
namespace {

// Whether every trial of the candidates was evaluated before the steps at which all are compared. A
// setting with many steps a second is first evaluated after more steps, and would seem behind.
bool is_seen(const AdviceEvidence& evidence, const std::vector<std::size_t>& candidates,
             double steps) {
  return std::all_of(candidates.begin(), candidates.end(), [&](std::size_t c) {
    const std::vector<TrialCurve>& trials = evidence.candidates[c].trials;
    return std::all_of(trials.begin(), trials.end(), [&](const TrialCurve& trial) {
      return !trial.points.empty() &&
             static_cast<double>(trial.points.front().global_step) <= steps;
    });
  });
}

// The leader if costs were environment steps; "" if the evaluations cannot show it.
std::string by_steps_text(const AdviceEvidence& evidence, const Advice& advice) {
  AdviceEvidence by_steps = evidence;
  by_steps.counts_seconds = false;
  const std::size_t finalists = 1 + advice.runners_up.size();
  const std::vector<std::size_t> best(
      advice.order.begin(), advice.order.begin() + static_cast<std::ptrdiff_t>(finalists));
  if (!is_seen(by_steps, best, common_horizon(by_steps, best, advice.threshold))) return "";
  const std::size_t first = ranked(by_steps, best, advice.threshold).front();
  return fmt::format(
      " By environment steps instead of seconds, {}.",
      first == advice.order.front()
          ? "it would be ahead of the runners-up, too"
          : candidate_text(evidence.candidates[first].candidate) + " would be ahead of it");
}

std::vector<std::string> what_would_change(const AdviceEvidence& evidence, const Advice& advice) {
  std::vector<std::string> out;
  if (evidence.rule == AdviceRule::kGradient && advice.order.front() != evidence.chosen &&
      !has_learnt(evidence, evidence.chosen)) {
    out.push_back(
        fmt::format("A training of the laboratory's choice that learns: {} did no better than the "
                    "untrained policy, so another setting is advised.",
                    candidate_text(evidence.candidates[evidence.chosen].candidate)));
  }
  if (advice.broken > 0) {
    out.push_back(fmt::format(
        "A training of yours that breaks down: {} of {} of the advised setting broke down (a loss "
        "that is not finite).",
        advice.broken, advice.trials));
  }
  for (const RunnerUp& rival : advice.runners_up) {
    if (rival.told_apart) continue;
    out.push_back(fmt::format(
        "More seeds: {} is not told apart from the advised setting, which does better with "
        "probability {}.",
        candidate_text(evidence.candidates[rival.candidate].candidate),
        probability_text(rival.advised_is_better)));
  }
  if (evidence.counts_seconds && advice.order.size() > 1) {
    const double speed = evidence.candidates[advice.order.front()].steps_per_second;
    out.push_back(fmt::format(
        "Another machine or number of threads: {} the advised setting makes {} steps/s.{}",
        place_text(evidence.speeds_from), steps_text(speed), by_steps_text(evidence, advice)));
  }
  if (advice.verdict == AdviceVerdict::kNotReached && evidence.goal == AdviceGoal::kSpeed) {
    out.emplace_back(
        "A longer budget: no setting was shown to meet the threshold, so returns on the way give "
        "the order.");
  }
  if (evidence.left_out > 0) {
    out.push_back(fmt::format(
        "A longer budget{}: {} of the portfolio {} left out.",
        evidence.speeds_from.cpu.empty() ? " or more memory" : ", more memory or known speeds",
        evidence.left_out == 1 ? "a setting" : fmt::format("{} settings", evidence.left_out),
        evidence.left_out == 1 ? "was" : "were"));
  }
  if (evidence.threshold_source == "best seen" && evidence.goal == AdviceGoal::kSpeed) {
    out.push_back(
        fmt::format("Another threshold: the task names none, and {} follows from the best "
                    "return that was seen; set another with --threshold.",
                    return_text(advice.threshold)));
  }
  return out;
}

// Suggestions if nothing learnt.
std::vector<std::string> ways_out(const AdviceEvidence& evidence, const Advice& advice) {
  if (evidence.interrupted && advice.order.empty()) {
    return {"Letting it go on: it was stopped before anything was evaluated."};
  }
  std::vector<std::string> out;
  out.emplace_back("A longer budget, as in --time 300s: some tasks pay nothing for long.");
  if (evidence.max_episode_steps <= 0) {
    out.emplace_back(
        "A time limit, as in --max_episode_steps 200: its episodes have none, and may be as long "
        "as a training.");
  }
  out.emplace_back(
      "Other settings than those that are advised on: exploration (--ent_coef), discount "
      "(--gamma), normalisation (--norm_obs, --norm_reward), or rewards that say more.");
  return out;
}

}  // namespace

std::vector<std::string> doubt_sentences(const AdviceEvidence& evidence, const Advice& advice) {
  return advice.verdict == AdviceVerdict::kNothing ? ways_out(evidence, advice)
                                                   : what_would_change(evidence, advice);
}

std::vector<std::string> unknown_sentences(const AdviceEvidence& evidence, const Advice& advice) {
  std::vector<std::string> out;
  if (evidence.interrupted) {
    out.push_back(fmt::format("It was stopped after {}, and answers from the results until then.",
                              budget_text(evidence)));
  }
  out.emplace_back(
      "Settings beside those that were tried; network, discount, lambda, entropy and clipping are "
      "as given.");
  if (evidence.rungs.size() > 1) {
    const Rung& first = evidence.rungs.front();
    const int left = first.candidates - evidence.rungs[1].candidates;
    if (left > 0) {
      out.push_back(fmt::format("Later results of the {} that left after {} of training.",
                                left == 1 ? "setting" : fmt::format("{} settings", left),
                                cost_text(evidence, first.cost)));
    }
  }
  if (advice.verdict != AdviceVerdict::kNothing) {
    out.push_back(fmt::format("What a training does after the {} that these were watched for.",
                              cost_text(evidence, advice.horizon)));
  }
  if (!evidence.gradient.why_not.empty()) {
    out.push_back(fmt::format("What the gradients are like: the laboratory measured nothing ({}).",
                              evidence.gradient.why_not));
  }
  if (!evidence.no_changes.empty()) {
    out.push_back(fmt::format("What another shape from half-way on would do: none was tried ({}).",
                              evidence.no_changes));
  }
  if (!evidence.deterministic) {
    out.emplace_back("What the same call would say again: the simulator is not deterministic.");
  }
  for (const std::string& note : evidence.notes) out.push_back(note);
  return out;
}

}  // namespace broadloom
