// Environments that count what each term of their reward pays.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "broadloom/env/forwarding_vec_env.h"

namespace broadloom {

// In two terms, a quarter of the reward and the rest.
class Counted final : public ForwardingVecEnv {
 public:
  explicit Counted(std::unique_ptr<VecEnv> inner)
      : ForwardingVecEnv(std::move(inner)),
        spec_(ForwardingVecEnv::spec()),
        sums_(2 * static_cast<std::size_t>(num_envs())) {
    spec_.reward_terms = {{"quarter", 0.25}, {"rest", 0.75}};
    spec_.counts_reward_terms = true;
  }
  const EnvSpec& spec() const override { return spec_; }
  // Outside a block, as staggered starts and blocks that fail do.
  void pay(int env, double reward) { sums_[2 * static_cast<std::size_t>(env)] += reward; }
  Status step(int begin, int end, const StepRows& rows) override {
    const Status status = ForwardingVecEnv::step(begin, end, rows);
    for (int i = begin; i < end; ++i) {
      const double reward = static_cast<double>(rows.rewards[i - begin]);
      sums_[2 * static_cast<std::size_t>(i)] += 0.25 * reward;
      sums_[2 * static_cast<std::size_t>(i) + 1] += 0.75 * reward;
    }
    return status;
  }
  void take_reward_sums(int env, std::span<double> out) override {
    std::copy_n(sums_.begin() + 2 * env, 2, out.begin());
    std::fill_n(sums_.begin() + 2 * env, 2, 0.0);
  }

 private:
  EnvSpec spec_;
  std::vector<double> sums_;  // [N, 2]
};

}  // namespace broadloom
