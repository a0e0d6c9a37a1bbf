// The audit's measurements of one iteration.
#pragma once

#include <limits>

#include "broadloom/core/number_info.h"

namespace broadloom {

// A field is NaN if the iteration does not define it. docs/audit.md has the full definitions.
struct AuditNumbers {
  static constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

  // The environments: environments.h.
  double phase_concentration = kNone;
  double duplicate_columns = kNone, repeated_columns = kNone, family_columns = kNone;
  double effective_envs = kNone;
  double distinct_draws = kNone, kept_draws = kNone;
  double shared_context = kNone, shared_context_place = kNone;
  // Inputs and outputs of the policy: statistics.h.
  double obs_mean = kNone, obs_variance = kNone, obs_clipped = kNone, obs_gain = kNone;
  double reward_clipped = kNone, target_deviation = kNone;
  double actions_outside = kNone, relative_entropy = kNone;
  // The learning signal: learning_signal.h.
  double advantage_deviation = kNone, advantage_dominance = kNone;
  double target_error = kNone;
  double ends = kNone, truncations = kNone;
  // The update: update_watch.h; policy/ and plasticity/ for the rest.
  double first_ratio_error = kNone;
  double last_kl = kNone, last_clipfrac = kNone, least_ess = kNone;
  double kl = kNone, kl_k1 = kNone, kl_k3 = kNone;
  double idle_units = kNone, idle_critic_units = kNone;

  // Calls v(info, field) for every field, in this order. Self: AuditNumbers, const or not.
  template <class Self, class Visitor>
  static void visit(Self& self, Visitor&& v) {
    v(NumberInfo{"audit/phase_concentration", "Pairs of environments in step"},
      self.phase_concentration);
    v(NumberInfo{"audit/duplicate_columns", "Environments that do what another family does, Box"},
      self.duplicate_columns);
    v(NumberInfo{"audit/repeated_columns",
                 "Environments that do what another family does, Discrete"},
      self.repeated_columns);
    v(NumberInfo{"audit/family_columns", "Environments that do what another of their family does"},
      self.family_columns);
    v(NumberInfo{"audit/effective_envs", "Effective share of environments"}, self.effective_envs);
    v(NumberInfo{"audit/distinct_draws", "Families with constants of their own"},
      self.distinct_draws);
    v(NumberInfo{"audit/kept_draws", "New episodes with the old constants"}, self.kept_draws);
    v(NumberInfo{"audit/shared_context", "Pairs of environments that are given the same"},
      self.shared_context);
    v(NumberInfo{"audit/shared_context_place", "Which number that is, from 0"},
      self.shared_context_place);
    v(NumberInfo{"audit/obs_mean", "Worst mean of normalised observations"}, self.obs_mean);
    v(NumberInfo{"audit/obs_variance", "Worst variance of normalised observations"},
      self.obs_variance);
    v(NumberInfo{"audit/obs_clipped", "Observations at the clip"}, self.obs_clipped);
    v(NumberInfo{"audit/obs_gain", "Growth of the normaliser's count over B"}, self.obs_gain);
    v(NumberInfo{"audit/reward_clipped", "Rewards at the clip"}, self.reward_clipped);
    v(NumberInfo{"audit/target_deviation", "Standard deviation of value targets"},
      self.target_deviation);
    v(NumberInfo{"audit/actions_outside", "Action numbers out of bounds"}, self.actions_outside);
    v(NumberInfo{"audit/relative_entropy", "Entropy over that of random actions"},
      self.relative_entropy);
    v(NumberInfo{"audit/advantage_deviation",
                 "Deviation of advantages over the size of value targets"},
      self.advantage_deviation);
    v(NumberInfo{"audit/advantage_dominance", "Largest share of one sample in squared advantages"},
      self.advantage_dominance);
    v(NumberInfo{"audit/target_error", "Error of advantages around ends"}, self.target_error);
    v(NumberInfo{"audit/ends", "Episodes that ended in the block"}, self.ends);
    v(NumberInfo{"audit/truncations", "Episodes cut off by the time limit"}, self.truncations);
    v(NumberInfo{"audit/first_ratio_error", "Error of the first minibatch's ratios"},
      self.first_ratio_error);
    v(NumberInfo{"audit/last_kl", "KL of the last epoch, as the audit sees it", "nats"},
      self.last_kl);
    v(NumberInfo{"audit/last_clipfrac", "Clipped share of the last epoch, as the audit sees it"},
      self.last_clipfrac);
    v(NumberInfo{"audit/last_ess", "Least effective sample size, as the audit sees it", "%"},
      self.least_ess);
    v(NumberInfo{"audit/kl", "KL of the whole update, as the audit sees it", "nats"}, self.kl);
    v(NumberInfo{"audit/kl_k1", "Mean of -log r of the whole update, as the audit sees it", "nats"},
      self.kl_k1);
    v(NumberInfo{"audit/kl_k3", "Mean of (r - 1) - log r of the whole update, as the audit sees it",
                 "nats"},
      self.kl_k3);
    v(NumberInfo{"audit/idle_units", "Constant units of the worst layer", "%"}, self.idle_units);
    v(NumberInfo{"audit/idle_critic_units", "Constant units of the critic's worst layer", "%"},
      self.idle_critic_units);
  }
};

}  // namespace broadloom
