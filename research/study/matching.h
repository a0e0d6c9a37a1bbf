// What is held equal over the cells of a study besides environment steps.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "broadloom/config/config.h"
#include "broadloom/core/status.h"

namespace broadloom {

enum class Match {
  kNone,            // cells are as their keys say
  kMinibatchCount,  // as CleanRL and the paper: a larger block makes larger minibatches
  kMinibatchSize,   // a larger block makes more minibatches
  kGradientSteps    // epochs or minibatches are chosen so that all take as many steps
};

// What kGradientSteps chooses; the other one stays, unless that alone cannot do.
enum class Adjust { kMinibatches, kEpochs };

// The names in files and flags; parse_* return kInvalidConfig with the nearest one.
Result<Match> parse_match(const std::string& text);
Result<Adjust> parse_adjust(const std::string& text);
const char* match_name(Match match);
const char* adjust_name(Adjust adjust);

// The keys that the rule decides for every cell, so that no grid may ask for several of them.
std::vector<std::string> decided_keys(Match match, Adjust adjust);

// Gradient steps of a whole run, where target_kl stops none of its epochs.
std::int64_t gradient_steps(const Config& config);

// Sets the cell's minibatches and epochs by the rule, after those of `reference`: the cell of the
// reference shape, whose minibatch size and gradient steps the others are to have. Returns a note
// where the rule cannot be kept exactly, "" where it is. kInvalidConfig where minibatch_size is set
// although the rule is the count of minibatches.
Result<std::string> apply_match(Match match, Adjust adjust, const Config& reference, Config& cell);

}  // namespace broadloom
