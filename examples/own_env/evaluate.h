// Plays a policy on environments of one's own. `broadloom eval` knows only those of the registry.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "broadloom/env/vec_env.h"
#include "broadloom/train/trainer.h"

// One tile of environments, each to the end of its first episode, with the most likely actions of a
// policy for a box of actions. Statistics of observations stay as they are.
class Evaluation {
 public:
  // envs: kTileRows of them at most.
  Evaluation(const broadloom::Trainer& trainer, broadloom::VecEnv& envs)
      : trainer_(trainer),
        envs_(envs),
        rows_(envs.num_envs()),
        work_(trainer.network().make_workspace<float>(nullptr)),
        raw_(rows_ * envs.spec().observation_size()),
        seen_(raw_.size()),
        last_(raw_.size()),
        actions_(rows_ * envs.spec().action_size()),
        rewards_(rows_),
        terminated_(rows_),
        truncated_(rows_) {}

  double mean_return() {
    std::vector<std::uint8_t> over(rows_);
    double sum = 0.0;
    envs_.observe(0, rows_, raw_.data());
    while (std::count(over.begin(), over.end(), 0) > 0) {
      act();
      envs_.step(0, rows_,
                 {actions_.data(), raw_.data(), rewards_.data(), terminated_.data(),
                  truncated_.data(), last_.data()});
      for (int i = 0; i < rows_; ++i) {
        if (over[i] == 0) sum += rewards_[i];
        over[i] |= terminated_[i] | truncated_[i];
      }
    }
    return sum / rows_;
  }

 private:
  void act() {
    const float* observations = raw_.data();
    if (const broadloom::ObsNormalizer* normalizer = trainer_.obs_normalizer()) {
      normalizer->normalize(raw_.data(), rows_, seen_.data());
      observations = seen_.data();
    }
    trainer_.network().forward(trainer_.params(), observations, rows_, work_,
                               broadloom::NetworkSide::kPolicy);
    const broadloom::Space& space = envs_.spec().action;
    const int size = envs_.spec().action_size();
    for (int i = 0; i < rows_; ++i) {
      for (int a = 0; a < size; ++a) {  // outputs come as [A, kTileRows]: the mean of each action
        const float mean = work_.policy[a * broadloom::kTileRows + i];
        actions_[i * size + a] = std::clamp(mean, space.low[a], space.high[a]);
      }
    }
  }

  const broadloom::Trainer& trainer_;
  broadloom::VecEnv& envs_;
  int rows_;
  broadloom::TileWorkspace<float> work_;
  std::vector<float> raw_, seen_, last_, actions_, rewards_;
  std::vector<std::uint8_t> terminated_, truncated_;
};
