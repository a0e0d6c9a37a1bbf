#include "broadloom/env/conformance/subject.h"

#include <utility>

#include "broadloom/core/status.h"
#include "broadloom/env/simulator_call.h"

namespace broadloom::conformance {

VecEnvOptions usual_options(const Subject& subject, int limit) {
  VecEnvOptions out;
  out.num_envs = kEnvs;
  out.seed = 3;
  out.max_episode_steps = limit > 0 ? limit : subject.options.time_limit;
  return out;
}

std::unique_ptr<VecEnv> make_envs(const Subject& subject, const VecEnvOptions& options,
                                  Findings& findings) {
  Result<std::unique_ptr<VecEnv>> envs = subject.make(options);
  findings.expect(envs.ok(), "environments cannot be made: " + envs.status().message());
  if (!envs.ok()) return nullptr;
  const bool right = envs.value() != nullptr && envs.value()->num_envs() == options.num_envs;
  findings.expect(right, "num_envs() differs from options.num_envs");
  return right ? envs.take() : nullptr;
}

bool expect_played(const Played& played, Findings& findings) {
  findings.expect(played.status.ok(), "a step failed: " + played.status.message());
  return played.status.ok();
}

std::unique_ptr<Played> play_envs(const Subject& subject, const VecEnvOptions& options, int steps,
                                  Findings& findings, const std::vector<EnvRange>& ranges) {
  const std::unique_ptr<VecEnv> envs = make_envs(subject, options, findings);
  if (envs == nullptr) return nullptr;
  auto out = std::make_unique<Played>(Player(*envs).play(steps, ranges));
  return expect_played(*out, findings) ? std::move(out) : nullptr;
}

Observations observe_now(const VecEnv& envs) {
  const EnvSpec& spec = envs.spec();
  ObservationBuffer policy(spec.observation, kEnvs), critic(spec.critic_observation, kEnvs);
  observe_simulator(envs, 0, kEnvs, policy.rows_from(0),
                    spec.has_critic_observation() ? critic.rows_from(0) : nullptr);
  return {policy.numbers(), critic.numbers()};
}

}  // namespace broadloom::conformance
