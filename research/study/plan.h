// The plan of a study: every cell with its whole config, every run with its seed. Made before
// anything runs, and the same each time it is made from the same study.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "broadloom/config/config.h"
#include "broadloom/core/status.h"
#include "research/study/study_spec.h"

namespace broadloom {

struct StudyCell {
  std::string name;   // "8x128 learning_rate=0.001"
  Overrides changes;  // what the axes set here
  Config config;      // whole; its seed has no meaning
  std::string note;   // where the match could not be kept exactly

  // Whole blocks only, as the trainer counts.
  std::int64_t environment_steps() const { return config.trained_steps(); }
  // Of a block, and of its epochs; where a schedule changes the shape, the nearest to the mean.
  std::int64_t batch_size() const;
  std::int64_t minibatch_count() const;
  // Of the largest minibatch, and of the smallest: that has one less where the block does not
  // divide, and is of another block where a schedule changes those.
  std::int64_t minibatch_size() const;
  std::int64_t smallest_minibatch() const;
  bool even_minibatches() const { return smallest_minibatch() == minibatch_size(); }
  // Environment steps for each gradient step: M / K.
  double samples_per_gradient() const;
};

struct StudyRun {
  std::int64_t id = 0;  // 1, 2, ... in the order they are started
  int cell = 0;
  std::uint64_t seed = 0;
  std::string config_hash;  // of every key, the seed included
};

struct StudyPlan {
  std::string name;
  Match match = Match::kNone;
  Adjust adjust = Adjust::kMinibatches;
  int points = 0;
  int evaluations = 0;
  std::vector<std::uint64_t> seeds;
  std::vector<StudyCell> cells;
  // All cells with the first seed, then all with the second: stopped early, a study has as many
  // seeds of one cell as of another.
  std::vector<StudyRun> runs;
  // All that the results depend on, one "what value" a line; two studies are the same where these
  // are.
  std::string definition;
  std::string hash;  // of the definition

  // Keys in which cells differ though no axis sets them, nor the match: what an environment, an
  // algorithm or an encoder brings along as its defaults.
  std::vector<std::string> differences_of_defaults() const;
};

// kInvalidConfig where the study contradicts itself: no seeds, an axis without values, a key that
// is not a study's to set or that the match decides, shapes that cannot be made, a cell whose
// config is not valid, two cells that are the same. Messages name the cell.
Result<StudyPlan> plan_study(const StudySpec& spec);

}  // namespace broadloom
