#include "research/report/report_ranking.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <tuple>
#include <utility>

#include "research/report/report_comparisons.h"
#include "research/report/report_scores.h"

namespace broadloom {
namespace {

constexpr std::size_t kTasksRanked = 3;

const ReportArm& ranked_arm(const StudyReport& report, int arm) {
  return report.arms[static_cast<std::size_t>(arm)];
}

ReportRanking rank(const StudyReport& report, int task, ReportScore score) {
  ReportRanking ranking;
  ranking.task = task;
  std::vector<int> scored;
  for (int arm = 0; arm < static_cast<int>(report.arms.size()); ++arm) {
    if (ranked_arm(report, arm).same_runs >= 0) continue;
    if (task >= 0 && cell_on(report, ranked_arm(report, arm), task) == nullptr) continue;
    if (ranked_score(report, arm, task, score)) {
      scored.push_back(arm);
    } else {
      ++ranking.unscored;
    }
  }
  ranking.arms = sorted_by_score(report, std::move(scored), task, score);
  return ranking;
}

// found: a comparison, or its part on one task.
template <class Comparison>
ArmOutcome seen_from(bool is_a, const Comparison& found) {
  const Estimate& p = found.probability;
  if (is_a) return {found.result, p, found.enough_runs, found.hangs_on_choice};
  return {-found.result,
          {1.0 - p.value, 1.0 - p.high, 1.0 - p.low, p.count},
          found.enough_runs,
          found.hangs_on_choice};
}

}  // namespace

std::optional<RankedScore> ranked_score(const StudyReport& report, int arm, int task,
                                        ReportScore score) {
  const ReportArm& candidate = ranked_arm(report, arm);
  std::optional<RankedScore> found;
  if (task < 0) {
    if (!candidate.normalised || !candidate.normalised->aggregates(score)) return std::nullopt;
    found = {candidate.normalised->aggregates(score)->iqm,
             candidate.normalised->aggregates(score)->mean.value};
  } else {
    const ReportCell* cell = cell_on(report, candidate, task);
    if (cell == nullptr || !cell->summary(score)) return std::nullopt;
    found = {cell->summary(score)->iqm, cell->summary(score)->mean.value};
  }
  return std::isfinite(found->iqm.value) ? found : std::nullopt;
}

std::vector<int> sorted_by_score(const StudyReport& report, std::vector<int> arms, int task,
                                 ReportScore score) {
  std::vector<std::tuple<double, double, int>> order;
  for (const int arm : arms) {
    const RankedScore scores = *ranked_score(report, arm, task, score);
    order.emplace_back(-scores.iqm.value, -scores.mean, arm);
  }
  std::sort(order.begin(), order.end());
  for (std::size_t i = 0; i < arms.size(); ++i) arms[i] = std::get<2>(order[i]);
  return arms;
}

std::optional<ArmOutcome> outcome(const StudyReport& report, int arm, int other, int task,
                                  ReportScore score) {
  const ReportComparison* c = find_comparison(report, arm, other, score);
  if (c == nullptr) return std::nullopt;
  const bool is_a = c->a == first_with_runs_of(report, arm);
  if (task < 0 || c->by_task.empty()) return seen_from(is_a, *c);
  for (const TaskComparison& t : c->by_task) {
    if (t.task == task) return seen_from(is_a, t);
  }
  return std::nullopt;
}

int leader_of(const StudyReport& report, const std::vector<int>& arms, int task,
              ReportScore score) {
  const std::vector<int> order = sorted_by_score(report, arms, task, score);
  const auto beaten = [&](int arm) {
    return std::any_of(order.begin(), order.end(), [&](int other) {
      const std::optional<ArmOutcome> found =
          other == arm ? std::nullopt : outcome(report, arm, other, task, score);
      return found && found->result < 0;
    });
  };
  const auto leader = std::find_if_not(order.begin(), order.end(), beaten);
  return leader == order.end() ? order.front() : *leader;
}

Standing standing_of(const StudyReport& report, int arm, int leader, int task, ReportScore score) {
  if (arm == leader) return Standing::kLeads;
  const std::optional<ArmOutcome> found = outcome(report, leader, arm, task, score);
  if (!found || !found->enough_runs) return Standing::kUnknown;
  return found->result > 0 ? Standing::kLower : Standing::kAlike;
}

std::vector<ReportRanking> rank_arms(const StudyReport& report, ReportScore score) {
  std::vector<ReportRanking> all;
  if (report.tasks.size() > 1) {
    all.push_back(rank(report, -1, score));
    if (all.front().arms.size() > 1) return all;
    all.clear();
  }
  for (std::size_t task = 0; task < std::min(report.tasks.size(), kTasksRanked); ++task) {
    ReportRanking ranking = rank(report, static_cast<int>(task), score);
    if (!ranking.arms.empty()) all.push_back(std::move(ranking));
  }
  return all;
}

void find_leaders(StudyReport& report) {
  const ReportScore score = main_score(report);
  report.rankings = rank_arms(report, score);
  for (ReportRanking& ranking : report.rankings) {
    ranking.leader = leader_of(report, ranking.arms, ranking.task, score);
    ranking.best = ranking.arms.size() > 1 &&
                   std::all_of(ranking.arms.begin(), ranking.arms.end(), [&](int arm) {
                     const Standing standing =
                         standing_of(report, arm, ranking.leader, ranking.task, score);
                     return standing == Standing::kLeads || standing == Standing::kLower;
                   });
  }
}

}  // namespace broadloom
