#include "research/advise/reason_words.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "broadloom/core/number_text.h"
#include "research/advise/advice_texts.h"
#include "research/advise/ranking.h"
#include "research/advise/reprobe.h"

namespace broadloom {
namespace {

// Compares two candidates at the horizon to which both were run. its_name: of the other one.
std::string compared(const AdviceEvidence& evidence, const Advice& advice, std::size_t other,
                     const std::string& its_name) {
  const std::size_t advised = advice.order.front();
  const double horizon = common_horizon(evidence, {advised, other}, advice.threshold);
  const CandidateScore mine = score_of(evidence, advised, advice.threshold, horizon);
  const CandidateScore its = score_of(evidence, other, advice.threshold, horizon);
  // Two digits would often be the same.
  const auto precise = [&](double cost) { return cost_text(evidence, cost, 3); };
  if (its.failed > 0) {
    return fmt::format("{} of {} trainings of {} broke down", its.failed, its.trials, its_name);
  }
  if (evidence.goal == AdviceGoal::kSpeed && mine.reached > 0) {
    return its.reached == its.trials && mine.reached == mine.trials
               ? fmt::format("{} took {} to the threshold, the advised setting {}", its_name,
                             precise(its.mean_cost), precise(mine.mean_cost))
               : fmt::format(
                     "by {} {} reached the threshold with {} of {} seeds, the advised setting with "
                     "{} of {} (on average after {} and {}; other seeds count with the whole time)",
                     cost_text(evidence, horizon), its_name, its.reached, its.trials, mine.reached,
                     mine.trials, precise(its.mean_cost), precise(mine.mean_cost));
  }
  const bool last = evidence.goal == AdviceGoal::kReturn;
  return fmt::format("{} returned {} {} {}, the advised setting {}", its_name,
                     return_text(last ? its.mean_last : its.mean_area),
                     last ? "at" : "on average up to", cost_text(evidence, horizon),
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

// The best rivals with another value of some key, and the names of these keys: one rival may be the
// best for several.
using Rivals = std::vector<std::pair<std::size_t, std::string>>;

Rivals rivals_of(const AdviceEvidence& evidence, const Advice& advice) {
  Rivals rivals;
  for (const Factor& factor : kFactors) {
    const std::optional<std::size_t> other = best_other(evidence, advice, factor);
    if (!other) continue;
    const auto same = std::find_if(rivals.begin(), rivals.end(),
                                   [&](const auto& rival) { return rival.first == *other; });
    if (same != rivals.end()) {
      same->second += std::string(" or ") + factor.name;
    } else {
      rivals.emplace_back(*other, factor.name);
    }
  }
  return rivals;
}

// One sentence per rival, and the defaults last.
void add_rivals(const AdviceEvidence& evidence, const Advice& advice,
                std::vector<std::string>& reasons) {
  const std::optional<RunnerUp>& defaults = advice.against_default;
  std::string best_default;
  const Rivals rivals = evidence.rule == AdviceRule::kRace ? rivals_of(evidence, advice) : Rivals();
  for (const auto& [other, names] : rivals) {
    if (defaults && defaults->candidate == other) {
      best_default = ", the best with another " + names;
      continue;
    }
    reasons.push_back(fmt::format("The best with another {} was {}: {}.", names,
                                  candidate_text(evidence.candidates[other].candidate),
                                  compared(evidence, advice, other, "it")));
  }
  if (!defaults) return;
  reasons.push_back(
      fmt::format("Against {} ({}{}): {}. The advised setting does better with probability {}.",
                  defaults_text(evidence, "the defaults"),
                  candidate_text(evidence.candidates[defaults->candidate].candidate), best_default,
                  compared(evidence, advice, defaults->candidate, "these"),
                  probability_text(defaults->advised_is_better)));
}

void add_change_words(const AdviceEvidence& evidence, const Advice& advice,
                      std::vector<std::string>& reasons) {
  if (!advice.change) return;
  const ChangeAdvice& change = *advice.change;
  const AdviceEvidence changes = with_changes(evidence);
  const std::size_t tried = changes.candidates.size() - 1;
  const std::string tried_text =
      fmt::format("Of {} other shape{} from half-way on", tried, tried == 1 ? "" : "s");
  if (change.change == 0) {
    reasons.push_back(fmt::format(
        "{} none came out ahead of staying with one; staying does better than the next with "
        "probability {}.",
        tried_text, probability_text(change.is_better)));
    return;
  }
  reasons.push_back(fmt::format(
      "{}, {} came out ahead of staying with one: it does better with probability {}{}.",
      tried_text, change_text(changes.candidates[change.change].candidate.then),
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

void add_laboratory(const AdviceEvidence& evidence, const Advice& advice,
                    std::vector<std::string>& reasons) {
  const GradientEvidence& gradient = evidence.gradient;
  if (!evidence.rule_words.empty()) reasons.push_back(evidence.rule_words);
  if (gradient.rows.empty()) return;
  const bool is_own = evidence.rule == AdviceRule::kRace;
  if (!is_own) return;  // the rule has already said it
  const Candidate& advised = evidence.candidates[advice.order.front()].candidate;
  if (!(gradient.policy == advised)) return;  // after more seeds, another one is the best
  reasons.push_back(direction_text(gradient, advised));
  const std::string noise = noise_text(gradient, advised);
  if (!noise.empty()) reasons.push_back(noise);
}

}  // namespace

std::vector<std::string> reason_sentences(const AdviceEvidence& evidence, const Advice& advice) {
  std::vector<std::string> reasons;
  add_rivals(evidence, advice, reasons);
  add_change_words(evidence, advice, reasons);
  add_laboratory(evidence, advice, reasons);
  return reasons;
}

}  // namespace broadloom
