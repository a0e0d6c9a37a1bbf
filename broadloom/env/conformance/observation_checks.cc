#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include "broadloom/env/conformance/checks.h"
#include "broadloom/env/frames.h"

namespace broadloom::conformance {
namespace {

constexpr const char* kNoStack =
    "an observation is not the one before it with one frame more, as spec().observation.frames "
    "says";

// Numbers of a pixel in all frames of a stack.
std::size_t pixel_of(const FrameLayout& layout) {
  return static_cast<std::size_t>(layout.channels) * static_cast<std::size_t>(layout.count);
}

bool goes_on(const FrameLayout& layout, const float* before, const float* now, std::size_t width) {
  const std::size_t channels = static_cast<std::size_t>(layout.channels);
  const std::size_t pixel = pixel_of(layout);
  bool same = true;
  for (std::size_t at = 0; at < width; at += pixel) {
    same &= std::equal(now + at, now + at + pixel - channels, before + at + channels);
  }
  return same;
}

bool begins(const FrameLayout& layout, const float* stack, std::size_t width) {
  const std::size_t channels = static_cast<std::size_t>(layout.channels);
  const std::size_t pixel = pixel_of(layout);
  bool same = true;
  for (std::size_t at = 0; at < width; ++at) {
    const std::size_t in_pixel = at % pixel, newest = at - in_pixel + pixel - channels;
    if (in_pixel >= pixel - channels) continue;
    same &= stack[at] ==
            (layout.padding == FramePadding::kZero ? 0.0f : stack[newest + in_pixel % channels]);
  }
  return same;
}

// cut: episodes with the time limit; whole: the same ones without; shown and uncut: what one reader
// saw of each.
void check_last(const Subject& subject, const Played& cut, const Shown& shown, const Played& whole,
                const Shown& uncut, Findings& findings) {
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
                    "a final observation is not the ended episode's last");
  }
}

}  // namespace

// Each is the one before with a frame more, or begins anew where an episode does.
void check_stacks(const Subject& subject, Findings& findings) {
  const std::unique_ptr<VecEnv> envs = made(subject, usual_options(subject), findings);
  if (envs == nullptr) return;
  const FrameLayout layout = subject.spec.observation.frame_layout();
  const std::size_t width = static_cast<std::size_t>(envs->spec().observation_size());
  std::vector<float> before = seen_now(*envs).observations;
  Player player(*envs);
  for (int t = 0; t < subject.options.num_steps; ++t) {
    const Played out = player.play(1);
    if (!expect_played(out, findings)) return;
    for (std::size_t n = 0; n < kEnvs; ++n) {
      const float *now = &out.policy.observations[n * width], *old = &before[n * width];
      if (!out.ended(n)) {
        findings.expect(goes_on(layout, old, now, width), kNoStack);
        continue;
      }
      findings.expect(
          begins(layout, now, width),
          "an episode's first stack is not padded as spec().observation.frame_padding says");
      if (!subject.traits.has_final_observations) continue;
      findings.expect(goes_on(layout, old, &out.policy.last[n * width], width),
                      "a final observation is not the stack before it with one frame more");
    }
    before = out.policy.observations;
  }
}

void check_observe(const Subject& subject, Findings& findings) {
  const std::unique_ptr<VecEnv> envs = made(subject, usual_options(subject), findings);
  if (envs == nullptr) return;
  Player player(*envs);
  for (int t = 0; t < subject.options.num_steps; ++t) {
    const Played out = player.play(1);
    if (!expect_played(out, findings)) return;
    const Shown seen = seen_now(*envs), again = seen_now(*envs);
    findings.expect(seen.observations == out.policy.observations,
                    "observe() is not what step() gave");
    findings.expect(seen.last == out.critic.observations,
                    "observe_critic() is not what step() gave");
    findings.expect(seen == again, "observe() gives something else the second time");
  }
}

// The final observation of a cut episode is what an uncut one goes on from.
void check_final_observations(const Subject& subject, Findings& findings) {
  const int limit = subject.options.time_limit;
  const std::unique_ptr<Played> cut = played(subject, usual_options(subject), limit, findings);
  const std::unique_ptr<Played> whole =
      played(subject, usual_options(subject, limit + 1), limit, findings);
  if (cut == nullptr || whole == nullptr) return;
  check_last(subject, *cut, cut->policy, *whole, whole->policy, findings);
  check_last(subject, *cut, cut->critic, *whole, whole->critic, findings);
}

}  // namespace broadloom::conformance
