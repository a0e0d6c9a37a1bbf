// Recorded states with the network's outputs, which an exported file must reproduce.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "broadloom/core/status.h"
#include "broadloom/export/policy_graph.h"

namespace broadloom {

// Default tolerance of an exported output b: |a - b| / max(1, |b|).
inline constexpr double kParityTolerance = 1e-5;

// An export with a larger error is refused.
inline constexpr double kMostDifference = 0.1;

struct Parity {
  int rows = 0;
  std::string unplayed;              // why rows are drawn from the space; "": they were played
  std::vector<double> observations;  // [rows, D] as the environment gives them
  std::vector<double> masks;         // [rows, M] drawn flags of valid actions, or empty
  std::vector<double> states;        // [rows, S] of a recurrent policy before these rows, or empty
  // [rows, ...] for each of the graph's outputs
  std::map<std::string, std::vector<double>> expected;
  // Largest error of the operations in double precision against the network in float32.
  double difference = 0.0;
  double tolerance = kParityTolerance;  // larger if float32 is less exact for this policy
};

// Plays the first 64 steps of four episodes and keeps at most 32 of their states, fewer for large
// images. If the environment is not known here or lacks a file, draws 32 observations instead,
// uniform within bounds of size below 1,000, else in [-1, 1]. The states of a recurrent policy are
// those that it has there; with drawn rows, those after all rows before. graph: of the policy.
// Errors: those of the environment; kNumeric if outputs are not finite, or differ from the graph's
// by more than kMostDifference.
Result<Parity> play_parity(const Policy& policy, const PolicyGraph& graph);

// The .npz file with "observation", "action_mask" and "state" if there are such inputs, the outputs
// by name, and "tolerance".
Result<std::string> parity_file(const Parity& parity, const PolicyGraph& graph);

}  // namespace broadloom
