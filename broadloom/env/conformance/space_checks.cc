#include <cmath>
#include <cstddef>
#include <memory>

#include "broadloom/core/status.h"
#include "broadloom/env/conformance/checks.h"
#include "broadloom/env/device_steps.h"

namespace broadloom::conformance {
namespace {

void check_spaces(const EnvSpec& spec, Findings& findings) {
  for (const Space* space : {&spec.observation, &spec.critic_observation, &spec.action}) {
    const std::size_t size = static_cast<std::size_t>(space->size);
    findings.expect(space->size >= 1 || space == &spec.critic_observation, "a space is empty");
    if (space->kind == SpaceKind::kDiscrete) continue;
    findings.expect(space->low.size() == size && space->high.size() == size,
                    "the number of a Box's bounds is not its size");
  }
}

// Groups of bytes are whole numbers, and one choice is 1.
void check_group(const ObservationGroup& group, const float* observation, Findings& findings) {
  float sum = 0.0f;
  bool whole = true;
  for (int d = group.first; d < group.first + group.size; ++d) {
    sum += observation[d];
    whole &= observation[d] == std::floor(observation[d]);
  }
  const bool is_wrong =
      (group.dtype != Dtype::kF32 && !whole) || (group.dtype == Dtype::kI64 && sum != 1.0f);
  findings.expect(!is_wrong, "group '" + group.name + "' of an observation is not in its space");
}

void check_observation(const Space& space, const float* observation, Findings& findings) {
  float sum = 0.0f;
  bool inside = true, bits = true;
  for (int d = 0; d < space.size; ++d) {
    const float x = observation[d];
    sum += x;
    bits &= x == 0.0f || x == 1.0f;
    inside &= std::isfinite(x);
    if (space.kind == SpaceKind::kBox) inside &= x >= space.low[d] && x <= space.high[d];
  }
  if (space.kind == SpaceKind::kDiscrete) inside = bits && sum == 1.0f;
  findings.expect(inside, "an observation is not in its space");
  for (const ObservationGroup& group : space.groups) check_group(group, observation, findings);
}

void check_shown(const Space& space, const Played& out, const Observations& shown, bool has_last,
                 Findings& findings) {
  const std::size_t width = static_cast<std::size_t>(space.size);
  for (std::size_t i = 0; width > 0 && i < out.rewards.size(); ++i) {
    check_observation(space, &shown.observations[i * width], findings);
    if (out.ended(i) && has_last) check_observation(space, &shown.last[i * width], findings);
  }
}

// A requested limit may prevent it, so this makes environments without one.
bool steps_on_device(const Subject& subject, const VecEnv& envs) {
  if (dynamic_cast<const DeviceSteps*>(&envs) == nullptr) return false;
  VecEnvOptions options = usual_options(subject);
  options.max_episode_steps = 0;
  options.only_described = true;
  const Result<std::unique_ptr<VecEnv>> made = subject.make(options);
  return made.ok() && made.value() != nullptr && device_steps(*made.value()) != nullptr;
}

// Some environments set their limit themselves, such as those of a Python function of num_envs.
Result<std::unique_ptr<VecEnv>> make_without_limit(Subject& subject, const Status& refused,
                                                   Findings& findings) {
  subject.takes_limit = false;
  Result<std::unique_ptr<VecEnv>> made = subject.make(usual_options(subject));
  if (made.ok()) {
    findings.could_not_check("a requested time limit, which they refuse: " + refused.message());
    return made;
  }
  subject.takes_limit = true;
  return refused;
}

}  // namespace

void check_size(Subject& subject, Findings& findings) {
  Result<std::unique_ptr<VecEnv>> result = subject.make(usual_options(subject));
  if (!result.ok()) result = make_without_limit(subject, result.status(), findings);
  findings.expect(result.ok(), "environments cannot be made: " + result.status().message());
  if (!result.ok()) return;
  const std::unique_ptr<VecEnv> envs = result.take();
  findings.expect(envs != nullptr, "the function that makes environments returned null");
  if (envs == nullptr) return;
  if (!subject.takes_limit) subject.options.time_limit = envs->spec().max_episode_steps;
  subject.spec = envs->spec();
  subject.traits = envs->traits();
  findings.expect(envs->num_envs() == kEnvs, "num_envs() differs from options.num_envs");
  findings.expect(subject.spec.max_episode_steps == subject.options.time_limit,
                  "spec().max_episode_steps differs from options.max_episode_steps");
  check_spaces(subject.spec, findings);
  subject.steps_on_device = steps_on_device(subject, *envs);
}

void check_rows(const Subject& subject, Findings& findings) {
  const std::unique_ptr<VecEnv> envs = make_envs(subject, usual_options(subject), findings);
  if (envs == nullptr) return;
  const Played out = Player(*envs).play(subject.options.num_steps);
  if (!expect_played(out, findings)) return;
  for (const float reward : out.rewards) {
    findings.expect(std::isfinite(reward), "a reward is not finite");
  }
  const EnvSpec& spec = envs->spec();
  const bool has_last = subject.traits.has_final_observations;
  check_shown(spec.observation, out, out.policy, has_last, findings);
  check_shown(spec.critic_observation, out, out.critic, has_last, findings);
}

}  // namespace broadloom::conformance
