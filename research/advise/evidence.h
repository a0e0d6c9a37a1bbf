// What was measured before advice is given: plain numbers, of which the advice is a function.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "broadloom/core/estimate.h"

namespace broadloom {

inline constexpr double kNotKnown = std::numeric_limits<double>::quiet_NaN();

// What is asked for: to be at the threshold soon, or a high return when the budget is spent.
enum class AdviceGoal { kSpeed, kReturn };
// Who decides: the race, or the laboratory alone.
enum class AdviceRule { kRace, kGradient };

// Blocks of another shape from some step of a run on: the second entry of a shape_schedule.
struct ShapeChange {
  int num_envs = 0, num_steps = 0, minibatch_size = 0;  // 0: the shape does not change
  std::int64_t after = 0;                               // environment steps
  bool operator==(const ShapeChange&) const = default;
};

// What a run is advised to set.
struct Candidate {
  int num_envs = 1, num_steps = 1;  // N, T
  int minibatch_size = 1;           // M
  int update_epochs = 1;            // K
  double learning_rate = 0.0;
  ShapeChange then = {};

  bool changes() const { return then.num_envs > 0; }
  std::int64_t batch_size() const { return std::int64_t{num_envs} * num_steps; }
  bool operator==(const Candidate&) const = default;
};

// "64 x 32, minibatches of 256, 4 epochs, learning rate 0.001"
std::string candidate_text(const Candidate& candidate);
// "8 x 128 (minibatches of 256) after 30,720 environment steps"
std::string change_text(const ShapeChange& change);
// How fast training goes depends on these alone, as long as the shape does not change.
bool same_speed(const Candidate& a, const Candidate& b);

// One evaluation of one training.
struct TrialPoint {
  std::int64_t global_step = 0;
  double mean_return = 0.0;
  int unfinished = 0;  // episodes that were cut, since they did not end by themselves
};

// One seed of one candidate.
struct TrialCurve {
  std::uint64_t seed = 0;
  std::vector<TrialPoint> points;  // in order, the untrained policy's left out
  std::string error;               // why it ended, as where a loss was not finite; "": it did not
};

struct CandidateEvidence {
  Candidate candidate;
  bool is_default = false;  // what `train` takes when nothing is said, but at constant rate
  double steps_per_second = kNotKnown;  // of training on all threads; not known where not measured
  double then_steps_per_second = kNotKnown;  // after its shape has changed
  int rungs = 0;                             // of the race that it was in
  std::vector<TrialCurve> trials;
};

struct Rung {
  double cost = 0.0;  // of a trial by its end, from its start, in the unit of all costs
  int candidates = 0;
};

// What the laboratory found of the gradients of one policy, by the steps of a block.
struct GradientEvidence {
  struct Row {
    int num_envs = 1, num_steps = 1;
    Estimate cosine;          // between the mean gradient of blocks of T steps and the true one
    Estimate agreement;       // of one such block, advantages normalised, under the run's critic
    Estimate refitted;        // the same under a critic refitted to returns
    Estimate noise_scale;     // samples
    Estimate critical_batch;  // samples, with their dependence
  };
  std::string why_not;  // "": measured
  Candidate policy;     // what the policy was trained with
  std::int64_t global_step = 0;
  std::vector<Row> rows;  // by T
};

struct AdviceEvidence {
  std::string env_id;
  AdviceGoal goal = AdviceGoal::kSpeed;
  AdviceRule rule = AdviceRule::kRace;
  int max_episode_steps = 0;
  double threshold = kNotKnown;  // given, or the task's own; not known where there is none
  std::string threshold_source;  // "given", "task", "best seen"
  Estimate untrained;            // return of the policy that has learnt nothing, acting by chance
  int eval_episodes = 10;
  std::int64_t eval_steps = 0;  // that an evaluation takes at most, or as the untrained policy does
  bool deterministic = true;    // the simulator

  bool counts_seconds = true;  // costs are seconds on this machine; otherwise environment steps
  double budget_seconds = 0.0, spent_seconds = 0.0;
  std::int64_t budget_steps = 0;  // 0: the budget was one of seconds
  std::int64_t spent_steps = 0;   // of training, over all trials
  int threads = 1;
  std::uint64_t seed = 1;
  int seeds = 1;
  bool interrupted = false;

  std::vector<CandidateEvidence> candidates;
  std::size_t chosen = 0;         // by the rule of the laboratory; the race has none
  std::vector<std::string> held;  // keys that the caller set, and that no candidate changes
  int left_out = 0;               // candidates that the budget or the memory had no room for
  std::vector<Rung> rungs;
  // Where it was asked for: the one that was ahead, and it with another shape from half-way on.
  std::vector<CandidateEvidence> changes;
  std::string no_changes;  // why none were tried though it was asked; "": they were, or was not
  GradientEvidence gradient;
  std::string rule_words;  // how the laboratory's rule came to its choice; "": the race decides
  std::vector<std::string> notes;
};

// What so many steps of the candidate cost.
double cost_of(const AdviceEvidence& evidence, const CandidateEvidence& candidate,
               std::int64_t steps);
std::int64_t steps_for(const AdviceEvidence& evidence, const CandidateEvidence& candidate,
                       double cost);

const char* goal_name(AdviceGoal goal);  // "speed", "return"
const char* rule_name(AdviceRule rule);  // "race", "gradient"

}  // namespace broadloom
