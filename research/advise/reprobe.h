// Whether a training should change the shape of its blocks half-way: the setting that is ahead,
// beside itself with another shape from then on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "research/advise/evidence.h"
#include "research/advise/portfolio.h"

namespace broadloom {

// Half of what the candidate's trials took to the threshold, or of what they were trained for where
// they were not there, in whole blocks of its shape; 0 where that is not even one.
std::int64_t half_way(const CandidateEvidence& candidate, double threshold);

// The leader as it is, and with four times or a quarter of N, of T, or of one for the other after
// so many environment steps; what is held stays, and what the config does not go with is left out.
std::vector<Entrant> changed_entrants(const Entrant& leader, std::int64_t after,
                                      const std::vector<std::string>& held);

// What a changed setting does after its change, as a setting of its own: for its speed.
Entrant second_stretch(const Entrant& entrant);

// The same evidence with those that change their shape in the place of its candidates.
AdviceEvidence with_changes(const AdviceEvidence& evidence);

}  // namespace broadloom
