// Finds the leading arm, by the same criterion as all verdicts.
#pragma once

#include <optional>
#include <vector>

#include "research/report/report_model.h"

namespace broadloom {

// The statistics that rank an arm on a task (-1: all, normalised); nothing if it has none.
struct RankedScore {
  Estimate iqm;
  double mean = 0.0;
};
std::optional<RankedScore> ranked_score(const StudyReport& report, int arm, int task,
                                        ReportScore score);

// Sorts arms by IQM, largest first; ties by mean.
std::vector<int> sorted_by_score(const StudyReport& report, std::vector<int> arms, int task,
                                 ReportScore score);

// The result of `arm` against `other` on `task` (-1: on all common tasks): 1 better, -1 worse, 0 no
// difference found; nothing if they were not compared.
struct ArmOutcome {
  int result = 0;
  Estimate probability;  // that a run of `arm` is better
  bool enough_runs = false;
  bool hangs_on_choice = false;  // as in ReportComparison
};
std::optional<ArmOutcome> outcome(const StudyReport& report, int arm, int other, int task,
                                  ReportScore score);

// The first of `arms` that no other one beats; if each is beaten, the first of all.
int leader_of(const StudyReport& report, const std::vector<int>& arms, int task, ReportScore score);

// The standing of an arm against the leader of a line or ranking.
Standing standing_of(const StudyReport& report, int arm, int leader, int task, ReportScore score);

// Rankings without leaders, which need comparisons. One for all tasks if scores can be normalised
// and at least two arms have every task; else one for each of the first three tasks. Rankings
// without scores are left out.
std::vector<ReportRanking> rank_arms(const StudyReport& report, ReportScore score);

// Sets the leaders of the rankings. Needs the comparisons.
void find_leaders(StudyReport& report);

}  // namespace broadloom
