#include <algorithm>
#include <cstdint>
#include <utility>

#include "research/advise/gather.h"
#include "research/advise/laboratory.h"
#include "research/advise/lineup.h"
#include "research/advise/race.h"
#include "research/advise/trial.h"

namespace broadloom {
namespace {

// Shares of the budget.
constexpr double kProbeShare = 0.2, kProbeLaboratoryShare = 0.4;
constexpr double kRaceShare = 1.0 - kProbeShare - kProbeLaboratoryShare;
constexpr std::int64_t kProbeSteps = 20000;

// The gradients of a policy after a short training at the defaults.
GradientEvidence probe(const Inquiry& inquiry, const Entrant& defaults, double steps_per_second) {
  AdviceBudget& total_budget = inquiry.total_budget;
  Trial trial(defaults.config, inquiry.base.seed, inquiry.evidence.eval_episodes);
  total_budget.tell("probing the defaults");
  const PhaseBudget budget = total_budget.phase(kProbeShare, kProbeShare);
  const std::int64_t steps =
      total_budget.counts_steps() ? std::min(kProbeSteps, budget.steps) : kProbeSteps;
  total_budget.add_steps(trial.go_on_to(std::max<std::int64_t>(1, steps), [&] {
    return total_budget.is_over() ||
           (!total_budget.counts_steps() && total_budget.elapsed() > budget.end_seconds);
  }));
  if (trial.trainer() != nullptr) {
    return measure_gradients(
        *trial.trainer(), laboratory_steps(total_budget, kProbeLaboratoryShare, steps_per_second),
        inquiry.options.threads, total_budget);
  }
  GradientEvidence none;
  none.why_not = "the probe did not train: " + trial.curve().error;
  return none;
}

// Tries the choice beside the defaults.
Status try_choice(const Inquiry& inquiry, const Entrant& defaults, const Candidate& chosen) {
  AdviceEvidence& evidence = inquiry.evidence;
  std::vector<Entrant> entrants{defaults};
  if (!(chosen == defaults.candidate)) {
    entrants.push_back({chosen, false, config_of(inquiry.base, chosen), {}});
  }
  Lineup lineup(std::move(entrants), inquiry.options, inquiry.total_budget);
  BROADLOOM_TRY(lineup.find_speeds());
  evidence.left_out = lineup.left_out();
  evidence.candidates = lineup.candidates(evidence.counts_seconds);
  if (lineup.entrants().empty()) return {};  // stopped
  evidence.chosen = lineup.entrants().size() - 1;
  if (!(lineup.entrants().back().candidate == chosen)) {
    evidence.notes.push_back("What the laboratory chose, " + candidate_text(chosen) +
                             (inquiry.options.known.speeds.empty()
                                  ? ", does not train: a loss was not finite."
                                  : ", was not tried: its speed is not known."));
  }
  Race race(lineup.entrants(), evidence, inquiry.total_budget, inquiry.jobs);
  race.run(inquiry.total_budget.phase(1.0, kRaceShare));
  return {};
}

}  // namespace

Status measure_by_gradient(const Inquiry& inquiry, const Entrant& defaults) {
  const AdviceBudget& total_budget = inquiry.total_budget;
  AdviceEvidence& evidence = inquiry.evidence;
  Lineup alone({defaults}, inquiry.options, inquiry.total_budget);
  if (total_budget.counts_steps()) BROADLOOM_TRY(alone.check_steps(kRaceShare));
  BROADLOOM_TRY(alone.find_speeds());
  if (alone.entrants().empty()) {
    return invalid("the task's defaults do not train: a loss is not finite");
  }
  const double speed = alone.speeds().front();
  evidence.gradient = probe(inquiry, defaults, speed);
  const double affordable = total_budget.counts_steps() ? static_cast<double>(total_budget.steps())
                                                        : total_budget.seconds() * speed;
  const GradientChoice choice =
      choose_by_gradient(evidence.gradient, defaults.candidate, evidence.held, affordable);
  evidence.rule_words = choice.words;
  return try_choice(inquiry, defaults, choice.candidate);
}

}  // namespace broadloom
