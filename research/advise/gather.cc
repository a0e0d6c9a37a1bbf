#include "research/advise/gather.h"

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "broadloom/core/number_text.h"
#include "research/advise/candidates.h"
#include "research/advise/portfolio.h"
#include "research/advise/trial.h"

namespace broadloom {
namespace {

constexpr int kEvalEpisodes = 10, kFewestEvalEpisodes = 3;
constexpr double kEvalShare = 0.002;  // of the budget, for one evaluation

// Evidence that holds only the request.
AdviceEvidence question_of(const Config& base, const AdviceOptions& options) {
  AdviceEvidence evidence;
  evidence.env_id = base.env_id;
  evidence.goal = options.goal;
  evidence.rule = options.rule;
  evidence.budget_seconds = options.steps > 0 ? 0.0 : options.seconds;
  evidence.budget_steps = options.steps;
  evidence.config = to_overrides(base);
  evidence.counts_seconds = options.steps == 0 || !options.known.speeds.empty();
  evidence.speeds_from =
      options.known.speeds.empty() ? SpeedSource{{}, options.threads} : options.known.source;
  evidence.threads = options.threads;
  evidence.seed = base.seed;
  evidence.seeds = options.seeds;
  return evidence;
}

// Fewer episodes if a simulator is slow. With a budget of steps, the clock decides nothing.
int episodes_for(double seconds_of_all, int threads, const AdviceBudget& total_budget) {
  if (total_budget.counts_steps()) return kEvalEpisodes;
  const double allowed = kEvalShare * total_budget.seconds() * threads;
  const double fitting = kEvalEpisodes * allowed / std::max(1e-9, seconds_of_all);
  return static_cast<int>(
      std::clamp(fitting, static_cast<double>(kFewestEvalEpisodes), 1.0 * kEvalEpisodes));
}

void add_threshold(const AdviceOptions& options, const EnvSpec& spec, AdviceEvidence& evidence) {
  if (options.threshold) {
    evidence.threshold = *options.threshold;
    evidence.threshold_source = "given";
  } else if (spec.has_reward_threshold) {
    evidence.threshold = spec.reward_threshold;
    evidence.threshold_source = "task";
  } else {
    evidence.threshold_source = "best seen";
  }
}

// Measures the task with the untrained policy.
Status look_at_task(const Trainer& trainer, const AdviceOptions& options,
                    AdviceBudget& total_budget, AdviceEvidence& evidence) {
  total_budget.tell("looking at the task");
  const double begin = total_budget.elapsed();
  const Result<UntrainedPolicy> untrained = play_untrained(trainer, kEvalEpisodes, options.threads);
  if (!untrained.ok()) return untrained.status();
  const EnvSpec& spec = trainer.spec();
  evidence.untrained = untrained.value().mean_return;
  evidence.max_episode_steps = spec.max_episode_steps;
  evidence.deterministic = trainer.simulator().deterministic;
  evidence.eval_episodes =
      episodes_for(total_budget.elapsed() - begin, options.threads, total_budget);
  const double length = spec.max_episode_steps > 0 ? static_cast<double>(spec.max_episode_steps)
                                                   : untrained.value().mean_length;
  evidence.eval_steps = static_cast<std::int64_t>(length * evidence.eval_episodes);
  add_threshold(options, spec, evidence);
  return {};
}

}  // namespace

Result<AdviceEvidence> gather_evidence(const Config& base, const Overrides& given,
                                       const AdviceOptions& options, AdviceBudget& total_budget,
                                       const std::function<Status()>& on_checked) {
  Config constant = base;
  constant.lr_schedule = "constant";  // make_portfolio() checks the caller's own
  BROADLOOM_TRY(check_known_speeds(options.known, constant));
  Result<std::unique_ptr<Trainer>> trainer = Trainer::create(constant, options.threads);
  if (!trainer.ok()) return trainer.status();
  AdviceEvidence evidence = question_of(constant, options);
  evidence.kind = options.kind.value_or(kind_of(base, trainer.value()->spec()));
  Result<Portfolio> portfolio = make_portfolio(base, given, evidence.kind);
  if (!portfolio.ok()) return portfolio.status();
  evidence.held = std::move(portfolio.value().held);
  if (on_checked) BROADLOOM_TRY(on_checked());
  BROADLOOM_TRY(look_at_task(*trainer.value(), options, total_budget, evidence));
  const int jobs = trainer.value()->simulator().whole_batch ? 1 : options.threads;
  trainer.value().reset();  // the trials need its memory
  const Inquiry inquiry{constant, options, total_budget, evidence, jobs};
  std::vector<Entrant>& entrants = portfolio.value().entrants;
  BROADLOOM_TRY(options.rule == AdviceRule::kRace ? measure_by_race(inquiry, std::move(entrants))
                                                  : measure_by_gradient(inquiry, entrants.front()));
  evidence.interrupted = total_budget.was_stopped();
  evidence.spent_seconds = total_budget.elapsed();
  evidence.spent_steps = total_budget.spent_steps();
  if (total_budget.counts_steps() && evidence.spent_steps > evidence.budget_steps) {
    evidence.notes.push_back(fmt::format(
        "How the settings compare within the budget: it took {} environment steps instead of {}, "
        "since each training makes whole blocks.",
        with_commas(evidence.spent_steps), with_commas(evidence.budget_steps)));
  }
  return evidence;
}

}  // namespace broadloom
