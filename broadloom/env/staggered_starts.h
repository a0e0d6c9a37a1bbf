// Environments spread over the phases of their episodes, so that they do not all end together. A
// simulator of your own calls this where VecEnvOptions::stagger_starts asks for it:
//
//   if (options.staggers_now() && options.stagger_by == StaggerBy::kAge) {
//     BROADLOOM_TRY(check_has_ages(spec));
//     age = staggered_ages(options, spec.max_episode_steps);  // [N]
//   }
#pragma once

#include <atomic>
#include <climits>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "broadloom/core/status.h"
#include "broadloom/core/thread_pool.h"
#include "broadloom/env/vec_env.h"

namespace broadloom {

// Steps that phases are spread over: an episode's, or 1,000 where there is no limit.
inline std::int64_t staggering_limit(const EnvSpec& spec) {
  return spec.max_episode_steps > 0 ? spec.max_episode_steps : 1000;
}

// For StaggerBy::kAge: kInvalidConfig where no time limit ends episodes, which then have no ages.
inline Status check_has_ages(const EnvSpec& spec) {
  if (spec.max_episode_steps > 0) return {};
  return invalid("stagger_by = age: " + spec.id +
                 " has no time limit; set max_episode_steps, or stagger_by = actions");
}

// Lots of environments, each of those that are stepped from the same time on: f(begin, end).
template <class F>
void over_lots(const VecEnvOptions& options, F&& f) {
  int begin = 0;
  for (const int end : options.joining) {
    f(begin, end);
    begin = end;
  }
  f(begin, options.num_envs);
}

// [N] steps of its episode that each environment is to be on, of `limit`.
inline std::vector<std::int64_t> staggered_ages(const VecEnvOptions& options, std::int64_t limit) {
  std::vector<std::int64_t> ages(static_cast<std::size_t>(options.num_envs));
  over_lots(options, [&](int begin, int end) {
    for (int i = begin; i < end; ++i)
      ages[static_cast<std::size_t>(i)] = (i - begin) * limit / (end - begin);
  });
  return ages;
}

// For StaggerBy::kActions: calls play(env, steps) once for each environment, on options.threads
// threads, so that what it makes of one must not depend on another. play: -> Status; gives that of
// the first environment, by number, that failed.
template <class Play>
Status stagger_starts(const VecEnvOptions& options, std::int64_t limit, Play&& play) {
  ThreadPool pool(options.threads);
  BROADLOOM_TRY(pool.status());
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
  const std::vector<std::int64_t> ages = staggered_ages(options, limit);
  over_lots(options, [&](int begin, int end) {
    // Who plays longest comes first, so that threads end together.
    pool.run(end - begin, [&](int task) {
      const int env = end - 1 - task;
      play_one(env, ages[static_cast<std::size_t>(env)]);
    });
  });
  return first;
}

}  // namespace broadloom
