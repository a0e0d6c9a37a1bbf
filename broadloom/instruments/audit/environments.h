// Checks that N environments are N different ones: their phases, copies among them, their draws.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "broadloom/env/spec.h"
#include "broadloom/rollout/advantages.h"
#include "broadloom/rollout/block.h"

namespace broadloom {

// Share of pairs of environments that are at the same step of their episodes. Phases spread evenly
// over L steps give 1 / L.
//
// ages [N]: steps of each present episode; sorted in place. steps: steps of every environment since
// the run began. NaN with one environment, or until three quarters of them have ended an episode,
// because all are alike before.
double phase_concentration(std::span<std::int64_t> ages, std::int64_t steps);

// Identity of an environment's data, with its seed family.
struct Fingerprint {
  std::uint64_t hash = 0;
  int family = 0;
};

// Writes prints [N]: the hash of each environment's column of the block, and its family n mod
// families. A column is the bits of T observations, actions and rewards. Cost: O(T N (D + A)).
void column_fingerprints(const RolloutBlock& block, int families, std::span<Fingerprint> prints);

struct Copies {
  double across = 0.0;       // share of the environments that equal one of another family
  double same_family = 0.0;  // share of the environments that equal another one of their family
};
// Counts copies among prints [N], which are sorted in place.
Copies count_copies(std::span<Fingerprint> prints);

// Share of `evaluation` that also occurs in `training`; training is sorted in place.
double share_seen(std::span<const Fingerprint> evaluation, std::span<Fingerprint> training);

// N_eff / N: the number of independent environments that would carry as much information, over N.
// At most 1. NaN with fewer than 8 steps or 2 environments, or if TD errors do not vary.
//
// N_eff = N / (1 + (N - 1) rho), Kish's design effect (1965). rho is the intraclass correlation of
// TD errors of the same step, from one-way random effects with steps as classes (Fisher 1925):
//   rho = (MSB - MSW) / (MSB + (N - 1) MSW)
double effective_share(const RolloutBlock& block, double gamma, TruncationMode mode);

// Comparison of the constants that environments have drawn for their present episodes.
struct Draws {
  double distinct = 0.0;  // share of the families whose draw no other family has
  double kept = 0.0;      // share of the environments that began an episode and drew the same again
};
// now, before [N]: fingerprints of the constants after and before the block. scratch: [families]. A
// result is NaN if there is nothing to compare: one family, or no episode that began.
Draws compare_draws(const RolloutBlock& block, std::span<const std::uint64_t> before,
                    std::span<const std::uint64_t> now, std::span<Fingerprint> scratch);

// How many environments have the same context now (EnvSpec::context).
struct SharedContext {
  double share = 0.0;  // share of the pairs of environments with the same number
  int place = 0;       // index of the number with the largest share
};
// values: [numbers of spec.context, N], sorted in place. NaN with one environment, or if no number
// is left.
//
// A number whose range in the task is a single value is left out. But if all of spec.commands have
// such ranges, commands count: one fixed axis is a choice, but equal commands for all are not. A
// number that is not finite in some environment is left out, too.
SharedContext shared_context(const EnvSpec& spec, std::span<double> values);

}  // namespace broadloom
