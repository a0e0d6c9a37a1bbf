// A wrapper around environments that changes one thing about them. Derive from it, and override
// what you change. All other calls go to the wrapped environments, capabilities too. To change a
// capability, implement it. EnvMaker makes environments without the wrapper, unless you implement
// it.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "broadloom/env/vec_env.h"

namespace broadloom {

// Forwards every call to the environments that it owns.
//
//   class Scaled final : public ForwardingVecEnv {
//    public:
//     using ForwardingVecEnv::ForwardingVecEnv;
//     Status step(int begin, int end, const StepRows& rows) override {
//       BROADLOOM_TRY(inner().step(begin, end, rows));
//       for (int k = 0; k < end - begin; ++k) rows.rewards[k] *= 0.01f;
//       return {};
//     }
//   };
class ForwardingVecEnv : public VecEnv {
 public:
  // inner: not null.
  explicit ForwardingVecEnv(std::unique_ptr<VecEnv> inner) : inner_(std::move(inner)) {}

  const EnvSpec& spec() const override { return inner_->spec(); }
  int num_envs() const override { return inner_->num_envs(); }
  VecEnvTraits traits() const override { return inner_->traits(); }
  int max_truncations(int num_steps) const override { return inner_->max_truncations(num_steps); }
  void observe(int begin, int end, ObservationRows rows) const override {
    inner_->observe(begin, end, rows);
  }
  void observe_critic(int begin, int end, ObservationRows rows) const override {
    inner_->observe_critic(begin, end, rows);
  }
  Status step(int begin, int end, const StepRows& rows) override {
    return inner_->step(begin, end, rows);
  }
  std::int64_t episode_step(int env) const override { return inner_->episode_step(env); }
  bool next_is_filler(int env) const override { return inner_->next_is_filler(env); }
  Status capture() override { return inner_->capture(); }
  Status state_restored() override { return inner_->state_restored(); }
  bool can_begin_anew() const override { return inner_->can_begin_anew(); }
  Status begin_anew(std::uint64_t seed) override { return inner_->begin_anew(seed); }
  void append_state(const std::string& prefix, std::vector<TensorRef>& out) override {
    inner_->append_state(prefix, out);
  }
  const VecEnv* wrapped() const override { return inner_.get(); }

 protected:
  // The wrapped environments.
  VecEnv& inner() { return *inner_; }
  const VecEnv& inner() const { return *inner_; }

 private:
  std::unique_ptr<VecEnv> inner_;
};

}  // namespace broadloom
