// Staggered starts: environments begin at different phases of their episodes, so that these do not
// all end together. Your own simulator calls this if VecEnvOptions::stagger_starts is set:
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

// Number of steps to spread phases over: the time limit, or 1,000 without one.
inline std::int64_t staggering_limit(const EnvSpec& spec) {
  return spec.max_episode_steps > 0 ? spec.max_episode_steps : 1000;
}

// For StaggerBy::kAge: kInvalidConfig without a time limit, since ages are shares of it.
inline Status check_has_ages(const EnvSpec& spec) {
  if (spec.max_episode_steps > 0) return {};
  return invalid("stagger_by = age: " + spec.id +
                 " has no time limit; set max_episode_steps, or stagger_by = actions");
}

// Calls f(begin, end) for each group of environments that join the run together.
template <class F>
void for_each_joining_group(const VecEnvOptions& options, F&& f) {
  int begin = 0;
  for (const int end : options.joining) {
    f(begin, end);
    begin = end;
  }
  f(begin, options.num_envs);
}

// [N] first step within the episode of each environment, below `limit`.
inline std::vector<std::int64_t> staggered_ages(const VecEnvOptions& options, std::int64_t limit) {
  std::vector<std::int64_t> ages(static_cast<std::size_t>(options.num_envs));
  for_each_joining_group(options, [&](int begin, int end) {
    for (int i = begin; i < end; ++i)
      ages[static_cast<std::size_t>(i)] = (i - begin) * limit / (end - begin);
  });
  return ages;
}

// For StaggerBy::kActions: calls play(env, steps) -> Status once for each environment that must
// move. Calls run on options.threads threads, so they must not depend on each other. Returns the
// failure of the lowest-numbered environment that failed.
template <class Play>
Status stagger_starts(const VecEnvOptions& options, std::int64_t limit, Play&& play) {
  ThreadPool pool(options.threads);
  BROADLOOM_TRY(pool.status());
  std::atomic<int> failed{INT_MAX};  // lowest environment that failed
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
  for_each_joining_group(options, [&](int begin, int end) {
    // Longest plays start first, so that threads end together.
    pool.run(end - begin, [&](int task) {
      const int env = end - 1 - task;
      play_one(env, ages[static_cast<std::size_t>(env)]);
    });
  });
  return first;
}

}  // namespace broadloom
