#include "broadloom/findings/report_best.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "broadloom/findings/report_comparisons.h"
#include "broadloom/findings/report_scores.h"
#include "broadloom/findings/report_words.h"

namespace broadloom {
namespace {

constexpr std::size_t kMostRivals = 5;
constexpr std::size_t kTasksRanked = 3;

const ReportArm& ranked_arm(const StudyReport& report, int arm) {
  return report.arms[static_cast<std::size_t>(arm)];
}

// The IQM that an arm is ranked by; nothing where it has none.
std::optional<Estimate> iqm_on(const StudyReport& report, int arm, int task, ReportScore score) {
  const ReportArm& one = ranked_arm(report, arm);
  if (task < 0) {
    if (!one.normalised || !one.normalised->of(score)) return std::nullopt;
    return one.normalised->of(score)->iqm;
  }
  const ReportCell* cell = cell_on(report, one, task);
  if (cell == nullptr || !cell->summary(score)) return std::nullopt;
  return cell->summary(score)->iqm;
}

RankedArms rank(const StudyReport& report, int task, ReportScore score) {
  RankedArms ranked{task, {}, 0};
  std::vector<std::pair<double, int>> order;
  for (int arm = 0; arm < static_cast<int>(report.arms.size()); ++arm) {
    if (ranked_arm(report, arm).same_runs >= 0) continue;
    if (task >= 0 && cell_on(report, ranked_arm(report, arm), task) == nullptr) continue;
    const std::optional<Estimate> iqm = iqm_on(report, arm, task, score);
    if (iqm && std::isfinite(iqm->value)) {
      order.emplace_back(-iqm->value, arm);
    } else {
      ++ranked.without;
    }
  }
  std::sort(order.begin(), order.end());
  for (const auto& [iqm, arm] : order) ranked.arms.push_back(arm);
  return ranked;
}

// How `arm` fares against `other` among those of `task`; nothing where they were not compared.
std::optional<int> result_against(const StudyReport& report, int arm, int other, int task,
                                  ReportScore score, std::vector<ShownComparison>& shown) {
  const ReportComparison* c = find_comparison(report, arm, other, score);
  if (c == nullptr) return std::nullopt;
  const int sign = c->a == arm ? 1 : -1;
  if (task < 0 || c->by_task.empty()) {
    add_shown({c->a, c->b, -1, c->enough_runs, c->result != 0}, shown);
    return sign * c->result;
  }
  for (const TaskComparison& t : c->by_task) {
    if (t.task != task) continue;
    add_shown({c->a, c->b, task, t.enough_runs, t.result != 0}, shown);
    return sign * t.result;
  }
  return std::nullopt;
}

// What the comparisons say of the arm with the largest IQM.
struct Standing {
  std::vector<int> ties;                   // arms with that very IQM, itself the first
  std::vector<std::string> alike, better;  // cannot be told from it; win more often than not
  int others = 0, unknown = 0;             // all besides the ties; those that were not compared

  bool is_best() const {
    return ties.size() == 1 && alike.empty() && better.empty() && unknown == 0;
  }
};

Standing standing_of(const StudyReport& report, const RankedArms& ranked, ReportScore score,
                     std::vector<ShownComparison>& shown) {
  Standing standing;
  const int first = ranked.arms.front();
  const double most = iqm_on(report, first, ranked.task, score)->value;
  for (const int arm : ranked.arms) {
    if (iqm_on(report, arm, ranked.task, score)->value == most) {
      standing.ties.push_back(arm);
      continue;
    }
    ++standing.others;
    const std::optional<int> result = result_against(report, first, arm, ranked.task, score, shown);
    if (!result) ++standing.unknown;
    if (result && *result == 0) standing.alike.push_back(arm_words(report, arm));
    if (result && *result < 0) standing.better.push_back(arm_words(report, arm));
  }
  return standing;
}

// "the other arm cannot be told from it", "3 of the 5 other arms cannot be told from it: ...".
std::string alike_words(const Standing& standing) {
  const auto alike = static_cast<int>(standing.alike.size());
  if (standing.others == 1) return "the other arm cannot be told from it";
  if (alike == standing.others) {
    return fmt::format("none of the {} other arms can be told from it", alike);
  }
  return fmt::format("{} of the {} other arms cannot be told from it: {}", alike, standing.others,
                     list_words(standing.alike, kMostRivals));
}

std::string place_words(const StudyReport& report, int task) {
  if (task >= 0) return report.tasks[static_cast<std::size_t>(task)].name;
  return fmt::format("on average over {}, normalised",
                     count_words(static_cast<std::int64_t>(report.tasks.size()), "task"));
}

std::vector<std::string> sentences_on(const StudyReport& report, const RankedArms& ranked,
                                      ReportScore score, std::vector<ShownComparison>& shown) {
  const Standing standing = standing_of(report, ranked, score, shown);
  const std::string first = arm_words(report, ranked.arms.front());
  const std::string where = place_words(report, ranked.task);
  const std::string iqm =
      fmt::format("{}: IQM {} ({})", score_words(score),
                  estimate_words(*iqm_on(report, ranked.arms.front(), ranked.task, score)), where);
  if (ranked.arms.size() == 1) {
    return {fmt::format("Only {} has a {}; there is nothing to compare it with.", first, iqm)};
  }
  if (standing.is_best()) {
    return {fmt::format("{} is best: it has the largest {}, and {} can be told from it.", first,
                        iqm,
                        standing.others == 1 ? "the other arm"
                                             : fmt::format("all {} other arms", standing.others))};
  }
  const bool several = ranked.task >= 0 && report.tasks.size() > 1;
  std::vector<std::string> leading;
  for (const int arm : standing.ties) leading.push_back(arm_words(report, arm));
  std::vector<std::string> lines = {fmt::format(
      "{}o arm can be called best: {} {} the largest {}{}.", several ? "On " + where + " n" : "N",
      list_words(leading, kMostRivals), leading.size() == 1 ? "has" : "share", iqm,
      standing.alike.empty() ? "" : ", and " + alike_words(standing))};
  if (!standing.better.empty()) {
    lines.push_back(
        fmt::format("Single runs of these are better than those of {} more often than "
                    "not: {}.",
                    first, list_words(standing.better, kMostRivals)));
  }
  if (standing.unknown > 0) {
    lines.push_back(fmt::format("{} of the other arms {} not compared with it.", standing.unknown,
                                standing.unknown == 1 ? "was" : "were"));
  }
  return lines;
}

// Where the other score has another arm for the best one.
std::string other_score_words(const StudyReport& report, const RankedArms& ranked,
                              ReportScore score) {
  const bool trained = score == ReportScore::kTraining;
  const ReportScore other = trained ? ReportScore::kEvaluation : ReportScore::kTraining;
  const RankedArms by_other = rank(report, ranked.task, other);
  if (by_other.arms.size() < 2 || by_other.arms.front() == ranked.arms.front()) return "";
  std::vector<ShownComparison> unsaid;  // of the other score
  if (!standing_of(report, by_other, other, unsaid).is_best()) return "";
  return fmt::format("By {} {} is best.",
                     trained ? "evaluations of the final policies" : "training returns",
                     arm_words(report, by_other.arms.front()));
}

}  // namespace

std::vector<RankedArms> ranked_arms(const StudyReport& report, ReportScore score) {
  std::vector<RankedArms> all;
  if (report.tasks.size() > 1) {
    all.push_back(rank(report, -1, score));
    if (all.front().arms.size() > 1) return all;
    all.clear();
  }
  for (std::size_t task = 0; task < std::min(report.tasks.size(), kTasksRanked); ++task) {
    RankedArms ranked = rank(report, static_cast<int>(task), score);
    if (!ranked.arms.empty()) all.push_back(std::move(ranked));
  }
  return all;
}

void add_shown(const ShownComparison& comparison, std::vector<ShownComparison>& shown) {
  if (std::find(shown.begin(), shown.end(), comparison) == shown.end()) {
    shown.push_back(comparison);
  }
}

std::vector<std::string> best_sentences(const StudyReport& report, ReportScore score,
                                        std::vector<ShownComparison>& shown) {
  std::vector<std::string> lines;
  const std::vector<RankedArms> all = ranked_arms(report, score);
  for (const RankedArms& ranked : all) {
    for (std::string& line : sentences_on(report, ranked, score, shown)) {
      lines.push_back(std::move(line));
    }
    if (ranked.without > 0) {
      lines.push_back(fmt::format("{} {} no {} {}{} and {} left out.",
                                  count_words(ranked.without, "other arm"),
                                  ranked.without == 1 ? "has" : "have", score_words(score),
                                  ranked.task < 0 ? "on every task" : "on ",
                                  ranked.task < 0 ? "" : place_words(report, ranked.task),
                                  ranked.without == 1 ? "is" : "are"));
    }
  }
  if (all.size() != 1) return lines;
  const std::string other = other_score_words(report, all.front(), score);
  if (!other.empty()) lines.push_back(other);
  return lines;
}

}  // namespace broadloom
