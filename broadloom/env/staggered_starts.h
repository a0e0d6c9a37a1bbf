// Environments spread over the phases of their episodes, so that they do not all end at once.
#pragma once

#include <atomic>
#include <climits>
#include <cstdint>
#include <mutex>

#include "broadloom/core/status.h"
#include "broadloom/core/thread_pool.h"
#include "broadloom/env/vec_env.h"

namespace broadloom {

// Steps that phases are spread over: an episode's, or 1,000 where there is no limit.
inline std::int64_t staggering_limit(const EnvSpec& spec) {
  return spec.max_episode_steps > 0 ? spec.max_episode_steps : 1000;
}

// Environments in lots, each of those that are stepped from the same time on: environment i of a
// lot of n is to be i / n of `limit` steps on. Calls play(env, steps) once for each environment, on
// options.threads threads, so that what it makes of one must not depend on another. play: ->
// Status; gives that of the first environment, by number, that failed.
template <class Play>
Status stagger_starts(const VecEnvOptions& options, std::int64_t limit, Play&& play) {
  ThreadPool pool(options.threads);
  std::atomic<int> failed{INT_MAX};  // the first that did
  std::mutex mutex;
  Status first;
  const auto play_one = [&](int env, std::int64_t steps) {
    if (steps == 0 || env > failed.load()) return;
    Status status = play(env, steps);
    if (status.ok()) return;
    const std::lock_guard lock(mutex);
    if (env > failed.load()) return;
    failed = env;
    first = std::move(status);
  };
  const auto spread = [&](int begin, int end) {
    // Who plays longest comes first, so that threads end together.
    pool.run(end - begin, [&](int task) {
      const int place = end - begin - 1 - task;
      play_one(begin + place, place * limit / (end - begin));
    });
  };
  int begin = 0;
  for (const int end : options.joining) {
    spread(begin, end);
    begin = end;
  }
  spread(begin, options.num_envs);
  return first;
}

}  // namespace broadloom
