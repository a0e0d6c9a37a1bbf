// What a study's store holds, read back whole.
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

// Of a cell that tune_results() merged: what its setting was chosen from, and how.
struct TunedChoice {
  std::vector<std::string> keys;      // that were tuned
  std::vector<std::string> values;    // of each candidate: "0.001", or "key=0.001 other=2"
  std::vector<std::string> left_out;  // values with more failed runs than others
  bool by_evaluation = false;         // candidates have evaluation returns, else training returns
  std::vector<std::uint64_t> seeds;   // that every candidate has a score of
  Candidates candidates;
  std::vector<int> chosen;      // [seeds] the candidate that scores the seed
  int best = 0;                 // the candidate with the highest mean over all seeds
  std::vector<bool> like_best;  // [candidates] no significant difference from that one
  bool at_edge = false;         // the best is the least or largest value that was tried
};

// A cell, parsed: nobody after read_study_results() parses a text of it.
struct ResultCell {
  std::string name;
  Overrides changes;  // what the axes set
  // Every key but the seed; of keys that are newer than the store the default.
  std::map<std::string, std::string> settings;
  Overrides env_options;  // of `env.`, without that
  Overrides variations;   // of `strata.` and `disturb.`: returns under others are of another task
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

  // The text of a key; "" where there is none.
  std::string setting(const std::string& key) const;
};

// One run. The learning curve is there for finished runs only: values[key] has one number for each
// of `steps`, not-a-number where nothing was reported.
struct ResultRun {
  int cell = 0;  // index
  std::uint64_t seed = 0;
  std::string status;  // pending, finished or failed
  std::string error, parameters_hash, version, revision, isa, hardware;
  double seconds = 0.0;       // of training; not a number: not known
  std::vector<double> steps;  // environment steps, ascending
  // Where what stands at each was reported, which in wide blocks may be a block before, and the
  // seconds of training until then.
  std::vector<double> reported;
  std::vector<double> elapsed;
  std::map<std::string, std::vector<double>> values;
  std::vector<double> evaluated_at;  // environment steps, ascending
  std::vector<double> evaluations;   // mean return at each
  double training_return = 0.0;      // the last episodic_return; not a number: none
  double evaluation_return = 0.0;    // of the last evaluation; not a number: none

  bool finished() const { return status == "finished"; }
  bool failed() const { return status == "failed"; }
};

// What a store's cell has where it does not say: of each key the default, or what the programs did
// from before it.
const std::map<std::string, std::string>& default_settings();

struct StudyResults {
  std::string store;  // the path
  std::string name, hash, definition, matched;
  int points = 0, evaluations = 0;
  int part = 1, parts = 1;
  std::string version, revision, created;
  std::vector<ResultCell> cells;
  std::vector<ResultRun> runs;  // in the order of the study, pending ones among them
};

// Reads a store as it is at one moment, also while a runner works on it; takes no runner's lock and
// changes nothing, but that SQLite undoes a commit that a kill cut short. Errors: kNotFound where
// there is no such file; kMismatch where it is something else, empty or of another format; kCorrupt
// where it is damaged or contradicts itself; kIo where it cannot be read.
Result<StudyResults> read_study_results(const std::string& path);

}  // namespace broadloom
