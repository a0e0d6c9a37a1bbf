#include "broadloom/env/conformance/subject.h"

#include <fmt/core.h>

#include <utility>

#include "broadloom/core/status.h"
#include "broadloom/env/simulator_call.h"

namespace broadloom::conformance {

VecEnvOptions usual_options(const Subject& subject, int limit) {
  VecEnvOptions out;
  out.num_envs = kEnvs;
  out.seed = 3;
  if (subject.takes_limit) {
    out.max_episode_steps = limit > 0 ? limit : subject.options.time_limit;
  }
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
  const bool is_rows = played.status.kind() == ErrorKind::kMismatch;  // of outputs.check()
  findings.expect(played.status.ok(), (is_rows ? "" : "a step failed: ") + played.status.message());
  return played.status.ok();
}

std::unique_ptr<Played> play_envs(const Subject& subject, const VecEnvOptions& options, int steps,
                                  Findings& findings, const std::vector<EnvRange>& ranges) {
  const std::unique_ptr<VecEnv> envs = make_envs(subject, options, findings);
  if (envs == nullptr) return nullptr;
  auto out = std::make_unique<Played>(Player(*envs).play(steps, ranges));
  return expect_played(*out, findings) ? std::move(out) : nullptr;
}

namespace {

// Calls `observe` for guarded rows of environments [begin, kEnvs). Returns [kEnvs, width].
template <class Observe>
std::vector<float> observe_rows(const Space& space, int begin, const VecEnv& envs,
                                const char* function, const Observe& observe, Findings& findings) {
  GuardedObservations guarded(space);
  ObservationBuffer out(space, kEnvs);
  if (!guarded.rows()) return out.numbers();
  const std::string& id = envs.spec().id;
  name_exceptions(id, function, [&] { observe(begin, kEnvs, guarded.rows()); });
  const int count = kEnvs - begin;
  findings.expect(guarded.guards_hold(count), wrote_outside(function, id));
  for (int k = 0; k < count; ++k) {
    findings.expect(!guarded.lacks(k), fmt::format("{}() of {} did not write the row of "
                                                   "environment {}",
                                                   function, id, begin + k));
  }
  guarded.copy_to(out.rows_from(static_cast<std::size_t>(begin)), count);
  return out.numbers();
}

}  // namespace

Observations observe_from(const VecEnv& envs, int begin, Findings& findings) {
  const EnvSpec& spec = envs.spec();
  return {
      observe_rows(
          spec.observation, begin, envs, "observe",
          [&](int first, int end, ObservationRows rows) { envs.observe(first, end, rows); },
          findings),
      observe_rows(
          spec.critic_observation, begin, envs, "observe_critic",
          [&](int first, int end, ObservationRows rows) { envs.observe_critic(first, end, rows); },
          findings)};
}

Observations observe_now(const VecEnv& envs, Findings& findings) {
  return observe_from(envs, 0, findings);
}

}  // namespace broadloom::conformance
