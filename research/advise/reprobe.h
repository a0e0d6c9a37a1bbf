// Whether a training should change the shape of its blocks half-way: tries the leader beside itself
// with other shapes from then on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "research/advise/evidence.h"
#include "research/advise/portfolio.h"

namespace broadloom {

// Half of the steps to the threshold, averaged over the candidate's trials. Trials that did not
// reach it count with all their steps. In whole blocks of its shape; 0 if that is less than one
// block.
std::int64_t half_way(const CandidateEvidence& candidate, double threshold);

// The leader unchanged, and with other shapes from `after` environment steps on: four times or a
// quarter of N, of T, or one traded for the other. Held settings stay, and shapes that
// the config does not allow are left out.
std::vector<Entrant> changed_entrants(const Entrant& leader, std::int64_t after,
                                      const std::vector<std::string>& held);

// The setting after the change as a setting of its own, to measure its speed.
Entrant second_stretch(const Entrant& entrant);

// The same evidence with the changed settings as its candidates.
AdviceEvidence with_changes(const AdviceEvidence& evidence);

}  // namespace broadloom
