// Plays the episodes of scenes: the part of evaluator.h that steps environments.
#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

#include "broadloom/core/thread_pool.h"
#include "broadloom/env/episode_waves.h"
#include "broadloom/env/simulator_call.h"
#include "broadloom/env/tasks/registry.h"
#include "broadloom/evaluate/evaluator.h"
#include "broadloom/evaluate/lanes.h"
#include "broadloom/evaluate/shard_evaluation.h"

namespace broadloom {
namespace {

// Reports the number of ended episodes while threads play.
class ProgressReporter {
 public:
  ProgressReporter(const std::vector<std::vector<EvalEpisode>>& episodes, const PlayProgress& tell)
      : tell_(tell) {
    for (const std::vector<EvalEpisode>& scene_episodes : episodes) {
      all_ += static_cast<std::int64_t>(scene_episodes.size());
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

// Plays scenes: first those that can be stepped in shards, all in parallel, then each other one
// (VecEnvTraits::whole_batch) as a whole.
class ScenePlayer {
 public:
  ScenePlayer(const Policy& policy, ThreadPool& pool, ProgressReporter& played,
              const std::function<bool()>& should_stop)
      : policy_(policy),
        actor_(make_actor(policy)),
        pool_(pool),
        played_(played),
        should_stop_(should_stop) {}

  Status play(std::vector<SceneBeingPlayed>& scenes,
              std::vector<std::vector<EvalEpisode>>& episodes) {
    BROADLOOM_TRY(play_shards(scenes, episodes));
    for (std::size_t i = 0; i < scenes.size(); ++i) {
      if (!scenes[i].envs->traits().whole_batch) continue;
      BROADLOOM_TRY(with_simulator_errors([&] { return play_whole(scenes[i], episodes[i]); }));
    }
    return {};
  }

 private:
  bool is_stopped() const { return should_stop_ && should_stop_(); }

  Status play_shards(std::vector<SceneBeingPlayed>& scenes,
                     std::vector<std::vector<EvalEpisode>>& episodes) {
    struct Task {
      std::size_t scene;
      Shard shard;
      Status status = {};
      std::uint64_t fault = kNoFault;
    };
    std::vector<Task> tasks;
    for (std::size_t i = 0; i < scenes.size(); ++i) {
      const ShardPlan& plan = scenes[i].plan;
      const int shards = scenes[i].envs->traits().whole_batch ? 0 : plan.count();
      for (int s = 0; s < shards; ++s) tasks.push_back({i, plan[s]});
    }
    pool_.run(static_cast<int>(tasks.size()), [&](int t) {
      Task& task = tasks[t];
      try {
        task.status = with_simulator_errors([&] {
          return play_shard(scenes[task.scene], task.shard, episodes[task.scene], task.fault);
        });
        if (!is_stopped()) played_.add(task.shard.size());
      } catch (const std::bad_alloc&) {  // tasks of a pool must not throw
        task.status = {ErrorKind::kIo, kNoMemory};
      }
    });
    std::vector<std::uint64_t> faults(scenes.size(), kNoFault);
    for (const Task& task : tasks) {
      BROADLOOM_TRY(task.status);
      faults[task.scene] = std::min(faults[task.scene], task.fault);
    }
    for (std::size_t i = 0; i < scenes.size(); ++i) {
      BROADLOOM_TRY(fault_of_scene(scenes[i].scene, faults[i]));
    }
    return {};
  }

  Status play_shard(const SceneBeingPlayed& scene, Shard shard, std::vector<EvalEpisode>& episodes,
                    std::uint64_t& fault) {
    VecEnv& envs = *scene.envs;
    ActingScratch scratch(policy_);
    const int longest = scene.scene.longest_episode;
    PlayedRows rows(shard.size(), envs.spec(), scene.scene.watcher != nullptr);
    ShardEvaluation evaluation(scene.scene, envs.spec().action, policy_, *actor_, shard, rows, 0,
                               episodes);
    observe_simulator(envs, shard.begin, shard.end, rows.raw.rows());
    rows.masks.read(envs, shard.begin, shard.end);
    bool finite = true;
    bool stopped = false;
    int t = 0;
    for (; finite && t < longest && evaluation.left() > 0; ++t) {
      stopped = is_stopped();
      if (stopped) break;
      finite = evaluation.act(t, scratch);
      if (!finite) break;
      evaluation.show(envs, true);
      BROADLOOM_TRY(stepped(step_simulator(envs, shard.begin, shard.end, rows.step_rows()), t));
      rows.masks.read(envs, shard.begin, shard.end);
      finite = evaluation.take_in(envs, t);
    }
    if (finite) evaluation.end(envs, t, stopped);
    fault = evaluation.fault();
    return {};
  }

  // As many episodes at a time as there are environments.
  Status play_whole(SceneBeingPlayed& scene, std::vector<EvalEpisode>& episodes) {
    const int lanes = scene.envs->num_envs(), count = static_cast<int>(episodes.size());
    for (int first = 0; first < count; first += lanes) {
      if (is_stopped()) {
        for (int i = first; i < count; ++i) episodes[static_cast<std::size_t>(i)].stopped = true;
        break;
      }
      if (first > 0) {
        VecEnv& envs = *scene.envs;
        BROADLOOM_TRY(
            stepped(call_simulator(envs.spec().id, "begin_wave",
                                   [&] { return episode_waves(envs)->begin_wave(first); }),
                    0));
      }
      BROADLOOM_TRY(play_wave(scene, first, episodes));
      if (!is_stopped()) played_.add(std::min(lanes, count - first));
    }
    return {};
  }

  // Shards act in parallel, and the caller steps all environments.
  Status play_wave(SceneBeingPlayed& scene, int first, std::vector<EvalEpisode>& episodes) {
    VecEnv& envs = *scene.envs;
    const int count = envs.num_envs();
    std::vector<ActingScratch> scratch(pool_.threads(), ActingScratch(policy_));
    const int longest = scene.scene.longest_episode;
    PlayedRows rows(count, envs.spec(), scene.scene.watcher != nullptr);
    std::vector<ShardEvaluation> shards;
    for (int s = 0; s < scene.plan.count(); ++s) {
      const Shard shard = scene.plan[s];
      shards.emplace_back(scene.scene, envs.spec().action, policy_, *actor_, shard, rows,
                          shard.begin, episodes, first);
    }
    observe_simulator(envs, 0, count, rows.raw.rows());
    rows.masks.read(envs, 0, count);
    const auto left = [&] {
      return std::any_of(shards.begin(), shards.end(),
                         [](const ShardEvaluation& shard) { return shard.left() > 0; });
    };
    const auto find_fault = [&] {
      std::uint64_t earliest = kNoFault;
      for (const ShardEvaluation& shard : shards) earliest = std::min(earliest, shard.fault());
      return fault_of_scene(scene.scene, earliest);
    };
    bool stopped = false;
    int t = 0;
    for (; t < longest && left(); ++t) {
      stopped = is_stopped();
      if (stopped) break;
      pool_.run(scene.plan.count(), [&](int s, int thread) { shards[s].act(t, scratch[thread]); });
      BROADLOOM_TRY(find_fault());
      for (ShardEvaluation& shard : shards) shard.show(envs, true);
      BROADLOOM_TRY(stepped(step_simulator(envs, 0, count, rows.step_rows()), t));
      rows.masks.read(envs, 0, count);
      for (ShardEvaluation& shard : shards) shard.take_in(envs, t);
      BROADLOOM_TRY(find_fault());
    }
    for (ShardEvaluation& shard : shards) shard.end(envs, t, stopped);
    return find_fault();
  }

  // The error about the first number that is not finite in the scene's episodes.
  Status fault_of_scene(const EvalScene& scene, std::uint64_t fault) {
    if (fault == kNoFault) return {};
    const FaultLocation location = decode_fault(fault);
    const std::string name = scene.name.empty() ? "" : fmt::format(" ({})", scene.name);
    const Status found =
        not_finite(location.place, fmt::format("episode {}{}", location.env, name), location.step);
    return {found.kind(), fmt::format("{}: {}", policy_.spec.id, found.message())};
  }

  static Status stepped(const Status& status, int t) {
    if (status.ok()) return status;
    return {status.kind(), fmt::format("the simulator failed at step {} of the episodes: {}", t,
                                       status.message())};
  }

  static constexpr const char* kNoMemory =
      "there is not enough memory to play the episodes; ask for fewer at once";

  const Policy& policy_;
  std::unique_ptr<Actor> actor_;
  ThreadPool& pool_;
  ProgressReporter& played_;
  const std::function<bool()>& should_stop_;
};

}  // namespace

Result<std::vector<std::vector<EvalEpisode>>> play_scenes(
    const std::vector<EvalScene>& scenes, const Policy& policy, int threads,
    const PlayProgress& on_progress, const std::function<bool()>& should_stop) {
  std::vector<std::vector<EvalEpisode>> episodes;
  std::vector<SceneBeingPlayed> playing;
  for (const EvalScene& scene : scenes) {
    const Result<int> lanes =
        lanes_of(scene.env_id, scene.env_options, scene.envs, policy.config.num_envs);
    if (!lanes.ok()) return lanes.status();
    VecEnvOptions options = scene.envs;
    options.num_envs = lanes.value();
    Result<std::unique_ptr<VecEnv>> made = make_vec_env(scene.env_id, scene.env_options, options);
    if (!made.ok()) return made.status();
    episodes.emplace_back(static_cast<std::size_t>(scene.envs.num_envs));
    playing.push_back({scene, made.take(), ShardPlan(lanes.value(), kTileRows)});
  }
  ThreadPool pool(threads);
  BROADLOOM_TRY(pool.status());
  ProgressReporter played(episodes, on_progress);
  ScenePlayer player(policy, pool, played, should_stop);
  BROADLOOM_TRY(player.play(playing, episodes));
  return episodes;
}

}  // namespace broadloom
