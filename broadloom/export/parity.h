// States that a policy has played, with what its network makes of them: what an exported file must
// come to, wherever it runs.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "broadloom/core/status.h"
#include "broadloom/export/policy_graph.h"

namespace broadloom {

// Of an output b a, which is off it by |a - b| / max(1, |b|), is right up to this.
inline constexpr double kParityTolerance = 1e-5;

// An export that is off the network by more is refused.
inline constexpr double kMostDifference = 0.1;

struct Parity {
  int rows = 0;
  std::vector<double> observations;                     // [rows, D] as the environment shows them
  std::map<std::string, std::vector<double>> expected;  // [rows, ...] by the graph's outputs
  // The largest, of the operations in double precision from the network in float32.
  double difference = 0.0;
  double tolerance =
      kParityTolerance;  // larger where float32 tells this policy's numbers no closer
};

// Plays four episodes' first 64 steps and keeps up to 32 of their states, fewer of large images.
// graph: of the policy. Errors: those of the environment, and kNumeric where outputs are not
// finite, or differ from the graph's by more than kMostDifference.
Result<Parity> play_parity(const Policy& policy, const PolicyGraph& graph);

// As an .npz file: "observation", the outputs by name, and "tolerance".
Result<std::string> parity_file(const Parity& parity, const PolicyGraph& graph);

}  // namespace broadloom
