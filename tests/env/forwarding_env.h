// Environments around others, for tests that change one thing about them.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "broadloom/env/vec_env.h"

namespace broadloom {

class ForwardingEnv : public VecEnv {
 public:
  explicit ForwardingEnv(std::unique_ptr<VecEnv> inner) : inner_(std::move(inner)) {}
  const EnvSpec& spec() const override { return inner_->spec(); }
  int num_envs() const override { return inner_->num_envs(); }
  int max_truncations(int num_steps) const override { return inner_->max_truncations(num_steps); }
  std::int64_t episode_step(int env) const override { return inner_->episode_step(env); }
  void observe(int begin, int end, float* rows) const override {
    inner_->observe(begin, end, rows);
  }
  void step(int begin, int end, const StepRows& rows) override { inner_->step(begin, end, rows); }
  void append_state(const std::string& prefix, std::vector<TensorRef>& out) override {
    inner_->append_state(prefix, out);
  }
  std::span<const std::byte> drawn_constants(int env) const override {
    return inner_->drawn_constants(env);
  }
  std::unique_ptr<VecEnv> another(const VecEnvOptions& options) const override {
    return inner_->another(options);
  }

 protected:
  std::unique_ptr<VecEnv> inner_;
};

}  // namespace broadloom
