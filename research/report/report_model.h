// The data of a report on studies: numbers, a first sentence, and notes.
// docs/formats/study_report.md defines every number.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
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

enum class ReportScore { kTraining, kEvaluation };  // last episodes; last evaluation
inline constexpr ReportScore kReportScores[] = {ReportScore::kTraining, ReportScore::kEvaluation};

const char* score_name(ReportScore score);  // "training", "evaluation"

struct RunCounts {
  int all = 0, finished = 0, failed = 0, pending = 0;
};

struct ReportStudy {
  std::string name, store, hash, match, adjust;
  int points = 0, evaluations = 0;
  std::vector<std::int64_t> eval_episodes;  // all values among the cells, ascending
  std::set<std::string> eval_actions;       // likewise
  int part = 1, parts = 1;
  std::vector<std::uint64_t> seeds;
  std::string created, version, revision;
  std::vector<std::string> run_revisions, hardware, isa;
  RunCounts runs;
  std::string definition;
  std::string sampler;  // that chose the settings one after another; "": a grid
};

struct ReportTask {
  std::string name, env_id;
  double random_score, reference_score;  // NaN: scores cannot be normalised
  std::string why_not;                   // the reason; "" if they can
  std::int64_t max_episode_steps = 0;    // 0: none
};

struct ReportRun {
  std::uint64_t seed = 0;
  double training = 0.0, evaluation = 0.0, area = 0.0;  // NaN: none
  double seconds = 0.0;

  double score(ReportScore score) const {
    return score == ReportScore::kTraining ? training : evaluation;
  }
};

struct ReportCurve {
  std::string key;
  std::vector<double> positions;  // environment steps, or seconds
  std::vector<Estimate> iqm;
};

struct ReportCell {
  std::string name;
  int study = 0, task = 0, arm = 0;  // indices
  std::int64_t num_envs = 0, num_steps = 0, batch_size = 0;
  bool shapes_change = false;  // if so: the first shape, and the mean batch_size
  std::int64_t minibatch_count = 0, minibatch_size = 0, update_epochs = 0;
  std::int64_t iterations = 0, environment_steps = 0, gradient_steps = 0;
  std::int64_t least_life = 0;  // steps of the environment that takes the fewest
  bool full_episodes = false;   // all ended episodes of its runs reached the time limit
  bool counted = true;  // false: target_kl may skip epochs, so gradient_steps is an upper bound
  double samples_per_gradient = 0.0;
  std::string note;
  Overrides changes;
  // Values of every key that some axis sets, or in which bases differ.
  Overrides settings;
  Overrides brought;  // values of keys that an algorithm or encoder sets, if they differ
  RunCounts counts;   // runs in the store, those of all merged cells
  // The samples of scores: runs, or seeds of a merged cell. A seed has finished if each value that
  // may be chosen has a score, and failed if all came to an end without that.
  RunCounts samples;
  std::string runs_hash;  // of seeds and final parameters of the finished runs
  Estimate seconds;
  std::optional<RunStatistics> training, evaluation, area;  // none without such a score
  std::vector<ReportRun> runs;                              // finished ones
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

  const std::optional<Aggregates>& aggregates(ReportScore score) const {
    return score == ReportScore::kTraining ? training : evaluation;
  }
};

// Words of an arm's name, and the keys that they tell: one key, or those of a named variant.
struct ArmPart {
  std::string words;
  std::set<std::string> keys;
  bool is_name = false;  // of a variant
};

// Cells with the same settings on different tasks.
struct ReportArm {
  std::string name, other;
  std::vector<ArmPart> parts;  // of `other`
  Overrides settings;          // every key besides the shape that differs between arms
  int study = 0;
  std::int64_t num_envs = 0, num_steps = 0;
  std::vector<int> cells;  // one for each task, tasks ascending
  std::int64_t gradient_steps = 0, batch_size = 0, minibatch_size = 0;  // of its first cell
  double samples_per_gradient = 0.0;
  // an earlier arm with exactly the same runs, such as the reference of a match
  int same_runs = -1;
  std::optional<NormalisedScores> normalised;
};

// The quantities that are equal in two cells. Counts within 1 % are equal, as blocks and
// minibatches are whole.
struct Equality {
  bool environment_steps = true, gradient_steps = true, minibatch_size = true, batch_size = true;
  bool shape = true;
};

// A comparison on one of several tasks, as in a report on that task alone.
struct TaskComparison {
  int task = 0;
  Estimate probability;
  int result = 0;
  bool enough_runs = false;
  bool hangs_on_choice = false;  // as in ReportComparison
};

struct ReportComparison {
  int a = 0, b = 0;  // arms, a before b
  ReportScore score = ReportScore::kTraining;
  bool enough_runs = false;  // enough for a result at 95 % if all runs of one beat the other's
  Estimate probability;      // that a run of a beats one of b on the same task
  std::optional<Estimate> difference;  // IQM of a minus that of b; none with several tasks
  Equality equal;
  // 1: a is better; -1: b is; 0: no difference found, or too few runs.
  int result = 0;
  // Effects of opposite sign cancel in a mean over tasks. Empty with one common task.
  std::vector<TaskComparison> by_task;
  std::vector<std::string> confounds;  // of the first common task that has any
  // There would be a result, but not with other values of the tuned keys that are as good.
  bool hangs_on_choice = false;
};

// An arm's result against the leader of a line or ranking.
enum class Standing { kLeads, kAlike, kLower, kUnknown };  // unknown: not compared, or too few runs

// The kind of a line: what varies while all else is equal.
enum class LineKind {
  kWidthOfBatch,  // N, with T = B / N
  kWidth,         // N at one T
  kLength,        // T at one N
  kSetting,       // one key
  kSettings,      // keys that vary only together, such as those of variants
};

// Arms on one task that differ in one thing, ordered by it, and their standings by the main score.
struct ReportLine {
  LineKind kind = LineKind::kSetting;
  std::string key;         // "num_envs", "num_steps", or the key that differs; "" for kSettings
  bool ordered = false;    // values are numbers, ascending
  std::int64_t fixed = 0;  // B, T or N for the first three kinds
  std::vector<int> arms;
  std::vector<std::string> values;  // of what varies, one for each arm
  ReportScore score = ReportScore::kEvaluation;
  int task = 0;
  int leader = 0;                              // index of an arm
  std::vector<Standing> standings;             // one for each arm
  std::vector<std::optional<Estimate>> ahead;  // IQM of the leader minus the arm's
  double chance = 1.0;  // probability of such differences if all arms were equal
  // Whether some arm is lower beyond that chance.
  bool differ = false;
  double effect = 0.0;  // smallest difference that the intervals allow, in units of the task
  double room = 0.0;    // largest possible difference between arms without a called difference
  Equality equal;
  std::vector<std::string> confounds;  // what else differs, and how much (report_scores.h)
};

// A two-way question: does the effect of one key depend on another? Four arms of one task that are
// equal in all else: the least and the greatest value of both keys.
struct ReportTwoWay {
  int task = 0;
  LineKind kind = LineKind::kSetting;
  std::string key, other;           // the effect of `key`, along `other`
  std::vector<std::string> values;  // least and greatest of `key`
  std::vector<std::string> levels;  // least and greatest of `other`
  std::vector<int> arms;            // [level, value]
  std::string held;                 // what all four share, of keys that vary elsewhere
  ReportScore score = ReportScore::kEvaluation;
  std::vector<Estimate> effects;  // [level] IQM at the greatest value minus that at the least
  Estimate difference;            // effects[1] - effects[0], at 95 % over all such questions
  bool depends = false;           // whether that interval leaves out zero
  std::string words;              // one sentence
};

// Pairs of neighbours on lines of one kind and key, and how often one side is called better.
struct LineCalls {
  LineKind kind = LineKind::kSetting;
  std::string key;
  bool ordered = false;
  std::string first, second;  // the two values, if all lines have the same two
  int lines = 0, pairs = 0;   // pairs: those with enough runs
  int later_better = 0, earlier_better = 0;
  double chance = 1.0;  // upper bound of the probability of so many calls of one side by chance
};

// A ranking of arms on one task, or on all tasks together.
struct ReportRanking {
  int task = -1;          // index; -1: all tasks, by normalised scores
  std::vector<int> arms;  // by IQM, then mean, largest first; arms that repeat runs are left out
  int leader = -1;        // the first arm that no other one beats
  bool best = false;      // whether all others are lower
  int unscored = 0;       // arms without such a score
};

enum class TroubleKind { kFailed, kAtRandom, kCollapsed, kStill };

// A reason why a cell's score says little about its settings.
struct ReportTrouble {
  TroubleKind kind = TroubleKind::kFailed;
  int cell = 0;
  double step = 0.0;       // environment steps: of the peak, or of the policy's last change
  Estimate before, after;  // collapse: peak and end; kAtRandom: after is the end
};

struct ReportInstrument {
  std::string key, title, unit;
  std::optional<double> constant;  // value of a number that never changes
};

struct StudyReport {
  std::string title;
  std::vector<std::string> tuned;           // keys whose value was chosen for each arm
  std::string heading;                      // what was varied on which task
  std::string answer;                       // the result in one sentence
  int replicates = 0, band_replicates = 0;  // of the bootstrap
  std::uint64_t seed = 0;
  std::vector<ReportStudy> studies;
  std::vector<ReportTask> tasks;
  std::vector<ReportCell> cells;
  std::vector<ReportArm> arms;
  std::vector<ReportComparison> comparisons;
  std::vector<ReportLine> lines;        // beyond chance first, then by effect
  std::vector<LineCalls> calls;         // in the order of lines
  std::vector<ReportTwoWay> two_way;    // those that depend first, then by the difference
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
  std::string task;  // name; "": all
  // Keys whose value is chosen for each arm (tuned_results.h), besides those in a study's own
  // definition.
  std::vector<std::string> tuned;
  // Limits of random draws for all comparisons and for all curves; the default is about 2 s on one
  // core. Above them, fewer replicates are used, and a note says so.
  double most_draws = 2.5e8;
  double most_band_draws = 8e8;
  // May be empty. Called before each part of the work with its name, the share of the work before
  // it, and the whole work's rough length in seconds.
  std::function<void(const std::string& what, double share, double seconds)> on_part = {};
};

}  // namespace broadloom
