#include <memory>
#include <vector>

#include "broadloom/env/conformance/checks.h"

namespace broadloom::conformance {
namespace {

void check_flags(const Subject& subject, const Played& out, int n, int length, Findings& findings) {
  const int limit = subject.options.time_limit;
  const int terminated = out.terminated[n], truncated = out.truncated[n];
  findings.expect(terminated <= 1 && truncated <= 1, "an end flag is not 0 or 1");
  findings.expect((terminated & truncated) == 0, "a step is terminated and truncated");
  findings.expect(truncated == 0 || length == limit, "a step is truncated before the time limit");
  findings.expect(length < limit || out.ended(n), "an episode is longer than the time limit");
}

void check_end(const EnvSpec& spec, const Played& out, int n, Findings& findings) {
  const EpisodeEnd& end = out.ends[n];
  if (!out.ended(n)) {
    findings.expect(end == EpisodeEnd{}, "the end of an episode is told that has not ended");
    return;
  }
  const int last = static_cast<int>(spec.end_reasons.size()) - 1;
  findings.expect(end.reason >= 0 && end.reason <= last,
                  "an end's reason is not one of end_reasons");
  findings.expect((end.reason == last) == (out.truncated[n] != 0),
                  "the last reason is not that of truncated steps");
  findings.expect((end.success >= 0) == spec.names_success,
                  "success is not known as names_success says");
  findings.expect(end.stratum < static_cast<int>(spec.strata.size()),
                  "an end's stratum is none of strata");
}

// After a step of environment n that was one.
void check_filler(const Subject& subject, const VecEnv& envs, const Played& out, int n,
                  Findings& findings) {
  findings.expect(subject.traits.filler_rows,
                  "next_is_filler() is true of environments whose traits() have no filler_rows");
  findings.expect(out.rewards[n] == 0.0f && !out.ended(n), "a filler has a reward or an end");
  findings.expect(!envs.next_is_filler(n), "a filler follows a filler");
}

}  // namespace

void check_episodes(const Subject& subject, Findings& findings) {
  const std::unique_ptr<VecEnv> envs = made(subject, usual_options(subject), findings);
  if (envs == nullptr) return;
  Player player(*envs);
  std::vector<int> length(kEnvs, 0), cuts(kEnvs, 0);
  for (int t = 0; t < subject.options.num_steps; ++t) {
    std::vector<bool> fillers(kEnvs);
    for (int n = 0; n < kEnvs; ++n) fillers[n] = envs->next_is_filler(n);
    const Played out = player.play(1);
    if (!expect_played(out, findings)) return;
    for (int n = 0; n < kEnvs; ++n) {
      cuts[n] += out.truncated[n];
      if (fillers[n]) {
        check_filler(subject, *envs, out, n, findings);
        continue;
      }
      check_flags(subject, out, n, ++length[n], findings);
      check_end(envs->spec(), out, n, findings);
      if (out.ended(n)) length[n] = 0;
      findings.expect(envs->episode_step(n) == length[n],
                      "episode_step() is not the number of the episode's steps");
    }
  }
  for (const int count : cuts) {
    findings.expect(count <= envs->max_truncations(subject.options.num_steps),
                    "more truncations than max_truncations()");
  }
}

}  // namespace broadloom::conformance
