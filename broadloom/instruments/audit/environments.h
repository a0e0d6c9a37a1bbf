// Whether N environments are N: their phases, copies among them, what they draw.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "broadloom/env/spec.h"
#include "broadloom/rollout/advantages.h"
#include "broadloom/rollout/block.h"

namespace broadloom {

// The share of pairs of environments that are at the same step of their episodes. ages [N]: steps
// of each present episode; sorted in place. steps: that every environment has made since the run
// began. Not a number with one environment, and as long as less than three quarters of them have
// ended an episode: all are alike before. Phases that are spread evenly over L steps give 1 / L.
double phase_concentration(std::span<std::int64_t> ages, std::int64_t steps);

// What an environment is recognised by, and the seed family it is of.
struct Fingerprint {
  std::uint64_t hash = 0;
  int family = 0;
};

// prints [N]: of every environment's column of the block, the T observations, actions and rewards
// to the bit, and its family n mod families. Cost: O(T N (D + A)).
void column_fingerprints(const RolloutBlock& block, int families, std::span<Fingerprint> prints);

struct Copies {
  double across = 0.0;  // share of the environments that equal one of another family
  double within = 0.0;  // that equal another one of their own family
};
// Of prints [N], which are sorted in place.
Copies count_copies(std::span<Fingerprint> prints);

// The share of `evaluation` that `training` holds, too; training is sorted in place.
double share_seen(std::span<const Fingerprint> evaluation, std::span<Fingerprint> training);

// The share of N that as many independent environments would have: N_eff / N with N_eff = N /
// (1 + (N - 1) rho), rho the intraclass correlation of TD errors of the same step (one-way random
// effects, with steps as classes: rho = (MSB - MSW) / (MSB + (N - 1) MSW), Fisher 1925; the factor
// is Kish's design effect, 1965). At most 1. Not a number with fewer than 8 steps or 2
// environments, or where TD errors do not vary.
double effective_share(const RolloutBlock& block, double gamma, TruncationMode mode);

// The constants that environments have drawn for their present episodes.
struct Draws {
  double distinct = 0.0;  // share of the families whose draw no other family has
  double kept = 0.0;      // share of the environments that began an episode and drew the same again
};
// now, before [N]: fingerprints of the constants, after and before the block; scratch [families].
// Each is not a number where there is nothing to compare: one family, or no episode that began.
Draws compare_draws(const RolloutBlock& block, std::span<const std::uint64_t> before,
                    std::span<const std::uint64_t> now, std::span<Fingerprint> scratch);

// What environments are given at present: EnvSpec::context.
struct SharedContext {
  double share = 0.0;  // of the pairs of environments that have the same
  int place = 0;       // of the number of which that is the largest share
};
// values: [numbers of spec.context, N], sorted in place. A number that the task draws from nothing
// wider than one value is left out; but where all of spec.commands are such, they count: one axis
// that is fixed is a choice, and everybody asked for the same is none. One that is not finite in
// some environment is left out, too. Not a number with one environment, or where no number is left.
SharedContext shared_context(const EnvSpec& spec, std::span<double> values);

}  // namespace broadloom
