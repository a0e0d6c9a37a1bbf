// The first fault that stops the collection of a block. CPU and GPU report the same one.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "broadloom/core/host_device.h"
#include "broadloom/core/status.h"
#include "broadloom/env/spec.h"

namespace broadloom {

// In the order in which a step reaches them.
enum class FaultPlace : std::uint32_t {
  kObservation,
  kCriticObservation,
  kNoValidAction,
  kPolicyOutput,
  kStep,
  kReward,
  kFinalObservation,
  kTruncation
};

// Sort key of a fault in a block: by step, place and environment. The lowest is the first fault.
// step: of the block, from 0.
BROADLOOM_HD constexpr std::uint64_t fault_order(std::int64_t step, FaultPlace place, int env) {
  const std::uint64_t step_and_place =
      static_cast<std::uint64_t>(step) * 8 + static_cast<std::uint32_t>(place);
  return (step_and_place << 32) + static_cast<std::uint32_t>(env);
}
// Sorts after all faults.
inline constexpr std::uint64_t kNoFault = ~std::uint64_t{0};

// A decoded sort key. step: of the block.
struct FaultLocation {
  FaultPlace place;
  int env;
  std::int64_t step;
};
constexpr FaultLocation decode_fault(std::uint64_t order) {
  const std::uint64_t step_and_place = order >> 32;
  return {static_cast<FaultPlace>(step_and_place % 8),
          static_cast<int>(static_cast<std::uint32_t>(order)),
          static_cast<std::int64_t>(step_and_place / 8)};
}

// The first row of `width` numbers that holds a non-finite number; -1: none.
int first_not_finite(std::span<const float> rows, int width);

// An error kNumeric for a non-finite number, or for a state without a valid action. owner:
// "environment 3". step: of the run or of the episode.
// group: of the observation; "": it has none.
Status not_finite(FaultPlace place, const std::string& owner, std::int64_t step,
                  const std::string& group = "");

// The name of the group with the first number that is not finite in an observation; "": none.
std::string group_of_fault(const Space& space, std::span<const float> observation);

// The error of a simulator whose step failed, with the simulator's own. step: of the run.
Status step_failed(std::int64_t step, const Status& error);

// An environment was truncated more often than its `most` slots of a block.
Status too_many_truncations(const EnvSpec& spec, int env, std::int64_t step, int most);

// The error for a sort key, in a block that begins at the run's step first_step. Ok for kNoFault.
// group: see not_finite().
Status fault_status(std::uint64_t order, std::int64_t first_step, const std::string& group = "");

}  // namespace broadloom
