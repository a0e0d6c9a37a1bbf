// Which arm leads, as far as the comparisons allow to say so: one criterion, that of the verdicts.
#pragma once

#include <optional>
#include <vector>

#include "research/report/report_model.h"

namespace broadloom {

// The statistics that an arm is ranked by on a task (-1: all, normalised); nothing where it has
// none.
struct RankedScore {
  Estimate iqm;
  double mean = 0.0;
};
std::optional<RankedScore> ranked_score(const StudyReport& report, int arm, int task,
                                        ReportScore score);

// Arms by their IQM, the largest first; those of one IQM by their mean.
std::vector<int> by_score(const StudyReport& report, std::vector<int> arms, int task,
                          ReportScore score);

// How `arm` fares against `other` on `task` (-1: on all that both have): 1, -1, or 0 where they
// cannot be told apart; nothing where they were not compared.
struct Outcome {
  int result = 0;
  Estimate probability;  // that a run of `arm` is better
  bool enough_runs = false;
};
std::optional<Outcome> outcome(const StudyReport& report, int arm, int other, int task,
                               ReportScore score);

// The first of `arms` that none of them is told to beat; where each is beaten, the first of all.
int leader_of(const StudyReport& report, const std::vector<int>& arms, int task, ReportScore score);

// How an arm stands beside the leader of a line or a ranking.
Standing standing_of(const StudyReport& report, int arm, int leader, int task, ReportScore score);

// Rankings without leaders, which need comparisons: one for all tasks where two arms or more have
// them all and scores can be normalised, or else one for each of the first three; those without any
// score left out.
std::vector<ReportRanking> rank_arms(const StudyReport& report, ReportScore score);

// Sets their leaders. Takes the comparisons.
void find_leaders(StudyReport& report);

}  // namespace broadloom
