#include <algorithm>
#include <cstddef>
#include <memory>
#include <set>
#include <vector>

#include "broadloom/env/conformance/checks.h"
#include "broadloom/env/frames.h"

namespace broadloom::conformance {
namespace {

constexpr const char* kNoStack =
    "an observation is not the previous stack with one new frame, contrary to "
    "spec().observation.frames";

// Numbers per pixel of a stack.
std::size_t numbers_per_pixel(const FrameLayout& layout) {
  return static_cast<std::size_t>(layout.channels) * static_cast<std::size_t>(layout.count);
}

bool is_next_stack(const FrameLayout& layout, const float* before, const float* now,
                   std::size_t width) {
  const std::size_t channels = static_cast<std::size_t>(layout.channels);
  const std::size_t pixel = numbers_per_pixel(layout);
  bool same = true;
  for (std::size_t i = 0; i < width; i += pixel) {
    same &= std::equal(now + i, now + i + pixel - channels, before + i + channels);
  }
  return same;
}

bool is_first_stack(const FrameLayout& layout, const float* stack, std::size_t width) {
  const std::size_t channels = static_cast<std::size_t>(layout.channels);
  const std::size_t pixel = numbers_per_pixel(layout);
  bool same = true;
  for (std::size_t i = 0; i < width; ++i) {
    const std::size_t in_pixel = i % pixel, newest = i - in_pixel + pixel - channels;
    if (in_pixel >= pixel - channels) continue;
    same &= stack[i] ==
            (layout.padding == FramePadding::kZero ? 0.0f : stack[newest + in_pixel % channels]);
  }
  return same;
}

// Whether the rows of environments from kEnvs / 2 on agree.
bool ends_alike(const std::vector<float>& a, const std::vector<float>& b) {
  const auto skipped = static_cast<std::ptrdiff_t>(a.size() / kEnvs * (kEnvs / 2));
  return std::equal(a.begin() + skipped, a.end(), b.begin() + skipped, b.end());
}

// cut: episodes with the time limit; whole: the same episodes without it. shown, uncut: the
// observations of each, of the policy or of the critic.
void check_last(const Subject& subject, const Played& cut, const Observations& shown,
                const Played& whole, const Observations& uncut, Findings& findings) {
  const bool comparable = subject.traits.deterministic && !subject.options.noisy_observations;
  const std::size_t width = shown.observations.size() / cut.rewards.size();
  for (std::size_t i = 0; width > 0 && i < cut.rewards.size(); ++i) {
    const float* last = &shown.last[i * width];
    const bool untouched = std::all_of(last, last + width, [](float x) { return x == kUntouched; });
    findings.expect(cut.ended(i) != untouched,
                    cut.ended(i) ? "no final observation of an ended episode"
                                 : "a final observation of an episode that has not ended");
    bool ended_before = false;
    for (std::size_t j = i % kEnvs; j < i; j += kEnvs) ended_before |= whole.ended(j);
    if (cut.truncated[i] == 0 || ended_before || !comparable) continue;
    findings.expect(std::equal(last, last + width, &uncut.observations[i * width]),
                    "a final observation is not the ended episode's last observation");
  }
}

// The final observations of those environments that `are_cut` at their limit. before: the
// observations of the step before; now: those of the step, which belong to the next episodes.
void check_cut(const std::vector<bool>& are_cut, const std::vector<float>& before,
               const Observations& now, Findings& findings) {
  constexpr std::size_t kEnough = 3;  // fewer may agree by chance
  const std::size_t width = before.size() / kEnvs;
  std::set<std::vector<float>> states, finals, starts;
  std::size_t count = 0, at_next = 0;
  for (std::size_t n = 0; width > 0 && n < kEnvs; ++n) {
    if (!are_cut[n]) continue;
    const auto row = [&](const std::vector<float>& rows) {
      return std::vector<float>(rows.data() + n * width, rows.data() + (n + 1) * width);
    };
    count += 1;
    states.insert(row(before));
    finals.insert(row(now.last));
    starts.insert(row(now.observations));
    at_next += row(now.last) == row(now.observations) ? 1 : 0;
  }
  if (states.size() < kEnough) return;
  findings.expect(finals.size() > 1,
                  "environments in different states have the same final observation");
  findings.expect(at_next < count || starts.size() < count,
                  "a final observation is the first one of the next episode");
}

}  // namespace

// Each stack is the previous one with one new frame, or the first of an episode.
void check_stacks(const Subject& subject, Findings& findings) {
  const std::unique_ptr<VecEnv> envs = make_envs(subject, usual_options(subject), findings);
  if (envs == nullptr) return;
  const FrameLayout layout = subject.spec.observation.frame_layout();
  const std::size_t width = static_cast<std::size_t>(envs->spec().observation_size());
  std::vector<float> before = observe_now(*envs, findings).observations;
  Player player(*envs);
  for (int t = 0; t < subject.options.num_steps; ++t) {
    const Played out = player.play(1);
    if (!expect_played(out, findings)) return;
    for (std::size_t n = 0; n < kEnvs; ++n) {
      const float *now = &out.policy.observations[n * width], *old = &before[n * width];
      if (!out.ended(n)) {
        findings.expect(is_next_stack(layout, old, now, width), kNoStack);
        continue;
      }
      findings.expect(is_first_stack(layout, now, width),
                      "an episode's first stack is not padded by spec().observation.frame_padding");
      if (!subject.traits.has_final_observations) continue;
      findings.expect(is_next_stack(layout, old, &out.policy.last[n * width], width),
                      "a final observation is not the previous stack with one new frame");
    }
    before = out.policy.observations;
  }
}

void check_observe(const Subject& subject, Findings& findings) {
  const std::unique_ptr<VecEnv> envs = make_envs(subject, usual_options(subject), findings);
  if (envs == nullptr) return;
  Player player(*envs);
  for (int t = 0; t < subject.options.num_steps; ++t) {
    const Played out = player.play(1);
    if (!expect_played(out, findings)) return;
    const Observations seen = observe_now(*envs, findings), again = observe_now(*envs, findings);
    findings.expect(seen.observations == out.policy.observations,
                    "observe() differs from the observations of step()");
    findings.expect(seen.last == out.critic.observations,
                    "observe_critic() differs from the observations of step()");
    findings.expect(seen == again, "a second observe() differs from the first");
    if (subject.traits.whole_batch) continue;
    const Observations part = observe_from(*envs, kEnvs / 2, findings);
    findings.expect(ends_alike(part.observations, seen.observations),
                    "observe() of a range differs from that of all environments");
    findings.expect(ends_alike(part.last, seen.last),
                    "observe_critic() of a range differs from that of all environments");
  }
}

// The final observation of a truncated episode equals the observation of a longer episode there.
void check_final_observations(const Subject& subject, Findings& findings) {
  const int limit = subject.options.time_limit;
  const std::unique_ptr<Played> cut = play_envs(subject, usual_options(subject), limit, findings);
  const std::unique_ptr<Played> whole =
      play_envs(subject, usual_options(subject, limit + 1), limit, findings);
  if (cut == nullptr || whole == nullptr) return;
  check_last(subject, *cut, cut->policy, *whole, whole->policy, findings);
  check_last(subject, *cut, cut->critic, *whole, whole->critic, findings);
}

// No longer episode exists to compare with. But environments in different states do not all show
// the same, and do not all end where their next episodes begin.
void check_own_limit(const Subject& subject, Findings& findings) {
  const int limit = subject.options.own_limit;
  const std::unique_ptr<VecEnv> envs = make_envs(subject, usual_options(subject, limit), findings);
  if (envs == nullptr) return;
  Observations before = observe_now(*envs, findings);
  Player player(*envs);
  std::vector<bool> is_first(kEnvs, true);
  for (int t = 1; t <= limit; ++t) {
    const Played out = player.play(1);
    if (!expect_played(out, findings)) return;
    std::vector<bool> are_cut(kEnvs);
    for (std::size_t n = 0; n < kEnvs; ++n) are_cut[n] = is_first[n] && out.truncated[n] != 0;
    if (t == limit) {
      check_cut(are_cut, before.observations, out.policy, findings);
      check_cut(are_cut, before.last, out.critic, findings);
    }
    for (std::size_t n = 0; n < kEnvs; ++n) is_first[n] = is_first[n] && !out.ended(n);
    before = {out.policy.observations, out.critic.observations};
  }
}

}  // namespace broadloom::conformance
