#include "broadloom/rollout/collect_fault.h"

#include <fmt/core.h>

namespace broadloom {
namespace {

const char* name_of(FaultPlace place) {
  switch (place) {
    case FaultPlace::kReward:
      return "reward";
    case FaultPlace::kFinalObservation:
      return "last observation of an episode";
    case FaultPlace::kCriticObservation:
      return "critic observation";
    default:
      return "observation";
  }
}

}  // namespace

Status not_finite(FaultPlace place, int env, std::int64_t step) {
  return {ErrorKind::kNumeric,
          fmt::format("{} of environment {} is not finite at its step {}; expected finite numbers. "
                      "Check the environment's dynamics and options, and the policy's outputs.",
                      name_of(place), env, step)};
}

}  // namespace broadloom
