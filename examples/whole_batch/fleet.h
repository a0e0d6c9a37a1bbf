// Fleet: N boats. Each must stay at its mooring, from a random start and against a current.
//
// A worked example of a simulator that owns all its environments and steps them at once. It has one
// array per quantity, and a step processes whole arrays. Simulators on GPUs, in other processes or
// in other languages have the same interface.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "broadloom/core/status.h"
#include "broadloom/env/env_maker.h"
#include "broadloom/env/vec_env.h"

class Fleet final : public broadloom::VecEnv, public broadloom::EnvMaker {
 public:
  // The spec to register, without a time limit from options.
  static broadloom::EnvSpec make_spec();

  explicit Fleet(const broadloom::VecEnvOptions& options);

  const broadloom::EnvSpec& spec() const override { return spec_; }
  int num_envs() const override { return count_; }
  // Full abilities, but it cannot step only some boats.
  broadloom::VecEnvTraits traits() const override { return {.whole_batch = true}; }
  int max_truncations(int num_steps) const override {
    return (num_steps - 1) / spec_.max_episode_steps + 1;
  }
  void observe(int begin, int end, broadloom::ObservationRows rows) const override;
  broadloom::Status step(int begin, int end, const broadloom::StepRows& rows) override;
  std::int64_t episode_step(int boat) const override { return age_[boat]; }
  void append_state(const std::string& prefix, std::vector<broadloom::TensorRef>& out) override;
  // Steps compute observations, so a restored state must compute them again.
  broadloom::Status state_restored() override;
  std::unique_ptr<broadloom::VecEnv> another(
      const broadloom::VecEnvOptions& options) const override;

 private:
  void start_episode(int boat, std::int64_t episode);
  void stagger();
  void move(int begin, int end, const float* actions);
  void look(int begin, int end);
  bool is_lost(int boat) const;

  broadloom::EnvSpec spec_;
  broadloom::VecEnvOptions options_;
  int count_;
  // [N] each: everything that the next step depends on.
  std::vector<double> x_, y_, speed_x_, speed_y_, current_;
  std::vector<std::int64_t> episode_, age_;
  std::vector<float> seen_;  // [N, 5] observations, derived from the arrays above
};
