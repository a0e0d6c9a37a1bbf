// The measurements behind advice: plain numbers, from which the advice is computed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "broadloom/core/config_table.h"
#include "broadloom/core/estimate.h"

namespace broadloom {

inline constexpr double kNotKnown = std::numeric_limits<double>::quiet_NaN();

// The caller's goal: to reach the threshold soon, or a high return at the end of the budget.
enum class AdviceGoal { kSpeed, kReturn };
// Kind of task. A race begins with candidates that were measured on tasks of this kind.
enum class TaskKind { kSmall, kRobots, kGames, kGpu };
// The rule that decides: the race, or the laboratory alone.
enum class AdviceRule { kRace, kGradient };

// Blocks of another shape from some step of a run on: the second entry of a shape_schedule.
struct ShapeChange {
  int num_envs = 0, num_steps = 0, minibatch_size = 0;  // 0: the shape does not change
  std::int64_t after = 0;                               // environment steps
  bool operator==(const ShapeChange&) const = default;
};

// The advised settings of a run.
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
// Whether two candidates train equally fast: only these settings matter, while the shape is
// constant.
bool same_speed(const Candidate& a, const Candidate& b);

// One evaluation of one training.
struct TrialPoint {
  std::int64_t global_step = 0;
  double mean_return = 0.0;
  int unfinished = 0;  // episodes that were cut because they did not end by themselves
};

// One seed of one candidate.
struct TrialCurve {
  std::uint64_t seed = 0;
  std::vector<TrialPoint> points;  // in order, without the untrained policy's
  std::string error;               // why it broke down; "": it did not
};

struct CandidateEvidence {
  Candidate candidate;
  bool is_default = false;              // the defaults of `train`, but with a constant rate
  double steps_per_second = kNotKnown;  // of training on all threads; kNotKnown if not measured
  double then_steps_per_second = kNotKnown;  // after the change of shape
  int rungs = 0;                             // of the race, in which it took part
  std::vector<TrialCurve> trials;
  std::string why = {};  // the measurement that made it a candidate
};

struct Rung {
  double cost = 0.0;  // of a trial at its end, since the trial's start, in the unit of all costs
  int candidates = 0;
};

// The laboratory's findings on the gradients of one policy, by the steps of a block.
struct GradientEvidence {
  struct Row {
    int num_envs = 1, num_steps = 1;
    Estimate cosine;          // between the mean gradient of blocks of T steps and the true one
    Estimate agreement;       // of one such block, advantages normalised, under the run's critic
    Estimate refitted;        // the same under a critic refitted to returns
    Estimate noise_scale;     // samples
    Estimate critical_batch;  // samples, including their dependence
  };
  std::string why_not;  // "": measured
  Candidate policy;     // the settings that trained the policy
  std::int64_t global_step = 0;
  std::vector<Row> rows;  // by T
};

// The machine that training speeds were measured on.
struct SpeedSource {
  std::string cpu;  // empty: on this machine
  int threads = 1;
};

struct AdviceEvidence {
  std::string env_id;
  Overrides config;  // the base of all candidates
  AdviceGoal goal = AdviceGoal::kSpeed;
  AdviceRule rule = AdviceRule::kRace;
  TaskKind kind = TaskKind::kSmall;
  int max_episode_steps = 0;
  double threshold = kNotKnown;  // given, or the task's own; kNotKnown if there is none
  std::string threshold_source;  // "given", "task", "best seen"
  Estimate untrained;            // return of the untrained policy, with sampled actions
  int eval_episodes = 10;
  std::int64_t eval_steps = 0;  // most steps of an evaluation, or those of the untrained policy's
  bool deterministic = true;    // the simulator is deterministic

  bool counts_seconds = true;  // costs are seconds; otherwise environment steps
  SpeedSource speeds_from;     // whose seconds they are
  double budget_seconds = 0.0, spent_seconds = 0.0;
  std::int64_t budget_steps = 0;  // 0: the budget was in seconds
  std::int64_t spent_steps = 0;   // of training, over all trials
  int threads = 1;
  std::uint64_t seed = 1;
  int seeds = 1;
  bool interrupted = false;

  std::vector<CandidateEvidence> candidates;
  std::size_t chosen = 0;         // by the laboratory's rule; unused by the race
  std::vector<std::string> held;  // keys that the caller set and no candidate changes
  int left_out = 0;  // candidates without room in budget or memory, or without a known speed
  std::vector<Rung> rungs;
  // If asked for: the leader, and the leader with other shapes from half-way on.
  std::vector<CandidateEvidence> changes;
  std::string no_changes;  // why none were tried; "": they were, or were not asked for
  GradientEvidence gradient;
  std::string rule_words;  // the reasons of the laboratory's choice; "": the race decides
  std::vector<std::string> notes;
};

// The cost of `steps` steps of the candidate; steps_for() is the inverse.
double cost_of(const AdviceEvidence& evidence, const CandidateEvidence& candidate,
               std::int64_t steps);
std::int64_t steps_for(const AdviceEvidence& evidence, const CandidateEvidence& candidate,
                       double cost);

const char* goal_name(AdviceGoal goal);  // "speed", "return"
const char* rule_name(AdviceRule rule);  // "race", "gradient"
const char* kind_name(TaskKind kind);    // "small", "robots", "games", "gpu"

}  // namespace broadloom
