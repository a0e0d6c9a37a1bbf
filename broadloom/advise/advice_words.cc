#include "broadloom/advise/advice_words.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "broadloom/core/number_text.h"
#include "broadloom/trials/ranking.h"
#include "broadloom/trials/reprobe.h"

namespace broadloom {
namespace {

std::string steps_text(double steps) {
  return with_commas(static_cast<std::int64_t>(std::llround(steps)));
}

// An interval that resampling cannot give is no interval: all pairs agree, and that is all that is
// known.
std::string probability_text(const Estimate& p) {
  if (p.value == 1.0 || p.value == 0.0) {
    return fmt::format("{:.0f} (so in all of {} pairs of trainings)", p.value, p.count);
  }
  if (std::isnan(p.low)) return fmt::format("{:.2f}", p.value);
  return fmt::format("{:.2f} ({:.2f} to {:.2f})", p.value, p.low, p.high);
}

std::string budget_text(const AdviceEvidence& evidence) {
  return evidence.budget_steps > 0 ? with_commas(evidence.spent_steps) + " environment steps"
                                   : fmt::format("{:.1f} s", evidence.spent_seconds);
}

std::string machine_text(const AdviceEvidence& evidence) {
  if (!evidence.counts_seconds) return "";
  return fmt::format(" of training on this machine with {} thread{}", evidence.threads,
                     evidence.threads == 1 ? "" : "s");
}

std::string threshold_text(const AdviceEvidence& evidence, const Advice& advice) {
  const std::string value = return_text(advice.threshold);
  if (evidence.threshold_source == "given") return value + ", as asked for,";
  if (evidence.threshold_source == "task") return value + ", the task's own threshold,";
  return value + fmt::format(", 90 % of the way from the untrained policy's {} to the best seen,",
                             return_text(evidence.untrained.value));
}

// What the caller set is no default, though `train` would take it then.
std::string defaults_text(const AdviceEvidence& evidence, const char* defaults) {
  return evidence.held.empty() ? defaults : std::string(defaults) + " beside what was set";
}

// ---- the answer

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
      "No advice: after {} none of {} settings of {} had come to do better than the untrained "
      "policy, whose {} episodes returned {} on average ({} to {}); the best of all trainings "
      "stood "
      "at {}.{}",
      budget_text(evidence), advice.order.size(), evidence.env_id, evidence.untrained.count,
      return_text(evidence.untrained.value), return_text(evidence.untrained.low),
      return_text(evidence.untrained.high), return_text(best), cut);
}

// Of a setting that is not dependably at the threshold.
std::string so_far_text(const Advice& advice) {
  const bool is_first =
      advice.runners_up.empty() || is_told_apart(advice.runners_up.front().advised_is_better);
  return fmt::format(
      "; it was {} {} others when the budget ended{}, and not dependably at the threshold",
      is_first ? "ahead of" : "first of it and", advice.order.size() - 1,
      is_first ? "" : ", though the next could not be told from it");
}

std::string then_text(const AdviceEvidence& evidence, const Advice& advice) {
  if (!advice.change || !advice.change->is_taken) return "";
  return ", then " + change_text(evidence.changes[advice.change->change].candidate.then);
}

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
      "learning rate of {:.3g}{}{}{}.",
      evidence.env_id, advised.candidate.num_envs, advised.candidate.num_steps,
      advised.candidate.minibatch_size, advised.candidate.update_epochs,
      advised.candidate.update_epochs == 1 ? "" : "s", advised.candidate.learning_rate,
      advised.is_default ? ", which are " + defaults_text(evidence, "its defaults") : "",
      then_text(evidence, advice), so_far);
}

constexpr int kFewestOfInterval = 5;  // fewer numbers say next to nothing of their spread

std::string interval_text(const AdviceEvidence& evidence, const Estimate& cost, int trials) {
  const std::string of = fmt::format("{} of {} seeds", cost.count, trials);
  if (std::isnan(cost.low) || cost.count < kFewestOfInterval) return "in " + of;
  return fmt::format("{} to {}, 95 % interval over {}",
                     cost_text(evidence, std::max(0.0, cost.low)), cost_text(evidence, cost.high),
                     of);
}

// The mean time is that of the seeds that were there: those that were not would make it longer.
std::string late_text(const AdviceEvidence& evidence, const Advice& advice) {
  const int late = advice.trials - advice.reached;
  if (late == 0) return "";
  return fmt::format(" The other {} not there by {}, so a training may well take longer.",
                     late == 1 ? "seed was" : fmt::format("{} seeds were", late),
                     cost_text(evidence, advice.horizon));
}

std::string expected_text(const AdviceEvidence& evidence, const Advice& advice) {
  if (advice.verdict == AdviceVerdict::kNothing) return "";
  const std::string last = return_text(advice.last_return);
  const std::string untrained = return_text(evidence.untrained.value);
  const bool reached = advice.verdict == AdviceVerdict::kReached;
  if (evidence.goal == AdviceGoal::kReturn) {
    return fmt::format(
        "Its evaluations came to {} after {}{}, mean over {} seed{}, from {} untrained.", last,
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

// ---- why

// How two candidates compare at the horizon that both were run to.
std::string compared(const AdviceEvidence& evidence, const Advice& advice, std::size_t other) {
  const std::size_t advised = advice.order.front();
  const double horizon = common_horizon(evidence, {advised, other}, advice.threshold);
  const CandidateScore mine = score_of(evidence, advised, advice.threshold, horizon);
  const CandidateScore its = score_of(evidence, other, advice.threshold, horizon);
  if (its.failed > 0)
    return fmt::format("{} of its {} trainings broke down", its.failed, its.trials);
  if (evidence.goal == AdviceGoal::kSpeed && mine.reached > 0) {
    return its.reached == its.trials && mine.reached == mine.trials
               ? fmt::format("it took {} to the threshold, against {}",
                             cost_text(evidence, its.mean_cost),
                             cost_text(evidence, mine.mean_cost))
               : fmt::format(
                     "by {} it was at the threshold with {} of {} seeds, against {} of {} (on "
                     "average after {}, against {}, where those that were not count with all of "
                     "it)",
                     cost_text(evidence, horizon), its.reached, its.trials, mine.reached,
                     mine.trials, cost_text(evidence, its.mean_cost),
                     cost_text(evidence, mine.mean_cost));
  }
  const bool last = evidence.goal == AdviceGoal::kReturn;
  return fmt::format("{} {} {} was {}, against {}", last ? "its return" : "its mean return",
                     last ? "at" : "up to", cost_text(evidence, horizon),
                     return_text(last ? its.mean_last : its.mean_area),
                     return_text(last ? mine.mean_last : mine.mean_area));
}

struct Factor {
  const char* name;
  bool (*differs)(const Candidate&, const Candidate&);
};
constexpr Factor kFactors[] = {
    {"shape",
     [](const Candidate& a, const Candidate& b) {
       return a.num_envs != b.num_envs || a.num_steps != b.num_steps;
     }},
    {"minibatch",
     [](const Candidate& a, const Candidate& b) { return a.minibatch_size != b.minibatch_size; }},
    {"number of epochs",
     [](const Candidate& a, const Candidate& b) { return a.update_epochs != b.update_epochs; }},
    {"learning rate",
     [](const Candidate& a, const Candidate& b) { return a.learning_rate != b.learning_rate; }}};

std::optional<std::size_t> best_other(const AdviceEvidence& evidence, const Advice& advice,
                                      const Factor& factor) {
  const Candidate& advised = evidence.candidates[advice.order.front()].candidate;
  for (std::size_t i = 1; i < advice.order.size(); ++i) {
    const std::size_t other = advice.order[i];
    if (factor.differs(advised, evidence.candidates[other].candidate)) return other;
  }
  return std::nullopt;
}

// One sentence a rival: a rival may be the best with another value of several keys.
void add_factors(const AdviceEvidence& evidence, Advice& advice) {
  std::vector<std::pair<std::size_t, std::string>> rivals;
  for (const Factor& factor : kFactors) {
    const std::optional<std::size_t> other = best_other(evidence, advice, factor);
    if (!other) continue;
    if (!rivals.empty() && rivals.back().first == *other) {
      rivals.back().second += std::string(" or ") + factor.name;
    } else {
      rivals.emplace_back(*other, factor.name);
    }
  }
  for (const auto& [other, names] : rivals) {
    advice.because.push_back(fmt::format("The best with another {} was {}: {}.", names,
                                         candidate_text(evidence.candidates[other].candidate),
                                         compared(evidence, advice, other)));
  }
}

void add_default(const AdviceEvidence& evidence, Advice& advice) {
  if (!advice.against_default) return;
  const RunnerUp& rival = *advice.against_default;
  advice.because.push_back(fmt::format(
      "Against {} ({}): {}; the advised setting is ahead then with probability {}.",
      defaults_text(evidence, "the defaults"),
      candidate_text(evidence.candidates[rival.candidate].candidate),
      compared(evidence, advice, rival.candidate), probability_text(rival.advised_is_better)));
}

void add_change_words(const AdviceEvidence& evidence, Advice& advice) {
  if (!advice.change) return;
  const ChangeAdvice& change = *advice.change;
  const AdviceEvidence changes = with_changes(evidence);
  const std::size_t tried = changes.candidates.size() - 1;
  const std::string of =
      fmt::format("Of {} other shape{} from half-way on", tried, tried == 1 ? "" : "s");
  if (change.change == 0) {
    advice.because.push_back(fmt::format(
        "{} none came out ahead of staying with one; staying does better than the next with "
        "probability {}.",
        of, probability_text(change.is_better)));
    return;
  }
  advice.because.push_back(fmt::format(
      "{}, {} came out ahead of staying with one: it does better with probability {}{}.", of,
      change_text(changes.candidates[change.change].candidate.then),
      probability_text(change.is_better),
      change.is_taken ? "; advice.toml has it as shape_schedule"
                      : ", which does not tell them apart; advice.toml stays with one shape"));
}

const GradientEvidence::Row* best_direction(const GradientEvidence& gradient) {
  const GradientEvidence::Row* best = nullptr;
  for (const auto& row : gradient.rows) {
    const double cosine = row.cosine.value;
    if (!std::isnan(cosine) && (best == nullptr || cosine > best->cosine.value)) best = &row;
  }
  return best;
}

const GradientEvidence::Row* row_at(const GradientEvidence& gradient, int num_steps) {
  for (const auto& row : gradient.rows) {
    if (row.num_steps == num_steps) return &row;
  }
  return nullptr;
}

std::string direction_text(const GradientEvidence& gradient, const Candidate& advised) {
  const GradientEvidence::Row* best = best_direction(gradient);
  const GradientEvidence::Row* own = row_at(gradient, advised.num_steps);
  const std::string where = fmt::format("The laboratory, on its policy after {} steps: ",
                                        with_commas(gradient.global_step));
  if (best == nullptr || own == nullptr || std::isnan(own->cosine.value)) {
    return where +
           "the true gradient cannot be told from zero there, so nothing is said of "
           "directions.";
  }
  const std::string cosine = fmt::format(
      "the mean gradient of blocks of {} steps has a cosine of {:.2f} with the true one",
      own->num_steps, own->cosine.value);
  const bool is_apart = own->cosine.high < best->cosine.low;
  if (is_apart) {
    return where + cosine +
           fmt::format(
               ", of {} steps {:.2f}: there {} blocks point better, which speaks against the "
               "advised T.",
               best->num_steps, best->cosine.value,
               best->num_steps > own->num_steps ? "longer" : "shorter");
  }
  return where + cosine + ", and no other T that was measured is apart from it.";
}

std::string noise_text(const GradientEvidence& gradient, const Candidate& advised) {
  const GradientEvidence::Row* own = row_at(gradient, advised.num_steps);
  if (own == nullptr || std::isnan(own->critical_batch.value)) return "";
  const Estimate& critical = own->critical_batch;
  if (!(critical.low > 0.0)) {
    return fmt::format(
        "How large a block must be for its gradient to outweigh its noise (the "
        "critical batch) cannot be told there at T = {}.",
        own->num_steps);
  }
  const auto batch = static_cast<double>(advised.batch_size());
  const char* what = batch < critical.low    ? "noise outweighs the signal of one block"
                     : batch > critical.high ? "the signal outweighs the noise of one block"
                                             : "noise and signal are not told apart in size";
  const std::string interval =
      std::isfinite(critical.high)
          ? fmt::format("{} to {}", steps_text(critical.low), steps_text(critical.high))
          : fmt::format("{} or more", steps_text(critical.low));
  return fmt::format(
      "The critical batch there is {} samples ({}) at T = {}, and the advised block has {}: {}.",
      steps_text(critical.value), interval, own->num_steps, steps_text(batch), what);
}

void add_laboratory(const AdviceEvidence& evidence, Advice& advice) {
  const GradientEvidence& gradient = evidence.gradient;
  if (!evidence.rule_words.empty()) advice.because.push_back(evidence.rule_words);
  if (gradient.rows.empty()) return;
  const bool is_own = evidence.rule == AdviceRule::kRace;
  if (!is_own) return;  // the rule has said it
  const Candidate& advised = evidence.candidates[advice.order.front()].candidate;
  if (!(gradient.policy == advised)) return;  // more seeds have made another one the best
  advice.because.push_back(direction_text(gradient, advised));
  const std::string noise = noise_text(gradient, advised);
  if (!noise.empty()) advice.because.push_back(noise);
}

// ---- what would change it

// Whether every trial of the candidates was evaluated before the steps at which all are compared: a
// setting that makes many steps a second is evaluated after more of them, and would be behind
// unseen.
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

// Who would be ahead if costs were environment steps; "" where that was not seen.
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

void add_changes(const AdviceEvidence& evidence, Advice& advice) {
  std::vector<std::string>& out = advice.changes_mind;
  for (const RunnerUp& rival : advice.runners_up) {
    if (is_told_apart(rival.advised_is_better)) continue;
    out.push_back(fmt::format(
        "More seeds: {} is not told apart from the advised setting, which does better with "
        "probability {}.",
        candidate_text(evidence.candidates[rival.candidate].candidate),
        probability_text(rival.advised_is_better)));
  }
  if (evidence.counts_seconds && advice.order.size() > 1) {
    const double speed = evidence.candidates[advice.order.front()].steps_per_second;
    out.push_back(fmt::format(
        "Another machine or number of threads: here the advised setting makes {} steps/s.{}",
        steps_text(speed), by_steps_text(evidence, advice)));
  }
  if (advice.verdict == AdviceVerdict::kNotReached && evidence.goal == AdviceGoal::kSpeed) {
    out.emplace_back(
        "A longer budget: no setting was shown to meet the threshold, and the order is that of "
        "returns on the way.");
  }
  if (evidence.left_out > 0) {
    out.push_back(fmt::format(
        "A longer budget or more memory: {} of the portfolio {} left out.",
        evidence.left_out == 1 ? "a setting" : fmt::format("{} settings", evidence.left_out),
        evidence.left_out == 1 ? "was" : "were"));
  }
  if (evidence.threshold_source == "best seen" && evidence.goal == AdviceGoal::kSpeed) {
    out.push_back(
        fmt::format("Another threshold: the task names none, and {} follows from the best "
                    "that was seen; --threshold says what is enough.",
                    return_text(advice.threshold)));
  }
}

void add_ways_out(const AdviceEvidence& evidence, Advice& advice) {
  std::vector<std::string>& out = advice.changes_mind;
  if (evidence.interrupted && advice.order.empty()) {
    out.emplace_back("Letting it go on: it was stopped before anything was evaluated.");
    return;
  }
  out.emplace_back("A longer budget, as in --time 300s: some tasks pay nothing for long.");
  if (evidence.max_episode_steps <= 0) {
    out.emplace_back(
        "A time limit, as in --max_episode_steps 200: its episodes have none, and may be as long "
        "as "
        "a training.");
  }
  out.emplace_back(
      "Other settings than those that are advised on: exploration (--ent_coef), discount "
      "(--gamma), "
      "normalisation (--norm_obs, --norm_reward), or rewards that say more.");
}

void add_unknown(const AdviceEvidence& evidence, Advice& advice) {
  std::vector<std::string>& out = advice.not_known;
  if (evidence.interrupted) {
    out.push_back(fmt::format("It was stopped after {}, and answers from what it had by then.",
                              budget_text(evidence)));
  }
  out.emplace_back(
      "Settings beside those that were tried; network, discount, lambda, entropy and clipping are "
      "as given.");
  if (evidence.rungs.size() > 1) {
    const Rung& first = evidence.rungs.front();
    const int left = first.candidates - evidence.rungs[1].candidates;
    out.push_back(fmt::format(
        "What the {} that left after {} of training would have come to later.",
        left == 1 ? "setting" : fmt::format("{} settings", left), cost_text(evidence, first.cost)));
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
}

}  // namespace

std::string runner_up_text(const AdviceEvidence& evidence, const RunnerUp& rival) {
  // The order is that of means, which a seed that is late weighs down.
  const bool is_behind = evidence.rule == AdviceRule::kRace && rival.advised_is_better.value < 0.5;
  return fmt::format(
      "{}: the advised setting does better with probability {}{}.",
      candidate_text(evidence.candidates[rival.candidate].candidate),
      probability_text(rival.advised_is_better),
      is_behind ? ", so behind in most pairs of trainings, and ahead on average" : "");
}

std::string return_text(double value) {
  if (std::isnan(value)) return "-";
  if (std::fabs(value) >= 1000.0) return steps_text(value);
  const std::string text = fmt::format("{:.3g}", value);
  return text == "-0" ? "0" : text;
}

std::string cost_text(const AdviceEvidence& evidence, double cost) {
  if (!evidence.counts_seconds) return steps_text(cost) + " environment steps";
  return cost >= 100.0 ? fmt::format("{:.0f} s", cost) : fmt::format("{:.2g} s", cost);
}

void add_words(const AdviceEvidence& evidence, Advice& advice) {
  advice.answer = answer_text(evidence, advice);
  advice.expected = expected_text(evidence, advice);
  if (advice.verdict == AdviceVerdict::kNothing) {
    add_ways_out(evidence, advice);
  } else {
    if (evidence.rule == AdviceRule::kRace) add_factors(evidence, advice);
    add_default(evidence, advice);
    add_change_words(evidence, advice);
    add_laboratory(evidence, advice);
    add_changes(evidence, advice);
  }
  add_unknown(evidence, advice);
}

}  // namespace broadloom
