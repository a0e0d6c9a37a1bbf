// What a study is asked to be: a base config, axes of a grid, shapes, seeds, and what is matched.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "broadloom/config/shapes.h"
#include "broadloom/core/config_table.h"
#include "broadloom/core/status.h"
#include "research/study/matching.h"

namespace broadloom {

// One dimension of the grid: a key with several values, or variants that set several keys at once.
struct StudyAxis {
  struct Value {
    std::string name;  // "" where the axis says nothing more than its keys do
    Overrides set;
  };
  std::string name;
  std::vector<Value> values;
};

// Points of a learning curve: more say no more.
inline constexpr int kMostScoredPoints = 100000;

struct StudySpec {
  std::string name;
  Overrides base;               // what all cells have in common
  ShapeRules shapes;            // the first axis, where there are any
  std::vector<StudyAxis> axes;  // the others, in order
  std::vector<std::uint64_t> seeds;
  Match match = Match::kMinibatchCount;
  Adjust adjust = Adjust::kMinibatches;
  std::string reference;  // shape that the match is after; "": the first
  int points = 50;        // of the learning curves
  int evaluations = 1;    // of each run, evenly over its steps; the last is of the final policy
};

// "10": 1 to 10; "11-20"; "3,5,7"; and lists of those: "1-3,9". kInvalidConfig for anything else,
// for a seed that stands there twice, and for more than 100,000.
Result<std::vector<std::uint64_t>> parse_seeds(const std::string& text);

// Adds "key = a, b, c" to the axes. kInvalidConfig where the list is empty or names a key twice.
Status add_axis(const std::string& key, const std::vector<std::string>& values,
                std::vector<StudyAxis>& axes);

// What sets a key for every cell, so that none would have the base's: "the shapes", "the grid" or
// "the variants"; "" where the base's counts.
std::string varied_by(const StudySpec& spec, std::string_view key);

// A study file; see docs/formats/study.md. The name is the file's without its ending. Errors read
// "file:line: what"; kNotFound when there is no such file, kIo when it cannot be read.
Result<StudySpec> read_study(const std::string& path);
// The same from text. A base config that the text names is looked for beside `path`.
Result<StudySpec> parse_study(std::string_view text, const std::string& path);

}  // namespace broadloom
