// A report of studies: numbers, one first sentence, and notes. docs/formats/study_report.md has
// every number's meaning.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "broadloom/core/config_table.h"
#include "broadloom/core/estimate.h"
#include "research/report/study_results.h"
#include "research/stats/bootstrap.h"
#include "research/stats/profiles.h"
#include "research/stats/run_statistics.h"
#include "research/stats/statistics.h"

namespace broadloom {

enum class ReportScore { kTraining, kEvaluation };  // the last episodes; the last evaluation
inline constexpr ReportScore kReportScores[] = {ReportScore::kTraining, ReportScore::kEvaluation};

const char* score_name(ReportScore score);  // "training", "evaluation"

struct RunCounts {
  int all = 0, finished = 0, failed = 0, pending = 0;
};

struct ReportStudy {
  std::string name, store, hash, match, adjust;
  int points = 0, evaluations = 0;
  std::vector<std::int64_t> eval_episodes;  // of an evaluation: of all cells, ascending
  int part = 1, parts = 1;
  std::vector<std::uint64_t> seeds;
  std::string created, version, revision;
  std::vector<std::string> run_revisions, hardware, isa;
  RunCounts runs;
  std::string definition;
};

struct ReportTask {
  std::string name, env_id;
  double random_score, reference_score;  // not numbers where nothing can be normalised
  std::string why_not;                   // then: why
  std::int64_t max_episode_steps = 0;    // 0: none
};

struct ReportRun {
  std::uint64_t seed = 0;
  double training = 0.0, evaluation = 0.0, area = 0.0;  // not a number: there is none
  double seconds = 0.0;

  double score(ReportScore score) const {
    return score == ReportScore::kTraining ? training : evaluation;
  }
};

struct ReportCurve {
  std::string key;
  std::vector<double> at;  // environment steps, or seconds
  std::vector<Estimate> iqm;
};

struct ReportCell {
  std::string name;
  int study = 0, task = 0, arm = 0;  // indices
  std::int64_t num_envs = 0, num_steps = 0, batch_size = 0;
  bool shapes_change = false;  // then those are of the first blocks, and the mean
  std::int64_t minibatch_count = 0, minibatch_size = 0, update_epochs = 0;
  std::int64_t iterations = 0, environment_steps = 0, gradient_steps = 0;
  std::int64_t least_life = 0;  // steps of the environment that is stepped least
  bool counted = true;  // not where target_kl may stop epochs: then gradient_steps are the most
  double samples_per_gradient = 0.0;
  std::string note;
  Overrides changes;
  // What the cell has of every key that an axis of its study sets, or that its base alone does.
  Overrides settings;
  Overrides brought;  // of keys that an algorithm or an encoder brings along, where those differ
  RunCounts counts;
  std::string runs_hash;  // seeds and final parameters of the finished runs
  Estimate seconds;
  std::optional<RunStatistics> training, evaluation, area;  // none where no run has such a score
  std::vector<ReportRun> runs;                              // the finished ones
  std::vector<ReportCurve> curves;
  ReportCurve time_curve;
  PerformanceProfile profile;        // of the main score
  std::optional<TunedChoice> tuned;  // where the report tunes keys

  const std::optional<RunStatistics>& summary(ReportScore score) const {
    return score == ReportScore::kTraining ? training : evaluation;
  }
};

struct NormalisedScores {
  std::optional<Aggregates> training, evaluation;
  PerformanceProfile profile;  // of the main score

  const std::optional<Aggregates>& of(ReportScore score) const {
    return score == ReportScore::kTraining ? training : evaluation;
  }
};

// A cell's settings without its environment.
struct ReportArm {
  std::string name, other;
  Overrides settings;  // of what varies besides the shape: every key that differs between arms
  int study = 0;
  std::int64_t num_envs = 0, num_steps = 0;
  std::vector<int> cells;  // one a task, tasks ascending
  std::int64_t gradient_steps = 0, batch_size = 0, minibatch_size = 0;  // of its first cell
  double samples_per_gradient = 0.0;
  int same_runs = -1;  // an arm before it that has the very same runs, as the reference of a match
  std::optional<NormalisedScores> normalised;
};

// What does not differ. Counts that differ by 1 % at most are equal: blocks and minibatches are
// whole.
struct Equality {
  bool environment_steps = true, gradient_steps = true, minibatch_size = true, batch_size = true;
  bool shape = true;
};

// A comparison on one of several tasks by itself, as a report of that task alone has it.
struct TaskComparison {
  int task = 0;
  Estimate probability;
  int result = 0;
  bool enough_runs = false;
};

struct ReportComparison {
  int a = 0, b = 0;  // arms, a before b
  ReportScore score = ReportScore::kTraining;
  bool enough_runs = false;            // for a result at 95 %, if all of one are above the other
  Estimate probability;                // that a run of a is better than one of b on the same task
  std::optional<Estimate> difference;  // IQM of a minus IQM of b; none for several tasks
  Equality equal;
  // 1: a is better, -1: b is, 0: they cannot be told apart, be it for lack of runs.
  int result = 0;
  // Opposite effects cancel in a mean over tasks. Empty where the arms have one task in common.
  std::vector<TaskComparison> by_task;
  std::vector<std::string> confounds;  // of the first common task where there are some
  // There would be a result, but not with other values of the tuned keys that are as good.
  bool hangs_on_choice = false;
};

// How an arm stands beside the one that leads a line or a ranking, by the comparison of the two.
enum class Standing { kLeads, kAlike, kLower, kUnknown };  // unknown: not compared, or too few runs

// What varies along a line of arms that are equal in all else.
enum class LineKind {
  kWidthOfBatch,  // N, with T = B / N
  kWidth,         // N at one T
  kLength,        // T at one N
  kSetting,       // one key
  kSettings,      // keys that vary together only, as those of variants
};

// Arms that differ in one thing, in its order, on one task, and how they stand by the main score.
struct ReportLine {
  LineKind kind = LineKind::kSetting;
  std::string key;         // "num_envs", "num_steps", or what differs; "" for kSettings
  bool ordered = false;    // numbers, ascending
  std::int64_t fixed = 0;  // B, T or N of the first three kinds
  std::vector<int> arms;
  std::vector<std::string> values;  // of what varies, one an arm
  ReportScore score = ReportScore::kEvaluation;
  int task = 0;
  int leader = 0;                              // an arm
  std::vector<Standing> standings;             // one an arm
  std::vector<std::optional<Estimate>> ahead;  // IQM of the leader minus that of the arm
  double chance = 1.0;  // how likely arms that are all alike would differ as much
  // Some arm is told to be lower, and not by such a chance.
  bool differ = false;
  double effect = 0.0;  // the least difference that the intervals allow, in units of the task
  double room = 0.0;    // the largest difference possible between arms that no call separates
  Equality equal;
  std::vector<std::string> confounds;  // "gradient steps (1,600 to 6,400)": what differs too
};

// Pairs of neighbours on the lines of one kind and key, and how many of them are called.
struct LineCalls {
  LineKind kind = LineKind::kSetting;
  std::string key;
  bool ordered = false;
  std::string first, second;  // the two values, where all such lines have these two
  int lines = 0, pairs = 0;   // pairs with enough runs for a call
  int later_better = 0, earlier_better = 0;
  double chance = 1.0;  // upper bound: one side is called as often by chance alone
};

// A ranking of the arms of one task, or of all together.
struct ReportRanking {
  int task = -1;          // an index; -1: all tasks, by normalised scores
  std::vector<int> arms;  // by IQM, then mean, the largest first; without repeats of others' runs
  int leader = -1;        // the first of them that no other one beats
  bool best = false;      // every other one is told to be lower
  int without = 0;        // arms that have no such score yet
};

enum class TroubleKind { kFailed, kAtRandom, kCollapsed, kStill };

// What makes a cell's score say little about its settings.
struct ReportTrouble {
  TroubleKind kind = TroubleKind::kFailed;
  int cell = 0;
  double at = 0.0;         // environment steps: of the peak, or from where on it stands still
  Estimate before, after;  // of a collapse: the peak and the end; of kAtRandom: the end
};

struct ReportInstrument {
  std::string key, title, unit;
  std::optional<double> constant;  // of one that has this value in all cells at all steps
};

struct StudyReport {
  std::string title;
  std::vector<std::string> tuned;           // keys whose value was chosen for each arm
  std::string heading;                      // what was varied on which task, in words
  std::string answer;                       // what came out, in one sentence
  int replicates = 0, band_replicates = 0;  // of the bootstrap
  std::uint64_t seed = 0;
  std::vector<ReportStudy> studies;
  std::vector<ReportTask> tasks;
  std::vector<ReportCell> cells;
  std::vector<ReportArm> arms;
  std::vector<ReportComparison> comparisons;
  std::vector<ReportLine> lines;        // what is more than chance first, then the largest effects
  std::vector<LineCalls> calls;         // in the order of lines
  std::vector<ReportRanking> rankings;  // by the main score
  std::vector<ReportTrouble> troubles;
  std::vector<ReportInstrument> instruments;
  std::vector<std::string> notes;
};

struct StudyReportOptions {
  int replicates = kPointReplicates;
  int band_replicates = kBandReplicates;
  std::uint64_t seed = 1;
  int threads = 1;   // the report's bits do not depend on it
  std::string task;  // by its name; "": all of them
  // Keys whose value is chosen for each arm (tuned_results.h), beside those that a study's own
  // definition names.
  std::vector<std::string> tuned;
  // Random draws that all comparisons, and all curves, may take together: each is about two seconds
  // of one core. Where that is not enough, there are fewer replicates, and the notes say so.
  double most_draws = 2.5e8;
  double most_band_draws = 8e8;
};

}  // namespace broadloom
