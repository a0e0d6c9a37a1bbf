// The specification of a study: base config, axes of the grid, shapes, seeds and match.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "broadloom/config/shapes.h"
#include "broadloom/core/config_table.h"
#include "broadloom/core/status.h"
#include "research/study/matching.h"

namespace broadloom {

// One dimension of the grid: a key with several values, or variants that set several keys each.
struct StudyAxis {
  struct Value {
    std::string name;  // "" if the keys say enough
    Overrides set;
  };
  std::string name;
  std::vector<Value> values;
};

// Most points of a learning curve; more would add nothing.
inline constexpr int kMostScoredPoints = 100000;

struct StudySpec {
  std::string name;
  Overrides base;               // common to all cells
  ShapeRules shapes;            // the first axis, if any
  std::vector<StudyAxis> axes;  // the other axes, in order
  // Keys of the axes whose value reports choose for each arm, such as the learning rate.
  std::vector<std::string> tuned;
  // The sampler that chose the variants one after another, by the returns of those before, such as
  // "Optuna 5.0.0 TPESampler (seed 1)"; "": none. Such a study grows by variants at the end.
  std::string sampler;
  std::vector<std::uint64_t> seeds;
  Match match = Match::kMinibatchCount;
  std::optional<Adjust> adjust;  // with kGradientSteps alone; otherwise by minibatches
  std::string reference;         // shape that the match follows; "": the first
  int points = 50;               // of the learning curves
  int evaluations = 1;           // of each run, evenly spaced; the last one is of the final policy
};

// "10" is 1 to 10; "11-20"; "3,5,7"; or a list of those: "1-3,9". kInvalidConfig for other text,
// for a repeated seed, and for more than 100,000 seeds.
Result<std::vector<std::uint64_t>> parse_seeds(const std::string& text);

// Adds "key = a, b, c" to the axes. kInvalidConfig if the list is empty or the key has an axis.
Status add_axis(const std::string& key, const std::vector<std::string>& values,
                std::vector<StudyAxis>& axes);

// The source of a key that is set in every cell instead of by the base: "the shapes", "the grid" or
// "the variants"; "" if the base does.
std::string varied_by(const StudySpec& spec, std::string_view key);

// kInvalidConfig for a key that changes the task, the block or the steps: its values would compare
// budgets, not settings.
Status check_tuned_key(const std::string& key);

// Reads a study file; see docs/formats/study.md. The study's name is the file's without extension.
// Errors read "file:line: message"; kNotFound without such a file, kIo if it cannot be read.
Result<StudySpec> read_study(const std::string& path);
// The same from text. A base config named in the text is relative to the folder of `path`.
Result<StudySpec> parse_study(std::string_view text, const std::string& path);

}  // namespace broadloom
