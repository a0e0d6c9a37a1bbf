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
  if (limit == 0) return;  // that of environments which name none and refuse one
  findings.expect(truncated == 0 || length == limit, "a step is truncated before the time limit");
  findings.expect(length < limit || out.ended(n), "an episode is longer than the time limit");
}

void check_end(const EnvSpec& spec, const Played& out, int n, Findings& findings) {
  const EpisodeEnd& end = out.ends[n];
  if (!out.ended(n)) {
    findings.expect(end == EpisodeEnd{}, "`ends` is set for an episode that has not ended");
    return;
  }
  const int last = static_cast<int>(spec.end_reasons.size()) - 1;
  findings.expect(end.reason >= 0 && end.reason <= last,
                  "an end's reason is not an index of end_reasons");
  findings.expect((end.reason == last) == (out.truncated[n] != 0),
                  "the end reason time_limit does not agree with truncated");
  findings.expect((end.success >= 0) == spec.names_success,
                  "an end's success does not agree with names_success");
  findings.expect(end.stratum < static_cast<int>(spec.strata.size()),
                  "an end's stratum is not an index of spec().strata");
}

// Call this after a filler step of environment n.
void check_filler(const Subject& subject, const VecEnv& envs, const Played& out, int n,
                  Findings& findings) {
  findings.expect(subject.traits.filler_rows,
                  "next_is_filler() is true, but traits().filler_rows is false");
  findings.expect(out.rewards[n] == 0.0f && !out.ended(n), "a filler step has a reward or an end");
  findings.expect(!envs.next_is_filler(n), "a filler step follows a filler step");
}

}  // namespace

void check_episodes(const Subject& subject, Findings& findings) {
  const std::unique_ptr<VecEnv> envs = make_envs(subject, usual_options(subject), findings);
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
                      "episode_step() is not the episode's number of steps");
    }
  }
  for (const int count : cuts) {
    findings.expect(count <= envs->max_truncations(subject.options.num_steps),
                    "more truncations than max_truncations()");
  }
}

}  // namespace broadloom::conformance
