// What every VecEnv must keep to, whoever wrote it, as sentences about one that does not.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "broadloom/env/vec_env.h"
#include "tests/env/rollout.h"

namespace broadloom {

using MakeEnvs = std::function<std::unique_ptr<VecEnv>(const VecEnvOptions&)>;

// Plays environments of a kind under fixed actions.
class VecEnvConformance {
 public:
  // draws: whether chance has a part in it; without, seeds need not matter.
  explicit VecEnvConformance(MakeEnvs make, bool draws = true)
      : make_(std::move(make)), draws_(draws) {}

  // Every breach once; empty where there is none.
  std::vector<std::string> problems() {
    check_size();
    if (!problems_.empty()) return problems_;  // the rest would write past the end of something
    check_rows();
    check_episodes();
    check_final_observations();
    check_ranges();
    check_observe();
    check_state();
    check_seeds();
    check_another();
    return problems_;
  }

 private:
  static constexpr int kEnvs = 5, kLimit = 20, kSteps = 150;

  void expect(bool holds, const std::string& problem) {
    const bool known = std::find(problems_.begin(), problems_.end(), problem) != problems_.end();
    if (!holds && !known) problems_.push_back(problem);
  }

  static VecEnvOptions options(int limit = kLimit) {
    return {.num_envs = kEnvs, .seed = 3, .max_episode_steps = limit};
  }

  void check_size() {
    const std::unique_ptr<VecEnv> envs = make_(options());
    expect(envs != nullptr, "there are no environments");
    if (envs == nullptr) return;
    expect(envs->num_envs() == kEnvs, "num_envs() is not what was asked for");
    expect(envs->spec().max_episode_steps == kLimit, "the time limit asked for is not spec()'s");
    const EnvSpec& spec = envs->spec();
    for (const Space* space : {&spec.observation, &spec.critic_observation, &spec.action}) {
      const std::size_t size = static_cast<std::size_t>(space->size);
      const bool may_be_empty = space == &spec.critic_observation;
      expect(space->size >= 1 || may_be_empty, "a space is empty");
      if (space->kind == SpaceKind::kDiscrete) continue;
      expect(space->low.size() == size && space->high.size() == size,
             "a Box has not one lower and one upper bound a number");
    }
  }

  // What is handed out is a number, and of its space.
  void check_rows() {
    const std::unique_ptr<VecEnv> envs = make_(options());
    const Rollout out = roll(*envs, 0, kSteps, kEnvs);
    for (const float reward : out.rewards) expect(std::isfinite(reward), "a reward is not finite");
    const EnvSpec& spec = envs->spec();
    check_observations(spec.observation, out, out.observations, out.final_observations);
    if (!spec.has_critic_observation()) return;
    check_observations(spec.critic_observation, out, out.critic_observations,
                       out.final_critic_observations);
  }

  void check_observations(const Space& space, const Rollout& out, const std::vector<float>& seen,
                          const std::vector<float>& finals) {
    const std::size_t width = static_cast<std::size_t>(space.size);
    for (std::size_t i = 0; i < out.rewards.size(); ++i) {
      check_observation(space, &seen[i * width]);
      const bool ended = (out.terminated[i] | out.truncated[i]) != 0;
      if (ended) check_observation(space, &finals[i * width]);
    }
  }

  void check_observation(const Space& space, const float* observation) {
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
    expect(inside, "an observation is not in its space");
  }

  // Ends are told apart, counted and explained.
  void check_episodes() {
    const std::unique_ptr<VecEnv> envs = make_(options());
    const EnvSpec& spec = envs->spec();
    std::vector<int> length(kEnvs, 0), cuts(kEnvs, 0);
    for (int t = 0; t < kSteps; ++t) {
      const Rollout out = roll(*envs, t, 1, kEnvs);
      for (int n = 0; n < kEnvs; ++n) {
        const int terminated = out.terminated[n], truncated = out.truncated[n];
        const bool ended = (terminated | truncated) != 0;
        ++length[n];
        cuts[n] += truncated;
        expect(terminated <= 1 && truncated <= 1, "an end flag is not 0 or 1");
        expect((terminated & truncated) == 0, "a step is terminated and truncated");
        expect(truncated == 0 || length[n] == kLimit, "a step is truncated before the time limit");
        expect(length[n] < kLimit || ended, "an episode is longer than the time limit");
        check_end(spec, out.ends[n], ended, truncated != 0);
        if (ended) length[n] = 0;
        expect(envs->episode_step(n) == length[n],
               "episode_step() is not the number of the episode's steps");
      }
    }
    for (const int count : cuts) {
      expect(count <= envs->max_truncations(kSteps), "more truncations than max_truncations()");
    }
  }

  void check_end(const EnvSpec& spec, const EpisodeEnd& end, bool ended, bool truncated) {
    if (!ended) {
      expect(end == EpisodeEnd{}, "the end of an episode is told that has not ended");
      return;
    }
    const int last = static_cast<int>(spec.end_reasons.size()) - 1;
    expect(end.reason >= 0 && end.reason <= last, "an end's reason is not one of end_reasons");
    expect((end.reason == last) == truncated, "the last reason is not that of truncated steps");
    expect((end.success >= 0) == spec.names_success, "success is not known as names_success says");
    expect(end.stratum < static_cast<int>(spec.strata.size()),
           "an end's stratum is none of strata");
  }

  // The final observation of a cut episode is what an uncut one goes on from.
  void check_final_observations() {
    const std::unique_ptr<VecEnv> cut = make_(options());
    const std::unique_ptr<VecEnv> whole = make_(options(kLimit + 1));
    const Rollout a = roll(*cut, 0, kLimit, kEnvs), b = roll(*whole, 0, kLimit, kEnvs);
    check_finals(cut->spec().observation, a, a.final_observations, b, b.observations);
    if (!cut->spec().has_critic_observation()) return;
    check_finals(cut->spec().critic_observation, a, a.final_critic_observations, b,
                 b.critic_observations);
  }

  void check_finals(const Space& space, const Rollout& a, const std::vector<float>& finals,
                    const Rollout& b, const std::vector<float>& goes_on) {
    const std::size_t width = static_cast<std::size_t>(space.size);
    for (std::size_t i = 0; i < a.rewards.size(); ++i) {
      const float* final_row = &finals[i * width];
      const bool ended = (a.terminated[i] | a.truncated[i]) != 0;
      const bool untouched = std::all_of(final_row, final_row + width,
                                         [](float x) { return x == RolledRows::kUntouched; });
      expect(ended != untouched, ended ? "no final observation of an ended episode"
                                       : "a final observation of an episode that has not ended");
      bool ended_before = false;
      for (std::size_t j = i % kEnvs; j < i; j += kEnvs) ended_before |= b.terminated[j] != 0;
      if (!a.truncated[i] || ended_before) continue;
      expect(std::equal(final_row, final_row + width, &goes_on[i * width]),
             "a final observation is not the ended episode's last");
    }
  }

  void check_ranges() {
    const Rollout whole = roll(*make_(options()), 0, kSteps, kEnvs);
    expect(whole == roll(*make_(options()), 0, kSteps, kEnvs), "the same seed gives other steps");
    for (const int shard : {1, 3}) {
      expect(whole == roll(*make_(options()), 0, kSteps, shard),
             "a step depends on the range that is stepped");
    }
  }

  void check_observe() {
    const std::unique_ptr<VecEnv> envs = make_(options());
    for (int t = 0; t < kSteps; ++t) {
      const Rollout out = roll(*envs, t, 1, kEnvs);
      const EnvSpec& spec = envs->spec();
      RolledRows seen(spec.observation, kEnvs), critic(spec.critic_observation, kEnvs);
      envs->observe(0, kEnvs, seen.from(0));
      if (spec.has_critic_observation()) envs->observe_critic(0, kEnvs, critic.from(0));
      std::vector<float> got, critic_got;
      seen.append_to(got);
      critic.append_to(critic_got);
      expect(got == out.observations, "observe() is not what step() gave");
      expect(critic_got == out.critic_observations, "observe_critic() is not what step() gave");
    }
  }

  void check_state() {
    const std::unique_ptr<VecEnv> envs = make_(options()), other = make_(options());
    roll(*envs, 0, kSteps, kEnvs);
    std::vector<TensorRef> from, to;
    envs->append_state("e", from);
    other->append_state("e", to);
    std::set<std::string> names;
    for (const TensorRef& tensor : from) names.insert(tensor.name);
    expect(names.size() == from.size(), "two tensors of the state have one name");
    bool alike = from.size() == to.size();
    for (std::size_t i = 0; alike && i < from.size(); ++i) {
      alike = from[i].name == to[i].name && from[i].bytes() == to[i].bytes();
      if (alike) std::memcpy(to[i].data, from[i].data, from[i].bytes());
    }
    expect(alike, "the state of two of a kind has other names or sizes");
    expect(roll(*envs, kSteps, kSteps, kEnvs) == roll(*other, kSteps, kSteps, kEnvs),
           "environments go on otherwise after their state was saved and restored");
  }

  void check_seeds() {
    if (!draws_) return;
    const Rollout whole = roll(*make_(options()), 0, kSteps, kEnvs);
    VecEnvOptions other = options();
    other.seed = 4;
    expect(whole != roll(*make_(other), 0, kSteps, kEnvs), "another seed gives the same steps");
    other = options();
    other.streams = StreamSet::kEvaluation;
    expect(whole != roll(*make_(other), 0, kSteps, kEnvs), "evaluation draws what training draws");
    other = options();
    other.seed_families = 1;
    const Rollout family = roll(*make_(other), 0, 1, kEnvs, 1);
    const std::size_t width = family.observations.size() / kEnvs;
    for (std::size_t i = width; i < family.observations.size(); ++i) {
      expect(family.observations[i] == family.observations[i - width],
             "environments of one seed family, under the same actions, differ");
    }
  }

  void check_another() {
    const std::unique_ptr<VecEnv> envs = make_(options());
    const std::unique_ptr<VecEnv> more = envs->another({.num_envs = 2, .seed = 9});
    if (more == nullptr) return;
    expect(more->num_envs() == 2, "another() gives another number than was asked for");
    expect(more->spec().max_episode_steps == kLimit && more->spec().id == envs->spec().id,
           "another() is of another id or time limit");
  }

  MakeEnvs make_;
  bool draws_;
  std::vector<std::string> problems_;
};

}  // namespace broadloom
