// Who takes part: the entrants that memory and budget have room for, and how fast this machine
// trains each of them.
#pragma once

#include <cstddef>
#include <vector>

#include "broadloom/config/config.h"
#include "broadloom/core/status.h"
#include "research/advise/advise_options.h"
#include "research/advise/evidence.h"
#include "research/advise/portfolio.h"
#include "research/advise/purse.h"

namespace broadloom {

// Of a budget of seconds, what finding the speeds of a lineup may take.
inline constexpr double kMachineShare = 0.1;

class Lineup {
 public:
  // In order of trust. options and purse must outlive this.
  Lineup(std::vector<Entrant> entrants, const AdviceOptions& options, Purse& purse);

  const std::vector<Entrant>& entrants() const { return entrants_; }
  const std::vector<double>& speeds() const { return speeds_; }  // of each, once they were found
  double mean_speed() const;
  int left_out() const { return left_out_; }  // so far
  // Those in it, before anything was tried. Speeds are known where costs are seconds.
  std::vector<CandidateEvidence> candidates(bool counts_seconds) const;

  // The least trusted of those that do not fit into memory. kInvalidConfig where not even two do.
  Status leave_out_by_memory(const Config& base);
  // Those that a race of so many seconds has no room for if all are as fast as the fastest of the
  // first few: timing all of them may take longer than there is.
  Status leave_out_by_first(double race_seconds);
  // Of every entrant, measured or looked up; 1 where costs are steps. Those that cannot be timed,
  // since their losses are not finite, are left out.
  Status find_speeds();
  // The least trusted beyond so many.
  void leave_out_from(std::size_t room);

 private:
  std::vector<Entrant> entrants_;
  const AdviceOptions& options_;
  Purse& purse_;
  std::vector<double> speeds_;
  int left_out_ = 0;
};

}  // namespace broadloom
