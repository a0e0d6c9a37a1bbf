// Plays one shard of environments with a policy, until each has ended its first episode. A part of
// play_scenes.cc.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "broadloom/env/action_masks.h"
#include "broadloom/env/drawable.h"
#include "broadloom/env/simulator_call.h"
#include "broadloom/env/step_counter.h"
#include "broadloom/env/vec_env.h"
#include "broadloom/evaluate/evaluator.h"
#include "broadloom/math/elementwise.h"
#include "broadloom/math/random_rows.h"
#include "broadloom/rollout/actor.h"
#include "broadloom/rollout/block.h"
#include "broadloom/rollout/collect_fault.h"
#include "broadloom/rollout/kept_noise.h"
#include "broadloom/rollout/observations.h"

namespace broadloom {

// The data exchanged between k environments and the policy.
struct PlayedRows {
  // watched: also keeps drawings of final states.
  PlayedRows(int k, const EnvSpec& spec, bool watched)
      : action_size(static_cast<std::size_t>(spec.action_size())),
        raw(observation_type(spec.observation), static_cast<std::size_t>(k)),
        last(raw.type(), static_cast<std::size_t>(k)),
        masks(spec, static_cast<std::size_t>(k)),
        actions(k * action_size),
        rewards(k),
        terminated(k),
        truncated(k),
        ends(k),
        final_drawings(watched ? k : 0) {}

  StepRows step_rows() {
    StepRows rows{actions.data(),   raw.rows(),  rewards.data(), terminated.data(),
                  truncated.data(), last.rows(), ends.data()};
    if (!final_drawings.empty()) rows.final_drawings = final_drawings.data();
    return rows;
  }

  std::size_t width() const { return static_cast<std::size_t>(raw.type().size); }

  std::size_t action_size;
  Observations raw, last;      // [k]
  MaskRows masks;              // [k] of raw
  std::vector<float> actions;  // [k, A]
  std::vector<float> rewards;
  std::vector<std::uint8_t> terminated, truncated;
  std::vector<EpisodeEnd> ends;
  std::vector<Drawing> final_drawings;  // [k] or empty
};

// The memory that one thread needs to act.
struct ActingScratch {
  explicit ActingScratch(const Policy& policy)
      : work(policy.network.make_workspace<float>()),
        seen(static_cast<std::size_t>(policy.spec.observation_size()) * kTileRows),
        chosen(static_cast<std::size_t>(policy.spec.action_size()) * kTileRows),
        log_probs(kTileRows),
        draws(chosen.size()),
        terms(chosen.size()) {}

  TileWorkspace<float> work;
  std::vector<float> seen;
  std::vector<float> chosen;        // [A, kTileRows]
  std::vector<float> log_probs;     // [kTileRows]
  std::vector<float> draws, terms;  // [A, kTileRows] of the actor
};

// Plays one shard of environments until each has ended its first episode.
class ShardEvaluation {
 public:
  // The shard's first row is row `first` of `rows`. Environment i plays episode first_episode + i
  // of `episodes`; results of environments beyond the last episode are dropped.
  ShardEvaluation(const EvalScene& scene, const Space& action_space, const Policy& policy,
                  const Actor& actor, Shard shard, PlayedRows& rows, int first,
                  std::vector<EvalEpisode>& episodes, int first_episode = 0)
      : scene_(scene),
        action_space_(action_space),
        policy_(policy),
        actor_(actor),
        shard_(shard),
        rows_(rows),
        first_(static_cast<std::size_t>(first)),
        episodes_(episodes),
        first_episode_(first_episode),
        has_ended_(rows_of_shard(), false),
        states_(rows_of_shard() * policy.network.state_size()),
        noise_(policy.network, scene.actions == EvalActions::kSampled ? rows_of_shard() : 0),
        left_(std::clamp(static_cast<int>(episodes.size()) - first_episode - shard.begin, 0,
                         shard.size())) {
    std::fill(has_ended_.begin() + left_, has_ended_.end(), true);
  }

  int left() const { return left_; }  // episodes that have not ended

  // fault_order() of the first number that is not finite in an active episode; kNoFault: none.
  std::uint64_t fault() const { return fault_; }

  // Chooses actions. False if an observation or a policy output is not finite, or if no action is
  // valid.
  bool act(int step, ActingScratch& scratch) {
    if (!check_observations(step) || !check_masks(step)) return false;
    const float* observations = rows_.raw.view(first_, rows_of_shard(), scratch.seen.data());
    if (policy_.obs_norm != nullptr) {
      policy_.obs_norm->normalize(observations, shard_.size(), scratch.seen.data());
      observations = scratch.seen.data();
    }
    NetworkInput<float> input(observations);
    input.valid = rows_.masks.row(first_);
    const std::size_t state = policy_.network.state_size();
    scratch.work.states.begin(shard_.size());
    std::copy(states_.begin(), states_.end(), scratch.work.states.before.begin());
    policy_.network.forward(policy_.params, input, shard_.size(), scratch.work,
                            NetworkSide::kPolicy);
    for (std::size_t k = 0; k < rows_of_shard(); ++k) {
      policy_.network.copy_state(scratch.work, static_cast<int>(k), states_.data() + k * state,
                                 NetworkSide::kPolicy);
    }
    if (!check_outputs(step, scratch)) return false;
    choose_actions(step, scratch);
    hand_over_actions(scratch);
    return true;
  }

  // Shows the states of active episodes to the watcher. acting: with the actions chosen by act().
  void show(const VecEnv& envs, bool acting) {
    if (scene_.watcher == nullptr) return;
    const auto* const drawable = capability<Drawable>(envs);
    for (std::size_t k = 0; k < rows_of_shard(); ++k) {
      if (has_ended_[k]) continue;
      const float* action = acting ? &rows_.actions[(first_ + k) * rows_.action_size] : nullptr;
      Drawing drawing;
      if (drawable != nullptr) {
        name_exceptions(envs.spec().id, "draw",
                        [&] { drawable->draw(env_of(k), action, drawing); });
      }
      scene_.watcher->see({episode_of(k), drawing, row_of(rows_.raw, k), action});
    }
  }

  // Takes a step's results. False if a reward, or the final observation of a truncated episode, is
  // not finite.
  bool take_in(VecEnv& envs, int step) {
    if (!check_rewards(step) || !check_last_observations(envs, step)) return false;
    for (std::size_t k = 0; k < rows_of_shard(); ++k) {
      if (has_ended_[k]) continue;
      const std::size_t row = first_ + k;
      EvalEpisode& episode = episodes_[static_cast<std::size_t>(episode_of(k))];
      episode.episode_return += rows_.rewards[row];
      episode.length += 1;
      if (scene_.watcher != nullptr) scene_.watcher->take(episode_of(k), rows_.rewards[row]);
      if (rows_.terminated[row] == 0 && rows_.truncated[row] == 0) continue;
      episode.end = rows_.ends[row];
      has_ended_[k] = true;
      --left_;
      take_measures(envs, k);
      show_last(k);
    }
    return true;
  }

  // Cuts the episodes that are still active after `steps`. stopped: they should have gone on. False
  // if one has an observation that is not finite.
  bool end(VecEnv& envs, int steps, bool stopped) {
    if (!check_observations(steps)) return false;
    for (std::size_t k = 0; k < rows_of_shard(); ++k) {
      if (has_ended_[k]) continue;
      episodes_[static_cast<std::size_t>(episode_of(k))].stopped = stopped;
      take_measures(envs, k);
    }
    show(envs, false);
    return true;
  }

 private:
  int env_of(std::size_t k) const { return shard_.begin + static_cast<int>(k); }
  int episode_of(std::size_t k) const { return first_episode_ + env_of(k); }

  ObservationRows row_of(Observations& observations, std::size_t k) const {
    return observations.rows(first_ + k);
  }

  // Takes the sums at the episode's end, before the next step adds to them.
  void take_measures(VecEnv& envs, std::size_t k) {
    const EnvSpec& spec = envs.spec();
    if (spec.measures.empty()) return;
    EvalEpisode& episode = episodes_[static_cast<std::size_t>(episode_of(k))];
    if (episode.length == 0) return;  // stopped before its first step
    std::vector<double> sums(spec.counted());
    if (auto* const counter = capability<StepCounter>(envs)) {
      name_exceptions(spec.id, "take_step_sums", [&] { counter->take_step_sums(env_of(k), sums); });
    }
    for (std::size_t m = spec.paid_terms(); m < sums.size(); ++m)
      episode.measures.push_back(sums[m] / episode.length);
  }

  // Shows an episode's final state; its environment is already in the next episode.
  void show_last(std::size_t k) {
    if (scene_.watcher == nullptr) return;
    const Drawing& drawing = rows_.final_drawings[first_ + k];
    scene_.watcher->see({episode_of(k), drawing, row_of(rows_.last, k), nullptr});
  }

  std::size_t rows_of_shard() const { return static_cast<std::size_t>(shard_.size()); }

  // Checks that rows [k, width] of active episodes are finite. only: null, or 1 for rows to check.
  bool check(const float* rows, std::size_t width, int step, FaultPlace place,
             const std::uint8_t* only = nullptr) {
    if (all_finite(rows, rows_of_shard() * width)) return true;
    for (std::size_t k = 0; k < rows_of_shard(); ++k) {
      if (has_ended_[k] || (only != nullptr && only[k] == 0)) continue;
      if (all_finite(rows + k * width, width)) continue;
      fault_ = std::min(fault_, fault_order(step, place, episode_of(k)));
      return false;
    }
    return true;
  }

  bool check_rewards(int step) {
    return check(&rows_.rewards[first_], 1, step, FaultPlace::kReward);
  }

  bool check_observations(int step) {
    if (rows_.raw.type().dtype != Dtype::kF32) return true;  // every byte is finite
    const std::size_t width = rows_.width();
    return check(&rows_.raw.floats()[first_ * width], width, step, FaultPlace::kObservation);
  }

  // The action of a row whose next step only begins an episode is ignored.
  bool check_masks(int step) {
    for (std::size_t k = 0; k < rows_of_shard() && rows_.masks.width() > 0; ++k) {
      if (has_ended_[k] || rows_.masks.can_act(first_ + k)) continue;
      fault_ = std::min(fault_, fault_order(step, FaultPlace::kNoValidAction, episode_of(k)));
      return false;
    }
    return true;
  }

  // Checks truncated episodes only, as in training: their final observations are used.
  bool check_last_observations(const VecEnv& envs, int step) {
    if (rows_.last.type().dtype != Dtype::kF32) return true;
    if (!envs.traits().has_final_observations) return true;
    const std::size_t width = rows_.width();
    return check(&rows_.last.floats()[first_ * width], width, step, FaultPlace::kFinalObservation,
                 &rows_.truncated[first_]);
  }

  bool check_outputs(int step, const ActingScratch& scratch) {
    const AlignedVector<float>& outputs = scratch.work.policy;  // [outputs, kTileRows]
    bool finite = true;
    for (std::size_t first = 0; first < outputs.size(); first += kTileRows) {
      if (!check(&outputs[first], 1, step, FaultPlace::kPolicyOutput)) finite = false;
    }
    return finite;
  }

  // Episode i draws from Random(seed, kEvalAction, i, step).
  void choose_actions(int step, ActingScratch& scratch) {
    ActRows rows{.log_std = scratch.work.log_std.data(),
                 .outputs = scratch.work.policy.data(),
                 .streams = {scene_.envs.seed, Purpose::kEvalAction,
                             static_cast<std::uint32_t>(episode_of(0)),
                             static_cast<std::uint64_t>(step), shard_.size()},
                 .actions = scratch.chosen.data(),
                 .log_probs = scratch.log_probs.data(),
                 .draws = scratch.draws.data(),
                 .terms = scratch.terms.data()};
    if (scene_.actions == EvalActions::kSampled) {
      const DrawnNoise noise = noise_.at(
          step, rows.streams, 0, policy_.network.noise_rows(scratch.work, rows.streams.rows));
      rows.noise = &noise;
      actor_.act(rows);
    } else {
      actor_.act_best(rows);
    }
  }

  // Transposes actions to rows and brings them within the bounds.
  void hand_over_actions(const ActingScratch& scratch) {
    const Space& space = action_space_;
    const PolicyDistribution policy(policy_.network.shape());
    const std::size_t size = rows_.action_size;
    for (std::size_t k = 0; k < rows_of_shard(); ++k) {
      for (std::size_t a = 0; a < size; ++a) {
        rows_.actions[(first_ + k) * size + a] =
            policy.played(a, scratch.chosen[a * kTileRows + k], space);
      }
    }
  }

  const EvalScene& scene_;
  const Space& action_space_;
  const Policy& policy_;
  const Actor& actor_;
  Shard shard_;
  PlayedRows& rows_;
  std::size_t first_;
  std::vector<EvalEpisode>& episodes_;
  int first_episode_;
  std::vector<bool> has_ended_;
  std::vector<float> states_;  // [k, state_size] of active episodes; others are meaningless
  KeptNoise noise_;            // of sampled actions
  int left_;
  std::uint64_t fault_ = kNoFault;
};

}  // namespace broadloom
