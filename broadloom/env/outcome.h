// How an environment reports why an episode ended and whether it succeeded, and the defaults.
//
//   end_reasons, end_reason(params, last)   Reasons of termination; default: only "terminated".
//                                           With at most one reason, leave end_reason out. The
//                                           library appends "time_limit" for truncation.
//   success(params, last, terminated, truncated)   Default: unknown, never guessed from rewards.
//
// `last` is the state after the last step, `params` the episode's own constants. The library calls
// these once an episode, and only if the caller of VecEnv::step wants the result.
#pragma once

#include <string>
#include <vector>

#include "broadloom/core/host_device.h"
#include "broadloom/env/vec_env.h"

namespace broadloom {

template <class Env>
struct Outcome {
  static constexpr bool kNamesReasons = requires { Env::end_reasons.size(); };
  static constexpr bool kNamesSuccess =
      requires(const typename Env::Params& params, const typename Env::State& last) {
    Env::success(params, last, true, false);
  };
  static constexpr bool kTellsReasons =
      requires(const typename Env::Params& params, const typename Env::State& last) {
    Env::end_reason(params, last);
  };

  // Writes the environment's reasons and whether it reports success into `spec`.
  static void describe(EnvSpec& spec) {
    spec.names_success = kNamesSuccess;
    if constexpr (kNamesReasons) {
      static_assert(kTellsReasons || Env::end_reasons.size() < 2,
                    "several end_reasons need end_reason(params, last) to choose");
      spec.end_reasons.assign(Env::end_reasons.begin(), Env::end_reasons.end());
      spec.end_reasons.emplace_back("time_limit");
    }
  }

  BROADLOOM_HD static EpisodeEnd episode_end(const typename Env::Params& params,
                                             const typename Env::State& last, bool terminated,
                                             bool truncated, int stratum) {
    EpisodeEnd end;
    end.stratum = static_cast<std::int16_t>(stratum);
    end.reason = static_cast<std::int8_t>(terminated ? reason(params, last) : kTimeLimit);
    if constexpr (kNamesSuccess) {
      end.success = Env::success(params, last, terminated, truncated) ? 1 : 0;
    }
    return end;
  }

 private:
  static constexpr int time_limit_index() {
    if constexpr (kNamesReasons) return static_cast<int>(Env::end_reasons.size());
    return 1;
  }
  static constexpr int kTimeLimit = time_limit_index();
  static_assert(kTimeLimit <= 127, "an EpisodeEnd holds at most 127 reasons");

  BROADLOOM_HD static int reason([[maybe_unused]] const typename Env::Params& params,
                                 [[maybe_unused]] const typename Env::State& last) {
    if constexpr (kTellsReasons) return Env::end_reason(params, last);
    return 0;
  }
};

}  // namespace broadloom
