// Keeps quantities besides environment steps equal across the cells of a study.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "broadloom/config/config.h"
#include "broadloom/core/status.h"

namespace broadloom {

enum class Match {
  kNone,            // nothing: cells use their keys as given
  kMinibatchCount,  // as CleanRL and the paper do: larger blocks have larger minibatches
  kMinibatchSize,   // larger blocks have more minibatches
  kGradientSteps    // epochs or minibatches are chosen so that all take equally many steps
};

// The key that kGradientSteps changes; the other one changes only if it must.
enum class Adjust { kMinibatches, kEpochs };

// Names in files and flags. parse_*: kInvalidConfig suggests the nearest name.
Result<Match> parse_match(const std::string& text);
Result<Adjust> parse_adjust(const std::string& text);
const char* match_name(Match match);
const char* adjust_name(Adjust adjust);

// Whether cells follow the numbers of a reference cell.
bool follows_reference(Match match);

// The keys that the rule sets in every cell; a grid must not vary them.
std::vector<std::string> decided_keys(Match match, Adjust adjust);

// Gradient steps of a whole run if target_kl stops no epoch early.
std::int64_t gradient_steps(const Config& config);

// Sets the cell's minibatches and epochs by the rule. reference: the cell whose minibatch size and
// gradient steps the others shall have. Returns a note if the rule cannot be kept exactly, else "".
// kInvalidConfig if minibatch_size is set although the rule keeps the count of minibatches.
Result<std::string> apply_match(Match match, Adjust adjust, const Config& reference, Config& cell);

}  // namespace broadloom
