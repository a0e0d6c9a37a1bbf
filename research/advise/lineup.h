// The participants: the entrants that fit memory and budget, and their training speeds on this
// machine.
#pragma once

#include <cstddef>
#include <vector>

#include "broadloom/config/config.h"
#include "broadloom/core/status.h"
#include "research/advise/advice_budget.h"
#include "research/advise/advise_options.h"
#include "research/advise/evidence.h"
#include "research/advise/portfolio.h"

namespace broadloom {

// Share of a budget of seconds for timing a lineup.
inline constexpr double kMachineShare = 0.1;

class Lineup {
 public:
  // entrants: most trusted first. options and total_budget must outlive this object.
  Lineup(std::vector<Entrant> entrants, const AdviceOptions& options, AdviceBudget& total_budget);

  const std::vector<Entrant>& entrants() const { return entrants_; }
  const std::vector<double>& speeds() const { return speeds_; }  // of each, after find_speeds()
  double mean_speed() const;
  int left_out() const { return left_out_; }  // so far
  // Evidence of its entrants before any trial. Speeds are known if costs are seconds.
  std::vector<CandidateEvidence> candidates(bool counts_seconds) const;

  // Leaves out the least trusted entrants that do not fit into memory. kInvalidConfig if fewer than
  // two fit.
  Status leave_out_by_memory(const Config& base);
  // Leaves out entrants for which a race of `race_seconds` has no room even if all are as fast as
  // the fastest of the first few. Timing all of them may take longer than the budget.
  Status leave_out_by_first(double race_seconds);
  // Finds the speed of every entrant, measured or looked up; 1 if costs are steps. Entrants whose
  // losses are not finite cannot be timed, and are left out.
  Status find_speeds();
  // Leaves out the least trusted entrants beyond `room`.
  void leave_out_from(std::size_t room);
  // Leaves out entrants for which a race of so many environment steps has no room.
  void leave_out_by_steps(double race_steps);
  // kInvalidConfig if a race of this share of a budget of steps has no room for one block of each
  // training of the fewest entrants.
  Status check_steps(double share) const;

 private:
  std::vector<std::int64_t> blocks() const;  // environment steps of each entrant's block

  std::vector<Entrant> entrants_;
  const AdviceOptions& options_;
  AdviceBudget& total_budget_;
  std::vector<double> speeds_;
  int left_out_ = 0;
};

}  // namespace broadloom
