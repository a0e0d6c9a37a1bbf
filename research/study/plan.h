// The plan of a study: every cell with its complete config, every run with its seed. It is made
// before anything runs and depends only on the study.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "broadloom/config/config.h"
#include "broadloom/core/status.h"
#include "broadloom/train/teacher_policy.h"
#include "research/study/study_spec.h"

namespace broadloom {

struct StudyCell {
  std::string name;   // "8x128 learning_rate=0.001"
  Overrides changes;  // set by the axes
  Config config;      // complete; its seed has no meaning
  std::string note;   // set if the match cannot be kept exactly
  // Read once, for all runs; nullopt: the algorithm has none.
  std::optional<TeacherFile> teacher = {};
  Overrides teacher_hashes = {};  // of its policy
  std::string engine = {};        // EnvSpec::engine; "": Broadloom, or the task's own model
  std::string source = {};        // source_words() of the environments; "": the library's

  // Counts whole blocks only, as the trainer does.
  std::int64_t environment_steps() const { return config.trained_steps(); }
  // Counts of one block. If a schedule changes the shape: of the block nearest to the mean.
  std::int64_t batch_size() const;
  std::int64_t minibatch_count() const;
  // Largest and smallest minibatch. They differ by one if the block does not divide evenly, and by
  // more if a schedule changes the shape.
  std::int64_t minibatch_size() const;
  std::int64_t smallest_minibatch() const;
  bool even_minibatches() const { return smallest_minibatch() == minibatch_size(); }
  // Environment steps per gradient step: M / K.
  double samples_per_gradient() const;
};

struct StudyRun {
  std::int64_t id = 0;  // 1, 2, ... in the order of starting
  int cell = 0;
  std::uint64_t seed = 0;
  std::string config_hash;  // of all keys, including the seed
};

struct StudyPlan {
  std::string name;
  std::string sampler;  // as in the specification
  Match match = Match::kNone;
  Adjust adjust = Adjust::kMinibatches;
  int points = 0;
  int evaluations = 0;
  std::vector<std::uint64_t> seeds;
  std::vector<StudyCell> cells;
  // All cells with the first seed, then all with the second: a study stopped early has equally many
  // seeds of each cell. With a sampler: all seeds of the first cell, then all of the second, so
  // that runs keep their numbers when cells are added.
  std::vector<StudyRun> runs;
  // All inputs of the results, one "key value" a line. Studies with equal definitions are the same.
  std::string definition;
  std::string hash;  // of the definition

  // Keys in which cells differ although neither axes nor the match set them: defaults of an
  // environment, algorithm or encoder.
  std::vector<std::string> differing_defaults;
};

// kInvalidConfig if the study contradicts itself: no seeds, an axis without values, a key that a
// study may not set or that the match sets, impossible shapes, an invalid config, or two equal
// cells. Also errors of a teacher: kNotFound, kIo, kCorrupt, kMismatch. Messages name the cell.
Result<StudyPlan> plan_study(const StudySpec& spec);

}  // namespace broadloom
