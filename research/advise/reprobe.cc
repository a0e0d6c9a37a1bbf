#include "research/advise/reprobe.h"

#include <algorithm>
#include <limits>

#include "broadloom/setup/resolve_config.h"
#include "research/advise/ranking.h"
#include "research/advise/trial.h"

namespace broadloom {
namespace {

// Factors of N and T; a negative number divides.
struct Change {
  int num_envs, num_steps;
};
constexpr Change kChanges[] = {{4, -4}, {-4, 4}, {4, 1}, {1, 4}, {-4, 1}, {1, -4}};

// Multiplies by a positive factor and divides by a negative one; 0 if that leaves a remainder.
int changed(int count, int factor) {
  if (factor > 0) return count * factor;
  return count % -factor == 0 ? count / -factor : 0;
}

Entrant changing(const Entrant& leader, const ShapeChange& then) {
  Entrant entrant = leader;
  entrant.is_default = false;
  entrant.candidate.then = then;
  entrant.config.total_timesteps = kTrialSteps;  // the change is a share of these
  entrant.config = config_of(entrant.config, entrant.candidate);
  return entrant;
}

}  // namespace

std::int64_t half_way(const CandidateEvidence& candidate, double threshold) {
  std::int64_t steps = 0;
  for (const TrialCurve& trial : candidate.trials) {
    const auto reached_at =
        steps_to_threshold(trial, threshold, std::numeric_limits<std::int64_t>::max());
    steps += reached_at.value_or(trial.points.empty() ? 0 : trial.points.back().global_step);
  }
  const auto trials = std::max<std::int64_t>(1, std::ssize(candidate.trials));
  const std::int64_t block = candidate.candidate.batch_size();
  return steps / trials / 2 / block * block;
}

std::vector<Entrant> changed_entrants(const Entrant& leader, std::int64_t after,
                                      const std::vector<std::string>& held) {
  std::vector<Entrant> entrants{leader};
  const Candidate& base = leader.candidate;
  for (const Change& change : kChanges) {
    if (change.num_envs != 1 && is_held(held, "num_envs")) continue;
    if (change.num_steps != 1 && is_held(held, "num_steps")) continue;
    ShapeChange then{changed(base.num_envs, change.num_envs),
                     changed(base.num_steps, change.num_steps), base.minibatch_size, after};
    if (then.num_envs < 1 || then.num_steps < 1) continue;
    const std::int64_t batch = std::int64_t{then.num_envs} * then.num_steps;
    then.minibatch_size = static_cast<int>(std::min<std::int64_t>(then.minibatch_size, batch));
    const Entrant entrant = changing(leader, then);
    if (check_config(entrant.config).ok()) entrants.push_back(entrant);
  }
  return entrants;
}

Entrant second_stretch(const Entrant& entrant) {
  if (!entrant.candidate.changes()) return entrant;
  const ShapeChange& then = entrant.candidate.then;
  Entrant plain = entrant;
  plain.candidate.num_envs = then.num_envs;
  plain.candidate.num_steps = then.num_steps;
  plain.candidate.minibatch_size = then.minibatch_size;
  plain.candidate.then = {};
  plain.config = config_of(entrant.config, plain.candidate);
  return plain;
}

AdviceEvidence with_changes(const AdviceEvidence& evidence) {
  AdviceEvidence out = evidence;
  out.candidates = evidence.changes;
  return out;
}

}  // namespace broadloom
