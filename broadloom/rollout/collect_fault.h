// What a block that is collected stops at, and which of several such comes first: on the host and
// on a device the same.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "broadloom/core/host_device.h"
#include "broadloom/core/status.h"

namespace broadloom {

// In the order of a step.
enum class FaultPlace : std::uint32_t {
  kObservation,
  kCriticObservation,
  kPolicyOutput,
  kStep,
  kReward,
  kFinalObservation,
  kTruncation
};

// Of faults in one block, the lowest is the one that comes first: by step, place in the step and
// environment. step: of the block, from 0.
BROADLOOM_HD constexpr std::uint64_t fault_order(std::int64_t step, FaultPlace place, int env) {
  const std::uint64_t at = static_cast<std::uint64_t>(step) * 8 + static_cast<std::uint32_t>(place);
  return (at << 32) + static_cast<std::uint32_t>(env);
}
// After all faults.
inline constexpr std::uint64_t kNoFault = ~std::uint64_t{0};

// The same numbers back; step: of the block.
struct FaultAt {
  FaultPlace place;
  int env;
  std::int64_t step;
};
constexpr FaultAt fault_at(std::uint64_t order) {
  const std::uint64_t at = order >> 32;
  return {static_cast<FaultPlace>(at % 8), static_cast<int>(static_cast<std::uint32_t>(order)),
          static_cast<std::int64_t>(at / 8)};
}

// The first row of `width` numbers with one that is not finite; -1: none.
int first_not_finite(std::span<const float> rows, int width);

// kNumeric: a number there is not finite. whose: "environment 3". step: of the run, or of the
// episode.
Status not_finite(FaultPlace place, const std::string& whose, std::int64_t step);

// The same of an order, in a block that begins at the run's step first_step; none of kNoFault.
Status fault_status(std::uint64_t order, std::int64_t first_step);

}  // namespace broadloom
