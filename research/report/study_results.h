// Reads all results from a study's store.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "broadloom/config/shape_schedule.h"
#include "broadloom/core/config_table.h"
#include "broadloom/core/status.h"
#include "research/stats/tuned_scores.h"

namespace broadloom {

// For a cell that tune_results() merged: the candidates for its setting, and the choice.
struct TunedChoice {
  std::vector<std::string> keys;      // tuned ones
  std::vector<std::string> values;    // of each candidate: "0.001", or "key=0.001 other=2"
  std::vector<std::string> left_out;  // values with more failed runs than others
  bool by_evaluation = false;         // candidates have evaluation returns, else training returns
  std::vector<std::uint64_t> seeds;   // with a score of every candidate, ascending
  Candidates candidates;
  std::vector<double> others;   // [count, seeds] the scores that did not choose; NaN: none
  std::vector<int> chosen;      // [seeds] the candidate that scores the seed
  int best = 0;                 // the candidate with the highest mean over all seeds
  std::vector<bool> like_best;  // [candidates] no significant difference from that one
  bool at_edge = false;         // the best is the least or largest value that was tried

  // The index of a seed in `seeds`; -1: not there.
  int place(std::uint64_t seed) const;
};

// Whether results are compared by evaluations or by training returns. Add each cell with runs.
struct ScoreKinds {
  bool trained = false, evaluated = false, all_evaluated = true;

  void add(bool has_training, bool has_evaluation) {
    trained = trained || has_training;
    evaluated = evaluated || has_evaluation;
    all_evaluated = all_evaluated && has_evaluation;
  }
  // By evaluations, unless some cell has none while cells have training returns.
  bool by_evaluation() const { return evaluated && (all_evaluated || !trained); }
};

// A cell with its texts parsed; later code needs no parsing.
struct ResultCell {
  std::string name;
  Overrides changes;  // set by the axes
  // Every key except the seed; keys that are newer than the store have their default.
  std::map<std::string, std::string> settings;
  Overrides env_options;  // of `env.`, without that prefix
  Overrides variations;   // of `strata.` and `disturb.`, which make another task
  std::string env_id;
  int max_episode_steps = 0;
  std::int64_t total_timesteps = 0, eval_episodes = 0;
  double target_kl = 0.0;
  ShapeSchedule shape_schedule;
  std::int64_t num_envs = 0, num_steps = 0, batch_size = 0;
  std::int64_t minibatch_count = 0, minibatch_size = 0, update_epochs = 0;
  std::int64_t iterations = 0, environment_steps = 0, gradient_steps = 0;
  double samples_per_gradient = 0.0;
  std::string note;
  std::optional<TunedChoice> tuned;  // by tune_results() alone

  // The text of a key; "" if absent.
  std::string setting(const std::string& key) const;
};

// A run as its store lists it, without its numbers.
struct RunEntry {
  int cell = 0;  // index
  std::uint64_t seed = 0;
  std::string cell_name;  // of its cell in the store
  std::string status;     // pending, finished or failed
  std::string error, parameters_hash, version, revision, isa, hardware;
  double seconds = 0.0;  // of training; NaN: unknown

  bool finished() const { return status == "finished"; }
  bool failed() const { return status == "failed"; }
};

// One run. Finished runs have a learning curve: values[key] has a number for each of `steps`, NaN
// if nothing was reported.
struct ResultRun : RunEntry {
  std::vector<double> steps;  // environment steps, ascending
  // For each of `steps`: the step of its report, in wide blocks up to a block earlier, and the
  // seconds of training until then.
  std::vector<double> reported;
  std::vector<double> elapsed;
  std::map<std::string, std::vector<double>> values;
  std::vector<double> evaluated_at;  // environment steps, ascending
  std::vector<double> evaluations;   // mean returns at these steps
  double training_return = 0.0;      // the last episodic_return; NaN: none
  double evaluation_return = 0.0;    // of the last evaluation; NaN: none
};

// Settings of a cell whose store does not have them: the default, or what older programs did.
const std::map<std::string, std::string>& default_settings();

struct StudyResults {
  std::string store;  // path
  std::string name, hash, definition, matched;
  int points = 0, evaluations = 0;
  int part = 1, parts = 1;
  std::string version, revision, created;
  std::vector<ResultCell> cells;
  // In the order of the study, including pending ones. tune_results() replaces those of merged
  // cells by one for each seed.
  std::vector<ResultRun> runs;
  std::vector<RunEntry> stored;  // all runs of the store, in any case
};

// Reads a store's state at one moment, even while a runner works on it. Takes no lock and changes
// nothing, except that SQLite undoes an interrupted commit. Errors: kNotFound without such a file;
// kMismatch if it is something else, empty or of another format; kCorrupt if it is damaged or
// inconsistent; kIo if it cannot be read.
Result<StudyResults> read_study_results(const std::string& path);

}  // namespace broadloom
