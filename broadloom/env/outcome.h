// How an environment says why an episode ended and whether it succeeded, and what holds where it
// says nothing.
//
//   end_reasons, end_reason(params, last)   reasons of termination; without them there is one,
//                                           "terminated". With one or none, end_reason may be left
//                                           out. "time_limit" follows for truncation: limits are
//                                           the batch's business.
//   success(params, last, terminated, truncated)   without it, success is unknown, never guessed
//                                           from rewards.
//
// `last` is the state that the last step led to, params the episode's own constants. Asked once an
// episode, and only where the caller of VecEnv::step gave room for the answer.
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

  // Puts into the spec what the environment names.
  static void describe(EnvSpec& spec) {
    spec.names_success = kNamesSuccess;
    if constexpr (kNamesReasons) {
      static_assert(kTellsReasons || Env::end_reasons.size() < 2,
                    "several end_reasons need end_reason(params, last) to choose");
      spec.end_reasons.assign(Env::end_reasons.begin(), Env::end_reasons.end());
      spec.end_reasons.emplace_back("time_limit");
    }
  }

  BROADLOOM_HD static EpisodeEnd of(const typename Env::Params& params,
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
