// Plays the episodes of scenes: the part of evaluator.h that steps environments.
#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

#include "broadloom/core/thread_pool.h"
#include "broadloom/env/drawable.h"
#include "broadloom/env/step_counter.h"
#include "broadloom/env/tasks/registry.h"
#include "broadloom/evaluate/evaluator.h"
#include "broadloom/math/random_rows.h"
#include "broadloom/rollout/actor.h"
#include "broadloom/rollout/block.h"
#include "broadloom/rollout/observations.h"

namespace broadloom {
namespace {

// What goes between k environments and the policy that plays them.
struct PlayedRows {
  // watched: somebody wants to see what ended.
  PlayedRows(int k, const EnvSpec& spec, bool watched)
      : action_size(static_cast<std::size_t>(spec.action_size())),
        raw(observation_type(spec.observation), static_cast<std::size_t>(k)),
        last(raw.type(), static_cast<std::size_t>(k)),
        actions(k * action_size),
        rewards(k),
        terminated(k),
        truncated(k),
        ends(k),
        final_drawings(watched ? k : 0) {}

  StepRows all() {
    StepRows rows{actions.data(),   raw.rows(),  rewards.data(), terminated.data(),
                  truncated.data(), last.rows(), ends.data()};
    if (!final_drawings.empty()) rows.final_drawings = final_drawings.data();
    return rows;
  }

  std::size_t action_size;
  Observations raw, last;      // [k]
  std::vector<float> actions;  // [k, A]
  std::vector<float> rewards;
  std::vector<std::uint8_t> terminated, truncated;
  std::vector<EpisodeEnd> ends;
  std::vector<Drawing> final_drawings;  // [k] or empty
};

// What one thread needs to act.
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
  // The shard's rows begin at row `first` of `rows`.
  ShardEvaluation(const EvalScene& scene, const Space& action_space, const Policy& policy,
                  const Actor& actor, Shard shard, PlayedRows& rows, int first,
                  std::vector<EvalEpisode>& episodes)
      : scene_(scene),
        action_space_(action_space),
        policy_(policy),
        actor_(actor),
        shard_(shard),
        rows_(rows),
        first_(static_cast<std::size_t>(first)),
        episodes_(episodes),
        over_(rows_of_shard(), false),
        left_(shard.size()) {}

  int left() const { return left_; }  // episodes that are not over

  void act(int step, ActingScratch& scratch) {
    const float* observations = rows_.raw.view(first_, rows_of_shard(), scratch.seen.data());
    if (policy_.obs_norm != nullptr) {
      policy_.obs_norm->normalize(observations, shard_.size(), scratch.seen.data());
      observations = scratch.seen.data();
    }
    policy_.network.forward(policy_.params, observations, shard_.size(), scratch.work,
                            NetworkSide::kPolicy);
    choose_actions(step, scratch);
    hand_over_actions(scratch);
  }

  // The states of episodes that are not over, for who watches. acting: with the actions that act()
  // has chosen there.
  void show(const VecEnv& envs, bool acting) {
    if (scene_.watcher == nullptr) return;
    const auto* const drawable = capability<Drawable>(envs);
    for (std::size_t k = 0; k < rows_of_shard(); ++k) {
      if (over_[k]) continue;
      const float* action = acting ? &rows_.actions[(first_ + k) * rows_.action_size] : nullptr;
      Drawing drawing;
      if (drawable != nullptr) drawable->draw(episode_of(k), action, drawing);
      scene_.watcher->see({episode_of(k), drawing, row_of(rows_.raw, k), action});
    }
  }

  void take_in(VecEnv& envs) {
    for (std::size_t k = 0; k < rows_of_shard(); ++k) {
      if (over_[k]) continue;
      const std::size_t row = first_ + k;
      EvalEpisode& episode = episodes_[static_cast<std::size_t>(shard_.begin) + k];
      episode.episode_return += rows_.rewards[row];
      episode.length += 1;
      if (scene_.watcher != nullptr) scene_.watcher->take(episode_of(k), rows_.rewards[row]);
      if (rows_.terminated[row] == 0 && rows_.truncated[row] == 0) continue;
      episode.end = rows_.ends[row];
      over_[k] = true;
      --left_;
      take_measures(envs, k);
      show_last(k);
    }
  }

  // Of episodes that are cut where they are.
  void end(VecEnv& envs) {
    for (std::size_t k = 0; k < rows_of_shard(); ++k) {
      if (!over_[k]) take_measures(envs, k);
    }
  }

 private:
  int episode_of(std::size_t k) const { return shard_.begin + static_cast<int>(k); }

  ObservationRows row_of(Observations& observations, std::size_t k) const {
    return observations.rows(first_ + k);
  }

  // The sums are those of the episode: one more step, and the next one would be in them.
  void take_measures(VecEnv& envs, std::size_t k) {
    const EnvSpec& spec = envs.spec();
    if (spec.measures.empty()) return;
    std::vector<double> sums(spec.counted());
    if (auto* const counter = capability<StepCounter>(envs)) {
      counter->take_step_sums(episode_of(k), sums);
    }
    EvalEpisode& episode = episodes_[static_cast<std::size_t>(episode_of(k))];
    for (std::size_t m = spec.paid_terms(); m < sums.size(); ++m)
      episode.measures.push_back(sums[m] / episode.length);
  }

  // Where the episode has ended; the environment is in the next one already.
  void show_last(std::size_t k) {
    if (scene_.watcher == nullptr) return;
    const Drawing& drawing = rows_.final_drawings[first_ + k];
    scene_.watcher->see({episode_of(k), drawing, row_of(rows_.last, k), nullptr});
  }

  std::size_t rows_of_shard() const { return static_cast<std::size_t>(shard_.size()); }

  bool is_discrete() const { return action_space_.kind == SpaceKind::kDiscrete; }

  // Episode i draws from Random(seed, kEvalAction, i, its step).
  void choose_actions(int step, ActingScratch& scratch) {
    const ActRows rows{.params = policy_.params,
                       .outputs = scratch.work.policy.data(),
                       .streams = {scene_.envs.seed, Purpose::kEvalAction,
                                   static_cast<std::uint32_t>(shard_.begin),
                                   static_cast<std::uint64_t>(step), shard_.size()},
                       .actions = scratch.chosen.data(),
                       .log_probs = scratch.log_probs.data(),
                       .draws = scratch.draws.data(),
                       .terms = scratch.terms.data()};
    if (scene_.actions == EvalActions::kSampled) {
      actor_.act(rows);
    } else {
      actor_.act_best(rows);
    }
  }

  // Row by row, and within their bounds.
  void hand_over_actions(const ActingScratch& scratch) {
    const Space& space = action_space_;
    const std::size_t size = rows_.action_size;
    for (std::size_t k = 0; k < rows_of_shard(); ++k) {
      for (std::size_t a = 0; a < size; ++a) {
        const float action = scratch.chosen[a * kTileRows + k];
        rows_.actions[(first_ + k) * size + a] =
            is_discrete() ? action : std::clamp(action, space.low[a], space.high[a]);
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
  std::vector<bool> over_;
  int left_;
};

// Tells how far the episodes are, as threads play them.
class PlayedEpisodes {
 public:
  PlayedEpisodes(const std::vector<std::vector<EvalEpisode>>& episodes, const PlayProgress& tell)
      : tell_(tell) {
    for (const std::vector<EvalEpisode>& of_scene : episodes) {
      all_ += static_cast<std::int64_t>(of_scene.size());
    }
    add(0);
  }

  void add(std::int64_t count) {
    if (!tell_) return;
    const std::lock_guard<std::mutex> one_at_a_time(mutex_);
    played_ += count;
    tell_(played_, all_);
  }

 private:
  const PlayProgress& tell_;
  std::mutex mutex_;
  std::int64_t played_ = 0, all_ = 0;
};

struct SceneBeingPlayed {
  const EvalScene& scene;
  std::unique_ptr<VecEnv> envs;
  ShardPlan plan;
};

// Plays scenes: those of which shards can be stepped by themselves all at the same time, then each
// other one (VecEnvTraits::whole_batch) as a whole.
class ScenePlayer {
 public:
  ScenePlayer(const Policy& policy, ThreadPool& pool, PlayedEpisodes& played)
      : policy_(policy), actor_(make_actor(policy)), pool_(pool), played_(played) {}

  Status play(std::vector<SceneBeingPlayed>& scenes,
              std::vector<std::vector<EvalEpisode>>& episodes) {
    BROADLOOM_TRY(play_shards(scenes, episodes));
    for (std::size_t i = 0; i < scenes.size(); ++i) {
      if (!scenes[i].envs->traits().whole_batch) continue;
      BROADLOOM_TRY(play_whole(scenes[i], episodes[i]));
    }
    return {};
  }

 private:
  Status play_shards(std::vector<SceneBeingPlayed>& scenes,
                     std::vector<std::vector<EvalEpisode>>& episodes) {
    struct Task {
      std::size_t scene;
      Shard shard;
      Status status;
    };
    std::vector<Task> tasks;
    for (std::size_t i = 0; i < scenes.size(); ++i) {
      const ShardPlan& plan = scenes[i].plan;
      const int shards = scenes[i].envs->traits().whole_batch ? 0 : plan.count();
      for (int s = 0; s < shards; ++s) tasks.push_back({i, plan[s], {}});
    }
    pool_.run(static_cast<int>(tasks.size()), [&](int t) {
      Task& task = tasks[t];
      try {
        task.status = play_shard(scenes[task.scene], task.shard, episodes[task.scene]);
        played_.add(task.shard.size());
      } catch (const std::bad_alloc&) {  // tasks of a pool must not throw
        task.status = {ErrorKind::kIo, kNoMemory};
      }
    });
    for (const Task& task : tasks) BROADLOOM_TRY(task.status);
    return {};
  }

  Status play_shard(const SceneBeingPlayed& scene, Shard shard,
                    std::vector<EvalEpisode>& episodes) {
    VecEnv& envs = *scene.envs;
    ActingScratch scratch(policy_);
    const int longest = scene.scene.longest_episode;
    PlayedRows rows(shard.size(), envs.spec(), scene.scene.watcher != nullptr);
    ShardEvaluation evaluation(scene.scene, envs.spec().action, policy_, *actor_, shard, rows, 0,
                               episodes);
    envs.observe(shard.begin, shard.end, rows.raw.rows());
    for (int t = 0; t < longest && evaluation.left() > 0; ++t) {
      evaluation.act(t, scratch);
      evaluation.show(envs, true);
      BROADLOOM_TRY(stepped(envs.step(shard.begin, shard.end, rows.all()), t));
      evaluation.take_in(envs);
    }
    evaluation.end(envs);
    evaluation.show(envs, false);
    return {};
  }

  // Shards act at the same time, and the caller steps all environments.
  Status play_whole(const SceneBeingPlayed& scene, std::vector<EvalEpisode>& episodes) {
    VecEnv& envs = *scene.envs;
    const int count = envs.num_envs();
    std::vector<ActingScratch> scratch(pool_.threads(), ActingScratch(policy_));
    const int longest = scene.scene.longest_episode;
    PlayedRows rows(count, envs.spec(), scene.scene.watcher != nullptr);
    std::vector<ShardEvaluation> shards;
    for (int s = 0; s < scene.plan.count(); ++s) {
      const Shard shard = scene.plan[s];
      shards.emplace_back(scene.scene, envs.spec().action, policy_, *actor_, shard, rows,
                          shard.begin, episodes);
    }
    envs.observe(0, count, rows.raw.rows());
    const auto left = [&] {
      return std::any_of(shards.begin(), shards.end(),
                         [](const ShardEvaluation& shard) { return shard.left() > 0; });
    };
    for (int t = 0; t < longest && left(); ++t) {
      pool_.run(scene.plan.count(), [&](int s, int thread) { shards[s].act(t, scratch[thread]); });
      for (ShardEvaluation& shard : shards) shard.show(envs, true);
      BROADLOOM_TRY(stepped(envs.step(0, count, rows.all()), t));
      for (ShardEvaluation& shard : shards) shard.take_in(envs);
    }
    for (ShardEvaluation& shard : shards) {
      shard.end(envs);
      shard.show(envs, false);
    }
    played_.add(count);
    return {};
  }

  static Status stepped(const Status& status, int t) {
    if (status.ok()) return status;
    return {status.kind(),
            fmt::format("the simulator failed at step {} of the episodes that were played: {}", t,
                        status.message())};
  }

  static constexpr const char* kNoMemory =
      "there is not enough memory to play the episodes; ask for fewer at a time";

  const Policy& policy_;
  std::unique_ptr<Actor> actor_;
  ThreadPool& pool_;
  PlayedEpisodes& played_;
};

}  // namespace

Result<std::vector<std::vector<EvalEpisode>>> play_scenes(const std::vector<EvalScene>& scenes,
                                                          const Policy& policy, int threads,
                                                          const PlayProgress& on_progress) {
  std::vector<std::vector<EvalEpisode>> episodes;
  std::vector<SceneBeingPlayed> playing;
  for (const EvalScene& scene : scenes) {
    Result<std::unique_ptr<VecEnv>> made =
        make_vec_env(scene.env_id, scene.env_options, scene.envs);
    if (!made.ok()) return made.status();
    episodes.emplace_back(static_cast<std::size_t>(scene.envs.num_envs));
    playing.push_back({scene, made.take(), ShardPlan(scene.envs.num_envs, kTileRows)});
  }
  ThreadPool pool(threads);
  BROADLOOM_TRY(pool.status());
  PlayedEpisodes played(episodes, on_progress);
  ScenePlayer player(policy, pool, played);
  BROADLOOM_TRY(player.play(playing, episodes));
  return episodes;
}

}  // namespace broadloom
