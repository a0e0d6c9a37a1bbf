#include "broadloom/rollout/collect_fault.h"

#include <fmt/core.h>

#include <cmath>

#include "broadloom/math/elementwise.h"

namespace broadloom {
namespace {

const char* place_name(FaultPlace place) {
  switch (place) {
    case FaultPlace::kPolicyOutput:
      return "policy output";
    case FaultPlace::kReward:
      return "reward";
    case FaultPlace::kFinalObservation:
      return "last observation";
    case FaultPlace::kCriticObservation:
      return "critic observation";
    default:
      return "observation";
  }
}

}  // namespace

int first_not_finite(std::span<const float> rows, int width) {
  if (all_finite(rows.data(), rows.size())) return -1;
  std::size_t i = 0;
  while (std::isfinite(rows[i])) ++i;
  return static_cast<int>(i / static_cast<std::size_t>(width));
}

Status not_finite(FaultPlace place, const std::string& owner, std::int64_t step,
                  const std::string& group) {
  if (place == FaultPlace::kNoValidAction) {
    return {ErrorKind::kNumeric,
            fmt::format("{} has no valid action at its step {}; expected one for each number of an "
                        "action. Correct the environment's action masks: end the episode instead.",
                        owner, step)};
  }
  return {ErrorKind::kNumeric,
          fmt::format("{}{} of {} is not finite at its step {}; expected finite numbers of "
                      "float32, up to 3.4e38. Check the environment's dynamics and options, and "
                      "the policy's outputs.",
                      place_name(place), group.empty() ? "" : fmt::format(" '{}'", group), owner,
                      step)};
}

std::string group_of_fault(const Space& space, std::span<const float> observation) {
  for (const ObservationGroup& group : space.groups) {
    if (!all_finite(&observation[static_cast<std::size_t>(group.first)],
                    static_cast<std::size_t>(group.size))) {
      return group.name;
    }
  }
  return {};
}

Status step_failed(std::int64_t step, const Status& error) {
  return {error.kind(),
          fmt::format("the simulator failed at its step {}: {}", step, error.message())};
}

Status too_many_truncations(const EnvSpec& spec, int env, std::int64_t step, int most) {
  return invalid(fmt::format(
      "environment {} of {} was truncated at its step {}, more than the {} times per block that "
      "max_truncations() allows: it truncates before its time limit of {} steps. Declare its real "
      "time limit, or return the number of steps from max_truncations()",
      env, spec.id, step, most, spec.max_episode_steps));
}

Status fault_status(std::uint64_t order, std::int64_t first_step, const std::string& group) {
  if (order == kNoFault) return {};
  const FaultLocation fault = decode_fault(order);
  if (fault.place == FaultPlace::kStep) {
    return {ErrorKind::kIo,
            fmt::format("the simulator ended the episode of environment {} at its step {} in both "
                        "ways, or for a reason that it does not declare; expected terminated or "
                        "truncated, and an index below its end_reasons. Correct the simulator.",
                        fault.env, first_step + fault.step)};
  }
  return not_finite(fault.place, fmt::format("environment {}", fault.env), first_step + fault.step,
                    group);
}

}  // namespace broadloom
