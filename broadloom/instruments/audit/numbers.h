// What the audit measures of one iteration.
#pragma once

#include <limits>

namespace broadloom {

// Every field is "not a number" where the iteration does not define it. docs/audit.md has each
// definition at length.
struct AuditNumbers {
  static constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

  // The environments: environments.h.
  double phase_concentration = kNone;
  double duplicate_columns = kNone, repeated_columns = kNone, family_columns = kNone;
  double effective_envs = kNone;
  double distinct_draws = kNone, kept_draws = kNone;
  // What the policy saw and did: statistics.h.
  double obs_mean = kNone, obs_variance = kNone, obs_clipped = kNone, obs_gain = kNone;
  double reward_clipped = kNone, target_deviation = kNone;
  double actions_outside = kNone, relative_entropy = kNone;
  // What it learned from: learning_signal.h.
  double advantage_deviation = kNone, advantage_dominance = kNone;
  double target_error = kNone;
  double ends = kNone, truncations = kNone;
  // The update: update_watch.h, and policy/ and plasticity/ for the rest.
  double first_ratio_error = kNone;
  double last_kl = kNone, last_clipfrac = kNone, last_ess = kNone;
  double kl = kNone, kl_k1 = kNone, kl_k3 = kNone;
  double idle_units = kNone, idle_critic_units = kNone;

  // v(name, field) for all, in this order. Self: AuditNumbers, const or not.
  template <class Self, class Visitor>
  static void visit(Self& self, Visitor&& v) {
    v("audit/phase_concentration", self.phase_concentration);
    v("audit/duplicate_columns", self.duplicate_columns);
    v("audit/repeated_columns", self.repeated_columns);
    v("audit/family_columns", self.family_columns);
    v("audit/effective_envs", self.effective_envs);
    v("audit/distinct_draws", self.distinct_draws);
    v("audit/kept_draws", self.kept_draws);
    v("audit/obs_mean", self.obs_mean);
    v("audit/obs_variance", self.obs_variance);
    v("audit/obs_clipped", self.obs_clipped);
    v("audit/obs_gain", self.obs_gain);
    v("audit/reward_clipped", self.reward_clipped);
    v("audit/target_deviation", self.target_deviation);
    v("audit/actions_outside", self.actions_outside);
    v("audit/relative_entropy", self.relative_entropy);
    v("audit/advantage_deviation", self.advantage_deviation);
    v("audit/advantage_dominance", self.advantage_dominance);
    v("audit/target_error", self.target_error);
    v("audit/ends", self.ends);
    v("audit/truncations", self.truncations);
    v("audit/first_ratio_error", self.first_ratio_error);
    v("audit/last_kl", self.last_kl);
    v("audit/last_clipfrac", self.last_clipfrac);
    v("audit/last_ess", self.last_ess);
    v("audit/kl", self.kl);
    v("audit/kl_k1", self.kl_k1);
    v("audit/kl_k3", self.kl_k3);
    v("audit/idle_units", self.idle_units);
    v("audit/idle_critic_units", self.idle_critic_units);
  }
};

}  // namespace broadloom
