#include "research/advise/evidence.h"

#include <fmt/core.h>

#include <cmath>

#include "broadloom/core/number_text.h"

namespace broadloom {

std::string candidate_text(const Candidate& c) {
  return fmt::format("{} x {}, minibatches of {}, {} epoch{}, learning rate {:.3g}{}", c.num_envs,
                     c.num_steps, c.minibatch_size, c.update_epochs,
                     c.update_epochs == 1 ? "" : "s", c.learning_rate,
                     c.changes() ? ", then " + change_text(c.then) : "");
}

std::string change_text(const ShapeChange& change) {
  return fmt::format("{} x {} (minibatches of {}) after {} environment steps", change.num_envs,
                     change.num_steps, change.minibatch_size, with_commas(change.after));
}

bool same_speed(const Candidate& a, const Candidate& b) {
  return a.num_envs == b.num_envs && a.num_steps == b.num_steps &&
         a.minibatch_size == b.minibatch_size && a.update_epochs == b.update_epochs;
}

double cost_of(const AdviceEvidence& evidence, const CandidateEvidence& candidate,
               std::int64_t steps) {
  const auto count = static_cast<double>(steps);
  if (!evidence.counts_seconds) return count;
  if (!candidate.candidate.changes()) return count / candidate.steps_per_second;
  const double before = std::fmin(count, static_cast<double>(candidate.candidate.then.after));
  return before / candidate.steps_per_second + (count - before) / candidate.then_steps_per_second;
}

std::int64_t steps_for(const AdviceEvidence& evidence, const CandidateEvidence& candidate,
                       double cost) {
  double steps = evidence.counts_seconds ? cost * candidate.steps_per_second : cost;
  const auto after = static_cast<double>(candidate.candidate.then.after);
  if (evidence.counts_seconds && candidate.candidate.changes() && steps > after) {
    steps = after + (cost - after / candidate.steps_per_second) * candidate.then_steps_per_second;
  }
  return static_cast<std::int64_t>(std::floor(steps));
}

const char* goal_name(AdviceGoal goal) { return goal == AdviceGoal::kSpeed ? "speed" : "return"; }

const char* rule_name(AdviceRule rule) { return rule == AdviceRule::kRace ? "race" : "gradient"; }

const char* kind_name(TaskKind kind) {
  switch (kind) {
    case TaskKind::kRobots:
      return "robots";
    case TaskKind::kGames:
      return "games";
    case TaskKind::kGpu:
      return "gpu";
    case TaskKind::kSmall:
      break;
  }
  return "small";
}

}  // namespace broadloom
