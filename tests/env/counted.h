// Environments that sum reward terms and a measure.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "broadloom/env/forwarding_vec_env.h"
#include "broadloom/env/step_counter.h"

namespace broadloom {

// Splits the reward into two terms, a quarter and the rest. The measure is its square.
class Counted final : public ForwardingVecEnv, public StepCounter {
 public:
  explicit Counted(std::unique_ptr<VecEnv> inner)
      : ForwardingVecEnv(std::move(inner)),
        spec_(ForwardingVecEnv::spec()),
        sums_(kCounted * static_cast<std::size_t>(num_envs())) {
    spec_.reward_terms = {{"quarter", 0.25}, {"rest", 0.75}};
    spec_.counts_reward_terms = true;
    spec_.measures = {{"square", "1"}};
  }
  const EnvSpec& spec() const override { return spec_; }
  // Steps outside a block, like staggered starts and failed blocks.
  void pay(int env, double reward) { sums_[kCounted * static_cast<std::size_t>(env)] += reward; }
  Status step(int begin, int end, const StepRows& rows) override {
    const Status status = ForwardingVecEnv::step(begin, end, rows);
    for (int i = begin; i < end; ++i) {
      const double reward = static_cast<double>(rows.rewards[i - begin]);
      double* const sums = &sums_[kCounted * static_cast<std::size_t>(i)];
      sums[0] += 0.25 * reward;
      sums[1] += 0.75 * reward;
      sums[2] += reward * reward;
    }
    return status;
  }
  void take_step_sums(int env, std::span<double> out) override {
    const auto sums = sums_.begin() + static_cast<std::ptrdiff_t>(kCounted) * env;
    std::copy_n(sums, kCounted, out.begin());
    std::fill_n(sums, kCounted, 0.0);
  }

 private:
  static constexpr std::size_t kCounted = 3;
  EnvSpec spec_;
  std::vector<double> sums_;  // [N, kCounted]
};

}  // namespace broadloom
