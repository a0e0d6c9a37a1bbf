#include "broadloom/instruments/probe_states.h"

#include <algorithm>
#include <cstdint>
#include <memory>

#include "broadloom/core/random.h"
#include "broadloom/env/action_masks.h"
#include "broadloom/env/env_maker.h"
#include "broadloom/env/frame_stack.h"
#include "broadloom/env/random_action.h"
#include "broadloom/env/simulator_call.h"

namespace broadloom {
namespace {

// A seed that a run is unlikely to have.
constexpr std::uint64_t kProbeSeed = 0x70726f6265ull;

// Used if environments cannot begin in mid-episode, or reach it slowly: number of environments
// played, and steps between two states of one of them.
constexpr std::size_t kPlayed = 16;
constexpr int kPlayedSteps = 4;

// Whether the observations can be enumerated.
bool are_listed(const EnvSpec& spec) {
  return spec.observation.kind == SpaceKind::kDiscrete && !spec.has_critic_observation();
}

// Half a million steps are cheap for the library's own environments, but take a robot simulator
// minutes.
bool is_ours(const EnvSpec& spec) { return spec.engine.empty() && spec.plugin.name.empty(); }

int rows_of(const EnvSpec& spec) {
  return probe_rows(spec.observation.kind, spec.observation_size());
}

std::vector<float> as_read(const Observations& observations, int rows) {
  std::vector<float> out(observations.size());
  observations.read(0, static_cast<std::size_t>(rows), out.data());
  return out;
}

std::vector<float> one_hot_states(int rows, int size) {
  std::vector<float> states(static_cast<std::size_t>(rows) * size);
  for (int r = 0; r < rows; ++r) {
    const std::size_t state = static_cast<std::size_t>(std::int64_t{r} * size / rows);
    states[static_cast<std::size_t>(r) * size + state] = 1.0f;
  }
  return states;
}

// Environments under uniformly random actions.
class RandomPlay {
 public:
  explicit RandomPlay(VecEnv& envs)
      : envs_(envs),
        rows_(static_cast<std::size_t>(envs.num_envs())),
        seen_(observation_type(envs.spec().observation), rows_),
        last_(seen_.type(), rows_),
        critic_(observation_type(envs.spec().critic_observation), rows_),
        critic_last_(critic_.type(), rows_),
        masks_(envs.spec(), rows_),
        actions_(rows_ * envs.spec().action_size()),
        rewards_(rows_),
        terminated_(rows_),
        truncated_(rows_) {}

  // Returns false if a step failed.
  bool step() {
    ++t_;
    const Space& action = envs_.spec().action;
    const std::size_t width = actions_.size() / rows_;
    masks_.read(envs_, 0, envs_.num_envs());
    for (std::size_t n = 0; n < rows_; ++n) {
      Random random(kProbeSeed, Purpose::kInstruments, static_cast<std::uint32_t>(n), t_);
      draw_action(action, random, &actions_[n * width], masks_.row(n));
    }
    StepRows step{actions_.data(),    seen_.rows(),      rewards_.data(),
                  terminated_.data(), truncated_.data(), last_.rows()};
    step.critic_observations = critic_.rows();
    step.final_critic_observations = critic_last_.rows();
    return step_simulator(envs_, 0, envs_.num_envs(), step).ok();
  }

  // Writes the present observations to rows starting at `first`.
  void observe(std::size_t first, Observations& policy, Observations& critic) const {
    observe_simulator(envs_, 0, envs_.num_envs(), policy.rows(first), critic.rows(first));
  }

 private:
  VecEnv& envs_;
  std::size_t rows_;
  std::uint64_t t_ = 0;
  Observations seen_, last_, critic_, critic_last_;
  MaskRows masks_;
  std::vector<float> actions_, rewards_;
  std::vector<std::uint8_t> terminated_, truncated_;
};

VecEnvOptions probe_options(int num_envs) {
  VecEnvOptions options;
  options.num_envs = num_envs;
  options.seed = kProbeSeed;
  options.streams = StreamSet::kEvaluation;
  return options;
}

// One environment per row, spread over its episode. A stack of equal frames has seen no step, so
// further steps fill the stacks. Returns false if environments cannot begin in mid-episode.
bool look_at_staggered(const VecEnv& envs, Observations& policy, Observations& critic) {
  VecEnvOptions options = probe_options(rows_of(envs.spec()));
  options.stagger_starts = true;
  const std::unique_ptr<VecEnv> probed = make_another(envs, options);
  if (probed == nullptr) return false;
  RandomPlay play(*probed);
  const int steps = longest_stack(*probed) - 1;
  for (int t = 0; t < steps && play.step(); ++t) {
  }
  play.observe(0, policy, critic);
  return true;
}

// Reads a few environments again and again while they are played. If a step fails, they show the
// last observation again.
bool look_at_played(const VecEnv& envs, Observations& policy, Observations& critic) {
  const std::size_t rows = static_cast<std::size_t>(rows_of(envs.spec()));
  const std::unique_ptr<VecEnv> probed =
      make_another(envs, probe_options(static_cast<int>(std::min(rows, kPlayed))));
  if (probed == nullptr) return false;
  const std::size_t count = static_cast<std::size_t>(probed->num_envs());
  Observations seen(policy.type(), count), critic_inputs(critic.type(), count);
  RandomPlay play(*probed);
  for (std::size_t first = 0; first < rows; first += count) {
    for (int t = 0; t < kPlayedSteps && first > 0 && play.step(); ++t) {
    }
    play.observe(0, seen, critic_inputs);
    const std::size_t wanted = std::min(count, rows - first);
    policy.write(first, seen, 0, wanted);
    if (!critic.empty()) critic.write(first, critic_inputs, 0, wanted);
  }
  return true;
}

}  // namespace

int probe_rows(SpaceKind observation_kind, int observation_size) {
  return observation_kind == SpaceKind::kDiscrete ? std::min(observation_size, kProbeStates)
                                                  : kProbeStates;
}

bool can_probe(const VecEnv& envs) {
  return are_listed(envs.spec()) || make_another(envs, {}) != nullptr;
}

ProbeStates make_probe_states(const VecEnv& envs) {
  const EnvSpec& spec = envs.spec();
  const int size = spec.observation_size();
  const int rows = rows_of(spec);
  if (are_listed(spec)) return {one_hot_states(rows, size), {}};
  const std::size_t count = static_cast<std::size_t>(rows);
  Observations policy(observation_type(spec.observation), count);
  Observations critic(observation_type(spec.critic_observation), count);
  const bool staggered = is_ours(spec) && look_at_staggered(envs, policy, critic);
  if (!staggered && !look_at_played(envs, policy, critic)) return {};
  return {as_read(policy, rows), as_read(critic, rows)};
}

}  // namespace broadloom
