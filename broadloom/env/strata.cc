#include "broadloom/env/strata.h"

#include <utility>

#include "broadloom/env/strata_formulas.h"

namespace broadloom {

Strata::Strata(std::vector<Stratum> strata) : strata_(std::move(strata)), edges_{0.0}, first_{0} {
  double sum = 0.0;
  for (const Stratum& stratum : strata_) {
    edges_.push_back(sum += stratum.weight);
    ranges_.insert(ranges_.end(), stratum.ranges.begin(), stratum.ranges.end());
    first_.push_back(static_cast<int>(ranges_.size()));
  }
  for (double& edge : edges_) edge /= sum;
}

int Strata::draw(const StrataStream& stream, std::uint32_t lane, std::int64_t episode,
                 void* params) const {
  return draw_episode(table(), stream, lane, episode, params);
}

void Strata::draw_within(int stratum, const StrataStream& stream, std::uint32_t lane,
                         std::int64_t episode, void* params) const {
  draw_episode_within(table(), stratum, stream, lane, episode, params);
}

}  // namespace broadloom
